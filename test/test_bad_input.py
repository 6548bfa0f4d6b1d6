"""Bad input: every fault ends in a sentence, or is counted; none in a traceback, NaN or rubbish.

Each function below spoils a sound recording (`draft`) or its robot file (`robot`); the decorator
above it says what must come of it. All of them go through the command line, `izmp check` and then
`izmp replay`, which must agree on whether there is a result.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import GRAVITY

from .bag_surgery import (
    ARRAY,
    GPS,
    IMU,
    JOINTS,
    LEFT,
    RIGHT,
    SECOND,
    TOPICS,
    in_frame,
    renamed,
    with_joints,
    without,
)
from .command_line import (
    Desk,
    assert_nothing_else,
    assert_refused,
    assert_whole,
    izmp,
    with_site_code,
)
from .conftest import REPOSITORY
from .sample_bags import storage_file

KNEE = 3  # index of l_knee
BIPED31 = REPOSITORY / 'robots' / 'biped31' / 'biped31.urdf'
YEAR = 365 * 86400 * SECOND

REFUSED, COUNTED, NOTED = [], [], []


def refused(sentence):
    """The fault prevents an evaluation; the sentence (a pattern) says what, where, what helps."""

    def register(damage):
        REFUSED.append(pytest.param(damage, sentence, id=damage.__name__))
        return damage

    return register


def counted(topic, reason, number=None, *, span=None):
    """The fault is gated and counted; outside of `span` [s] the results are the sound ones."""

    def register(damage):
        expected = (topic, reason, number, span)
        COUNTED.append(pytest.param(damage, *expected, id=damage.__name__))
        return damage

    return register


def noted(sentence, found=None):
    """The results are there, and terminal and report say what is odd or missing.

    What only the evaluated numbers tell is `found` by `izmp check`.
    """

    def register(damage):
        NOTED.append(pytest.param(damage, sentence, found, id=damage.__name__))
        return damage

    return register


def text_of(report):
    """What a report says in sentences about its input."""
    return '\n'.join(report['notes'] + report['missing'] + report['remarks'])


# ---- Topics -------------------------------------------------------------------------------------


@refused(r"joints: topic 'joint_states' is not in the bag\. No other topic .* must be recorded")
def no_joint_states(draft, robot):
    draft.drop(JOINTS)


@refused(r"imu: topic 'imu' is not in the bag\. If .* make it imu\.topic in the robot.*/imu/raw")
def another_name_for_the_imu(draft, robot):
    draft[IMU].topic = '/imu/raw'


@refused(r"feet\[l_foot\]: topic '/l_foot/wrench' has the type .*PointStamped; valid: .*Wrench")
def a_topic_of_another_type(draft, robot):
    point = draft[GPS].rows(slice(None))
    point.topic = LEFT
    draft.replace(LEFT, point)


@refused(r"'joint_states' may be any of /a/joint_states, /b/joint_states\. State the one")
def two_robots_in_one_bag(draft, robot):
    for part in list(draft.parts):
        twin = part.rows(slice(None))
        part.topic, twin.topic = f'/a{part.topic}', f'/b{part.topic}'
        draft.parts.append(twin)


@refused(r"The bag '.*' holds no messages\.")
def an_empty_bag(draft, robot):
    draft.parts = []


@refused(r"The bag '.*' holds no messages\.")
def topics_without_messages(draft, robot):
    for topic in TOPICS:
        draft.keep(topic, slice(0, 0))


@refused(r"joints: topic '/joint_states' holds no messages\. .* must be recorded")
def no_message_of_the_joints(draft, robot):
    draft.keep(JOINTS, slice(0, 0))


@refused(r"joints: topic '/joint_states' holds 1 message, but at least two")
def one_message_per_topic(draft, robot):
    for topic in TOPICS:
        draft.keep(topic, slice(0, 1))


@refused(r'at no instant are all signals of MR-AD there\. The recording is too short')
def two_messages_per_topic(draft, robot):
    for topic in TOPICS:
        draft.keep(topic, slice(0, 2))


@refused(r'accelerometers\[0\]: topic .* is not in the bag; record it, take it out .* to gyro')
def an_array_that_is_asked_for_and_not_recorded(draft, robot):
    robot['angular_acceleration'] = {'method': 'accelerometers'}
    draft.drop(ARRAY[0])


@noted(r'accelerometers\[0\]: .* not in the bag; without it the angular acceleration is the gyro')
def an_accelerometer_missing(draft, robot):
    draft.drop(ARRAY[0])


@noted(r"position: topic 'gps' is not in the bag; without it there is no IR-MD")
def no_position(draft, robot):
    draft.drop(GPS)


@noted(r"feet\[l_foot\]: topic '/l_foot/wrench' holds no messages; without it .* no measured CoP")
def a_force_sensor_without_messages(draft, robot):
    draft.keep(LEFT, slice(0, 0))


@noted(r'There is no measured CoP: the robot file states no wrench for l_foot')
def feet_of_which_one_has_a_sensor(draft, robot):
    del robot['feet'][0]['wrench']


# ---- Joints -------------------------------------------------------------------------------------


@refused(r"publishes x_l_hip_yaw, .* 26 more, none of which the robot 'biped31' has .* the URDF")
def joints_of_another_robot(draft, robot):
    draft.replace(JOINTS, renamed(draft[JOINTS], lambda name: f'x_{name}'))


@refused(r"'/joint_states' gives no positions of the joints .*record joint states with positions")
def joint_states_without_positions(draft, robot):
    draft.replace(JOINTS, without(draft[JOINTS], 'position'))


@refused(r"'/joint_states' cannot be used: .* has 31 values of position for 30 joints")
def more_positions_than_names(draft, robot):
    draft[JOINTS].like['name'] = draft[JOINTS].like['name'][:-1]


@refused(r"'/joint_states' cannot be used: .* names a joint twice")
def one_name_for_all_joints(draft, robot):
    draft.replace(JOINTS, renamed(draft[JOINTS], lambda name: 'joint'))


@refused(r'Most frequent: /joint_states: l_knee: no trustworthy value at this instant')
def an_encoder_that_never_reads(draft, robot):
    draft[JOINTS]['position'][:, KNEE] = np.nan


@refused(r'on /joint_states the messages seem to come from two sources in turn\. Two publishers')
def a_second_publisher_with_other_positions(draft, robot):
    other = draft[JOINTS].later(0.001)
    other['position'][:] = 0.0
    draft.replace(JOINTS, draft[JOINTS], other)


@noted(r'/joint_states: the messages seem to come from two sources in turn\. Two publishers')
def a_second_publisher_that_lags(draft, robot):
    draft.replace(JOINTS, draft[JOINTS], draft[JOINTS].later(0.0005))


@noted(r'Joints that nobody publishes are taken to be at zero: neck_yaw, neck_pitch')
def joints_that_nobody_publishes(draft, robot):
    neck = {'neck_yaw', 'neck_pitch'}
    names = draft[JOINTS].like['name']
    others = [k for k, name in enumerate(names) if name not in neck]
    draft.replace(JOINTS, with_joints(draft[JOINTS], others))


@noted(r"Where foot 'l_foot' is, is not known: nobody publishes l_hip_yaw, .* Record all joints")
def legs_that_nobody_publishes(draft, robot):
    draft.replace(JOINTS, with_joints(draft[JOINTS], list(range(12, 31))))


@noted(r'Joints are beyond their limits: .*l_knee \(at .*in degrees instead of radians')
def joints_in_degrees(draft, robot):
    draft[JOINTS]['position'] *= 180.0 / np.pi


@noted(r'/joint_states: the values never change\. Is the sensor or its driver dead\?')
def encoders_that_are_stuck(draft, robot):
    draft[JOINTS]['position'][:] = draft[JOINTS]['position'][0]


@counted(JOINTS, 'joint_repaired[l_knee]', 1, span=(0.795, 0.805))
def one_encoder_spike(draft, robot):
    draft[JOINTS]['position'][400, KNEE] += 1.0


@counted(JOINTS, 'joint_faulty[l_knee]', 12, span=(0.79, 0.83))
def an_encoder_that_fails_for_a_while(draft, robot):
    draft[JOINTS]['position'][400:410, KNEE] = np.nan


@counted(JOINTS, 'joint_faulty[l_knee]', span=(0.79, 0.85))
def an_encoder_that_reads_rubbish_for_a_while(draft, robot):
    draft[JOINTS]['position'][400:410, KNEE] = [1e300, -1e300, np.inf, 1e9, 1e5, 1e300] + [7e4] * 4


@counted(JOINTS, 'stamp_twice', 1000)
def a_second_publisher_of_the_same_messages(draft, robot):
    draft.replace(JOINTS, draft[JOINTS], draft[JOINTS].rows(slice(None)))


@counted(JOINTS, 'unreadable[A JointState message names a joint twice.]', 20)
def some_messages_that_contradict_themselves(draft, robot):
    odd = renamed(draft[JOINTS].rows(slice(500, 520)), lambda name: 'joint')
    draft.replace(JOINTS, draft[JOINTS].rows(np.r_[0:500, 520:1000]), odd)


# ---- Numbers ------------------------------------------------------------------------------------


@refused(r'None of the 1000 IMU samples is finite')
def an_imu_of_nan(draft, robot):
    draft[IMU]['angular_velocity'][:] = np.nan


@refused(r'imu: every message has an acceleration of more than 2000 m/s² .* check its driver')
def an_imu_of_huge_numbers(draft, robot):
    draft[IMU]['linear_acceleration'][:] = 1e300


@counted(IMU, 'not_finite', 3, span=(0.795, 0.81))
def nan_of_the_gyroscope(draft, robot):
    draft[IMU]['angular_velocity'][400:403] = np.nan


@counted(ARRAY[0], 'not_finite', 1, span=(0.795, 0.805))
def infinity_of_an_accelerometer(draft, robot):
    draft[ARRAY[0]]['linear_acceleration'][400] = -np.inf


@counted(IMU, 'too_large', 1, span=(0.795, 0.805))
def a_huge_number_of_the_imu(draft, robot):
    draft[IMU]['linear_acceleration'][400] = 1e300


@counted(LEFT, 'too_large', 1, span=(0.795, 0.805))
def a_spike_of_a_force_sensor(draft, robot):
    draft[LEFT]['wrench.force'][400, 2] = 1e5


@counted(LEFT, 'not_finite', 1000)
def a_force_sensor_of_nan(draft, robot):
    draft[LEFT]['wrench.force'][:] = np.nan


@counted(GPS, 'too_large', 1)
def a_huge_number_of_the_position(draft, robot):
    draft[GPS]['point'][400] = 1e300


@counted(GPS, 'no_sample')
def a_position_that_fails_for_a_while(draft, robot):
    draft[GPS]['point'][400:500] = np.nan


# ---- Stamps -------------------------------------------------------------------------------------


@refused(
    r"1000 of 1000 messages of topic '/joint_states' cannot be used: stamp .* must set header"
)
def joints_without_stamps(draft, robot):
    draft[JOINTS].stamps[:] = 0


@refused(r'the stamps on /imu and /joint_states are 98 s apart and share no time\. Let all')
def an_imu_with_another_clock(draft, robot):
    draft[IMU].stamps[:] += 100 * SECOND


@noted(r'/l_foot/wrench: the stamps are 0\.5 s older on arrival than those on /joint_states')
def messages_that_arrive_late(draft, robot):
    draft[LEFT].received += SECOND // 2


@noted(r'3 more: silent for 3\.15e\+07 s, from 1\.00 s on; .* Was the clock set\?')
def a_clock_that_is_set_a_year_ahead(draft, robot):
    for part in draft.parts:
        part.stamps[part.times >= 1.0] += YEAR


@noted(r'3 more: the stamps go back by up to 5 s, and what bears them is not used')
def a_clock_that_is_set_back(draft, robot):
    for part in draft.parts:
        part.stamps[:] += 10**9 * SECOND
        part.stamps[part.times >= 1.0] -= 5 * SECOND


@counted(IMU, 'stamp_unset', 10, span=(0.79, 0.83))
def some_zero_stamps(draft, robot):
    draft[IMU].stamps[400:410] = 0


@counted(JOINTS, 'stamp_far', 1, span=(0.795, 0.805))
def one_stamp_years_ahead(draft, robot):
    draft[JOINTS].stamps[400] += 3 * YEAR


@counted(JOINTS, 'stamp_far', 1)
def the_last_stamp_minutes_ahead(draft, robot):
    draft[JOINTS].stamps[-1] += 600 * SECOND


@counted(JOINTS, 'stamp_ahead', 1, span=(0.79, 0.815))
def two_messages_exchanged(draft, robot):
    part = draft[JOINTS]
    rows = np.r_[:400, 401, 400, 402:1000]
    part.values = {path: values[rows] for path, values in part.values.items()}


@counted(IMU, 'stamp_twice', 3, span=(0.0, 0.0))
def some_messages_twice(draft, robot):
    draft.keep(IMU, np.sort(np.r_[:1000, 400:403]))


@counted(IMU, 'no_sample', 38, span=(0.79, 1.11))
def a_gap_of_the_imu(draft, robot):
    draft.lose(IMU, 0.8, 1.1)


@noted(r'/joint_states: silent for 1 s, from 0\.50 s on; there are no results in that time')
def a_gap_of_the_joints(draft, robot):
    draft.lose(JOINTS, 0.5, 1.5)


@counted(IMU, 'interpolated', 250)
def an_imu_at_another_rate(draft, robot):
    for topic in (IMU, *ARRAY):
        draft.replace(topic, draft[topic].rows(slice(None, None, 2)).later(0.0003))


@counted(LEFT, 'interpolated', 199)
def a_force_sensor_at_a_tenth_of_the_rate(draft, robot):
    draft.keep(LEFT, slice(None, None, 10))


# ---- IMU and accelerometers ---------------------------------------------------------------------


@refused(r'gravity has been removed\. Remedy: let the driver .* or set imu\.gravity_removed: true')
def an_imu_without_gravity(draft, robot):
    up = Rotation.from_quat(draft[IMU]['orientation']).inv().apply([0.0, 0.0, GRAVITY])
    draft[IMU]['linear_acceleration'] -= up


@refused(r'does contain gravity; set imu\.gravity_removed: false')
def an_imu_that_is_said_to_be_without_gravity(draft, robot):
    robot['imu']['gravity_removed'] = True


@refused(r'its unit is g and not m/s²; let the driver publish m/s²')
def an_imu_in_g(draft, robot):
    draft[IMU]['linear_acceleration'] /= GRAVITY


@refused(r'its unit is °/s and not rad/s; let the driver publish rad/s')
def a_gyroscope_in_degrees(draft, robot):
    draft[IMU]['angular_velocity'] *= 180.0 / np.pi


@refused(r'or the sensor is dead \(all its readings are zero\)')
def a_dead_imu(draft, robot):
    for path in ('angular_velocity', 'linear_acceleration', 'orientation'):
        draft[IMU][path][:] = 0.0


@refused(r"'/accelerometers/accelerometer_2' reads .* in the median: that is g and not m/s²")
def one_accelerometer_in_g(draft, robot):
    draft[ARRAY[1]]['linear_acceleration'] /= GRAVITY


@refused(r"'/accelerometers/accelerometer_1' reads .* gravity has been removed, or .* is dead")
def one_dead_accelerometer(draft, robot):
    draft[ARRAY[0]]['linear_acceleration'][:] = 0.0


@refused(
    r'accelerometers\[2\]: every message has an acceleration of more than 2000 .* take it out'
)
def one_accelerometer_of_huge_numbers(draft, robot):
    draft[ARRAY[2]]['linear_acceleration'][:] = 1e300


@noted(r"'/accelerometers/accelerometer_1' reads .*Is accelerometers\[0\]\.frame the link")
def one_accelerometer_turned_over(draft, robot):
    draft[ARRAY[0]]['linear_acceleration'] *= -1.0


@noted(
    r'All others contradict the IMU as well: is imu\.frame the link',
    found=r"Is the IMU's frame \(imu\.frame\) turned as the sensor is\?",
)
def a_tilted_imu(draft, robot):
    for path in ('angular_velocity', 'linear_acceleration'):
        draft[IMU][path] = draft[IMU][path][:, [0, 2, 1]] * [1.0, -1.0, 1.0]


@noted(r'Neither the IMU nor the position tells the orientation .* without it there is no IR-MD')
def no_orientation(draft, robot):
    draft[IMU]['orientation_covariance'][:, 0] = -1.0


@noted(r'no usable orientation: none of its quaternions has the norm one')
def an_orientation_that_is_not_normalised(draft, robot):
    draft[IMU]['orientation'] *= 2.0


@noted(r'no usable orientation: none of its quaternions is finite')
def an_orientation_of_nan(draft, robot):
    draft[IMU]['orientation'][:] = np.nan


@noted(r'orientation of the IMU never changes although it turns, so it is a placeholder')
def an_orientation_that_is_a_placeholder(draft, robot):
    draft[IMU]['orientation'][:] = [0.0, 0.0, 0.0, 1.0]


@noted(r'force is 1\d\d° off the vertical\. Check that the quaternion is in the order x, y, z, w')
def an_orientation_in_another_order(draft, robot):
    draft[IMU]['orientation'] = draft[IMU]['orientation'][:, [3, 0, 1, 2]]


@counted(IMU, 'no_rotation', 10)
def an_orientation_that_fails_for_a_while(draft, robot):
    draft[IMU]['orientation'][400:410] = 0.0
    draft[IMU]['orientation'][400:410, 0] = 1e-200


@refused(r"no link 'xsens' in robot 'biped31' \(named by the frame_id of 'imu'\); valid: pelvis")
def a_frame_that_the_robot_does_not_have(draft, robot):
    del robot['imu']['frame']
    draft.replace(IMU, in_frame(draft[IMU], 'xsens'))


@refused(r"messages of 'imu' name no frame_id, .* add 'frame: LINK' under imu")
def messages_without_a_frame(draft, robot):
    del robot['imu']['frame']
    draft.replace(IMU, in_frame(draft[IMU], ''))


@refused(r"'l_foot/wrench' name no frame_id, .* add 'frame: LINK' under the wrench of foot 'l_f")
def a_foot_without_a_frame(draft, robot):
    del robot['feet'][0]['wrench']['frame']
    draft.replace(LEFT, in_frame(draft[LEFT], ''))


def alternating_frames(draft):
    first, second = draft[IMU].rows(slice(0, 500)), draft[IMU].rows(slice(500, None))
    draft.replace(IMU, first, in_frame(second, 'gps_link'))


@refused(r"'/imu' name several frames \('gps_link', 'imu_link'\): .* right one as imu\.frame")
def a_frame_that_changes(draft, robot):
    del robot['imu']['frame']
    alternating_frames(draft)


@noted(r'/imu: the messages name several frames \(gps_link, imu_link\)\. Two publishers')
def a_frame_that_changes_although_one_is_stated(draft, robot):
    alternating_frames(draft)


# ---- Feet and ground ----------------------------------------------------------------------------


@noted(r'', found=r"Foot 'l_foot' pulls at the ground: .* Set wrench\.sign: -1 for this foot")
def forces_of_the_other_sign(draft, robot):
    for topic in (LEFT, RIGHT):
        for path in ('wrench.force', 'wrench.torque'):
            draft[topic][path] *= -1.0


@noted(r'/l_foot/wrench: the values never change', found=r'The feet measure .* weight is 270\.7 N')
def a_dead_force_sensor(draft, robot):
    for path in ('wrench.force', 'wrench.torque'):
        draft[LEFT][path][:] = 0.0


@refused(r"no link 'left_sole' in robot 'biped31' \(named by feet\[l_foot\]\.sole\); .*l_sole")
def an_unknown_sole(draft, robot):
    robot['feet'][0]['sole'] = 'left_sole'


@refused(r"no link 'floor' in robot 'biped31' \(named by ground\.frame\)")
def an_unknown_ground(draft, robot):
    robot['ground'] = {'source': 'frame', 'frame': 'floor'}


@refused(r'ground\.source is gravity, which needs the orientation .* use ground\.source: sole')
def level_ground_without_orientation(draft, robot):
    draft[IMU]['orientation_covariance'][:, 0] = -1.0
    robot['ground'] = {'source': 'gravity'}


@refused(r'lists no feet, so the ground is not known; add feet, or .* ground\.source: frame')
def no_feet(draft, robot):
    del robot['feet']


@refused(r'normal force of MR-AD is 27\d\.\d N at most .* ground\.minimum_force \(5000\.0 N\)')
def a_force_that_is_never_reached(draft, robot):
    robot['ground'] = {'minimum_force': 5000.0}


@noted(r'', found=r'No foot ever carries load\. Is ground\.contact_force too large')
def a_load_that_is_never_reached(draft, robot):
    robot['ground'] = {'contact_force': 5000.0}


# ---- Robot file and URDF ------------------------------------------------------------------------


@refused(r"no link 'hip' in robot 'biped31'")
def an_unknown_root(draft, robot):
    robot['root'] = 'hip'


@refused(r"robot\.yaml', line \d+: .*'imu_topic'.*valid")
def an_unknown_key(draft, robot):
    robot['imu_topic'] = '/imu'


@refused(r"robot\.yaml', line \d+: .*metres, not millimetres")
def a_sole_in_millimetres(draft, robot):
    robot['feet'][0]['polygon'] = [[150, 60], [-90, 60], [-90, -60], [150, -60]]


@refused(r"no URDF file '.*absent\.urdf'|'.*absent\.urdf'.*(does not exist|cannot be read)")
def a_urdf_that_is_not_there(draft, robot):
    robot['urdf'] = 'absent.urdf'


@refused(r"accelerometers\[0\]: the frame 'l_foot' moves against the root .* set 'root' in the")
def a_sensor_on_a_moving_link(draft, robot):
    robot['accelerometers'][0]['frame'] = 'l_foot'


@refused(r'lie on one line along x: angular acceleration about x is not observable; move one')
def accelerometers_in_a_line(draft, robot):
    robot['accelerometers'] = robot['accelerometers'][:1]


@refused(r"low-pass at 30 Hz needs signals of more than 60 Hz, but 'feet\[l_foot\]' has 50\.0 Hz")
def a_low_pass_above_half_a_rate(draft, robot):
    draft.keep(LEFT, slice(None, None, 10))
    robot['low_pass'] = {'cutoff': 30.0}


@noted(r'Joint positions come at 500 Hz, the robot file states 1000 Hz\. Correct rates\.actuator')
def a_rate_that_is_not_that_of_the_joints(draft, robot):
    robot['rates'] = {'actuator': 1000.0}


@noted(r'', found=r'rates\.bus is 2000 Hz, but joint positions come at 500 Hz only')
def a_bus_faster_than_the_joints(draft, robot):
    robot['rates'] = {'bus': 2000.0}


# ---- What must come of it -----------------------------------------------------------------------


@pytest.mark.parametrize(('damage', 'sentence'), REFUSED)
def test_what_prevents_an_evaluation_is_said_in_a_sentence(spoilt, damage, sentence):
    desk = spoilt(damage)
    assert_refused(desk.replay(), sentence)
    assert_nothing_else(desk)
    assert not desk.results.exists()
    checked = desk.check()
    assert checked.status == 1
    assert re.search(sentence, checked.out + checked.err)


@pytest.mark.parametrize(('damage', 'topic', 'reason', 'number', 'span'), COUNTED)
def test_what_is_gated_is_counted(spoilt, sound_points, damage, topic, reason, number, span):
    desk = spoilt(damage)
    assert_whole(desk, desk.replay())
    assert_nothing_else(desk)
    assert desk.check().status == 0
    assert reason in desk.gated()[topic]
    assert number is None or desk.gated()[topic][reason] == number
    if span is not None:
        assert_equal_outside(desk.points(), sound_points, *span)


def assert_equal_outside(points, sound_points, begin, end):
    """Outside of a span of time [s] since the first result, results are equal to the last bit."""
    start = min(sound_points['/mr_ad/izmp'])
    for topic, expected in sound_points.items():
        margin = 0.016 if topic == '/ir_md/izmp' else 0.0  # it is differenced at the bus rate
        outside = {
            stamp: point
            for stamp, point in expected.items()
            if not begin - margin <= (stamp - start) / SECOND <= end + margin
        }
        assert {stamp: points[topic].get(stamp) for stamp in outside} == outside


@pytest.mark.parametrize(('damage', 'sentence', 'found'), NOTED)
def test_what_is_odd_or_missing_is_told_everywhere(spoilt, damage, sentence, found):
    desk = spoilt(damage)
    replayed, checked = desk.replay(), desk.check()
    assert_whole(desk, replayed)
    assert_nothing_else(desk)
    assert checked.status == 0
    for place in (replayed.out, text_of(desk.report()), checked.out):
        assert re.search(sentence, place), place
    assert re.search(found or '', checked.out), checked.out


# ---- Files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(('storage', 'share'), [('mcap', 0.4), ('mcap', 0.9), ('sqlite3', 0.6)])
def test_a_cut_bag_is_evaluated_up_to_the_cut(spoilt, sound_points, storage, share):
    desk = spoilt(storage=storage)
    file = storage_file(desk.bag)
    os.truncate(file, round(share * file.stat().st_size))
    replayed, checked = desk.replay(), desk.check()
    assert_whole(desk, replayed)
    assert checked.status == 0
    note = re.search(rf"'{file.name}'[^.]*[^']* (\d\.\d{{3}}) s ", replayed.out)
    assert note[0] in ' '.join(desk.report()['notes'])
    assert note[0] in checked.out
    points, cut = desk.points(), float(note[1])
    assert abs(cut - 2.0 * share) < 0.25
    assert_equal_outside(points, sound_points, cut - 0.05, 2.0)
    assert max(points['/mr_ad/izmp']) <= min(sound_points['/mr_ad/izmp']) + cut * SECOND


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_flipped_bytes_end_in_a_sentence_or_in_whole_results(spoilt, storage):
    desk = spoilt(storage=storage)
    file = storage_file(desk.bag)
    data = bytearray(file.read_bytes())
    for place in np.random.default_rng(0).integers(0, len(data), 50):
        data[place] ^= 0xFF
    file.write_bytes(data)
    outcome = desk.replay()
    if outcome.status == 0:
        assert_whole(desk, outcome)
    else:
        assert_refused(outcome, 'bag')
    assert desk.check().status == outcome.status


def no_bag(desk):
    shutil.rmtree(desk.bag)


def an_empty_folder(desk):
    no_bag(desk)
    desk.bag.mkdir()


def a_text(desk):
    no_bag(desk)
    desk.bag.write_text('This is not a bag.\n' * 100)


def an_empty_file(desk):
    storage_file(desk.bag).write_bytes(b'')


def no_robot_file(desk):
    desk.robot.unlink()


def a_folder_as_robot_file(desk):
    desk.robot.unlink()
    desk.robot.mkdir()


def a_bag_as_robot_file(desk):
    shutil.copy(storage_file(desk.bag), desk.robot)


def a_urdf_as_robot_file(desk):
    shutil.copy(BIPED31, desk.robot)


def a_broken_urdf(desk):
    name_urdf(desk, BIPED31.read_text().replace('</link>', '</lnk>', 1))


def a_xacro_file(desk):
    text = BIPED31.read_text()
    name_urdf(desk, text.replace('<robot ', '<robot xmlns:xacro="http://ros.org/wiki/xacro" ', 1)
              .replace('</robot>', '<xacro:leg/></robot>'))  # fmt: skip


def a_negative_mass(desk):
    name_urdf(desk, re.sub(r'<mass value="', '<mass value="-', BIPED31.read_text(), count=1))


def name_urdf(desk, text):
    (desk.robot.parent / 'bag' / 'robot.urdf').write_text(text)
    robot = yaml.safe_load(desk.robot.read_text()) | {'urdf': 'bag/robot.urdf'}
    desk.robot.write_text(yaml.safe_dump(robot))


@pytest.mark.parametrize(
    ('damage', 'datum'),
    [
        (no_bag, r"/bag'.*\.mcap"),
        (an_empty_folder, r"/bag'.*metadata\.yaml"),
        (a_text, r"/bag'.*mcap"),
        (an_empty_file, r"/bag/bag\.mcap'"),
        (no_robot_file, r"/robot\.yaml'"),
        (a_folder_as_robot_file, r"/robot\.yaml'.*Is a directory"),
        (a_bag_as_robot_file, r"/robot\.yaml'.* 3 MB"),
        (a_urdf_as_robot_file, r'/robot\.yaml.*line 1\b.*urdf, root'),
        (a_broken_urdf, r'robot\.urdf.* line \d+'),
        (a_xacro_file, r'xacro'),
        (a_negative_mass, r'mass'),
    ],
)
def test_files_that_are_not_what_they_should_be(spoilt, damage, datum):
    desk = spoilt()
    damage(desk)
    before = set(desk.folder.iterdir())
    assert_refused(desk.replay(), datum)
    assert set(desk.folder.iterdir()) == before
    assert desk.check().status == 1


@pytest.mark.skipif(os.geteuid() == 0, reason='nothing is forbidden to root')
def test_files_that_must_not_be_read_or_written(spoilt):
    desk = spoilt()
    desk.folder.chmod(0o500)
    assert_refused(desk.replay(), 'Permission denied')
    desk.folder.chmod(0o700)
    desk.robot.chmod(0o000)
    assert_refused(desk.replay(), 'Permission denied')
    desk.robot.chmod(0o600)
    storage_file(desk.bag).chmod(0o000)
    assert_refused(desk.replay(), 'Permission denied')


def test_results_do_not_fall_on_anything_else(spoilt):
    desk = spoilt()
    here = ('replay', desk.bag, '--robot', desk.robot, '-o')
    desk.results.write_text('my thesis')
    assert_refused(desk.replay(), r"/out'.*--overwrite")
    assert_refused(desk.replay('--overwrite'), r"/out'.*report\.json")
    assert desk.results.read_text() == 'my thesis'
    assert_refused(izmp(*here, desk.results / 'out'), r"/out/out'.*Not a directory")
    assert_refused(izmp(*here, desk.bag, '--overwrite'), r"/bag'.*report\.json")
    assert_refused(izmp(*here, '/'), r"'/'")
    desk.results.unlink()
    assert desk.replay().status == 0
    (desk.results / 'notes.txt').write_text('my notes')
    assert_refused(desk.replay('--overwrite'), r"/out'.*'notes\.txt'")
    assert (desk.results / 'notes.txt').read_text() == 'my notes'
    assert_nothing_else(desk)


def test_a_failed_replay_leaves_no_parents_of_its_results(spoilt):
    desk = spoilt(no_joint_states)
    outcome = izmp(
        'replay', desk.bag, '--robot', desk.robot, '-o', desk.folder / 'a' / 'b' / 'out'
    )
    assert_refused(outcome, 'joints')
    assert_nothing_else(desk)


@pytest.mark.skipif(not os.path.exists('/proc/self'), reason='no place that cannot be written')
def test_a_place_where_nobody_can_write(spoilt):
    desk = spoilt()
    outcome = izmp('replay', desk.bag, '--robot', desk.robot, '-o', '/proc/izmp')
    assert_refused(outcome, r"'/proc/izmp'.*No such file")
    assert_refused(izmp('simulate', 'sway', '-o', '/proc/izmp'), r"'/proc/izmp'")


@pytest.fixture
def small_disk():
    """No file may grow beyond 50 kB, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk(spoilt, request):
    desk = spoilt()
    request.getfixturevalue('small_disk')
    assert_refused(desk.replay(), r'File too large')
    assert_nothing_else(desk)
    assert not desk.results.exists()


