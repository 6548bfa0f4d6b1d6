"""An IMU derived from the pose of the root, for robots that have none.

Orientation and position are differenced over three samples: ω from the rotations from the sample
before and to the one after, the acceleration from the second difference of the position, and the
specific force from that and gravity. Motion capture noise grows with the square of its rate on
the way, and MR-AD is then no longer independent of the pose that IR-MD uses.

A localizer that loses the robot drifts off and jumps back. Before and after a jump its poses are
no motion of one body: nothing is derived from both sides of it.
"""

from collections import deque

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.rotations import from_matrices, matrices_from_quaternions
from izmp_dynamics.pipeline.limits import LARGEST_POSE
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Streams

_MOST_WAITING = 1000

SOONEST = 0.6
"""Where a pose follows another in less than this part of the usual time, one of both has a stamp
that is not its instant: twice differenced, that is an acceleration like none of the robot's. It is
the first if that came later than usual [-]."""

USUAL = 9
"""Intervals before, of which the median is the usual one."""

JUMP = 100.0
"""Acceleration of the root that is a jump of the pose: twice that of a foot that lands [m/s²]."""

FLUTTER = 0.002
"""Distance from the line between its neighbours that a position may have besides [m]."""

NOISY, RECENT = 6.0, 50
"""So many times the median of that distance over so many poses before is noise, too [-]."""


