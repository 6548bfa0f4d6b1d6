"""Signals of a robot that stands still: with them every stage can run before there is a log."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.replay.joints import JointGroup
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.signals import Signals, Stream


def standstill(rig: Rig, groups: Sequence[JointGroup], start: int, samples: int) -> Signals:
    """Make signals of all sensors at the rate of the first group of joints.

    Args:
        rig: the robot.
        groups: which joints are published together.
        start: first stamp [ns].
        samples: messages per signal.
    """
    stamps = start + np.arange(samples) * round(groups[0].period * NANOSECONDS)

    def constant(*values: float) -> Stream:
        return Stream(stamps, np.tile(values, (samples, 1)))

    gravity, level = (0.0, 0.0, rig.robot.gravity), constant(0.0, 0.0, 0.0, 1.0)
    return Signals(
        joints=tuple(constant(*np.zeros(len(group.columns))) for group in groups),
        imu=constant(0.0, 0.0, 0.0, *gravity),
        orientation=level,
        accelerometers=tuple(constant(*gravity) for _ in rig.accelerometers),
        position=constant(0.0, 0.0, 0.0),
        pose=level,
        wrenches=tuple(constant(*np.zeros(6)) for _ in rig.feet),
        foot_imus=tuple(constant(0.0, 0.0, 0.0, *gravity) for _ in rig.feet),
    )
