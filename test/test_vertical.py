"""The vertical without an orientation: through a fall, out of a wrong start, across gaps."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.sensing.vertical import Vertical
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summary_of

from .report_twins import lost, twin

GRAVITY = 9.81
STEP = 0.008
UNKNOWN = np.full(3, np.nan)


def turning(angles, force=GRAVITY):
    """Stamps, ω, φ and the true vertical of a root that turns by these angles (K,) [rad]."""
    R = Rotation.from_rotvec(np.outer(angles, [0.6, 0.8, 0.0]))
    up = R.inv().apply([0.0, 0.0, 1.0])
    omega = (R[:-1].inv() * R[1:]).as_rotvec() / STEP
    omega = np.concatenate([omega[:1], omega])
    stamps = (1e9 * STEP * np.arange(1, len(angles) + 1)).astype(np.int64)
    return stamps, omega, up * np.broadcast_to(force, len(angles))[:, None], up


def error(found, up):
    return np.degrees(np.arccos(np.clip(np.einsum('ki,ki->k', found, up), -1.0, 1.0)))


def nothing(count):
    return np.tile(UNKNOWN, (count, 1))


def test_it_follows_a_fall_in_which_hardly_any_force_is_felt():
    time = STEP * np.arange(500)
    angles = np.radians(90.0) * np.clip((time - 2.0) / 0.6, 0.0, 1.0) ** 2
    stamps, omega, phi, up = turning(angles, np.where((time > 2.0) & (time < 2.7), 2.0, GRAVITY))
    found = Vertical(GRAVITY).push(stamps, omega, phi, nothing(500))
    assert error(found, up).max() < 2.0
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0)


def test_a_wrong_start_and_drift_are_taken_out():
    stamps, omega, phi, up = turning(np.zeros(1500))
    phi[0] = GRAVITY * np.array([0.2, 0.0, 0.98])
    found = Vertical(GRAVITY).push(stamps, omega + np.radians(0.5), phi, nothing(1500))
    assert error(found, up)[100:].max() < 2.0


def test_it_begins_anew_after_a_gap_and_takes_what_is_measured():
    stamps, omega, phi, up = turning(np.zeros(30))
    stamps[20:] += 10**9
    phi[20:22] = 0.0
    measured = nothing(30)
    measured[5] = [0.0, 0.6, 0.8]
    found = Vertical(GRAVITY).push(stamps, omega, phi, measured)
    assert found[5] == pytest.approx([0.0, 0.6, 0.8])
    assert np.isnan(found[20:22]).all()
    assert found[22:] == pytest.approx(up[22:])
    assert np.isnan(Vertical(GRAVITY).push(stamps, omega, 0.0 * phi, nothing(30))).all()


def test_a_fall_is_one_without_an_orientation(fall, biped31):
    """The robot tips over its toes, and the plane of their soles with it."""
    blind = twin(fall, biped31, lost('orientation', (-1.0, 100.0)))
    assert blind.world_R_root is None
    verdict = summary_of(blind).verdict
    assert verdict.reason == 'falling_at_end'
    height = Scene(blind).height
    assert height == pytest.approx(Scene(twin(fall, biped31)).height, abs=0.03, nan_ok=True)
