"""`check`: what is in a recording, what is missing or suspicious, and the remedy for each.

The recording is evaluated as in a replay, without writing anything: many faults (a wrong mass, a
turned IMU, a force sensor of the other sign) show only in the numbers that come out.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.batch import Topic
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.diagnosis.anomalies import nothing_came_out, signal_findings
from izmp_dynamics.diagnosis.feet_check import judge_feet
from izmp_dynamics.diagnosis.filter_choice import FilterChoice, adopt, propose_filter
from izmp_dynamics.diagnosis.force_check import judge_force
from izmp_dynamics.diagnosis.stretches import STATED, stretch_findings
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording.chunks import Progress, evaluate_recording, make_evaluator
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.replay.collect import Collector
from izmp_dynamics.results.evaluation import Evaluation, SignalHealth
from izmp_dynamics.stability.clearance import is_point
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.support import OVERLAP_REMEDY

GAP_TOLERANCE = 0.01
"""Median distance of IZMP and CoP from which on a calibration is suggested [m]."""

CONSTANT_SHARE = 0.5
"""Part of it that is constant from which on offsets are suspected rather than delays [-]."""

GATED_SHARE = 0.01
"""Share of a signal's samples that may be gated without a remark [-]."""

INTERPOLATED_SHARE = 0.5
"""Share of the instants at which a signal may be interpolated without a remark [-]."""


@dataclass(frozen=True)
class CheckResult:
    """What a check found.

    Attributes:
        topics: all topics of the bag.
        signals: those in use.
        findings: errors first.
    """

    topics: tuple[Topic, ...]
    signals: tuple[SignalHealth, ...]
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether a replay gives a result."""
        return all(finding.severity != 'error' for finding in self.findings)

    @property
    def kinds(self) -> frozenset[str]:
        """What was found, see `Finding.kind`."""
        return frozenset(finding.kind for finding in self.findings)

    def with_findings(self, further: Iterable[Finding]) -> 'CheckResult':
        """Add findings; where they say how a sensor is turned, the guess at its sign goes."""
        added = list(further)
        turned = any(finding.kind == 'force_sensor_turned' for finding in added)
        kept = [known for known in self.findings if not (turned and known.kind == 'foot_pulls')]
        return dataclasses.replace(self, findings=_sorted(kept + added))


def check(
    bag_path: Path, robot: RobotFile, progress: Progress = lambda fraction: None
) -> CheckResult:
    """Examine a recording.

    Args:
        bag_path: rosbag2, folder or file.
        robot: robot file.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: if bag or URDF cannot be read at all.
    """
    model = load_model(robot.urdf_path, robot.root)
    findings = [Finding('note', problem.kind, f'URDF: {problem}') for problem in model.problems]
    with BagReader(bag_path) as bag:
        topics = tuple(bag.topics.values())
        signals: tuple[SignalHealth, ...] = ()
        try:
            recording = Recording(bag, robot, model)
            proposed = propose_filter(recording)
            adopt(proposed, recording)
            findings += recording.missing
            evaluation, found = _evaluate(recording, progress)
            signals = evaluation.health
            findings += found
            findings += judge(evaluation, recording)
            findings += _judge_filter(proposed)
        except IzmpError as error:
            findings.append(Finding('error', error.kind, str(error)))
        findings += [Finding('note', 'bag', note) for note in bag.notes]
        if bag.damage:
            findings.append(Finding('warning', 'damaged_bag', bag.damage))
    return CheckResult(topics, signals, _sorted(findings))


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then notes."""
    order = ('error', 'warning', 'note')
    return tuple(sorted(findings, key=lambda finding: order.index(finding.severity)))


def _evaluate(recording: Recording, progress: Progress) -> tuple[Evaluation, list[Finding]]:
    evaluator = make_evaluator(recording)
    collector = Collector(recording)
    for results in evaluate_recording(recording, evaluator, progress):
        collector.add(results)
    found = [Finding('warning', 'ill_conditioned', text) for text in evaluator.root.warnings]
    found += stretch_findings(recording, evaluator)
    return collector.evaluation({}, (), (), {}, evaluator.faults), found


def judge(evaluation: Evaluation, recording: Recording) -> Iterator[Finding]:
    """Find anomalies of the signals and of the numbers that came out."""
    yield from signal_findings(recording)
    yield from _judge_health(evaluation, recording.robot)
    nothing = nothing_came_out(recording, evaluation)
    if nothing is not None:
        yield Finding('error', nothing.kind, str(nothing))
    mr_ad = evaluation.tracks.get('mr_ad')
    if mr_ad is None:
        return
    scene = Scene(evaluation)
    if scene.astray:
        return  # a finding says why; all that follows needs to know where the feet are
    overlap = scene.sole_overlap
    if overlap is not None:
        text = f'{overlap.text[0].upper()}{overlap.text[1:]}.'
        yield Finding('warning', 'soles_overlap', text, OVERLAP_REMEDY)
    stands = scene.stands
    yield from judge_force(evaluation, stands)
    if nothing is None or nothing.kind != 'force_points_down':  # what is up is not known
        flags = any(use.forces.only_contact for use in recording.uses.values())
        for finding in judge_feet(evaluation, recording.robot, stands, recording.unused_wrenches):
            if not (flags and finding.kind in ('mean_foot_force', 'foot_unit', 'no_load')):
                yield finding
    yield from _judge_agreement(evaluation, recording)


