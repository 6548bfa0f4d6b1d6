"""What is wrong with the signals of a recording that was evaluated; why it has no IZMP."""

from collections.abc import Iterator

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.finding import Finding, list_names, warning
from izmp_dynamics.model.method import Rates
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.topic_use import TopicUse
from izmp_dynamics.results.evaluation import Evaluation, Outage
from izmp_dynamics.sensing.sensor_check import PROPOSAL
from izmp_dynamics.stability.ground_plane import LARGEST_CORRECTION

CLOCK_TOLERANCE = 0.1
"""Difference between the delays of two topics that is remarked on [s]."""

CLOCK_WAS_SET = 60.0
"""A gap that rather means that the clock was set [s]."""

FEW, FEW_SHARE = 10, 0.01
"""So many messages, or this share, may bear stamps that go back without a remark."""

MANY = 0.01
"""Share of messages that may be repeats without a remark [-]."""

GATED_SHARE = 0.01
"""Share of a signal's samples that may be gated without a remark [-]."""

INTERPOLATED_SHARE = 0.5
"""Share of the instants at which a signal may be interpolated without a remark [-]."""

RATE_TOLERANCE = 0.1
"""Deviation from the stated rate that is remarked on [-]."""

TWO_SOURCES = (
    'two_publishers',
    'the messages seem to alternate between two sources.',
    'Two publishers on one topic? Stop one, or give it a topic of its own.',
)

MANY_TORQUES = 0.1
"""Share of messages whose torques may be useless without a remark, as in impacts [-]."""

_NO_TORQUES = {
    Reason.NOT_FINITE: 'efforts of leg joints are missing or not numbers',
    Reason.REPEATED: 'the efforts repeat one value',
    Reason.TORQUES_CONTRADICT: (
        'the leg forces computed from the joint efforts do not add up to the contact force'
    ),
}
"""Why torques decide nothing."""

_STATED = (Reason.HANGS, Reason.REPEATED, Reason.STAMP_RESTORED)
"""Reasons that `stuck_findings` has sentences for."""

_Remark = tuple[str, str, str]
"""Kind, sentence that continues the name of a topic, and remedy."""


def signal_findings(recording: Recording) -> Iterator[Finding]:
    """Find anomalies of messages: their values, stamps, rates, joints and forces."""
    joints = recording.uses['joints']
    yield from recording.findings
    yield from recording.joint_watch.findings()
    yield from recording.joint_presence.findings(joints.topic, recording.origin)
    yield from _normal_forces(recording)
    yield from _rate(recording)
    yield from _counters(recording)
    some_change = any(use.changes for use in recording.uses.values())
    uses: dict[_Remark, list[TopicUse]] = {}
    for use in recording.uses.values():
        restored = recording.restored.get(use.signal, 0.0)
        remarks = [*_remarks(use, joints, recording.origin, restored)]
        if some_change and not use.changes and use.signal != 'ground':
            why = 'Is the sensor or its driver dead?'
            remarks.append(('constant', 'the values never change.', why))
        for remark in remarks:
            uses.setdefault(remark, []).append(use)
    for (kind, sentence, remedy), found in uses.items():
        names, signals = [use.topic for use in found], tuple(use.signal for use in found)
        text = f'{list_names(names)}: {sentence}'
        yield warning(kind, text, remedy, data={'signals': signals})


def _normal_forces(recording: Recording) -> Iterator[Finding]:
    """Propose normal_only for force sensors that measure nothing else; find contact flags."""
    flags = [use.topic for use in recording.uses.values() if use.forces.only_contact]
    if flags and not recording.rig.contact_force <= 1.0:
        yield warning(
            'contact_flags',
            f'{list_names(flags)}: all values are 0 or 1. These are contact flags, no forces.',
            'Set ground.contact_force: 0.5 and wrench.normal_only: true for these feet; then the '
            'flags say which feet carry. There is no CoP.',
        )
    stated = {f'feet[{foot.name}]' for foot in recording.rig.feet if foot.normal_only}
    topics = [
        use.topic
        for signal, use in recording.uses.items()
        if signal not in stated and use.forces.only_normal and not use.forces.only_contact
    ]
    if topics:
        yield warning(
            'only_normal_force',
            f'{list_names(topics)}: horizontal forces and torques are zero throughout.',
            PROPOSAL,
        )


