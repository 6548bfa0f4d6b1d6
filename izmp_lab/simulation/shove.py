"""Pushes as a user specifies them: force, direction, time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_lab.simulation.physics import Push
from izmp_lab.walking.plan import MotionPlan

DIRECTIONS: Mapping[str, tuple[float, float, float]] = {
    'forward': (1.0, 0.0, 0.0),
    'back': (-1.0, 0.0, 0.0),
    'left': (0.0, 1.0, 0.0),
    'right': (0.0, -1.0, 0.0),
    'lateral': (0.0, 1.0, 0.0),
    'up': (0.0, 0.0, 1.0),
    'down': (0.0, 0.0, -1.0),
}
"""Name → direction as the robot faces; 'lateral' is to the left."""

_FORM = 'NEWTONS:DIRECTION:START[:DURATION], e.g. 40:lateral:3.0 or 40:forward:3.0:0.1'


@dataclass(frozen=True)
class Shove:
    """A push relative to where the robot faces.

    Attributes:
        force: [N].
        direction: one of DIRECTIONS.
        start: time in the recording [s].
        duration: [s].
        link: at the centre of mass of the body that carries it.
    """

    force: float
    direction: str
    start: float
    duration: float = 0.1
    link: str = 'trunk'

    def __post_init__(self) -> None:
        """Refuse pushes that cannot be.

        Raises:
            UnknownNameError: if there is no such direction.
            SimulationError: if a number is not finite, or not positive, or the start negative.
        """
        if self.direction not in DIRECTIONS:
            raise UnknownNameError('direction of a push', self.direction, DIRECTIONS)
        if not (0.0 < self.force < math.inf and 0.0 < self.duration < math.inf):
            raise SimulationError(
                f'A push needs a force and a duration above zero, not {self.force:g} N and '
                f'{self.duration:g} s.',
                kind='push_size',
                force=self.force,
                duration=self.duration,
            )
        if not 0.0 <= self.start < math.inf:
            raise SimulationError(
                f'A push starts at 0 s or later, not at {self.start:g} s.',
                kind='push_start',
                start=self.start,
            )

    @classmethod
    def parse(cls, text: str, link: str = 'trunk') -> 'Shove':
        """Read 'NEWTONS:DIRECTION:START[:DURATION]'.

        Raises:
            SimulationError: if the text has not that form, or as the constructor does.
        """
        parts = text.split(':')
        try:
            force, direction, start, *rest = parts
            numbers = [float(number) for number in (force, start, *rest)]
        except ValueError:
            numbers = []
        if not 2 <= len(numbers) <= 3:
            raise SimulationError(
                f"The push '{text}' is not of the form {_FORM}.",
                kind='push_format',
                text=text,
            )
        duration = numbers[2] if len(numbers) == 3 else 0.1
        return cls(numbers[0], direction, numbers[1], duration, link)

    def push(self, plan: MotionPlan) -> Push:
        """Return the push in the world, turned as the planned root faces when it starts.

        Raises:
            SimulationError: if it does not end within the plan.
        """
        if self.start + self.duration > plan.duration + 1e-9:
            raise SimulationError(
                f'A push from {self.start:g} s to {self.start + self.duration:g} s does not fit '
                f"into the motion '{plan.name}', which ends at {plan.duration:.2f} s.",
                kind='push_outside_motion',
                start=self.start,
                duration=self.duration,
                plan=plan.name,
            )
        world_R_root = plan.root.rotation[round(self.start / plan.time_step)]
        heading = np.arctan2(world_R_root[1, 0], world_R_root[0, 0])
        turned = Rotation.from_euler('z', heading).apply(DIRECTIONS[self.direction])
        return Push(self.link, self.force * turned, self.start, self.duration)
