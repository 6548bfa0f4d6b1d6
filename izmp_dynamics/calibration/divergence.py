"""The convex regulariser of inertias: log-determinant divergence of pseudo-inertias.

    D(P, P₀) = −log det(P P₀⁻¹) + tr(P₀⁻¹ P) − 4

is zero at the URDF's P₀, does not depend on units or frames, and grows beyond all bounds as P
leaves the physically consistent (positive definite) ones. Lee, Wensing, Park: Geometric robot
dynamic identification, IEEE T-RO 36(2), 2020.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.regressor import SIZE, pseudo_inertia

LEAST_EXTENT = 1e-3
"""A link of the URDF without extent along an axis is given this radius of gyration [m]."""

UNITS = np.stack([pseudo_inertia(unit) for unit in np.eye(SIZE)])
"""(10, 4, 4) pseudo-inertias of the unit parameters."""


@dataclass(frozen=True)
class Divergence:
    """λ Σ D over all links of a layout.

    Attributes:
        weight: λ.
        columns: columns of every link's parameters in x.
        references: (L, 4, 4) P₀.
    """

    weight: float
    columns: tuple[slice, ...]
    references: Array

    @classmethod
    def of(cls, layout: Layout, weight: float) -> 'Divergence':
        """Make it for the links of a layout."""
        return cls(
            weight,
            tuple(layout.columns(f'inertia[{link.link}]') for link in layout.inertias),
            np.stack([reference(link.theta) for link in layout.inertias]),
        )

    def value(self, x: Array) -> float:
        """λ Σ D at x (N,); infinite where a link is not physically consistent."""
        total = 0.0
        for columns, P0 in zip(self.columns, self.references, strict=True):
            ratio = np.linalg.solve(P0, P0 + _change(x[columns]))
            sign, logarithm = np.linalg.slogdet(ratio)
            if sign <= 0 or np.linalg.eigvalsh(P0 + _change(x[columns]))[0] <= 0.0:
                return float('inf')
            total += float(np.trace(ratio)) - 4.0 - float(logarithm)
        return self.weight * total

    def terms(self, x: Array) -> tuple[Array, Array]:
        """(N,) gradient and (N, N) Hessian at x."""
        gradient, hessian = np.zeros(len(x)), np.zeros((len(x), len(x)))
        for columns, P0 in zip(self.columns, self.references, strict=True):
            inverse = np.linalg.inv(P0 + _change(x[columns]))
            slope = np.linalg.inv(P0) - inverse
            gradient[columns] = self.weight * np.einsum('ij,kji->k', slope, UNITS)
            products = inverse @ UNITS
            hessian[columns, columns] = self.weight * np.einsum('kij,lji->kl', products, products)
        return gradient, hessian

    def longest_step(self, x: Array, step: Array) -> float:
        """Part of a step, at most 1, that stays well inside the consistent parameters."""
        longest = 1.0
        for columns, P0 in zip(self.columns, self.references, strict=True):
            root = np.linalg.cholesky(P0 + _change(x[columns]))
            half = scipy.linalg.solve_triangular(root, _change(step[columns]), lower=True)
            whole = scipy.linalg.solve_triangular(root, half.T, lower=True)
            smallest = float(np.linalg.eigvalsh(0.5 * (whole + whole.T))[0])
            if smallest < 0.0:
                longest = min(longest, -0.8 / smallest)
        return longest


def reference(theta: Array) -> Array:
    """(4, 4) P₀ of a URDF's parameters (10,), with some extent if the URDF states none."""
    P0 = pseudo_inertia(theta)
    values, vectors = np.linalg.eigh(P0)
    least = theta[0] * LEAST_EXTENT**2
    P: Array = (vectors * np.maximum(values, least)) @ vectors.T
    return P


def _change(theta: Array) -> Array:
    return np.tensordot(theta, UNITS, axes=1)
