"""Frames of points, messages and TF: under robot_state_publisher, with prefixes."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import MissingDependencyError, RobotFileError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes import transforms
from izmp_dynamics.nodes.messages import (
    quaternion,
    rotation_matrix,
    stamp_of,
    vector,
)
from izmp_dynamics.nodes.registry import node_class
from izmp_dynamics.stability.support_polygon import plane_axes

from .played_graph import COMPOSED, GRAPH, PlayedGraph, parameters, written
from .raising import raising
from .recorded import evaluate_log
from .requiring import need

pytestmark = pytest.mark.usefixtures('ros')


@pytest.fixture(scope='module')
def expected(short_bag, biped31):
    return evaluate_log(short_bag, biped31)[0]


@pytest.fixture
def broadcast(monkeypatch):
    """Transforms that were broadcast: (parent, child) → stamp → rotation matrix, position."""
    seen = {}

    def send(self, each):
        pose = each.transform
        entry = seen.setdefault((each.header.frame_id, each.child_frame_id), {})
        entry[stamp_of(each)] = (
            rotation_matrix(quaternion(pose.rotation)),
            vector(pose.translation),
        )

    monkeypatch.setattr(transforms.TransformBroadcaster, 'send', send)
    monkeypatch.setattr(transforms.TransformBroadcaster, 'wanted', True)
    return seen


@pytest.mark.parametrize(
    ('link', 'prefix', 'names'),
    [
        ('world', '', ('izmp_world', 'nif')),
        ('world', 'anna/', ('world', 'nif')),
        ('nif', '', ('world', 'izmp_nif')),
        ('nif', 'anna/', ('world', 'izmp_nif')),
    ],
)
def test_world_and_nif_have_names_that_no_link_has(
    biped31, robot_yaml, tmp_path, link, prefix, names
):
    tie = f'<link name="{link}"/><joint name="tie" type="fixed"><parent link="{link}"/>'
    tie += '<child link="pelvis"/></joint></robot>'
    urdf = biped31.urdf_path.read_text('utf-8').replace('</robot>', tie)
    (tmp_path / 'robot.urdf').write_text(urdf)
    path = written(robot_yaml | {'urdf': 'robot.urdf'}, tmp_path)
    node = node_class('izmp')(
        overrides=parameters(robot=str(path), frame_prefix=prefix, evaluation_frame=link)
    )
    assert node.model.urdf_root == link
    assert (node.frame_names.world, node.frame_names.nif) == names
    R, p = node.outputs.verdict.frame.pose(0, np.zeros(node.model.dof), np.array([0.0, 0.6, 0.8]))
    node.destroy_node()
    np.testing.assert_allclose(R, np.eye(3), atol=1e-12)  # the link's, not that of the ground
    np.testing.assert_allclose(p, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ('ground', 'names'),
    [('world', ('izmp_world', 'nif')), ('nif', ('world', 'izmp_nif')), ('deck', ('world', 'nif'))],
)
def test_world_and_nif_have_names_that_a_moving_ground_has_not(
    robot_yaml, tmp_path, ground, names
):
    moving = {'source': 'frame', 'frame': ground, 'topic': 'deck'}
    path = written(robot_yaml | {'ground': moving}, tmp_path)
    node = node_class('izmp')(overrides=parameters(robot=str(path)))
    node.destroy_node()
    assert (node.frame_names.world, node.frame_names.nif) == names


def test_tf_ends_at_the_root_of_the_urdf(biped31, robot_yaml, short_bag, broadcast, tmp_path):
    """That of the foot, the root of the dynamics here, follows with the joints of the instant."""
    foot = dict(robot_yaml, root='l_foot', imu={'topic': 'imu', 'frame': 'l_foot'})
    foot['position'] = {'topic': 'gps'}
    del foot['accelerometers']
    for each in foot['feet']:
        each['wrench'].pop('below', None)
    path = written(foot, tmp_path)
    with PlayedGraph(load_robot_file(path), parameters(robot=str(path))) as graph:
        graph.play(short_bag)
    assert set(broadcast) == {('world', 'pelvis'), ('l_foot', 'nif')}
    odometry, joints = graph.messages['/odom'], graph.messages['/joint_kinematics']
    assert len(odometry) > 100
    assert odometry.keys() == broadcast['world', 'pelvis'].keys()
    model = load_model(biped31.urdf_path)
    assert model.root == 'pelvis'
    for stamp, (R, p) in broadcast['world', 'pelvis'].items():
        (instant,) = joints[stamp].points
        positions = dict(zip(joints[stamp].joint_names, instant.positions, strict=True))
        pelvis_R_foot, p_foot = model.frame_pose(
            'l_foot', [positions[name] for name in model.joint_names]
        )
        foot = odometry[stamp].pose.pose
        world_R_foot = rotation_matrix(quaternion(foot.orientation))
        np.testing.assert_allclose(R @ pelvis_R_foot, world_R_foot, atol=1e-9)
        np.testing.assert_allclose(p + R @ p_foot, vector(foot.position), atol=1e-9)


@pytest.mark.parametrize('names', [COMPOSED, GRAPH], ids=['composed', 'separate'])
def test_frames_have_the_prefix_and_results_are_below_the_namespace(
    names, robot_yaml, short_bag, broadcast, tmp_path
):
    """The frame of the IMU is stated by its messages alone."""
    path = written(robot_yaml, tmp_path, imu={'topic': 'imu'})
    given = parameters(
        robot=str(path), results_namespace='izmp',
        frame_prefix='red/', world_frame='map', evaluation_frame='l_sole',
    )  # fmt: skip

    def prefixed(topic, message):
        if hasattr(message, 'header') and message.header.frame_id:
            prefix = '/red' if topic == '/imu' else 'red'
            message.header.frame_id = f'{prefix}/{message.header.frame_id}'
        return message

    with PlayedGraph(load_robot_file(path), given, names) as graph:
        graph.play(short_bag, prefixed)
        frames = {
            topic.removeprefix('/izmp'): {each.header.frame_id for each in messages.values()}
            for topic, messages in graph.messages.items()
        }
        findings = {key for node in graph.nodes for key in graph.status(node)[1]}
        services = dict(graph.node('izmp').get_service_names_and_types())
    assert {topic.split('/')[1] for topic in graph.published} == {'izmp'}
    assert '/izmp/tare' in services
    assert len(graph.messages['/izmp/mr_ad/izmp']) > 100
    assert len(graph.messages['/izmp/ir_md/izmp']) > 100
    assert set(broadcast) == {('map', 'red/pelvis'), ('red/pelvis', 'red/nif')}
    assert not [key for key in findings if key.startswith('finding frame')]
    for topic in ('/root_acceleration', '/root_twist', '/mr_ad/contact_wrench', '/com'):
        assert frames[topic] == {'red/pelvis'}
    for topic in ('/mr_ad/izmp', '/ir_md/izmp', '/cop', '/gap', '/support_polygon'):
        assert frames[topic] == {'red/l_sole'}
    assert frames['/ir_md/contact_wrench'] == frames['/odom'] == {'map'}
    odometry = graph.messages['/izmp/odom'].values()
    assert {message.child_frame_id for message in odometry} == {'red/pelvis'}


@pytest.mark.parametrize('publish', [False, True])
def test_tf_is_broadcast_unless_publish_tf_is_false(publish):
    need('tf2_msgs')
    node = node_class('localizer')(overrides=parameters(publish_tf=publish))
    topics = dict(node.get_publisher_names_and_types_by_node('localizer', '/'))
    node.destroy_node()
    assert '/odom' in topics
    assert ('/tf' in topics) == publish


@pytest.mark.parametrize('topic', ['odom', '/odom'])
def test_a_position_that_is_the_own_result_is_refused(robot_yaml, topic, tmp_path):
    position = robot_yaml['position'] | {'topic': topic}
    path = written(robot_yaml | {'position': position}, tmp_path)
    for name in ('localizer', 'izmp', 'composed'):
        with raising(Exception, 'own_odometry', topic=topic):
            node_class(name)(overrides=parameters(robot=str(path)))
    given = parameters(robot=str(path), results_namespace='izmp')
    node_class('localizer')(overrides=given).destroy_node()  # the robot's odom is not its own


def expected_in(frame, expected):
    """(K, 3) what it is in the replay."""
    point = expected.points['mr_ad']
    if frame == 'world':
        return np.einsum('kij,kj->ki', expected.world.R, point) + expected.world.p
    if frame == 'nif':
        axes = [np.vstack([plane_axes(normal), normal]) for normal in expected.ground.plane.normal]
        return np.einsum('kij,kj->ki', np.array(axes), point)
    sole = expected.ground.soles[0]
    return np.einsum('kji,kj->ki', sole.R, point - sole.p)


@pytest.mark.parametrize(
    ('frame', 'names'), [('world', GRAPH), ('nif', COMPOSED), ('l_sole', GRAPH)]
)
def test_every_point_is_given_in_that_frame(frame, short_bag, expected, biped31, names):
    with PlayedGraph(biped31, parameters(evaluation_frame=frame), names) as graph:
        graph.play(short_bag)
        points = graph.messages['/mr_ad/izmp']
    wanted = expected_in(frame, expected)
    known = np.isfinite(wanted).all(axis=1)
    assert known.mean() > 0.9
    stamps = expected.stamps[known]
    np.testing.assert_array_equal(sorted(points), stamps)
    for stamp, point in zip(stamps.tolist(), wanted[known], strict=True):
        assert points[stamp].header.frame_id == frame
        np.testing.assert_allclose(vector(points[stamp].point), point, atol=1e-9)


def test_points_of_a_pause_whose_frame_is_known_late_are_published_once(
    short_bag, expected, biped31
):
    """They are evaluated at the pause and, when the messages go on, again."""
    count, late = 0, False

    def pausing(topic, message):
        nonlocal count, late
        count += 1
        if count in (751, 1499):
            late = True
            graph.pause()
        elif count in (781, 1529):
            late = False
        return message

    with PlayedGraph(biped31, parameters(evaluation_frame='l_sole'), COMPOSED) as graph:
        (node,) = graph.nodes
        frame = node.outputs.verdict.frame
        known = frame.pose
        frame.pose = lambda *instant: None if late else known(*instant)
        graph.play(short_bag, pausing)
        assert count > 1529
        points = graph.messages['/mr_ad/izmp']
        assert node.health.outputs['/mr_ad/izmp'] == len(points)
    known = np.isfinite(expected.points['mr_ad']).all(axis=1)
    np.testing.assert_array_equal(sorted(points), expected.stamps[known])


def test_a_frame_of_tf_needs_tf2_ros():
    try:
        import tf2_ros  # noqa: F401
    except ImportError:
        with pytest.raises(MissingDependencyError, match=r"'ceiling', .*not a link.*tf2_ros"):
            node_class('izmp')(overrides=parameters(evaluation_frame='ceiling'))
    else:
        pytest.skip('tf2_ros is here; test_node_tf.py tests with it')


def test_the_world_needs_a_position(robot_yaml, tmp_path):
    del robot_yaml['position']
    path = written(robot_yaml, tmp_path)
    with pytest.raises(RobotFileError, match='evaluation_frame is world, but'):
        node_class('izmp')(overrides=parameters(robot=str(path), evaluation_frame='world'))
