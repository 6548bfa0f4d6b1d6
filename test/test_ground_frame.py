"""A ground that moves: geometry against exact truth, and whole recordings with such a ground."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.bags.messages import pose_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.check import check
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.feet import Ground
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.stability.ground_plane import GroundFrame
from izmp_dynamics.stability.zmp import zero_moment_point

from .bag_surgery import GPS, IMU, SECOND, Part
from .command_line import assert_refused, assert_whole
from .raising import raising

BOARD = '/board/pose'
HEIGHT = 0.05


# ---- geometry ----


@st.composite
def poses(draw):
    """(1, 3, 3) and (1, 3): a rotation and a place."""
    number = st.floats(-2.0, 2.0)
    turn = draw(st.tuples(number, number, number))
    place = draw(st.tuples(number, number, number))
    return Rotation.from_rotvec(turn).as_matrix()[None], np.array([place])


@given(poses(), poses(), poses())
def test_given_in_the_world_or_in_a_link_it_is_the_same_frame(ground, root, link):
    world_R_link = root[0] @ link[0]
    world_p_link = root[1] + np.einsum('tij,tj->ti', root[0], link[1])
    in_link = GroundFrame.from_world(*ground, world_R_link, world_p_link)
    by_link = GroundFrame.from_link(in_link.R, in_link.p, *link)
    by_world = GroundFrame.from_world(*ground, *root)
    np.testing.assert_allclose(by_link.R, by_world.R, atol=1e-12)
    np.testing.assert_allclose(by_link.p, by_world.p, atol=1e-12)


@given(poses(), st.floats(-0.5, 0.5), st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
def test_a_force_through_a_point_of_the_ground_has_its_zmp_there(pose, height, x, y):
    frame = GroundFrame(*pose)
    foot = np.array([[x, y, height]])
    point = frame.p + np.einsum('tij,tj->ti', frame.R, foot)
    force = np.einsum('tij,tj->ti', frame.R, np.array([[30.0, -20.0, 300.0]]))
    plane = frame.plane(height)
    wrench = ContactWrench(force, np.cross(point, force) + 5.0 * plane.normal)
    zmp = zero_moment_point(wrench, plane.normal, plane.point, 10.0)
    np.testing.assert_allclose(zmp, point, atol=1e-11)
    np.testing.assert_allclose(frame.points(zmp), foot, atol=1e-11)


# ---- recordings ----


def moving_board(sound, frame_id='world'):
    """A board that turns, tilts and slides; its pose in the world at every stamp of the IMU."""
    stamps = sound[IMU].stamps
    time = (stamps - stamps[0]) / SECOND
    turns = np.column_stack([0.05 * np.sin(6.0 * time), 0.03 * np.cos(5.0 * time), time])
    position = np.column_stack([0.1 * time, -0.2 * np.sin(3.0 * time), 0.02 * np.cos(time)])
    return Part(
        BOARD,
        'geometry_msgs/msg/PoseStamped',
        {'header.frame_id': frame_id},
        sound[IMU].received.copy(),
        {
            'header.stamp': stamps.copy(),
            'pose.position': position,
            'pose.orientation': Rotation.from_rotvec(turns).as_quat(),
        },
    )


def on_board(draft, robot, frame_id='world'):
    """Add the board to a recording and to the robot file."""
    draft.parts.append(moving_board(draft, frame_id))
    robot['ground'] = {
        'source': 'frame',
        'frame': 'board',
        'topic': BOARD.lstrip('/'),
        'height': HEIGHT,
    }


def places(desk, topic):
    """Stamps (T,), points (T, 3) and frames of a topic of the results."""
    with BagReader(desk.results / 'bag') as bag:
        (batch,) = bag.batches([topic], 1e9)
        read = pose_batch(batch[topic])
    return read.stamps, read.positions, read.frame_ids


def test_the_point_lies_on_the_board_where_the_true_wrench_goes_through_it(corrupted, sway):
    desk = corrupted(on_board)
    assert_whole(desk, desk.replay())
    stamps, on, frames = places(desk, '/mr_ad/izmp_in_ground')
    assert set(frames) == {'board'}
    np.testing.assert_allclose(on[:, 2], HEIGHT, atol=1e-9)
    run = sway[0]
    rows = np.searchsorted(run.stamps, stamps)
    truth = run.truth
    with BagReader(desk.bag) as bag:
        (batch,) = bag.batches([BOARD], 1e9)
        pose = pose_batch(batch[BOARD])
    at = np.searchsorted(pose.stamps, stamps)
    frame = GroundFrame.from_world(
        Rotation.from_quat(pose.orientations[at]).as_matrix(),
        pose.positions[at],
        truth.root.rotation[rows],
        truth.root.position[rows],
    )
    plane = frame.plane(HEIGHT)
    wrench = ContactWrench.from_array(truth.ground_wrench[rows])
    expected = frame.points(zero_moment_point(wrench, plane.normal, plane.point, 10.0))
    distance = np.linalg.norm(on - expected, axis=1)
    assert len(stamps) > 200
    assert distance.mean() < 1e-3
    root_stamps, in_root, _ = places(desk, '/mr_ad/izmp')
    np.testing.assert_array_equal(root_stamps, stamps)
    np.testing.assert_allclose(frame.points(in_root), on, atol=1e-6)


def test_a_board_seen_from_a_link_needs_no_position(corrupted):
    def damage(draft, robot):
        on_board(draft, robot, 'trunk')
        draft.drop(GPS)
        del robot['position']
        robot['ground']['height'] = -0.9

    desk = corrupted(damage)
    assert_whole(desk, desk.replay())
    _, on, _ = places(desk, '/mr_ad/izmp_in_ground')
    np.testing.assert_allclose(on[:, 2], -0.9, atol=1e-9)


def test_poses_that_are_missing_are_counted_and_leave_no_point(corrupted, sound_points):
    def damage(draft, robot):
        on_board(draft, robot)
        draft[BOARD]['pose.orientation'][100:104] = 0.0
        draft[BOARD]['pose.position'][110] = np.nan
        draft.lose(BOARD, 0.5, 1.0)

    desk = corrupted(damage)
    assert_whole(desk, desk.replay())
    gated = desk.gated()[BOARD]
    assert gated['no_rotation'] == 4
    assert gated['not_finite'] == 1
    missing = gated['no_sample']
    assert missing == pytest.approx(0.5 * 125, abs=2)
    stamps, _, _ = places(desk, '/mr_ad/izmp')
    assert len(stamps) == len(sound_points['/mr_ad/izmp']) - missing


@pytest.mark.parametrize(
    ('damage', 'kind'),
    [
        (lambda draft, robot: draft.drop(BOARD), 'not_in_bag'),
        (
            lambda draft, robot: (draft.drop(GPS), robot.pop('position')),
            'ground_without_position',
        ),
    ],
)
def test_without_the_pose_the_ground_is_the_sole_and_a_finding_states_it(corrupted, damage, kind):
    def both(draft, robot):
        on_board(draft, robot)
        damage(draft, robot)

    desk = corrupted(both)
    outcome = desk.replay()
    assert outcome.status == 0
    findings = check(desk.bag, load_robot_file(desk.robot)).findings
    (found,) = (finding for finding in findings if finding.kind != 'filter')
    assert (found.level, found.kind) == ('warning', kind)
    assert str(found) in outcome.out
    assert desk.report()['parameters']['ground.source'] == 'sole'


def test_a_pose_of_another_type_is_a_sentence(corrupted):
    def damage(draft, robot):
        on_board(draft, robot)
        robot['ground']['topic'] = 'gps'
        del robot['position']

    desk = corrupted(damage)
    assert_refused(desk.replay())
    with raising(ReplayError, 'topic_type', signal='ground', topic=GPS):
        evaluate_bag(desk.bag, desk.robot)


def test_the_name_of_a_link_is_no_frame_that_moves(biped31):
    ground = Ground(source='frame', frame='l_sole', topic='board/pose')
    with raising(ReplayError, 'ground_is_a_link', frame='l_sole'):
        make_rig(dataclasses.replace(biped31, ground=ground))
