"""A recording and a robot in: arrays out (`evaluate_bag`), or a bag with all results and a report.

The log goes through the pipeline in chunks, so a log of an hour needs little more memory than one
of a minute. Of a replay nothing appears at the output's place until all of it is complete.
"""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.columns import Columns
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.diagnosis.filter_choice import Trial, chosen_filter
from izmp_dynamics.diagnosis.late_forces import adopt_delay
from izmp_dynamics.diagnosis.model import model_findings
from izmp_dynamics.diagnosis.signals import (
    nothing_came_out,
    outages,
    signal_findings,
    stuck_findings,
)
from izmp_dynamics.diagnosis.units import unit_findings
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.fusing import FusionStage
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import (
    Collector,
    Progress,
    evaluate_recording,
    make_evaluator,
)
from izmp_dynamics.report.writer import write_summary
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.results.files import ResultWriter, input_hashes, result_folder
from izmp_dynamics.verdict.events.event import MSGTYPE, Event, event_message
from izmp_dynamics.verdict.expect import Expectation, Limits, check_limits, junit_xml
from izmp_dynamics.verdict.findings import ABSENT
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import Summary, summarise

KNOWN = ('joints_absent', 'joints_unknown')
"""Notes that are the same on every run: `izmp check` and the report state them."""

EXPECTED = 'expect.xml'
"""File with the answers to limits, beside the report."""


@dataclass(frozen=True)
class ReplayResult:
    """Where the results are, and what they say.

    Attributes:
        bag: rosbag2 with all results.
        html: the report.
        json: the same for programs.
        summary: what the report says.
        notes: anomalies of the input, and what could not be evaluated, one sentence each, but
            for what is the same on every run.
        expectations: the limits that were given, and whether they are met.
    """

    bag: Path
    html: Path
    json: Path
    summary: Summary
    notes: tuple[str, ...]
    expectations: tuple[Expectation, ...] = ()


def evaluate_bag(
    bag: str | PathLike[str],
    robot: str | PathLike[str] | RobotFile,
    progress: Progress = lambda fraction: None,
) -> Evaluation:
    """Evaluate a recording with every method that its signals allow.

    The numbers are those of `izmp replay`, without its files; `write_report` makes the report from
    the returned value. The arrays run over K instants, at the bus rate of the robot file.

    Args:
        bag: rosbag2, folder or file, mcap or sqlite3.
        robot: the robot file or its path.
        progress: called with the fraction that is done, 0 to 1.

    Returns:
        Stamps (K,) [ns]; for each method contact wrench (K, 6) [N, N·m], IZMP or CoP (K, 3) [m],
        margin (K,) [m] and mask (K,), in the root frame about its origin. NaN where there is no
        value.

    Raises:
        BagError: if the bag cannot be read.
        RobotFileError: if the robot file cannot be used, or its path is given and it names a URDF
            that is not there or links that are not in it.
        ModelError: if the URDF cannot be used.
        ReplayError: if the recording cannot be evaluated with this robot.
        MissingDependencyError: if a library that reads bags is not installed.
    """
    if not isinstance(robot, RobotFile):
        robot = load_robot_file(Path(robot), with_urdf=True)
    urdf = robot.read_urdf()
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, load_model(urdf, robot.root))
        return _evaluated(recording, urdf, progress)


