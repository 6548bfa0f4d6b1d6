"""The IZMP on the moving board and the true CoP of a run, and how far apart they are."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps, cross, seconds
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.stability.ground_plane import GroundFrame
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.seesaw.mujoco_spec import robot_digest
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.studies.runs import Arrays, Run
from izmp_lab.walking.plan import RootMotion

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
        raise SimulationError('The ground of this run does not move.', kind='ground_at_rest')
    frame = GroundFrame.from_world(ground.rotation, ground.position, root.rotation, root.position)
    wrench, relative = (
        MrAd(model).batch(*motion.felt(gravity), run.q, run.truth.qd, run.truth.qdd)[0]
        for motion in (root, seen_from(ground, root))
    )
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


def _weight(root: RootMotion, com: Array) -> ContactWrench:
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


REPLAYED = 'replayed'
"""MR-AD as `izmp replay` computes it from the bag: derivatives by ACD at 500 Hz."""

NAMES: Mapping[str, str] = {
    'moving': 'MR-AD, exact derivatives',
    REPLAYED: 'MR-AD, ACD at 500 Hz',
    **{name: text for name, text in ASSUMPTIONS.items() if name != 'moving'},
}

CASES: Mapping[str, tuple[str, str, float]] = {
    'push': ('constant', '100:lateral:2.0:0.01', 12.0),
    'sine': ('sine:0.025:0.25', '', 12.0),
}
"""Name → reference of the CoM, push on the torso, duration [s]."""

_SETTLED = 0.2
"""Before it the feet sink into the soft contacts [s]."""


def run_of(robot: str, case: str, controller: str = 'mixed') -> Run:
    """The run of a case; its result is that of `board_points`."""
    reference, push, duration = CASES[case]
    parameters = {'robot': robot, 'controller': controller, 'reference': reference,
                  'push': push, 'duration': duration}  # fmt: skip
    return Run(board_points, parameters, data=robot_digest(robot), effort=duration)


def board_points(
    robot: str, controller: str, reference: str, push: str, duration: float
) -> Arrays:
    """Balance in MuJoCo, record, replay; all at the K instants of the replay.

    Returns:
        times (K,) [s]; pushed (K,) whether there is a push; cop (K, 3) the true one; and for each
        of NAMES (K, 3) the point that it gives; all in the board's frame [m].
    """
    from izmp_lab.seesaw.balancing_robot import load_balancing_robot
    from izmp_lab.seesaw.board import Seesaw
    from izmp_lab.seesaw.closed_loop import balance_on_seesaw
    from izmp_lab.seesaw.controller import MomentumController
    from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw, SeesawRecorder, record_seesaw
    from izmp_lab.simulation.physics import Shove

    balancing, recorder = load_balancing_robot(robot), SeesawRecorder()
    plant = MujocoSeesaw(balancing, Seesaw(), observer=recorder)
    control = MomentumController.named(balancing, controller, reference=reference)
    pushes = [Shove.parse(push, balancing.torso)] if push else []
    balance_on_seesaw(plant, control, duration, pushes)
    run = recorder.run(plant, f'seesaw {controller}')
    with tempfile.TemporaryDirectory(prefix='izmp_seesaw_') as folder:
        bag = Path(folder) / 'bag'
        record_seesaw(run, plant, bag)
        stamps, replayed = replayed_points(bag)
    rows = np.searchsorted(run.stamps, stamps)
    points = points_on_board(run, balancing.model, plant.seesaw.top, plant.sensed.file.gravity)
    return {
        'times': seconds(stamps, int(run.stamps[0])),
        'pushed': np.asarray(run.truth.applied_wrench[rows].any(axis=1)),
        'cop': run.cop_in_ground()[rows],
        REPLAYED: replayed,
        **{name: place[rows] for name, place in points.items()},
    }


def replayed_points(bag: Path) -> tuple[Stamps, Array]:
    """Evaluate a recording of the seesaw; stamps (K,) [ns], IZMP of MR-AD on the board (K, 3)."""
    from izmp_dynamics.bags.reader import BagReader
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_dynamics.model.robot_model import load_model
    from izmp_dynamics.recording.recording import Recording
    from izmp_dynamics.recording.replay import evaluate_recording, make_evaluator
    from izmp_lab.seesaw.mujoco_spec import ROBOT_YAML

    robot = load_robot_file(bag / ROBOT_YAML)
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, load_model(robot.read_urdf(), robot.root))
        parts = list(evaluate_recording(recording, make_evaluator(recording)))
    points = [
        part.ground.frame.points(part.points['mr_ad'])
        for part in parts
        if part.ground.frame is not None
    ]
    return np.concatenate([part.stamps for part in parts]), np.concatenate(points)


def distances(points: Arrays, name: str) -> Array:
    """(N,) distances from the true CoP [mm], where all are known and there is no push.

    During a push, the IZMP is beside the CoP, as it should be.
    """
    rows = _judged(points) & _known(points)
    apart: Array = 1e3 * np.linalg.norm((points[name] - points['cop'])[rows], axis=1)
    return apart


def share(points: Arrays) -> float:
    """Part of the instants without a push at which IZMP and CoP are known [%]."""
    return 100.0 * float(_known(points)[_judged(points)].mean())


def _judged(points: Arrays) -> npt.NDArray[np.bool_]:
    return (points['times'] >= _SETTLED) & ~points['pushed']


def _known(points: Arrays) -> npt.NDArray[np.bool_]:
    rows: npt.NDArray[np.bool_] = np.isfinite(points['cop'][:, 0])
    rows &= np.isfinite(points[REPLAYED][:, 0])
    return rows
