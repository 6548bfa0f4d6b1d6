"""Vectors of three numbers as tuples, for kernels: formulas read as in the paper.

Tuples compile to registers; products of arrays this small would cost more than the arithmetic,
and take numba three times as long to compile. A rotation is nine entries of an array, row-major.
"""

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
