"""Bad input: every fault ends in a sentence, or is counted; none in a traceback, NaN or rubbish.

Each damage corrupts a sound recording (`draft`) or its robot file (`robot`); beside it, in a table
or in the decorator above it, stands the outcome. `izmp check` and `izmp replay` must agree
on whether there is a result. Their sentences are checked in form; what they state, by the kind of
error or finding.
"""

import dataclasses
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
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.check import check
from izmp_dynamics.cli.terminal import printable
from izmp_dynamics.evaluate import KNOWN, replay
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.verdict.findings import ABSENT

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
    Outcome,
    assert_nothing_else,
    assert_refused,
    assert_whole,
    izmp,
    with_site_code,
)
from .conftest import REPOSITORY
from .raising import raising
from .sample_bags import storage_file

KNEE = 3  # index of l_knee
BIPED31 = REPOSITORY / 'robots' / 'biped31' / 'biped31.urdf'
YEAR = 365 * 86400 * SECOND
START = 2 * SECOND  # stamp of the first sample


def put(value, topic, *paths, rows=slice(None)):
    """Damage of fields of a topic in some of its messages: a value, or a function of theirs."""

    def damage(draft, robot):
        for path in paths:
            values = draft[topic][path]
            values[rows] = value(values[rows]) if callable(value) else value

    return damage


def scaled(factor, topic, *paths):
    return put(lambda values: factor * values, topic, *paths)


def everywhere(change):
    """Damage of the stamps of all topics: a change of them, given their times [s]."""

    def damage(draft, robot):
        for part in draft.parts:
            part.stamps[:] = change(part.stamps, part.times)

    return damage


def kept(rows, *topics):
    """Damage that leaves some messages of each topic."""

    def damage(draft, robot):
        for topic in topics:
            draft.keep(topic, rows)

    return damage


def replaced(topic, *changes):
    """Damage that puts what functions make of the messages of a topic in their place."""
    return lambda draft, robot: draft.replace(topic, *(change(draft[topic]) for change in changes))


def joints_as(*changes):
    return replaced(JOINTS, *changes)


def same(part):
    return part


def all_of(*damages):
    def damage(draft, robot):
        for each in damages:
            each(draft, robot)

    return damage


def without_frame(key):
    """Damage: neither the robot file names the frame of the IMU (or of the left foot's sensor)."""
    return lambda draft, robot: (robot if key == 'imu' else robot['feet'][0])[key].pop('frame')


def two_robots_in_one_bag(draft, robot):
    for part in list(draft.parts):
        twin = part.rows(slice(None))
        part.topic, twin.topic = f'/a{part.topic}', f'/b{part.topic}'
        draft.parts.append(twin)


def silent(part):
    """A second publisher, whose joints are all at zero."""
    other = part.later(0.001)
    other['position'][:] = 0.0
    return other


def without_neck(part):
    names = part.like['name']
    return with_joints(part, [k for k, name in enumerate(names) if not name.startswith('neck_')])


def exchanged(part):
    """Two messages in the other order, but for their stamps."""
    rows = np.r_[:400, 401, 400, 402:1000]
    part.values = {path: values[rows] for path, values in part.values.items()}
    return part


def without_gravity(draft, robot):
    up = Rotation.from_quat(draft[IMU]['orientation']).inv().apply([0.0, 0.0, GRAVITY])
    draft[IMU]['linear_acceleration'] -= up


STAMP = 'header.stamp'
ACCELERATION, ORIENTATION = 'linear_acceleration', 'orientation'
WRENCH = ('wrench.force', 'wrench.torque')
ALTERNATING = replaced(
    IMU,
    lambda part: part.rows(slice(0, 500)),
    lambda part: in_frame(part.rows(slice(500, None)), 'gps_link'),
)

