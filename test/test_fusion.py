"""Motion and feet as one estimate: biases, covariances and pushes, with known truth."""

import numpy as np
import pytest

from izmp_dynamics.estimation.fusion import CELL, Fused, Fusion, Seen, Swing

WEIGHT, STEP = 270.0, CELL // 50
SIGMA = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
BIAS = np.array([0.5, -1.0, 2.0, 0.1, 0.2, -0.1])
OFFSETS = np.array([[1.0, -2.0, 0.5, 0.02, 0.0, 0.01], [-0.5, 1.0, 3.0, 0.0, 0.05, 0.0]])
NOISE = np.kron([[2.0, 0.5], [0.5, 0.25]], np.diag(SIGMA**2))
MAPS = np.tile(np.eye(6), (2, 1, 1))


def estimated(
    seconds=20.0, swings=True, push=(), split=None, seed=3, model=0.0, posture=0.0, impacts=()
):
    """The estimate and the truth of noisy wrenches.

    `push` is begin, end [s] and force (3,); MR-AD errs by `model` standard deviations at 1 Hz,
    and sideways by ± `posture` [N] for 3 s each, and by 6 at the instants `impacts`.
    """
    random, fusion, parts, truth = np.random.default_rng(seed), Fusion(WEIGHT, 2), [], []
    for cell in range(int(seconds * 1e9) // CELL):
        stamps = cell * CELL + STEP * np.arange(50)
        contact = np.tile([0.0, 0.0, WEIGHT, 0.0, 0.0, 0.0], (50, 1))
        contact[:, 3] = 10.0 * np.sin(6.0 * stamps * 1e-9)
        external = np.zeros((50, 6))
        if push:
            acts = (stamps >= push[0] * 1e9) & (stamps < push[1] * 1e9)
            external[acts, :3] = push[2]
        below = (
            0.5 * SIGMA * random.normal(size=(50, 6))
        )  # encoders: of the mass below the sensors
        moved = contact + external + BIAS + 2.0 * below + SIGMA * random.normal(size=(50, 6))
        moved += model * np.sin(6.3 * stamps * 1e-9)[:, None] * SIGMA
        moved[:, 1] += posture * np.sign(np.sin(1.05 * stamps * 1e-9))
        moved[np.isin(50 * cell + np.arange(50), impacts)] += 6.0 * SIGMA
        feet = np.stack([0.4 * contact, 0.6 * contact], axis=1) + OFFSETS
        feet[:, 0] += below
        scatter = np.diag((0.25 * SIGMA) ** 2)
        seen = [(k, Swing(OFFSETS[k], 0.5, False, scatter, scatter / 10.0, 0)) for k in range(2)]
        fusion.turn(NOISE, MAPS, seen if swings and cell % 4 == 1 else ())
        maps = np.tile(MAPS, (50, 1, 1, 1))
        for rows in (slice(None),) if split is None else (slice(k, k + 1) for k in range(50)):
            parts.append(fusion.fuse(Seen(stamps[rows], moved[rows], feet[rows], maps[rows])))
        truth.append(np.hstack([contact, external]))
    return fusion, Fused.joined(parts), np.concatenate(truth)


def test_swings_and_rest_tell_the_biases_apart():
    fusion, _, _ = estimated()
    truth = np.concatenate([BIAS, *OFFSETS])
    error = fusion.bias - truth
    assert np.abs(error[:3]).max() < 0.5
    assert np.abs(error[6:]).max() < 0.2
    assert (np.abs(error) < 4.0 * np.sqrt(np.diag(fusion.spread))).all()


def test_without_swings_the_feet_count_as_they_are_and_the_doubt_stays():
    fusion, fused, truth = estimated(swings=False)
    np.testing.assert_allclose(fusion.bias[6:], 0.0, atol=1e-12)
    np.testing.assert_allclose(fusion.bias[:3], (BIAS - OFFSETS.sum(axis=0))[:3], atol=0.5)
    assert np.sqrt(fusion.spread[0, 0]) > 3.0  # of 5.4 N before anything is known
    error = (fused.contact - truth[:, :6])[-100:]
    assert (np.abs(error) < 3.0 * np.sqrt(np.diagonal(fused.covariance[-1]))).all()


@pytest.mark.parametrize(('model', 'most'), [(0.0, 0.47), (1.5, 0.5)])
def test_noise_that_both_have_in_common_is_seen_in_their_gap(model, most):
    """The contact wrench errs less than the feet alone, and as its covariance claims."""
    _, fused, truth = estimated(40.0, model=model)
    error = (fused.contact - truth[:, :6])[1000:]
    covariance = fused.covariance[1000:]
    assert (np.std(error, axis=0) < most * SIGMA).all()
    solved = np.linalg.solve(covariance, error[:, :, None])[:, :, 0]
    assert np.sum(solved * error, axis=1).mean() == pytest.approx(6.0, rel=0.25)


def test_the_external_wrench_scatters_as_its_covariance_claims():
    _, fused, _ = estimated(40.0)
    late = slice(1000, None)
    solved = np.linalg.solve(fused.external_covariance[late], fused.external[late, :, None])
    nis = np.einsum('ki,ki->k', fused.external[late], solved[..., 0])
    assert nis.mean() == pytest.approx(6.0, rel=0.25)
    assert not fused.pushed.any()


def test_a_constant_push_is_no_bias():
    push = (10.0, 20.0, np.array([12.0, 0.0, 0.0]))
    _, fused, truth = estimated(30.0, push=push)
    acts = truth[:, 6] > 0.0
    assert fused.pushed[acts].mean() > 0.99
    assert np.abs(fused.external[acts, :3].mean(axis=0) - push[2]).max() < 0.5
    assert np.abs(fused.external[~acts, :3].mean(axis=0)).max() < 0.5


def test_what_changes_with_the_posture_is_no_push_once_it_is_usual():
    """± 30 N as of an IMU that is tilted by 6°: no push after 30 s, and the covariance knows."""
    _, fused, _ = estimated(44.0, posture=30.0)
    late = slice(-600, None)
    assert fused.pushed[late].mean() < 0.2
    sigma = np.sqrt(fused.external_covariance[late, 1, 1])
    assert np.sqrt(np.mean((fused.external[late, 1] / sigma) ** 2)) < 2.5  # of two levels


@pytest.mark.parametrize(
    ('push', 'impacts'),
    [((), (500, 700, 900)), ((5.0, 12.0, np.array([40.0, 0.0, 0.0])), (505,))],
)
def test_an_impact_neither_moves_the_contact_wrench_nor_its_confidence_away(push, impacts):
    """6 σ of MR-AD at single instants: the feet alone count there, with a larger covariance."""
    _, calm, truth = estimated(20.0, push=push)
    _, struck, _ = estimated(20.0, push=push, impacts=impacts)
    rows = np.array(impacts)
    error = (struck.contact - truth[:, :6])[rows]
    solved = np.linalg.solve(struck.covariance[rows], error[:, :, None])[:, :, 0]
    assert np.sum(solved * error, axis=1).mean() < 12.0
    for late in (0, 4):  # what shakes goes on
        ratio = (
            struck.external_covariance[rows + late, 0, 0] / calm.external_covariance[rows, 0, 0]
        )
        assert (ratio > 5.0).all()
    np.testing.assert_array_equal(struck.pushed[rows], calm.pushed[rows])
    assert calm.pushed[rows].any() == bool(push)
    assert struck.changes[rows].all()


def test_a_push_itself_is_no_impact():
    _, fused, _ = estimated(10.0, push=(6.0, 7.0, np.array([40.0, 0.0, 0.0])))
    variances = fused.external_covariance[550:750, 0, 0]
    assert variances.max() < 2.0 * variances.min()


def test_live_is_replay():
    push = (6.0, 7.0, np.array([0.0, 20.0, 0.0]))
    _, replayed, _ = estimated(10.0, push=push)
    _, live, _ = estimated(10.0, push=push, split=1)
    for quantity in ('contact', 'covariance', 'external', 'external_covariance'):
        one, other = getattr(replayed, quantity), getattr(live, quantity)
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_array_equal(replayed.pushed, live.pushed)
    np.testing.assert_array_equal(replayed.changes, live.changes)
