"""Verdicts and findings on simulated twins of what happens to real robots, as a replay does."""

import re
from dataclasses import replace

import numpy as np
import pytest

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.diagnosis.signals import outages
from izmp_dynamics.model.method import Filter, Fusion
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording.replay import make_evaluator
from izmp_dynamics.verdict.recent import Recent
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_lines, summary_of

from .bag_columns import messages, stamps
from .recorded import read_bag
from .report_twins import (
    held,
    leaning,
    lost,
    noisy_encoders,
    replaced,
    together,
    turned_imu,
    twin,
    until,
)


@pytest.fixture(scope='module')
def made(sway, biped31):
    """Makes a twin of the sway, each only once."""
    known = {}

    def make(name, change=lambda signals: None, robot=biped31, half_width=None):
        if name not in known:
            known[name] = summary_of(twin(sway[1], robot, change, half_width))
        return known[name]

    return make


@pytest.fixture(scope='module')
def fallen(fall, biped31):
    return twin(fall, biped31)


@pytest.mark.parametrize('end', [1.6, 1.7])
def test_a_recording_that_ends_in_mid_fall_shows_a_fall(fall, biped31, end):
    verdict = summary_of(twin(fall, biped31, until(end))).verdict
    assert (verdict.state, verdict.reason) == ('unstable', 'falling_at_end')
    assert 'The outcome is not recorded' in verdict.sentence
    assert 'stood' not in verdict.sentence


def test_a_push_is_reported_with_its_significance(fallen, fall, biped31):
    (push,) = summary_of(fallen).pushes
    assert push.forward == pytest.approx(120.0, abs=1.0)
    assert push.significance > 100.0
    noisy = summary_of(twin(fall, biped31, noisy_encoders(step=3e-5)))
    assert noisy.pushes == ()
    assert 'push' not in keys(noisy)


def test_the_cop_beyond_the_edge_over_which_the_robot_tips_is_not_impossible(fallen):
    found = keys(summary_of(fallen))
    assert 'cop_at_edge' in found
    assert 'cop_outside' not in found


def keys(summary):
    return [finding.key for finding in summary.findings]


def test_a_sound_recording_has_no_finding(made):
    summary = made('sound')
    assert summary.verdict.state == 'stable'
    assert keys(summary) == []
    sole = summary.pair('mr_ad', 'cop').in_frame('sole')
    assert max(sole.rmse_x, sole.rmse_y) < 0.001


def test_noisy_encoders_leave_the_verdict_and_are_named(made):
    """Raw signals: the point scatters by as much as the sole and crosses the edge all the time."""
    summary = made('noisy', noisy_encoders())
    track = summary.judged
    assert track.crossings > 50
    assert track.error.scatter > 0.5 * summary.verdict.room
    assert not track.error.biased
    assert summary.verdict.state == 'stable'
    assert keys(summary) == ['noisy[mr_ad]']
    assert 'crosses the edge' in summary.remarks[0]


@pytest.mark.parametrize('half_width', [0.08, 0.02])
def test_the_verdict_does_not_flip_with_the_filter(made, half_width):
    filtered = made(f'noisy at {half_width}', noisy_encoders(), half_width=half_width)
    assert filtered.verdict.state == made('noisy', noisy_encoders()).verdict.state == 'stable'


@pytest.mark.parametrize('end', [2.0, 4.0])
def test_the_verdict_does_not_flip_with_the_length_of_the_log(made, end):
    shorter = made(f'noisy until {end}', together(noisy_encoders(), until(end)))
    assert shorter.verdict.state == made('noisy', noisy_encoders()).verdict.state == 'stable'


def test_noise_too_large_to_judge_by_says_what_would_settle_it(made):
    verdict = made('very noisy', noisy_encoders(step=1e-4)).verdict
    assert (verdict.state, verdict.reason) == ('unclear', 'noise')
    assert 'Set a filter in the robot file' in verdict.advice
    filtered = made('very noisy, filtered', noisy_encoders(step=1e-3), half_width=0.006).verdict
    assert (filtered.state, filtered.reason) == ('unclear', 'noise')
    assert 'is on already' in filtered.advice


@pytest.fixture(scope='module')
def alone(biped31):
    """The robot without further accelerometers."""
    gyro = replace(biped31.angular_acceleration, method='gyro')
    return replace(biped31, accelerometers=(), angular_acceleration=gyro)


