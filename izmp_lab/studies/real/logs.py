"""Which recordings there are in a folder, with which robot files, and what is made of them."""

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import IzmpError, ReplayError, UnknownNameError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import Collector, evaluate_recording, make_evaluator
from izmp_lab.studies.runs import Arrays, Run

HALF_WIDTH = 0.08
"""Of the matched filter of the filtered evaluation [s]: a bandwidth of 4 Hz."""


@dataclass(frozen=True)
class Log:
    """A recording and a robot file.

    Attributes:
        name: short and unique, for files and headings.
        bag: folder of the rosbag2.
        robot: robot file.
        urdf: instead of the one that it names; None to take that.
    """

    name: str
    bag: Path
    robot: Path
    urdf: Path | None = None

    def load_robot(self) -> RobotFile:
        """Read the robot file.

        Raises:
            RobotFileError: if it cannot be read.
        """
        return load_robot_file(self.robot, self.urdf)

    def digest(self) -> str:
        """Digest of recording, robot file and URDF."""
        digest = hashlib.sha256()
        urdf = Path(self.urdf or self.load_robot().urdf_path)
        for path in (*sorted(self.bag.iterdir()), self.robot, urdf):
            is_read = path.suffix in {'.mcap', '.db3', '.zstd', '.yaml', '.urdf'}
            if is_read and path.is_file():  # and no pipe
                digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


def _logs_of(bag: Path) -> list[Log]:
    files = sorted(bag.glob('robot*.yaml'))
    if files:
        names = [bag.name if len(files) == 1 else f'{bag.name}_{file.stem}' for file in files]
        return [Log(name, bag, file) for name, file in zip(names, files, strict=True)]
    urdf = bag / 'robot.urdf'
    try:
        robot = find_resource(f'examples/{bag.name}/robot.yaml')
    except UnknownNameError:
        return []
    return [Log(bag.name, bag, robot, urdf)] if urdf.is_file() else []


FRAMES = 7
"""Instants at which the robot is drawn."""


def evaluation(bag: str, robot: str, urdf: str | None, half_width: float | None) -> Arrays:
    """Evaluate a recording as `izmp replay` does.

    Args:
        bag: folder of the rosbag2.
        robot: robot file.
        urdf: instead of the one that it names; None to take that.
        half_width: of the matched filter [s]; None for none.

    Returns:
        times (K,) [s]; for each method M that the signals allow, M (K, 2) its point in nif [m] and
        M_margin (K,) [m]; force (K,) normal force of MR-AD over the weight [-]; shown (F,) rows;
        sticks (F, B, 3) origins of the bodies in nif [m]; parents (B,). If it cannot be evaluated,
        `refused` alone: the sentence that says why.
    """
    try:
        return _evaluation(bag, robot, urdf, half_width)
    except IzmpError as error:
        return {'refused': np.array(str(error))}


def _evaluation(bag: str, robot: str, urdf: str | None, half_width: float | None) -> Arrays:
    """Do so, or raise an IzmpError."""
    file = load_robot_file(robot, urdf)
    file = dataclasses.replace(file, filter=Filter(half_width=half_width))
    model = load_model(file.read_urdf(), file.root)
    with BagReader(Path(bag)) as reader:
        recording = Recording(reader, file, model)
        evaluator, collector, q = make_evaluator(recording), Collector(recording), []
        for part in evaluate_recording(recording, evaluator):
            collector.add(part)
            q.append(part.joints.positions)
        found = collector.evaluation(evaluator) if q else None
    mr_ad = None if found is None else found.tracks.get('mr_ad')
    if found is None or mr_ad is None or not mr_ad.valid.any():
        raise ReplayError(
            'MR-AD has an IZMP at no instant; `izmp replay` says why.', kind='nothing_came_out'
        )
    force = np.einsum('ti,ti->t', found.normal, mr_ad.wrench[:, :3])
    known = np.flatnonzero(mr_ad.valid)
    shown = known[np.linspace(0, len(known) - 1, FRAMES).round().astype(int)]
    origins = np.stack([model.body_poses(row)[1] for row in np.concatenate(q)[shown]])
    return {
        'times': found.time,
        'force': force / (model.total_mass * file.gravity),
        'shown': shown,
        'sticks': np.einsum('fij,fbj->fbi', found.nif_R_root(shown), origins),
        'parents': np.asarray(model.joints[:, PARENT]),
        **{name: found.in_nif(track.point)[:, :2] for name, track in found.tracks.items()},
        **{f'{name}_margin': track.margin for name, track in found.tracks.items()},
    }


@dataclass(frozen=True)
class LogStudy:
    """The recordings below a folder.

    Attributes:
        found: those that can be evaluated.
        skipped: why others cannot, one sentence each.
    """

    found: tuple[Log, ...] = ()
    skipped: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path | None, robot: Path | None = None) -> 'LogStudy':
        """Find the recordings.

        A recording is a folder with a metadata.yaml. Its robot files are the `robot*.yaml` beside
        it; without one the robot file `examples/NAME/robot.yaml` of this package is taken, with
        the recording's robot.urdf.

        Args:
            folder: where to look; None for nowhere.
            robot: robot file of all recordings; None for those beside them.
        """
        if folder is None:
            return cls()
        found, skipped = [], []
        for metadata in sorted(Path(folder).rglob('metadata.yaml')):
            bag = metadata.parent
            logs = _logs_of(bag) if robot is None else [Log(bag.name, bag, robot)]
            if not logs:
                skipped.append(
                    f"'{bag}' has no robot*.yaml, so its topics and soles are not known; put one "
                    'beside it (config/robot_example.yaml explains every key).'
                )
            for log in logs:
                try:
                    log.digest()
                except (IzmpError, OSError) as error:
                    skipped.append(f"'{bag}' is left out: {error}")
                else:
                    found.append(log)
        return cls(tuple(found), tuple(skipped))

    def evaluation(self, log: Log, *, filtered: bool) -> Run:
        """Describe the evaluation of a recording."""
        parameters = {
            'bag': str(log.bag.resolve()), 'robot': str(log.robot.resolve()),
            'urdf': str(log.urdf.resolve()) if log.urdf else None,
            'half_width': HALF_WIDTH if filtered else None,
        }  # fmt: skip
        return Run(evaluation, parameters, data=log.digest())
