"""Feet in the air: what their sensors read there is an offset, and the service `tare` takes it."""

import copy
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.pipeline import unloaded
from izmp_dynamics.pipeline.feet import FeetStage, mr_ad_states
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.unloaded import EDGE, UnloadedFeet
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Streams

MS = 1_000_000
PERIOD = 10 * MS
OFFSET = np.array([4.0, -3.0, 12.0, 0.5, -0.2, 0.1])
LIFTED = {'l_hip_pitch': -0.5, 'l_knee': 1.0, 'l_ankle_pitch': -0.5}
"""The left foot some centimetres up, level, the root as it was [rad]."""


class Feet:
    """A robot that stands or lifts its left foot, slowly; its left sensor reads `OFFSET` more."""

    def __init__(self, stage, unloaded):
        self.stage, self.unloaded, self.rig, self.stamp = stage, unloaded, stage.rig, 0

    def hold(self, duration, up, load=0.0, offset=OFFSET, hangs=False, unknown=()):
        """Let it do so for a time [s], with a load upwards on the left foot [N]."""
        stamps = self.stamp + np.arange(1, round(duration * 1e9 / PERIOD) + 1) * PERIOD
        self.stamp, count = stamps[-1], len(stamps)
        q = np.zeros((count, self.rig.model.dof))
        for name, angle in LIFTED.items() if up else ():
            q[:, self.rig.model.joint_names.index(name)] = angle
        phi = np.tile([0.0, 0.0, self.rig.robot.gravity], (count, 1))
        still = np.zeros((count, 3))
        noise = np.random.default_rng(count).normal(size=(count, 6)) * np.repeat([0.3, 0.03], 3)
        weight = self.rig.model.total_mass * self.rig.robot.gravity
        on_left = load if up else 0.5 * weight
        on_right = 0.0 if hangs else weight - on_left
        carried = np.zeros((2, 6))
        carried[:, 2] = on_left, on_right
        for k, name in enumerate(('l_foot', 'r_foot')):
            values = self.reading_in_air(k, phi, q) + carried[k] + noise
            values += offset if name == 'l_foot' else 0.0
            values[:, 0] = np.nan if name in unknown else values[:, 0]
            self.stage.sensors[name].push(Samples(stamps, values))
        joints = JointKinematics(stamps, q, 0 * q, 0 * q, np.ones(count, dtype=bool))
        root, unknown = RootState(stamps, still, still, phi), np.full((count, 3), np.nan)
        states = mr_ad_states(joints, root)
        mr_ad, _ = MrAd(self.rig.model).of_states(states)
        feet = self.stage.evaluate(joints, states, unknown, None, mr_ad)
        ground = SimpleNamespace(feet=feet)
        self.unloaded.see(
            SimpleNamespace(stamps=stamps, joints=joints, wrenches={'mr_ad': mr_ad}, ground=ground)
        )
        return feet

    def reading_in_air(self, k, phi, q):
        """(K, 6) what a sensor feels of the foot that hangs from it."""
        foot, still = self.rig.feet[k], np.zeros_like(phi)
        below, _ = MrAd(foot.below).batch(phi, still, still, q, 0 * q, 0 * q)
        R, p = self.rig.model.frame_pose(foot.sensor, q)
        back = np.swapaxes(R, 1, 2)
        arm = -np.einsum('tij,tj->ti', back, p)
        return -ContactWrench(below.force, below.moment).transformed(back, arm).as_array()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """What was taken is not old because the computer is busy."""
    monkeypatch.setattr(unloaded, 'STALE', 600.0)


@pytest.fixture
def feet(biped31):
    rig = make_rig(biped31)
    stage = FeetStage(
        rig, Streams(rig.robot, periods={f'feet[{foot.name}]': 0.01 for foot in rig.feet})
    )
    return Feet(stage, UnloadedFeet(rig))


def seen(feet):
    feet.unloaded.update()
    return feet.unloaded


