"""The stages of the running system give the numbers of the replay, sample by sample."""

import dataclasses

import numpy as np
import pytest
from izmp_dynamics.live import sample_queue
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


def states_of(root, log, instants, clock, late=0):
    """Feed a `LiveRoot` and keep the time; accelerometers speak only after `late` [ns].

    Instants are asked for when the joints of their time come, as the node acd does.
    """
    states, waiting = [], sorted(instants, reverse=True)
    for kind, stamp, values in messages_of(log):
        clock[0] = stamp * 1e-9
        while waiting and waiting[-1] <= stamp:
            states.extend(root.add_instant(waiting.pop()))
        if kind == 'imu':
            states.extend(root.add_imu(stamp, values[:6]))
        elif isinstance(kind, int) and stamp > late:
            states.extend(root.add_accelerometer(kind, stamp, values))
    states.extend(root.flush())
    return states


@pytest.fixture
def clock(monkeypatch):
    """The steady clock of the queues, to be set."""
    now = [0.0]
    monkeypatch.setattr(sample_queue.time, 'monotonic', lambda: now[0])
    return now


def assert_states(states, stamps, expected):
    rows = np.isin(expected.stamps, stamps)
    np.testing.assert_array_equal([state.stamps[0] for state in states], stamps)
    for name in ('proper_acceleration', 'angular_velocity', 'angular_acceleration'):
        live = np.concatenate([getattr(state, name) for state in states])
        np.testing.assert_allclose(live, getattr(expected.root, name)[rows], atol=1e-12)


def test_without_accelerometers_the_gyroscope_is_differenced_as_in_the_replay(
    sway, biped31, clock
):
    log = evaluate_log(sway[1], dataclasses.replace(biped31, accelerometers=()))
    _, expected, rig = log
    root = LiveRoot(rig)
    assert root.method == 'gyro'
    known = np.isfinite(expected.root.angular_acceleration).all(axis=1)
    assert_states(states_of(root, log, expected.stamps, clock), expected.stamps[known], expected)


def test_silent_accelerometers_are_done_without_as_in_the_replay(log, sway, biped31, clock):
    """From the first instant on; the replay knows from the start that they are not there."""
    _, expected, _ = evaluate_log(sway[1], dataclasses.replace(biped31, accelerometers=()))
    root = LiveRoot(log[2])
    states = states_of(root, log, expected.stamps, clock, late=2**62)
    assert root.fell_back
    known = np.isfinite(expected.root.angular_acceleration).all(axis=1)
    assert_states(states, expected.stamps[known], expected)


def test_accelerometers_that_come_late_are_used_from_then_on(log, clock):
    _, expected, rig = log
    root = LiveRoot(rig)
    late = int(expected.stamps[0]) + 2 * 10**9
    states = states_of(root, log, expected.stamps, clock, late)
    assert not root.fell_back
    after = [state for state in states if state.stamps[0] > late + 10**8]
    assert_states(after, expected.stamps[expected.stamps > late + 10**8], expected)


def test_without_a_choice_there_is_no_falling_back(log, clock):
    rig = log[2]
    chosen = dataclasses.replace(rig.robot.angular_acceleration, method='accelerometers')
    robot = dataclasses.replace(rig.robot, angular_acceleration=chosen)
    root = LiveRoot(dataclasses.replace(rig, robot=robot))
    assert not states_of(root, log, log[1].stamps, clock, late=2**62)
    assert root.method == 'accelerometers'
