"""Gaits of a quadruped on level ground: when each foot swings to which place, and the COM's way.

The feet are numbered front left, front right, rear left, rear right. All times are multiples of
the time constant T = √(h/g) with which a robot of COM height h tips, so that robots of any size
walk alike.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError, UnknownNameError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.plan import derivatives, smooth_step, window

STAND = 1.0
"""Standing before and after the steps [s]; before a trot or a crawl the COM moves meanwhile."""

DIAGONALS = ((0, 3), (1, 2))
ONE_BY_ONE = ((2,), (0,), (3,), (1,))
"""Feet that swing together, in the order in which they do."""

TROT_SWING, TROT_OVERLAP = 1.4, 0.35
CRAWL_SWING, CRAWL_SHIFT = 3.0, 4.0
"""In the time constant of tipping: a swing, and all feet on the ground between two [-]."""

CRAWL_MARGIN = 0.045
"""Distance of the planned COM from the edges of the triangle of a crawl [m]."""

RAMP = 1.0
"""Within which a trot gets up to speed and comes to rest [s]."""

SPEED = {'stand': 0.0, 'crawl': 0.02, 'trot': 0.3}
"""Gait → usual speed [m/s]."""


_KNEES_BACK = {'thigh': 0.8, 'calf': -1.6, 'HFE': 0.8, 'KFE': -1.6}
_KNEES_IN = {'F_HFE': 0.5, 'F_KFE': -1.0, 'H_HFE': -0.5, 'H_KFE': 1.0}
POSTURES = {'anymal_c': _KNEES_IN} | dict.fromkeys(
    ('go2', 'go1', 'a1', 'b1', 'solo12'), _KNEES_BACK
)
"""Shipped quadruped → part of the name of a joint → its angle while it stands [rad]."""


@dataclass(frozen=True)
class Swing:
    """Feet that swing at the same time.

    Attributes:
        feet: which.
        start: [s].
        end: [s].
        places: (feet, 2) where they land [m].
    """

    feet: tuple[int, ...]
    start: float
    end: float
    places: Array


@dataclass(frozen=True)
class Gait:
    """What a quadruped is to do.

    Attributes:
        name: 'stand', 'crawl' or 'trot'.
        time_step: of the rows [s].
        com: (T, 2) where the centre of mass is meant to be [m].
        com_velocity: (T, 2) [m/s].
        com_acceleration: (T, 2) [m/s²].
        swings: in the order of time.
        load_time: within which a foot takes load after a swing, and gives it off before one [s].
        follows: whether feet land where the capture point goes, as a trot must.
    """

    name: str
    time_step: float
    com: Array
    com_velocity: Array
    com_acceleration: Array
    swings: tuple[Swing, ...]
    load_time: float
    follows: bool

    def shares(self, time: float) -> Array:
        """(4,) share of its usual load that each foot may carry, 0 while it swings."""
        shares = np.ones(4)
        for swing in self.swings:
            away = max(swing.start - time, time - swing.end)
            if away < self.load_time:
                share = float(smooth_step(away / self.load_time))
                shares[list(swing.feet)] = np.minimum(shares[list(swing.feet)], share)
        return shares

    def swing_at(self, time: float) -> Swing | None:
        """Return what swings at a time [s]; None if nothing does."""
        return next((each for each in self.swings if each.start <= time < each.end), None)


class Posture(NamedTuple):
    """How a quadruped stands.

    Attributes:
        q: (n,) joint positions [rad].
        root_height: of the origin of the root above the ground [m].
        com_height: of the centre of mass [m].
    """

    q: Array
    root_height: float
    com_height: float


def plan_quadruped(
    name: str, gait: str, duration: float, speed: float | None, time_step: float
) -> tuple[Posture, Gait]:
    """Plan what a shipped quadruped is to do; the arguments are those of `plan_gait`.

    Raises:
        UnknownNameError: there is no such quadruped or gait.
        IzmpError: its model cannot be used, or the gait not be planned.
    """
    if name not in POSTURES:
        raise UnknownNameError('simulated quadruped', name, tuple(POSTURES))
    file = load_robot_file(name, with_urdf=True)
    model = load_model(file.read_urdf(), file.root)
    q = np.array([
        sum(angle for part, angle in POSTURES[name].items() if part in joint)
        for joint in model.joint_names
    ])  # fmt: skip
    balls = np.array([model.frame_pose(foot.sole_frame, q)[1] for foot in file.feet])
    up = float(np.mean([foot.radius for foot in file.feet] - balls[:, 2]))
    com = model.com(q) + np.array([0.0, 0.0, up])
    planned = plan_gait(
        gait, balls[:, :2], com[:2], float(com[2]), duration=duration, speed=speed,
        gravity=file.gravity, time_step=time_step,
    )  # fmt: skip
    return Posture(q, up, float(com[2])), planned


def plan_gait(
    name: str,
    places: Array,
    com: Array,
    height: float,
    *,
    duration: float,
    speed: float | None = None,
    gravity: float = 9.81,
    time_step: float = 0.002,
) -> Gait:
    """Plan a gait straight ahead, along x.

    Args:
        name: a key of SPEED.
        places: (4, 2) where the feet stand at first [m].
        com: (2,) where the centre of mass is at first [m].
        height: of the centre of mass [m].
        duration: with the standing before and after [s].
        speed: [m/s]; the usual one of the gait if None.
        gravity: [m/s²].
        time_step: of the rows [s].

    Raises:
        UnknownNameError: if there is no such gait.
        MotionError: if the time is too short for a step, or a speed is not possible.
    """
    if name not in SPEED:
        raise UnknownNameError('gait', name, SPEED)
    speed = SPEED[name] if speed is None else speed
    constant = float(np.sqrt(height / gravity))
    swing, rest = {
        'stand': (np.inf, 0.0),
        'crawl': (CRAWL_SWING * constant, CRAWL_SHIFT * constant),
        'trot': (TROT_SWING * constant, TROT_OVERLAP * constant),
    }[name]
    groups = DIAGONALS if name == 'trot' else ONE_BY_ONE
    shortest = 2.0 * STAND + (0.0 if name == 'stand' else len(groups) * (swing + rest))
    longest_step = 0.5 * float(np.ptp(places[:, 0]))
    fastest = 0.0 if name == 'stand' else longest_step / (len(groups) * (swing + rest))
    for what, value, least, most, unit in (
        ('duration', duration, shortest, 600.0, 's'),
        ('speed', speed, -fastest, fastest, 'm/s'),
    ):
        if not least <= value <= most:
            raise MotionError(
                f'The {what} of a {name} of this robot must be {least:.2f} to {most:.2f} {unit}, '
                f'not {value:g}.',
                kind='gait', gait=name, quantity=what, value=value,
            )  # fmt: skip
    times: Array = time_step * np.arange(round(duration / time_step) + 1, dtype=np.float64)
    swings: list[Swing] = []
    way, middle, stands = np.tile(com, (len(times), 1)), places.mean(axis=0), places.copy()
    count = int((duration - 2.0 * STAND) / (swing + rest)) // len(groups) * len(groups)
    end = STAND + count * (swing + rest)
    if name == 'trot':
        way += smooth_step(times / STAND)[:, None] * (middle - com)
        ramp = min(RAMP, 0.5 * (end - STAND))
        way[:, 0] += time_step * np.cumsum(speed * window(times, STAND, end, ramp))
    here, since = np.array(com, dtype=np.float64), 0.0
    for k in range(count):
        feet = list(groups[k % len(groups)])
        start = STAND + k * (swing + rest) + rest
        if name == 'crawl':
            others = [foot for foot in (0, 2, 3, 1) if foot not in feet]
            there = _inside(stands[others], stands.mean(axis=0), CRAWL_MARGIN)
            way += smooth_step((times - since) / (start - since))[:, None] * (there - here)
            here, since = there, start + swing
            if count - k > len(groups):
                stands[feet, 0] += speed * len(groups) * (swing + rest)
        else:
            amid = start + swing + rest + 0.5 * swing  # of the time for which they stand
            row = min(round(amid / time_step), len(times) - 1)
            stands[feet] = places[feet] + way[row] - middle
        swings.append(Swing(tuple(feet), start, start + swing, stands[feet]))
    if name == 'crawl':
        way += smooth_step((times - end) / STAND)[:, None] * (stands.mean(axis=0) - here)
    velocity, acceleration = derivatives(way, time_step)
    load_time = rest if name == 'trot' else 0.25 * rest
    return Gait(
        name, time_step, way, velocity, acceleration, tuple(swings), load_time, name == 'trot'
    )


def _inside(triangle: Array, point: Array, margin: float) -> Array:
    """Move a point (2,) until it is that far from the edges of a counter-clockwise triangle."""
    point = np.array(point)
    for _ in range(100):
        for first, second in zip(triangle, np.roll(triangle, -1, axis=0), strict=True):
            along = (second - first) / np.linalg.norm(second - first)
            inwards = np.array([-along[1], along[0]])
            point += max(margin - (point - first) @ inwards, 0.0) * inwards
    return point
