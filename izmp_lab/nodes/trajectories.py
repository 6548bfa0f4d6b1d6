"""A planned motion as a message that a joint_trajectory_controller takes."""

from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.nodes.messages import header
from izmp_lab.walking.plan import MotionPlan


def planned_trajectory(plan: MotionPlan, stamp: int = 0) -> JointTrajectory:
    """Return the joint references of a plan.

    Args:
        plan: the motion.
        stamp: when it begins [ns]; 0 for as soon as it is received.
    """
    points = []
    for row, time in enumerate(plan.times.tolist()):
        nanoseconds = round(time * NANOSECONDS)
        points.append(
            JointTrajectoryPoint(
                positions=plan.q[row].tolist(),
                velocities=plan.qd[row].tolist(),
                accelerations=plan.qdd[row].tolist(),
                effort=[] if plan.feed_forward is None else plan.feed_forward[row].tolist(),
                time_from_start=Duration(
                    sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS
                ),
            )
        )
    return JointTrajectory(
        header=header(stamp, ''), joint_names=list(plan.joint_names), points=points
    )
