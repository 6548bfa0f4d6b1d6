"""Everything that decides how a robot walks, with units."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.biped import LEFT, RIGHT
from izmp_lab.walking.inverse_dynamics import Drive
from izmp_lab.walking.limits import check_ranges

Nodes = tuple[float, ...]
"""Times within the window, multiples of half an interval [s]."""

_RANGES = {
    'interval': (0.01, 0.5, 's'), 'pieces': (4, 100, ''), 'alpha': (0.0, 1e6, ''),
    'beta': (1e-9, 1e6, ''), 'gamma': (0.0, 1e6, ''), 'friction': (0.0, 10.0, ''),
    'margin': (0.0, 0.1, 'm'), 'stretch': (0.5, 1.0, ''),
}  # fmt: skip

_END_ESTIMATES = ('hold', 'zero')


def _unknown(what: str, parameter: str, value: str, valid: tuple[str, ...]) -> MotionError:
    return MotionError(
        f"{what} '{value}'; valid: {', '.join(valid)}.",
        kind='unknown_choice',
        parameter=parameter,
        value=value,
        valid=valid,
    )


@dataclass(frozen=True)
class MomentumParameters:
    """Parameters of Mayr et al.; those that their poster leaves open are marked *.

    Attributes:
        interval: of planning, and between two knots of the splines [s].
        pieces: length of the sliding window in intervals.
        nodes: where in the window the angular momentum is estimated; several sets take turns.
            Without any, the robot is a point mass (3D-LIPM). They are kept in ascending order.
        second_iteration: whether the angular momentum of the whole walk as planned for a point
            mass is known beforehand; then no nodes are needed.
        alpha: weight of the acceleration of the centre of mass [s⁴/m²] *.
        beta: weight of the contact torque over the weight, that is of the ZMP [1/m²] *.
        gamma: weight of the distance of the centre of mass from the wanted ZMP [1/m²] *.
        friction: between soles and ground, for the cone of the contact force [-] *.
        margin: that the ZMP keeps from the edge of the soles [m] *.
        stretch: largest part of its length that a leg may reach [-] *.
        end_estimate: what is assumed after the last instant at which a node has been, as where
            the window grows: to 'hold' its value, or 'zero' *. Between two, it is interpolated.
    """

    interval: float = 0.1
    pieces: int = 16
    nodes: tuple[Nodes, ...] = ((0.15, 0.2, 0.25, 0.3, 0.7, 0.75, 1.5, 1.55),)
    second_iteration: bool = False
    alpha: float = 1e-6
    beta: float = 1.0
    gamma: float = 1e-6
    friction: float = 0.7
    margin: float = 0.005
    stretch: float = 0.999
    end_estimate: str = 'hold'

    def __post_init__(self) -> None:
        """Check that the numbers make sense."""
        check_ranges('the angular-momentum generator', self, _RANGES)
        if self.pieces != int(self.pieces):
            raise MotionError(
                f'pieces of the angular-momentum generator are {self.pieces:g}; valid are whole '
                'numbers.',
                kind='not_whole',
                parameter='pieces',
                value=self.pieces,
            )
        if self.end_estimate not in _END_ESTIMATES:
            raise _unknown('end_estimate is', 'end_estimate', self.end_estimate, _END_ESTIMATES)
        object.__setattr__(self, 'pieces', int(self.pieces))
        object.__setattr__(self, 'nodes', tuple(tuple(sorted(nodes)) for nodes in self.nodes))
        for nodes in self.nodes:
            self._check_nodes(nodes)

    def _check_nodes(self, nodes: Nodes) -> None:
        halves = [2.0 * node / self.interval for node in nodes]
        for node, place in zip(nodes, halves, strict=True):
            within = 0.5 < place < 2 * self.pieces + 0.5
            if not within or abs(place - round(place)) > 1e-6:
                raise MotionError(
                    f'A node lies at {node:g} s; valid are multiples of {self.interval / 2:g} s '
                    f'up to {self.window:g} s.',
                    kind='node_off_grid',
                    node=node,
                    step=self.interval / 2,
                    last=self.window,
                )
        if len({round(place) for place in halves}) < len(nodes):
            raise MotionError(
                f'Two nodes of a cycle are at the same time: '
                f'{", ".join(f"{node:g}" for node in nodes)} s; every node needs its own.',
                kind='two_nodes_at_once',
                nodes=nodes,
            )

    @property
    def window(self) -> float:
        """Length of the sliding window [s]."""
        return self.pieces * self.interval

    @property
    def knots(self) -> Array:
        """(pieces + 1,) times of the control points of the angular momentum [s]."""
        return self.interval * np.arange(self.pieces + 1, dtype=np.float64)

    def nodes_in_cycle(self, cycle: int) -> Array:
        """(K,) times of the nodes in a cycle, since its beginning [s]."""
        return np.array(self.nodes[cycle % len(self.nodes)] if self.nodes else (), dtype=float)

    @classmethod
    def scheme(cls, name: str) -> 'MomentumParameters':
        """Return the parameters of an experiment of the poster, E1 to E4.

        Raises:
            MotionError: if there is none of that name.
        """
        if name not in SCHEMES:
            raise _unknown('There is no scheme', 'scheme', name, tuple(SCHEMES))
        return SCHEMES[name]


def _uniform(parameters: MomentumParameters) -> tuple[Nodes, Nodes]:
    knots = parameters.knots[1:]
    between = np.append(knots[:-1] + 0.5 * parameters.interval, knots[-1])
    return tuple(knots.tolist()), tuple(between.tolist())


_EARLY = MomentumParameters()

SCHEMES = {
    'E1': replace(_EARLY, nodes=()),
    'E2': replace(_EARLY, nodes=(), second_iteration=True),
    'E3': replace(_EARLY, nodes=_uniform(_EARLY)),
    'E4': _EARLY,
}
"""The experiments of the poster: a point mass, its second iteration, 16 uniform nodes, 8 of which
half are early."""


_WALK_PARAMETERS_RANGES = {
    'speed': (0.0, 2.0, 'm/s'),
    'steps': (1, 1000, ''),
    'turn_rate': (-3.0, 3.0, 'rad/s'),
    'slope': (0.0, 0.5, 'rad'),
    'slope_start': (-100.0, 100.0, 'm'),
    'step_time': (0.1, 5.0, 's'),
    'double_support': (0.01, 0.9, ''),
    'step_width': (0.01, 1.0, 'm'),
    'swing_height': (0.0, 0.5, 'm'),
    'com_height': (0.1, 3.0, 'm'),
    'stand': (0.5, 60.0, 's'),
    'filter_passes': (0, 20, ''),
    'time_step': (0.0005, 0.02, 's'),
}

_CHOICES = {
    'first_foot': ('left', 'right'),
    'cog_tracking': ('converging', 'constant'),
    'generator': ('cart_table', 'angular_momentum'),
}

_OF_GENERATOR: Mapping[str, Mapping[str, float]] = {
    'cart_table': {},
    'angular_momentum': {'step_time': 0.8, 'double_support': 0.25, 'com_height': 0.75},
}
"""Defaults that a generator has of its own: lift-off at a knot of its splines, and bent knees."""


@dataclass(frozen=True)
class WalkParameters:
    """How a robot walks; the defaults are those of biped31.

    Attributes:
        speed: along the path, seen from above [m/s].
        steps: number of steps; the last one sets the feet side by side.
        turn_rate: rate of the heading, positive to the left [rad/s].
        slope: angle of a ramp that rises along x [rad]; 0 for level ground.
        slope_start: where the ramp begins, x from the middle of the first stance [m].
        step_time: from one landing to the next [s]; 0.448 s is the paper's sub-step.
        double_support: part of it during which both feet carry [-].
        step_width: between the soles' origins [m]; the distance of the hips if None.
        swing_height: of a swinging sole above the line between its footholds [m].
        com_height: of the centre of mass above the ground [m].
        zmp_travel: how far ahead of the sole's origin the ZMP is when a foot begins and when it
            ends carrying alone [m].
        stand: time of standing before and after [s].
        first_foot: which foot steps first, 'left' or 'right'.
        filter_passes: how often the dynamics filter corrects the reference.
        cog_tracking: how the body follows the centre of mass: 'converging' (exactly, by the
            converging CoG) or 'constant' (as if the vector to it from the pelvis were constant).
        generator: how the centre of mass is planned: by the 'cart_table' with a dynamics filter,
            all at once, or with estimated 'angular_momentum', interval by interval.
        momentum: parameters of the latter.
        drive: what the servos move besides the links, for the torques.
        time_step: between the rows of the plan [s].
    """

    speed: float = 0.3
    steps: int = 20
    turn_rate: float = 0.0
    slope: float = 0.0
    slope_start: float = 0.6
    step_time: float = 0.448
    double_support: float = 0.2
    step_width: float | None = None
    swing_height: float = 0.04
    com_height: float = 0.80
    zmp_travel: tuple[float, float] = (0.0, 0.04)
    stand: float = 1.5
    first_foot: str = 'right'
    filter_passes: int = 4
    cog_tracking: str = 'converging'
    generator: str = 'cart_table'
    momentum: MomentumParameters = field(default_factory=MomentumParameters)
    drive: Drive = field(default_factory=Drive)
    time_step: float = 0.002

    def __post_init__(self) -> None:
        """Check that every number is in a sensible range."""
        check_ranges('a walk', self, _WALK_PARAMETERS_RANGES)
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise _unknown(f'{name} of a walk is', name, getattr(self, name), choices)

        if self.generator == 'angular_momentum':
            self._check_momentum()

    @classmethod
    def by(cls, generator: str, **stated: Any) -> 'WalkParameters':
        """Return the parameters of a generator; what is not stated has its defaults.

        Raises:
            MotionError: if a value is out of range, or there is no such generator.
        """
        return cls(generator=generator, **{**_OF_GENERATOR.get(generator, {}), **stated})

    def _check_momentum(self) -> None:
        if self.slope > 0.0:
            raise MotionError(
                'The angular_momentum generator walks on level ground; a slope is for the '
                'cart_table.',
                kind='slope_not_walked',
                slope=self.slope,
                generator=self.generator,
            )
        if self.cog_tracking != 'converging':
            raise MotionError(
                'The angular_momentum generator needs converging cog_tracking.',
                kind='cog_tracking_not_converging',
                cog_tracking=self.cog_tracking,
            )
        longest = self.momentum.window - self.momentum.interval
        if self.step_time > longest + 1e-9:
            raise MotionError(
                f'step_time of a walk is {self.step_time:g} s; the angular_momentum generator '
                f'looks {self.momentum.window:g} s ahead every {self.momentum.interval:g} s, and '
                f'sees every landing of steps of up to {longest:g} s.',
                kind='step_time_too_long',
                step_time=self.step_time,
                longest=longest,
            )

    @property
    def step_length(self) -> float:
        """Distance from one foothold to the next one of the other foot [m]."""
        return self.speed * self.step_time

    @property
    def first(self) -> int:
        """LEFT or RIGHT."""
        return LEFT if self.first_foot == 'left' else RIGHT


def valid_range(name: str) -> tuple[float, float]:
    """Return the least and the largest valid value of a parameter."""
    lower, upper, _ = _WALK_PARAMETERS_RANGES[name]
    return float(lower), float(upper)


_SAME = 1e-6
"""Two times that differ by less are the same [s]."""


def off_knots(parameters: WalkParameters) -> str:
    """Say which times of a walk are not multiples of the interval, and the nearest that are.

    Args:
        parameters: of the walk.

    Returns:
        A sentence; '' if lift-offs and landings are at knots, or the generator has none.
    """
    interval = parameters.momentum.interval
    both = parameters.double_support * parameters.step_time
    times = (parameters.stand, parameters.step_time, both)
    stand, step_time, near_both = (_nearest(time, interval) for time in times)
    step_time = max(step_time, 2.0 * interval)
    near_both = min(near_both, step_time - interval)
    near = (stand, step_time, near_both)
    if parameters.generator != 'angular_momentum' or all(
        abs(time - other) < _SAME for time, other in zip(times, near, strict=True)
    ):
        return ''
    nearest = (
        f'step time {step_time:g} s, of it {near_both / step_time:.4g} on both feet',
        '' if abs(stand - parameters.stand) < _SAME else f'standing {stand:g} s',
    )
    return (
        f'Lift-offs and landings do not all fall on the knots of the splines, every {interval:g} '
        f's; the ZMP then misses its corners. Nearest that do: {", ".join(filter(None, nearest))}.'
    )


def _nearest(time: float, interval: float) -> float:
    """The multiple of the interval nearest to a time, at least one; of two, the longer [s]."""
    return max(math.floor(time / interval + 0.5 + _SAME), 1) * interval
