"""Force sensors that are late, by a delay or a low-pass: what a replay does about it."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.diagnosis.filter_choice import Trial
from izmp_dynamics.diagnosis.late_forces import adopt_delay
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stream import SampleStream

from .bag_surgery import JOINTS, LEFT, RIGHT, SECOND, TOPICS, Draft


@pytest.fixture(scope='module')
def moving(sway):
    """Three seconds of the sway, a draft."""
    return Draft.of_bag(sway[1], TOPICS, start=1.0, stop=4.0)


def gap(evaluation):
    """Median distance of IZMP and CoP [m]."""
    izmp, cop = (evaluation.tracks[name].point for name in ('mr_ad', 'cop'))
    return np.nanmedian(np.linalg.norm(izmp - cop, axis=1))


def delayed(draft, topics, seconds):
    late = draft.copy()
    for topic in topics:
        late[topic]['header.stamp'] = late[topic].stamps + round(seconds * SECOND)
    return late


def adopted(draft, robot, folder):
    """What is adopted, and stated of the sensors of the recording then."""
    with BagReader(draft.write(folder / 'bag')) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        found = adopt_delay(Trial(recording))
        stated = {} if found is None else {found.setting: found.value}
        assert recording.robot == robot.with_wrenches(**stated)
        return found


@pytest.mark.parametrize(
    ('setting', 'how'), [('delay', delayed), ('time_constant', Draft.low_passed)]
)
def test_a_replay_takes_what_makes_forces_late_into_account(
    moving, biped31, tmp_path, setting, how
):
    bag = how(moving, (LEFT, RIGHT), 0.040).write(tmp_path / 'late')
    evaluation = evaluate_bag(bag, biped31)
    value, unit = evaluation.parameters[f'feet[l_foot].wrench.{setting}'].split()
    assert (float(value), unit) == (pytest.approx(0.040, abs=0.003), 's')
    (said,) = (note for note in evaluation.notes if 'force sensors' in note)
    assert f'state {setting}: 0.0' in said
    stated = {  # either turns it off
        'delay': dataclasses.replace(biped31, imu=dataclasses.replace(biped31.imu, delay=0.0)),
        'time_constant': biped31.with_wrenches(time_constant=0.0),
    }
    assert gap(evaluation) < 0.25 * gap(evaluate_bag(bag, stated[setting]))


@pytest.mark.parametrize('at_once', [1, 7, 300])
def test_a_low_pass_that_is_stated_is_undone(at_once):
    """Of motion of 1 Hz to 2 %; not at both ends and beside gaps, where it is not known."""
    constant, time = 0.05, 0.01 * np.arange(300)
    phase = np.arctan(2.0 * np.pi * constant)
    late = np.cos(phase) * np.sin(2.0 * np.pi * time - phase)
    stamps = np.delete(SECOND + 10**7 * np.arange(300), np.arange(100, 120))
    values = np.tile(np.delete(late, np.arange(100, 120))[:, None], 6)
    correction = Correction(time_constant=round(constant * SECOND))
    stream = SampleStream('foot', 6, max_gap=0.05, period=0.01, correction=correction)
    for k in range(0, len(stamps), at_once):
        rows = slice(k, k + at_once)
        stream.push(Samples(stamps[rows], values[rows]))
    stream.flush()
    used = stream.stored()
    assert set(stamps) - set(used.stamps) == set(stamps[[0, 99, 100, -1]])
    true = np.sin(2.0 * np.pi * (used.stamps - SECOND) / SECOND)
    np.testing.assert_allclose(used.values, np.tile(true[:, None], 6), atol=0.02)


def test_a_clock_that_is_set_back_leaves_the_delay_to_what_came_before(moving, biped31, tmp_path):
    late = delayed(moving, (LEFT, RIGHT), 0.040)
    for topic in TOPICS:
        late[topic]['header.stamp'][late[topic].stamps > late[JOINTS].stamps[-400]] -= 2 * SECOND
    filtered = dataclasses.replace(biped31, filter=Filter(half_width=0.02))
    assert adopted(late, filtered, tmp_path).value == pytest.approx(0.040, abs=0.004)


def test_what_is_late_must_be_the_force_sensors_and_surely_so(moving, biped31, tmp_path):
    """Nothing is adopted without a delay, or where all others are late."""
    assert adopted(moving, biped31, tmp_path / 'sound') is None
    others = [topic for topic in TOPICS if topic not in (LEFT, RIGHT)]
    assert adopted(delayed(moving, others, 0.040), biped31, tmp_path / 'others') is None
    late = adopted(delayed(moving, (LEFT, RIGHT), 0.040), biped31, tmp_path / 'late')
    assert late.after < 0.5 * late.before
