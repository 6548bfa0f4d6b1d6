"""Quadratic programmes: the conditions of Karush, Kuhn and Tucker, and what cannot be solved."""

import sys

import numpy as np
import pytest

pytest.importorskip('qpsolvers', reason='quadratic programmes are a matter of the extra `walk`')

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_lab.walking import quadratic_programme
from izmp_lab.walking.quadratic_programme import SOLVERS, solve_qp

from ..raising import raising
from ..requiring import skip_without


@pytest.fixture(params=SOLVERS)
def solver(request, monkeypatch):
    """Every solver in turn."""
    import qpsolvers

    if request.param not in qpsolvers.available_solvers:
        skip_without(request.param, f'{request.param} is not installed')
    monkeypatch.setattr(quadratic_programme, 'SOLVERS', (request.param,))
    quadratic_programme._solver.cache_clear()
    yield
    quadratic_programme._solver.cache_clear()


def programme(seed, n=6, m=38):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    P, G = root.T @ root + 1e-3 * np.eye(n), rng.normal(size=(m, n))
    return P, rng.normal(size=n), G, rng.uniform(0.01, 0.5, m)


@pytest.mark.usefixtures('solver')
@pytest.mark.parametrize('seed', range(5))
def test_the_solution_meets_the_optimality_conditions(seed):
    """G x ≤ h, and P x + q + Gᵀ λ = 0 with λ ≥ 0 of active conditions only."""
    P, q, G, h = programme(seed)
    x = solve_qp(P, q, G, h)
    slack = h - G @ x
    active = slack < 1e-5
    assert slack.min() > -1e-5
    assert active.any()
    multipliers, *_ = np.linalg.lstsq(G[active].T, -(P @ x + q), rcond=None)
    assert multipliers.min() > -1e-4
    assert G[active].T @ multipliers == pytest.approx(-(P @ x + q), abs=1e-4)


@pytest.mark.usefixtures('solver')
def test_conditions_that_are_far_away_do_not_matter():
    P, q, G, h = programme(8)
    assert P @ solve_qp(P, q, G, h + 1e6) == pytest.approx(-q, abs=1e-4)


@pytest.mark.usefixtures('solver')
def test_contradicting_conditions_have_no_solution():
    G = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert solve_qp(np.eye(2), np.zeros(2), G, np.array([-1.0, -1.0])) is None


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('which', range(4), ids='PqGh')
def test_what_is_not_finite_has_no_solution(which, bad):
    arrays = [array.copy() for array in programme(3)]
    arrays[which].flat[0] = bad
    assert solve_qp(*arrays) is None


@pytest.mark.parametrize('P', [-np.eye(2), np.zeros((2, 2))], ids=['negative', 'singular'])
def test_a_cost_that_a_solver_refuses_has_no_solution(P, monkeypatch):
    monkeypatch.setattr(quadratic_programme, 'SOLVERS', ('quadprog',))
    quadratic_programme._solver.cache_clear()
    pytest.importorskip('quadprog')
    assert solve_qp(P, np.ones(2), np.eye(2), np.ones(2)) is None
    quadratic_programme._solver.cache_clear()


@pytest.mark.parametrize('failure', [ValueError('dimensions'), 'QPError'], ids=str)
def test_a_solvers_own_failure_is_no_solution(failure, monkeypatch):
    from qpsolvers.exceptions import SolverError

    error = failure if isinstance(failure, Exception) else SolverError('gave up')

    def fail(*arguments, **named):
        raise error

    monkeypatch.setattr(quadratic_programme, '_solver', lambda: fail)
    assert solve_qp(*programme(1)) is None


def test_without_a_solver_the_message_says_what_to_install(monkeypatch):
    quadratic_programme._solver.cache_clear()
    monkeypatch.setitem(sys.modules, 'qpsolvers', None)
    with raising(MissingDependencyError, 'missing_dependency', library='qpsolvers'):
        solve_qp(*programme(1))