# The fault prevents an evaluation: an error of this kind with these data.
REFUSED = {
    # topics
    'an_empty_bag': (lambda draft, robot: draft.parts.clear(), 'empty_bag', {}),
    'topics_without_messages': (kept(slice(0, 0), *TOPICS), 'empty_bag', {}),
    'no_message_of_the_joints': (kept(slice(0, 0), JOINTS), 'no_messages',
                                 {'signal': 'joints', 'candidates': ()}),
    'one_message_per_topic': (kept(slice(0, 1), *TOPICS), 'too_few_messages',
                              {'signal': 'joints', 'topic': JOINTS}),
    'two_messages_per_topic': (kept(slice(0, 2), *TOPICS), 'too_short', {}),
    # joints
    'joints_of_another_robot': (joints_as(lambda part: renamed(part, lambda name: f'x_{name}')),
                                'other_joints', {'topic': JOINTS}),
    'joint_states_without_positions': (joints_as(lambda part: without(part, 'position')),
                                       'no_positions', {'topic': JOINTS}),
    'one_name_for_all_joints': (joints_as(lambda part: renamed(part, lambda name: 'joint')),
                                'unreadable', {'signal': 'joints', 'topic': JOINTS}),
    'an_encoder_that_never_reads': (put(np.nan, JOINTS, 'position', rows=(slice(None), KNEE)),
                                    'signals_missing', {'faults': ('joint_faulty[l_knee]',)}),
    'joints_without_stamps': (put(0, JOINTS, STAMP), 'stamp_unset',
                              {'signal': 'joints', 'topic': JOINTS}),
    # IMU and accelerometers
    'an_imu_of_nan': (put(np.nan, IMU, 'angular_velocity'), 'imu_not_finite', {'count': 1000}),
    'an_imu_of_huge_numbers': (put(1e300, IMU, ACCELERATION), 'too_large', {'signal': 'imu'}),
    'an_imu_that_is_said_to_be_without_gravity': (
        lambda draft, robot: robot['imu'].update(gravity_removed=True), 'gravity_not_removed', {}),
    'an_imu_in_g': (scaled(1 / GRAVITY, IMU, ACCELERATION), 'imu_in_g', {}),
    'a_gyroscope_in_degrees': (scaled(180 / np.pi, IMU, 'angular_velocity'),
                               'gyroscope_in_degrees', {}),
    'a_dead_imu': (put(0.0, IMU, 'angular_velocity', ACCELERATION, ORIENTATION), 'imu_dead',
                   {'magnitude': 0.0}),
    'one_accelerometer_in_g': (scaled(1 / GRAVITY, ARRAY[1], ACCELERATION), 'accelerometer_in_g',
                               {'accelerometer': ARRAY[1]}),
    'one_dead_accelerometer': (put(0.0, ARRAY[0], ACCELERATION), 'accelerometer_without_gravity',
                               {'accelerometer': ARRAY[0]}),
    'one_accelerometer_of_huge_numbers': (put(1e300, ARRAY[2], ACCELERATION), 'too_large',
                                          {'signal': 'accelerometers[2]'}),
    # feet and ground
    'an_unknown_sole': (lambda draft, robot: robot['feet'][0].update(sole='left_sole'),
                        'unknown_name', {'denotes': 'link', 'name': 'left_sole'}),
    'no_feet': (lambda draft, robot: robot.pop('feet'), 'no_feet', {}),
    'a_force_that_is_never_reached': (
        lambda draft, robot: robot.update(ground={'minimum_force': 5000.0}),
        'below_minimum_force', {'minimum_force': 5000.0}),
    # robot file and URDF
    'an_unknown_key': (lambda draft, robot: robot.update(imu_topic='/imu'), 'unknown_key',
                       {'key': 'imu_topic'}),
    'a_sole_in_millimetres': (
        lambda draft, robot: robot['feet'][0].update(
            polygon=[[150, 60], [-90, 60], [-90, -60], [150, -60]]),
        'out_of_range', {'key': 'feet[0].polygon[0][0]', 'value': 150.0}),
    'a_sensor_on_a_moving_link': (
        lambda draft, robot: robot['accelerometers'][0].update(frame='l_foot'), 'not_on_root',
        {'signal': 'accelerometers[0]', 'frame': 'l_foot'}),
    'accelerometers_in_a_line': (
        lambda draft, robot: robot.update(accelerometers=robot['accelerometers'][:1]),
        'not_observable', {'layout': 'one_line', 'component': 'angular acceleration about x'}),
    'no_joint_states': (lambda draft, robot: draft.drop(JOINTS), 'not_in_bag',
                        {'signal': 'joints', 'topic': 'joint_states', 'candidates': ()}),
    'another_name_for_the_imu': (lambda draft, robot: setattr(draft[IMU], 'topic', '/imu/raw'),
                                 'not_in_bag', {'signal': 'imu', 'topic': 'imu',
                                                'candidates': (*ARRAY, '/imu/raw')}),
    'a_topic_of_another_type': (
        lambda draft, robot: draft.replace(LEFT, dataclasses.replace(draft[GPS], topic=LEFT)),
        'topic_type', {'signal': 'feet[l_foot]', 'topic': LEFT,
                       'msgtype': 'geometry_msgs/msg/PointStamped'}),
    'two_robots_in_one_bag': (
        two_robots_in_one_bag, 'ambiguous_topic',
        {'signal': 'joints', 'candidates': ('/a/joint_states', '/b/joint_states')}),
    'an_array_that_is_asked_for_and_not_recorded': (
        lambda draft, robot: robot.update(angular_acceleration={'method': 'accelerometers'})
        or draft.drop(ARRAY[0]), 'not_in_bag', {'signal': 'accelerometers[0]'}),
    'more_positions_than_names': (
        lambda draft, robot: draft[JOINTS].like.update(name=draft[JOINTS].like['name'][:-1]),
        'unreadable', {'signal': 'joints', 'topic': JOINTS}),
    'a_second_publisher_with_other_positions': (joints_as(same, silent), 'two_publishers',
                                                {'topic': JOINTS}),
    'an_imu_with_another_clock': (put(lambda stamps: stamps + 100 * SECOND, IMU, STAMP),
                                  'no_common_time', {'topics': (IMU, JOINTS)}),
    'an_imu_without_gravity': (without_gravity, 'gravity_removed', {}),
    'a_frame_that_the_robot_does_not_have': (
        all_of(without_frame('imu'), replaced(IMU, lambda part: in_frame(part, 'xsens'))),
        'unknown_name', {'denotes': 'link', 'name': 'xsens'}),
    'messages_without_a_frame': (
        all_of(without_frame('imu'), replaced(IMU, lambda part: in_frame(part, ''))),
        'no_frame_id', {'signal': 'imu', 'topic': 'imu'}),
    'a_foot_without_a_frame': (
        all_of(without_frame('wrench'), replaced(LEFT, lambda part: in_frame(part, ''))),
        'no_frame_id', {'signal': 'feet[l_foot]', 'topic': 'l_foot/wrench'}),
    'a_frame_that_changes': (all_of(without_frame('imu'), ALTERNATING), 'several_frames',
                             {'signal': 'imu', 'frames': ('gps_link', 'imu_link')}),
    'level_ground_without_orientation': (
        all_of(put(-1.0, IMU, 'orientation_covariance', rows=(slice(None), 0)),
               lambda draft, robot: robot.update(ground={'source': 'gravity'})),
        'no_orientation', {'source': 'gravity'}),
    'an_imu_that_hangs_upside_down': (
        lambda draft, robot: robot['imu'].update(rotation=[3.14159, 0.0, 0.0])
        or robot.pop('accelerometers'), 'force_points_down', {}),
}  # fmt: skip