@pytest.fixture(scope='module')
def turned(made, alone):
    """An IMU turned by 7.5° about two axes."""
    return made('turned', turned_imu([7.5, -7.5, 0.0]), alone)


def test_a_turned_accelerometer_is_a_bias_and_no_noise(turned):
    summary, error = turned, turned.judged.error
    assert error.biased
    assert error.bias == pytest.approx(0.150, abs=0.01)
    assert error.scatter < 0.005
    assert (summary.verdict.state, summary.verdict.reason) == ('unclear', 'bias')
    assert 'noisy' not in summary.verdict.sentence
    assert 'No filter removes a bias' in summary.verdict.advice
    assert keys(summary)[:1] == ['biased[mr_ad]']


def test_time_without_joints_is_no_flight(made):
    summary = made('lost', lost('joints', (1.0, 1.8), (3.0, 3.9)))
    assert summary.flight_time == 0.0
    assert summary.unknown_time == pytest.approx(1.7, abs=0.1)
    assert summary.loaded_time + summary.unknown_time == pytest.approx(summary.duration, abs=0.02)
    assert 'support_unknown' in keys(summary)
    assert 'flight' not in keys(summary)
    forces = summary_lines(summary)[2]
    assert 'without a value' in forces
    assert 'in flight' not in forces


def test_joints_that_hang_are_no_push_and_hide_no_other_hang(sway, biped31):
    """All joints repeat themselves, and in the same second the sensor of a foot does."""
    hung = ('joints', 'feet[l_foot]')
    evaluation = twin(sway[1], biped31, together(*(held(signal, 1.0, 1.5) for signal in hung)))
    inside = (evaluation.time > 1.02) & (evaluation.time < 1.48)
    assert np.isnan(evaluation.tracks['mr_ad'].point[inside]).all()
    for topic in ('/joint_states', '/l_foot/wrench'):
        (health,) = (health for health in evaluation.health if health.topic == topic)
        assert health.gated[Fault(Reason.HANGS)] == pytest.approx(62, abs=3)  # at 125 Hz
    summary = summary_of(evaluation)
    assert summary.verdict.state == 'stable'
    assert summary.pushes == ()
    assert summary.flight_time == 0.0


@pytest.mark.parametrize('signal', ['joints', 'feet[l_foot]'])
def test_a_hang_is_as_long_with_a_filter(sway, biped31, signal):
    recording, signals = read_bag(sway[1], replace(biped31, filter=Filter(half_width=0.2)))
    held(signal, 1.0, 1.2)(signals)
    evaluator = make_evaluator(recording)
    evaluator.push(signals)
    evaluator.flush()
    (found,) = outages(recording, evaluator)
    begin = recording.origin / 1e9 + 1.0
    assert (found.begin / 1e9, found.end / 1e9) == pytest.approx((begin, begin + 0.2), abs=0.02)


def test_a_foot_sensor_that_stops_leaves_no_flight_at_the_end(made):
    summary = made('no feet', lost('feet[l_foot]', (4.0, 99.0)))
    assert summary.flight_time == 0.0
    assert 'unloaded_at_end' not in keys(summary)


FEET = ('feet[l_foot]', 'feet[r_foot]')


@pytest.mark.parametrize(
    ('names', 'factor', 'key', 'says'),
    [
        (FEET, 3.0, 'mean_foot_force', 'measure 776.7 N on average, the weight is 270.7 N'),
        (FEET, 0.3, 'mean_foot_force', 'the weight is 270.7 N'),
        (('imu',), 0.1, 'forces_contradict', 'and the motion requires 27.'),
    ],
)
def test_feet_that_contradict_newton_leave_no_verdict(made, alone, names, factor, key, says):
    def scale(signals):
        for name in names:
            signals[name].values[:, -6 if name in FEET else -3 :] *= factor

    summary = made(f'forces times {factor}', scale, alone)
    assert (summary.verdict.state, summary.verdict.reason) == ('unclear', 'input_wrong')
    assert keys(summary) == [key]
    assert says in summary.verdict.sentence


def test_noise_and_bias_are_no_push(made, turned):
    for summary in (made('noisy', noisy_encoders()), turned):
        assert summary.pushes == ()
        assert 'push' not in keys(summary)


