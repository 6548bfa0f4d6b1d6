"""Anomalies in the signals of a whole recording, and why it gives no IZMP."""

from collections.abc import Iterator

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.model.robot_file import Rates
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.topic_use import TopicUse
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.sensing.wrench_check import PROPOSAL
from izmp_dynamics.stability.foot_imu_plane import LARGEST_CORRECTION

CLOCK_TOLERANCE = 0.1
"""Difference between the delays of two topics that is remarked on [s]."""

CLOCK_WAS_SET = 60.0
"""A gap that rather means that the clock was set [s]."""

FEW, FEW_SHARE = 10, 0.01
"""So many messages, or this share, may bear stamps that go back without a remark."""

TWO_SOURCES = (
    'two_publishers',
    'the messages seem to come from two sources in turn.',
    'Two publishers on one topic? Stop one, or give it a topic of its own.',
)

RATE_TOLERANCE = 0.1
"""Deviation from the stated rate that is remarked on [-]."""


def signal_findings(recording: Recording) -> Iterator[Finding]:
    """Find anomalies in a recording that has been read to its end."""
    yield from recording.findings
    yield from recording.joint_watch.findings()
    topic = recording.uses['joints'].topic
    yield from recording.joint_presence.findings(topic, recording.origin)
    yield from _normal_forces(recording)
    yield from _rate(recording)
    joints = recording.uses['joints']
    some_change = any(use.changes for use in recording.uses.values())
    topics: dict[tuple[str, str, str], list[str]] = {}
    for use in recording.uses.values():
        restored = recording.restored.get(use.signal, 0.0)
        for remark in _remarks(use, joints, recording.origin, restored):
            topics.setdefault(remark, []).append(use.topic)
        if some_change and not use.changes:
            remark = 'constant', 'the values never change.', 'Is the sensor or its driver dead?'
            topics.setdefault(remark, []).append(use.topic)
    for (kind, message, remedy), names in topics.items():
        yield Finding('warning', kind, f'{list_names(names)}: {message}', remedy)


