"""A log of any length for the benchmarks: the sensors of the sway of biped31, repeated.

The sway ends where it begins, so its repetitions join without a step. The log holds what the robot
itself would record: joints, IMU, three accelerometers, position and two foot wrenches at 500 Hz.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_lab.simulation.scenarios import simulate_sway

ROBOT = Path(__file__).parents[1] / 'robots/biped31/robot.yaml'


@dataclass(frozen=True)
class _Signal:
    """All messages of one topic of the sway."""

    topic: str
    layout: CdrLayout
    stamps: Stamps
    values: dict[str, Array]


def write_log(path: Path, seconds: float, storage: str = 'mcap') -> int:
    """Write a log; return the number of its messages.

    Args:
        path: folder that the bag will be; the sway itself is simulated beside it.
        seconds: its length, rounded up to whole repetitions [s].
        storage: 'mcap' or 'sqlite3'.
    """
    sway = path.with_name(f'{path.name}_sway')
    robot = load_robot_file(ROBOT)
    simulate_sway(robot, sway, overwrite=True)
    signals = list(sensors(sway, robot))
    stamps = signals[0].stamps
    period = int(stamps[-1] - stamps[0] + np.median(np.diff(stamps)))
    repetitions = -int(-seconds * NANOSECONDS // period)
    with BagWriter(path, storage, overwrite=True) as bag:
        for signal in signals:
            bag.add_topic(signal.topic, signal.layout.msgtype, signal.layout)
        for k in range(repetitions):
            for signal in signals:
                bag.write_batch(signal.topic, signal.stamps + k * period, signal.values)
            bag.flush()
    return repetitions * sum(len(signal.stamps) for signal in signals)


def sensors(sway: Path, robot: RobotFile) -> Iterator[_Signal]:
    """Read the topics that the robot file names."""
    assert robot.position is not None
    names = [
        robot.joints.topic,
        robot.imu.topic,
        *(sensor.topic for sensor in robot.accelerometers),
        robot.position.topic,
        *(foot.wrench.topic for foot in robot.feet if foot.wrench),
    ]
    topics = [f'/{name.lstrip("/")}' for name in names]
    with BagReader(sway) as bag:
        (batch,) = bag.batches(topics, span_s=1e6)
    for topic in topics:
        (group,) = batch[topic].decode().groups
        paths = [path for path in group.layout.paths if group[path].dtype.kind == 'f']
        values = {path: group[path] for path in paths}
        yield _Signal(topic, group.layout, batch[topic].received, values)