# The fault is gated and counted: topic, reason, number, and the span [s] outside of which the
# results are the sound ones.
COUNTED = {
    # joints
    'an_encoder_that_fails_for_a_while': (
        put(np.nan, JOINTS, 'position', rows=(slice(400, 410), KNEE)),
        JOINTS, 'joint_faulty[l_knee]', 12, (0.79, 0.83)),
    'an_encoder_that_reads_rubbish_for_a_while': (
        put([1e300, -1e300, np.inf, 1e9, 1e5, 1e300] + [7e4] * 4, JOINTS, 'position',
            rows=(slice(400, 410), KNEE)),
        JOINTS, 'joint_faulty[l_knee]', None, (0.79, 0.85)),
    'a_second_publisher_of_the_same_messages': (
        lambda draft, robot: draft.replace(JOINTS, *2 * [draft[JOINTS].rows(slice(None))]),
        JOINTS, 'stamp_twice', 1000, None),
    # numbers
    'nan_of_the_gyroscope': (put(np.nan, IMU, 'angular_velocity', rows=slice(400, 403)),
                             IMU, 'not_finite', 3, (0.795, 0.81)),
    'infinity_of_an_accelerometer': (put(-np.inf, ARRAY[0], ACCELERATION, rows=400),
                                     ARRAY[0], 'not_finite', 1, (0.795, 0.805)),
    'a_huge_number_of_the_imu': (put(1e300, IMU, ACCELERATION, rows=400),
                                 IMU, 'too_large', 1, (0.795, 0.805)),
    'a_spike_of_a_force_sensor': (put(1e5, LEFT, 'wrench.force', rows=(400, 2)),
                                  LEFT, 'too_large', 1, (0.795, 0.805)),
    'a_huge_number_of_the_position': (put(1e300, GPS, 'point', rows=400), GPS, 'too_large', 1,
                                      None),
    'a_position_that_fails_for_a_while': (put(np.nan, GPS, 'point', rows=slice(400, 500)),
                                          GPS, 'no_sample', None, None),
    # stamps
    'some_zero_stamps': (put(0, IMU, STAMP, rows=slice(400, 410)), IMU, 'stamp_unset', 10,
                         (0.79, 0.83)),
    'some_messages_twice': (kept(np.sort(np.r_[:1000, 400:403]), IMU), IMU, 'stamp_twice', 3,
                            (0.0, 0.0)),
    'a_gap_of_the_imu': (lambda draft, robot: draft.lose(IMU, 0.8, 1.1), IMU, 'no_sample', 38,
                         (0.79, 1.11)),
    'a_force_sensor_at_a_tenth_of_the_rate': (kept(slice(None, None, 10), LEFT), LEFT,
                                              'interpolated', 198, None),
    'a_gap_of_the_imu_that_is_none_of_a_slow_position': (
        all_of(kept(np.r_[0:406, 433:1000], IMU), kept(slice(None, None, 15), GPS)),
        IMU, 'no_sample', None, None),
    'a_filter_beside_one_wrong_stamp': (
        all_of(put(lambda stamp: stamp + 2**32, GPS, STAMP, rows=1),
               lambda draft, robot: robot.update(filter={'half_width': 0.016})),
        GPS, 'stamp_ahead', 1, None),
    'one_stamp_years_ahead': (put(lambda stamp: stamp + 3 * YEAR, JOINTS, STAMP, rows=400),
                              JOINTS, 'stamp_far', 1, (0.795, 0.805)),
    'the_last_stamp_minutes_ahead': (
        put(lambda stamp: stamp + 600 * SECOND, JOINTS, STAMP, rows=-1),
        JOINTS, 'stamp_far', 1, None),
    'two_messages_exchanged': (joints_as(exchanged), JOINTS, 'stamp_ahead', 1, (0.79, 0.815)),
    'an_imu_at_another_rate': (
        all_of(*(replaced(topic, lambda part: part.rows(slice(None, None, 2)).later(0.0003))
                 for topic in (IMU, *ARRAY))), IMU, 'interpolated', 249, None),
    'one_encoder_spike': (
        put(lambda angle: angle + 1.0, JOINTS, 'position', rows=(400, KNEE)),
        JOINTS, 'joint_repaired[l_knee]', 1, (0.795, 0.805)),
    'some_messages_that_contradict_themselves': (
        joints_as(lambda part: part.rows(np.r_[0:500, 520:1000]),
                  lambda part: renamed(part.rows(slice(500, 520)), lambda name: 'joint')),
        JOINTS, 'unreadable[A JointState message names a joint twice.]', 20, None),
    'an_orientation_that_fails_for_a_while': (
        put([1e-200, 0.0, 0.0, 0.0], IMU, ORIENTATION, rows=slice(400, 410)),
        IMU, 'no_rotation', 10, None),
}  # fmt: skip

