"""Replay: a simulated recording in, the truth out; nothing lost, nothing left behind."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.evaluate import replay
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording import replay as chunks
from izmp_dynamics.signals.samples import Samples

from .pipeline_signals import columns
from .recorded import evaluate_bag, evaluate_in_chunks

FAST = 500.0  # [Hz] bus rate at which every sample is evaluated


@pytest.fixture(scope='module')
def plain(sway, biped31):
    """The results of the whole sway."""
    return evaluate_bag(sway[1], biped31)


def error_mm(points, truth, normal):
    """(K,) distance along the ground [mm]; the soles' spheres sink half a millimetre into it."""
    apart = points - truth
    along = apart - normal * np.sum(apart * normal, axis=1, keepdims=True)
    return 1e3 * np.linalg.norm(along, axis=1)


def truth_at(run, stamps):
    """Rows of the truth at the stamps."""
    rows = np.searchsorted(run.stamps, stamps)
    np.testing.assert_array_equal(run.stamps[rows], stamps)
    return rows


def test_with_acd_at_500_hz_the_izmp_is_the_true_cop(sway, biped31):
    run, bag = sway
    rates = dataclasses.replace(biped31.rates, bus=FAST)
    results = evaluate_bag(bag, dataclasses.replace(biped31, rates=rates))
    rows = truth_at(run, results.stamps)
    truth = run.truth.cop_in_root()[rows]
    error = error_mm(results.points['mr_ad'], truth, results.ground.plane.normal)
    assert len(error) >= len(run.stamps) - 4
    assert np.mean(error) <= 1.0
    assert np.max(error) <= 3.0


def test_ir_md_and_mr_ad_agree(sway, biped31, plain):
    ir_md = dataclasses.replace(biped31.ir_md, step='actuator')
    actuator = evaluate_bag(sway[1], dataclasses.replace(biped31, ir_md=ir_md))
    assert biped31.ir_md.step == 'bus'
    for results in (plain, actuator):
        points = results.points
        gap = error_mm(points['ir_md'], points['mr_ad'], results.ground.plane.normal)
        known = np.isfinite(gap)
        assert known.mean() > 0.99
        assert gap[known].mean() <= 0.5


def test_the_feet_give_the_true_cop_and_wrench(sway, plain):
    """With the mass below the sensors accounted for."""
    run, _ = sway
    rows = truth_at(run, plain.stamps)
    truth = run.truth.cop_in_root()[rows]
    assert error_mm(plain.points['cop'], truth, plain.ground.plane.normal).mean() <= 0.05
    force = plain.wrenches['cop'][:, :3] - run.truth.ground_wrench[rows, :3]
    assert np.abs(force).mean() <= 0.02


def test_mr_ad_does_not_change_by_a_bit_with_the_world(sway, biped31, plain):
    """Offsets and ramps on position and velocity: MR-AD is blind to them, IR-MD is not."""
    _, bag = sway

    def far_away(signals):
        stamps = signals['position'].stamps
        t = (stamps - stamps[0])[:, None] * 1e-9
        moved = signals['position'].values + [100.0, -50.0, 3.0] + t * [7.0, 1.0, 0.0]
        signals['position'] = Samples(stamps, moved + 0.5 * t**2 * [0.3, 0.0, 0.0])

    def turned(signals):
        yaw = Rotation.from_euler('z', 1.0)
        before = signals['orientation']
        quaternions = (yaw * Rotation.from_quat(before.values)).as_quat()
        signals['orientation'] = Samples(before.stamps, quaternions)

    def nowhere(signals):
        del signals['position'], signals['orientation']

    for change in (far_away, turned, nowhere):
        other = evaluate_bag(bag, biped31, change)
        for key in ('wrenches', 'points', 'margins'):
            np.testing.assert_array_equal(
                getattr(other, key)['mr_ad'], getattr(plain, key)['mr_ad']
            )
        if change is far_away:
            assert np.nanmax(np.abs(other.wrenches['ir_md'] - plain.wrenches['ir_md'])) > 1.0


@pytest.mark.parametrize('half_width', [None, 0.04])
def test_chunks_of_any_length_give_the_numbers_of_the_whole_log(
    sway, biped31, plain, monkeypatch, half_width
):
    _, bag = sway
    robot = dataclasses.replace(
        biped31, filter=dataclasses.replace(biped31.filter, half_width=half_width)
    )
    whole = columns(plain if half_width is None else evaluate_bag(bag, robot))
    monkeypatch.setattr(chunks, 'CHUNK', 0.35)
    results, pieces = evaluate_in_chunks(bag, robot)
    assert pieces > 8
    for name, values in columns(results).items():
        if half_width is None:
            np.testing.assert_array_equal(values, whole[name], err_msg=name)
        else:
            # A quotient of positions at 500 Hz makes 1e-7 of a rounding error of 1e-16 m.
            np.testing.assert_allclose(values, whole[name], rtol=0, atol=1e-7, err_msg=name)


def test_any_link_fixed_to_the_pelvis_can_be_the_root(sway, biped31, plain):
    """The IZMP is the same physical point, whichever link is called the root."""
    imu_link = evaluate_bag(sway[1], dataclasses.replace(biped31, root='imu_link'))
    model = load_model(biped31.urdf_path, biped31.root)
    R, p = model.frame_pose('imu_link', np.zeros(model.dof))
    moved = imu_link.points['mr_ad'] @ R.T + p
    np.testing.assert_allclose(moved, plain.points['mr_ad'], atol=1e-9)


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_the_same_input_gives_the_same_bytes(sound_bag, biped31, tmp_path, storage):
    for name in ('one', 'two'):
        replay(sound_bag, biped31, tmp_path / name, storage=storage)
    files = sorted(p.relative_to(tmp_path / 'one') for p in (tmp_path / 'one').rglob('*.*'))
    assert len(files) >= 4
    for file in files:
        assert (tmp_path / 'one' / file).read_bytes() == (tmp_path / 'two' / file).read_bytes()


def test_a_silent_elbow_leaves_the_feet_their_forces(sway, biped31, plain):
    """What a foot measures does not depend on a joint of the arm."""
    arm = load_model(biped31.urdf_path, biped31.root).joint_names.index('l_elbow')

    def elbow_lost(signals):
        values = signals['joints'].values.copy()
        values[2000:2100, arm] = np.inf
        signals['joints'] = Samples(signals['joints'].stamps, values)

    lost = evaluate_bag(sway[1], biped31, elbow_lost)
    assert np.isnan(lost.wrenches['mr_ad']).any()
    for sole, other in zip(plain.ground.soles, lost.ground.soles, strict=True):
        assert np.isfinite(other.normal_force).all()
        np.testing.assert_array_equal(sole.normal_force, other.normal_force)
    np.testing.assert_array_equal(plain.ground.feet.loaded, lost.ground.feet.loaded)
    np.testing.assert_array_equal(plain.points['cop'], lost.points['cop'])
