"""A ground that moves in the running system: the planes and points of the replay."""

import dataclasses

import numpy as np
import pytest
from izmp_dynamics.live.feet import LiveFeet
from scipy.spatial.transform import Rotation

from izmp_dynamics.model.robot_file import Ground
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState

from .live_signals import evaluate_log
from .test_ground_frame import BOARD, HEIGHT, moving_board


def recorded(sound, biped31, folder, frame_id):
    """A recording with a board that moves, and what the replay makes of it."""
    draft = sound.copy()
    draft.parts.append(moving_board(draft, frame_id))
    ground = Ground(source='frame', frame='board', topic=BOARD.lstrip('/'), height=HEIGHT)
    robot = dataclasses.replace(biped31, ground=ground)
    return evaluate_log(draft.write(folder / 'bag'), robot)


def samples(signals, world, rig):
    """(stamp, name, values) of feet, ground and root in the order of their stamps."""
    streams = {
        foot.name: (stream.stamps, stream.values)
        for foot, stream in zip(rig.feet, signals.wrenches, strict=True)
    }
    streams['ground'] = (signals.ground.stamps, signals.ground.values)
    stamps, state = world
    known = np.isfinite(state.p).all(axis=1)
    quaternions = Rotation.from_matrix(state.R[known]).as_quat()
    streams['root'] = (stamps[known], np.hstack([state.p[known], quaternions]))
    merged = [
        (int(stamp), name, row)
        for name, (times, values) in streams.items()
        for stamp, row in zip(times, values, strict=True)
    ]
    return sorted(merged, key=lambda sample: sample[0])


def live_grounds(log):
    """Feed the feet's stage; return stamp → ground."""
    signals, expected, rig = log
    stage, found = LiveFeet(rig), {}

    def keep(placed):
        found.update({int(joints.stamps[0]): ground for joints, ground in placed})

    waiting = list(range(len(expected.stamps)))[::-1]
    for stamp, name, values in samples(signals, (expected.stamps, expected.world), rig):
        while waiting and expected.stamps[waiting[-1]] <= stamp:
            row = [waiting.pop()]
            joints = {
                field.name: getattr(expected.joints, field.name)[row]
                for field in dataclasses.fields(JointKinematics)
            }
            root = {
                field.name: getattr(expected.root, field.name)[row]
                for field in dataclasses.fields(RootState)
            }
            keep(stage.add_instant(JointKinematics(**joints), RootState(**root)))
        if name == 'ground':
            keep(stage.add_ground(stamp, values[:3], values[3:]))
        elif name == 'root':
            keep(stage.add_root_pose(stamp, values[:3], values[3:]))
        else:
            keep(stage.add_wrench(name, stamp, values))
    keep(stage.flush())
    return stage, found


@pytest.mark.parametrize('frame_id', ['world', 'trunk'])
def test_plane_and_points_are_those_of_the_replay(sound, biped31, tmp_path, frame_id):
    log = recorded(sound, biped31, tmp_path, frame_id)
    _, expected, rig = log
    assert rig.ground_told_in == (None if frame_id == 'world' else frame_id)
    stage, found = live_grounds(log)
    assert (stage.moving.root is None) == (frame_id != 'world')
    known = np.isfinite(expected.plane.normal).all(axis=1)
    assert known.sum() > 200
    for row in np.flatnonzero(known)[5:]:
        ground = found[int(expected.stamps[row])]
        np.testing.assert_allclose(ground.normal, expected.plane.normal[row], atol=1e-12)
        np.testing.assert_allclose(ground.point, expected.plane.point[row], atol=1e-12)
        izmp = ground.zmp(expected.wrenches['mr_ad'][row])
        np.testing.assert_allclose(izmp, expected.points['mr_ad'][row], atol=1e-10)
        np.testing.assert_allclose(ground.frame.points(izmp[None])[0, 2], HEIGHT, atol=1e-10)


def test_what_is_no_rotation_is_counted(sound, biped31, tmp_path):
    log = recorded(sound, biped31, tmp_path, 'trunk')
    stage = LiveFeet(log[2])
    stage.add_ground(10**9, np.zeros(3), np.zeros(4))
    stage.add_ground(10**9, np.zeros(3), np.full(4, np.nan))
    assert stage.moving.ground.queue.counts == {'orientation is no unit quaternion': 2}