# ---- Interruptions ------------------------------------------------------------------------------


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_report_is_made(spoilt, monkeypatch, number):
    def interrupt(*arguments, **keywords):
        signal.raise_signal(number)

    monkeypatch.setattr('izmp_dynamics.replay.run.write_report', interrupt)
    desk = spoilt()
    outcome = desk.replay()
    assert outcome.status == 130
    assert re.fullmatch(r'izmp: [^\n]+\n', outcome.err)
    assert_nothing_else(desk)
    assert not desk.results.exists()


WAITS_IN_THE_MIDDLE = """
import signal
from izmp_dynamics.bags.writer import BagWriter

def write_and_wait(bag, *arguments, write=BagWriter.write_batch):
    write(bag, *arguments)
    bag.flush()
    signal.pause()

BagWriter.write_batch = write_and_wait
"""


@pytest.fixture
def started(tmp_path):
    """Starts the command in another process, which begins to write a bag and then waits."""

    def start(folder, *arguments):
        process = subprocess.Popen(
            [sys.executable, '-m', 'izmp_dynamics.cli.main', *map(str, arguments)],
            env=with_site_code(tmp_path / 'site', WAITS_IN_THE_MIDDLE),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and not list(folder.glob('.*/**/*.mcap')):
            time.sleep(0.02)
        return process

    return start


@pytest.fixture
def desktop(tmp_path):
    """An empty folder."""
    (tmp_path / 'desktop').mkdir()
    return tmp_path / 'desktop'


def assert_interrupted(process, folder):
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, '')
    assert err.splitlines()[-1].startswith('izmp: ')
    assert 'Traceback' not in err
    assert list(folder.iterdir()) == []


