"""The one place where a quadratic programme meets a solver: DAQP, a dual active-set method.

It is exact for small dense programmes, as its steps end with the right set of active conditions.
"""

from functools import cache
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.files.libraries import library

TOLERANCE = 1e-10
"""By so much the solver may violate a condition, in the condition's unit."""


def solve_qp(P: Array, q: Array, G: Array, h: Array) -> Array | None:
    """Minimise ½ xᵀ P x + qᵀ x subject to G x ≤ h.

    Args:
        P: (n, n), positive definite.
        q: (n,).
        G: (m, n).
        h: (m,).

    Returns:
        (n,) the minimum; None if no x fulfils the conditions, if the solver finds none (as P is
        not positive definite), or if a number of the programme is not finite.

    Raises:
        MissingDependencyError: without the solver.
    """
    solver = _solver()
    if not all(np.isfinite(array).all() for array in (P, q, G, h)):
        return None
    # Copies in the order that it takes, which it may change.
    P, q, G, h = (np.array(array, np.float64, order='C') for array in (P, q, G, h))
    solution, _, status, _ = solver(P, q, G, h, primal_tol=TOLERANCE, eps_prox=0.0)
    return np.array(solution) if status == 1 and np.isfinite(solution).all() else None


@cache
def _solver() -> Any:
    return library('daqp', 'Quadratic programming').solve
