"""`evaluate_bag`: a recording in, arrays out; nothing is written but what a caller writes."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.diagnosis.anomalies import nothing_came_out, signal_findings
from izmp_dynamics.diagnosis.filter_choice import FilterChoice, chosen_filter, stated
from izmp_dynamics.diagnosis.stretches import outages, stretch_findings
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import read_urdf
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.recording.chunks import Progress, evaluate_recording, make_evaluator
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.replay.collect import Collector
from izmp_dynamics.results.evaluation import Evaluation


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
    urdf = read_urdf(robot.urdf_path)
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, load_model(urdf, robot.root))
        return evaluate(recording, chosen_filter(recording), Collector(recording, urdf), progress)


def evaluate(
    recording: Recording,
    choice: FilterChoice | None,
    collector: Collector,
    progress: Progress,
    write: Callable[[Evaluated], None] = lambda results: None,
    hashes: Callable[[], Mapping[str, str]] = dict,
) -> Evaluation:
    """Evaluate a recording span by span, and state what was noted on the way.

    Args:
        recording: what is evaluated.
        choice: the filter that was chosen, if it was.
        collector: of the recording.
        progress: called with the fraction that is done.
        write: takes each span.
        hashes: gives in the end the SHA-256 of the inputs by name.

    Raises:
        IzmpError: if nothing can be evaluated.
    """
    evaluator = make_evaluator(recording)
    for results in evaluate_recording(recording, evaluator, progress):
        write(results)
        collector.add(results)
    notes = (
        *([choice.text] if choice and choice.notable else []),
        *recording.bag.notes,
        *(str(found) for found in signal_findings(recording) if found.severity == 'warning'),
        *map(str, stretch_findings(recording, evaluator)),
        *evaluator.root.warnings,
    )
    evaluation = collector.evaluation(
        hashes(),
        [str(found) for found in recording.missing],
        notes,
        {'angular_acceleration.used': evaluator.root.method, **stated(choice)},
        evaluator.faults,
        outages(recording, evaluator),
        recording.bag.damage,
    )
    nothing = nothing_came_out(recording, evaluation)
    if nothing is not None:
        raise nothing
    return evaluation