def replay(
    bag_path: Path,
    robot: RobotFile,
    folder: Path,
    *,
    storage: str = 'mcap',
    overwrite: bool = False,
    limits: Limits | None = None,
    progress: Progress = lambda fraction: None,
    command: str = '',
) -> ReplayResult:
    """Evaluate a recording; write a bag of all results, and a report.

    Args:
        bag_path: rosbag2, folder or file.
        robot: robot file.
        folder: where the results go: bag/, report.html, report.json.
        storage: of the output bag, 'mcap' or 'sqlite3'.
        overwrite: replace an earlier result in `folder`.
        limits: what the recording must meet; the answers are in expect.xml, and the results are
            written in any case.
        progress: called with the fraction that is done.
        command: that the report names as its origin.

    Raises:
        IzmpError: a sentence that says what is wrong with bag, robot file, URDF or folder.
    """
    with result_folder(folder, overwrite) as partial, BagReader(bag_path) as bag:
        urdf = robot.read_urdf()
        recording = Recording(bag, robot, load_model(urdf, robot.root))
        with BagWriter(partial / 'bag', storage=storage) as out:
            writer = ResultWriter(out, recording.rig, urdf.text, recording.origin)
            evaluation = _evaluated(recording, urdf, progress, Columns(partial), writer.write)
            hashes = input_hashes(bag_path, robot, urdf)
            evaluation = dataclasses.replace(evaluation, hashes=hashes)
            scene = Scene(evaluation)
            summary = summarise(scene)
            _write_events(out, summary.events, int(evaluation.stamps[0]))
        name = Path(bag_path).resolve().name
        write_summary(scene, summary, partial, bag=name, command=command)
    # From here on the results are kept, whatever the limits ask for.
    expectations = () if limits is None else check_limits(summary, limits)
    if limits is not None:
        text = junit_xml(str(bag_path), expectations, summary.verdict.text)
        (folder / EXPECTED).write_text(text, encoding='utf-8', errors='backslashreplace')
    known = {*KNOWN, *(found.kind for found in summary.findings if found.kind in ABSENT)}
    missing = (str(found) for found in recording.missing if found.kind not in known)
    return ReplayResult(
        folder / 'bag',
        folder / 'report.html',
        folder / 'report.json',
        summary,
        (*evaluation.notes, *missing),
        expectations,
    )


@announced_compilation()
def _evaluated(
    recording: Recording,
    urdf: Urdf,
    progress: Progress,
    columns: Columns | None = None,
    write: Callable[[Evaluated], None] = lambda results: None,
) -> Evaluation:
    """Evaluate a recording span by span, each of which `write` takes; note what is odd."""
    trial = Trial(recording)
    choice, late = chosen_filter(trial), adopt_delay(trial)
    collector, evaluator = Collector(recording, urdf, columns), make_evaluator(recording)
    fusion = FusionStage(recording.rig) if FusionStage.suits(recording.rig) else None
    for results in evaluate_recording(recording, evaluator, progress):
        if fusion is not None:
            results = fusion.push(evaluator, results)
        write(results)
        collector.add(results)
    found = [each for each in signal_findings(recording) if each.level == 'warning']
    found += unit_findings(*collector.unit_rates)
    notes = (
        *([choice.text] if choice and choice.notable else []),
        *([late.text] if late else []),
        *recording.bag.notes,
        *map(str, found),
        *map(str, stuck_findings(recording, evaluator)),
        *evaluator.root.warnings,
    )
    evaluation = collector.evaluation(
        evaluator,
        notes=notes,
        doubts=[*model_findings(recording.model, recording.robot), *recording.missing, *found],
        stages={'angular_acceleration.used': evaluator.root.method}
        | ({'filter.chosen': choice.text} if choice else {}),
        outages=outages(recording, evaluator),
    )
    nothing = nothing_came_out(recording, evaluation)
    if nothing is not None:
        raise nothing
    return evaluation


def _write_events(bag: BagWriter, events: Iterable[Event], origin: int) -> None:
    """Write the events of the whole recording; each is received when it is over."""
    bag.add_topic('/events', MSGTYPE, {}, qos='history')
    for event in events:
        found = event_message(event, origin)
        status = 'status[0]'
        like: dict[str, object] = {
            'status': 1,
            f'{status}.level': found.level,
            f'{status}.name': found.name,
            f'{status}.message': found.message,
            f'{status}.hardware_id': found.hardware_id,
            f'{status}.values': len(found.values),
        }
        for k, (key, value) in enumerate(found.values):
            like |= {f'{status}.values[{k}].key': key, f'{status}.values[{k}].value': value}
        stamps = {'header.stamp': np.array([found.begin])}
        bag.write_batch('/events', np.array([found.end]), stamps, like)
    bag.flush()
