"""Settings, errors and counters of the graph: in this process, without DDS."""

import dataclasses
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
import yaml
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation
from shapely.geometry import LinearRing, Point

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.estimation import fusion
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.nodes import health
from izmp_dynamics.nodes.health import ERROR, OK
from izmp_dynamics.nodes.messages import quaternion, vector
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.fusing import FusionStage
from izmp_dynamics.pipeline.uncertainty import SampleNoise, izmp_covariance
from izmp_dynamics.results.topics import ANY_ANGLE
from izmp_dynamics.results.topics import TOPICS as TOPICS_OF_RESULTS
from izmp_dynamics.sensing.noise import degrees

from .bag_surgery import IMU, JOINTS, LEFT, SECOND
from .node_processes import GRAPH
from .pipeline_signals import joined
from .played_graph import COMPOSED, PlayedGraph, parameters, written
from .recorded import evaluate_log, read_bag

RATE = 250.0
"""Of all sensors [Hz]."""


pytestmark = pytest.mark.usefixtures('ros')


@pytest.fixture(scope='module')
def longer_bag(slower, tmp_path_factory):
    return slower.until(1.6).write(tmp_path_factory.mktemp('longer') / 'bag')


@pytest.fixture(scope='module')
def expected(short_bag, biped31):
    return evaluate_log(short_bag, biped31, live=True)[0]


@pytest.fixture
def composed(biped31):
    with PlayedGraph(biped31, parameters(), COMPOSED) as graph:
        yield graph


@pytest.fixture
def graph(biped31):
    """A node for each task."""
    with PlayedGraph(biped31, parameters()) as graph:
        yield graph


def assert_points(graph, expected, topic='/mr_ad/izmp', track='mr_ad', most=0.9):
    """Every point is that of the replay, at its stamp; that is most of them."""
    points = graph.messages[topic]
    known = np.isfinite(expected.points[track]).all(axis=1)
    assert known.mean() > most
    np.testing.assert_array_equal(sorted(points), expected.stamps[known])
    found = [vector(points[stamp].point) for stamp in sorted(points)]
    np.testing.assert_allclose(found, expected.points[track][known], rtol=0, atol=1e-9)


def test_joints_and_imu_that_hang_have_no_results_live_either(slower, biped31, tmp_path):
    draft = slower.until(1.6)
    for topic, paths, begin, end in (
        (JOINTS, ['position'], 0.3, 0.7),
        (IMU, ['angular_velocity', 'linear_acceleration'], 1.0, 1.3),
    ):
        rows = np.flatnonzero(draft[topic].between(begin, end))
        for path in paths:
            draft[topic][path][rows] = draft[topic][path][rows[0]]
    bag = draft.write(tmp_path / 'bag')
    expected = evaluate_log(bag, biped31)[0]
    known = np.isfinite(expected.points['mr_ad']).all(axis=1)
    assert 0.5 < known.mean() < 0.7
    with PlayedGraph(biped31, parameters()) as graph:
        graph.play(bag)
        assert_points(graph, expected, most=0.5)
        assert_only_where_the_joints_are_known(graph)
        acd, root = graph.values('acd')[1], graph.values('angular_acceleration')[1]
        assert int(acd['joints.hangs']) > 40
        assert int(root['imu.hangs']) > 30
        assert 'finding joints.hangs' in acd


def assert_only_where_the_joints_are_known(graph):
    joints = graph.messages['/joint_kinematics']
    known = {stamp for stamp, message in joints.items() if message.points}
    assert len(known) < len(joints) - 5
    for topic in ('/root_twist', '/root_acceleration', '/odom', '/mr_ad/izmp'):
        assert len(graph.messages[topic]) > 50
        assert set(graph.messages[topic]) <= known


