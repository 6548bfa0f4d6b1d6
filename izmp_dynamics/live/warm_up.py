"""Runs every stage once before the first message: a kernel takes up to seconds to be there.

(Compiled once per installation, loaded from the cache once per process; meanwhile messages would
overflow their queues.)
"""

from collections import Counter

import numpy as np

from izmp_dynamics.dynamics.ir_md import IrMd, Momentum
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.kernel import announced_compilation
from izmp_dynamics.live.feet import LiveFeet
from izmp_dynamics.live.joints import LEARNED_MESSAGES, LiveJoints
from izmp_dynamics.live.root import LiveRoot
from izmp_dynamics.live.world import LiveWorld
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.sensing.stamps import nanoseconds

_STEP = nanoseconds(0.02)
_SAMPLES = 2 * LEARNED_MESSAGES
_UP = np.array([0.0, 0.0, 9.81])
_STILL = np.concatenate([np.zeros(3), _UP])


def warm_up_joints(stage: LiveJoints) -> LiveJoints:
    """Let the joints stand still for a second; return the stage, which forgets it."""
    n = stage.model.dof
    with announced_compilation():
        for k in range(1, _SAMPLES + 1):
            stage.update(k * _STEP, np.zeros(n), np.ones(n, dtype=np.bool_))
        stage.flush()
    stage.reset()
    stage.counts = Counter()
    return stage


def warm_up_root(stage: LiveRoot) -> LiveRoot:
    """Let the root stand still; return the stage, which forgets it."""
    with announced_compilation():
        for k in range(1, _SAMPLES + 1):
            for index in range(len(stage.accelerometers)):
                stage.add_accelerometer(index, k * _STEP, _UP)
            stage.add_imu(k * _STEP, _STILL)
            stage.add_instant(k * _STEP)
        stage.flush()
    _forget(stage)
    return stage


def warm_up_world(stage: LiveWorld) -> LiveWorld:
    """Let the root stand still in the world; return the stage, which forgets it."""
    with announced_compilation():
        for k in range(1, _SAMPLES + 1):
            stage.add_imu(k * _STEP, _STILL, np.array([0.0, 0.0, 0.0, 1.0]))
            stage.add_position(k * _STEP, np.zeros(3))
            stage.add_instant(k * _STEP)
        stage.flush()
    _forget(stage)
    return stage


def warm_up_feet(stage: LiveFeet) -> LiveFeet:
    """Find the ground once; return the stage."""
    n = stage.rig.model.dof
    stamps, valid = np.array([_STEP]), np.ones(1, dtype=np.bool_)
    q = np.zeros((1, n))
    joints = JointKinematics(stamps, q, q, q, valid)
    root = RootState(stamps, np.zeros((1, 3)), np.zeros((1, 3)), _UP[None], valid)
    measured = tuple(None if foot.sensor is None else _STILL for foot in stage.rig.feet)
    with announced_compilation():
        if stage.rig.feet or stage.rig.robot.ground.source == 'frame':
            stage.ground.evaluate(joints, root, measured, np.eye(3))
        stage.rig.model.com(q[0])
    return stage


def warm_up_mr_ad(stage: MrAd) -> MrAd:
    """Evaluate one instant; return the stage."""
    n = stage.model.dof
    with announced_compilation():
        stage.update(_UP, np.zeros(3), np.zeros(3), np.zeros(n), np.zeros(n), np.zeros(n))
    return stage


def warm_up_ir_md(stage: IrMd) -> IrMd:
    """Evaluate three instants; return the stage, which forgets them."""
    zeros, q = np.zeros((1, 3)), np.zeros((1, stage.model.dof))
    with announced_compilation():
        momentum: Momentum = stage.momentum(np.eye(3)[None], zeros, zeros, zeros, q, q)
        for k in range(1, 4):
            stage.update(k * _STEP, momentum, 1.0)
    stage.reset()
    return stage


def _forget(stage: LiveRoot | LiveWorld) -> None:
    stage.reset()
    for queue in stage.queues:
        queue.counts.clear()
