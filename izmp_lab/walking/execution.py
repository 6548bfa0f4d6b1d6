"""What all bodies do while the plan of a window is executed, and whether the robot can do it."""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.walking.body_states import BodyStates
from izmp_lab.walking.com_programme import InfeasibleError
from izmp_lab.walking.course import Course
from izmp_lab.walking.dynamics_filter import LEAST_LOAD
from izmp_lab.walking.ground_torques import Load, ground_torques
from izmp_lab.walking.inverse_dynamics import Drive
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.receding_planner import RecedingPlanner, WindowPlan


class Execution:
    """Inverse dynamics of plans.

    Args:
        planner: made the plans.
        drive: what the servos move besides the links.
    """

    def __init__(self, planner: RecedingPlanner, drive: Drive) -> None:
        self._body, self._limits = planner.body, planner.limits
        self._biped, self._drive = planner.body.biped, drive

    def motion(self, course: Course, plan: WindowPlan, times: Array) -> MotionPlan:
        """Return joints, torques and ZMP at equidistant times (K,) [s].

        Raises:
            MotionError: if the centre of mass cannot be brought to where it is wanted, or the
                soles would not be loaded.
        """
        return self._motion(course, self._body.states(course, plan.com, times), times)

    def check(self, course: Course, plan: WindowPlan, times: Array) -> None:
        """Refuse what the robot cannot do: reach, joints, torques, and ZMP of all bodies.

        Arguments as of `motion`.

        Raises:
            MotionError: naming time and value.
        """
        states = self._body.states(course, plan.com, times)
        self._limits.check_reach(times, states.reach)
        self._limits.check_positions(times, states.q)
        self._limits.check_velocities(times, states.qd)
        motion = self._motion(course, states, times)
        assert motion.feed_forward is not None
        assert motion.zmp is not None
        self._limits.check_torques(times, motion.feed_forward)
        _check_zmp(course, times, motion.zmp)

    def _motion(self, course: Course, states: BodyStates, times: Array) -> MotionPlan:
        biped, root = self._biped, states.root
        wrench, com_in_root = self._body.contact_wrench(states)
        in_world = wrench.transformed(root.rotation, root.position)
        wanted = course.zmp(times)
        least = LEAST_LOAD * biped.model.total_mass * biped.gravity
        zmp = zero_moment_point(in_world, wanted.normal, wanted.point, least)
        joints = (states.q, states.qd, states.qdd)
        load = Load(in_world, zmp, wanted.loads)
        return MotionPlan(
            'walk', biped.model.joint_names, float(times[1] - times[0]), *joints, root,
            states.feet,
            feed_forward=ground_torques(biped, root, joints, states.feet, load, self._drive),
            zmp=zmp,
            com=root.position + np.einsum('tij,tj->ti', root.rotation, com_in_root),
        )  # fmt: skip


def _check_zmp(course: Course, times: Array, zmp: Array) -> None:
    """Refuse a ZMP (K, 3) [m] of all bodies that leaves the soles that carry."""
    rows, normals, offsets = course.support(times)
    outside = np.sum(normals * zmp[rows, :2], axis=1) - offsets
    worst = int(np.argmax(outside))
    if outside[worst] > 0.0:
        raise InfeasibleError(
            f'At {times[rows[worst]]:.2f} s the ZMP of all bodies would be '
            f'{1e3 * outside[worst]:.0f} mm beyond the edge of the support.',
            kind='zmp_outside_support',
            time=float(times[rows[worst]]),
            distance=float(outside[worst]),
        )
