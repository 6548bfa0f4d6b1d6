"""The course of a walk: where soles, pelvis and ZMP are meant to be, at any instant."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array, Indices
from izmp_lab.walking.biped import LEFT, RIGHT, Biped
from izmp_lab.walking.footsteps import (
    Foothold,
    Footsteps,
    StepTiming,
    ZmpKnots,
    ZmpReference,
    zmp_knots,
)
from izmp_lab.walking.plan import PlannedFoot


def plan_sole(
    sole: str,
    foot: int,
    footsteps: Footsteps,
    timing: StepTiming,
    swing_height: float,
    times: Array | None = None,
) -> PlannedFoot:
    """Plan the motion of one sole.

    Args:
        sole: name of its frame.
        foot: LEFT or RIGHT.
        footsteps: where it is set down.
        timing: when.
        swing_height: of the bump in the middle of a swing [m].
        times: (T,) ascending instants [s]; all of the walk if None.

    Returns:
        Its poses; it is in contact at all instants but those within a swing.
    """
    times = timing.times if times is None else times
    steps = timing.steps_between(times[0], times[-1])
    hold = footsteps.before(steps.start)[foot]
    position = np.tile(hold.position, (len(times), 1))
    rotation = np.tile(hold.rotation, (len(times), 1, 1))
    contact = np.ones(len(times), dtype=bool)
    for step in steps:
        goal = footsteps.steps[step]
        if goal.foot != foot:
            continue
        lift, land = timing.lifts(step), timing.lands(step)
        swing = (times > lift) & (times < land)
        u = (times[swing] - lift) / (land - lift)
        position[swing], rotation[swing] = swing_pose(hold, goal, u, swing_height)
        after = times >= land
        position[after], rotation[after] = goal.position, goal.rotation
        contact[swing] = False
        hold = goal
    return PlannedFoot(sole, position, rotation, contact)


def swing_pose(
    start: Foothold, goal: Foothold, u: Array, swing_height: float
) -> tuple[Array, Array]:
    """Return the poses of a swinging sole.

    Args:
        start: where it comes from.
        goal: where it goes.
        u: (K,) part of the swing's duration that has passed, 0 … 1 [-].
        swing_height: [m].

    Returns:
        (K, 3) origin of the sole in the world [m] and (K, 3, 3) world_R_sole.
    """
    rise = minimum_jerk(u)[:, None]
    position = start.position + rise * (goal.position - start.position)
    position[:, 2] += swing_height * 64.0 * (u * (1.0 - u)) ** 3
    turn = Rotation.from_matrix(start.rotation.T @ goal.rotation).as_rotvec()
    return position, start.rotation @ Rotation.from_rotvec(rise * turn).as_matrix()


def minimum_jerk(u: Array) -> Array:
    """Rise from 0 to 1 with velocity and acceleration zero at both ends (Flash & Hogan, 1985)."""
    return u**3 * (10.0 + u * (-15.0 + 6.0 * u))


_Edges = tuple[Array, Array]
"""Outward normals (E, 2) of a polygon, and how far its edges are along them (E,) [m]."""


@dataclass(frozen=True)
class Course:
    """Footsteps in time.

    Attributes:
        biped: the robot.
        footsteps: where the soles are set down.
        timing: when.
        swing_height: of a swinging sole above the line between its footholds [m].
        zmp_travel: how far ahead of the sole's origin the ZMP is when a foot begins and when it
            ends carrying alone [m].
    """

    biped: Biped
    footsteps: Footsteps
    timing: StepTiming
    swing_height: float
    zmp_travel: tuple[float, float]
    _polygons: dict[tuple[int, bool], _Edges] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def feet(self, times: Array | None = None) -> tuple[PlannedFoot, PlannedFoot]:
        """Return the poses of the left and the right sole.

        Args:
            times: (T,) ascending instants [s]; all of the walk if None.
        """
        left, right = (
            plan_sole(leg.sole, foot, self.footsteps, self.timing, self.swing_height, times)
            for foot, leg in enumerate(self.biped.legs)
        )
        return left, right

    def zmp(self, times: Array | None = None) -> ZmpReference:
        """Return the ZMP that is wanted; arguments as of `feet`."""
        return self.zmp_knots.reference(self.timing.times if times is None else times)

    @cached_property
    def zmp_knots(self) -> ZmpKnots:
        """The corners of its course."""
        return zmp_knots(self.footsteps, self.timing, self.zmp_travel)

    def support(self, times: Array) -> tuple[Indices, Array, Array]:
        """Return what the ZMP (2,) has to obey: normals · ZMP ≤ offsets.

        Args:
            times: (T,) [s].

        Returns:
            Rows (R,) of `times` that R conditions belong to (int64), normals (R, 2) and offsets
            (R,) [m]: the edges of the polygon of the feet that carry.
        """
        timing = self.timing
        step = np.floor((times - timing.stand) / timing.step_time).astype(np.int64)
        standing = (step < 0) | (step >= timing.steps)
        step = np.clip(step, 0, timing.steps)
        both = standing | (times <= timing.lifts(0) + step * timing.step_time)
        edges = [self._edges(*key) for key in zip(step.tolist(), both.tolist(), strict=True)]
        rows = np.repeat(
            np.arange(len(times), dtype=np.int64), [len(offsets) for _, offsets in edges]
        )
        normals, offsets = (np.concatenate(part) for part in zip(*edges, strict=True))
        return rows, normals, offsets

    def stopping(self, time: float) -> 'Course':
        """Return the course that ends as soon as it can with the feet side by side.

        The step that has begun is made, and one more sets the feet side by side; who stands,
        keeps standing.

        Args:
            time: now [s].
        """
        return self.stops(time)[0]

    def stops(self, time: float) -> list['Course']:
        """Return the courses that end soon, the most wanted one first.

        After the step that has begun, another one sets the feet side by side, as far apart as
        they are or as the hips; or it goes where it was to go; or there is none.

        Args:
            time: now [s].
        """
        begun = self.begun(time)
        landed = begun == len(self.footsteps.steps) and time >= self.timing.begins(begun)
        if not begun or landed or self._closed(begun):
            return [self.going_on(time, ())]
        stance = self.footsteps.steps[begun - 1]
        closing = [beside(stance, width) for width in (self._width(begun), self.biped.hip_width)]
        return [
            *(self.going_on(time, (hold,)) for hold in closing),
            *(self.going_on(time, (hold,)) for hold in self.footsteps.steps[begun : begun + 1]),
            self.going_on(time, ()),
        ]

    def going_on(self, time: float, steps: Sequence[Foothold]) -> 'Course':
        """Return the course on which other steps follow the one that has begun.

        Args:
            time: now [s].
            steps: what follows, instead of the steps that have not begun.
        """
        reached = (*self.footsteps.steps[: self.begun(time)], *steps)
        timing = replace(self.timing, steps=len(reached))
        return replace(self, footsteps=replace(self.footsteps, steps=reached), timing=timing)

    def recent(self, time: float) -> 'Course':
        """Return the course without what was more than a step ago.

        Args:
            time: now [s].
        """
        past = max(self.begun(time) - 2, 0)
        footsteps = Footsteps(self.footsteps.before(past), self.footsteps.steps[past:])
        timing = replace(self.timing, steps=len(footsteps.steps), stand=self.timing.begins(past))
        return replace(self, footsteps=footsteps, timing=timing)

    def begun(self, time: float) -> int:
        """Return how many steps have begun at a time [s]; they can no longer be changed."""
        return self.timing.steps_between(time, time).stop

    def _closed(self, begun: int) -> bool:
        left, right = self.footsteps.before(begun)
        across = left.rotation.T @ (left.position - right.position)
        return bool(abs(across[0]) < 1e-9 and np.allclose(left.rotation, right.rotation))

    def _width(self, begun: int) -> float:
        """Distance across between the feet after so many steps [m]."""
        left, right = self.footsteps.before(begun)
        stance = self.footsteps.steps[begun - 1]
        across: float = (stance.rotation.T @ (left.position - right.position))[1]
        return across

    def _edges(self, step: int, both: bool) -> _Edges:
        """Polygon of the stance when a step begins: of both feet, or of the one that stays."""
        if (step, both) not in self._polygons:
            holds = self.footsteps.before(step)
            feet = (LEFT, RIGHT) if both else (1 - self.footsteps.steps[step].foot,)
            corners = np.concatenate(
                [
                    holds[foot].position[:2]
                    + self.biped.polygons[foot] @ holds[foot].rotation[:2, :2].T
                    for foot in feet
                ]
            )
            equations = np.unique(ConvexHull(corners).equations.round(12), axis=0)
            self._polygons[step, both] = (equations[:, :2], -equations[:, 2])
        return self._polygons[step, both]


def beside(stance: Foothold, width: float) -> Foothold:
    """Return the foothold of the other foot beside one.

    Args:
        stance: the foot that stays.
        width: distance between the soles' origins [m].
    """
    side = width if stance.foot == RIGHT else -width
    position = stance.position + side * stance.rotation[:, 1]
    return Foothold(1 - stance.foot, position, stance.rotation, stance.along)


def heading(feet: tuple[PlannedFoot, PlannedFoot]) -> Array:
    """Return the heading (T,) between those of two feet [rad], without jumps."""
    left, right = (np.arctan2(foot.rotation[:, 1, 0], foot.rotation[:, 0, 0]) for foot in feet)
    apart = np.mod(right - left + np.pi, 2.0 * np.pi) - np.pi
    return np.unwrap(left + 0.5 * apart)


def upright(yaw: Array) -> Array:
    """Return the orientation (T, 3, 3) of an upright body of a heading (T,) [rad]."""
    R = np.zeros((len(yaw), 3, 3))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(yaw)
    R[:, 1, 0] = np.sin(yaw)
    R[:, 0, 1] = -R[:, 1, 0]
    R[:, 2, 2] = 1.0
    return R
