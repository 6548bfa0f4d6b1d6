"""The IZMP on the moving board and the true CoP of a run, and how far apart they are."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps, seconds
from izmp_lab.seesaw.study.points import ASSUMPTIONS, points_on_board
from izmp_lab.seesaw.study.robot_digest import robot_digest
from izmp_lab.studies.runs import Load, Run
from izmp_lab.studies.store import Arrays

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

_FUNCTION = 'izmp_lab.seesaw.study.izmp:board_points'


def run_of(robot: str, case: str, controller: str = 'mixed') -> Run:
    """The run of a case; its result is that of `board_points`."""
    reference, push, duration = CASES[case]
    parameters = {'robot': robot, 'controller': controller, 'reference': reference,
                  'push': push, 'duration': duration}  # fmt: skip
    return Run(_FUNCTION, parameters, effort=duration, data=robot_digest(robot))


def board_points(
    load: Load, robot: str, controller: str, reference: str, push: str, duration: float
) -> Arrays:
    """Balance in MuJoCo, record, replay; all at the K instants of the replay.

    Returns:
        times (K,) [s]; pushed (K,) whether there is a push; cop (K, 3) the true one; and for each
        of NAMES (K, 3) the point that it gives; all in the board's frame [m].
    """
    from izmp_lab.seesaw.bag import SeesawRecorder, record_seesaw
    from izmp_lab.seesaw.balancing_robot import load_balancing_robot
    from izmp_lab.seesaw.board import Seesaw
    from izmp_lab.seesaw.closed_loop import balance_on_seesaw
    from izmp_lab.seesaw.controller import MomentumController
    from izmp_lab.seesaw.gains import gains
    from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw
    from izmp_lab.seesaw.reference import ComReference
    from izmp_lab.simulation.shove import Shove

    balancing, recorder = load_balancing_robot(robot), SeesawRecorder()
    plant = MujocoSeesaw(balancing, Seesaw(), observer=recorder)
    own = gains(controller, balancing.model.joint_names)
    control = MomentumController(
        balancing, plant.seesaw, controller, own, ComReference.parse(reference)
    )
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
    from izmp_dynamics.recording.chunks import evaluate_recording, make_evaluator
    from izmp_dynamics.recording.recording import Recording
    from izmp_lab.seesaw.sensed_robot import ROBOT_YAML

    robot = load_robot_file(bag / ROBOT_YAML)
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, load_model(robot.urdf_path, robot.root))
        parts = list(evaluate_recording(recording, make_evaluator(recording)))
    points = [part.frame.points(part.points['mr_ad']) for part in parts if part.frame is not None]
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
    rows: npt.NDArray[np.bool_] = (points['times'] >= _SETTLED) & ~points['pushed']
    return rows


def _known(points: Arrays) -> npt.NDArray[np.bool_]:
    rows: npt.NDArray[np.bool_] = np.isfinite(points['cop'][:, 0])
    rows &= np.isfinite(points[REPLAYED][:, 0])
    return rows
