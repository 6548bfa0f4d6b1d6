"""What `check` says about inputs that are wrong for a part of a recording, or by their meaning.

Each function corrupts two seconds of a simulated sway; `found` is evaluated once for each.
"""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.check import check
from izmp_dynamics.diagnosis.signals import _rate
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.verdict.findings import FORBIDDING
from izmp_dynamics.verdict.summary import summary_of

from .bag_surgery import IMU, JOINTS, LEFT, RIGHT
from .raising import raising

WRENCH = ('wrench.force', 'wrench.torque')


def evaluated(desk):
    """Findings by kind, and the evaluation."""
    robot = load_robot_file(desk.robot)
    return {f.kind: f for f in check(desk.bag, robot).findings}, evaluate_bag(desk.bag, robot)


def gated(evaluation, topic, reason):
    (health,) = (health for health in evaluation.health if health.topic == topic)
    return health.gated.get(Fault(reason), 0)


def times(finding):
    """Begin and end of the first time that a finding states [s]."""
    return tuple(map(float, re.search(r'([\d.]+) to ([\d.]+) s', finding.sentence).groups()))


def hold(part, begin, end):
    """Let a force sensor repeat one value from `begin` to `end` [s]."""
    rows = np.flatnonzero(part.between(begin, end))
    for path in WRENCH:
        part[path][rows] = part[path][rows[0]]


def test_a_foot_that_the_robot_file_lacks_is_asked_for(corrupted):
    desk = corrupted(lambda draft, robot: robot['feet'].pop())
    found = {f.kind: f for f in check(desk.bag, load_robot_file(desk.robot)).findings}
    assert 'foot missing' in found['mean_foot_force'].remedy
    assert RIGHT in found['mean_foot_force'].remedy


def joints_in_degrees(draft, robot):
    draft[JOINTS]['position'] *= 180.0 / np.pi


def dead_force_sensor(draft, robot):
    for path in WRENCH:
        draft[LEFT][path][:] = draft[LEFT][path][0]


def turned_imu(draft, robot):
    for path in ('angular_velocity', 'linear_acceleration'):
        draft[IMU][path][:, :2] *= -1.0


@pytest.mark.parametrize(
    ('damage', 'kind'),
    [
        (joints_in_degrees, 'beyond_limits'),
        (dead_force_sensor, 'constant'),
        (turned_imu, 'imu_turned'),
    ],
)
def test_what_check_knows_the_verdict_says(corrupted, damage, kind):
    desk = corrupted(damage)
    robot = load_robot_file(desk.robot)
    checked, summary = check(desk.bag, robot), summary_of(evaluate_bag(desk.bag, robot))
    findings = {found.kind: found for found in checked.findings}
    assert (summary.verdict.state, summary.verdict.reason) == ('unclear', 'input_wrong')
    assert checked.no_verdict == summary.verdict.text
    assert summary.verdict.sentence == findings[kind].sentence
    # Of what rests on such inputs nothing is stated.
    assert {finding.kind for finding in summary.findings} <= set(FORBIDDING) & set(findings)
    assert not any(kind.startswith('cop_') for kind in findings)
    assert len(checked.findings) == len(
        {(found.kind, found.subject) for found in checked.findings}
    )
    assert 'legs_exchanged' not in findings
    assert 'cannot say' in summary.fall_alarm.sentence
    assert {event.kind for event in summary.events} <= {'sensor fault'}


def test_an_ankle_of_the_other_sign_tilts_the_sole(corrupted):
    def damage(draft, robot):
        joint = list(draft[JOINTS].like['name']).index('r_ankle_roll')
        draft[JOINTS]['position'][:, joint] *= -1.0

    desk = corrupted(damage)
    found = {f.kind: f for f in check(desk.bag, load_robot_file(desk.robot)).findings}
    assert 'the sign is reversed: r_ankle_roll' in found['legs_exchanged'].sentence


# ---- Signals that hang --------------------------------------------------------------------------


def test_a_force_sensor_that_hangs_is_listed_and_no_push_is_concluded(corrupted):
    def damage(draft, robot):
        hold(draft[LEFT], 0.5, 0.9)

    findings, evaluation = evaluated(corrupted(damage))
    finding = findings['hangs']
    assert finding.level == 'warning'
    assert LEFT in finding.sentence
    assert [(o.topic, o.reason) for o in evaluation.outages] == [(LEFT, 'hangs')]
    assert times(finding) == pytest.approx((0.5, 0.9), abs=0.02)
    assert '0.40 s in all' in finding.sentence
    time = evaluation.time
    inside, outside = (time > 0.51) & (time < 0.88), (time < 0.49) | (time > 0.92)
    assert not np.isfinite(evaluation.external_force[inside]).any()
    assert np.isfinite(evaluation.external_force[outside]).all()
    assert np.abs(evaluation.external_force[outside]).max() < 2.0
    assert np.isfinite(evaluation.tracks['mr_ad'].point).all()  # the IZMP needs no force sensor
    assert gated(evaluation, LEFT, Reason.HANGS) == np.count_nonzero(
        ~np.isfinite(evaluation.feet[0].normal_force)
    )