def _judge_filter(proposed: FilterChoice | None) -> Iterator[Finding]:
    """Propose the half-width of a matched filter."""
    if proposed is None:
        return
    remedy = ''
    if proposed.half_width is not None:
        remedy = (
            'izmp replay chooses this by itself; for the nodes state filter: {half_width: '
            f'{proposed.half_width:.4g}}} in the robot file.'
        )
    yield Finding('note', 'filter', proposed.text, remedy)


def _judge_health(evaluation: Evaluation, robot: RobotFile) -> Iterator[Finding]:
    """Find signals of which much was not used; topics or joints that share a reason are joined."""
    topics: dict[tuple[Reason, str], list[str]] = {}
    interpolated: list[str] = []
    for signal in evaluation.health:
        joints: dict[Reason, list[str]] = {}
        for fault, number in signal.gated.items():
            of = len(evaluation.stamps) if fault.reason.per_instant else signal.count
            share = number / max(of, 1)
            if fault.reason in STATED:
                continue
            if fault.reason is Reason.INTERPOLATED:
                known = Fault(Reason.REPEATED) in signal.gated  # that is why
                interpolated += [signal.topic] if share > INTERPOLATED_SHARE and not known else []
            elif share > GATED_SHARE and fault.part and fault.reason is not Reason.UNREADABLE:
                joints.setdefault(fault.reason, []).append(f'{fault.part} ({number})')
            elif share > GATED_SHARE:
                text = f'{fault.text} ({number} of {of})'
                topics.setdefault((fault.reason, text), []).append(signal.topic)
        for reason, names in joints.items():
            text = f'{signal.topic}: {reason.text}: {list_names(names)}; {signal.count} messages.'
            yield Finding('warning', reason.value, text)
    for (reason, text), names in topics.items():
        why = _why_no_sample(robot) if reason is Reason.NO_SAMPLE else ''
        yield Finding('warning', reason.value, f'{list_names(names)}: {text}.', why)
    if interpolated:
        yield Finding(
            'note',
            Reason.INTERPOLATED.value,
            f'{list_names(interpolated)}: interpolated at most instants, because the stamps are '
            'not those of the joints.',
        )


def _why_no_sample(robot: RobotFile) -> str:
    """What leaves an instant without a sample of a signal."""
    gap, half_width = 1e3 * robot.pairing.max_gap, robot.filter.half_width
    why = (
        f'There are more than {gap:.0f} ms between its measurements (pairing.max_gap; messages '
        'that repeat the one before are none)'
    )
    if half_width is None:
        return f'{why}, or it begins later or ends earlier than the joints.'
    return (
        f'{why}, and the matched filter widens that by {1e3 * half_width:.0f} ms on either side, '
        'as it does the beginning and the end.'
    )


def _judge_agreement(evaluation: Evaluation, recording: Recording) -> Iterator[Finding]:
    """Suggest a calibration where IZMP and CoP disagree for most of the time."""
    mr_ad, cop = evaluation.tracks.get('mr_ad'), evaluation.tracks.get('cop')
    if mr_ad is None or cop is None or not recording.robot.feet:
        return
    if any(is_point(foot.polygon) for foot in recording.rig.feet):
        return  # they are not calibrated
    gap = mr_ad.point - cop.point
    gap = gap[np.isfinite(gap).all(axis=1)]
    if not len(gap):
        return
    typical = float(np.median(np.linalg.norm(gap, axis=1)))
    if typical < GAP_TOLERANCE:
        return
    constant = float(np.linalg.norm(np.median(gap, axis=0)))
    groups = 'imu_rotation,accelerometer_bias,ft_offsets,payload'
    reason = f'the median offset is {1e3 * constant:.0f} mm: mounting, offsets or masses'
    if constant < CONSTANT_SHARE * typical:
        groups = 'delays'
        robot = recording.robot
        filtered = robot.low_pass.cutoff is not None or robot.filter.half_width is not None
        reason = f'most of it changes: delays{"" if filtered else ", or noise (see filter)"}'
    yield Finding(
        'note',
        'calibration_may_help',
        f'IZMP and CoP are {1e3 * typical:.0f} mm apart (median); {reason}.',
        f'If the robot walks here: izmp calibrate (above all {groups}).',
    )
