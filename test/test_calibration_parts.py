"""Parts of the calibration against other engines and finite differences."""

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import ReplayError, UnknownNameError
from izmp_dynamics.calibration.choice import _needed
from izmp_dynamics.calibration.files import with_inertials
from izmp_dynamics.calibration.findings import drifts, remarks
from izmp_dynamics.calibration.held_out import HeldOut, Judged
from izmp_dynamics.calibration.inertias import (
    link_inertias,
    moved,
    parameters_of,
    pseudo_inertia,
)
from izmp_dynamics.calibration.parameters import GROUPS, make_layout
from izmp_dynamics.calibration.residuals import ROWS_OF_BLOCK, Rows
from izmp_dynamics.calibration.result import CalibrationResult, Estimate, render_html, sentences
from izmp_dynamics.calibration.segments import RATE, cut_segments, read_segments
from izmp_dynamics.calibration.solver import Blocks, Quadratic, scatter
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.sensors import Imu
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.correction import NO_CORRECTION
from izmp_dynamics.signals.samples import Samples

from .bag_surgery import JOINTS, renamed
from .raising import raising
from .small_robot import SMALL_ROBOT


def random_body(random):
    """Parameters of a few masses: a body that can exist."""
    points, masses = random.normal(size=(6, 3)), random.uniform(0.1, 1.0, 6)
    P = np.zeros((4, 4))
    for point, mass in zip(points, masses, strict=True):
        h = np.append(point, 1.0)
        P += mass * np.outer(h, h)
    return parameters_of(P)


def test_inertials_of_a_urdf_are_those_that_were_written(model, biped31, tmp_path):
    random = np.random.default_rng(5)
    other = {link.link: random_body(random) for link in link_inertias(model)}
    path = tmp_path / 'other.urdf'
    text = biped31.urdf_path.read_text(encoding='utf-8')
    path.write_text(with_inertials(text, other), encoding='utf-8')
    for link in link_inertias(load_model(path)):
        np.testing.assert_allclose(link.theta, other[link.link], rtol=1e-6, atol=1e-6)


def test_a_payload_moves_mass_and_centre_and_keeps_the_shape():
    theta = random_body(np.random.default_rng(4))
    more = moved(theta, 0.5, np.array([0.01, 0.0, -0.02]))
    assert more[0] == pytest.approx(theta[0] + 0.5)
    np.testing.assert_allclose(more[1:4] / more[0], theta[1:4] / theta[0] + [0.01, 0.0, -0.02])
    assert np.linalg.eigvalsh(pseudo_inertia(more))[0] > 0.0
    np.testing.assert_allclose(moved(theta, 0.0, np.zeros(3)), theta, atol=1e-14)


def test_feet_that_measure_the_vertical_force_tell_neither_mass_nor_gain(biped31, model):
    feet = tuple(
        dataclasses.replace(
            foot, wrench=dataclasses.replace(foot.wrench, normal_only=True, below=None)
        )
        for foot in biped31.feet
    )
    rig = make_rig(dataclasses.replace(biped31, feet=feet))
    layout = make_layout(rig, link_inertias(model), 'trunk', GROUPS)
    assert {p.group for p in layout.parameters}.isdisjoint(
        {'payload', 'ft_scale', 'ft_matrix', 'ft_rotation'}
    )
    offsets = [p.name for p in layout.parameters if p.group == 'ft_offsets']
    assert offsets == ['feet[l_foot].wrench.offset.Fz', 'feet[r_foot].wrench.offset.Fz']


def test_a_link_that_the_urdf_lacks_is_refused():
    with raising(UnknownNameError, 'unknown_name'):
        with_inertials(SMALL_ROBOT, {'backpack': np.ones(10)})