def test_while_the_imu_hangs_nothing_is_derived_from_it(corrupted):
    """Neither ω for IR-MD nor its orientation, although that goes on."""

    def damage(draft, robot):
        imu = draft[IMU]
        rows = np.flatnonzero(imu.between(0.5, 0.9))
        for path in ('angular_velocity', 'linear_acceleration'):
            imu[path][rows] = imu[path][rows[0]]

    _, evaluation = evaluated(corrupted(damage))
    time = evaluation.time
    inside, outside = (time > 0.51) & (time < 0.88), (time > 0.1) & (time < 0.4)
    known = [evaluation.world_R_root[:, 0], evaluation.world_p_root]
    known += [evaluation.tracks[name].point for name in ('mr_ad', 'ir_md')]
    for part in known:
        assert not np.isfinite(part[inside]).any()
        assert np.isfinite(part[outside]).all()


def test_a_sensor_that_stands_still_with_the_robot_does_not_hang(corrupted):
    """As in a simulator that puts bodies at rest to sleep."""

    def damage(draft, robot):
        for topic, paths in (
            (LEFT, WRENCH),
            (RIGHT, WRENCH),
            (IMU, ('angular_velocity', 'linear_acceleration')),
            (JOINTS, ('position',)),
        ):
            part = draft[topic]
            rows = np.flatnonzero(part.between(0.8, 2.0))
            for path in paths:
                part[path][rows] = part[path][rows[0]]

    findings, evaluation = evaluated(corrupted(damage))
    assert 'hangs' not in findings
    assert np.isfinite(evaluation.tracks['cop'].point[evaluation.time > 1.0]).all()


def test_joints_of_one_bus_that_hang_are_listed(corrupted):
    """As long as the raw signal repeats itself, on the clock of the report."""

    def damage(draft, robot):
        robot['filter'] = {'half_width': 0.05}
        joints = draft[JOINTS]
        rows = np.flatnonzero(joints.between(0.5, 0.9))
        columns = [k for k, name in enumerate(joints.like['name']) if name.startswith('l_')]
        positions = joints['position']
        positions[np.ix_(rows, columns)] = positions[rows[0], columns]

    findings, evaluation = evaluated(corrupted(damage))
    assert f'{JOINTS} (joints l_' in findings['hangs'].sentence
    begin, end = times(findings['hangs'])
    (outage,) = evaluation.outages
    zero = evaluation.stamps[0]
    assert begin == pytest.approx((outage.begin - zero) * 1e-9, abs=0.006)
    assert end == pytest.approx((outage.end - zero) * 1e-9, abs=0.006)
    assert end - begin == pytest.approx(0.4, abs=0.02)  # as raw signals, not as filtered ones
    time = evaluation.time
    inside, spread = (time > begin) & (time < end), 0.07  # half-width and two instants
    outside = (time < begin - spread) | (time > end + spread)
    for part in (evaluation.tracks['mr_ad'].point, evaluation.external_force):
        assert not np.isfinite(part[inside]).any()
        assert np.isfinite(part[outside]).all()
    assert gated(evaluation, JOINTS, Reason.HANGS) == pytest.approx(63, abs=2)  # at 125 Hz


# ---- Stamps in bursts ---------------------------------------------------------------------------


def burst(draft):
    """Let every tenth message of the joints wait for the two after it."""
    joints = draft[JOINTS]
    for k in range(100, len(joints) - 5, 10):
        joints.stamps[k : k + 2] = joints.stamps[k + 2] - np.array([200_000, 100_000])


@pytest.mark.parametrize('setting', ['publisher_clock', 'as_is'])
def test_joints_that_come_in_bursts(corrupted, sound_points, setting):
    def damage(draft, robot):
        burst(draft)
        robot['joints'] = robot.get('joints', {}) | {'stamps': setting}

    findings, evaluation = evaluated(corrupted(damage))
    points = evaluation.tracks['mr_ad'].point
    if setting == 'as_is':
        assert 'stamp_restored' not in findings
        assert gated(evaluation, JOINTS, Reason.STAMP_HELD_UP) > 100
        return
    finding = findings['stamp_restored']
    assert f'{JOINTS}: 180 of 1000 stamps came in bursts, up to 3.8 ms late' in finding.sentence
    assert gated(evaluation, JOINTS, Reason.STAMP_HELD_UP) == 0
    expected = sound_points['/mr_ad/izmp']
    stamps = evaluation.stamps.tolist()
    assert len(stamps) == len(expected)
    rows = [k for k, stamp in enumerate(stamps) if stamp in expected]
    assert len(rows) == len(stamps)
    wanted = np.array([expected[stamps[k]] for k in rows])
    np.testing.assert_allclose(points[rows], wanted, atol=1e-9)