def _normal_forces(recording: Recording) -> Iterator[Finding]:
    """Propose normal_only for force sensors that measure nothing else; find contact flags."""
    flags = [use.topic for use in recording.uses.values() if use.forces.only_contact]
    if flags and not recording.rig.contact_force <= 1.0:
        yield Finding(
            'warning',
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
        yield Finding(
            'warning',
            'only_normal_force',
            f'{list_names(topics)}: horizontal forces and torques are zero throughout.',
            PROPOSAL,
        )


def _remarks(
    use: TopicUse, joints: TopicUse, start: int, restored: float
) -> Iterator[tuple[str, str, str]]:
    """Anomalies of a topic: kind, message, remedy; gaps that bursts of stamps fill are none."""
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
            f'no messages for {use.longest_gap:.3g} s, from {at:.2f} s on; there are no results '
            'in that time.',
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
        contradicting = contradicting_imus(evaluation)
        if contradicting:
            return ReplayError(
                f'Nothing can be evaluated: {contradiction_in_words(contradicting)}',
                kind=Reason.IMU_CONTRADICTS.value,
                topics=tuple(contradicting),
            )
        where = 'ground.topic and position' if recording.robot.ground.moves else 'the feet'
        return ReplayError(
            f'Nothing can be evaluated: the ground is known at no instant (see {where}).',
            kind='ground_unknown',
        )
    if np.nanmedian(force) < 0.0:
        return ReplayError(
            f'There is no IZMP: the contact force of MR-AD points into the ground, with '
            f'{-np.nanmedian(force):.1f} N in the median. Is the IMU mounted upside down against '
            'imu.frame (imu.rotation: [3.1416, 0, 0] turns it over), does its driver publish the '
            'acceleration with the other sign, or do the z axes of the soles point down?',
            kind='force_points_down',
            force=float(np.nanmedian(force)),
        )
    return ReplayError(
        f'There is no IZMP: the normal force of MR-AD is {np.nanmax(force):.1f} N at most and '
        f'always below ground.minimum_force ({recording.rig.minimum_force:.1f} N); set a lower '
        f'one, or check the z axes of the soles.{_perhaps_another_robot(recording)}',
        kind='below_minimum_force',
        force=float(np.nanmax(force)),
        minimum_force=recording.rig.minimum_force,
    )


def contradicting_imus(evaluation: Evaluation) -> dict[str, int]:
    """Topics of the feet's IMUs that contradict the joints, and at how many instants."""
    counts = {
        signal.topic: sum(
            number
            for fault, number in signal.gated.items()
            if fault.reason is Reason.IMU_CONTRADICTS
        )
        for signal in evaluation.health
    }
    return {topic: count for topic, count in counts.items() if count}


def contradiction_in_words(counts: dict[str, int]) -> str:
    """What IMUs that contradict the joints mean, and what to check."""
    instants = sum(counts.values())
    return (
        f'at {instants} instants the vertical of {list_names(counts)} is more than '
        f'{LARGEST_CORRECTION:.0f}° off that of the root by the joints, so the ground is not '
        'known there. Check the frame in which that IMU is mounted, the zeros of the encoders, '
        'and the orientation of the root; or use ground.source: sole.'
    )


def _nothing_paired(recording: Recording, evaluation: Evaluation) -> ReplayError:
    """Why MR-AD has all its signals at no instant."""
    nothing = 'Nothing can be evaluated'
    joints = recording.uses['joints']
    needed = {
        signal: use
        for signal, use in recording.uses.items()
        if signal in ('joints', 'imu') or signal.startswith('accelerometers')
    }
    for use in needed.values():
        apart = _apart(use, joints)
        if apart > 0.0:
            return ReplayError(
                f'{nothing}: the stamps on {use.topic} and {joints.topic} are {apart:.4g} s apart '
                'and share no time. Let all drivers stamp by one clock (use_sim_time everywhere '
                'or nowhere; chrony or PTP between computers).',
                kind='no_common_time',
                topics=(use.topic, joints.topic),
                apart=apart,
            )
        if use.alternates:
            kind, message, remedy = TWO_SOURCES
            return ReplayError(
                f'{nothing}: on {use.topic} {message} {remedy}', kind=kind, topic=use.topic
            )
    topics = {use.topic for use in needed.values()}
    reasons = [
        (number, fault.key, f'{health.topic}: {fault.text} ({number} times)')
        for health in evaluation.health
        if health.topic in topics
        for fault, number in health.gated.items()
        if fault.reason is not Reason.INTERPOLATED
    ]
    if not reasons:
        return ReplayError(
            f'{nothing}: at no instant are all signals of MR-AD there. '
            'The recording is too short.',
            kind='too_short',
        )
    worst = sorted(reasons, reverse=True)[:3]
    return ReplayError(
        f'{nothing}: at no instant are all signals of MR-AD there. '
        f'Most frequent: {"; ".join(text for _, _, text in worst)}.',
        kind='signals_missing',
        faults=tuple(key for _, key, _ in worst),
    )


def _rate(recording: Recording) -> Iterator[Finding]:
    """Compare the rates in the robot file with that of the first publisher of joint states."""
    stated, rate = recording.robot.rates.actuator, 1.0 / recording.groups[0].period
    if stated is not None and abs(rate / stated - 1.0) > RATE_TOLERANCE:
        yield Finding(
            'warning',
            'actuator_rate',
            f'Joint positions come at {rate:.0f} Hz, the robot file states {stated:.0f} Hz.',
            'Correct rates.actuator, or leave it out.',
        )
    bus = recording.robot.rates.bus
    default = ' (default)' if bus == Rates().bus else ''
    if bus > (1.0 + RATE_TOLERANCE) * rate:
        yield Finding(
            'note',
            'bus_rate',
            f'rates.bus is {bus:.0f} Hz{default}, but joint positions come at {rate:.0f} Hz only, '
            'so there are no more results than these.',
        )


def _apart(use: TopicUse, other: TopicUse) -> float:
    """Time between the spans of two topics [s]; 0 if they overlap."""
    if use.first is None or use.newest is None or other.first is None or other.newest is None:
        return 0.0
    return max(use.first - other.newest, other.first - use.newest, 0) / NANOSECONDS


def _perhaps_another_robot(recording: Recording) -> str:
    """A sentence to add if the recording lacks joints of the robot; else empty."""
    names = recording.model.joint_names
    there = {column for group in recording.groups for column in group.columns}
    absent = [name for k, name in enumerate(names) if k not in there]
    if not absent:
        return ''
    return (
        f' {len(absent)} of the {len(names)} joints are not in the recording '
        f'({list_names(absent)}): is the robot file of another robot?'
    )