def test_torques_share_the_load_live_as_in_replay(slower, short_bag, robot_yaml, tmp_path):
    feet = [{key: foot[key] for key in foot if key != 'wrench'} for foot in robot_yaml['feet']]
    path = written(robot_yaml, tmp_path, feet=feet)
    robot = load_robot_file(path)
    expected, rig = evaluate_log(short_bag, robot)
    topic = TOPICS_OF_RESULTS['feet/estimated_wrenches']
    (wrenches,) = topic.values(expected, rig)
    known = topic.known(expected, (wrenches,))
    with PlayedGraph(robot, parameters(robot=str(path))) as graph:
        graph.play(short_bag)
        assert 'efforts.torques_contradict' not in graph.values('izmp')[1]
    found = [message.data for message in graph.unstamped['/feet/estimated_wrenches']]
    np.testing.assert_allclose(found, wrenches[known], rtol=0, atol=1e-6)
    without = slower.until(1.2)
    without[JOINTS]['effort'][:] = 0.0
    other = evaluate_log(without.write(tmp_path / 'without'), robot)[0]
    assert np.nanmax(np.abs(other.ground.feet.shares - expected.ground.feet.shares)) > 1e-3


def test_a_half_width_is_set_while_the_graph_runs(composed, short_bag, biped31):
    """Before the first message, when no rate is known, and after the last: above the period."""
    node = composed.node('acd')
    for half_width in (0.08, 1.2 / RATE):
        (result,) = node.set_parameters([Parameter('filter.half_width', value=half_width)])
        assert result.successful, result.reason
        assert node.robot.filter.half_width == half_width
        composed.messages.clear()
        composed.play(short_bag)
        filtered = dataclasses.replace(biped31, filter=Filter(half_width=half_width))
        assert_points(composed, evaluate_log(short_bag, filtered, live=True)[0], most=0.8)
    (result,) = node.set_parameters([Parameter('filter.half_width', value=0.8 / RATE)])
    assert not result.successful
    assert node.robot.filter.half_width == half_width


LISTENERS = {
    '/joint_kinematics': 5,
    '/root_acceleration': 2,
    '/root_twist': 2,
    '/mr_ad/contact_wrench': 1,
    '/ir_md/contact_wrench': 1,
    '/odom': 3,  # mr_ad needs it for the momentum rate alone
    '/joint_states': 2,  # izmp learns which are published, for the fall alarm
    '/imu': 4,
}
"""How many of the nodes listen to a topic where somebody asks for all results."""


def test_a_node_subscribes_to_the_pose_as_soon_as_somebody_asks_for_what_needs_it(biped31):
    all_but = property(lambda output: output.topic != '/mr_ad/momentum_rate')
    with PlayedGraph(biped31, parameters(), wanted=False) as graph:
        for wanted, listeners in ((False, 0), (all_but, 2), (True, 3)):
            Output.wanted = wanted
            for node in graph.nodes:
                node.look_after(report=False)
            assert graph.gps.count_subscribers('/odom') == listeners


def test_a_sound_recording_is_no_finding_and_its_instants_are_counted(graph, short_bag):
    """The IMU's stamps lie between those of the joints; only its gyroscope's noise is stated."""

    def shifted(topic, message):
        if topic == '/imu':
            message.header.stamp.nanosec += 1_000_000  # the sway's stamps are even
        return message

    graph.play(short_bag, shifted)
    assert {topic: graph.gps.count_subscribers(topic) for topic in LISTENERS} == LISTENERS
    instants = len(graph.messages['/joint_kinematics'])
    for name in GRAPH:
        level, values = graph.values(name)
        counted = {key for key in values if key.startswith('finding')}
        assert (level, counted) == (OK, set()), name
        if name == 'angular_acceleration':
            assert 0.9 * instants < int(values['imu.interpolated']) <= instants
    pose, twist = odometry_covariances(graph)
    assert not pose.any()
    assert not twist[:3].any()


