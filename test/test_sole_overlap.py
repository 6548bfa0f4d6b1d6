from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.report.page import cards
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_of
from izmp_dynamics.verdict.support import overlap_depth

from .report_scenarios import standing, walking
from .test_input_findings import evaluated

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize('angle', [0.0, 20.0, 77.0])
@pytest.mark.parametrize(
    ('shift', 'depth'), [((0.7, 0.0), 0.3), ((0.9, -0.6), 0.1), ((2.0, 0.0), -1.0)]
)
def test_depth_is_the_shortest_way_out(angle, shift, depth):
    R = Rotation.from_euler('z', angle, degrees=True).as_matrix()[:2, :2]
    twice = np.concatenate([SQUARE, SQUARE[:1]])  # a corner that is stated twice
    one, other = (np.array([corners @ R.T]) for corners in (SQUARE, twice + shift))
    np.testing.assert_allclose(overlap_depth(one, other), depth, atol=1e-12)
    np.testing.assert_allclose(overlap_depth(other, one), depth, atol=1e-12)


def test_depth_at_a_corner():
    """A square that stands on its corner reaches 0.1 m into the side of another."""
    tip = np.array([[0.5, 0.9], [1.5, 1.9], [0.5, 2.9], [-0.5, 1.9]])
    np.testing.assert_allclose(overlap_depth(SQUARE[None], tip[None]), 0.1, atol=1e-12)


def enlarged(evaluation, factor):
    """The evaluation with soles that are larger by `factor`, about their middles."""
    feet = []
    for foot in evaluation.feet:
        middle = foot.sole.mean(axis=1, keepdims=True)
        feet.append(replace(foot, sole=middle + factor * (foot.sole - middle)))
    return replace(evaluation, feet=tuple(feet))


@pytest.mark.parametrize('motion', [walking, standing])
def test_soles_side_by_side_do_not_overlap(motion):
    assert Scene(motion(duration=4.0)).sole_overlap is None


def test_soles_far_too_large_cannot_be_judged_by():
    summary = summary_of(enlarged(standing(duration=4.0), 10.0))
    assert (summary.verdict.state, summary.verdict.reason) == ('unclear', 'soles_overlap')
    assert 'overlap by' in summary.verdict.sentence
    assert 'polygon' in summary.verdict.advice
    assert summary.findings[0].key == 'soles_overlap'
    assert 'overlap by' not in ' '.join(summary.remarks)  # the verdict says it
    assert cards(summary.as_dict())[0].tone == ''  # of a margin that nobody knows


def test_soles_somewhat_too_large_are_the_first_remark():
    """They overlap by 6 cm, so that each edge is 3 cm off, at 14 cm of room."""
    evaluation = standing(duration=4.0)
    one, other = (foot.sole[0, :, 1] for foot in evaluation.feet)
    apart = abs(one.mean() - other.mean())
    summary = summary_of(enlarged(evaluation, (apart + 0.06) / np.ptp(one)))
    assert summary.verdict.reason != 'soles_overlap'
    assert summary.findings[0].key == 'soles_overlap'
    assert 'by 60 mm' in summary.findings[0].sentence
    close = standing(
        duration=4.0, offset=lambda time: np.tile([0.0, 0.1], (len(time), 1)), cop_limit=1.0
    )
    judged = summary_of(enlarged(close, (apart + 0.06) / np.ptp(one))).verdict
    assert judged.reason == 'soles_overlap'  # the margin is smaller than that


def test_check_finds_soles_in_another_unit(corrupted):
    def damage(draft, robot):
        for foot in robot['feet']:
            foot['polygon'] = [[10.0 * x, 10.0 * y] for x, y in foot['polygon']]

    found, _ = evaluated(corrupted(damage))
    assert found['soles_overlap'].level == 'warning'