def test_a_swing_shows_what_the_sensor_reads_without_load(feet):
    """Less the weight of the foot below; late forces about lift-off and landing do not count."""
    feet.hold(0.3, up=False)
    feet.hold(EDGE - 0.01, up=True, load=30.0)
    feet.hold(0.4, up=True)
    feet.hold(EDGE - 0.01, up=True, load=30.0)
    feet.hold(0.3, up=False)
    swings = seen(feet).swings
    assert swings.keys() == {'l_foot'}
    np.testing.assert_allclose(swings['l_foot'].excess, OFFSET, atol=0.2)
    assert swings['l_foot'].duration == pytest.approx(0.37, abs=0.011)
    assert not swings['l_foot'].lasts


def test_the_swing_of_a_quick_walk_counts_though_instants_come_one_by_one(feet):
    for up, count in ((False, 10), (True, 22), (False, 10)):
        for _ in range(count):
            feet.hold(0.01, up=up)
    assert seen(feet).swings['l_foot'].duration == pytest.approx(0.1)


def test_a_foot_that_is_up_now_lasts_until_it_is_down(feet):
    feet.hold(0.3, up=False)
    feet.hold(0.7, up=True)
    assert seen(feet).swings['l_foot'].lasts
    assert seen(feet).stances['l_foot'].height > 0.03
    feet.hold(0.02, up=False)
    assert not seen(feet).swings['l_foot'].lasts


@pytest.mark.parametrize('drift', [0.0, -45.0])
def test_a_foot_on_a_step_or_without_load_on_the_ground_is_not_in_the_air(feet, drift):
    """What the other foot carries tells, whatever the sensor of the foot reads."""
    feet.hold(0.7, up=True, load=50.0, offset=np.array([0, 0, drift, 0, 0, 0]))
    assert not seen(feet).swings
    feet.unloaded = UnloadedFeet(feet.rig)
    feet.hold(0.7, up=False, offset=-0.5 * np.array([0, 0, 1.0, 0, 0, 0]) * feet.unloaded.weight)
    assert not seen(feet).swings


