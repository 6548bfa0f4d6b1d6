"""How the force sensors of the feet are turned and what they read, from the steps of the robot.

While a foot stands alone, or swings, the motion says what its sensor must read: that shows how the
sensor is turned, what it reads without load, and which link is below it.

The reading is compared with that in each of the 24 rotations of a cube and with both signs, less
the means, so that offsets do not matter, and less what a small turn of the IMU explains. The
weight decides which axis is vertical. The path of the load under the foot decides on the other
two, by the moments; the horizontal forces of the steps are often hardly larger than their errors.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike

import numpy as np
import scipy.ndimage
import scipy.optimize

from izmp_dynamics.base.conventions import Array, Flags
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.base.rotations import from_rpy, to_rpy
from izmp_dynamics.calibration.inertias import link_inertias
from izmp_dynamics.calibration.parameters import make_layout
from izmp_dynamics.calibration.residuals import Terms, in_sensor
from izmp_dynamics.calibration.segments import RATE, Instants, Segment, prepare, read_segments
from izmp_dynamics.model.feet import FootWrench
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.rig import FootRig, Rig, link_at
from izmp_dynamics.pipeline.unloaded import EDGE
from izmp_dynamics.signals.correction import offset_without
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES, above, clearances

_CLEAR = 1.5  # the next best mounting must leave so many times the error of the best one
_ARM = 0.1  # a moment counts as its force at this distance [m]

MOST_TURN = np.radians(5.0)
"""The IMU may be turned by so much about each of its axes, which the steps must not show as
another mounting of a force sensor [rad]."""

STEP = 1e-3
"""Of the difference quotients [rad]."""

_LEAST_ALONE = 1.0  # time alone on the ground or in the air that is needed [s]

CUTOFFS = (10.0, 4.0)
"""Of the filter that all signals pass; where the first one leaves open how a sensor is turned, the
slower motions decide [Hz]."""

_LONGEST = 60.0  # time of a recording that is examined [s]
_LEAST_TIME = 0.3  # time in the air from which on the offset of a foot is judged [s]

LEAST_OFFSET = 0.03
"""Reading without load, as part of the weight, from which on it is remarked on [-]."""

LEAST_WEIGHT = 0.01
"""Weight of a link below the sensor that is noticed, as part of the weight of the robot [-]."""

_MOST_OFFSET = 0.5  # a larger one is none: the foot carries the robot [-]

VARIES = 0.3
"""A reading without load that differs by so much, in the median, while the foot swings or from
swing to swing is no offset: what the motion of the foot takes is not known well [-]."""

OF_A_LINK = 0.2
"""Reading without load that differs by so much from the weight of the foot is taken for it [-]."""


@dataclass(frozen=True)
class Mounting:
    """What was found for a foot.

    Attributes:
        rotation: (3, 3) frame_R_sensor.
        sign: 1 or −1.
        error: root mean square of what it leaves unexplained, forces and moments over `_ARM` [N].
        next_best: that of the second best mounting [N].
        stated: that of the robot file's [N].
    """

    rotation: Array
    sign: int
    error: float
    next_best: float
    stated: float

    @property
    def clear(self) -> bool:
        """Whether no other mounting explains the readings nearly as well."""
        return self.next_best >= _CLEAR * self.error

    @property
    def refuted(self) -> bool:
        """Whether that of the robot file leaves clearly more unexplained."""
        return self.stated >= _CLEAR * self.error

    @property
    def is_turned(self) -> bool:
        """Whether its axes are not those of the robot file."""
        return not np.allclose(self.rotation, np.eye(3))

    @property
    def against_stated(self) -> str:
        """How it is turned, and its sign, against what the robot file states."""
        if not self.is_turned:
            return 'has the other sign'
        roll, pitch, yaw = np.degrees(to_rpy(self.rotation)).round() + 0.0
        sign = ', and has the other sign' if self.sign < 0 else ''
        angles = f'roll {roll:.0f}°, pitch {pitch:.0f}°, yaw {yaw:.0f}°'
        return f'is turned by {angles} against what the robot file states{sign}'


def cube_rotations() -> list[Array]:
    """The 24 rotations (3, 3) that take axes to axes."""
    axes, signs = itertools.permutations(range(3)), itertools.product((1.0, -1.0), repeat=3)
    found = [np.diag(sign)[:, order] for order, sign in itertools.product(axes, signs)]
    return [matrix for matrix in found if np.linalg.det(matrix) > 0]


def _mounting(
    foot: FootRig, segments: Sequence[Instants], slower: Callable[[], Sequence[Instants]]
) -> Mounting | None:
    """Find how a sensor is turned by the motion, or by its slower part if that is open."""
    found = find_mounting(segments, foot)
    return found if found is None or found.clear else find_mounting(slower(), foot)


def find_mounting(segments: Sequence[Instants], foot: FootRig) -> Mounting | None:
    """Find how the sensor of a foot, of six axes, is turned; None if it is never alone."""
    expected, read, tilted = [], [], []
    alone = [_alone(instants, foot) for instants in segments]
    if sum(np.count_nonzero(rows) for _, rows in alone) < _LEAST_ALONE * RATE:
        return None
    for instants, (stands, rows) in zip(segments, alone, strict=True):
        trunk = instants.links[0]
        layout = make_layout(instants.rig, (trunk,), trunk.link, ('imu_rotation',))
        steps = np.zeros((4, len(layout.parameters)))
        steps[1:, layout.columns('imu.rotation')] = STEP * np.eye(3)
        wrenches = []
        for step in steps:
            terms = Terms.of(instants, layout, step)
            needed = terms.required
            total = needed.above + needed.hanging
            wrench = np.where(stands[:, None], total, 0.0)  # the other feet hang from it
            if foot.name in needed.below:
                wrench = wrench - needed.below[foot.name]
            wrenches.append(in_sensor(instants, foot.name, wrench)[rows])
        expected.append(wrenches[0])
        tilted.append(np.stack([(wrench - wrenches[0]) / STEP for wrench in wrenches[1:]], axis=2))
        read.append(terms.feet[foot.name].full[rows])
    wanted, found, turns = (np.concatenate(parts) for parts in (expected, read, tilted))
    scores = [
        (_unexplained(sign * found @ np.kron(np.eye(2), R.T) - wanted, turns), sign, R)
        for R in cube_rotations()
        for sign in (1, -1)
    ]
    stated = next(score for score, sign, R in scores if sign == 1 and np.allclose(R, np.eye(3)))
    (error, sign, R), (next_best, _, _) = sorted(scores, key=lambda score: score[0])[:2]
    return Mounting(R, sign, error, next_best, stated)


def _alone(instants: Instants, foot: FootRig) -> tuple[Flags, Flags]:
    """(K,) whether a foot stands alone; and whether it does so, or alone swings."""
    index = [other.name for other in instants.rig.feet].index(foot.name)
    others = [sole for k, sole in enumerate(instants.soles) if k != index]
    mine = instants.soles[index]
    stands = np.all([above(other, mine) > CLEARANCE_WITH_FORCES for other in others], axis=0)
    swings = np.all([above(mine, other) > CLEARANCE_WITH_FORCES for other in others], axis=0)
    return stands, stands ^ swings


def _unexplained(difference: Array, turns: Array) -> float:
    """Root mean square of differences of wrenches (T, 6), less what offsets and IMU explain [N].

    `turns` (T, 6, 3) is what a turn of the IMU about each axis adds to what the motion requires.
    """
    unit = np.repeat([1.0, _ARM], 3)
    left = (difference - difference.mean(axis=0)) / unit
    J = (turns - turns.mean(axis=0)) / unit[:, None]
    q, r = np.linalg.qr(J.reshape(-1, 3))
    angles = scipy.optimize.lsq_linear(r, q.T @ left.reshape(-1), (-MOST_TURN, MOST_TURN)).x
    return float(np.sqrt(((left - J @ angles) ** 2).sum(axis=1).mean()))


def with_mountings(
    robot: RobotFile,
    rig: Rig,
    segments: Sequence[Instants],
    slower: Callable[[], Sequence[Instants]],
) -> tuple[RobotFile, list[str], bool]:
    """Turn force sensors as the motion says, or its slower part if that is open; in sentences.

    And whether one is turned in a way that the motion leaves open.
    """
    sentences, open_ = [], False
    feet = list(robot.feet)
    for foot in rig.feet:
        if foot.sensor is None or foot.normal_only or len(rig.feet) < 2:
            continue
        found = _mounting(foot, segments, slower)
        sentences.append(_mounting_sentence(foot.name, found))
        if found is None or not found.refuted:
            continue
        open_ |= not found.clear
        for k, stated in enumerate(feet):
            if stated.name == foot.name and (wrench := stated.wrench) is not None:
                turned = dataclasses.replace(
                    wrench,
                    rotation=to_rpy(found.rotation @ from_rpy(wrench.rotation)),
                    sign=wrench.sign * found.sign,
                )
                feet[k] = dataclasses.replace(stated, wrench=turned)
    return dataclasses.replace(robot, feet=tuple(feet)), sentences, open_


def _mounting_sentence(foot: str, found: Mounting | None) -> str:
    if found is None:
        return (
            f"Foot '{foot}' is never alone on the ground or in the air for long enough to find "
            'how its sensor is turned; record some steps.'
        )
    left = (
        f'leaves {found.error:.1f} N of what the motion requires unexplained (moments over '
        f'{_ARM:g} m), the next best mounting {found.next_best:.1f} N'
    )
    if found.clear:
        how = found.against_stated if found.refuted else 'is mounted as stated'
        return f"The force sensor of foot '{foot}' {how}: that {left}."
    refuted = f' The mounting in the robot file leaves {found.stated:.1f} N, so it is wrong.'
    return (
        f"How the force sensor of foot '{foot}' is turned is not observable: the best mounting "
        f'{left}.{refuted if found.refuted else ""}'
    )


def force_sensor_findings(bag: str | PathLike[str], robot: RobotFile) -> list[Finding]:
    """Judge the force sensors by a recording, as `judge_force_sensors` does.

    Args:
        bag: rosbag2, folder or file; one that can be evaluated.
        robot: the robot file.

    Returns:
        Findings; none where the recording has no steps, or cannot be used for this.
    """
    try:
        rig, parts = read_segments(bag, robot, load_model(robot.read_urdf(), robot.root))
    except IzmpError:
        return []
    return judge_force_sensors(rig, parts)


def judge_force_sensors(rig: Rig, parts: Sequence[Segment]) -> list[Finding]:
    """Find out how the force sensors are turned, and what they read without load.

    Args:
        rig: the robot, prepared.
        parts: its signals; the first minute of them is examined.

    Returns:
        Findings; none where there are no steps.
    """
    if len(rig.feet) < 2 or not any(foot.sensor for foot in rig.feet):
        return []
    links = link_inertias(rig.model)
    first = list(_first(parts))
    if not first:
        return []
    segments, slower = (
        cache(lambda cutoff=cutoff: [prepare(part, rig, links, cutoff) for part in first])
        for cutoff in CUTOFFS
    )
    findings: list[Finding] = []
    for foot, stated in zip(rig.feet, rig.robot.feet, strict=True):
        if foot.sensor is None or stated.wrench is None:
            continue
        found = None if foot.normal_only else _mounting(foot, segments(), slower)
        if found is not None and found.refuted:
            findings.append(_turned(foot, stated.wrench, found))
        else:
            findings += _unloaded(rig, foot, stated.wrench, segments())
    return findings


def _first(parts: Sequence[Segment]) -> Iterator[Segment]:
    """The segments up to the longest time that is examined."""
    left = _LONGEST
    for part in parts:
        if left > 0.0:
            end = min(part.end, part.begin + round(left * 1e9))
            yield dataclasses.replace(part, end=end)
            left -= part.duration


def _turned(foot: FootRig, stated: FootWrench, found: Mounting) -> Finding:
    keys = [f'sign: {-stated.sign}'] if found.sign < 0 else []
    if found.is_turned:
        rotation = to_rpy(found.rotation @ from_rpy(stated.rotation))
        keys.insert(0, f'rotation: [{", ".join(f"{angle + 0.0:.4g}" for angle in rotation)}]')
    sentence = _mounting_sentence(foot.name, found)
    remedy = f'Set feet[{foot.name}].wrench: {{{", ".join(keys)}}}.'
    if not found.clear:
        remedy = f'Check frame, rotation and sign of feet[{foot.name}].wrench.'
    return Finding('force_sensor_turned', 'warning', sentence, remedy)


def _unloaded(
    rig: Rig, foot: FootRig, stated: FootWrench, segments: Sequence[Instants]
) -> Iterator[Finding]:
    """Judge what a sensor reads while its foot is in the air."""
    link = stated.below or link_at(rig.model, foot.sole)
    carried = rig.model.links_carried(link)
    excess, hanging, ups = [], [], []
    for instants in segments:
        rows = _in_air(instants, foot)
        R, _ = instants.sensors[foot.name]
        terms = Terms.stated(dataclasses.replace(instants, below={foot.name: carried}))
        read = terms.feet[foot.name].full
        below = in_sensor(instants, foot.name, terms.required.below[foot.name])
        sole = instants.soles[instants.rig.feet.index(foot)]
        excess.append((read if stated.below is None else read + below)[rows])
        hanging.append(below[rows, :3])
        ups.append(np.einsum('tji,tj->ti', R, sole.R[:, :, 2])[rows])
    readings, hangs, up = (np.concatenate(parts) for parts in (excess, hanging, ups))
    if len(readings) < _LEAST_TIME * RATE:
        return
    weight = rig.model.total_mass * rig.robot.gravity
    forces = np.einsum('ti,ti->t', readings[:, :3], up)
    force, takes = float(np.median(forces)), float(np.median(np.einsum('ti,ti->t', hangs, up)))
    if LEAST_WEIGHT * weight < abs(force) < _MOST_OFFSET * weight:
        constant = float(np.median(np.abs(forces - force))) <= VARIES * abs(force)
        reading = np.median(readings, axis=0) if constant else None
        yield from _excess(rig, foot, stated, link, reading, force, takes)


def _excess(
    rig: Rig, foot: FootRig, stated: FootWrench, link: str, reading: Array | None, force: float,
    takes: float,
) -> Iterator[Finding]:  # fmt: skip
    """What a reading (6,) without load means, `force` upwards; the link takes as much [N].

    None is one that varies: what the foot's motion takes, or not known.
    """
    share = abs(force) / (rig.model.total_mass * rig.robot.gravity)
    found = f"In the air the force sensor of foot '{foot.name}' reads {force:.1f} N upwards"
    weight = rig.model.part(link).total_mass * rig.robot.gravity
    if stated.below is None and abs(force + takes) < OF_A_LINK * weight:
        message = f"{found}: what '{link}' ({weight:.1f} N) takes, which hangs from it."
        remedy = f'Set feet[{foot.name}].wrench.below: {link}.'
        yield Finding('link_below_sensor', 'warning', message, remedy)
    elif stated.below is not None and abs(force - weight) < OF_A_LINK * weight:
        message = (
            f"{found} more than '{link}' below it does, which is the weight of that link "
            f'({weight:.1f} N): the sensor was set to zero with the foot in the air, or is below '
            'that link.'
        )
        remedy = f'Leave feet[{foot.name}].wrench.below out.'
        yield Finding('link_below_sensor', 'warning', message, remedy)
    elif reading is not None and share > LEAST_OFFSET:
        offset = ', '.join(f'{n:.4g}' for n in offset_without(stated, reading).round(2) + 0.0)
        yield Finding(
            'force_offset',
            'warning',
            f'{found} without load, {share:.0%} of the weight of the robot.',
            f'Set feet[{foot.name}].wrench.offset: [{offset}]; izmp calibrate --only ft_offsets '
            'finds it with its uncertainty.',
        )


def _in_air(instants: Instants, foot: FootRig) -> Flags:
    """(K,) whether the joints hold a foot above all others, and did so and will for `EDGE`."""
    high = clearances(instants.soles)[:, instants.rig.feet.index(foot)] > CLEARANCE_WITH_FORCES
    width = 2 * round(EDGE * RATE) + 1
    return np.asarray(scipy.ndimage.binary_erosion(high, np.ones(width)))
