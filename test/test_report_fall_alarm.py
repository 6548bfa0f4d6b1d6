"""The fall alarm in report, events and limits."""

from dataclasses import replace

import numpy as np
import pytest

from izmp_dynamics.fleet.row import of_report
from izmp_dynamics.report.page import render
from izmp_dynamics.verdict.events.event import ERROR, event_message
from izmp_dynamics.verdict.expect import Limits, ValueLimit, check_limits
from izmp_dynamics.verdict.summary import summary_lines, summary_of

from .report_scenarios import falling, standing, walking, with_feet


def alarmed(evaluation, *spans, known=np.inf):
    """An evaluation with alarms, and a probability that is not known from some time on."""
    time = evaluation.time
    raised = np.zeros(len(time), dtype=bool)
    for begin, end in spans:
        raised |= (time >= begin) & (time < end)
    probability = np.where(raised, 0.95, 0.004)
    probability[time >= known] = np.nan
    return summary_of(replace(evaluation, fall_probability=probability, fall_alarm=raised))


@pytest.fixture(scope='module')
def fallen():
    """It sinks from 6.06 s on, until 6.5 s; the first of two alarms is over long before."""
    return alarmed(falling(), (2.0, 2.6), (5.7, 6.8), known=6.3)


def test_a_recording_without_an_alarm_states_the_largest_probability():
    summary = alarmed(standing(duration=4.0))
    assert summary.fall_alarm.count == 0
    assert np.isnan([summary.fall_alarm.first, summary.fall_alarm.lead]).all()
    assert summary_lines(summary)[-1] == (
        'No fall alarm. Highest probability of a fall within 1 s: 0.4 %, at 0.00 s.'
    )
    limits = Limits(values=(ValueLimit('fall_alarm.count', most=0),))
    assert check_limits(summary, limits)[0].met


def test_a_fall_that_was_likely_and_did_not_come_is_said_beside_stable():
    calm, likely = alarmed(standing(duration=4.0)), alarmed(standing(duration=4.0), (1.0, 1.5))
    assert calm.verdict.state == likely.verdict.state == 'stable'
    assert 'likelier than not' not in calm.verdict.sentence
    assert 'likelier than not (probability 95.0 %): the capture point' in likely.verdict.sentence


@pytest.mark.parametrize(('part', 'said'), [(0.0, False), (0.25, True)])
def test_a_recording_without_an_orientation_says_so_beside_the_probability(part, said):
    evaluation = standing(duration=4.0)
    risk, none = np.full(len(evaluation.time), 0.99), np.zeros(len(evaluation.time), dtype=bool)
    assumed = evaluation.time < 4.0 * part
    seen = replace(evaluation, fall_probability=risk, fall_alarm=none, fall_assumed=assumed)
    summary = summary_of(seen)
    text = summary_lines(summary)[-1]
    assert ('No orientation of the root is known for 1.00 s of it' in text) == said
    assert text == summary.as_dict()['fall_alarm']['sentence']
    to_the_end = replace(seen, fall_alarm=~none, fall_assumed=np.full(len(risk), said))
    open_end = summary_of(to_the_end)
    alarm = next(event for event in open_end.events if event.kind == 'fall alarm')
    for sentence in (open_end.verdict.text, alarm.sentence):
        assert ('probability 99.0 %, without a measured orientation' in sentence) == said


@pytest.mark.parametrize(('begin', 'said'), [(0.3, True), (6.0, False)])
def test_the_first_two_steps_of_a_walk_are_said_to_be_judged_too_badly(begin, said):
    alarm = alarmed(walking(duration=8.0), (begin, begin + 0.2)).fall_alarm
    assert alarm.probability == 0.95
    assert ('Fewer than two steps had been seen by then' in alarm.sentence) == said


