"""What happened to signals for a part of a recording: they hung, repeated, or came in bursts."""

from collections.abc import Iterator, Mapping, Sequence

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.signals.publisher_clock import PublisherClock

STATED = (Reason.HANGS, Reason.REPEATED, Reason.STAMP_RESTORED)
"""Reasons that have their own sentences here."""

MANY = 0.01
"""Share of messages that may be repeats without a remark [-]."""


def stretch_findings(recording: Recording, evaluator: Evaluator) -> Iterator[Finding]:
    """Find out in which times signals could not be used, after the evaluation."""
    for signal, spans in evaluator.hung.items():
        if signal in recording.uses:
            joints = evaluator.joints.hung_joints if signal == 'joints' else ()
            yield _hung(recording, signal, spans, sorted(joints))
    yield from _repeated(recording, evaluator.faults)
    restored: dict[str, list[str]] = {}
    for signal, clock in evaluator.clocks.items():
        if signal in recording.uses:
            use = recording.uses[signal]
            restored.setdefault(_restored(use.count, clock), []).append(use.topic)
    for sentence, topics in restored.items():
        message = f'{list_names(sorted(topics))}: {sentence}'
        kind = Reason.STAMP_RESTORED.value
        yield Finding('note', kind, message, 'joints.stamps: as_is turns this off.')


def outages(recording: Recording, evaluator: Evaluator) -> tuple[Outage, ...]:
    """List the times in which signals hung or stopped, after the evaluation.

    A signal that starts after the joints, or ends before them, brings no message meanwhile, and
    joints may have values for a part of the recording only.
    """
    found = []
    last = recording.uses['joints'].newest or recording.origin
    for signal, use in recording.uses.items():
        hung = evaluator.hung.get(signal, [])
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


def _hung(
    recording: Recording, signal: str, spans: list[tuple[int, int]], joints: Sequence[str]
) -> Finding:
    use = recording.uses[signal]
    published = sum(len(group.columns) for group in recording.groups)
    some = f' (joints {list_names(joints)})' if 0 < len(joints) < published else ''
    what = 'it repeats one value' if not joints else 'the positions repeat themselves'
    step = 1.0 / recording.robot.rates.bus
    total = sum(end - begin for begin, end in spans) / NANOSECONDS + step * len(spans)
    times = list_names(
        f'{max(begin - recording.origin, 0) / NANOSECONDS:.2f} to '
        f'{max(end - recording.origin, 0) / NANOSECONDS:.2f} s'
        for begin, end in spans
    )
    return Finding(
        'warning',
        Reason.HANGS.value,
        f'{use.topic}{some} hangs for {total:.2f} s in all ({times}): {what} while the '
        'robot moves. It is not used there, so neither a push nor a fall is concluded from it.',
        'Is its driver, its bus or its computer held up?',
    )


def _repeated(recording: Recording, faults: Mapping[str, Faults]) -> Iterator[Finding]:
    """Topics of which many messages repeat the one before."""
    found = []
    for signal, use in recording.uses.items():
        number = faults.get(signal, Faults())[Fault(Reason.REPEATED)]
        if number > MANY * use.count:
            rate = use.rate * (1.0 - number / use.count)
            found.append(f'{use.topic} ({number} of {use.count}, leaving {rate:.0f} Hz)')
    if found:
        yield Finding(
            'note',
            Reason.REPEATED.value,
            f'Messages that repeat the one before are left out: {list_names(found)}.',
        )


def _restored(count: int, clock: PublisherClock) -> str:
    """What was done about the stamps of `count` messages."""
    number = clock.faults[Fault(Reason.STAMP_RESTORED)]
    return (
        f'{number} of {count} stamps came in bursts, up to {1e3 * clock.latest:.1f} ms late. They '
        'were put back onto the clock of their publisher; stamps that were on time lie '
        f'{1e3 * clock.scatter:.2g} ms from it in the median, {1e3 * clock.bound:.2g} ms at most.'
    )
