"""Times in which signals were not there."""

from types import SimpleNamespace

from izmp_dynamics.diagnosis.signals import outages
from izmp_dynamics.recording.joint_watch import JointPresence
from izmp_dynamics.recording.topic_use import TopicUse

SECOND = 10**9


def use(signal, first, last):
    """A topic of 100 Hz with messages from `first` to `last` [s]."""
    known = {'steps': [0.01], 'first': round(first * SECOND), 'newest': round(last * SECOND)}
    return TopicUse(signal, f'/{signal}', '', **known)


def test_a_signal_that_starts_late_or_ends_early_is_not_there_meanwhile():
    signals = [
        use('joints', 1.0, 61.0),
        use('imu', 0.5, 62.0),
        use('dies', 1.0, 21.0),
        use('late', 4.0, 60.95),
        TopicUse('never', '/never', ''),
    ]
    recording = SimpleNamespace(
        uses={signal.signal: signal for signal in signals},
        origin=SECOND,
        restored={},
        joint_presence=JointPresence((), ()),
    )
    found = outages(recording, SimpleNamespace(stages=SimpleNamespace(stuck_times={})))
    assert [(o.topic, o.begin, o.end, o.reason) for o in found] == [
        ('/late', 1 * SECOND, 4 * SECOND, 'stops'),
        ('/dies', 21 * SECOND, 61 * SECOND, 'stops'),
    ]
