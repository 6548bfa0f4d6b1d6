"""The fall alarm while joints are learned again: what holds, what is forgotten."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.falling import FallStage
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.standstill import standstill
from izmp_dynamics.stability.alarm_rule import HOLD

from .pipeline_signals import joined

STEP = 0.01


@pytest.fixture(scope='module')
def tipping(biped31):
    """Rig, groups of joints, and instants that tip over with the feet on the ground."""
    rig = make_rig(biped31)
    groups = (JointGroup(tuple(range(rig.model.dof)), STEP),)
    evaluator = Evaluator(rig, groups)
    still = joined(evaluator.push(standstill(rig, 200, STEP)) + evaluator.flush())
    root = replace(still.root, angular_velocity=np.tile([0.0, 2.0, 0.0], (len(still.stamps), 1)))
    return rig, groups, replace(still, root=root)


@pytest.fixture
def judge(tipping):
    """Judges some of those instants, where the groups are known or not."""
    rig, groups, given = tipping
    stage = FallStage(rig)

    def evaluate(begin, end, known):
        rows = slice(begin, end)
        return stage.evaluate(
            given.joints.select(rows),
            given.root.select(rows),
            given.up[rows],
            given.up[rows],
            given.ground.select(rows),
            groups if known else (),
        )

    return evaluate


@pytest.mark.parametrize('pieces', [[20, 100], [20, 21, 50, 100]], ids=['whole', 'pieces'])
def test_an_alarm_holds_while_joints_are_learned_and_has_to_be_raised_again(judge, pieces):
    assert judge(10, 20, known=True).alarm[-1]
    risks = [judge(a, b, known=False) for a, b in pairwise(pieces)]
    assert np.isnan(np.concatenate([risk.probability for risk in risks])).all()
    assert all('not known yet' in risk.sentence() for risk in risks)
    alarm = np.concatenate([risk.alarm for risk in risks])
    assert np.count_nonzero(alarm) == pytest.approx(HOLD / STEP, abs=1.0)
    assert not alarm[-1]
    again = judge(100, 110, known=True)
    assert again.probability[0] > 0.99
    assert not again.alarm[0]
    assert again.alarm[-1]


def test_without_an_orientation_the_probability_says_so(tipping):
    rig, groups, given = tipping
    unmeasured = given.up.copy()
    unmeasured[1] = np.nan
    signals = given.joints, given.root, given.up, unmeasured, given.ground
    risk = FallStage(rig).evaluate(*signals, groups)
    assert 'No orientation' not in risk.sentence(0)
    assert risk.sentence(1).count(' No orientation of the root is known: the vertical') == 1
