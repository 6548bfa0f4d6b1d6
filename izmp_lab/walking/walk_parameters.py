"""Everything that decides how a robot walks, with units."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.biped import LEFT, RIGHT
from izmp_lab.walking.inverse_dynamics import Drive
from izmp_lab.walking.momentum_parameters import MomentumParameters

_RANGES = {
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
        """Check that every number is in a sensible range.

        Raises:
            MotionError: if one is not.
        """
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name not in _RANGES or value is None:
                continue
            lower, upper, unit = _RANGES[item.name]
            if not (math.isfinite(value) and lower <= value <= upper):
                raise MotionError(
                    f'{item.name} of a walk is {_with_unit(value, unit)}; valid are {lower:g} to '
                    f'{_with_unit(upper, unit)}.',
                    kind='out_of_range',
                    parameter=item.name,
                    value=value,
                    lower=lower,
                    upper=upper,
                )
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise MotionError(
                    f"{name} of a walk is '{getattr(self, name)}'; valid: {', '.join(choices)}.",
                    kind='unknown_choice',
                    parameter=name,
                    value=getattr(self, name),
                    valid=choices,
                )

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
    lower, upper, _ = _RANGES[name]
    return float(lower), float(upper)


def _with_unit(value: float, unit: str) -> str:
    """Write a value with its unit, an angle also in degrees, which the command line takes."""
    degrees = f' ({math.degrees(value):.1f}°)' if unit == 'rad' else ''
    return f'{value:.4g} {unit}'.rstrip() + degrees
