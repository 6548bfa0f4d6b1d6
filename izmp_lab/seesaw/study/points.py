"""Where on the board the ZMP is, for those who know that the board moves and for those who do not.

All are computed from the truth of a simulation, so that only the assumption makes the difference:

* `moving`: MR-AD on the plane of the moving board, this package's way. Nothing is assumed.
* `level`: the classic formula, the motion in the world on a level plane that stays where it was at
  rest. The point is in the world; read as a place on the board, it is off by as far as the board
  has rolled.
* `level_seen`: the same point, seen from where the board really is. What is left is that the plane
  is not inclined: as the force is nearly upright, that is little.
* `board_still`: the classic formula with all motion measured against the board, as a robot does
  whose odometry takes the standing foot for fixed and level. Neither the tilt of gravity nor the
  acceleration of the board is in it.
* `gravity`: the centre of mass along gravity onto the true board; no motion at all.
"""

from collections.abc import Mapping

import numpy as np

from izmp_dynamics.base.conventions import Array, cross
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.stability.ground_frame import GroundFrame
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.walking.root_motion import RootMotion

ASSUMPTIONS: Mapping[str, str] = {
    'moving': 'MR-AD on the moving board',
    'level': 'fixed level plane in the world',
    'level_seen': 'fixed level plane, seen from the true board',
    'board_still': 'board taken for the world',
    'gravity': 'centre of mass along gravity',
}
"""Name → what is taken for the ground."""

_MINIMUM_FORCE = 10.0
_UP = np.array([0.0, 0.0, 1.0])


def points_on_board(
    run: SimulatedRun, model: RobotModel, top: float, gravity: float
) -> dict[str, Array]:
    """Compute the ZMP by every assumption.

    Args:
        run: on a ground that moves.
        model: the robot's.
        top: height of the ground above the origin of its frame [m].
        gravity: [m/s²].

    Returns:
        Name as in ASSUMPTIONS → (T, 3) point in the frame of the ground [m].

    Raises:
        SimulationError: if the ground does not move.
    """
    ground, root = run.ground, run.truth.root
    if ground is None:
        raise SimulationError(
            'The ground of this run does not move.',
            kind='ground_at_rest',
        )
    frame = GroundFrame.from_world(ground.rotation, ground.position, root.rotation, root.position)
    wrench = _wrench(run, model, root, gravity)
    relative = _wrench(run, model, seen_from(ground, root), gravity)
    com = np.einsum('tij,tj->ti', np.swapaxes(root.rotation, 1, 2), run.truth.com - root.position)
    level = _on_level_plane(wrench, root, ground.position[0], top)
    return {
        'moving': _on(frame, wrench, top),
        'level': level - ground.position[0],
        'level_seen': np.einsum('tji,tj->ti', ground.rotation, level - ground.position),
        'board_still': _on(frame, relative, top),
        'gravity': _on(frame, _weight(root, com), top),
    }


def _on(frame: GroundFrame, wrench: ContactWrench, top: float) -> Array:
    plane = frame.plane(top)
    return frame.points(zero_moment_point(wrench, plane.normal, plane.point, _MINIMUM_FORCE))


def _on_level_plane(wrench: ContactWrench, root: RootMotion, rest: Array, top: float) -> Array:
    """The point in the world [m], on the upper side of a board that has stayed at `rest` (3,)."""
    in_world = wrench.transformed(root.rotation, root.position)
    return zero_moment_point(in_world, _UP, rest + top * _UP, _MINIMUM_FORCE)


def _wrench(
    run: SimulatedRun, model: RobotModel, root: RootMotion, gravity: float
) -> ContactWrench:
    """Contact wrench about the root that the joints and this motion of the root demand."""
    wrench, _ = MrAd(model).batch(
        root.proper_acceleration(gravity),
        root.angular_velocity,
        root.angular_acceleration,
        run.q,
        run.truth.qd,
        run.truth.qdd,
    )
    return wrench


def _weight(root: RootMotion, com: Array) -> ContactWrench:
    """The wrench that bears 100 N of weight, if nothing accelerates."""
    force = 100.0 * root.rotation[:, 2, :]
    return ContactWrench(force, cross(com, force))


def seen_from(ground: RootMotion, root: RootMotion) -> RootMotion:
    """Motion of the root against the ground, as if that were a world at rest.

    With d from the ground's origin to the root's, in the axes of the ground, where ω and α are
    those of the ground: d¨ = Rᵀ(a_root − a) − α × d − ω × (ω × d) − 2 ω × ḋ.
    """
    into = np.swapaxes(ground.rotation, 1, 2)

    def turned(vectors: Array) -> Array:
        result: Array = np.einsum('tij,tj->ti', into, vectors)
        return result

    omega, alpha = ground.angular_velocity, ground.angular_acceleration
    d = turned(root.position - ground.position)
    velocity = turned(root.velocity - ground.velocity) - cross(omega, d)
    acceleration = (
        turned(root.acceleration - ground.acceleration)
        - cross(alpha, d)
        - cross(omega, cross(omega, d))
        - 2.0 * cross(omega, velocity)
    )
    rotation = into @ root.rotation
    omega_in_root = np.einsum('tji,tj->ti', rotation, omega)
    alpha_in_root = np.einsum('tji,tj->ti', rotation, alpha)
    angular_velocity = root.angular_velocity - omega_in_root
    return RootMotion(
        position=d,
        rotation=rotation,
        velocity=velocity,
        angular_velocity=angular_velocity,
        acceleration=acceleration,
        angular_acceleration=root.angular_acceleration
        - alpha_in_root
        + cross(angular_velocity, omega_in_root),
    )
