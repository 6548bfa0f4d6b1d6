"""Terrains: the plant stands on the ground that they describe, and the truth has its normal."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.stability.support_polygon import margin, support_polygon
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate
from izmp_lab.simulation.mujoco.spec import mujoco
from izmp_lab.simulation.recording import support_polygons
from izmp_lab.simulation.terrain import Flat, Slope, Uneven, plane_under
from izmp_lab.walking.footsteps import Ramp

from ..raising import raising
from .walking import FILE, SLOPE_10_DEG, exact_wrench, planned

RAMP = Ramp(SLOPE_10_DEG, 0.6)
UNEVEN = Uneven(seed=1)
TERRAINS = {'flat': Flat(), 'slope': Slope(RAMP), 'uneven': UNEVEN}
STEPS = 9

places = st.tuples(st.floats(-4.0, 4.0), st.floats(-4.0, 4.0)).map(np.array)


def on_slope(degrees, start):
    return Slope(Ramp(float(np.radians(degrees)), start))


@pytest.mark.parametrize('terrain', TERRAINS.values(), ids=TERRAINS)
def test_mujoco_has_the_ground_that_the_terrain_tells_of(terrain):
    model = build_mujoco(FILE, terrain=terrain).model
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    only_ground, geom = np.array([1, 0, 0, 0, 0, 0], np.uint8), np.zeros(1, np.int32)
    down = np.array([0.0, 0.0, -1.0])
    for xy in np.random.default_rng(0).uniform(-4.0, 4.0, (300, 2)):
        above = np.array([*xy, 2.0])
        distance = mujoco.mj_ray(model, data, above, down, only_ground, 1, -1, geom)
        assert 2.0 - distance == pytest.approx(float(terrain.height(xy)), abs=1e-7)


# Uneven ground


def test_uneven_ground_has_its_amplitude_and_is_level_where_the_robot_starts():
    assert np.abs(UNEVEN.grid).max() == pytest.approx(UNEVEN.amplitude, rel=1e-12)
    angles = np.linspace(0.0, 2 * np.pi, 50)
    around = (UNEVEN.level - 1.5 * UNEVEN.cell) * np.stack(
        [np.cos(angles), np.sin(angles)], axis=1
    )
    assert np.abs(UNEVEN.height(around)).max() == 0.0


@given(places, places)
def test_uneven_ground_has_no_steps(first, second):
    """The steepest waves allowed by amplitude and wavelength bound every difference in height."""
    steepest = 3.0 * 2.0 * np.pi * UNEVEN.amplitude / UNEVEN.wavelength
    rise = abs(float(UNEVEN.height(first) - UNEVEN.height(second)))
    assert rise <= steepest * float(np.linalg.norm(first - second)) + 1e-15


def test_the_seed_decides_about_the_ground():
    assert np.array_equal(Uneven(seed=1).grid, UNEVEN.grid)
    assert np.abs(Uneven(seed=2).grid - UNEVEN.grid).max() > 0.5 * UNEVEN.amplitude


@pytest.mark.parametrize(
    'wrong',
    [{'seed': -1}, {'amplitude': 0.0}, {'wavelength': -1.0}, {'cell': np.nan},
     {'half_size': np.inf}, {'level': 0.0}],
)  # fmt: skip
def test_impossible_ground_is_refused(wrong):
    with raising(SimulationError, 'terrain_parameters'):
        Uneven(**wrong)


# The plane under a sole


@given(
    degrees=st.floats(0.0, 30.0),
    yaw=st.floats(-np.pi, np.pi),
    x=st.floats(0.3, 3.0),
    y=st.floats(-1.0, 1.0),
)
def test_under_a_sole_on_plane_ground_lies_that_ground(degrees, yaw, x, y):
    slope = on_slope(degrees, 0.0)
    turned = Rotation.from_euler('z', yaw).as_matrix()[:2, :2]
    polygon = np.array(FILE.feet[0].polygon) @ turned.T + [x, y]
    corners = np.column_stack([polygon, slope.height(polygon) + 0.004])
    normal, point = plane_under(slope, corners)
    assert np.abs(normal - slope.ramp.rotation(x)[:, 2]).max() < 1e-12
    assert point[2] == pytest.approx(float(slope.height(point[:2])), abs=1e-12)
    assert np.abs(normal @ (corners - [0.0, 0.0, 0.004] - point).T).max() < 1e-12


def test_under_a_sole_across_an_edge_lies_the_mean_of_both():
    corners = np.array([[-0.1, 0.1, 0.0], [-0.1, -0.1, 0.0], [0.1, -0.1, 0.0], [0.1, 0.1, 0.0]])
    normal, point = plane_under(on_slope(20.0, 0.0), corners)
    pitch = np.arctan2(normal[0], normal[2])
    assert np.radians(-20.0) < pitch < 0.0
    assert point == pytest.approx([0.0, 0.0, 0.05 * np.tan(np.radians(20.0))])


# Walking there


@pytest.fixture(scope='module', params=['slope', 'uneven'])
def walk(request):
    """Name of the terrain, plant, plan and run of a walk."""
    terrain = TERRAINS[request.param]
    slope = {'slope': RAMP.slope, 'slope_start': RAMP.start} if request.param == 'slope' else {}
    plan = planned(steps=STEPS, **slope).plan
    plant = build_mujoco(FILE, terrain=terrain)
    run = simulate(plan, plant)
    run.require_standing()
    return request.param, plant, plan, run


def test_on_every_ground_the_izmp_of_the_true_motion_is_the_true_cop(walk):
    _, plant, _, run = walk
    truth = run.truth
    wrench, _ = exact_wrench(run, plant.robot)
    assert np.abs(wrench.as_array() - truth.ground_wrench).max() < 1e-5
    izmp = zero_moment_point(wrench, truth.ground_normal_in_root(), truth.cop_in_root(), 1.0)
    assert np.abs(izmp - truth.cop_in_root()).max() < 1e-5  # 0.01 mm


def test_the_ground_that_carries_is_the_ground_of_the_terrain(walk):
    name, plant, _, run = walk
    truth = run.truth
    assert np.abs(np.linalg.norm(truth.ground_normal, axis=1) - 1.0).max() < 1e-12
    if name == 'uneven':
        assert np.abs(truth.cop[:, 2] - plant.terrain.height(truth.cop[:, :2])).max() < 0.01
        return
    slope = RAMP.slope
    pitch = np.arctan2(-truth.ground_normal[:, 0], truth.ground_normal[:, 2])
    assert pitch.min() > -1e-9
    assert pitch.max() == pytest.approx(slope, abs=1e-9)
    on_one_plane = (pitch < 1e-9) | (pitch > slope - 1e-9)
    assert on_one_plane.mean() > 0.9
    height = truth.cop[:, 2] - plant.terrain.height(truth.cop[:, :2])
    assert np.abs(height[on_one_plane]).max() < 1e-9


def test_normal_forces_are_those_along_the_ground(walk):
    name, plant, _, run = walk
    for foot in FILE.feet:
        truth = run.truth.feet[foot.name]
        normal, _ = plane_under(plant.terrain, truth.corners)
        root_R_sole, _ = plant.robot.frame_pose(foot.sole, run.q)
        force = np.einsum(
            'tij,tjk,tk->ti', run.truth.root.rotation, root_R_sole, truth.wrench[:, :3]
        )
        assert np.abs(np.sum(normal * force, axis=1) - truth.normal_force).max() < 1e-9
        weight = plant.robot.total_mass * FILE.gravity
        assert np.array_equal(truth.loaded, truth.normal_force >= 0.05 * weight)
        if name != 'uneven':
            assert (truth.normal_force > -1e-9).all()


def test_the_robot_file_says_from_which_force_on_a_foot_is_loaded():
    ground = dataclasses.replace(FILE.ground, contact_force=100.0, minimum_force=268.0)
    plant = build_mujoco(dataclasses.replace(FILE, feet=FILE.feet, ground=ground))
    run = simulate(planned(steps=2).plan, plant)
    for truth in run.truth.feet.values():
        assert np.array_equal(truth.loaded, truth.normal_force >= 100.0)
    vertical = np.einsum('ti,ti->t', run.truth.root.rotation[:, 2], run.truth.ground_wrench[:, :3])
    assert np.array_equal(np.isnan(run.truth.cop[:, 0]), vertical < 268.0)
    assert np.isnan(run.truth.cop[:, 0]).any()


def test_the_cop_lies_in_the_true_support_polygon(walk):
    _, _, _, run = walk
    truth = run.truth
    polygons = support_polygons(truth)
    assert len(polygons) == len(run)
    for t in range(0, len(run), 40):
        normal = truth.ground_normal[t]
        assert np.abs((polygons[t] - truth.cop[t]) @ normal).max() < 1e-12
        axes = np.linalg.svd(normal[None])[2][1:]
        hull = support_polygon(polygons[t] @ axes.T)
        assert margin(hull, axes @ truth.cop[t]) > -0.012  # spheres bend the edge a little
        expected = [foot.corners[t] for foot in truth.feet.values() if foot.loaded[t]]
        area = ConvexHull(np.vstack(expected) @ axes.T).volume
        assert ConvexHull(hull).volume == pytest.approx(area, rel=1e-12)


def test_without_load_there_is_no_support_polygon(walk):
    _, _, _, run = walk
    feet = {
        name: dataclasses.replace(foot, loaded=np.zeros(len(run), dtype=bool))
        for name, foot in run.truth.feet.items()
    }
    flying = dataclasses.replace(run.truth, feet=feet)
    assert {len(polygon) for polygon in support_polygons(flying)} == {0}
    assert {len(p) for p in support_polygons(dataclasses.replace(run.truth, feet={}))} == {0}