def test_an_error_in_a_stage_costs_a_message_and_is_counted(graph, short_bag):
    node = graph.node('angular_acceleration')
    calls = []

    def failing_once(take):
        def fail_once(*samples):
            calls.append(samples)
            if len(calls) == 150:
                raise ValueError('a contrived error')
            return take(*samples)

        return fail_once

    stream = node.evaluator.root.imu
    stream.push = failing_once(stream.push)
    graph.play(short_bag)
    assert len(calls) > 250
    level, values = graph.values('angular_acceleration')
    assert level == ERROR
    assert values['imu.raised'] == '1'
    assert 'a contrived error' in values['finding imu.raised']
    assert 'finding imu.raised' not in graph.values('angular_acceleration')[1]
    assert len(graph.messages['/mr_ad/izmp']) > 100


def test_one_quaternion_that_is_no_number_changes_no_sign(composed, short_bag, expected):
    """q and −q are the same orientation, also where the message between them is unusable."""
    count = 0

    def change(topic, message):
        nonlocal count
        if topic == '/imu':
            count += 1
            q = message.orientation
            if count == 201:  # at an instant
                q.x = float('nan')
            elif count > 201:
                q.x, q.y, q.z, q.w = -q.x, -q.y, -q.z, -q.w
        return message

    composed.play(short_bag, change)
    poses = composed.messages['/odom']
    known = np.isfinite(expected.world.p).all(axis=1)
    np.testing.assert_array_equal(sorted(poses), expected.stamps[known])
    found = [quaternion(poses[stamp].pose.pose.orientation) for stamp in sorted(poses)]
    sound = Rotation.from_matrix(expected.world.R[known])
    assert (Rotation.from_quat(found) * sound.inv()).magnitude().max() < 2e-3


def test_an_orientation_that_is_a_placeholder_is_no_vertical(longer_bag, biped31):
    """Once it is judged to be one, there is no level ground; a single node states why."""

    def unoriented(topic, message):
        if topic == IMU:
            q = message.orientation
            q.x, q.y, q.z, q.w = 0.0, 0.0, 0.0, 1.0
        return message

    with PlayedGraph(biped31, parameters(ground__source='gravity')) as graph:
        graph.play(longer_bag, unoriented)
        stamps = sorted(graph.messages['/joint_kinematics'])
        judged = stamps[0] + round(1.1 * SECOND)
        assert sum(stamp > judged for stamp in stamps) > 50
        assert not [stamp for stamp in graph.messages['/mr_ad/izmp'] if stamp > judged]
        assert 'finding imu 0' in graph.values('angular_acceleration')[1]
        assert 'finding imu 0' not in graph.values('izmp')[1]


def test_gravity_is_added_back_with_the_quaternions_that_the_replay_takes(
    slower, robot_yaml, tmp_path
):
    """A norm that is too far from one is no rotation: no specific force, and counted as such."""
    draft, wrong = slower.until(1.6), [203, *range(250, 260)]
    imu = draft[IMU]
    up = Rotation.from_quat(imu['orientation']).inv().apply([0.0, 0.0, GRAVITY])
    imu['linear_acceleration'] -= up
    imu['orientation'][wrong] *= 0.5
    imu['orientation'][300:350] *= 1.005
    imu['orientation_covariance'][360:370, 0] = -1.0  # not to be used, whatever it is
    path = tmp_path / 'robot.yaml'
    removed = robot_yaml['imu'] | {'gravity_removed': True}
    path.write_text(yaml.safe_dump(robot_yaml | {'imu': removed}))
    robot, bag = load_robot_file(path), draft.write(tmp_path / 'bag')
    with PlayedGraph(robot, parameters(robot=str(path))) as graph:
        graph.play(bag)
        assert_points(graph, evaluate_log(bag, robot)[0])
        _, values = graph.values('angular_acceleration')
        assert values['imu.not_finite'] == str(len(wrong))
        assert values['imu.no_orientation'] == '10'