@pytest.mark.parametrize('hangs', [False, True])
def test_a_large_offset_is_no_load(feet, hangs):
    """Nor is what a crane carries."""
    offset = np.array([0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
    feet.hold(0.7, up=True, offset=offset, hangs=hangs)
    swing = seen(feet).swings['l_foot']
    assert swing.lasts
    np.testing.assert_allclose(swing.excess, offset, atol=0.2)


def test_time_without_a_message_is_not_time_in_the_air(feet):
    feet.hold(0.15, up=True)
    feet.stamp += 400 * MS
    feet.hold(0.2, up=True)
    assert seen(feet).swings['l_foot'].duration < 0.15


def test_what_is_kept_is_bounded_and_a_clock_that_is_set_back_begins_anew(feet, monkeypatch):
    for _ in range(30):
        feet.hold(0.2, up=True)
    assert len(feet.unloaded._seen) < 25
    feet.stamp = 0
    feet.hold(0.2, up=True)
    assert len(feet.unloaded._seen) == 1
    now = time.monotonic()
    monkeypatch.setattr(time, 'monotonic', lambda: now + 2 * unloaded.STALE)
    assert not seen(feet).stances
    assert not any(swing.lasts for swing in seen(feet).swings.values())


def test_what_is_evaluated_ahead_of_its_time_is_not_seen(feet):
    """In a pause the stages work on copies, and the same instants come again later."""
    feet.hold(0.7, up=True)
    ahead = Feet(*copy.deepcopy((feet.stage, feet.unloaded)))
    ahead.stamp = feet.stamp
    ahead.hold(0.2, up=False)
    assert seen(feet).swings['l_foot'].lasts


@pytest.fixture(params=['izmp', 'composed'])
def node(ros, request):
    """The two nodes that read the force sensors; both find the feet's frames in the robot file."""
    from rclpy.parameter import Parameter

    from izmp_dynamics.nodes.registry import node_class

    from .node_processes import ROBOT

    node = node_class(request.param)(overrides=[Parameter('robot', value=str(ROBOT))])
    yield node
    node.destroy_node()


def feet_of(node):
    return Feet(node.evaluator.feet, node.evaluator.unloaded)


def test_tare_takes_the_offset_and_refuses_a_foot_that_stands(node):
    """The next readings are without it, whatever is set later; the sentence says what to keep."""
    feet = feet_of(node)
    feet.hold(0.7, up=False)
    done, sentence = node._tare.tare()
    assert not done
    assert "'l_foot' is on the ground and reads 146.9 N" in sentence
    feet.hold(0.4, up=True)
    done, sentence = node._tare.tare()
    assert not done
    assert 'mm above the other sole since a moment ago' in sentence
    feet.hold(0.3, up=True)
    done, sentence = node._tare.tare()
    assert done, sentence
    assert "foot 'l_foot' was Fx 0.00, Fy 0.00, Fz 0.00 N, Mx 0.000" in sentence
    left, right = (np.array(foot.wrench.offset) for foot in node.robot.feet)
    np.testing.assert_allclose(left, OFFSET, atol=0.2)
    assert not right.any()
    assert f'feet[l_foot].wrench.offset: [{left[0]:.3f}, ' in sentence
    after = feet_of(node)
    assert after.stage is not feet.stage
    after.hold(0.7, up=True)
    excess = seen(after).swings['l_foot'].excess
    np.testing.assert_allclose(excess, 0.0, atol=0.2)


@pytest.mark.parametrize('foot', ['l_foot', 'r_foot'])
def test_tare_refuses_what_it_cannot_judge(node, foot):
    """Without a value of its sensor, or of the others that tell what it carries."""
    feet = feet_of(node)
    feet.hold(0.4, up=True)
    feet.hold(0.4, up=True, unknown=[foot])
    done, sentence = node._tare.tare()
    assert not done
    assert "'l_foot' cannot be judged, as joints, IMU or a force sensor have no value" in sentence
    assert 'nan' not in sentence


def test_a_tared_offset_outlives_other_settings_and_not_a_cleanup(node, ros):
    feet_of(node).hold(0.7, up=True)
    assert node._tare.tare()[0]
    before = node.robot.feet
    from rclpy.parameter import Parameter

    (result,) = node.set_parameters([Parameter('ground.source', value='gravity')])
    assert result.successful
    assert node.robot.feet == before
    node.trigger_deactivate()
    node.trigger_cleanup()
    node.trigger_configure()
    assert node.robot.feet != before


def test_drift_is_in_the_diagnostics_until_it_is_tared(node):
    feet = feet_of(node)
    feet.hold(0.3, up=False)
    feet.hold(0.7, up=True)
    node.inspect()
    status = {value.key: value.value for value in node.health.status().values}
    assert status['drift of feet[l_foot]'].endswith('N·m in 0.64 s of swing')
    finding = status['finding drift[feet[l_foot]]']
    assert 'reads 13.0 N, 5% of the weight, and 0.5' in finding
    assert 'call the service /tare' in finding
    assert node._tare.tare()[0]
    assert 'finding drift' not in ''.join(value.key for value in node.health.status().values)


def test_a_moment_without_load_is_remarked_on(node):
    feet = feet_of(node)
    feet.hold(0.7, up=True, offset=np.array([0.0, 0.0, 0.0, 0.0, 10.0, 0.0]))
    node.inspect()
    status = {value.key: value.value for value in node.health.status().values}
    assert '10.00 N·m, which shifts the CoP by up to 3' in status['finding drift[feet[l_foot]]']


def test_before_anything_has_come_tare_says_so(node):
    done, sentence = node._tare.tare()
    assert not done
    assert 'no instant was evaluated in the last second' in sentence


def test_the_service_answers_over_dds(node, ros):
    from rclpy.executors import SingleThreadedExecutor
    from std_srvs.srv import Trigger

    from .node_processes import PATIENCE

    executor = SingleThreadedExecutor()
    caller = ros.create_node('caller')
    executor.add_node(node)
    executor.add_node(caller)
    client = caller.create_client(Trigger, 'tare')
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    assert client.wait_for_service(PATIENCE)
    feet_of(node).hold(0.7, up=True)
    answer = client.call(Trigger.Request(), timeout_sec=PATIENCE)
    assert answer.success, answer.message
    node.trigger_deactivate()
    answer = client.call(Trigger.Request(), timeout_sec=PATIENCE)
    assert (answer.success, answer.message) == (False, 'The node is not active.')
    executor.shutdown()
    thread.join(PATIENCE)
    caller.destroy_node()