def swings(drift, noise, count=6):
    """Residuals of a foot that swings for half a second every two, its force drifting [N/s]."""
    rows = np.concatenate([np.arange(100 * k, 100 * k + 25) for k in range(count)])
    random = np.random.default_rng(10)
    values = noise * np.repeat(random.normal(size=(count, 6)), 25, axis=0)
    values[:, 1] += drift * rows / RATE
    return Rows(values, rows, np.ones(len(rows)), rows // ROWS_OF_BLOCK, 'swing[left]')


def test_a_sensor_that_drifts_from_swing_to_swing_is_named():
    (sentence,) = drifts([swings(drift=0.5, noise=0.1)], 300.0)
    assert re.search(r"'left' drifts by (29|30|31) ± \S+ N a minute", sentence), sentence


def test_noise_of_three_axes_is_no_drift_once_in_hundreds_of_recordings():
    """Of four swings: their scatter is known by six degrees of freedom only."""
    rng = np.random.default_rng(4)
    values = 100.0 * rng.standard_normal((1000, 4, 3))
    parts = (swings(0.0, 0.0, 4) for _ in values)
    found = 0
    for part, noise in zip(parts, values, strict=True):
        part.values[:, :3] = np.repeat(noise, len(part.row) // 4, axis=0)
        found += len(list(drifts([part], 1.0)))
    assert found <= 9  # 2.7 expected; by three standard deviations of one axis 120


@pytest.mark.parametrize(
    ('drift', 'noise', 'count'), [(0.5, 5.0, 6), (0.2, 0.01, 6), (2.0, 0.1, 3)]
)
def test_neither_noise_nor_little_nor_a_few_swings_are_a_drift(drift, noise, count):
    assert not list(drifts([swings(drift, noise, count)], 300.0))


@pytest.mark.parametrize('alike', [1, 10, 20], ids=['noise', 'alike for a part', 'for a half'])
def test_the_scatter_between_parts_widens_a_deviation(biped31, model, alike):
    """Of a number that 40 blocks measure, whose errors have a standard deviation of one."""
    layout = make_layout(make_rig(biped31), link_inertias(model), 'trunk', ('delays',))
    size, random = len(layout.parameters), np.random.default_rng(12)
    layout = dataclasses.replace(
        layout, parameters=tuple(dataclasses.replace(p, prior=1e3) for p in layout.parameters)
    )
    solution = SimpleNamespace(x=np.zeros(size))
    free, found = np.ones(size, dtype=bool), []
    for _ in range(50):
        g = np.repeat(random.normal(size=(40 // alike, size)), alike, axis=0)
        blocks = Blocks(np.arange(40), np.tile(np.eye(size), (40, 1, 1)), g)
        found.append(scatter(blocks, layout, solution, free))
    rms = np.sqrt(np.mean(np.square(found)))
    assert 0.85 < rms / np.sqrt(alike / 40) < 1.3  # the larger one of two estimates


@pytest.mark.parametrize(('shares', 'kept'), [((1, 1, 1, 1), True), ((4, 0, 0, 0), False)])
def test_a_number_that_moves_as_others_are_left_alone_must_help_throughout(
    biped31, model, shares, kept
):
    """4 ± 2.3 with the other one, 7.6 ± 4.3 without it: held-out motion decides, if clear."""
    layout = make_layout(make_rig(biped31), link_inertias(model), 'trunk', ('delays',))
    own = (dataclasses.replace(p, item=p.name) for p in layout.parameters[:2])
    layout = dataclasses.replace(layout, parameters=tuple(own))
    near = Quadratic(np.full(2, 4.0), np.array([[1.0, 0.9], [0.9, 1.0]]), np.zeros(2))
    A = np.multiply.outer(shares, np.diag([0.4, 0.0]))
    b = np.multiply.outer(shares, [-0.7, 0.0])
    judged = [Judged(A, b, np.zeros(4), np.ones(4), 0.5)]
    free = np.ones(2, dtype=bool)
    sigma = np.sqrt(np.diag(np.linalg.inv(near.H)))
    chosen = _needed(judged, layout, near, dict.fromkeys(range(4), near), free, sigma)
    assert chosen.tolist() == [kept, False]


@pytest.mark.parametrize('apart', [0, 1_000_000], ids=['equal stamps', 'stamps of their own'])
@pytest.mark.parametrize('joints', [5, 6])
def test_joints_of_two_publishers_are_all_in_a_segment(joints, apart):
    """Each message lacks the joints of the other one, whatever their number and stamps."""
    ticks = NANOSECONDS + 10_000_000 * np.arange(300)
    stamps = np.concatenate([ticks, ticks + apart])
    first = np.arange(joints) < 2
    motion = np.sin(np.outer(stamps / NANOSECONDS, 1.0 + np.arange(joints)))
    published = np.where(np.arange(600)[:, None] < 300, first, ~first)
    rig = SimpleNamespace(
        imu=SimpleNamespace(correction=NO_CORRECTION),
        model=SimpleNamespace(total_mass=1.0),
        robot=SimpleNamespace(gravity=9.81, imu=Imu()),
        feet=(),
        units={},
    )
    signals = {
        'joints': Samples(stamps, np.where(published, motion, np.nan)),
        'imu': Samples(ticks, np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 9.81], (300, 1))),
    }
    (found,) = cut_segments(rig, signals)
    assert (np.diff(found.joints.stamps) > 0).all()
    known, k = np.isin(found.joints.stamps, ticks), np.isin(ticks, found.joints.stamps)
    assert np.count_nonzero(k) >= 299
    expected = motion[:300][k][1:-1]
    np.testing.assert_allclose(found.joints.values[known][1:-1], expected, atol=1e-3)


def test_a_bag_without_a_knee_is_refused(corrupted, model):
    """The residuals would be those of another motion of the leg."""

    def damage(draft, robot):
        draft.replace(JOINTS, renamed(draft[JOINTS], lambda name: name.replace('l_knee', 'knee')))

    desk = corrupted(damage)
    with raising(ReplayError, kind='leg_joints_absent', joints=('l_knee',)) as raised:
        read_segments(desk.bag, load_robot_file(desk.robot), model)
    assert "foot 'l_foot' is not known" in str(raised.value)
    assert 'Record all joints' in str(raised.value)


@pytest.mark.parametrize(
    ('value', 'text'), [(0.01, 'is zero within its uncertainty: x'), (0.05, 'reads too much: x')]
)
def test_a_bias_within_its_uncertainty_is_called_so(value, text):
    group = 'accelerometer_bias'
    bias = Estimate(f'imu.{group}.x', group, 'm/s²', 0.15, 'imu.rotation', value, 0.011, 0.9, True)
    (said,) = sentences(
        SimpleNamespace(accepted=True, effects=(), groups=(group,), estimates=(bias,))
    )
    assert text in said


@pytest.mark.parametrize(('seconds', 'remarked'), [(7, True), (20, False)])
def test_matrices_from_little_motion_get_a_remark(biped31, model, seconds, remarked):
    groups = ('ft_offsets', 'ft_matrix')
    segments = [SimpleNamespace(moving=np.ones(round(seconds * RATE), dtype=bool))]
    layout = make_layout(make_rig(biped31), link_inertias(model), 'trunk', groups)
    found = list(remarks(segments, layout, groups))
    assert bool(found) == remarked
    assert all('20 s of steps' in each and '7.0 s of motion' in each for each in found)
    assert not any('matrices' in each for each in remarks(segments, layout, groups[:1]))


def test_the_page_begins_with_errors_before_and_after():
    """As recorded where nothing is corrected."""
    before, after = HeldOut(2.0, 2.0, (2.0, 1.0), 2.0), HeldOut(0.2, 0.1, (0.1, 0.2), 0.3)
    result = CalibrationResult(
        ('walk',), 'r', 'torso', (), True, False, '', before, after, (), (), (), 32.0
    )
    page = render_html(result).replace('\u00a0', ' ')
    assert '<dd>0.2 N</dd><dd class="note">before: 2 N' in page
    places = [page.index(text) for text in ('before: ', 'What was wrong', 'All numbers')]
    assert places == sorted(places)
    only_units = dataclasses.replace(result, after=before)
    assert 'errors below do not depend on them' in render_html(only_units)
    agrees = dataclasses.replace(result, accepted=False, agrees=True, reason='They agree.')
    page = render_html(agrees)
    assert 'class="verdict stable"' in page
    assert 'before: ' not in page