@pytest.mark.parametrize(
    ('names', 'half_width'), [(COMPOSED, None), (GRAPH, 0.016)], ids=['composed', 'separate']
)
def test_pauses_change_no_number_and_lose_no_instant(short_bag, biped31, names, half_width):
    """Pauses in which nothing comes, of a simulation that is stopped or of a slow player.

    Of nodes of their own each waits for what the one before publishes in the pause.
    """
    count, numbers = 0, []

    def pausing(topic, message):
        nonlocal count
        count += 1
        if count in (3, 60, 350, 751, 752, 1499, 2003):
            graph.pause()
        return message

    robot, given = biped31, parameters()
    if half_width is not None:
        robot = dataclasses.replace(biped31, filter=Filter(half_width=half_width))
        given = parameters(filter__half_width=half_width)
    with PlayedGraph(robot, given, names) as graph:
        graph.play(short_bag, pausing, flush=False)
        numbers.append(len(graph.messages['/mr_ad/izmp']))
        graph.pause()
        numbers.append(len(graph.messages['/mr_ad/izmp']))
        made = sum((node.health.outputs for node in graph.nodes), Counter())
    assert count > 2003
    assert numbers[0] < numbers[1]
    expected, _ = evaluate_log(short_bag, robot, live=True)
    assert_points(graph, expected)
    for topic, track in (('/ir_md/izmp', 'ir_md'), ('/cop', 'cop')):
        assert_points(graph, expected, topic, track, most=0.0)
    assert {topic: len(messages) for topic, messages in graph.messages.items()} == {
        topic: made[topic] for topic in graph.messages
    }


def test_messages_that_are_delivered_again_are_waited_for(short_bag, biped31, expected):
    """Of one topic they are late, as they were lost on the way; meanwhile nothing else comes."""
    held, count = [], Counter()

    def losing(topic, message):
        count[topic] += 1
        if topic != '/l_foot/wrench' or not 200 < count[topic] <= 275:
            return message
        held.append((topic, message))
        if count[topic] == 275:
            graph.pause()
            for late in held:
                graph.give(*late)
        return None

    with PlayedGraph(biped31, parameters(reliable_inputs=True)) as graph:
        graph.play(short_bag, losing)
        margins = [message.data for message in graph.unstamped['/margin']]
    assert len(held) == 75
    assert_points(graph, expected)
    known = expected.margins['mr_ad'][np.isfinite(expected.margins['mr_ad'])]
    np.testing.assert_allclose(margins, known, rtol=0, atol=1e-9)


@pytest.mark.parametrize('names', [COMPOSED, GRAPH], ids=['composed', 'separate'])
def test_the_izmp_has_the_covariance_of_its_recording(
    longer_bag, robot_yaml, biped31, names, tmp_path
):
    """With the part of the encoders; as nodes of their own, from when the rates are known."""
    robot_yaml.setdefault('noise', {})['encoder'] = 5e-7
    path = written(robot_yaml, tmp_path)
    robot = load_robot_file(path)
    recording, signals = read_bag(longer_bag, robot)
    evaluator = Evaluator(recording.rig, recording.groups, recording.periods, live=True)
    (result,) = [joined(evaluator.push(signals) + evaluator.flush())]
    known = np.isfinite(result.points['mr_ad']).all(axis=1)
    expected = izmp_covariance(evaluator, result)[known]
    ideal = SampleNoise.of(biped31, [recording.periods['imu']] * 4, recording.model.dof)
    part = expected / izmp_covariance(evaluator, result, ideal)[known]
    assert np.median(np.diagonal(part, axis1=1, axis2=2)[:, :2]) > 1.1
    with PlayedGraph(robot, parameters(robot=str(path)), names) as graph:
        graph.play(longer_bag)
    messages = graph.messages['/mr_ad/izmp_with_covariance']
    late = len(expected) - len(messages)
    assert late == 0 if names == COMPOSED else late < 0.6 * len(expected)
    expected = expected[late:]
    np.testing.assert_array_equal(sorted(messages), result.stamps[known][late:])
    settled = 10 if late else 0  # the mean speed of the joints fades
    found = np.array([messages[stamp].pose.covariance for stamp in sorted(messages)])
    found = found.reshape(-1, 6, 6)
    compared = found[settled:, :3, :3], expected[settled:]
    np.testing.assert_allclose(*compared, rtol=1e-9, atol=1e-18)
    assert not found[:, :3, 3:].any()
    assert (found[:, 3:, 3:] == ANY_ANGLE * np.eye(3)).all()
    assert {messages[stamp].pose.pose.orientation.w for stamp in messages} == {1.0}
    points = [vector(messages[stamp].pose.pose.position) for stamp in sorted(messages)]
    np.testing.assert_allclose(points, result.points['mr_ad'][known][late:], rtol=0, atol=1e-9)
    of_margin, outlines = (
        graph.messages[f'/{name}'] for name in ('margin_with_covariance', 'support_polygon')
    )
    margins = graph.unstamped['/margin']
    for row, (stamp, message) in enumerate(sorted(of_margin.items())[settled:]):
        assert message.pose.pose.position.x == margins[row + late + settled].data
        corners = [vector(corner) for corner in outlines[stamp].polygon.points]
        slope = margin_slope(points[row + settled], np.array(corners))
        assert message.pose.covariance[0] == pytest.approx(
            slope @ expected[row + settled] @ slope,
            rel=0.02,  # the sole is nearly level in the root
        )
    assert len(of_margin) == len(points)
    sigma = 1e3 * np.sqrt(np.diagonal(expected, axis1=1, axis2=2))[:, :2]
    assert (sigma > 0.1).all()
    assert (sigma < 10.0).all()


