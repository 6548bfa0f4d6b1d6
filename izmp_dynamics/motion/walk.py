"""The walking pattern generator: from a speed and a number of steps to the motion of every joint.

Footsteps → ZMP reference → centre of mass (cart-table with full preview) → soles → whole body
(converging CoG) → dynamics filter → joint torques. `docs/references.md` names the sources.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.motion.biped import Biped
from izmp_dynamics.motion.converging_cog import WholeBodyPoses, converge_cog, keep_cog_offset
from izmp_dynamics.motion.dynamics_filter import Task, WholeBodyMotion, filter_dynamics
from izmp_dynamics.motion.footsteps import Footsteps, Gait, plan_footsteps
from izmp_dynamics.motion.inverse_dynamics import AppliedWrench, joint_torques, shared_reaction
from izmp_dynamics.motion.plan import MotionPlan, PlannedFoot
from izmp_dynamics.motion.ramp import Ramp
from izmp_dynamics.motion.step_timing import StepTiming
from izmp_dynamics.motion.swing_foot import plan_sole
from izmp_dynamics.motion.walk_limits import WalkLimits
from izmp_dynamics.motion.walk_parameters import WalkParameters
from izmp_dynamics.motion.zmp_reference import ZmpReference, plan_zmp

EDGE_WIDTH = 0.08
"""Width over which the height of the centre of mass bends at the edge of a ramp [m]."""

_TRACKING: dict[str, Callable[..., WholeBodyPoses]] = {
    'converging': converge_cog,
    'constant': keep_cog_offset,
}


@dataclass(frozen=True)
class PlannedWalk:
    """A walk and how it came about.

    Attributes:
        plan: what a plant executes; with torques, ZMP and centre of mass.
        parameters: what was asked for.
        ramp: the ground.
        footsteps: where the soles are set down.
        timing: when.
        zmp_reference: the ZMP that was wanted; `plan.zmp` is that of all bodies.
        com_reference: (T, 3) the centre of mass that was wanted, in the world [m]; `plan.com` is
            that of all bodies.
        filter_errors: mean distance between the two in x and y after each pass of the dynamics
            filter, the first before any [m].
    """

    plan: MotionPlan
    parameters: WalkParameters
    ramp: Ramp
    footsteps: Footsteps
    timing: StepTiming
    zmp_reference: ZmpReference
    com_reference: Array
    filter_errors: tuple[tuple[float, float], ...]

    @property
    def joint_ranges(self) -> Array:
        """(n, 2) least and largest joint positions [rad] or [m]."""
        return np.stack([self.plan.q.min(axis=0), self.plan.q.max(axis=0)], axis=1)


def plan_walk(biped: Biped, parameters: WalkParameters | None = None) -> PlannedWalk:
    """Plan a walk.

    The middle of the first stance is the world's origin; the walk begins along x.

    Args:
        biped: the robot.
        parameters: how it walks.

    Raises:
        MotionError: if the robot cannot walk like that; the message names step, joint and value.
    """
    parameters = parameters or WalkParameters()
    ramp = Ramp(parameters.slope, parameters.slope_start)
    timing = StepTiming(
        parameters.steps, parameters.step_time, parameters.double_support, parameters.stand,
        parameters.time_step,
    )  # fmt: skip
    footsteps = plan_footsteps(biped, _gait(biped, parameters), ramp)
    limits = WalkLimits(biped, footsteps, timing)
    limits.check_zmp(parameters.zmp_travel)
    reference = plan_zmp(footsteps, timing, parameters.zmp_travel)
    left, right = (
        plan_sole(leg.sole, foot, footsteps, timing, parameters.swing_height)
        for foot, leg in enumerate(biped.legs)
    )
    task = Task(
        feet=(left, right),
        world_R_root=_heading(left, right),
        zmp=reference,
        height=lambda x: parameters.com_height + ramp.smooth_height(x, EDGE_WIDTH),
        time_step=parameters.time_step,
        rest=0.5 * parameters.stand,
        track=_TRACKING[parameters.cog_tracking],
    )
    filtered = filter_dynamics(biped, task, parameters.filter_passes, limits.check_reach)
    motion = filtered.motion
    limits.check_joints(motion.poses.q, motion.qd)
    torques = _torques(biped, task, motion, parameters)
    limits.check_torques(torques)
    plan = MotionPlan(
        name='walk',
        joint_names=biped.model.joint_names,
        time_step=parameters.time_step,
        q=motion.poses.q,
        qd=motion.qd,
        qdd=motion.qdd,
        root=motion.root,
        feet=(left, right),
        feed_forward=torques,
        zmp=motion.zmp,
        com=motion.com,
    )
    return PlannedWalk(
        plan, parameters, ramp, footsteps, timing, reference, filtered.com, filtered.errors
    )


def _gait(biped: Biped, parameters: WalkParameters) -> Gait:
    return Gait(
        steps=parameters.steps,
        length=parameters.step_length,
        turn=parameters.turn_rate * parameters.step_time,
        width=parameters.step_width or biped.hip_width,
        first=parameters.first,
    )


def _heading(left: PlannedFoot, right: PlannedFoot) -> Array:
    """Orientation of the pelvis (T, 3, 3): upright, its heading between those of the feet."""
    yaw = np.mean(
        [
            np.unwrap(np.arctan2(foot.rotation[:, 1, 0], foot.rotation[:, 0, 0]))
            for foot in (left, right)
        ],
        axis=0,
    )
    R = np.zeros((len(yaw), 3, 3))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(yaw)
    R[:, 1, 0] = np.sin(yaw)
    R[:, 0, 1] = -R[:, 1, 0]
    R[:, 2, 2] = 1.0
    return R


def _torques(
    biped: Biped, task: Task, motion: WholeBodyMotion, parameters: WalkParameters
) -> Array:
    contact = np.stack([foot.contact for foot in task.feet], axis=1)
    reactions = shared_reaction(motion.wrench, motion.zmp, task.zmp.loads, contact)
    root = motion.root
    root_R_world = np.swapaxes(root.rotation, 1, 2)
    p_world_in_root = -np.einsum('tij,tj->ti', root_R_world, root.position)
    return joint_torques(
        biped.model,
        root.proper_acceleration(biped.gravity),
        root.angular_velocity,
        root.angular_acceleration,
        motion.poses.q,
        motion.qd,
        motion.qdd,
        applied=tuple(
            AppliedWrench(leg.sole, reaction.transformed(root_R_world, p_world_in_root))
            for leg, reaction in zip(biped.legs, reactions, strict=True)
        ),
        drive=parameters.drive,
    )
