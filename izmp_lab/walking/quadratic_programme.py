"""The one place where a quadratic programme meets a solver."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MissingDependencyError

SOLVERS = ('quadprog', 'proxqp')
"""Solvers that are tried, in this order; both are exact for small dense programmes."""


def solve_qp(P: Array, q: Array, G: Array, h: Array, guess: Array | None = None) -> Array | None:
    """Minimise ½ xᵀ P x + qᵀ x subject to G x ≤ h.

    Args:
        P: (n, n), positive definite.
        q: (n,).
        G: (m, n).
        h: (m,).
        guess: (n,) where a solver that can make use of it begins.

    Returns:
        (n,) the minimum; None if no x fulfils the conditions, if the solver finds none (as P is
        not positive definite), or if a number of the programme is not finite.

    Raises:
        MissingDependencyError: without a solver.
    """
    solver = _solver()
    if not all(np.isfinite(array).all() for array in (P, q, G, h)):
        return None
    try:
        solution: Array | None = solver(P, q, G, h, initvals=guess)
    except _errors():
        return None
    return solution if solution is not None and np.isfinite(solution).all() else None


@cache
def _errors() -> tuple[type[Exception], ...]:
    from qpsolvers.exceptions import QPError

    return QPError, ValueError


@cache
def _solver() -> Callable[..., Any]:
    try:
        import qpsolvers
    except ImportError as error:
        raise _missing('qpsolvers') from error
    for name in SOLVERS:
        if name in qpsolvers.available_solvers:
            return partial(qpsolvers.solve_qp, solver=name)
    raise _missing('quadprog')


def _missing(library: str) -> MissingDependencyError:
    return MissingDependencyError(
        library,
        'Quadratic programming',
        'pip install qpsolvers quadprog (or proxsuite in place of quadprog)',
    )
