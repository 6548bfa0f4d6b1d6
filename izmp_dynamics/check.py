"""`check`: what is in a recording, what is missing or suspicious, and the remedy for each.

The recording is evaluated as in a replay, without writing anything: many faults (a wrong mass, a
turned IMU, a force sensor of the other sign) show only in the numbers that come out.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.bags.batch import Topic
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.table_file import ROW, TIME
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.finding import Finding, one_per_cause, sorted_by_level
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.diagnosis.filter_choice import Trial, chosen_filter, filter_findings
from izmp_dynamics.diagnosis.forces import agreement_findings, feet_findings, motion_findings
from izmp_dynamics.diagnosis.late_forces import adopt_delay
from izmp_dynamics.diagnosis.legs import legs_findings
from izmp_dynamics.diagnosis.model import model_findings
from izmp_dynamics.diagnosis.signals import (
    health_findings,
    nothing_came_out,
    signal_findings,
    stuck_findings,
)
from izmp_dynamics.diagnosis.units import unit_findings
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import (
    Collector,
    Progress,
    evaluate_recording,
    make_evaluator,
)
from izmp_dynamics.results.evaluation import SignalHealth
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise


@dataclass(frozen=True)
class CheckResult:
    """What a check found.

    Attributes:
        topics: all topics of the bag.
        signals: those in use.
        findings: errors first.
        no_verdict: why a replay gives no verdict, and what would help; empty if it does, or fails.
    """

    topics: tuple[Topic, ...]
    signals: tuple[SignalHealth, ...]
    findings: tuple[Finding, ...]
    no_verdict: str = ''

    @property
    def usable(self) -> bool:
        """Whether a replay gives a result."""
        return all(finding.level != 'error' for finding in self.findings)

    @property
    def kinds(self) -> frozenset[str]:
        """What was found, see `Finding.kind`."""
        return frozenset(finding.kind for finding in self.findings)

    def with_findings(self, further: Iterable[Finding]) -> 'CheckResult':
        """Add findings; where they say how a sensor is turned, the guess at its sign goes."""
        added = list(further)
        turned = any(finding.kind == 'force_sensor_turned' for finding in added)
        kept = [known for known in self.findings if not (turned and known.kind == 'foot_pulls')]
        return dataclasses.replace(self, findings=sorted_by_level(kept + added))


@announced_compilation()
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
    model = load_model(robot.read_urdf(), robot.root)
    findings = list(model_findings(model, robot))
    with BagReader(bag_path) as bag:
        topics = tuple(bag.topics.values())
        signals: tuple[SignalHealth, ...] = ()
        no_verdict = ''
        try:
            recording = Recording(bag, robot, model)
            trial = Trial(recording)
            proposed = chosen_filter(trial, though_stated=True)
            late = adopt_delay(trial)
            findings += recording.missing
            evaluator, collector = make_evaluator(recording), Collector(recording)
            for results in evaluate_recording(recording, evaluator, progress):
                collector.add(results)
            found = [*signal_findings(recording), *unit_findings(*collector.unit_rates)]
            evaluation = collector.evaluation(evaluator, doubts=[*findings, *found])
            signals = evaluation.health
            findings += [
                Finding('ill_conditioned', 'warning', text) for text in evaluator.root.warnings
            ]
            findings += stuck_findings(recording, evaluator)
            findings += found
            findings += health_findings(evaluation, recording.robot)
            scene, nothing = Scene(evaluation), nothing_came_out(recording, evaluation)
            findings += _result_findings(scene, recording, nothing)
            if nothing is None:
                summary = summarise(scene)
                findings += [each for each in summary.findings if each.kind.startswith('cop_')]
                verdict = summary.verdict
                if verdict.state == 'unclear':  # the remedy of a wrong input is among the findings
                    advice = '' if verdict.reason == 'input_wrong' else verdict.advice
                    no_verdict = f'{verdict.text} {advice}'.rstrip()
            findings += filter_findings(proposed)
            findings += [] if late is None else [Finding('late_forces', 'note', late.text)]
        except IzmpError as error:
            findings.append(Finding(error.kind, 'error', str(error)))
        findings += [Finding('bag', 'note', note) for note in bag.notes]
        findings += _unused_columns(bag, robot)
        if bag.damage:
            findings.append(Finding('damaged_bag', 'warning', bag.damage))
    found_once = sorted_by_level(one_per_cause(findings))
    return CheckResult(topics, signals, found_once, no_verdict)


def _unused_columns(bag: BagReader, robot: RobotFile) -> Iterator[Finding]:
    """List the columns of a table that the robot file does not name."""
    for topic in bag.topics.values():
        if topic.msgtype == ROW:
            maps = [signal.mapping for signal in robot.signals() if signal.mapping]
            terms = [term for each in maps for part in each.fields.values() for term in part]
            used = {'header', *(term.steps[0].name for term in terms)}
            used |= {each.clock.steps[0].name for each in maps}
            fields = bag.decoder(topic.name).typestore.fielddefs[ROW][1]
            unused = [name for name, _ in fields if not (name in used or TIME.fullmatch(name))]
            if unused:
                sentence = f"Columns of '{topic.name}' that are not used: {', '.join(unused)}."
                yield Finding('unused_columns', 'note', sentence)


def _result_findings(
    scene: Scene, recording: Recording, nothing: IzmpError | None
) -> Iterator[Finding]:
    """Find anomalies of the numbers that came out, or `nothing` that can be judged."""
    if nothing is not None:
        yield Finding(nothing.kind, 'error', str(nothing))
    evaluation = scene.evaluation
    if 'mr_ad' not in evaluation.tracks or scene.foot_pose_unknown:
        return  # a finding says why; all that follows needs to know where the feet are
    if scene.sole_overlap is not None:
        yield scene.sole_overlap
    yield from motion_findings(evaluation, scene.stands)
    if nothing is None or nothing.kind != 'force_points_down':  # what is up is not known
        flags = any(use.forces.only_contact for use in recording.uses.values())
        for finding in feet_findings(evaluation, scene.stands, recording.unused_wrenches):
            if not (flags and finding.kind in ('mean_foot_force', 'foot_unit', 'no_load')):
                yield finding
    yield from legs_findings(evaluation, scene.stands)
    yield from agreement_findings(evaluation)