# ---- Sensors of the normal force alone ----------------------------------------------------------


@pytest.mark.parametrize('stated', [False, True])
def test_normal_only_is_proposed_unless_it_is_stated(corrupted, stated):
    def damage(draft, robot):
        for topic in (LEFT, RIGHT):
            draft[topic]['wrench.force'][:, :2] = 0.0
            draft[topic]['wrench.torque'][:] = 0.0
        for foot in robot['feet']:
            foot['wrench']['normal_only'] = stated

    desk = corrupted(damage)
    findings = {f.kind: f for f in check(desk.bag, load_robot_file(desk.robot)).findings}
    assert ('only_normal_force' in findings) is not stated
    if not stated:
        finding = findings['only_normal_force']
        assert LEFT in finding.sentence
        assert RIGHT in finding.sentence
        assert 'normal_only: true' in finding.remedy


@pytest.mark.parametrize('set_right', [False, True])
def test_contact_flags_are_no_forces(corrupted, set_right):
    def damage(draft, robot):
        for topic in (LEFT, RIGHT):
            force = draft[topic]['wrench.force']
            force[:] = [0.0, 0.0, 1.0]
            force[100:200] = 0.0
            draft[topic]['wrench.torque'][:] = 0.0
        if set_right:
            robot['ground'] = robot.get('ground', {}) | {'contact_force': 0.5}

    desk = corrupted(damage)
    findings = {f.kind: f for f in check(desk.bag, load_robot_file(desk.robot)).findings}
    assert ('contact_flags' in findings) is not set_right
    if not set_right:
        assert f'{LEFT}, {RIGHT}: all values are 0 or 1' in findings['contact_flags'].sentence
    assert not {'mean_foot_force', 'no_load', 'only_normal_force'} & set(findings)


# ---- Without an IMU -----------------------------------------------------------------------------


def test_an_imu_is_not_derived_from_a_point(corrupted):
    def damage(draft, robot):
        robot['imu'] = {'from_position': True}
        robot.pop('accelerometers')

    desk = corrupted(damage)
    with raising(ReplayError, 'no_pose'):
        evaluate_bag(desk.bag, load_robot_file(desk.robot))


# ---- The link below a force sensor --------------------------------------------------------------


@pytest.mark.parametrize(
    ('below', 'why'),
    [
        ('pelvis', 'is the root link'),
        ('l_shank', "is above the sensor 'l_foot_ft'"),
        ('r_foot', "does not carry the sole 'l_sole'"),
    ],
)
def test_a_link_on_the_wrong_side_of_the_sensor_is_refused(robot_yaml, tmp_path, below, why):
    robot_yaml['feet'][0]['wrench']['below'] = below
    path = tmp_path / 'robot.yaml'
    path.write_text(yaml.safe_dump(robot_yaml))
    robot = load_robot_file(path)
    with raising(ReplayError, 'not_below', foot='l_foot', link=below) as caught:
        make_rig(robot, load_model(robot.urdf_path, robot.root))
    sentence = str(caught.value)
    assert why in sentence
    assert 'press on the ground without being felt' in sentence
    assert "Is 'l_foot' meant?" in sentence


@pytest.mark.parametrize(('stated', 'found'), [(500.0, []), (1000.0, ['actuator_rate'])])
def test_the_rate_of_the_joints_is_that_of_one_publisher(stated, found):
    """Two publishers of some joints each make 1000 messages a second on the topic."""
    recording = SimpleNamespace(
        robot=SimpleNamespace(rates=SimpleNamespace(actuator=stated, bus=125.0)),
        uses={'joints': SimpleNamespace(rate=1000.0)},
        groups=(JointGroup((0, 1), 0.002), JointGroup((2,), 0.002)),
    )
    assert [finding.kind for finding in _rate(recording)] == found


@pytest.mark.parametrize(
    ('bus', 'said'), [(125.0, '125 Hz (default), but'), (200.0, '200 Hz, but')]
)
def test_a_rate_of_the_bus_that_nobody_stated_is_called_the_default(bus, said):
    recording = SimpleNamespace(
        robot=SimpleNamespace(rates=SimpleNamespace(actuator=None, bus=bus)),
        groups=(JointGroup((0, 1), 0.01),),
    )
    (finding,) = _rate(recording)
    assert f'rates.bus is {said}' in finding.sentence
