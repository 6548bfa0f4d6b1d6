"""The signals of a recording all at once, and what the pipeline makes of them."""

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.fusing import FusionStage
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import evaluate_recording, make_evaluator
from izmp_dynamics.signals.samples import Samples

from .pipeline_signals import evaluate, joined


def read_bag(path, robot):
    """A recording, and its signals."""
    with BagReader(path) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        signals = {}
        for span, _ in recording.spans(5.0):
            for name, samples in span.items():
                before = signals.get(name, samples.select(slice(0)))
                signals[name] = Samples.joined([before, samples])
    return recording, signals


def evaluate_bag(path, robot, change=lambda signals: None):
    """All results of a recording whose signals a function may change."""
    recording, signals = read_bag(path, robot)
    change(signals)
    return evaluate(make_evaluator(recording), [signals])


def evaluate_in_chunks(path, robot):
    """All results as a replay computes them, and the number of its pieces."""
    with BagReader(path) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        parts = list(evaluate_recording(recording, make_evaluator(recording)))
    return joined(parts), len(parts)


def evaluate_log(path, robot, fuses=False, **options):
    """The results of a whole bag, and the robot, prepared for evaluation."""
    recording, signals = read_bag(path, robot)
    evaluator = Evaluator(
        recording.rig,
        recording.groups,
        recording.periods,
        orientation=recording.orientation,
        **options,
    )
    results = joined(evaluator.push(signals) + evaluator.flush())
    if fuses:
        results = FusionStage(recording.rig).push(evaluator, results)
    return results, recording.rig