def test_normal_forces_alone_are_compared_along_the_line_of_the_feet(made, biped31):
    """The other axis of the CoP is not known: no gap, no correlation, no scatter against it."""
    feet = tuple(
        replace(foot, wrench=replace(foot.wrench, normal_only=True)) for foot in biped31.feet
    )
    summary = made('normal only', robot=replace(biped31, feet=feet))
    pair = summary.pair('mr_ad', 'cop')
    assert pair.along == 'line between the feet'
    assert pair.frames == ()
    assert pair.correlation > 0.99
    assert summary.judged.error.against == 'itself'
    assert summary.judged.load_split_correlation > 0.99
    split = summary.tracks['cop'].load_split_correlation
    assert split == pytest.approx(1.0, abs=1e-6)  # it acts at the sensors
    assert summary.verdict.state == 'stable'
    assert 'cop_outside' not in keys(summary)


def test_the_frame_of_every_correlation_is_stated(made):
    frames = made('noisy', noisy_encoders()).pair('mr_ad', 'cop').frames
    assert [axes.frame for axes in frames] == ['sole', 'root', 'nif']
    assert np.isfinite([axes.rmse_x for axes in frames]).all()


def judged_live(bag, robot, change=lambda signals: None):
    """What is found in the last seconds, as by a running robot."""
    recording, signals = read_bag(bag, robot)
    change(signals)
    evaluator, rig = make_evaluator(recording), recording.rig
    recent = Recent()
    for results in evaluator.push(signals) + evaluator.flush():
        for k in range(len(results.stamps)):
            instant = results.select(slice(k, k + 1))
            if np.isfinite(instant.wrenches['mr_ad']).all():
                recent.see(instant, rig)
    return recent.judge(recent.snapshot())


def live_keys(*given):
    return [finding.key for finding in judged_live(*given).findings]


def hanging(signals):
    """In a gantry, with soles that are tilted: by the IMU, which is not turned then."""
    turned_imu([7.5, -7.5, 0.0])(signals)
    for foot in ('l_foot', 'r_foot'):
        wrenches = signals[f'feet[{foot}]']
        signals[f'feet[{foot}]'] = replaced(wrenches, 0.0 * wrenches.values)


def other_sign(signals):
    """Of the left foot's sensor."""
    left = signals['feet[l_foot]']
    signals['feet[l_foot]'] = replaced(left, -left.values)


def exchanged(signals):
    """The sensor of each foot on the topic of the other."""
    left, right = 'feet[l_foot]', 'feet[r_foot]'
    signals[left], signals[right] = signals[right], signals[left]


def test_a_running_robot_has_the_same_keys(sway, biped31, turned, alone):
    assert 'foot_pulls' in live_keys(sway[1], biped31, other_sign)
    assert 'feet_exchanged' in live_keys(sway[1], biped31, exchanged)
    assert live_keys(sway[1], biped31) == []
    assert live_keys(sway[1], biped31, noisy_encoders()) == ['noisy[mr_ad]']
    found = set(live_keys(sway[1], alone, turned_imu([7.5, -7.5, 0.0])))
    assert 'tilted_force' in found  # as izmp check finds it
    assert found - {'tilted_force'} <= set(keys(turned))
    assert 'biased[mr_ad]' in keys(turned)
    assert 'tilted_force' not in live_keys(sway[1], alone, hanging)


@pytest.fixture(scope='module')
def pushed(biped31, tmp_path_factory):
    """biped31 sways and is pushed to the left with 18 % of its weight."""
    from izmp_lab.simulation.physics import Push
    from izmp_lab.simulation.scenarios import simulate_sway

    bag = tmp_path_factory.mktemp('pushed') / 'bag'
    push = Push('trunk', np.array([0.0, 50.0, 0.0]), start=2.6, duration=0.1)
    assert not simulate_sway(biped31, bag, pushes=[push]).fall
    return bag


def test_a_push_is_in_the_headline_and_no_background_of_its_own(pushed, biped31):
    summary = summary_of(twin(pushed, biped31))
    assert summary.verdict.state == 'disturbed'
    assert 'pushed from the right with' in summary.verdict.sentence
    (push,) = summary.pushes
    assert (push.start, push.size) == (pytest.approx(2.6, abs=0.02), pytest.approx(50, rel=0.05))
    assert summary.verdict.uncertainty < 0.002  # what the push does to the gap is no error


