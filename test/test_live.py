"""The stages of the running system give the numbers of the replay, sample by sample."""

import numpy as np
import pytest

from izmp_dynamics.live.joints import LiveJoints
from izmp_dynamics.live.root import LiveRoot
from izmp_dynamics.live.world import LiveWorld

from .live_signals import evaluate_log, messages_of


@pytest.fixture(scope='module')
def log(sway, biped31):
    """The sway as arrays, and what the replay makes of it."""
    return evaluate_log(sway[1], biped31)


def run(rig, log):
    """Feed the log message by message; collect what the stages complete."""
    joints, root, world = LiveJoints(rig.model, rig.robot), LiveRoot(rig), LiveWorld(rig)
    instants, states, poses = [], [], []

    def add(completed):
        for instant in completed:
            instants.append(instant)
            if instant.valid:
                states.extend(root.add_instant(instant.stamp))
                poses.extend(world.add_instant(instant.stamp))

    for kind, stamp, values in messages_of(log):
        if kind == 'joints':
            add(joints.update(stamp, values, np.isfinite(values)))
        elif kind == 'imu':
            states.extend(root.add_imu(stamp, values[:6]))
            poses.extend(world.add_imu(stamp, values[:6], values[6:]))
        elif kind == 'position':
            poses.extend(world.add_position(stamp, values))
        else:
            states.extend(root.add_accelerometer(kind, stamp, values))
    add(joints.flush())
    states.extend(root.flush())
    poses.extend(world.flush())
    return joints, instants, states, poses


def test_joints_root_and_pose_are_those_of_the_replay(log):
    _, expected, rig = log
    joints, instants, states, poses = run(rig, log)
    np.testing.assert_array_equal([i.stamp for i in instants], expected.stamps)
    for name, part in (('q', 'positions'), ('qd', 'velocities'), ('qdd', 'accelerations')):
        live = np.array([getattr(instant, name) for instant in instants])
        np.testing.assert_array_equal(live, getattr(expected.joints, part))
    assert not joints.all_counts()
    np.testing.assert_array_equal([s.stamps[0] for s in states], expected.stamps)
    for name in ('proper_acceleration', 'angular_velocity', 'angular_acceleration'):
        live = np.concatenate([getattr(state, name) for state in states])
        np.testing.assert_allclose(live, getattr(expected.root, name), atol=1e-12)
    known = np.isfinite(expected.world.p).all(axis=1)
    np.testing.assert_array_equal([p.stamp for p in poses], expected.stamps[known])
    for name in 'Rpv':
        live = np.array([getattr(pose, name) for pose in poses])
        np.testing.assert_allclose(live, getattr(expected.world, name)[known], atol=1e-12)
