"""A delay of the force sensors, known from the forces alone and taken into account by a replay."""

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

from .bag_surgery import JOINTS, LEFT, RIGHT, SECOND, TOPICS, Draft

SETTING = 'feet[l_foot].wrench.delay'


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
    """What is adopted, and the delay that the recording has then."""
    with BagReader(draft.write(folder / 'bag')) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        found = adopt_delay(recording, Trial.of(recording))
        assert {foot.wrench.delay for foot in recording.robot.feet} == {
            None if found is None else found.delay
        }
        return found


def test_a_replay_takes_the_delay_of_force_sensors_into_account(moving, biped31, tmp_path):
    bag = delayed(moving, (LEFT, RIGHT), 0.040).write(tmp_path / 'late')
    evaluation = evaluate_bag(bag, biped31)
    value, unit = evaluation.parameters[SETTING].split()
    assert (float(value), unit) == (pytest.approx(0.040, abs=0.003), 's')
    (said,) = (note for note in evaluation.notes if 'force sensors' in note)
    assert 'ms late, which is corrected' in said
    stated = dataclasses.replace(biped31.imu, delay=0.0)  # a delay that is stated turns it off
    left = evaluate_bag(bag, dataclasses.replace(biped31, imu=stated))
    assert gap(evaluation) < 0.25 * gap(left)


def test_a_clock_that_is_set_back_leaves_the_delay_to_what_came_before(moving, biped31, tmp_path):
    late = delayed(moving, (LEFT, RIGHT), 0.040)
    for topic in TOPICS:
        late[topic]['header.stamp'][late[topic].stamps > late[JOINTS].stamps[-400]] -= 2 * SECOND
    filtered = dataclasses.replace(biped31, filter=Filter(half_width=0.02))
    assert adopted(late, filtered, tmp_path).delay == pytest.approx(0.040, abs=0.004)


def test_what_is_late_must_be_the_force_sensors_and_surely_so(moving, biped31, tmp_path):
    """Nothing is adopted without a delay, or where all others are late."""
    assert adopted(moving, biped31, tmp_path / 'sound') is None
    others = [topic for topic in TOPICS if topic not in (LEFT, RIGHT)]
    assert adopted(delayed(moving, others, 0.040), biped31, tmp_path / 'others') is None
    late = adopted(delayed(moving, (LEFT, RIGHT), 0.040), biped31, tmp_path / 'late')
    assert late.after < 0.5 * late.before
