"""Where the soles are set down, one after the other.

The footholds lie to both sides of a path: a straight line, or an arc when the walk turns. On the
path a foothold is one step length ahead of the other foot's. Near the edge of a ramp the distances
change so that no sole lies across it: each foot passes the edge in one swing.

The wanted ZMP is piecewise linear over the footholds: while one foot swings, it travels along the
other sole; while both carry, it crosses from one to the other. It lies on the ground throughout,
or between two grounds while the feet stand on both sides of a ramp's edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely.geometry
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.biped import LEFT, RIGHT, SIDES, Biped
from izmp_lab.walking.plan import interpolated

_STEEPEST_DEG = 30.0


@dataclass(frozen=True)
class Ramp:
    """Ground at z = 0 up to the line x = start; from there it rises along x.

    Attributes:
        slope: angle of the ramp [rad]; 0 for level ground everywhere.
        start: where it begins, x in the world [m].
    """

    slope: float = 0.0
    start: float = 0.0

    def __post_init__(self) -> None:
        """Refuse slopes that are too steep or go down."""
        if not 0.0 <= self.slope <= np.radians(_STEEPEST_DEG):
            raise MotionError(
                f'A slope of {np.degrees(self.slope):.1f}° cannot be planned; valid are 0° to '
                f'{_STEEPEST_DEG:.0f}° (upwards).',
                kind='slope_out_of_range',
                slope=self.slope,
                upper=np.radians(_STEEPEST_DEG),
            )

    def height(self, x: npt.ArrayLike) -> Array:
        """Return the height of the ground [m] at x (…) [m]."""
        risen: Array = np.tan(self.slope) * np.maximum(np.asarray(x) - self.start, 0.0)
        return risen

    def smooth_height(self, x: npt.ArrayLike, width: float) -> Array:
        """Return a height [m] whose kink is rounded over `width` [m], a softplus."""
        along = (np.asarray(x, dtype=np.float64) - self.start) / width
        risen: Array = np.tan(self.slope) * width * np.logaddexp(0.0, along)
        return risen

    def rotation(self, x: float) -> Array:
        """Return world_R_ground (3, 3) at x [m]: its z axis is the ground's normal."""
        pitch = -self.slope if x > self.start else 0.0
        R: Array = Rotation.from_euler('y', pitch).as_matrix()
        return R

    def straddled(self, heel: float, toe: float) -> bool:
        """Whether a sole from x = heel to x = toe [m] lies across the edge."""
        return self.slope > 0.0 and heel < self.start < toe


