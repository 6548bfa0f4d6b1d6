"""A recording as a stream of samples, and the replay's results for it."""

import numpy as np
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.evaluator import Evaluator

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.replay.recording import Recording


def evaluate_log(bag_path, robot):
    """Return all signals of a bag, the replay's results, and the robot made ready."""
    with BagReader(bag_path) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        signals = None
        for span, _ in recording.spans(5.0):
            signals = signals.followed_by(span) if signals else span
        return signals, evaluator_of(recording).evaluate(signals, Counts(0, 2**62)), recording.rig


def evaluate_signals(bag_path, robot, signals):
    """Return the replay's results for other signals of the same robot."""
    with BagReader(bag_path) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        return evaluator_of(recording).evaluate(signals, Counts(0, 2**62))


def evaluator_of(recording):
    """What evaluates a recording."""
    return Evaluator(recording.rig, recording.groups, recording.periods, recording.origin)


def messages_of(log):
    """Yield (kind, stamp, values) of all sensors but the feet in the order of their stamps."""
    signals, _, rig = log
    joints = np.full((len(signals.joints[0]), rig.model.dof), np.nan)
    joints[:] = signals.joints[0].values
    imu = np.hstack([signals.imu.values, signals.orientation.values])
    streams = {
        'joints': (signals.joints[0].stamps, joints),
        'imu': (signals.imu.stamps, imu),
        'position': (signals.position.stamps, signals.position.values),
    }
    for k, stream in enumerate(signals.accelerometers):
        streams[k] = (stream.stamps, stream.values)
    merged = [
        (int(stamp), kind, row)
        for kind, (stamps, values) in streams.items()
        for stamp, row in zip(stamps, values, strict=True)
    ]
    merged.sort(key=lambda sample: sample[0])
    for stamp, kind, row in merged:
        yield kind, stamp, row