def test_ctrl_c_in_the_middle_of_a_replay(sway, biped31, started, desktop):
    replay = started(desktop, 'replay', sway[1], '--robot', biped31.path, '-o', desktop / 'out')
    replay.send_signal(signal.SIGINT)
    assert_interrupted(replay, desktop)


def test_a_simulation_that_is_terminated(started, desktop):
    simulation = started(desktop, 'simulate', 'sway', '-o', desktop / 'bag')
    simulation.terminate()
    assert_interrupted(simulation, desktop)


@pytest.mark.parametrize('full', [False, True])
def test_nobody_reads_what_is_printed(full):
    """`izmp model X | head -1` after head has gone, and a full disk behind `>`."""
    if full and not os.path.exists('/dev/full'):
        pytest.skip('no /dev/full on this system')
    reading, writing = os.pipe()
    os.close(reading)
    with open('/dev/full' if full else writing, 'wb') as out:
        done = subprocess.run(
            [sys.executable, '-m', 'izmp_dynamics.cli.main', 'model', str(BIPED31)],
            env=os.environ | {'PYTHONPATH': str(REPOSITORY)},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert re.fullmatch(r'izmp: error: .*No space left.*\n' if full else '', done.stderr)


# ---- Any numbers --------------------------------------------------------------------------------

STAMP = 'header.stamp'
LAST = 2 * 10**18  # [ns] stamps end in 2038
FIELDS = [
    (JOINTS, 'position'),
    (IMU, 'angular_velocity'),
    (IMU, 'linear_acceleration'),
    (IMU, 'orientation'),
    (ARRAY[1], 'linear_acceleration'),
    (GPS, 'point'),
    (LEFT, 'wrench.force'),
    (RIGHT, 'wrench.torque'),
]
numbers = st.one_of(
    st.sampled_from([0.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 1e18, 1e5]), st.floats()
)


@st.composite
def corruptions(draw):
    """A stretch of one column, of its stamps, or of a whole field that takes another value."""
    topic, path = draw(st.sampled_from(FIELDS))
    start, length = draw(st.integers(0, 999)), draw(st.sampled_from([1, 2, 3, 10, 100, 1000]))
    rows = slice(start, start + length)
    if draw(st.booleans()):
        return topic, path, (rows, draw(st.integers(0, 2))), draw(numbers)
    if draw(st.booleans()):
        return topic, path, (rows,), draw(numbers)
    return topic, STAMP, (rows,), draw(st.integers(-YEAR, LAST))


def test_any_numbers_end_in_a_sentence_or_in_whole_results(
    sound, robot_yaml, sound_points, tmp_path_factory
):
    @settings(max_examples=8, phases=(Phase.reuse, Phase.generate))  # shrinking takes too long
    @given(st.lists(corruptions(), min_size=1, max_size=4))
    def spoil(spoils):
        draft = sound.copy()
        for topic, path, place, value in spoils:
            numbers = draft[topic][path]
            numbers[place] = np.clip(numbers[place] + value, 0, LAST) if STAMP in path else value
        desk = Desk(tmp_path_factory.mktemp('numbers'), draft, robot_yaml)
        checked, replayed = desk.check(), desk.replay()
        assert checked.status == replayed.status
        if replayed.status == 0:
            assert_whole(desk, replayed)
        else:
            assert_refused(replayed, '')
        assert_nothing_else(desk)
        shutil.rmtree(desk.folder)

    spoil()
