"""What the pipeline makes of a recording, as one piece."""

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.recording.recording import Recording


def recorded_signals(bag_path, robot):
    """Return all signals of a bag and its `Recording`."""
    with BagReader(bag_path) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        signals = {}
        for span, _ in recording.spans(5.0):
            for name, samples in span.items():
                signals[name] = signals[name].followed_by(samples) if name in signals else samples
    return signals, recording


def evaluate_log(bag_path, robot, **options):
    """Return the results of a whole bag, and the robot, prepared for evaluation."""
    signals, recording = recorded_signals(bag_path, robot)
    evaluator = Evaluator(
        recording.rig,
        recording.groups,
        recording.periods,
        orientation=recording.orientation,
        **options,
    )
    pieces = evaluator.push(signals) + evaluator.flush()
    return joined(pieces), recording.rig


def joined(pieces):
    """One piece after the other."""
    import dataclasses

    import numpy as np

    def join(parts):
        first = parts[0]
        if first is None:
            return None
        if isinstance(first, np.ndarray):
            return np.concatenate(parts)
        if isinstance(first, dict):
            return {name: join([part[name] for part in parts]) for name in first}
        if isinstance(first, tuple):
            return tuple(join(list(column)) for column in zip(*parts, strict=True))
        if dataclasses.is_dataclass(first):
            fields = [field.name for field in dataclasses.fields(first)]
            return type(first)(*(join([getattr(p, name) for p in parts]) for name in fields))
        return first

    return pieces[0] if len(pieces) == 1 else join(pieces)
