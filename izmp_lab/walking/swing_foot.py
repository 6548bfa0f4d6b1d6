"""How the soles move from foothold to foothold.

Along the ground and in orientation a swing is a minimum-jerk motion; vertically a bump
64 h (u (1 − u))³ of height h is added. Velocity and acceleration are zero at both ends, so the
whole motion has a continuous acceleration.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_lab.walking.footsteps import Foothold, Footsteps
from izmp_lab.walking.plan import PlannedFoot
from izmp_lab.walking.step_timing import StepTiming


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
    rise: Array = u**3 * (10.0 + u * (-15.0 + 6.0 * u))
    return rise
