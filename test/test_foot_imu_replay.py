"""A recording with IMUs in the feet: the ground that they show, also when joints are wrong."""

import copy
import dataclasses

import numpy as np
import pytest
import yaml

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import ReplayError, SensingError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.diagnosis.signals import nothing_came_out
from izmp_dynamics.model.feet import FootImu, Ground
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.recording.replay import Collector, make_evaluator
from izmp_dynamics.verdict.summary import summary_of

from .bag_surgery import IMU
from .pipeline_signals import evaluate
from .raising import raising
from .recorded import read_bag

ANKLES = ('l_ankle_pitch', 'r_ankle_pitch')
ERROR = np.radians(1.0)


@pytest.fixture(scope='module')
def recorded(slower, tmp_path_factory):
    """Two seconds of the sway, in which both feet stand on level ground; with IMUs in them."""
    draft = slower.until(1.2)
    for side, noise in (('l', 0.02), ('r', 0.03)):
        part = copy.deepcopy(draft[IMU])
        part.topic = f'/{side}_foot/imu'
        part.like = part.like | {'header.frame_id': f'{side}_foot'}
        shape = part['linear_acceleration'].shape
        still = np.random.default_rng(ord(side)).normal(0.0, noise, shape)
        part['angular_velocity'] = np.zeros(shape)
        part['linear_acceleration'] = still + np.array([0.0, 0.0, GRAVITY])
        draft.parts.append(part)
    return draft.write(tmp_path_factory.mktemp('feet') / 'bag')


def with_imus(robot, source='feet_imus', **changes):
    """The robot with an IMU in every foot."""
    feet = tuple(
        dataclasses.replace(foot, imu=FootImu(f'{foot.name}/imu', **changes))
        for foot in robot.feet
    )
    return dataclasses.replace(robot, feet=feet, ground=Ground(source=source))


def evaluated(bag, robot, wrong=0.0, silent=()):
    """All results, when the encoders of the ankles are wrong by so much [rad]."""
    recording, signals = read_bag(bag, robot)
    columns = [recording.model.joint_names.index(name) for name in ANKLES]
    signals['joints'].values[:, columns] += wrong
    for foot in silent:
        del signals[f'foot_imus[{foot}]']
    return evaluate(make_evaluator(recording), [signals]), recording


def tilt_deg(results):
    """Angle between the normal and the vertical of the world [°]."""
    cosine = np.sum(results.ground.plane.normal * results.world.R[:, 2, :], axis=1)
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def test_wrong_ankles_tilt_the_sole_but_not_the_ground_of_the_feet_imus(recorded, biped31):
    by_sole, _ = evaluated(recorded, with_imus(biped31, 'sole'), ERROR)
    by_imus, recording = evaluated(recorded, with_imus(biped31), ERROR)
    assert np.nanmedian(tilt_deg(by_sole)) == pytest.approx(1.0, abs=0.1)
    assert np.nanmedian(tilt_deg(by_imus)) < 0.05
    assert not recording.missing
    assert {'foot_imus[l_foot]', 'foot_imus[r_foot]'} <= set(recording.uses)


def test_without_the_topics_it_is_the_sole_and_said(sound, tmp_path, biped31):
    bag = sound.write(tmp_path / 'bag')
    _, recording = evaluated(bag, with_imus(biped31))
    assert recording.robot.ground.source == 'sole'
    assert [found.kind for found in recording.missing] == ['not_in_bag'] * 2
    assert [found.data['judged_by'] for found in recording.missing] == [True, True]
    _, recording = evaluated(bag, with_imus(biped31, 'sole'))
    assert [found.data['judged_by'] for found in recording.missing] == [False, False]


def test_an_imu_that_is_not_on_the_foot_is_a_sentence(biped31):
    with raising(ReplayError, 'not_on_sole', foot='l_foot', frame='imu_link'):
        make_rig(with_imus(biped31, frame='imu_link'))


def test_without_a_frame_it_is_a_sentence(biped31):
    with raising(ReplayError, 'no_frame_id', signal='foot_imus[l_foot]'):
        make_rig(with_imus(biped31))


def test_without_orientation_of_the_root_it_is_a_sentence(biped31):
    robot = with_imus(biped31)
    feet = tuple(
        dataclasses.replace(foot, imu=dataclasses.replace(foot.imu, frame=foot.name))
        for foot in robot.feet
    )
    rig = make_rig(dataclasses.replace(robot, feet=feet))
    with raising(SensingError, 'no_orientation', source='feet_imus'):
        Evaluator(rig, orientation=None)