class PoseImu:
    """Derives the samples of an IMU at the frame whose pose is measured, in its axes.

    Args:
        rig: the robot.
        streams: of its signals.

    Attributes:
        faults: poses with such a stamp, and jumps; what else is wrong the position's stream says.
    """

    def __init__(self, rig: Rig, streams: Streams) -> None:
        self._gravity = rig.robot.gravity
        assert rig.position is not None
        self._stream = streams.make(
            'position',
            7,
            largest=LARGEST_POSE,
            half_width=None,  # what is derived from it is filtered
            quaternion=3,
            correction=rig.position.correction.timing(),
            may_be_stuck=True,
        )
        self.faults = Faults()
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        self._stream.reset()
        self._halves: tuple[dict[int, Array], dict[int, Array]] = ({}, {})
        self._poses = self._waiting = Samples.empty(7)
        self._newest: int | None = None
        self._jumped, self._off = np.empty(0, np.int64), np.full(RECENT, np.nan)
        self._intervals: deque[int] = deque(maxlen=USUAL)

    def push_position(self, samples: Samples) -> Samples:
        """Take positions (T, 3) [m]; return the samples (K, 6) of the IMU that follow."""
        return self._push(0, samples)

    def push_orientation(self, samples: Samples) -> Samples:
        """Take quaternions (T, 4), x y z w; return the samples (K, 6) of the IMU that follow."""
        return self._push(1, samples)

    def flush(self, final: bool = True) -> Samples:
        """Return the samples that are left at the end of the stream."""
        return self._derive(self._stream.flush(final), ends=True)

    def _push(self, part: int, samples: Samples) -> Samples:
        """Join positions and orientations of equal stamps, in the order of arrival."""
        mine, other = self._halves[part], self._halves[1 - part]
        stamps, poses = [], []
        for stamp, values in zip(samples.stamps.tolist(), samples.values, strict=True):
            if stamp in other:
                halves = (values, other.pop(stamp))
                poses.append(np.concatenate(halves if part == 0 else halves[::-1]))
                stamps.append(stamp)
            else:
                mine[stamp] = values
                if len(mine) > _MOST_WAITING:
                    del mine[next(iter(mine))]
        if not stamps:
            return Samples.empty(6)
        return self._derive(self._stream.push(Samples(np.array(stamps), np.array(poses))))

    def _derive(self, usable: Samples, ends: bool = False) -> Samples:
        """Difference the poses; each needs the next one, and whether that is late, the one after.

        Args:
            usable: (T, 7) the next poses.
            ends: whether none follows soon.
        """
        usable = self._timely(usable, ends)
        self._poses = Samples.joined([self._poses, usable])
        if len(self._poses) < 3:
            return Samples.empty(6)
        poses = self._poses
        self._poses = poses.select(slice(-2, None))
        if len(usable):
            self._stream.buffer.forget(int(usable.stamps[-1]))
        derived, reach = imu_of_poses(poses, self._gravity), self._stream.buffer.reach
        steps = np.diff(poses.stamps) / NANOSECONDS
        near = np.maximum(steps[1:], steps[:-1]) <= reach
        jumps, self._off = jumps_of(poses, self._off)
        self.faults[Fault(Reason.POSE_JUMPS)] += len(jumps)
        self._jumped = np.append(self._jumped, jumps)[-len(jumps) - 1 :]
        return derived.select(near & ~follows(derived.stamps, self._jumped, reach))

    def _timely(self, samples: Samples, ends: bool) -> Samples:
        """The poses with stamps of their instants; others are counted, the newest one waits."""
        known = Samples.joined([self._waiting, samples])
        timely = np.ones(len(known), dtype=np.bool_)
        for k in range(len(self._waiting), len(known)):
            stamp = int(known.stamps[k])
            if self._newest is not None:
                step = stamp - self._newest
                usual = sorted(self._intervals)[USUAL // 2] if len(self._intervals) == USUAL else 0
                if step < SOONEST * usual:
                    late = k > 0 and timely[k - 1] and self._intervals[-1] > usual
                    timely[k - 1 if late else k] = False
                self._intervals.append(step)
            self._newest = stamp
        self.faults[Fault(Reason.STAMP_TOO_CLOSE)] += np.count_nonzero(~timely)
        settled = len(known) if ends else max(len(known) - 1, 0)
        self._waiting = known.select(slice(settled, None)).select(timely[settled:])
        return known.select(slice(settled)).select(timely[:settled])


def jumps_of(poses: Samples, earlier: Array) -> tuple[Stamps, Array]:
    """Where the root would exceed the acceleration `JUMP`, and poses before are not as noisy.

    Args:
        poses: (T, 7).
        earlier: (RECENT,) how far poses before were off the line between neighbours [m]; or NaN.

    Returns:
        (J,) stamps [ns], and `earlier` of the poses that follow.
    """
    p, steps = poses.values[:, :3], np.diff(poses.stamps) / NANOSECONDS
    before, after = steps[:-1, None], steps[1:, None]
    line = (p[:-2] * after + p[2:] * before) / (before + after)
    off = np.append(earlier, np.linalg.norm(p[1:-1] - line, axis=1))
    recent = np.nan_to_num(np.lib.stride_tricks.sliding_window_view(off, RECENT)[:-1])
    limit = np.maximum(
        0.5 * JUMP * steps[:-1] * steps[1:] + FLUTTER, NOISY * np.median(recent, axis=1)
    )
    jumps: Stamps = poses.stamps[1:-1][off[RECENT:] > limit]
    return jumps, off[-RECENT:]


def follows(stamps: Stamps, jumps: Stamps, reach: float) -> Flags:
    """(T,) which stamps (T,) are those of a jump (J,), or follow one within `reach` [s].

    Without these, no two samples on both sides of a jump are close enough to be joined.
    """
    earlier = np.append(np.int64(-1 << 62), jumps)
    last = earlier[np.searchsorted(jumps, stamps, side='right')]
    return np.asarray(stamps - last <= int(reach * NANOSECONDS))


def imu_of_poses(poses: Samples, gravity: float) -> Samples:
    """Derive angular velocity and specific force by central differences on the actual stamps.

    Args:
        poses: (T, 7) position in the world [m] and world_q_sensor x y z w; T ≥ 3.
        gravity: magnitude [m/s²]; the z axis of the world points up.

    Returns:
        (T − 2, 6) angular velocity [rad/s] and specific force [m/s²] in sensor axes, at the
        stamps between the first and the last.
    """
    steps = np.diff(poses.stamps)[:, None] / NANOSECONDS
    p, R = (
        poses.values[:, :3],
        matrices_from_quaternions(np.ascontiguousarray(poses.values[:, 3:])),
    )
    slopes = np.diff(p, axis=0) / steps
    span = steps[1:] + steps[:-1]
    force = 2.0 * (slopes[1:] - slopes[:-1]) / span + np.array([0.0, 0.0, gravity])
    rates = from_matrices(np.swapaxes(R[:-1], 1, 2) @ R[1:]).as_rotvec() / steps
    omega = (rates[:-1] * steps[1:] + rates[1:] * steps[:-1]) / span  # as of a parabola
    in_sensor = np.einsum('tji,tj->ti', R[1:-1], force)
    return Samples(poses.stamps[1:-1], np.hstack([omega, in_sensor]))
