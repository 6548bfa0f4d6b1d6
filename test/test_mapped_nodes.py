"""A node reads joints and IMU from fields of another message type, as the replay does."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import ReplayError, RobotFileError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.nodes.messages import vector

from .bag_surgery import IMU, JOINTS, Part
from .node_processes import GRAPH
from .played_graph import COMPOSED, PlayedGraph, parameters, written
from .raising import raising
from .recorded import evaluate_log

TYPE = 'trajectory_msgs/msg/JointTrajectory'
TICK = 'points[0].time_from_start.sec'


@pytest.fixture(scope='module')
def bag(slower, tmp_path_factory):
    """The joints are the first point of a trajectory, the IMU is the second."""
    draft = slower.until(1.2)
    joints, imu = draft[JOINTS], draft[IMU]
    values = {
        'header.stamp': joints.stamps,
        'points[0].positions': joints['position'],
        TICK: (joints.stamps - joints.stamps[0]) // 10**6 + 4000,
        'points[1].velocities': imu['angular_velocity'],
        'points[1].accelerations': imu['linear_acceleration'],
        'points[1].effort': imu['orientation'][:, [3, 0, 1, 2]],
    }
    like = {'points': 2} | {path: row[0].copy() for path, row in values.items() if row.ndim > 1}
    draft.replace(JOINTS, Part('/state', TYPE, like, joints.received + 300_000, values))
    draft.drop(IMU)
    return draft.write(tmp_path_factory.mktemp('mapped') / 'bag')


@pytest.fixture
def content(sound, robot_yaml):
    """Of a robot file with the mapping."""
    state = {'topic': 'state', 'type': TYPE}
    names = list(sound[JOINTS].like['name'])
    return robot_yaml | {
        'joints': {**state, 'names': names, 'positions': 'points[0].positions[0:31]'},
        'imu': {
            **state, 'frame': 'imu_link', 'quaternion': 'wxyz',
            'angular_velocity': 'points[1].velocities[0:3]',
            'linear_acceleration': 'points[1].accelerations[0:3]',
            'orientation': 'points[1].effort[0:4]',
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ('clock', 'nodes'),
    [
        ('header.stamp', GRAPH),
        (f'{TICK} * 0.001', COMPOSED),
        ('received', COMPOSED),
    ],
)
@pytest.mark.usefixtures('ros')
def test_the_nodes_give_the_numbers_of_the_replay(bag, content, clock, nodes, tmp_path):
    for key in ('joints', 'imu'):
        content[key]['clock'] = clock
    wrench = {'type': 'geometry_msgs/msg/WrenchStamped', 'field': 'wrench.force.z'}
    for foot, stated in zip(content['feet'], ('force', 'contact'), strict=True):
        foot[stated] = wrench | {'topic': foot.pop('wrench')['topic']}
    content['feet'][1]['contact'] |= {'loaded_above': 135.0}
    path = written(content, tmp_path)
    robot = load_robot_file(path)
    expected = evaluate_log(bag, robot)[0]
    with PlayedGraph(robot, parameters(robot=str(path)), nodes) as graph:
        graph.play(bag)
        points = graph.messages['/mr_ad/izmp']
    known = np.isfinite(expected.points['mr_ad']).all(axis=1)
    assert known.mean() > 0.9
    assert {(True, True), (True, False)} <= set(map(tuple, expected.ground.feet.loaded.tolist()))
    np.testing.assert_array_equal(sorted(points), expected.stamps[known])
    found = [vector(points[stamp].point) for stamp in sorted(points)]
    np.testing.assert_allclose(found, expected.points['mr_ad'][known], rtol=0, atol=1e-9)


@pytest.mark.usefixtures('ros')
def test_what_a_node_cannot_read_is_a_sentence(content, tmp_path):
    def start(names=COMPOSED):
        path = written(content, tmp_path)
        with PlayedGraph(load_robot_file(path), parameters(robot=str(path)), names):
            pass

    content['joints']['clock'] = 'received'
    with raising(RobotFileError, 'mapped') as caught:
        start(['acd'])
    assert 'joints have no header, or another clock' in str(caught.value)
    content['joints']['positions'] = 'points[0].angles[0:31]'
    with raising(ReplayError, 'unknown_field') as caught:
        start()
    assert 'positions, velocities, accelerations, effort' in str(caught.value)
    content['joints']['type'] = 'my_robot/msg/LowState'
    with raising(ReplayError, 'unknown_message_type') as caught:
        start()
    assert 'package my_robot ' in str(caught.value)