def _rate(recording: Recording) -> Iterator[Finding]:
    """Compare the rates in the robot file with that of the first publisher of joint states."""
    stated, rate = recording.robot.rates.actuator, 1.0 / recording.groups[0].period
    if stated is not None and abs(rate / stated - 1.0) > RATE_TOLERANCE:
        yield warning(
            'actuator_rate',
            f'Joint positions come at {rate:.0f} Hz, the robot file states {stated:.0f} Hz.',
            'Correct rates.actuator, or leave it out.',
        )
    bus = recording.robot.rates.bus
    default = ' (default)' if bus == Rates().bus else ''
    if bus > (1.0 + RATE_TOLERANCE) * rate:
        yield Finding(
            'bus_rate',
            'note',
            f'rates.bus is {bus:.0f} Hz{default}, but joint positions come at {rate:.0f} Hz only, '
            'so there are no more results than these.',
        )


def _counters(recording: Recording) -> Iterator[Finding]:
    """Compare counters that date messages with the time of recording."""
    found = {use.topic: use.mapped.counts for use in recording.uses.values() if use.mapped}
    for topic, (rate, unit) in found.items():
        if abs(rate - 1.0) > RATE_TOLERANCE:
            yield warning(
                'clock_unit',
                f'{topic}: the counter that is its clock advances by {rate:.4g} s in a second of '
                'the recording, and velocities and accelerations follow from it.',
                f'Is its unit another, as clock: {unit}? Only a simulation may run so.',
            )


def _remarks(use: TopicUse, joints: TopicUse, start: int, restored: float) -> Iterator[_Remark]:
    """Remark on a topic's stamps; gaps that bursts of stamps fill are none."""
    if len(use.frame_ids) > 1:
        yield (
            'several_frames',
            f'the messages name several frames ({", ".join(sorted(use.frame_ids))}).',
            'Two publishers on one topic? The frame of the robot file is used.',
        )
    if use.alternates:
        yield TWO_SOURCES
    if use.steps_back > max(FEW, FEW_SHARE * use.count):
        yield (
            'stamps_go_back',
            f'the stamps go back by up to {use.farthest_back:.3g} s; those messages are not used.',
            'Was the clock set, or the simulation restarted?',
        )
    elif use.is_gap(use.longest_gap, restored):
        at = max((use.gap_at - start) / NANOSECONDS, 0.0)
        yield (
            'gap',
            f'no messages for {use.longest_gap:.3g} s, from {at:.2f} s on; what needs them is not '
            'known in that time.',
            'Was the clock set?' if use.longest_gap > CLOCK_WAS_SET else '',
        )
    difference = use.delay - joints.delay
    if abs(difference) > CLOCK_TOLERANCE:
        yield (
            'delay',
            f'the stamps are {abs(difference):.3g} s {"older" if difference > 0 else "newer"} on '
            f'arrival than those on {joints.topic}.',
            'Another clock, or a slow link? Synchronize the clocks (chrony, PTP; use_sim_time '
            'everywhere or nowhere).',
        )


def stuck_findings(recording: Recording, evaluator: Evaluator) -> Iterator[Finding]:
    """Find signals that were stuck, repeated messages, or bore stamps that came in bursts."""
    uses = recording.uses
    yield from _efforts(uses['joints'], evaluator.faults.get('efforts', Faults()))
    for signal, times in evaluator.stages.stuck_times.items():
        if signal in uses:
            joints = evaluator.joints.stuck_joints if signal == 'joints' else ()
            yield _stuck(recording, uses[signal], times, sorted(joints))
    found = []
    for signal, use in uses.items():
        number = evaluator.faults.get(signal, Faults())[Fault(Reason.REPEATED)]
        if number > MANY * use.count:
            rate = use.rate * (1.0 - number / use.count)
            found.append(f'{use.topic} ({number} of {use.count}, leaving {rate:.0f} Hz)')
    if found:
        yield Finding(
            Reason.REPEATED.value,
            'note',
            f'Messages that repeat the one before are left out: {list_names(found)}.',
        )
    restored: dict[str, list[str]] = {}
    for signal, clock in evaluator.stages.clocks.items():
        if signal in uses:
            sentence = (
                f'{clock.faults[Fault(Reason.STAMP_RESTORED)]} of {uses[signal].count} stamps '
                f'came in bursts, up to {1e3 * clock.latest:.1f} ms late. They were put back onto '
                'the clock of their publisher; stamps that were on time lie '
                f'{1e3 * clock.scatter:.2g} ms from it in the median, {1e3 * clock.bound:.2g} ms '
                'at most.'
            )
            restored.setdefault(sentence, []).append(uses[signal].topic)
    for sentence, topics in restored.items():
        yield Finding(
            Reason.STAMP_RESTORED.value,
            'note',
            f'{list_names(sorted(topics))}: {sentence}',
            'joints.stamps: as_is turns this off.',
        )


