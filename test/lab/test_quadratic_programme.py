"""Quadratic programmes: the conditions of Karush, Kuhn and Tucker, and what cannot be solved."""

import sys

import numpy as np
import pytest

pytest.importorskip('daqp', reason='quadratic programmes are a matter of the extra `walk`')

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_lab.walking import quadratic_programme
from izmp_lab.walking.quadratic_programme import solve_qp

from ..raising import raising


def programme(seed, n=6, m=38):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    P, G = root.T @ root + 1e-3 * np.eye(n), rng.normal(size=(m, n))
    return P, rng.normal(size=n), G, rng.uniform(0.01, 0.5, m)


@pytest.mark.parametrize('seed', range(5))
def test_the_solution_meets_the_optimality_conditions(seed):
    """G x ≤ h, and P x + q + Gᵀ λ = 0 with λ ≥ 0 of active conditions only."""
    P, q, G, h = programme(seed)
    x = solve_qp(P, q, G, h)
    slack = h - G @ x
    active = slack < 1e-9
    assert slack.min() > -1e-9
    assert active.any()
    multipliers, *_ = np.linalg.lstsq(G[active].T, -(P @ x + q), rcond=None)
    assert multipliers.min() > -1e-9
    assert G[active].T @ multipliers == pytest.approx(-(P @ x + q), abs=1e-9)


def test_contradicting_conditions_have_no_solution():
    G = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert solve_qp(np.eye(2), np.zeros(2), G, np.array([-1.0, -1.0])) is None


def test_without_a_solver_the_message_says_what_to_install(monkeypatch):
    quadratic_programme._solver.cache_clear()
    monkeypatch.setitem(sys.modules, 'daqp', None)
    with raising(MissingDependencyError, 'missing_dependency', library='daqp'):
        solve_qp(*programme(1))
