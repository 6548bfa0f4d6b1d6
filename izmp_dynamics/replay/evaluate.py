"""`evaluate_bag`: a recording in, arrays out; nothing is written."""

from os import PathLike
from pathlib import Path

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.diagnosis.anomalies import nothing_came_out, signal_findings
from izmp_dynamics.diagnosis.filter_choice import chosen_filter, stated
from izmp_dynamics.diagnosis.stretches import outages, stretch_findings
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import read_urdf
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
    model = load_model(urdf, robot.root)
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, model)
        choice = chosen_filter(recording)
        evaluator = make_evaluator(recording)
        collector = Collector(recording, urdf)
        for results in evaluate_recording(recording, evaluator, progress):
            collector.add(results)
        notes = (
            *([choice.text] if choice and choice.notable else []),
            *reader.notes,
            *(str(found) for found in signal_findings(recording) if found.severity == 'warning'),
            *map(str, stretch_findings(recording, evaluator)),
            *evaluator.root.warnings,
        )
        damage = reader.damage
    missing = [str(found) for found in recording.missing]
    used = {'angular_acceleration.used': evaluator.root.method, **stated(choice)}
    evaluation = collector.evaluation(
        {}, missing, notes, used, evaluator.faults, outages(recording, evaluator), damage
    )
    nothing = nothing_came_out(recording, evaluation)
    if nothing is not None:
        raise nothing
    return evaluation