def _efforts(joints: TopicUse, faults: Faults) -> Iterator[Finding]:
    """Torques that decide nothing, as they cannot be true."""
    for reason, why in _NO_TORQUES.items():
        if (number := faults[Fault(reason)]) > MANY_TORQUES * joints.count:
            yield warning(
                'efforts_unused',
                f'{joints.topic}: {why} ({number} times), so the efforts do not decide there '
                'which feet carry.',
                'Valid are torques at the joints, behind the gears, in N·m, with the signs of the '
                'positions; without them the motion decides.',
            )


def _stuck(
    recording: Recording, use: TopicUse, times: list[tuple[int, int]], joints: list[str]
) -> Finding:
    """A signal, of the joints some, that was stuck at these times [ns]."""
    published = sum(len(group.columns) for group in recording.groups)
    some = f' (joints {list_names(joints)})' if 0 < len(joints) < published else ''
    what = 'it repeats one value' if not joints else 'the positions repeat themselves'
    step = 1.0 / recording.robot.rates.bus
    total = sum(end - begin for begin, end in times) / NANOSECONDS + step * len(times)
    spans = list_names(
        f'{max(begin - recording.origin, 0) / NANOSECONDS:.2f} to '
        f'{max(end - recording.origin, 0) / NANOSECONDS:.2f} s'
        for begin, end in times
    )
    return warning(
        Reason.HANGS.value,
        f'{use.topic}{some} is stuck for {total:.2f} s in all ({spans}): {what} while the '
        'robot moves. It is not used there, so neither a push nor a fall is concluded from it.',
        'Was its driver, its bus or its computer blocked?',
    )


def outages(recording: Recording, evaluator: Evaluator) -> tuple[Outage, ...]:
    """List the times in which signals were stuck or stopped, after the evaluation.

    A signal that starts after the joints, or ends before them, brings no message meanwhile, and
    joints may have values for a part of the recording only.
    """
    found = []
    last = recording.uses['joints'].newest or recording.origin
    for signal, use in recording.uses.items():
        hung = evaluator.stages.stuck_times.get(signal, [])
        found += [Outage(use.topic, begin, end, 'hangs') for begin, end in hung]
        restored = recording.restored.get(signal, 0.0)
        silent = list(use.gaps)
        if use.first is not None and use.newest is not None:
            silent += [(recording.origin, use.first), (use.newest, last)]
        for begin, end in silent:
            if begin < last and use.is_gap((end - begin) / NANOSECONDS, restored):
                found.append(Outage(use.topic, begin, end, 'stops'))
    found += recording.joint_presence.outages(recording.uses['joints'].topic)
    return tuple(sorted(found, key=lambda outage: (outage.begin, outage.topic)))


def health_findings(evaluation: Evaluation, robot: RobotFile) -> Iterator[Finding]:
    """Find signals of which much was not used; topics or joints that share a reason are joined."""
    topics: dict[tuple[Reason, str], list[str]] = {}
    interpolated: list[str] = []
    for signal in evaluation.health:
        joints: dict[Reason, list[str]] = {}
        for fault, number in signal.gated.items():
            of = len(evaluation.stamps) if fault.reason.per_instant else signal.count
            share = number / max(of, 1)
            if fault.reason in _STATED:
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
            yield warning(reason.value, text)
    for (reason, text), names in topics.items():
        why = _why_no_sample(robot) if reason is Reason.NO_SAMPLE else ''
        yield warning(reason.value, f'{list_names(names)}: {text}.', why)
    if interpolated:
        yield Finding(
            Reason.INTERPOLATED.value,
            'note',
            f'{list_names(interpolated)}: interpolated at most instants, because the stamps, less '
            'the delays that are stated or were found, are not those of the joints.',
        )


def _why_no_sample(robot: RobotFile) -> str:
    """What leaves an instant without a sample of a signal."""
    gap, half_width = 1e3 * robot.pairing.max_gap, robot.filter.half_width
    why = f'It has gaps longer than {gap:.0f} ms (pairing.max_gap; repeated messages do not count)'
    if half_width is None:
        return f'{why}, or it begins later or ends earlier than the joints.'
    return (
        f'{why}, and the matched filter widens that by {1e3 * half_width:.0f} ms on either side, '
        'as it does the beginning and the end.'
    )