def test_of_what_moves_as_the_recording_begins_the_first_steps_are_no_fall():
    """As of a human who runs; of one for 0.4 s, on one foot, nothing is known at all."""
    one = with_feet(
        standing(duration=0.4), loaded=lambda foot: foot.loaded & (foot.name == 'left_foot')
    )
    brief = alarmed(one, (0.0, 0.5))
    assert (brief.fall_alarm.count, brief.verdict.reason) == (None, 'too_short')
    assert brief.fall_alarm.sentence == 'Fall alarm: cannot say, the recording is too short.'
    assert 'fall alarm' not in [event.kind for event in brief.events]
    assert alarmed(standing(duration=0.4)).fall_alarm.sentence == brief.fall_alarm.sentence
    assert alarmed(standing(duration=0.4), (0.2, 0.3)).fall_alarm.count == 1
    longer = alarmed(walking(duration=8.0), (0.0, 1.4))
    assert (longer.fall_alarm.count, longer.fall_alarm.probability) == (0, 0.004)
    falls = alarmed(falling(start=1.0), (0.0, 2.0)).fall_alarm
    assert falls.count == 1
    dips = alarmed(falling(start=1.0), (0.0, 0.3), (0.31, 2.0)).fall_alarm
    assert dips.count >= 1
    dips = alarmed(standing(duration=4.0), (0.0, 0.3), (0.31, 4.1))
    assert dips.verdict.reason == 'open_end'
    window = replace(walking(duration=8.0), begins=False)  # of a robot that has run for longer
    assert alarmed(window, (0.0, 1.4)).fall_alarm.count == 1
    lasts = alarmed(standing(duration=4.0), (0.0, 4.1))
    assert lasts.verdict.reason == 'open_end'
    rocking = alarmed(standing(duration=4.0), (1.0, 1.3)).fall_alarm
    assert 'no further one is expected' not in rocking.sentence


def test_the_lead_is_that_of_the_alarm_during_the_fall(fallen):
    alarm = fallen.fall_alarm
    assert (alarm.count, alarm.probability) == (2, 0.95)
    assert alarm.first == pytest.approx(2.0, abs=0.01)
    assert alarm.raised_time == pytest.approx(1.7, abs=0.02)
    assert alarm.lead == pytest.approx(0.8, abs=0.04)
    assert alarm.sentence.startswith('Fall alarm at 2.00 s, 5.70 s (0.')
    assert 's before the impact). Highest probability' in alarm.sentence.replace('\u2009', ' ')
    assert 'It is known for 6.30' in alarm.sentence
    limits = Limits(values=(ValueLimit('fall_alarm.lead', least=0.2, most=1.0),))
    assert check_limits(fallen, limits)[0].met


def test_a_fall_without_an_alarm_is_said():
    alarm = alarmed(falling(), (2.0, 2.6)).fall_alarm
    assert alarm.lead == 0.0
    assert alarm.sentence.startswith('Fall alarm at 2.00 s, but not when the robot fell. H')
    assert alarmed(falling()).fall_alarm.sentence.startswith('No fall alarm, although the robot')


def test_page_and_events_have_it(fallen):
    first, second = (event for event in fallen.events if event.kind == 'fall alarm')
    assert (first.begin, first.size) == pytest.approx((2.0, 0.95), abs=0.01)
    assert second.end == pytest.approx(6.8, abs=0.02)
    assert event_message(first, 0).level == ERROR
    assert 'Fall alarm at' in render(fallen.as_dict())


def test_the_row_of_a_fleet_counts_alarms_and_falls(fallen):
    row = of_report(fallen.as_dict())
    assert (row['falls'], row['fall_alarms']) == (1, 2)
    assert of_report(summary_of(standing(duration=4.0)).as_dict())['fall_alarms'] is None


def test_where_it_is_not_evaluated_nothing_is_said():
    summary = summary_of(standing(duration=4.0))
    assert summary.fall_alarm is None
    assert summary.as_dict()['fall_alarm'] is None
    assert not any('all alarm' in line for line in summary_lines(summary))