# The results are there; terminal and report state a finding of this kind, with these names. What
# shows only in the evaluated numbers is found by `check`: the last column.
NOTED = {
    # topics
    'an_accelerometer_missing': (lambda draft, robot: draft.drop(ARRAY[0]), 'not_in_bag',
                                 ('accelerometers[0]',), None),
    'a_force_sensor_without_messages': (kept(slice(0, 0), LEFT), 'no_messages',
                                        ('feet[l_foot]', LEFT), None),
    'a_force_sensor_of_another_name': (
        lambda draft, robot: robot['feet'][0]['wrench'].update(topic='sole/left'), 'not_in_bag',
        ('feet[l_foot]', 'sole/left', LEFT, 'make it feet[l_foot].wrench.topic'), None),
    'feet_of_which_one_has_a_sensor': (lambda draft, robot: robot['feet'][0].pop('wrench'),
                                       'foot_without_wrench', ('l_foot', LEFT), None),
    # joints
    'legs_that_nobody_publishes': (joints_as(lambda part: with_joints(part, list(range(12, 31)))),
                                   'leg_joints_absent', ('l_foot', 'l_hip_yaw'), None),
    'a_gap_of_the_joints': (lambda draft, robot: draft.lose(JOINTS, 0.5, 1.5), 'gap',
                            (JOINTS, '1 s', 'from 0.49 s on'), None),
    # IMU and accelerometers
    'one_accelerometer_turned_over': (scaled(-1.0, ARRAY[0], ACCELERATION),
                                      'accelerometer_against_imu', (ARRAY[0],), None),
    'no_orientation': (put(-1.0, IMU, 'orientation_covariance', rows=(slice(None), 0)),
                       'no_orientation', (), None),
    'an_orientation_that_is_not_normalised': (scaled(2.0, IMU, ORIENTATION),
                                              'orientation_not_normalised', (), None),
    'an_orientation_of_nan': (put(np.nan, IMU, ORIENTATION), 'orientation_not_finite', (), None),
    'an_orientation_that_is_a_placeholder': (put([0.0, 0.0, 0.0, 1.0], IMU, ORIENTATION),
                                             'orientation_placeholder', (), None),
    'an_orientation_in_another_order': (
        lambda draft, robot: draft[IMU].values.update(
            orientation=draft[IMU][ORIENTATION][:, [3, 0, 1, 2]]),
        'orientation_contradicts_gravity', (), None),
    # feet, ground and rates
    'a_load_that_is_never_reached': (
        lambda draft, robot: robot.update(ground={'contact_force': 5000.0}), None, (), 'no_load'),
    'a_rate_that_is_not_that_of_the_joints': (
        lambda draft, robot: robot.update(rates={'actuator': 1000.0}), 'actuator_rate',
        ('500 Hz', '1000 Hz'), None),
    'a_bus_faster_than_the_joints': (lambda draft, robot: robot.update(rates={'bus': 2000.0}),
                                     None, (), 'bus_rate'),
    'no_position': (lambda draft, robot: draft.drop(GPS), 'not_in_bag', ('position',), None),
    'a_second_publisher_that_lags': (joints_as(same, lambda part: part.later(0.0005)),
                                     'two_publishers', (JOINTS,), None),
    'joints_that_nobody_publishes': (joints_as(without_neck), 'joints_absent',
                                     ('neck_yaw, neck_pitch',), None),
    'encoders_that_are_stuck': (put(lambda angles: angles[0], JOINTS, 'position'), 'constant',
                                (JOINTS,), None),
    'messages_that_arrive_late': (
        lambda draft, robot: np.add(draft[LEFT].received, SECOND // 2, draft[LEFT].received),
        'delay', (LEFT, JOINTS, '0.5 s'), None),
    'a_clock_that_is_set_a_year_ahead': (
        everywhere(lambda stamps, times: stamps + YEAR * (times >= 1.0)),
        'gap', ('3 more', '3.15e+07 s', 'from 0.99 s on'), None),
    'a_clock_that_is_set_back': (
        everywhere(lambda stamps, times: stamps + 10**9 * SECOND - 5 * SECOND * (times >= 1.0)),
        'stamps_go_back', ('3 more', '5 s'), None),
    'a_tilted_imu': (put(lambda vectors: vectors[:, [0, 2, 1]] * [1.0, -1.0, 1.0], IMU,
                         'angular_velocity', ACCELERATION), 'imu_against_all', (), 'tilted_force'),
    'a_frame_that_changes_although_one_is_stated': (ALTERNATING, 'several_frames',
                                                    (IMU, 'gps_link', 'imu_link'), None),
    'forces_of_the_other_sign': (
        all_of(scaled(-1.0, LEFT, *WRENCH), scaled(-1.0, RIGHT, *WRENCH)), None, (), 'foot_pulls'),
}  # fmt: skip


def text_of(report):
    """The sentences of a report about its input."""
    verdict = f'{report["verdict"]["text"]} {report["verdict"]["advice"]}'
    return '\n'.join([verdict, *report['notes'], *report['missing'], *report['remarks']])


# ---- What must come of it -----------------------------------------------------------------------


@pytest.mark.parametrize(('damage', 'kind', 'data'), REFUSED.values(), ids=REFUSED)
def test_what_prevents_an_evaluation_is_an_error(corrupted, damage, kind, data):
    desk = corrupted(damage)
    with raising(IzmpError, kind, **data) as caught:
        replay(desk.bag, load_robot_file(desk.robot, with_urdf=True), desk.results)
    assert_nothing_else(desk)
    assert not desk.results.exists()
    text, checked = printable(str(caught.value)), desk.check()
    assert_refused(Outcome(1, '', f'izmp: error: {text}\n'))
    assert checked.status == 1
    assert ' '.join(text.split()) in checked.out + ' '.join(checked.err.split())


@pytest.mark.parametrize(
    ('damage', 'topic', 'reason', 'number', 'span'), COUNTED.values(), ids=COUNTED
)
def test_what_is_gated_is_counted(corrupted, sound_points, damage, topic, reason, number, span):
    desk = corrupted(damage)
    assert_whole(desk, desk.replay())
    assert_nothing_else(desk)
    gated = desk.gated()[topic]
    assert reason in gated
    assert number is None or gated[reason] == number
    if span is not None:
        assert_equal_outside(desk.points(), sound_points, *span)


def test_a_force_sensor_that_measures_nothing_is_a_finding(corrupted):
    desk = corrupted(lambda draft, robot: draft[LEFT]['wrench.force'].fill(np.nan))
    assert_whole(desk, desk.replay())
    assert check(desk.bag, load_robot_file(desk.robot)).usable
    assert desk.gated()[LEFT]['not_finite'] == 1000
    report = desk.report()
    verdict = report['verdict']
    assert (verdict['state'], verdict['reason']) == ('unclear', 'input_wrong')
    assert LEFT in verdict['headline'] + verdict['text']
    assert 'contact sensor' not in text_of(report)


def assert_equal_outside(points, sound_points, begin, end):
    """Outside of a span of time [s] since the first sample, results are equal to the last bit."""
    for topic, expected in sound_points.items():
        margin = 0.016 if topic == '/ir_md/izmp' else 0.0  # it is differenced at the bus rate
        outside = {
            stamp: point
            for stamp, point in expected.items()
            if not begin - margin <= (stamp - START) / SECOND <= end + margin
        }
        assert {stamp: points[topic].get(stamp) for stamp in outside} == outside


@pytest.mark.parametrize(('damage', 'kind', 'names', 'found'), NOTED.values(), ids=NOTED)
def test_anomalies_and_missing_signals_are_stated_everywhere(
    corrupted, damage, kind, names, found
):
    desk = corrupted(damage)
    replayed, checked = desk.replay(), check(desk.bag, load_robot_file(desk.robot))
    assert_whole(desk, replayed)
    assert_nothing_else(desk)
    assert checked.usable
    assert {kind, found} - {None} <= {finding.kind for finding in checked.findings}
    stated = [finding for finding in checked.findings if finding.kind == kind]
    assert all(name in str(stated[0]) for name in names)
    terminal = [] if kind in KNOWN else [replayed.out]  # what is known from `izmp check` already
    report = desk.report()
    for place in (*terminal, text_of(report)):
        assert all(str(finding) in place for finding in stated), place
    if kind in ABSENT:  # of what rests on less than the robot file names, the verdict says so
        assert {finding.level for finding in stated} == {'warning'}
        begin = 'Cannot say: ' if stated[0].data.get('judged_by') else ''
        assert f'{begin}{stated[0]}' in text_of(report).splitlines()


# ---- Files --------------------------------------------------------------------------------------


def test_a_cut_bag_is_evaluated_up_to_the_cut(corrupted, sound_points):
    desk, share = corrupted(), 0.4
    file = storage_file(desk.bag)
    os.truncate(file, round(share * file.stat().st_size))
    replayed, checked = desk.replay(), desk.check()
    assert_whole(desk, replayed)
    assert checked.status == 0
    note = re.search(rf"'{file.name}'[^.]*[^']* (\d\.\d{{3}}) s ", replayed.out)
    assert f'at byte {file.stat().st_size}' in note[0]  # where it really ends
    damage = [found for found in desk.report()['findings'] if found['key'] == 'damaged_bag']
    assert note[0] in damage[0]['sentence']
    assert note[0] in checked.out
    points, cut = desk.points(), float(note[1])
    assert abs(cut - 2.0 * share) < 0.25
    assert_equal_outside(points, sound_points, cut - 0.05, 2.0)
    assert max(points['/mr_ad/izmp']) <= START + cut * SECOND


def no_bag(desk):
    shutil.rmtree(desk.bag)
    return desk.bag


def no_robot_file(desk):
    desk.robot.unlink()
    return desk.robot


def urdf_as(change):
    """Damage: the robot file names another URDF, which a function makes of the text of biped31."""

    def damage(desk):
        (desk.bag / 'robot.urdf').write_text(change(BIPED31.read_text()))
        robot = yaml.safe_load(desk.robot.read_text()) | {'urdf': 'bag/robot.urdf'}
        desk.robot.write_text(yaml.safe_dump(robot))

    return damage


FILES = {
    'no_bag': (no_bag, r"/bag'.*\.mcap"),
    'an_empty_folder': (lambda desk: no_bag(desk).mkdir(), r"/bag'.*metadata\.yaml"),
    'a_text': (lambda desk: no_bag(desk).write_text('This is not a bag.\n' * 100),
               r"/bag'.*mcap"),
    'an_empty_file': (lambda desk: storage_file(desk.bag).write_bytes(b''), r"/bag/bag\.mcap'"),
    'no_robot_file': (no_robot_file, r"/robot\.yaml'"),
    'a_folder_as_robot_file': (lambda desk: no_robot_file(desk).mkdir(),
                               r"/robot\.yaml'.*Is a directory"),
    'a_bag_as_robot_file': (lambda desk: shutil.copy(storage_file(desk.bag), desk.robot),
                            r"/robot\.yaml'.* 3 MB"),
    'a_urdf_as_robot_file': (lambda desk: shutil.copy(BIPED31, desk.robot),
                             r'/robot\.yaml.*line 1\b.*urdf, root'),
    'a_broken_urdf': (urdf_as(lambda text: text.replace('</link>', '</lnk>', 1)),
                      r'robot\.urdf.* line \d+'),
    'a_negative_mass': (urdf_as(lambda text: text.replace('<mass value="', '<mass value="-', 1)),
                        r'mass'),
}  # fmt: skip


@pytest.mark.parametrize(('damage', 'datum'), FILES.values(), ids=FILES)
def test_files_that_are_not_what_they_should_be(corrupted, damage, datum):
    desk = corrupted()
    damage(desk)
    before = set(desk.folder.iterdir())
    assert_refused(desk.replay(), datum)
    assert set(desk.folder.iterdir()) == before
    assert desk.check().status == 1


@pytest.mark.skipif(os.geteuid() == 0, reason='nothing is forbidden to root')
def test_files_that_must_not_be_read_or_written(corrupted):
    desk = corrupted()
    desk.folder.chmod(0o500)
    assert_refused(desk.replay(), 'Permission denied')
    desk.folder.chmod(0o700)
    desk.robot.chmod(0o000)
    assert_refused(desk.replay(), 'Permission denied')
    desk.robot.chmod(0o600)
    storage_file(desk.bag).chmod(0o000)
    assert_refused(desk.replay(), 'Permission denied')


def test_results_do_not_fall_on_anything_else(corrupted):
    desk = corrupted()
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


def test_a_failed_replay_leaves_no_parents_of_its_results(corrupted):
    desk = corrupted(kept(slice(0, 0), JOINTS))
    outcome = izmp(
        'replay', desk.bag, '--robot', desk.robot, '-o', desk.folder / 'a' / 'b' / 'out'
    )
    assert_refused(outcome, 'joints')
    assert_nothing_else(desk)


@pytest.mark.skipif(not os.path.exists('/proc/self'), reason='no place that cannot be written')
def test_a_place_that_cannot_be_written(corrupted):
    desk = corrupted()
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


def test_a_full_disk(corrupted, request):
    desk = corrupted()
    request.getfixturevalue('small_disk')
    assert_refused(desk.replay(), r'File too large')
    assert_nothing_else(desk)
    assert not desk.results.exists()


# ---- Interruptions ------------------------------------------------------------------------------


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_report_is_made(corrupted, monkeypatch, number):
    def interrupt(*arguments, **keywords):
        signal.raise_signal(number)

    monkeypatch.setattr('izmp_dynamics.evaluate.write_summary', interrupt)
    desk = corrupted()
    outcome = desk.replay()
    assert outcome.status == 130
    assert re.fullmatch(r'izmp: [^\n]+\n', outcome.err)
    assert_nothing_else(desk)
    assert not desk.results.exists()


def test_a_signal_of_which_a_library_makes_another_exception(corrupted, monkeypatch):
    """As pybind11 does where Ctrl-C comes while it converts arguments."""

    def interrupt(*arguments, **keywords):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise TypeError('incompatible function arguments') from None

    monkeypatch.setattr('izmp_dynamics.evaluate.write_summary', interrupt)
    monkeypatch.setattr('izmp_dynamics.cli.live._run', interrupt)
    desk = corrupted()
    for outcome in (desk.replay(), izmp('live')):
        assert outcome.status == 130
        assert outcome.err == 'izmp: interrupted; nothing was left half-written.\n'
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


def test_ctrl_c_in_the_middle_of_a_replay(sway, biped31, tmp_path):
    """In another process, which begins to write a bag and then waits."""
    folder = tmp_path / 'desktop'
    folder.mkdir()
    command = [sys.executable, '-m', 'izmp_dynamics.cli.main', 'replay', str(sway[1])]
    process = subprocess.Popen(
        [*command, '--robot', str(biped31.path), '-o', str(folder / 'out')],
        env=with_site_code(tmp_path / 'site', WAITS_IN_THE_MIDDLE),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        while process.poll() is None and not list(folder.glob('.*/**/*.mcap')):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, '')
    assert err.splitlines()[-1].startswith('izmp: ')
    assert 'Traceback' not in err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize('full', [False, True])
def test_output_without_a_reader(full):
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