def test_fused_wrenches_have_the_covariances_of_the_replay(
    slower, robot_yaml, tmp_path, monkeypatch
):
    """And a push, which the feet do not feel as the motion does, the point on the named link."""
    monkeypatch.setattr(fusion, 'WARM', 1)  # a push is seen after the first cell
    draft = slower.until(1.2)
    since = draft[LEFT].stamps - draft[LEFT].stamps[0]
    draft[LEFT]['wrench.force'][(since > 0.7 * SECOND) & (since < 0.9 * SECOND)] += 60.0
    path = written(robot_yaml, tmp_path, fusion={'link': 'trunk'})
    robot, bag = load_robot_file(path), draft.write(tmp_path / 'bag')
    with PlayedGraph(robot, parameters(robot=str(path)), COMPOSED) as composed:
        composed.play(bag)
    results, rig = evaluate_log(bag, robot, live=True, fuses=True)
    fused = results.fused
    rows = fused.changes & np.isfinite(fused.external[:, 0])
    for wrench, expected in (
        ('contact', fused.covariance), ('external', fused.external_covariance)
    ):  # fmt: skip
        messages = composed.unstamped[f'/fusion/{wrench}_wrench_covariance']
        found = np.reshape([message.data for message in messages], (-1, 6, 6))
        np.testing.assert_allclose(found, expected[rows], rtol=1e-9, atol=1e-12)
    topic = TOPICS_OF_RESULTS['fusion/push_on_link']
    messages, (expected,) = composed.messages['/fusion/push_on_link'], topic.values(results, rig)
    pushed = fused.pushed & np.isfinite(expected).all(axis=1)
    assert 10 < pushed.sum() < len(pushed) / 2
    np.testing.assert_array_equal(sorted(messages), results.stamps[pushed])
    poses = [messages[stamp].pose for stamp in sorted(messages)]
    found = [[*vector(each.pose.position), *each.covariance] for each in poses]
    wanted = np.delete(expected[pushed], slice(3, 7), axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert {messages[stamp].header.frame_id for stamp in messages} == {'trunk'}


def test_motion_and_feet_are_fused_only_while_somebody_asks(composed, short_bag):
    nobody = property(lambda output: '/fusion/' not in output.topic)
    with patch.object(Output, 'wanted', nobody), patch.object(FusionStage, 'push') as push:
        composed.pause()
        composed.play(short_bag)
    assert len(composed.messages['/mr_ad/izmp']) > 50
    push.assert_not_called()


def margin_slope(point, corners, step=1e-6):
    """(3,) how the distance from the edge of a polygon changes with a point, by differences."""
    ring = LinearRing(corners[:, :2])
    moved = [(point + step * axis)[:2] for axis in (*np.eye(3), *-np.eye(3))]
    distances = np.array([ring.distance(Point(*each)) for each in moved])
    return (distances[:3] - distances[3:]) / (2.0 * step)


def test_odometry_has_the_covariances_of_its_sensors(short_bag, biped31):
    values = {'noise__position': 2e-4, 'noise__orientation': 0.01}
    with PlayedGraph(biped31, parameters(**values), COMPOSED) as graph:
        graph.play(short_bag)
    pose, twist = odometry_covariances(graph)
    tilt, fix = degrees(0.01) * np.sqrt(RATE), 2e-4 * np.sqrt(RATE)
    np.testing.assert_allclose(np.diag(pose)[3:], tilt**2)
    assert (np.diag(pose)[:3] >= fix**2).all()
    assert np.trace(pose[:3, :3]) < 3.0 * (fix**2 + tilt**2)  # arms are less than a metre
    assert (np.diag(twist)[:3] >= 0.5 * (fix * RATE) ** 2).all()


def odometry_covariances(graph):
    """Of the last pose and twist, each (6, 6)."""
    last = graph.messages['/odom'][max(graph.messages['/odom'])]
    pose = np.reshape(last.pose.covariance, (6, 6))
    twist = np.reshape(last.twist.covariance, (6, 6))
    np.testing.assert_allclose(np.diag(twist)[3:], (degrees(0.01) * np.sqrt(RATE)) ** 2)
    return pose, twist


def test_the_mounting_of_an_imu_without_a_stated_frame_is_learned_by_all(
    short_bag, robot_yaml, tmp_path
):
    path = written(robot_yaml, tmp_path, imu={'topic': 'imu'})
    with PlayedGraph(load_robot_file(path), parameters(robot=str(path))) as graph:
        nodes = [graph.node(name) for name in ('angular_acceleration', 'localizer', 'izmp')]
        assert all(node.sensors.rig() is None for node in nodes)
        graph.play(short_bag)
        assert all(node.sensors.rig().imu.p.any() for node in nodes)
        assert len(graph.messages['/mr_ad/izmp']) > 100


def test_odometry_of_a_link_that_moves_against_the_root_is_refused_every_time(
    robot_yaml, tmp_path
):
    path = written(robot_yaml, tmp_path, position={'topic': 'gps'})
    with PlayedGraph(load_robot_file(path), parameters(robot=str(path))) as graph:
        node = graph.node('localizer')
        node.sensors.choose_source(True)
        for _ in range(3):
            with pytest.raises(IzmpError, match='l_foot'):
                node.sensors.learn_positioned('l_foot')


def test_what_keeps_the_composed_node_waiting_is_stated(
    short_bag, robot_yaml, tmp_path, monkeypatch
):
    """At first as a note, as the sensor may still come."""
    feet = [dict(foot, wrench=dict(foot['wrench'])) for foot in robot_yaml['feet']]
    del feet[0]['wrench']['frame']
    path = written(robot_yaml, tmp_path, feet=feet)
    topic = feet[0]['wrench']['topic']
    with PlayedGraph(load_robot_file(path), parameters(robot=str(path)), COMPOSED) as graph:
        (node,) = graph.nodes
        graph.play(short_bag, lambda name, message: None if name.endswith(topic) else message)
        for awaited, expected in ((1000.0, OK), (0.0, ERROR)):
            monkeypatch.setattr(health, 'AWAITED', awaited)
            level, values = graph.status(node)
            assert level == expected
            assert topic in values['finding waiting for frames']
        graph.play(short_bag)
        assert 'finding waiting for frames' not in graph.status(node)[1]
        assert len(graph.messages['/mr_ad/izmp']) > 50
