"""Recorded segments, in which all signals publish without a gap, and their filtered instants.

Each signal passes one zero-phase filter and becomes a spline, so that delays are continuous; at
uniform instants of these all residuals are made.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np
import scipy.interpolate
import scipy.ndimage
import scipy.signal

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Indices, Stamps, cross
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.calibration.inertias import LinkInertia
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.limits import (
    LARGEST_JOINT_POSITION,
    LARGEST_LOAD,
    LARGEST_MOTION,
    LARGEST_POSE,
    too_large,
)
from izmp_dynamics.pipeline.pose_imu import RECENT, follows, imu_of_poses, jumps_of
from izmp_dynamics.pipeline.rig import FootRig, Rig
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.topic_use import credible_stamps
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.imu import rotations
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream_filter import compensated
from izmp_dynamics.stability.held_joints import REMEDY, unknown_foot
from izmp_dynamics.stability.sole_motion import SoleMotion, sole_motion

_SHORTEST = 1.5  # a segment that is shorter is left out [s]

LONGEST_GAP = 0.2
"""A longer time without a sample ends a segment [s]; one of four periods does as well."""

SPAN = 5.0
"""Time that is read at once [s]."""

WIDE = 4.0
"""What units measure is made of signals with this cut-off, in multiples of that of the filter."""

_ORDER = 2  # of the Butterworth filter, which runs forwards and backwards
_DEGREE = 5  # of the splines: the second derivative is smooth

MOST_SAMPLES = 8.0
"""Samples of a signal that the filter sees, in multiples of its cut-off frequency."""

RATE = 50.0
"""Of the instants [Hz]."""

_SLOW = 0.1  # a robot whose joints are all slower stands [rad/s] or [m/s]
_NEAR = 0.3  # time before and after a movement that belongs to it [s]
_POSTURE = 1.0  # standing counts as so much of walking, however long it lasts [s]

MOST_LOST = 0.1
"""Part of an IMU derived from a pose that may be beyond what any IMU measures [-]."""

RECORD_IMU = (
    'Record an IMU on the root, or a pose with less noise and even stamps, at 100 to 200 Hz.'
)
"""What to do where a pose is too noisy."""

EDGE = 0.3
"""Time at both ends of a segment that is left out, for the filter and the delays [s]."""


@dataclass(frozen=True)
class Segment:
    """Signals of a robot over a time without gaps, less the errors that its file states.

    Attributes:
        begin: of the time that all signals share [ns].
        end: of that time [ns].
        joints: (T, n) positions; joints without a publisher are at zero.
        imu: (T, 6) angular velocity [rad/s] and specific force [m/s²] in the axes of the sensor.
        feet: foot → (T, 6) wrench in the axes of its sensor's frame, as it acts on the robot.
        units: link → (T, 6) as those of the IMU.
    """

    begin: int
    end: int
    joints: Samples
    imu: Samples
    feet: Mapping[str, Samples]
    units: Mapping[str, Samples]

    @property
    def duration(self) -> float:
        """How long it is [s]."""
        return (self.end - self.begin) / NANOSECONDS


def read_segments(
    path: str | PathLike[str], robot: RobotFile, model: RobotModel
) -> tuple[Rig, tuple[Segment, ...]]:
    """Read a recording.

    Args:
        path: rosbag2, folder or file.
        robot: the robot file; what it states about errors is taken out.
        model: its model.

    Returns:
        The robot, prepared, and the segments, see `cut_segments`.

    Raises:
        IzmpError: if bag, joints or IMU cannot be used, or a joint above a sole is not recorded.
    """
    parts: defaultdict[str, list[Samples]] = defaultdict(list)
    with BagReader(path) as bag:
        recording = Recording(bag, robot, model)
        if recording.only_ir_md:
            reason = next(found.sentence for found in recording.missing if found.kind == 'no_imu')
            raise ReplayError(
                f"'{path}' cannot be calibrated from: {reason}", kind='no_imu', path=path
            )
        for foot, joints in recording.held_joints.items():
            raise ReplayError(
                f"'{path}' cannot be calibrated from: {unknown_foot(foot, joints)}. {REMEDY}",
                kind='leg_joints_absent',
                foot=foot,
                joints=joints,
            )
        for signals, _ in recording.spans(SPAN):
            for name, samples in signals.items():
                parts[name].append(samples)
    whole = {name: Samples.joined(some) for name, some in parts.items()}
    credible = {name: part.select(credible_stamps(part.stamps)) for name, part in whole.items()}
    return recording.rig, cut_segments(recording.rig, credible)


def cut_segments(rig: Rig, signals: Mapping[str, Samples]) -> tuple[Segment, ...]:
    """Cut signals into segments in which joints, IMU, units and all feet's sensors publish.

    A unit that is silent for most of the time is left out, as its gaps would take the segments
    of all others.

    Args:
        rig: the robot, prepared; what its file states about errors is taken out.
        signals: by name as `pipeline.evaluator` takes them, in any order of their stamps.
    """
    joints = _usable(signals.get('joints'), Correction(), whole=False)
    read = _derived(rig, signals) if rig.robot.imu.from_position else signals.get('imu')
    imu = _usable(read, rig.imu.correction, LARGEST_MOTION)
    imu = compensated(imu, rig.imu.correction, LONGEST_GAP)
    load = LARGEST_LOAD * rig.model.total_mass * rig.robot.gravity
    feet = {
        foot.name: compensated(
            _usable(signals.get(f'feet[{foot.name}]'), foot.correction, load),
            foot.correction,
            LONGEST_GAP,
        )
        for foot in rig.feet
        if foot.sensor is not None
    }
    units = {
        link: _usable(signals.get(mount.name), mount.correction, LARGEST_MOTION)
        for link, mount in rig.units.items()
    }
    observed = {link: unit for link, unit in units.items() if _covers(unit.stamps, imu.stamps)}
    return tuple(_cut(joints, imu, feet, observed))


def _covers(stamps: Stamps, time: Stamps) -> bool:
    """Whether a signal publishes without gaps for more than half of the time of another."""
    steps = np.diff(stamps)
    known = steps[steps <= _longest_step(stamps)].sum()
    return bool(len(time) and known > 0.5 * (time[-1] - time[0]))


def _derived(rig: Rig, signals: Mapping[str, Samples]) -> Samples:
    """The IMU of a robot that has none, from its pose; not across gaps."""
    position, orientation = signals['position'], signals['orientation']
    rows = rotations(orientation.values)[1]
    stamps, one, other = np.intersect1d(
        position.stamps, orientation.stamps[rows], return_indices=True
    )
    values = np.hstack([position.values[one], orientation.values[rows][other]])
    new = np.append(True, (np.diff(values, axis=0) != 0.0).any(axis=1))[: len(values)]
    measured = Samples(stamps[new], values[new])  # a pose that repeats the one before is none
    assert rig.position is not None
    poses = _usable(measured, rig.position.correction.timing(), LARGEST_POSE)
    if len(poses) < 3:
        return Samples.empty(6)
    longest = _longest_step(poses.stamps)
    near = np.diff(poses.stamps) <= longest
    derived = imu_of_poses(poses, rig.robot.gravity)
    jumps, _ = jumps_of(poses, np.full(RECENT, np.nan))
    jumped = follows(derived.stamps, jumps, longest / NANOSECONDS)
    derived = derived.select(near[1:] & near[:-1] & ~jumped)
    if len(derived) and too_large(derived.values, LARGEST_MOTION).mean() > MOST_LOST:
        size = float(np.median(np.linalg.norm(derived.values[:, 3:], axis=1)))
        raise ReplayError(
            'The pose is too noisy to derive an IMU from: half of the accelerations by its second '
            f'differences are beyond {size:.0f} m/s², which no robot reaches. {RECORD_IMU}',
            kind='pose_too_noisy',
        )
    return derived


def _usable(
    samples: Samples | None,
    correction: Correction,
    largest: Array | float = np.inf,
    whole: bool = True,
) -> Samples:
    """Samples (T, m) in the order of their stamps, each stamp once, without invalid ones.

    Of equal stamps, which publishers of some joints each may share, the first number counts.
    Samples beyond the `largest` size of such a sensor are invalid, and if they must be `whole`,
    those of which a number is absent.
    """
    if samples is None:
        return Samples.empty(6)
    samples = correction.apply(samples.select(~too_large(samples.values, largest)))
    good = (samples.stamps > 0) & ~np.isinf(samples.values).any(axis=1)
    if whole:
        good &= np.isfinite(samples.values).all(axis=1)
    samples = samples.select(good)
    stamps, which = np.unique(samples.stamps, return_inverse=True)
    values = np.full((len(stamps), samples.values.shape[1]), np.nan)
    for k, column in enumerate(samples.values.T):
        known = np.flatnonzero(np.isfinite(column))[::-1]  # the last one assigned stays
        values[which[known], k] = column[known]
    return Samples(stamps, values)


def _credible(positions: Array) -> Flags:
    """Whether joint positions are finite and such that a joint can have them."""
    flags: Flags = np.abs(np.nan_to_num(positions, nan=np.inf)) <= LARGEST_JOINT_POSITION
    return flags


def _cut(
    joints: Samples, imu: Samples, feet: Mapping[str, Samples], units: Mapping[str, Samples]
) -> Iterator[Segment]:
    """The times in which no signal has a gap, each joint being one."""
    columns = [joints.stamps[rows] for rows in _credible(joints.values).T if rows.any()]
    signals = (*columns, imu.stamps, *(s.stamps for s in (*feet.values(), *units.values())))
    if not columns or not all(len(stamps) for stamps in signals):
        return
    gaps = [gap for stamps in signals for gap in _gaps(stamps)]
    begin = max(int(stamps[0]) for stamps in signals)
    last = min(int(stamps[-1]) for stamps in signals)
    while begin < last:
        ahead = [gap for gap in gaps if gap[1] > begin]
        end = min((last, *(gap[0] for gap in ahead)))
        if end - begin >= nanoseconds(_SHORTEST):
            parts = (
                {name: _between(samples, begin, end) for name, samples in of.items()}
                for of in (feet, units)
            )
            whole = _filled(_between(joints, begin, end))
            yield Segment(begin, end, whole, _between(imu, begin, end), *parts)
        begin = max((gap[1] for gap in ahead if gap[0] <= end), default=last)


def _gaps(stamps: Stamps) -> list[tuple[int, int]]:
    """Stamps before and after every gap [ns]."""
    rows = np.flatnonzero(np.diff(stamps) > _longest_step(stamps))
    return [(int(stamps[k]), int(stamps[k + 1])) for k in rows]


def _longest_step(stamps: Stamps) -> int:
    """Time between samples that is no gap yet [ns]."""
    steps = np.diff(stamps)
    return max(nanoseconds(LONGEST_GAP), 4 * int(np.median(steps)) if len(steps) else 0)


def _between(samples: Samples, begin: int, end: int) -> Samples:
    """The samples of a time, and one neighbour on either side unless it is beyond a gap."""
    first = max(0, int(np.searchsorted(samples.stamps, begin)) - 1)
    part = samples.select(slice(first, int(np.searchsorted(samples.stamps, end)) + 2))
    reach = _longest_step(samples.stamps)
    return part.select((part.stamps >= begin - reach) & (part.stamps <= end + reach))


def _filled(joints: Samples) -> Samples:
    """Every joint at every stamp, interpolated where a message lacks it."""
    values: Array = np.zeros_like(joints.values)
    for k, (column, known) in enumerate(
        zip(joints.values.T, _credible(joints.values).T, strict=True)
    ):
        if known.any():
            values[:, k] = np.interp(joints.stamps, joints.stamps[known], column[known])
    return Samples(joints.stamps, values)


class SmoothSignal:
    """A signal after the filter, as a spline.

    Args:
        samples: (T, m) as they were measured.
        cutoff: of the filter [Hz].
        origin: instant of zero seconds [ns].
    """

    def __init__(self, samples: Samples, cutoff: float, origin: int) -> None:
        rate = max(100.0, min(500.0, 40.0 * cutoff))  # of the grid that the filter runs on [Hz]
        times = (samples.stamps - origin) / NANOSECONDS
        grid = np.arange(times[0], times[-1], 1.0 / rate)
        values = np.stack([np.interp(grid, times, column) for column in samples.values.T], axis=1)
        sections = scipy.signal.butter(_ORDER, cutoff, fs=rate, output='sos')
        padding = min(len(grid) - 1, round(3.0 * rate / cutoff))
        smooth = scipy.signal.sosfiltfilt(sections, values, axis=0, padlen=padding)
        some = slice(None, None, max(1, int(rate / (MOST_SAMPLES * cutoff))))
        self._splines = [scipy.interpolate.make_interp_spline(grid[some], smooth[some], _DEGREE)]

    def at(self, times: Array, derivative: int = 0) -> Array:
        """Give the signal (K, m), or a derivative of it [1/s, 1/s²], at instants (K,) [s]."""
        while len(self._splines) <= derivative:
            self._splines.append(self._splines[-1].derivative())
        values: Array = self._splines[derivative](times)
        return values


@dataclass
class Instants(Record):
    """A segment, filtered, at K uniform instants, or some of these.

    Attributes:
        times: (K,) [s].
        row: (K,) number of each among all of the segment.
        moving: (K,) whether the joints move, or have moved or will move within `_NEAR`.
        shares: (K,) what an instant counts: however long the robot stands, it is one posture.
        q: (K, n) joint positions [rad] or [m].
        qd: (K, n) their derivatives.
        qdd: (K, n) their second derivatives.
        soles: of the feet.
        moved: link with a unit → its motion.
        lost: link with a unit → (K, 6) what its ω and φ are more than that says, see `_lost`.
        sensors: foot → root_R_sensor (K, 3, 3) and its origin (K, 3).
        rest: (K, F) which feet rest.
        air: (K, F) which feet are in the air.
        rig: the robot.
        links: its links with mass.
        imu: signal (6,).
        feet: foot → signal (6,).
        units: link → signal (6,) of its unit.
        below: foot → links that its sensor does not feel.
    """

    times: Array
    row: Indices
    moving: Flags
    shares: Array
    q: Array
    qd: Array
    qdd: Array
    soles: tuple[SoleMotion, ...]
    moved: dict[str, SoleMotion]
    lost: dict[str, Array]
    sensors: dict[str, tuple[Array, Array]]
    rest: Flags
    air: Flags
    rig: Rig
    links: tuple[LinkInertia, ...]
    imu: SmoothSignal
    feet: dict[str, SmoothSignal]
    units: dict[str, SmoothSignal]
    below: dict[str, frozenset[str]]

    @property
    def measured(self) -> tuple[FootRig, ...]:
        """The feet with sensors."""
        return tuple(foot for foot in self.rig.feet if foot.sensor is not None)

    @property
    def all_measured(self) -> bool:
        """Whether there are feet, and all of them have sensors."""
        return 0 < len(self.measured) == len(self.rig.feet)


def prepare(segment: Segment, rig: Rig, links: tuple[LinkInertia, ...], cutoff: float) -> Instants:
    """Filter a segment and move the robot's feet; which feet rest is not decided yet.

    Args:
        segment: the signals.
        rig: the robot.
        links: its links with mass.
        cutoff: of the filter [Hz].
    """
    joints, imu = (
        SmoothSignal(samples, cutoff, segment.begin) for samples in (segment.joints, segment.imu)
    )
    feet, units = (
        {name: SmoothSignal(samples, cutoff, segment.begin) for name, samples in of.items()}
        for of in (segment.feet, segment.units)
    )
    times = np.arange(EDGE, segment.duration - EDGE, 1.0 / RATE)
    q, qd, qdd = (joints.at(times, order) for order in range(3))
    moving, model = _moving(qd), rig.model
    stated = {foot.name: foot.wrench for foot in rig.robot.feet}
    sensors, below = {}, {}
    for foot in rig.feet:
        if foot.sensor is not None:
            wrench = stated[foot.name]
            link = None if wrench is None else wrench.below
            sensors[foot.name] = model.frame_pose(foot.sensor, q)
            below[foot.name] = frozenset() if link is None else model.links_carried(link)

    def motion(link: str, polygon: Array) -> SoleMotion:
        return sole_motion(model, link, polygon, lambda shift: joints.at(times + shift))

    rest, air = np.zeros((2, len(times), len(rig.feet)), dtype=np.bool_)
    return Instants(
        times, np.arange(len(times)), moving, _shares(moving), q, qd, qdd,
        tuple(motion(foot.sole, foot.polygon) for foot in rig.feet),
        {link: motion(link, np.empty((0, 2))) for link in units},
        _lost(segment, rig, cutoff, times),
        sensors, rest, air, rig, links, imu, feet, units, below,
    )  # fmt: skip


def _moving(qd: Array) -> Flags:
    fast = np.abs(qd).max(axis=1, initial=0.0) > _SLOW
    flags: Flags = scipy.ndimage.binary_dilation(fast, np.ones(2 * round(_NEAR * RATE) + 1))
    return flags


def _shares(moving: Flags) -> Array:
    labels, _ = scipy.ndimage.label(~moving)
    shares: Array = np.minimum(1.0, _POSTURE * RATE / np.maximum(np.bincount(labels), 1))[labels]
    return np.where(moving, 1.0, shares)


def _lost(segment: Segment, rig: Rig, cutoff: float, times: Array) -> dict[str, Array]:
    """Link with a unit → (K, 6) filtered ω and φ there, less those of filtered joints and root.

    A unit measures products of motions, such as ω × (ω × r), before any filter. Products of
    filtered motions are others, alike at every step, as if the unit were elsewhere.
    """
    if not segment.units:
        return {}
    fine = np.arange(times[0] - EDGE, times[-1] + EDGE, 1.0 / (MOST_SAMPLES * WIDE * cutoff))
    stamps = segment.begin + (NANOSECONDS * fine).astype(np.int64)

    def filtered(values: Array) -> SmoothSignal:
        return SmoothSignal(Samples(stamps, values), cutoff, segment.begin)

    measured = segment.joints, segment.imu
    wide = [SmoothSignal(each, WIDE * cutoff, segment.begin) for each in measured]
    narrow = [filtered(each.at(fine)) for each in wide]
    first = {link: filtered(_at_unit(rig, link, fine, *wide)) for link in segment.units}
    return {
        link: signal.at(times) - _at_unit(rig, link, times, *narrow)
        for link, signal in first.items()
    }


def _at_unit(rig: Rig, link: str, times: Array, joints: SmoothSignal, imu: SmoothSignal) -> Array:
    """(K, 6) ω and φ where a unit is stated, in axes of its link, by joints and the root's IMU."""
    omega, phi = np.split(imu.at(times) @ np.kron(np.eye(2), rig.imu.R).T, 2, axis=1)
    alpha, r = imu.at(times, 1)[:, :3] @ rig.imu.R.T, np.broadcast_to(rig.imu.p, omega.shape)
    phi = phi - cross(alpha, r) - cross(omega, cross(omega, r))
    moved = sole_motion(rig.model, link, np.empty((0, 2)), lambda shift: joints.at(times + shift))
    return moved.carried(phi, omega, alpha, rig.unit_pose(link)[1])
