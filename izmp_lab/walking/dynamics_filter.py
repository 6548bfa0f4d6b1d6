"""The dynamics filter: make the robot's own ZMP follow the reference, not that of a point mass.

The cart-table model takes the robot for a point mass. The ZMP of all its bodies, computed from
the planned motion as MR-AD computes it from a measured one, differs by some centimetres. The
difference corrects the ZMP from which the motion of the centre of mass is made (after Kajita et
al., 2003), again and again until none is left.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_banded

from izmp_dynamics.base.conventions import GRAVITY, Array
from izmp_dynamics.base.errors import MotionError, ShapeError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.converging_cog import WholeBodyPoses, converge_cog
from izmp_lab.walking.footsteps import ZmpReference
from izmp_lab.walking.inverse_dynamics import ground_reaction
from izmp_lab.walking.plan import PlannedFoot, RootMotion, derivatives, smooth_step


def com_over_zmp(zmp: Array, height: Array, time_step: float, gravity: float = GRAVITY) -> Array:
    """Find the horizontal motion of the centre of mass that has a ZMP.

    It starts above the first ZMP and ends above the last one.

    Args:
        zmp: (T, 3) in the world [m].
        height: (T,) z of the centre of mass in the world [m].
        time_step: [s].
        gravity: magnitude of gravity [m/s²].

    Returns:
        (T, 3) centre of mass [m]; its third column is `height`.
    """
    if height.shape != (len(zmp),):
        raise ShapeError('height', f'({len(zmp)},)', height.shape)
    coupling = _coupling(zmp, height, time_step, gravity)
    bands = np.zeros((3, len(zmp)))
    bands[1] = 1.0 + 2.0 * coupling
    bands[0, 2:] = -coupling[1:-1]
    bands[2, :-2] = -coupling[1:-1]
    bands[1, [0, -1]] = 1.0
    return np.column_stack([solve_banded((1, 1), bands, zmp[:, :2]), height])


def _coupling(zmp: Array, height: Array, time_step: float, gravity: float) -> Array:
    """(T,) (z − p_z) / (g + z̈) / Δt² [-]."""
    rise = np.zeros(len(height))
    rise[1:-1] = (height[2:] - 2.0 * height[1:-1] + height[:-2]) / time_step**2
    return (height - zmp[:, 2]) / (gravity + rise) / time_step**2


LEAST_LOAD = 0.05
"""Part of the weight that the ground must carry for a ZMP [-]."""


@dataclass(frozen=True)
class WholeBodyMotion:
    """A motion of the whole robot with its dynamics.

    Attributes:
        poses: joint positions and root positions.
        qd: (T, n) joint velocities [rad/s] or [m/s].
        qdd: (T, n) joint accelerations [rad/s²] or [m/s²].
        root: motion of the root.
        com: (T, 3) centre of mass in the world [m].
        wrench: (T,) net ground reaction about the world's origin in world axes.
        zmp: (T, 3) ZMP of all bodies on the ground of the reference, in the world [m].
    """

    poses: WholeBodyPoses
    qd: Array
    qdd: Array
    root: RootMotion
    com: Array
    wrench: ContactWrench
    zmp: Array


@dataclass(frozen=True)
class Filtered:
    """The outcome of the dynamics filter.

    Attributes:
        motion: the motion after the last pass.
        com: (T, 3) the centre of mass that was wanted of it, in the world [m].
        errors: mean distance of the ZMP from the reference, in x and y, for each pass [m].
    """

    motion: WholeBodyMotion
    com: Array
    errors: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Task:
    """What the whole body is to do.

    Attributes:
        feet: where the left and the right sole are to be.
        world_R_root: (T, 3, 3) orientation of the pelvis.
        zmp: the ZMP that is wanted.
        height: from the x of the centre of mass (T,) [m] to its z in the world (T,) [m].
        time_step: [s].
        rest: time at both ends within which the motion comes to rest [s].
        track: finds the poses that bring the centre of mass where it is wanted.
    """

    feet: tuple[PlannedFoot, PlannedFoot]
    world_R_root: Array
    zmp: ZmpReference
    height: Callable[[Array], Array]
    time_step: float
    rest: float
    track: Callable[..., WholeBodyPoses] = converge_cog


def filter_dynamics(
    biped: Biped, task: Task, passes: int, check: Callable[[WholeBodyPoses], None]
) -> Filtered:
    """Find the motion whose ZMP is the reference.

    Args:
        biped: the robot.
        task: what it is to do.
        passes: how often the reference is corrected; 0 leaves the motion of a point mass.
        check: is called with the poses of each pass; raises if a leg cannot reach a foot.

    Raises:
        MotionError: if the robot would leave the ground, or as `check` does.
    """
    corrected = task.zmp.point.copy()
    com = _com(biped, task, corrected, _course_on_level_ground(biped, task))
    errors: list[tuple[float, float]] = []
    for index in range(passes + 1):
        motion = whole_body(biped, task, com, check)
        error = task.zmp.point - motion.zmp
        errors.append((float(np.abs(error[:, 0]).mean()), float(np.abs(error[:, 1]).mean())))
        if index < passes:
            corrected[1:-1, :2] += _smooth(error)[:, :2]
            com = _com(biped, task, corrected, com[:, 0])
    return Filtered(motion, com, tuple(errors))


def _smooth(error: Array) -> Array:
    """Average neighbours with weights 1, 2, 1, (T − 2, 3).

    Alternating errors vanish, which the cart-table's second difference sees smaller than they are
    and would make grow from pass to pass.
    """
    return 0.25 * error[:-2] + 0.5 * error[1:-1] + 0.25 * error[2:]


def _course_on_level_ground(biped: Biped, task: Task) -> Array:
    """Return the course of the CoM along x (T,) [m], were the ground level."""
    zmp = task.zmp.point * [1.0, 1.0, 0.0]
    height = task.height(zmp[:1, 0]).repeat(len(zmp))
    return com_over_zmp(zmp, height, task.time_step, biped.gravity)[:, 0]


def _com(biped: Biped, task: Task, zmp: Array, x: Array) -> Array:
    """Motion of the CoM (T, 3) [m] for a ZMP; its height is that for the course `x` (T,)."""
    com = com_over_zmp(zmp, task.height(x), task.time_step, biped.gravity)
    return from_rest_to_rest(com, task)


def from_rest_to_rest(com: Array, task: Task) -> Array:
    """Let a motion (T, 3) of the centre of mass begin and end at rest, within `task.rest`."""
    times = task.time_step * np.arange(len(com))
    for rest, elapsed in ((com[0].copy(), times), (com[-1].copy(), times[-1] - times)):
        com = rest + smooth_step(elapsed / task.rest)[:, None] * (com - rest)
    return com


def whole_body(
    biped: Biped, task: Task, com: Array, check: Callable[[WholeBodyPoses], None]
) -> WholeBodyMotion:
    """Find the motion of all bodies, and its ZMP, for one of the centre of mass.

    Args:
        biped: the robot.
        task: what it is to do.
        com: (T, 3) centre of mass in the world [m].
        check: is called with the poses; raises if a leg cannot reach a foot.

    Raises:
        MotionError: if the robot would leave the ground, or as `check` does.
    """
    poses = task.track(biped, com, task.feet, task.world_R_root, start=com[0])
    check(poses)
    qd, qdd = derivatives(poses.q, task.time_step)
    root = RootMotion.from_poses(poses.root, task.world_R_root, task.time_step)
    model, gravity = biped.model, biped.gravity
    wrench, com_found = ground_reaction(model, gravity, root, poses.q, qd, qdd)
    least = LEAST_LOAD * model.total_mass * gravity
    zmp = zero_moment_point(wrench, task.zmp.normal, task.zmp.point, least)
    flying = np.isnan(zmp).any(axis=1)
    if flying.any():
        time = int(np.argmax(flying)) * task.time_step
        raise MotionError(
            f'The planned motion would make the robot leave the ground at {time:.3f} s; move more '
            'slowly or more smoothly.',
            kind='leaves_ground',
            time=time,
        )
    return WholeBodyMotion(poses, qd, qdd, root, com_found, wrench, zmp)
