"""What a worker does with a bag: evaluate it as `izmp replay` does, return a row.

A worker evaluates one bag at a time, so its memory is that of a single replay. It writes nothing
but temporary files; what it returns is written by the process that asked for it.
"""

import dataclasses
import hashlib
import json
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import izmp_dynamics
from izmp_dynamics.bags.metadata import FILE
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.cache import code_digest
from izmp_dynamics.base.errors import FleetError, IzmpError
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.fleet.robots import digest_if_usable
from izmp_dynamics.fleet.row import Row, blank, of_error, of_metadata, of_report
from izmp_dynamics.fleet.sources import BagSource
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.report.writer import write_report
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.results.files import data_hashes, file_hash, input_hashes
from izmp_dynamics.verdict.summary import summary_of

_OTHER_ROBOT = 'other_robot'


@dataclass(frozen=True)
class Task:
    """A bag to evaluate.

    Attributes:
        bag: where it is.
        robot: robot file, absolute, which the worker can read.
        robot_sha256: digest of it and its URDF.
        report: whether the full report is wanted as well.
    """

    bag: BagSource
    robot: str
    robot_sha256: str
    report: bool = False


@dataclass(frozen=True)
class Done:
    """What came out.

    Attributes:
        row: of the table.
        files: name → content of the full report, if that was wanted.
    """

    row: Row
    files: dict[str, bytes] = field(default_factory=dict)


def evaluate(task: Task) -> Done:
    """Evaluate a bag.

    A bag that cannot be evaluated gives a row with the error.
    """
    begin, bag = time.perf_counter(), Path(task.bag.path)
    row = blank(task.bag, task.robot) | {
        'sha256': content_hash(bag) or None,
        'robot_sha256': task.robot_sha256,
        'version': izmp_dynamics.__version__,
        'code': code_digest(),
        'host': socket.gethostname(),
    }
    files: dict[str, bytes] = {}
    try:
        row |= _metadata(bag)
        evaluation = _evaluated(bag, task)
        if task.report:
            files = _report(evaluation, task.bag.name)
            row |= of_report(json.loads(files['report.json']))
        else:
            row |= of_report(summary_of(evaluation).as_dict())
    except IzmpError as error:
        kind = error.kind or type(error).__name__
        row |= of_error(str(error), kind, transient=kind == _OTHER_ROBOT)
    row['seconds'] = time.perf_counter() - begin
    return Done(row, files)


def content_hash(bag: Path) -> str:
    """SHA-256 of the contents of a local bag, its metadata included; '' if there is none."""
    try:
        hashes = list(data_hashes(bag).values())
        if (bag / FILE).is_file():
            hashes.append(file_hash(bag / FILE))
    except FileNotFoundError:
        return ''
    return hashlib.sha256(' '.join(hashes).encode()).hexdigest() if hashes else ''


def _metadata(bag: Path) -> Row:
    with BagReader(bag) as reader:
        return of_metadata(reader.custom_data, reader.distro, reader.storage)


def _evaluated(bag: Path, task: Task) -> Evaluation:
    robot = load_robot_file(task.robot)
    evaluation = evaluate_bag(bag, robot)
    hashes = input_hashes(bag, robot, robot.read_urdf())
    if digest_if_usable(Path(task.robot)) != task.robot_sha256:
        raise FleetError(
            f"The robot file '{task.robot}' or its URDF has changed meanwhile; run the command "
            'again.',
            kind=_OTHER_ROBOT, path=task.robot,
        )  # fmt: skip
    return dataclasses.replace(evaluation, hashes=hashes)


def _report(evaluation: Evaluation, bag: str) -> dict[str, bytes]:
    with TemporaryDirectory(prefix='izmp-fleet-') as folder:
        paths = write_report(evaluation, Path(folder), bag=bag)
        return {path.name: path.read_bytes() for path in (paths.html, paths.json)}
