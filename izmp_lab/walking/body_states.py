"""The motion of the whole body at single instants, from that of centre of mass and soles.

Positions are found by the converging CoG at an instant and shortly before and after it; velocities
and accelerations are central differences.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, cross
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.converging_cog import WholeBodyPoses, converge_cog
from izmp_lab.walking.course import Course, heading, upright
from izmp_lab.walking.plan import PlannedFoot, RootMotion

NEARBY = 0.002
"""Time between the positions that are differenced [s]."""

Com = Callable[[Array], Array]
"""Centre of mass (K, 3) in the world [m] at times (K,) [s]."""


@dataclass(frozen=True)
class BodyStates:
    """The robot at K instants.

    Attributes:
        q: (K, n) joint positions [rad] or [m].
        qd: (K, n) joint velocities [rad/s] or [m/s].
        qdd: (K, n) joint accelerations [rad/s²] or [m/s²].
        root: motion of the root.
        feet: the soles.
        reach: (K, 2) distance from hip to ankle of the left and the right leg [m]; negative where
            a sole faces upwards.
    """

    q: Array
    qd: Array
    qdd: Array
    root: RootMotion
    feet: tuple[PlannedFoot, PlannedFoot]
    reach: Array


class BodyMotion:
    """Finds poses and states; each search begins where the one before ended.

    Args:
        biped: the robot.
    """

    def __init__(self, biped: Biped) -> None:
        self.biped = biped
        self._root_from_com = np.zeros(3)

    def poses(self, course: Course, com: Com, times: Array) -> WholeBodyPoses:
        """Find the poses at ascending times (K,) [s].

        Raises:
            MotionError: if the centre of mass cannot be brought to where it is wanted.
        """
        return self._poses(com(times), course.feet(times))[0]

    def states(self, course: Course, com: Com, times: Array) -> BodyStates:
        """Find the states at ascending times (K,) [s], at least 5 ms apart.

        Raises:
            MotionError: if the centre of mass cannot be brought to where it is wanted.
        """
        around = (times[:, None] + NEARBY * np.array([-1.0, 0.0, 1.0])).ravel()
        feet = course.feet(around)
        poses, yaw = self._poses(com(around), feet)
        q, qd, qdd = _central(poses.q)
        position, velocity, acceleration = _central(poses.root)
        _, spin, spin_up = _central(yaw[:, None] * [0.0, 0.0, 1.0])
        middle = upright(yaw[1::3])
        root = RootMotion(position, middle, velocity, spin, acceleration, spin_up)
        left, right = feet
        return BodyStates(q, qd, qdd, root, (left[1::3], right[1::3]), poses.reach[1::3])

    def momentum_rate(self, states: BodyStates) -> Array:
        """Rate of angular momentum (K, 3) about the centre of mass in world axes [N·m].

        It is the moment of the contact wrench about the centre of mass; gravity has none there.
        """
        root = states.root
        wrench, com = MrAd(self.biped.model).batch(
            *root.felt(self.biped.gravity), states.q, states.qd, states.qdd
        )
        about_com = wrench.moment - cross(com, wrench.force)
        rate: Array = np.einsum('kij,kj->ki', root.rotation, about_com)
        return rate

    def _poses(
        self, com: Array, feet: tuple[PlannedFoot, PlannedFoot]
    ) -> tuple[WholeBodyPoses, Array]:
        """Poses, and the heading (K,) [rad]."""
        yaw = heading(feet)
        start = com[0] + self._root_from_com
        poses = converge_cog(self.biped, com, feet, upright(yaw), start=start)
        self._root_from_com = poses.root[0] - com[0]
        return poses, yaw


def _central(samples: Array) -> tuple[Array, Array, Array]:
    """Values, first and second derivatives (K, …) from samples (3 K, …) before, at and after."""
    before, at, after = samples[::3], samples[1::3], samples[2::3]
    return at, (after - before) / (2.0 * NEARBY), (after - 2.0 * at + before) / NEARBY**2
