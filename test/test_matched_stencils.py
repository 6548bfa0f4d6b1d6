"""A pose from markers at 60 Hz: gyroscope and joints are differences of the same noisy angles.

The pelvis turns in the noise and the joints beside it turn back, so the robot stands still. Where
ω̇ has a wider stencil than q̈ the two do not cancel, and MR-AD sees a robot that shakes.
"""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.model.method import Filter
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.samples import Samples

from .pipeline_signals import evaluate, ticks

PERIOD = 1.0 / 60.0
BESIDE_THE_PELVIS = ('l_hip_pitch', 'r_hip_pitch', 'waist_pitch')


def marker_pose(rig, angle):
    """Signals of a robot that stands, and whose pelvis seems to be pitched by angles (T,)."""
    count, nothing = len(angle), 0.0 * angle
    stamps = ticks((count + 0.5) * PERIOD, PERIOD)[:count]
    q = np.zeros((count, rig.model.dof))
    q[:, [rig.model.joint_names.index(name) for name in BESIDE_THE_PELVIS]] = -angle[:, None]
    omega = np.stack([nothing, np.gradient(angle, PERIOD), nothing], axis=1)
    up = np.stack([-np.sin(angle), nothing, np.cos(angle)], axis=1)
    imu = np.hstack([omega @ rig.imu.R, rig.robot.gravity * up @ rig.imu.R])
    level = np.stack([nothing, np.sin(angle / 2.0), nothing, np.cos(angle / 2.0)], axis=1)
    return {
        'joints': Samples(stamps, q),
        'imu': Samples(stamps, imu),
        'orientation': Samples(stamps, level),
        'position': Samples(stamps, np.zeros((count, 3))),
    }


@pytest.fixture(scope='module')
def scatter(biped31):
    """Half-width → scatter of the force by method [N]."""
    feet = tuple(dataclasses.replace(foot, wrench=None) for foot in biped31.feet)
    rates = dataclasses.replace(biped31.rates, bus=60.0)
    robot = dataclasses.replace(biped31, accelerometers=(), feet=feet, rates=rates)
    angle = np.radians(0.05) * np.random.default_rng(0).normal(size=300)

    def make(half_width):
        changed = dataclasses.replace(robot, filter=Filter(half_width=half_width))
        rig = make_rig(changed)
        wrenches = evaluate(Evaluator(rig), [marker_pose(rig, angle)]).wrenches
        return {name: float(np.nanstd(wrench[:, 0])) for name, wrench in wrenches.items()}

    return make


def test_raw_mr_ad_is_worse_than_ir_md_there(scatter):
    raw = scatter(None)
    assert raw['mr_ad'] > 4.0 * raw['ir_md']


def test_the_matched_filter_makes_it_better(scatter):
    raw, short = scatter(None), scatter(2.0 * PERIOD)
    assert short['mr_ad'] < 0.7 * short['ir_md']
    assert short['mr_ad'] < 0.05 * raw['mr_ad']
