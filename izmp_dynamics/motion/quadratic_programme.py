"""The one place where a quadratic programme meets a solver."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from izmp_dynamics.conventions import Array
from izmp_dynamics.errors import MissingDependencyError

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
        (n,) the minimum; None if no x fulfils the conditions.

    Raises:
        MissingDependencyError: without a solver.
    """
    solution: Array | None = _solver()(P, q, G, h, initvals=guess)
    return solution


@cache
def _solver() -> Callable[..., Any]:
    """The first solver that is installed."""
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
        library, 'Quadratic programming', 'pip install qpsolvers quadprog'
    )
