"""Formulas for kernels: vectors of three numbers as tuples, as in the paper; sine and cosine.

Tuples compile to registers; products of arrays this small would cost more than the arithmetic,
and take numba three times as long to compile. A rotation is nine entries of an array, row-major.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.kernel import inlined

Vector = tuple[float, float, float]


@inlined
def vector(a: Array, k: int) -> Vector:
    """Read three entries of an array from entry k on."""
    return (a[k], a[k + 1], a[k + 2])


@inlined
def store(a: Array, k: int, x: Vector) -> None:
    """Write three entries of an array from entry k on."""
    a[k], a[k + 1], a[k + 2] = x


@inlined
def add(a: Vector, b: Vector) -> Vector:
    """A + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def scale(s: float, a: Vector) -> Vector:
    """S a."""
    return (s * a[0], s * a[1], s * a[2])


@inlined
def dot(a: Vector, b: Vector) -> float:
    """A · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Vector, b: Vector) -> Vector:
    """A × b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def rotate(R: Array, a: Vector) -> Vector:
    """R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inlined
def rotate_back(R: Array, a: Vector) -> Vector:
    """Rᵀ a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


FAR = 1e6
"""Largest angle that is reduced here [rad]; beyond it the C library computes."""

_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: what is added to it loses its fraction
_PER_RADIAN = 0.6366197723675814  # 2/π
_A, _B, _C = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
"""Sum to π/2; a multiple below 2²⁰ of each of the first two is exact."""


@inlined
def near_sin_cos(x: float) -> tuple[float, float]:
    """Sine and cosine of an angle of at most ± `FAR` [rad]: arithmetic only, so SIMD in loops.

    The angle less the nearest multiple of π/2, which is subtracted in three parts (Cody and
    Waite), goes into the polynomials of fdlibm (Sun Microsystems, `k_sin.c` and `k_cos.c`);
    absolute errors are below 1.7e-16. The C library's, below 0.6e-16, take one angle at a time and
    twice as long.
    """
    n = (x * _PER_RADIAN + _ROUND) - _ROUND
    r = ((x - n * _A) - n * _B) - n * _C
    z = r * r
    s = r + r * z * (
        -1.66666666666666324348e-01
        + z * (8.33333333332248946124e-03
        + z * (-1.98412698298579493134e-04
        + z * (2.75573137070700676789e-06
        + z * (-2.50507602534068634195e-08
        + z * 1.58969099521155010221e-10))))
    )  # fmt: skip
    near = 1.0 - 0.5 * z
    c = near + ((1.0 - near) - 0.5 * z + z * z * (
        4.16666666666666019037e-02
        + z * (-1.38888888888741095749e-03
        + z * (2.48015872894767294178e-05
        + z * (-2.75573143513906633035e-07
        + z * (2.08757232129817482790e-09
        + z * -1.13596475577881948265e-11))))
    ))  # fmt: skip
    half = 0.5 * n
    if half != np.floor(half):
        s, c = c, s
    quarter = n - 4.0 * np.floor(0.25 * n)
    if quarter >= 2.0:
        s = -s
    if quarter == 1.0 or quarter == 2.0:
        c = -c
    return s, c


@inlined
def sin_cos(x: float) -> tuple[float, float]:
    """Sine and cosine of an angle [rad]; NaN if it is not finite."""
    if abs(x) > FAR:
        return np.sin(x), np.cos(x)
    found: tuple[float, float] = near_sin_cos(x)
    return found
