"""IR-MD converges to MR-AD on smooth motion, and obeys the laws of momentum."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.dynamics.ir_md import IrMd
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.located import IrMdStage
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics

GRAVITY = 9.80665
AXES = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
"""The root turns about the first, fixed in the world, and the second, fixed in the root."""

START, DRIFT = np.array([4.0, -2.0, 0.9]), np.array([0.7, 0.1, 0.0])
AGAINST_GRAVITY = np.array([0.0, 0.0, GRAVITY])


def wave(t, amplitude, frequency, phase):
    """Sines and their first two derivatives, each (T, m)."""
    angle = np.multiply.outer(t, frequency) + phase
    return (
        amplitude * np.sin(angle),
        amplitude * frequency * np.cos(angle),
        -amplitude * frequency**2 * np.sin(angle),
    )


def motion(model, stamps):
    """A robot that moves, turns and accelerates in every coordinate, known exactly."""
    t = stamps / NANOSECONDS
    rng = np.random.default_rng(20)
    n = model.dof
    q, qd, qdd = wave(t, rng.uniform(0.1, 0.6, n), rng.uniform(2.0, 9.0, n), rng.uniform(0, 6, n))
    p, v, a = wave(t, np.array([0.3, 0.2, 0.1]), np.array([3.0, 5.0, 7.0]), np.arange(3.0))
    p, v = START + np.multiply.outer(t, DRIFT) + p, DRIFT + v
    angle, rate, acceleration = wave(t, np.array([0.8, 0.5]), np.array([4.0, 6.0]), np.ones(2))
    second = Rotation.from_rotvec(angle[:, 1:] * AXES[1])
    R = (Rotation.from_rotvec(angle[:, :1] * AXES[0]) * second).as_matrix()
    first_in_root = second.inv().apply(AXES[0])
    own = rate[:, 1:] * AXES[1]
    omega = rate[:, :1] * first_in_root + own
    omega_dot = (
        acceleration[:, :1] * first_in_root
        - rate[:, :1] * np.cross(own, first_in_root)
        + acceleration[:, 1:] * AXES[1]
    )
    phi = np.einsum('tji,tj->ti', R, a + AGAINST_GRAVITY)
    return SimpleNamespace(
        q=q, qd=qd, qdd=qdd, p=p, v=v, R=R, omega=omega, omega_dot=omega_dot, phi=phi
    )


def sampled(middle, step, count=5):
    """`count` stamps about an instant, `step` apart [s]."""
    around = np.arange(count) - count // 2
    return middle + around * round(step * NANOSECONDS)


def momentum_of(ir_md, m):
    return ir_md.momentum(m.R, m.p, m.v, m.omega, m.q, m.qd)


def exact(model, m):
    """The contact wrench in the world by MR-AD."""
    wrench, _ = MrAd(model).batch(m.phi, m.omega, m.omega_dot, m.q, m.qd, m.qdd)
    return wrench.transformed(m.R, m.p)


@pytest.mark.parametrize(('difference', 'order'), [('central', 2), ('paper', 1)])
def test_the_contact_wrench_converges_to_that_of_mr_ad(model, difference, order):
    ir_md = IrMd(model, GRAVITY, difference)
    for middle in np.array([1, 2, 3]) * NANOSECONDS:
        errors = []
        for step in (4e-3, 2e-3, 1e-3):
            stamps = sampled(middle, step)
            m = motion(model, stamps)
            wrench = ir_md.batch(stamps, momentum_of(ir_md, m), max_gap=1.0).as_array()
            deviation = (wrench - exact(model, m).as_array())[len(stamps) // 2]
            errors.append([np.linalg.norm(deviation[:3]), np.linalg.norm(deviation[3:])])
        orders = np.log2(np.divide(errors[:-1], errors[1:]))
        np.testing.assert_allclose(orders, order, atol=0.15)


def test_there_is_no_wrench_without_neighbours_or_across_gaps(model):
    stamps = np.array([0, 2, 4, 6, 106, 108, 110]) * 1_000_000
    m = motion(model, stamps)
    known = {}
    for difference in ('central', 'paper'):
        ir_md = IrMd(model, GRAVITY, difference)
        wrench = ir_md.batch(stamps, momentum_of(ir_md, m), max_gap=0.05).as_array()
        known[difference] = np.isfinite(wrench).all(axis=1).tolist()
        assert (np.isfinite(wrench).any(axis=1) == known[difference]).all()
    assert known['central'] == [False, True, True, False, False, True, False]
    assert known['paper'] == [False, True, True, True, False, True, True]


@pytest.mark.parametrize('step', [0.002, 0.02, 0.1])
def test_the_longest_step_follows_from_the_instants_themselves(model, step):
    """Not from the configured rate: instants further apart than acd.max_gap have a wrench."""
    robot = RobotFile(urdf='')
    stamps = np.round(np.arange(1, 61) * step * NANOSECONDS).astype(np.int64)
    gap = max(robot.acd.max_gap, 2.5 * step)
    stamps[30:] += round((gap - 1.1 * step) * NANOSECONDS)
    stamps[45:] += round((gap - 0.9 * step) * NANOSECONDS)
    m = motion(model, stamps)
    joints = JointKinematics(stamps, m.q, m.qd, m.qdd, np.ones(60, dtype=bool))
    stage = IrMdStage(model, robot)
    parts = []
    for k in range(60):
        row = slice(k, k + 1)
        world = WorldState(m.R[row], m.p[row], m.v[row])
        parts.append(stage.push(joints.select(np.array([k])), world, m.omega[row]))
    parts.append(stage.flush())
    known = np.isfinite(np.concatenate(parts)).all(axis=1)
    assert len(known) == len(stamps)
    assert np.flatnonzero(~known).tolist() == [0, 44, 45, 59]