@dataclass(frozen=True)
class StepTiming:
    """The instants of a walk; every step is a double support and a swing.

    Attributes:
        steps: number of steps.
        step_time: duration of a step [s].
        double_support: part of a step during which both feet carry [-].
        stand: time of standing before the first step and after the last one [s].
        time_step: between two instants [s].
    """

    steps: int
    step_time: float
    double_support: float
    stand: float
    time_step: float

    def begins(self, step: int) -> float:
        """Return when a step begins, with a double support [s]."""
        return self.stand + step * self.step_time

    @property
    def beginnings(self) -> Array:
        """(steps + 1,) when each step begins, and when the last one is over [s]."""
        return self.stand + self.step_time * np.arange(self.steps + 1, dtype=np.float64)

    def lifts(self, step: int) -> float:
        """Return when the foot of a step leaves the ground [s]."""
        return self.begins(step) + self.double_support * self.step_time

    def lands(self, step: int) -> float:
        """Return when it is on the ground again [s]."""
        return self.begins(step + 1)

    @property
    def duration(self) -> float:
        """Length of the walk [s]; the weight shifts to both feet after the last landing."""
        return self.begins(self.steps) + self.stand

    @property
    def times(self) -> Array:
        """(T,) all instants [s]; the last one is not before the end of the walk."""
        rows = int(np.ceil(self.duration / self.time_step - 1e-9)) + 1
        return self.time_step * np.arange(rows, dtype=np.float64)

    def steps_between(self, start: float, end: float) -> range:
        """Return the indices of all steps that take place, in part at least, between two times."""
        first, last = (int((time - self.stand) // self.step_time) for time in (start, end))
        return range(min(max(first, 0), self.steps), min(max(last + 1, 0), self.steps))

    def step_at(self, time: float) -> int | None:
        """Return the index of the step that takes place at a time [s]; None while standing."""
        step = int(np.floor((time - self.stand) / self.step_time))
        return step if 0 <= step < self.steps else None


EDGE_CLEARANCE = 0.015
"""Distance that soles keep from the edge of a ramp [m]."""


@dataclass(frozen=True)
class Foothold:
    """One place of a sole.

    Attributes:
        foot: LEFT or RIGHT.
        position: (3,) origin of the sole in the world [m].
        rotation: (3, 3) world_R_sole.
        along: distance along the path, in step lengths [-].
    """

    foot: int
    position: Array
    rotation: Array
    along: float

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        object.__setattr__(self, 'position', frozen(self.position))
        object.__setattr__(self, 'rotation', frozen(self.rotation))

    def point(self, ahead: float) -> Array:
        """Return the point of the sole this far ahead of its origin [m], in the world (3,)."""
        return self.position + ahead * self.rotation[:, 0]


@dataclass(frozen=True)
class Footsteps:
    """A walk as a sequence of footholds.

    Attributes:
        start: the footholds of the left and the right foot before the first step.
        steps: the foothold that each step reaches, in order.
    """

    start: tuple[Foothold, Foothold]
    steps: tuple[Foothold, ...]

    def before(self, step: int) -> tuple[Foothold, Foothold]:
        """Return the footholds of the left and the right foot when a step begins.

        Args:
            step: index of the step; the number of steps for where the walk ends.
        """
        holds = list(self.start)
        for reached in self.steps[:step]:
            holds[reached.foot] = reached
        return holds[LEFT], holds[RIGHT]

    def track(self, foot: int) -> list[tuple[int, Foothold]]:
        """Return the steps that a foot makes: (index, foothold reached)."""
        return [(index, hold) for index, hold in enumerate(self.steps) if hold.foot == foot]


@dataclass(frozen=True)
class Gait:
    """What footsteps are made from.

    Attributes:
        steps: number of steps; the last one sets the feet side by side.
        length: distance along the path from one foothold to the next one of the other foot [m].
        turn: change of heading from one to the next, positive to the left [rad].
        width: distance between the soles' origins across the path [m].
        first: the foot that steps first.
    """

    steps: int
    length: float
    turn: float
    width: float
    first: int = RIGHT


def plan_footsteps(biped: Biped, gait: Gait, ramp: Ramp) -> Footsteps:
    """Place the footholds of a walk that starts and ends with the feet side by side.

    The middle of the first stance is the world's origin, the walk goes along x.

    Raises:
        MotionError: if the walk turns on a ramp, the first stance or the walk would lie across
            its edge, or two soles would overlap.
    """
    path = _Path(biped, gait, ramp)
    path.check_start()
    along = [0.0, 0.0]
    reached = []
    for step in range(gait.steps):
        foot = gait.first if step % 2 == 0 else 1 - gait.first
        last = step == gait.steps - 1
        along[foot] = along[1 - foot] if last else path.next(foot, along)
        reached.append(path.foothold(foot, along[foot]))
    start = (path.foothold(LEFT, 0.0), path.foothold(RIGHT, 0.0))
    footsteps = Footsteps(start, tuple(reached))
    check_overlap(footsteps, biped)
    return footsteps


class _Path:
    """The line along which a walk goes, and the rules for footholds on it."""

    def __init__(self, biped: Biped, gait: Gait, ramp: Ramp) -> None:
        self.gait, self.ramp = gait, ramp
        self.heel = float(min(polygon[:, 0].min() for polygon in biped.polygons))
        self.toe = float(max(polygon[:, 0].max() for polygon in biped.polygons))

    def check_start(self) -> None:
        gait, ramp = self.gait, self.ramp
        if ramp.slope > 0.0 and gait.turn != 0.0:
            raise MotionError(
                'Turning on a ramp cannot be planned; turn on level ground.',
                kind='turn_on_ramp',
                turn=self.gait.turn,
            )
        if ramp.slope > 0.0 and ramp.start < self.toe + EDGE_CLEARANCE:
            raise MotionError(
                f'The ramp begins at x = {ramp.start:.3f} m, below the soles of the first stance; '
                f'it must begin at {self.toe + EDGE_CLEARANCE:.3f} m or further.',
                kind='ramp_below_stance',
                start=ramp.start,
                least=self.toe + EDGE_CLEARANCE,
            )

    def next(self, foot: int, along: list[float]) -> float:
        """Return how far along the path a foot is set down next, in step lengths."""
        wanted = min(along[1 - foot] + 1.0, along[foot] + 2.0)
        x, edge = wanted * self.gait.length, self.ramp.start
        heel, toe = self.heel - EDGE_CLEARANCE, self.toe + EDGE_CLEARANCE
        if not self.ramp.straddled(x + heel, x + toe):
            return wanted
        before, beyond = (edge - toe) / self.gait.length, (edge - heel) / self.gait.length
        return before if before - along[foot] >= 0.5 else beyond

    def foothold(self, foot: int, along: float) -> Foothold:
        heading, middle = self._pose(along)
        side = 0.5 * self.gait.width * (1 if foot == LEFT else -1)
        x, y = middle + side * np.array([-np.sin(heading), np.cos(heading)])
        ground = self.ramp.rotation(x)
        turned = Rotation.from_euler('z', heading).as_matrix()
        return Foothold(foot, np.array([x, y, self.ramp.height(x)]), ground @ turned, along)

    def _pose(self, along: float) -> tuple[float, Array]:
        """Heading [rad] and point (2,) [m] of the path: a line or an arc from the origin."""
        heading = self.gait.turn * along
        # The chord of an arc; numpy's sinc(x) is sin(πx)/(πx).
        chord = self.gait.length * along * np.sinc(0.5 * heading / np.pi)
        return heading, chord * np.array([np.cos(0.5 * heading), np.sin(0.5 * heading)])


def check_overlap(footsteps: Footsteps, biped: Biped) -> None:
    """Refuse footsteps of which two soles that stand would overlap.

    Raises:
        MotionError: naming the step.
    """
    for step in range(len(footsteps.steps) + 1):
        left, right = (
            _sole(hold, polygon)
            for hold, polygon in zip(footsteps.before(step), biped.polygons, strict=True)
        )
        if left.intersects(right):
            place = f'After step {step}' if step else 'Before the first step'
            foot = SIDES[footsteps.steps[step - 1].foot] if step else 'left'
            raise MotionError(
                f'{place} the {foot} sole would overlap the other one by '
                f'{1e4 * left.intersection(right).area:.1f} cm²; widen the step or turn less.',
                kind='soles_overlap',
                step=step,
                foot=foot,
                area=left.intersection(right).area,
            )


def _sole(hold: Foothold, polygon: Array) -> shapely.geometry.Polygon:
    corners: Sequence[Array] = hold.position[:2] + polygon @ hold.rotation[:2, :2].T
    return shapely.geometry.Polygon(corners)


@dataclass(frozen=True)
class ZmpReference:
    """The wanted ZMP over time, and the ground on which it lies.

    Attributes:
        point: (T, 3) in the world [m].
        normal: (T, 3) unit normal of the ground there; between the feet's while both carry.
        loads: (T, 2, 3) where the left and the right foot take their load while they carry [m]:
            the ends of the line on which the ZMP crosses.
    """

    point: Array
    normal: Array
    loads: Array

    def __post_init__(self) -> None:
        """Freeze copies of the arrays."""
        for name in ('point', 'normal', 'loads'):
            object.__setattr__(self, name, frozen(getattr(self, name)))


@dataclass(frozen=True)
class ZmpKnots:
    """The corners of the wanted ZMP's course.

    Attributes:
        times: (K,) [s].
        values: (K, 12) point, normal and loads, as in `ZmpReference`.
    """

    times: Array
    values: Array

    def points(self, times: Array) -> Array:
        """Return the wanted ZMP (T, 3) [m] at times (T,) [s]."""
        return interpolated(times, self.times, self.values[:, :3])

    def reference(self, times: Array) -> ZmpReference:
        """Return the whole reference at times (T,) [s]."""
        columns = interpolated(times, self.times, self.values)
        normal = columns[:, 3:6] / np.linalg.norm(columns[:, 3:6], axis=1, keepdims=True)
        return ZmpReference(columns[:, :3], normal, columns[:, 6:].reshape(-1, 2, 3))


def zmp_knots(footsteps: Footsteps, timing: StepTiming, travel: tuple[float, float]) -> ZmpKnots:
    """Lay the ZMP through the footholds.

    Args:
        footsteps: where the soles are.
        timing: when.
        travel: how far ahead of the sole's origin the ZMP is when a foot begins to carry alone,
            and when it ends [m].
    """
    begin, end = travel
    middle = 0.5 * (begin + end)
    knots = [_standing(0.0, footsteps.before(0), middle)]
    knots.append(_standing(timing.begins(0), footsteps.before(0), middle))
    for step, hold in enumerate(footsteps.steps):
        stance, swing = 1 - hold.foot, hold.foot
        ahead = {stance: begin, swing: end if step else middle}
        knots.append(_on_one_foot(timing.lifts(step), footsteps.before(step), stance, ahead))
        ahead = {stance: end, swing: begin}
        knots.append(_on_one_foot(timing.lands(step), footsteps.before(step + 1), stance, ahead))
    settled = timing.begins(timing.steps) + timing.double_support * timing.step_time
    for time in (settled, timing.duration):
        knots.append(_standing(time, footsteps.before(timing.steps), middle))
    return ZmpKnots(
        np.array([knot[0] for knot in knots]),
        np.stack([np.concatenate([array.ravel() for array in knot[1:]]) for knot in knots]),
    )


Knot = tuple[float, Array, Array, Array]
"""Time [s], ZMP (3,), normal (3,) and loads (2, 3)."""


def _standing(time: float, holds: tuple[Foothold, Foothold], ahead: float) -> Knot:
    loads = np.stack([hold.point(ahead) for hold in holds])
    normal = np.mean([hold.rotation[:, 2] for hold in holds], axis=0)
    return time, loads.mean(axis=0), normal, loads


def _on_one_foot(
    time: float, holds: tuple[Foothold, Foothold], stance: int, ahead: dict[int, float]
) -> Knot:
    loads = np.stack([hold.point(ahead[hold.foot]) for hold in holds])
    return time, loads[stance], holds[stance].rotation[:, 2], loads
