"""Inertial parameters of links: the wrench is linear in them, a divergence keeps them physical.

θ = (m, m·c, I) with c in link axes and I about the link's origin, (10,): mass [kg], first moment
x y z [kg·m], inertia xx yy zz xy xz yz [kg·m²] (Atkeson, An, Hollerbach 1986). The columns of the
regressor come from the kernel of MR-AD itself, run on robots of which one body has one unit
parameter and all else has no mass. The regulariser is the log-determinant divergence of
pseudo-inertias (Lee, Wensing, Park: Geometric robot dynamic identification, IEEE T-RO 36(2), 2020)

    D(P, P₀) = −log det(P P₀⁻¹) + tr(P₀⁻¹ P) − 4,

zero at the URDF's P₀, independent of units and frames, and without bound as P leaves the
physically consistent (positive definite) ones.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics.mr_ad_batch import mr_ad_batch
from izmp_dynamics.model.body_layout import MASS, MULTIPLIER
from izmp_dynamics.model.robot_model import RobotModel

SIZE = 10
"""Parameters of a link."""

LEAST_EXTENT = 1e-3
"""A link of the URDF without extent along an axis is given this radius of gyration [m]."""


@dataclass(frozen=True)
class LinkInertia:
    """Inertial parameters of a link.

    Attributes:
        link: its name.
        body: index of the body that it belongs to.
        theta: (10,) parameters in the frame of the link.
        to_body: (10, 10) takes them to the frame of the body.
    """

    link: str
    body: int
    theta: Array
    to_body: Array


def link_inertias(model: RobotModel) -> tuple[LinkInertia, ...]:
    """The links that have mass, parents first."""
    tree = model.tree
    found = []
    for link, inertia in (
        (tree.root, tree.root_inertia),
        *((segment.link, segment.segment.getInertia()) for segment in tree.segments),
    ):
        if inertia.getMass() <= 0.0:
            continue
        mass, com, tensor = inertia.getMass(), inertia.getCOG(), inertia.getRotationalInertia()
        theta = np.array(
            [
                mass, mass * com[0], mass * com[1], mass * com[2],
                tensor[0], tensor[4], tensor[8], tensor[1], tensor[2], tensor[5],
            ]
        )  # fmt: skip
        mount = model.mount(link)
        found.append(
            LinkInertia(
                link, mount.body, theta, transformation(mount.body_R_frame, mount.p_frame_in_body)
            )
        )
    return tuple(found)


def pseudo_inertia(theta: Array) -> Array:
    """(4, 4) pseudo-inertia of parameters (10,) (Wensing, Kim, Slotine 2017).

    It is positive definite exactly if the parameters are those of a body with positive density.
    """
    mass, first, inertia = theta[0], theta[1:4], tensor(theta[4:])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    P[:3, 3] = P[3, :3] = first
    P[3, 3] = mass
    return P


def parameters_of(P: Array) -> Array:
    """(10,) parameters of a pseudo-inertia (4, 4)."""
    second = P[:3, :3]
    inertia = np.trace(second) * np.eye(3) - second
    xx, yy, zz = np.diag(inertia)
    moments = [xx, yy, zz, inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    return np.array([P[3, 3], *P[:3, 3], *moments])


def tensor(moments: Array) -> Array:
    """(3, 3) inertia tensor of xx yy zz xy xz yz (6,)."""
    xx, yy, zz, xy, xz, yz = moments
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def transformation(R: Array, p: Array) -> Array:
    """(10, 10) takes parameters in a frame to those in another, in which the frame has (R, p)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    columns = [parameters_of(T @ pseudo_inertia(unit) @ T.T) for unit in np.eye(SIZE)]
    return np.stack(columns, axis=1)


def regressor(model: RobotModel, inertias: tuple[LinkInertia, ...], states: Array) -> Array:
    """Derivatives of the contact wrench about the root with respect to all parameters.

    Args:
        model: the robot; its masses do not matter.
        inertias: L links.
        states: (K, 9 + 3n) packed states, see `dynamics.kernels`.

    Returns:
        (K, 6, L, 10).
    """
    bodies = model.bodies.copy()
    bodies[:, MASS:MULTIPLIER] = 0.0
    columns = np.empty((len(states), 6, len(inertias), SIZE))
    known: dict[int, Array] = {}
    for index, inertia in enumerate(inertias):
        if inertia.body not in known:
            of_body = np.empty((len(states), 6, SIZE))
            for k in range(SIZE):
                bodies[inertia.body, MASS + k] = 1.0
                of_body[:, :, k] = mr_ad_batch(model.joints, bodies, states)[:, :6]
                bodies[inertia.body, MASS + k] = 0.0
            known[inertia.body] = of_body
        columns[:, :, index] = known[inertia.body] @ inertia.to_body
    return columns


def moved(theta: Array, mass: float, shift: Array) -> Array:
    """Parameters of a link whose mass and centre of mass change, its shape about that does not.

    Args:
        theta: (10,) parameters.
        mass: added [kg]; the tensor about the centre of mass grows in proportion.
        shift: (3,) of the centre of mass [m].
    """
    ratio = 1.0 + mass / theta[0]
    com = theta[1:4] / theta[0]
    about_com = transformation(np.eye(3), -com) @ theta * ratio
    changed: Array = transformation(np.eye(3), com + shift) @ about_com
    return changed


UNITS = np.stack([pseudo_inertia(unit) for unit in np.eye(SIZE)])
"""(10, 4, 4) pseudo-inertias of the unit parameters."""


@dataclass(frozen=True)
class Divergence:
    """λ Σ D over the links whose parameters are estimated.

    Attributes:
        weight: λ.
        columns: columns of every link's parameters in x.
        references: (L, 4, 4) P₀.
    """

    weight: float
    columns: tuple[slice, ...]
    references: Array

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
