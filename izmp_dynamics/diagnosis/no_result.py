"""Why a recording gives no IZMP."""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.diagnosis.signals import TWO_SOURCES
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.topic_use import TopicUse
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.stability.foot_imu_plane import LARGEST_CORRECTION


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