def test_a_silent_imu_leaves_the_other_foot_and_two_leave_the_soles(recorded, biped31):
    by_sole, _ = evaluated(recorded, with_imus(biped31, 'sole'), ERROR)
    by_one, _ = evaluated(recorded, with_imus(biped31), ERROR, silent=('l_foot',))
    by_none, _ = evaluated(recorded, with_imus(biped31), ERROR, silent=('l_foot', 'r_foot'))
    np.testing.assert_array_equal(by_none.ground.plane.normal, by_sole.ground.plane.normal)
    by_both, _ = evaluated(recorded, with_imus(biped31), ERROR)
    left, right = (sole.normal_force for sole in by_one.ground.soles)
    for on_left, expected in ((True, by_sole), (False, by_both)):
        rows = (left > right) == on_left
        assert rows.mean() > 0.1
        np.testing.assert_array_equal(
            by_one.ground.plane.normal[rows], expected.ground.plane.normal[rows]
        )


def test_the_nodes_give_the_numbers_of_the_replay(recorded, biped31, tmp_path):
    """Points at every instant; an IMU that is silent leaves the sole."""
    import rclpy

    from .node_processes import free_domain
    from .played_graph import GRAPH, PlayedGraph

    robot = with_imus(biped31)
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    try:
        file = [rclpy.parameter.Parameter('robot', value=str(written(robot, tmp_path)))]
        with PlayedGraph(robot, file, GRAPH) as graph:
            graph.play(recorded, lambda topic, each: None if topic == '/l_foot/imu' else each)
    finally:
        rclpy.shutdown()
    expected, _ = evaluated(recorded, robot, silent=['l_foot'])
    known = np.isfinite(expected.points['mr_ad']).all(axis=1)
    assert known.mean() > 0.9
    points = graph.messages['/mr_ad/izmp']
    np.testing.assert_array_equal(sorted(points), expected.stamps[known])
    found = [points[stamp].point for stamp in sorted(points)]
    np.testing.assert_allclose(
        [(point.x, point.y, point.z) for point in found],
        expected.points['mr_ad'][known],
        rtol=0,
        atol=1e-9,
    )


def written(robot, folder):
    """The file of biped31 with the IMUs of another robot's feet."""
    source = robot.urdf_path.parent
    content = yaml.safe_load((source / 'robot.yaml').read_text())
    content['urdf'] = str(robot.urdf_path)
    content['ground'] = {'source': robot.ground.source}
    for foot, with_imu in zip(content['feet'], robot.feet, strict=True):
        foot['imu'] = {'topic': with_imu.imu.topic, 'frame': with_imu.name}
    path = folder / 'robot.yaml'
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_mounting_is_taken_from_the_urdf(biped31):
    left = with_imus(biped31, frame='l_foot').feet[0]
    rig = make_rig(dataclasses.replace(biped31, feet=(left,)))
    model = load_model(biped31.urdf_path, biped31.root)
    q = np.zeros(model.dof)
    expected = model.frame_pose('l_sole', q)[0].T @ model.frame_pose('l_foot', q)[0]
    np.testing.assert_allclose(rig.feet[0].sole_R_imu, expected, atol=1e-12)


def test_imus_that_contradict_the_joints_are_a_finding_of_their_own(recorded, biped31):
    """Upside down in the feet: the ground stays unknown, and the reason is counted and named."""
    results, recording = evaluated(recorded, with_imus(biped31))
    evaluator = make_evaluator(recording)
    _, signals = read_bag(recorded, with_imus(biped31))
    for side in ('l_foot', 'r_foot'):
        signals[f'foot_imus[{side}]'].values[:] *= -1.0
    collector = Collector(recording)
    for piece in evaluator.push(signals) + evaluator.flush():
        collector.add(piece)
    counted = sum(
        evaluator.faults[f'foot_imus[{side}]'][Fault(Reason.IMU_CONTRADICTS)]
        for side in ('l_foot', 'r_foot')
    )
    assert counted > 0.9 * len(results.stamps)
    evaluation = collector.evaluation(evaluator)
    keys = {finding.key for finding in summary_of(evaluation).findings}
    assert keys & {'imu_contradicts_joints[/l_foot/imu]', 'imu_contradicts_joints[/r_foot/imu]'}
    error = nothing_came_out(recording, evaluation)
    assert error.kind == 'imu_contradicts_joints'
    assert 'Check the frame in which that IMU is mounted' in str(error)