def nothing_came_out(recording: Recording, evaluation: Evaluation) -> ReplayError | None:
    """The error that states why MR-AD has no IZMP at any instant; None if it has one."""
    method = 'ir_md' if recording.only_ir_md else 'mr_ad'
    track = evaluation.tracks.get(method)
    if track is None:
        return _nothing_paired(recording, evaluation)
    if np.isfinite(track.point).any():
        return None
    force = np.einsum('kj,kj->k', track.wrench[:, :3], evaluation.normal)
    if not np.isfinite(force).any():
        return _no_ground(recording, evaluation)
    if np.nanmedian(force) < 0.0:
        return ReplayError(
            f'There is no IZMP: the contact force of MR-AD points into the ground, with '
            f'{-np.nanmedian(force):.1f} N in the median. Is the IMU mounted upside down against '
            'imu.frame (imu.rotation: [3.1416, 0, 0] turns it over), does its driver publish the '
            'acceleration with the other sign, or do the z axes of the soles point down?',
            kind='force_points_down',
            force=float(np.nanmedian(force)),
        )
    names = recording.model.joint_names
    there = {column for group in recording.groups for column in group.columns}
    absent = [name for k, name in enumerate(names) if k not in there]
    another = (
        f' {len(absent)} of the {len(names)} joints are not in the recording '
        f'({list_names(absent)}): is the robot file of another robot?'
    )
    return ReplayError(
        f'There is no IZMP: the normal force of MR-AD is {np.nanmax(force):.1f} N at most and '
        f'always below ground.minimum_force ({recording.rig.minimum_force:.1f} N); set a lower '
        f'one, or check the z axes of the soles.{another if absent else ""}',
        kind='below_minimum_force',
        force=float(np.nanmax(force)),
        minimum_force=recording.rig.minimum_force,
    )


def _no_ground(recording: Recording, evaluation: Evaluation) -> ReplayError:
    """Why the ground is known at no instant."""
    counts = {
        signal.topic: sum(
            number
            for fault, number in signal.gated.items()
            if fault.reason is Reason.IMU_CONTRADICTS
        )
        for signal in evaluation.health
    }
    topics = [topic for topic, count in counts.items() if count]
    if topics:
        return ReplayError(
            f'Nothing can be evaluated: at {sum(counts.values())} instants the vertical of '
            f'{list_names(topics)} is more than {LARGEST_CORRECTION:.0f}° off that of the root '
            'by the joints, so the ground is not known there. Check the frame in which that IMU '
            'is mounted, the zeros of the encoders, and the orientation of the root; or use '
            'ground.source: sole.',
            kind=Reason.IMU_CONTRADICTS.value,
            topics=tuple(topics),
        )
    where = 'ground.topic and position' if recording.robot.ground.moves else 'the feet'
    return ReplayError(
        f'Nothing can be evaluated: the ground is known at no instant (see {where}).',
        kind='ground_unknown',
    )


def _nothing_paired(recording: Recording, evaluation: Evaluation) -> ReplayError:
    """Why MR-AD has all its signals at no instant."""
    nothing = 'Nothing can be evaluated'
    joints = recording.uses['joints']
    needed = [
        use
        for signal, use in recording.uses.items()
        if signal in ('joints', 'imu') or signal.startswith('accelerometers')
    ]
    for use in needed:
        apart = _apart(use, joints)
        if apart > 0.0:
            return ReplayError(
                f'{nothing}: the stamps on {use.topic} and {joints.topic} are {apart:.4g} s apart '
                'and do not overlap. Let all drivers stamp by one clock (use_sim_time everywhere '
                'or nowhere; chrony or PTP between computers).',
                kind='no_common_time',
                topics=(use.topic, joints.topic),
                apart=apart,
            )
        if use.alternates:
            kind, sentence, remedy = TWO_SOURCES
            return ReplayError(
                f'{nothing}: on {use.topic} {sentence} {remedy}', kind=kind, topic=use.topic
            )
    topics = {use.topic for use in needed}
    reasons = [
        (number, fault.key, f'{health.topic}: {fault.text} ({number} times)')
        for health in evaluation.health
        if health.topic in topics
        for fault, number in health.gated.items()
        if fault.reason is not Reason.INTERPOLATED
    ]
    if not reasons:
        return ReplayError(
            f'{nothing}: at no instant are all signals of MR-AD available. '
            'The recording is too short.',
            kind='too_short',
        )
    worst = sorted(reasons, reverse=True)[:3]
    return ReplayError(
        f'{nothing}: at no instant are all signals of MR-AD available. '
        f'Most frequent: {"; ".join(text for _, _, text in worst)}.',
        kind='signals_missing',
        faults=tuple(key for _, key, _ in worst),
    )


def _apart(use: TopicUse, other: TopicUse) -> float:
    """Time between the spans of two topics [s]; 0 if they overlap."""
    if use.first is None or use.newest is None or other.first is None or other.newest is None:
        return 0.0
    return max(use.first - other.newest, other.first - use.newest, 0) / NANOSECONDS
