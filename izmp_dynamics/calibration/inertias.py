"""Inertial parameters of links: the wrench is linear in them.

θ = (m, m·c, I) with c in link axes and I about the link's origin, (10,): mass [kg], first moment
x y z [kg·m], inertia xx yy zz xy xz yz [kg·m²] (Atkeson, An, Hollerbach 1986).
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.robot_model import RobotModel, moments

_SIZE = 10  # parameters of a link


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
    found = []
    for link, inertia in model.tree.inertias.items():
        if inertia.getMass() <= 0.0:
            continue
        mount = model.mount(link)
        to_body = transformation(mount.body_R_frame, mount.p_frame_in_body)
        found.append(LinkInertia(link, mount.body, np.array(moments(inertia)), to_body))
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
    columns = [parameters_of(T @ pseudo_inertia(unit) @ T.T) for unit in np.eye(_SIZE)]
    return np.stack(columns, axis=1)


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
