"""`replay`: a bag and a robot in, a bag with all results and a report out.

The log goes through the pipeline in chunks, so a log of an hour needs little more memory than one
of a minute. Nothing appears at the output's place until all of it is complete.
"""

from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.columns import Columns
from izmp_dynamics.diagnosis.filter_choice import chosen_filter
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import read_urdf
from izmp_dynamics.recording.chunks import Progress
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.replay.collect import Collector
from izmp_dynamics.replay.evaluate import evaluate
from izmp_dynamics.replay.hashes import hashing
from izmp_dynamics.replay.output import ResultWriter
from izmp_dynamics.replay.result_folder import result_folder
from izmp_dynamics.report.writer import write_summary
from izmp_dynamics.verdict.expect import Expectation, Limits, check_limits, junit_xml
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


def replay(
    bag_path: Path,
    robot: RobotFile,
    folder: Path,
    *,
    storage: str = 'mcap',
    overwrite: bool = False,
    static: bool = False,
    limits: Limits | None = None,
    progress: Progress = lambda fraction: None,
) -> ReplayResult:
    """Evaluate a recording.

    Args:
        bag_path: rosbag2, folder or file.
        robot: robot file.
        folder: where the results go: bag/, report.html, report.json.
        storage: of the output bag, 'mcap' or 'sqlite3'.
        overwrite: replace an earlier result in `folder`.
        static: a report of pictures alone, which does not play.
        limits: what the recording must meet; the answers are in expect.xml, and the results are
            written in any case.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: a sentence that says what is wrong with bag, robot file, URDF or folder.
    """
    with result_folder(folder, overwrite) as partial, BagReader(bag_path) as bag:
        urdf = read_urdf(robot.urdf_path)
        recording = Recording(bag, robot, load_model(urdf, robot.root))
        choice = chosen_filter(recording)
        collector = Collector(recording, urdf, Columns(partial))
        with (
            hashing(bag_path, robot, urdf) as hashes,
            BagWriter(partial / 'bag', storage=storage) as out,
        ):
            writer = ResultWriter(out, recording.rig, urdf.text, recording.origin)
            evaluation = evaluate(
                recording, choice, collector, progress, writer.write, hashes.result
            )
            scene = Scene(evaluation)
            summary = summarise(scene)
            writer.write_events(summary.events, int(evaluation.stamps[0]))
        write_summary(scene, summary, partial, static=static)
    # From here on the results are kept, whatever the limits ask for.
    expectations = () if limits is None else check_limits(summary, limits)
    if limits is not None:
        text = junit_xml(str(bag_path), expectations, summary.verdict.text)
        (folder / EXPECTED).write_text(text, encoding='utf-8', errors='backslashreplace')
    return ReplayResult(
        folder / 'bag',
        folder / 'report.html',
        folder / 'report.json',
        summary,
        (
            *evaluation.notes,
            *(str(found) for found in recording.missing if found.kind not in KNOWN),
        ),
        expectations,
    )
