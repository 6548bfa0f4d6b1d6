"""Feet that touch the ground with a point on links that lean, as those of quadrupeds."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.calibration.calibrate import CalibrationError, estimate_corrections
from izmp_dynamics.dynamics.kernels import ROOT
from izmp_dynamics.model.feet import FootWrench
from izmp_dynamics.pipeline.feet_kernel import PackedFeet
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.stability.clearance import clearances, is_point
from izmp_dynamics.stability.ground_plane import Sole
from izmp_dynamics.verdict.summary import summary_lines, summary_of

from .report_scenarios import SOLE, standing, without
from .test_events import events, shifted

POINT = 0.01 * np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
LEANING = Rotation.from_euler('y', 45.0, degrees=True).as_matrix()


def on_points(evaluation):
    """The same robot on points, whose links lean by 45° forwards and backwards."""
    feet = []
    for foot, lean in zip(evaluation.feet, (LEANING, LEANING.T), strict=True):
        axes = foot.axes @ lean
        middle = foot.sole.mean(axis=1, keepdims=True)
        sole = middle + np.einsum('kij,vj->kvi', axes[:, :, :2], POINT)
        feet.append(dataclasses.replace(foot, sole=sole, axes=axes))
    return dataclasses.replace(evaluation, feet=tuple(feet))


def test_what_a_point_is():
    assert is_point(POINT)
    assert not is_point(SOLE)


def test_no_foot_is_in_the_air_above_the_plane_of_a_point():
    evaluation = standing(duration=4.0)
    shifted = [
        dataclasses.replace(foot, sole=foot.sole + x * foot.axes[:, None, :, 0])
        for foot, x in zip(evaluation.feet, (0.2, -0.2), strict=True)
    ]
    astride = dataclasses.replace(evaluation, feet=tuple(shifted))
    assert events(on_points(astride), 'sensor fault') == []


def rocking(evaluation, located):
    """On points; the left link turns by 20°; with a pose in the world or without."""
    evaluation = on_points(evaluation)
    left, right = evaluation.feet
    angle = np.radians(20.0) * np.clip((evaluation.time - 3.0) / 0.2, 0.0, 1.0)
    axes = left.axes @ Rotation.from_euler('y', angle[:, None]).as_matrix()
    sole = left.sole.mean(axis=1, keepdims=True)
    sole = sole + np.einsum('kij,vj->kvi', axes[:, :, :2], POINT)
    rocked = dataclasses.replace(left, sole=sole, axes=axes)
    nowhere = {} if located else {'world_p_root': None, 'world_R_root': None}
    return dataclasses.replace(evaluation, feet=(rocked, right), **nowhere)


@pytest.mark.parametrize('located', [True, False])
def test_a_point_whose_link_rocks_does_not_slip(located):
    standing_still = standing(duration=6.0)
    assert events(rocking(standing_still, located), 'slip') == []
    slid = events(rocking(shifted(standing_still, 1, 0.03, 4.5), located), 'slip')
    assert [event.subject for event in slid] == (['right_foot'] if located else [])


@pytest.mark.parametrize('polygon', [POINT, SOLE])
def test_clearances_are_known_above_soles_alone(polygon):
    R = np.tile(np.eye(3), (2, 1, 1))
    soles = [
        Sole.from_polygon(R, np.tile([0.0, y, height], (2, 1)), polygon, None)
        for y, height in ((0.1, 0.0), (-0.1, 0.03))
    ]
    soles[0].corners[0] = np.nan
    expected = [[np.nan, np.nan]] * 2 if polygon is POINT else [[np.nan, 0.03], [-0.03, 0.03]]
    assert clearances(soles) == pytest.approx(np.array(expected), nan_ok=True)


def test_a_calibration_needs_soles(sway, biped31):
    feet = [dataclasses.replace(foot, polygon=tuple(map(tuple, POINT))) for foot in biped31.feet]
    with pytest.raises(CalibrationError, match='l_foot, r_foot touch the ground with points'):
        estimate_corrections([sway[1]], dataclasses.replace(biped31, feet=tuple(feet)))


def test_normal_forces_of_more_than_two_feet_are_not_called_nothing():
    evaluation = without(standing(duration=4.0), 'ir_md')
    left, right = (dataclasses.replace(foot, normal_only=True) for foot in evaluation.feet)
    third = dataclasses.replace(right, name='third', loaded=np.zeros_like(right.loaded))
    lines = summary_lines(summary_of(dataclasses.replace(evaluation, feet=(left, right, third))))
    assert 'Agreement: normal forces alone give a CoP to compare with between two feet' in lines[1]


def test_the_load_on_a_point_is_along_the_normal_of_the_ground(biped31):
    """The link leans by 45°, the ground pushes along the vertical: of the root, or as given."""
    up = LEANING @ [0.0, 0.0, 1.0]
    feet = [
        dataclasses.replace(foot, polygon=tuple(map(tuple, polygon)), wrench=_at(foot.sole))
        for foot, polygon in zip(biped31.feet, (POINT, SOLE), strict=True)
    ]
    rig = make_rig(dataclasses.replace(biped31, feet=tuple(feet)))
    states = np.zeros((1, ROOT + 3 * rig.model.dof))
    states[0, :3] = 9.81 * up
    force = 100.0 * np.array([1.0, -1.0])[:, None] * up
    readings = np.concatenate([force, np.zeros((2, 3))], axis=1)
    unknown, feet = np.full((1, 3), np.nan), PackedFeet.of(rig)
    loads = [
        feet.evaluate(states, readings[None], *known, rig.contact_force)[0].soles.forces[0]
        for known in ((unknown, None), (up[None], None), (unknown, np.eye(3)[2:]))
    ]
    assert loads == [
        pytest.approx([100.0, -100.0 * up[2]]),
        pytest.approx([100.0, -100.0 * up[2]]),
        pytest.approx([100.0 * up[2], -100.0 * up[2]]),
    ]


def _at(link):
    return FootWrench(topic=f'{link}/wrench', frame=link)
