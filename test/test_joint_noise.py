"""The noise of the joints, as the node izmp learns it from the messages of their publishers."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")
pytest.importorskip('visualization_msgs', reason='the message packages of ROS are missing')

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.nodes.joint_noise import JointNoise
from izmp_dynamics.nodes.wire import JointSample

NAMES = ('hip', 'knee', 'wheel')


@pytest.fixture
def learning(biped31):
    """The noise of the joints of a node, and what takes their messages."""
    takers = []
    node = SimpleNamespace(
        model=SimpleNamespace(joint_names=NAMES),
        robot=biped31,
        subscribe=lambda topic, msgtype, take, source, **options: takers.append(take),
    )
    noise = JointNoise(node)
    assert not noise.groups
    (take,) = takers
    return noise, take


@pytest.mark.parametrize('apart', [0, 100_000], ids=['equal stamps', 'stamps of their own'])
def test_joints_of_several_publishers_are_all_known(learning, apart):
    """In simulated time publishers share their stamps; a message without one says nothing."""
    noise, take = learning
    take(0, JointSample(('hip',), np.zeros(1)))
    for k in range(60):
        stamp = NANOSECONDS + 10_000_000 * k
        take(stamp, JointSample(NAMES[:2], np.zeros(2)))
        take(stamp + apart, JointSample(NAMES[2:], np.zeros(1)))
    assert [(group.columns, group.period) for group in noise.groups] == [
        ((0, 1), pytest.approx(0.01)), ((2,), pytest.approx(0.01)),
    ]  # fmt: skip


def test_joints_that_appear_later_become_another_group(learning):
    noise, take = learning
    for k in range(200):
        stamp = NANOSECONDS + 10_000_000 * k
        take(stamp, JointSample(NAMES[2:], np.zeros(1)))
        if k >= 80 and k % 2 == 0:
            take(stamp, JointSample(NAMES, np.zeros(3)))
    assert [(group.columns, group.period) for group in noise.groups] == [
        ((2,), pytest.approx(0.01)), ((0, 1), pytest.approx(0.02)),
    ]  # fmt: skip


@pytest.mark.parametrize('later', [5_000_000, 20_000_000])
def test_another_rate_is_learned_anew_and_jitter_is_none(learning, later):
    noise, take = learning
    rng, stamp = np.random.default_rng(1), NANOSECONDS
    for k in range(500):
        stamp += 10_000_000
        take(stamp + int(4e6 * rng.random()), JointSample(NAMES, np.zeros(3)))
        assert bool(noise.groups) == (k >= 50)
    for _ in range(400):
        stamp += later
        take(stamp, JointSample(NAMES, np.zeros(3)))
    (group,) = noise.groups
    assert group.period == pytest.approx(1e-9 * later)
    noise.reset()
    assert not noise.groups