@pytest.mark.parametrize('end', [1.3, 1.45])
def test_the_end_of_a_recording_that_is_about_to_show_a_fall_is_open(fall, biped31, end):
    verdict = summary_of(twin(fall, biped31, until(end))).verdict
    assert (verdict.state, verdict.reason) == ('unclear', 'open_end')
    assert verdict.text.startswith('Cannot say how it ends: when the recording ends at')


def test_a_height_along_another_vertical_is_none(fall, biped31):
    evaluation = twin(fall, biped31, until(1.7))
    up = np.array(evaluation.up)
    up[-1] = np.nan
    verdict = summary_of(replace(evaluation, up=up)).verdict
    assert (verdict.state, verdict.reason) == ('unstable', 'falling_at_end')
    assert not np.isfinite(Scene(replace(evaluation, up=up)).height[-1])


def test_the_speed_of_a_fall_is_that_of_the_centre_of_mass_and_not_of_feet_that_fly_up(
    fallen, fall
):
    evaluation = fallen
    up = np.maximum(evaluation.time - 1.55, 0.0)[:, None] * evaluation.up
    feet = [
        replace(
            foot,
            sole=foot.sole + 1.5 * up[:, None],
            loaded=foot.loaded & (evaluation.time < 1.55),
            normal_force=np.where(evaluation.time < 1.55, foot.normal_force, 0.0),
        )
        for foot in evaluation.feet
    ]
    summary = summary_of(replace(evaluation, feet=tuple(feet)))
    (size,) = (event.size for event in summary.events if event.kind == 'fall')
    truth = messages(fall, '/ground_truth/com_in_world')
    at, z = stamps(truth) * 1e-9, [message.point.z for message in truth]
    speed = np.interp(evaluation.stamps[-1] * 1e-9, at, -np.gradient(z, at - at[0]))
    assert size == pytest.approx(speed, abs=0.03)


def test_without_an_orientation_the_alarm_is_hardly_later(biped31, tmp_path):
    """The sole tips with the robot, slowly after this push: its normal is no vertical."""
    from izmp_lab.simulation.physics import Push
    from izmp_lab.simulation.scenarios import simulate_sway

    push = Push('trunk', np.array([55.0, 0.0, 0.0]), start=2.0, duration=0.2)
    assert simulate_sway(biped31, tmp_path / 'bag', pushes=[push]).fall
    known, guessed = (
        twin(tmp_path / 'bag', biped31, change)
        for change in (lambda signals: None, lambda signals: signals.pop('orientation'))
    )
    assert known.fall_alarm.any()
    assert guessed.fall_alarm.any()
    first, later = (each.time[np.argmax(each.fall_alarm)] for each in (known, guessed))
    assert later == pytest.approx(first, abs=0.15)


@pytest.mark.parametrize('orientation', [True, False])
def test_a_tip_that_is_held_is_no_less_probable_a_fall(sway, alone, orientation):
    """Beyond its toes at 14° it falls as soon as it is let go; at 5.5° it is over its soles."""

    def risk(degrees):
        change = leaning(degrees, orientation=orientation)
        evaluation = twin(sway[1], alone, together(change, until(4.5)))
        held = evaluation.time > 2.5
        return evaluation.fall_probability[held], evaluation.fall_alarm[held]

    probability, raised = risk(14.0)
    assert probability.min() > 0.9
    assert raised.any()
    probability, raised = risk(5.5)
    assert probability.max() < 0.02
    assert not raised.any()


def test_a_running_robot_states_the_same_place_on_a_link(pushed, biped31):
    """It was pushed at the centre of mass of the trunk."""
    robot = replace(biped31, fusion=Fusion('trunk'))
    (push,) = summary_of(twin(pushed, robot)).pushes
    events = judged_live(pushed, robot).events
    (sentence,) = (event.sentence for event in events if event.kind == 'push')
    places = [
        [float(number.replace('−', '-')) for number in re.findall(r'[xyz] (−?\d+)', text)]
        for text in (push.place, sentence)
    ]
    np.testing.assert_allclose(places[0], places[1], atol=3.0)
    center = load_model(robot.read_urdf()).center_of_link('trunk')
    np.testing.assert_allclose(places[0], 1e3 * center, atol=5.0)
