"""A human in motion, as importers hand it on: links, joints, motion, feet, force plates."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import BagError, UnknownNameError
from izmp_dynamics.bodies.table import FIRST_STAMP


@dataclass(frozen=True)
class Link:
    """A rigid body: mass [kg], centre of mass (3,) [m], inertia (3, 3) about that [kg·m²]."""

    name: str
    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True)
class Joint:
    """A joint as URDF has it.

    Attributes:
        name: of the joint.
        parent: link.
        child: link, which has the frame of the joint.
        R: (3, 3) parent_R_joint at zero.
        p: (3,) origin in the parent [m].
        kind: 'fixed', 'continuous' or 'prismatic'.
        axis: (3,) unit vector in the frame of the joint; zero of a fixed one.
    """

    name: str
    parent: str
    child: str
    R: Array
    p: Array
    kind: str = 'fixed'
    axis: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Foot:
    """A foot: a link with an outline.

    Attributes:
        link: its name.
        corners: (V, 2) convex outline of the sole seen from above, anticlockwise, in the link [m].
        height: of the sole in the link, along its z axis [m].
        R: (T, 3, 3) world_R_link.
        p: (T, 3) origin of the link in the world [m].
    """

    link: str
    corners: Array
    height: float
    R: Array
    p: Array


@dataclass(frozen=True)
class Recording:
    """A human in motion; z of the world points up.

    Attributes:
        name: of the model.
        links: the root first.
        joints: of a tree.
        gravity: magnitude [m/s²].
        world_R_file: (3, 3) from the axes of the files.
        stamps: (T,) of the motion [ns].
        q: name of a joint that moves → (T,) position [rad] or [m].
        R: (T, 3, 3) world_R_root.
        p: (T, 3) origin of the root [m].
        feet: with outlines.
        remarks: what was assumed, and what could not be expressed; sentences.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: float
    world_R_file: Array
    stamps: Stamps
    q: dict[str, Array]
    R: Array
    p: Array
    feet: tuple[Foot, ...]
    remarks: tuple[str, ...]

    @property
    def mass(self) -> float:
        """Of the whole body [kg]."""
        return sum(link.mass for link in self.links)

    def chain(self, body: str) -> list[Joint]:
        """The joints from the root to a body."""
        above, chain = {joint.child: joint for joint in self.joints}, list[Joint]()
        while body in above:
            chain.insert(0, above[body])
            body = above[body].parent
        return chain

    def still_axes(self, body: str) -> dict[str, Array]:
        """Joint → axis in the root at zero (3,), of three that could turn a body, but never move.

        So it is where a motion has no markers on the trunk. Of others, and of legs, nothing.
        """
        R, axes, chain = np.eye(3), {}, self.chain(body)
        for joint in chain:
            R = R @ joint.R
            if joint.kind == 'continuous' and np.ptp(self.q[joint.name]) < 1e-9:
                axes[joint.name] = R @ joint.axis
        legs = {joint.child for foot in self.feet for joint in self.chain(foot.link)}
        moving = sum(joint.kind != 'fixed' for joint in chain)
        if len(axes) != 3 or moving != 3 or body in legs:
            return {}
        normal = np.allclose(np.abs(np.linalg.det(list(axes.values()))), 1.0)
        return axes if normal else {}

    def upright(self, body: str) -> 'Recording':
        """Turn a body by its `still_axes`, so that it follows the root about the vertical alone.

        Raises:
            UnknownNameError: it has none.
        """
        valid = [link.name for link in self.links if link.mass and self.still_axes(link.name)]
        if body not in valid:
            raise UnknownNameError('body that turns along with the root', body, valid)
        axes = self.still_axes(body)
        basis = np.stack([*axes.values()], axis=1)
        hand = np.array([1.0, 1.0, np.linalg.det(basis)])
        heading = np.arctan2(self.R[:, 1, 0], self.R[:, 0, 0])
        level = Rotation.from_rotvec(np.outer(heading, [0.0, 0.0, 1.0])).as_matrix()
        turn = (basis * hand).T @ self.R.transpose(0, 2, 1) @ level @ (basis * hand)
        angles = hand * Rotation.from_matrix(turn).as_euler('XYZ')
        remark = f"'{body}' is kept upright, above the heading of '{self.links[0].name}'."
        q = self.q | dict(zip(axes, angles.T, strict=True))
        return replace(self, q=q, remarks=(*self.remarks, remark))

    def with_com(self, body: str, way: Array) -> 'Recording':
        """Move the centre of mass of a body by (3,) in its axes [m].

        Raises:
            UnknownNameError: it has no mass.
        """
        masses = {link.name: link for link in self.links if link.mass}
        if body not in masses:
            raise UnknownNameError('body with mass', body, tuple(masses))
        x, y, _ = 1e3 * way
        remark = f"The centre of mass of '{body}' was moved by {x:.0f} mm ahead, {y:.0f} mm left."
        new = replace(masses[body], com=masses[body].com + way)
        links = tuple(new if link.name == body else link for link in self.links)
        return replace(self, links=links, remarks=(*self.remarks, remark))

    def inside(self, stamps: Stamps, what: str) -> npt.NDArray[np.bool_]:
        """(T,) which stamps of other signals are within the motion.

        Raises:
            BagError: fewer than three.
        """
        inside: npt.NDArray[np.bool_] = (stamps >= self.stamps[0]) & (stamps <= self.stamps[-1])
        if np.count_nonzero(inside) < 3:
            spans = (
                '{:g} to {:g} s'.format(*(of[[0, -1]] - FIRST_STAMP) / NANOSECONDS)
                for of in (stamps, self.stamps)
            )
            raise BagError(
                f'The {what} and the motion have no time in common: {" and ".join(spans)}.',
                kind='no_common_time',
            )
        return inside


@dataclass(frozen=True)
class Wrenches:
    """What a plate does to the body, a part of that to a foot, or what a unit measures.

    Attributes:
        name: of the plate, or of the link of foot or unit.
        stamps: (T,) at which it is known [ns].
        values: (T, 6) force and moment, in and about the origin of the world, or of the link
            [N, N·m]; of a unit angular velocity and specific force in its axes [rad/s, m/s²].
    """

    name: str
    stamps: Stamps
    values: Array

    def moved(self, way: Array) -> 'Wrenches':
        """The forces at points that are moved by (3,) [m]."""
        force, moment = self.values[:, :3], self.values[:, 3:]
        return replace(self, values=np.hstack([force, moment + np.cross(way, force)]))


def up_to_z(up: Array) -> Array:
    """Return the smallest rotation (3, 3) that takes a unit vector (3,) to the z axis."""
    axis = np.cross(up, [0.0, 0.0, 1.0])
    sine = np.linalg.norm(axis)
    if sine < 1e-9:
        return np.eye(3) if up[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    turn: Array = Rotation.from_rotvec(axis / sine * np.arctan2(sine, up[2])).as_matrix()
    return np.round(turn, 15)
