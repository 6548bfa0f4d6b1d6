"""`calibrate`: recordings of a walking robot in, a robot file that agrees with Newton out."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from os import PathLike

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.rotations import from_rpy, to_rpy
from izmp_dynamics.calibration.choice import Candidate, best_of, finished, make_candidate
from izmp_dynamics.calibration.files import Calibration, corrected_inertials, corrected_robot
from izmp_dynamics.calibration.findings import result_of
from izmp_dynamics.calibration.force_sensors import CUTOFFS, with_mountings
from izmp_dynamics.calibration.inertias import LinkInertia, link_inertias
from izmp_dynamics.calibration.parameters import (
    DEFAULT_GROUPS,
    GROUPS,
    IMU_GROUPS,
    check_groups,
    make_layout,
)
from izmp_dynamics.calibration.residuals import Terms
from izmp_dynamics.calibration.segments import Instants, prepare, read_segments
from izmp_dynamics.diagnosis.filter_choice import Trial, chosen_filter
from izmp_dynamics.diagnosis.late_forces import adopt_delay
from izmp_dynamics.diagnosis.units import unit_findings
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.urdf import read_urdf
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.stability.clearance import POINT, is_point

CUTOFF = 10.0
"""Of the zero-phase filter that all signals pass [Hz]."""

POSE_CUTOFF = 3.0
"""The same where the IMU is derived from a pose, whose noise is differentiated twice [Hz]."""

Progress = Callable[[float], None]


class CalibrationError(IzmpError):
    """A recording cannot be used for a calibration."""


def estimate_corrections(
    bags: Sequence[str | PathLike[str]],
    robot: RobotFile,
    *,
    groups: Sequence[str] | None = None,
    find_ft_frame: bool = False,
    payload_link: str | None = None,
    progress: Progress = lambda fraction: None,
) -> Calibration:
    """Estimate the errors of sensors and model.

    Args:
        bags: rosbag2 recordings, in which the robot walks.
        robot: its robot file; what it states already is the beginning.
        groups: what may be corrected, see `parameters.GROUPS`; if None the usual ones, and a
            calibration matrix of the force sensors where that predicts held-out motion better.
        find_ft_frame: whether force sensors that are turned by right angles, or have the other
            sign, are corrected where the motion says how; otherwise they are refused.
        payload_link: link whose mass and centre of mass are corrected; the heaviest if None.
        progress: called with the fraction that is done.

    Raises:
        CalibrationError: if no recording holds signals for long enough, if the groups are
            unobservable with these sensors, or if a force sensor is turned.
        UnknownNameError: if there is no such group or link.
        IzmpError: if bag, robot file or URDF cannot be used.
    """
    wanted = None if groups is None else check_groups(tuple(groups))
    urdf = read_urdf(robot.urdf_path)
    model = load_model(robot.read_urdf(urdf), robot.root)
    links = link_inertias(model)
    heavy = payload_link or max(links, key=lambda link: float(link.theta[0])).link
    notes: list[str] = []
    rig, segments = _prepared(bags, robot, model, lambda f: progress(0.1 * f))
    as_stated, original = robot, None
    slower = cache(lambda: _prepared(bags, as_stated, model, cutoff=CUTOFFS[1])[1])
    turned, found, unknown = with_mountings(robot, rig, segments, slower)
    if unknown or (turned != robot and not find_ft_frame):
        way = '' if unknown else 'calibrate with --find-ft-frame, or '
        raise CalibrationError(
            f'{" ".join(found)} What is estimated would hide that: {way}state rotation and sign '
            'in the robot file.',
            kind='force_sensor_turned',
        )
    if find_ft_frame:
        notes = found
    turned, more = _with_units(turned, rig, segments)
    notes += more
    with BagReader(bags[0]) as bag:
        replayed = Recording(bag, turned, model)
        trial = Trial(replayed)
        chosen_filter(trial)  # nodes do not choose one
        late = adopt_delay(trial)
    if late and late.setting == 'time_constant' and 'delays' in (wanted or GROUPS):
        turned = turned.with_wrenches(time_constant=late.value)  # delays are estimated below
        where = ', by the first recording alone' if len(bags) > 1 else ''
        notes.append(f'{late.what}{where}. That is corrected first.')
    if turned != robot:
        robot, original = turned, segments
        rig, segments = _prepared(bags, robot, model)
    best = best_candidate(
        rig, segments, links, heavy, wanted, lambda f: progress(0.1 + 0.85 * f), original
    )
    result = result_of(bags, model, rig, segments, best, notes)
    progress(1.0)
    if not result.accepted:
        return Calibration(result, as_stated, {}, urdf)
    x = best.solution.x
    corrected = corrected_robot(robot, best.layout, x)
    corrected = dataclasses.replace(corrected, filter=replayed.robot.filter)
    return Calibration(result, corrected, corrected_inertials(best.layout, x), urdf)


def best_candidate(
    rig: Rig,
    segments: Sequence[Instants],
    links: tuple[LinkInertia, ...],
    payload_link: str,
    wanted: tuple[str, ...] | None = None,
    progress: Progress = lambda fraction: None,
    original: Sequence[Instants] | None = None,
) -> Candidate:
    """Estimate the chosen groups, or the usual ones with and without calibration matrices.

    Args:
        rig: the robot.
        segments: the recordings, prepared.
        links: of the robot.
        payload_link: link whose mass and centre of mass are corrected.
        wanted: groups, or None for the usual ones.
        progress: called with the fraction that is done.
        original: the recordings before the mountings of sensors were changed, if they were.

    Raises:
        CalibrationError: if the groups are unobservable with these sensors.
    """
    candidates = []
    choices = _choices(wanted, rig)
    for k, choice in enumerate(choices):
        layout = make_layout(rig, links, payload_link, choice)
        if not layout.parameters:
            raise CalibrationError(
                'There is nothing to estimate: with the sensors of this robot, the chosen groups '
                f'({", ".join(choice) or "none"}) are unobservable. Choose others.',
                kind='nothing_to_estimate', groups=choice,
            )  # fmt: skip

        def report(done: float, k: int = k) -> None:
            progress((k + done) / len(choices))

        rivals = len(choices) > 1
        candidates.append(make_candidate(segments, layout, report, original, rivals))
    return finished(best_of(candidates), segments)


def _prepared(
    bags: Sequence[str | PathLike[str]],
    robot: RobotFile,
    model: RobotModel,
    progress: Progress = lambda fraction: None,
    cutoff: float | None = None,
) -> tuple[Rig, list[Instants]]:
    """Read the recordings and prepare their segments."""
    links = link_inertias(model)
    cutoff = cutoff or (POSE_CUTOFF if robot.imu.from_position else CUTOFF)
    rig, segments = None, []
    for number, bag in enumerate(bags, 1):
        rig, parts = read_segments(bag, robot, model)
        segments += [prepare(part, rig, links, cutoff) for part in parts]
        progress(number / len(bags))
    if rig is None or not segments:
        raise CalibrationError(
            'There is nothing to calibrate from: in no recording do joints, '
            f'{"pose" if robot.imu.from_position else "IMU"} and the sensors of all feet publish '
            'together for 1.5 s without a gap.',
            kind='too_short',
        )
    if not rig.feet:
        raise CalibrationError(
            'The robot file states no feet; the calibration needs to know what rests on the '
            'ground. State them under feet.',
            kind='no_feet',
        )
    common = set[str].intersection(*({*part.units} for part in segments))
    kept = [k for k, unit in enumerate(rig.robot.segments) if unit.link in common]
    units = tuple(rig.robot.segments[k] for k in kept)
    rig = dataclasses.replace(
        rig,
        robot=dataclasses.replace(rig.robot, segments=units),
        segments=tuple(rig.segments[k] for k in kept),
    )
    for part in segments:
        part.units = {link: part.units[link] for link in rig.units}
    points = [foot.name for foot in rig.feet if is_point(foot.polygon)]
    if points:
        raise CalibrationError(
            'The calibration takes soles that rest to be level, but by their polygons the feet '
            f'{", ".join(points)} touch the ground with points, at most {100 * POINT:.0f} cm '
            'across, whose links lean as they like. It is for robots with flat feet.',
            kind='point_feet',
            feet=tuple(points),
        )
    return rig, segments


def _with_units(
    robot: RobotFile, rig: Rig, segments: Sequence[Instants]
) -> tuple[RobotFile, list[str]]:
    """Turn units on other links as gravity and the joints say; sentences, also on silent units."""
    links = tuple(rig.units)
    silent = [unit.link for unit in robot.segments if unit.link not in links]
    notes = [
        f'segments[{link}]: not calibrated, as in at least one recording it is silent for more '
        'than half of the time.'
        for link in silent
    ]
    if not links:
        return robot, notes
    read, off = [], []
    unit = np.array([1.0, 1.0 / robot.gravity])[:, None]
    for part in segments:
        turns = (rig.unit_pose(link)[0] for link in links)
        blocks = [block.values for block in Terms.stated(part).units]
        read += [unit * part.units[k].at(part.times).reshape(-1, 2, 3) for k in links]
        off += [unit * v.reshape(-1, 2, 3) @ R for v, R in zip(blocks, turns, strict=True)]
    joined = (np.stack([np.concatenate(each[k :: len(links)]) for k in range(len(links))], axis=2)
              for each in (read, off))  # fmt: skip
    measured, difference = (each.reshape(-1, len(links), 3) for each in joined)
    turned = {}
    for finding in unit_findings(links, measured, measured - difference):
        if finding.kind == 'units_exchanged':
            raise CalibrationError(str(finding), kind=finding.kind)
        turned[finding.subject] = finding.data['turn']
        notes.append(f'{finding.sentence} That is corrected first.')
    units = (
        dataclasses.replace(
            u, rotation=to_rpy(from_rpy(u.rotation) @ turned.get(u.link, np.eye(3)))
        )
        for u in robot.segments
    )
    return (dataclasses.replace(robot, segments=tuple(units)) if turned else robot), notes


def _choices(wanted: tuple[str, ...] | None, rig: Rig) -> list[tuple[str, ...]]:
    """Groups to try; an IMU that is derived from the pose has neither mounting nor biases."""
    derived = rig.robot.imu.from_position
    if wanted is not None:
        return [tuple(g for g in wanted if not (derived and g in IMU_GROUPS))]
    if derived:  # too noisy to tell how sensors are turned
        return [('delays', 'ft_offsets', 'units')]
    choices = [DEFAULT_GROUPS]
    if any(foot.sensor and not foot.normal_only for foot in rig.feet):
        # a matrix holds rotation and gain, and a mass cannot be distinguished from a gain
        rest = tuple(g for g in DEFAULT_GROUPS if g not in ('payload', 'ft_rotation'))
        choices.append(check_groups((*rest, 'ft_matrix')))
    return choices
