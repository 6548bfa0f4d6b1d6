"""How force sensors are turned: the right-angled mountings, all tried.

While one foot stands alone, or swings, the motion says what its sensor must feel. What it reads is
compared with that in each of the 24 rotations of a cube and with both signs, less the means, so
that offsets do not matter. The weight decides which axis is vertical. The path of the load under
the foot decides on the other two, by the moments; the horizontal forces of the steps are often
hardly larger than their errors.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import from_rpy, to_rpy
from izmp_dynamics.calibration.residuals import Terms, in_sensor
from izmp_dynamics.calibration.segments import RATE, Instants
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.rig import FootRig, Rig
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES, above

CLEAR = 1.5
"""The next best mounting must leave so many times the error of the best one."""

ARM = 0.1
"""A moment counts as its force at this distance [m]."""

LEAST_TIME = 1.0
"""Time alone on the ground or in the air that is needed [s]."""


@dataclass(frozen=True)
class Mounting:
    """What was found for a foot.

    Attributes:
        foot: its name.
        rotation: (3, 3) frame_R_sensor.
        sign: 1 or −1.
        error: root mean square of what it leaves unexplained, forces and moments over `ARM` [N].
        next_best: that of the second best mounting [N].
    """

    foot: str
    rotation: Array
    sign: int
    error: float
    next_best: float

    @property
    def clear(self) -> bool:
        """Whether no other mounting explains the readings nearly as well."""
        return self.next_best >= CLEAR * self.error

    @property
    def as_stated(self) -> bool:
        """Whether it is that of the robot file."""
        return self.sign == 1 and bool(np.allclose(self.rotation, np.eye(3)))


def cube_rotations() -> list[Array]:
    """The 24 rotations (3, 3) that take axes to axes."""
    axes, signs = itertools.permutations(range(3)), itertools.product((1.0, -1.0), repeat=3)
    found = [np.diag(sign)[:, order] for order, sign in itertools.product(axes, signs)]
    return [matrix for matrix in found if np.linalg.det(matrix) > 0]


def find_mounting(segments: Sequence[Instants], foot: FootRig) -> Mounting | None:
    """Find how the sensor of a foot, of six axes, is turned; None if it is never alone."""
    expected, read = [], []
    for instants in segments:
        index = instants.rig.feet.index(foot)
        others = [sole for k, sole in enumerate(instants.soles) if k != index]
        mine = instants.soles[index]
        stands = np.all([above(other, mine) > CLEARANCE_WITH_FORCES for other in others], axis=0)
        swings = np.all([above(mine, other) > CLEARANCE_WITH_FORCES for other in others], axis=0)
        terms = Terms.stated(instants)
        needed = terms.required
        total = needed.above + needed.hanging
        wrench = np.where(stands[:, None], total, 0.0)  # the other feet hang from it
        if foot.name in needed.below:
            wrench = wrench - needed.below[foot.name]
        rows = stands ^ swings
        expected.append(in_sensor(instants, foot.name, wrench)[rows])
        read.append(terms.feet[foot.name].full[rows])
    wanted, found = np.concatenate(expected), np.concatenate(read)
    if len(wanted) < LEAST_TIME * RATE:
        return None
    scores = [
        (_unexplained(sign * found @ np.kron(np.eye(2), R.T), wanted), sign, R)
        for R in cube_rotations()
        for sign in (1, -1)
    ]
    (error, sign, R), (next_best, _, _) = sorted(scores, key=lambda score: score[0])[:2]
    return Mounting(foot.name, R, sign, error, next_best)


def _unexplained(read: Array, wanted: Array) -> float:
    """Root mean square of the difference of wrenches (T, 6), but for a constant offset [N]."""
    difference = read - wanted
    difference = (difference - difference.mean(axis=0)) / np.repeat([1.0, ARM], 3)
    return float(np.sqrt((difference**2).sum(axis=1).mean()))


def with_mountings(
    robot: RobotFile, rig: Rig, segments: Sequence[Instants]
) -> tuple[RobotFile, list[str]]:
    """Turn force sensors as the motion says; a sentence for each."""
    sentences = []
    feet = list(robot.feet)
    for foot in rig.feet:
        if foot.sensor is None or foot.normal_only or len(rig.feet) < 2:
            continue
        found = find_mounting(segments, foot)
        sentences.append(_mounting_sentence(foot.name, found))
        if found is None or not found.clear or found.as_stated:
            continue
        for k, stated in enumerate(feet):
            if stated.name == foot.name and (wrench := stated.wrench) is not None:
                turned = dataclasses.replace(
                    wrench,
                    rotation=to_rpy(found.rotation @ from_rpy(wrench.rotation)),
                    sign=wrench.sign * found.sign,
                )
                feet[k] = dataclasses.replace(stated, wrench=turned)
    return dataclasses.replace(robot, feet=tuple(feet)), sentences


def _mounting_sentence(foot: str, found: Mounting | None) -> str:
    if found is None:
        return (
            f"Foot '{foot}' is never alone on the ground or in the air for long enough to find "
            'how its sensor is turned; record some steps.'
        )
    if not found.clear:
        return (
            f"How the sensor of foot '{foot}' is turned is not observable: the best mounting "
            f'leaves {found.error:.1f} N unexplained, the next {found.next_best:.1f} N.'
        )
    if found.as_stated:
        return (
            f"The sensor of foot '{foot}' is mounted as the robot file states (it leaves "
            f'{found.error:.1f} N unexplained, the next best mounting {found.next_best:.1f} N).'
        )
    roll, pitch, yaw = np.degrees(to_rpy(found.rotation)).round() + 0.0
    sign = ', and has the other sign' if found.sign < 0 else ''
    return (
        f"The sensor of foot '{foot}' is turned by roll {roll:.0f}°, pitch {pitch:.0f}°, yaw "
        f'{yaw:.0f}° against its frame{sign} (that leaves {found.error:.1f} N unexplained, the '
        f'next best mounting {found.next_best:.1f} N).'
    )
