"""A human in motion, as importers hand it on: links, joints, motion, feet."""

from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps


@dataclass(frozen=True)
class Link:
    """A rigid body; all vectors in its frame, z up where the model stands.

    Attributes:
        name: of the link.
        mass: [kg].
        com: (3,) centre of mass [m].
        inertia: (3, 3) about the centre of mass [kg·m²].
    """

    name: str
    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True)
class Joint:
    """A joint as URDF has it: its frame in the parent link is that of the child at zero.

    Attributes:
        name: of the joint.
        parent: link.
        child: link.
        R: (3, 3) parent_R_joint.
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
class Poses:
    """Poses in the world at T instants.

    Attributes:
        R: (T, 3, 3) world_R_body.
        p: (T, 3) origin [m].
    """

    R: Array
    p: Array


@dataclass(frozen=True)
class Foot:
    """A foot: a link with an outline.

    Attributes:
        link: its name.
        corners: (V, 2) outline of the sole seen from above, in axes of the link [m].
        height: of the sole in the link, along its z axis [m].
        poses: of the link.
    """

    link: str
    corners: Array
    height: float
    poses: Poses


@dataclass(frozen=True)
class Recording:
    """A human in motion.

    Attributes:
        name: of the model.
        links: the root first.
        joints: of a tree.
        gravity: magnitude [m/s²].
        world_R_file: (3, 3) from the axes of the files to z up.
        stamps: (T,) of the motion [ns].
        q: name of a joint that moves → (T,) position [rad] or [m].
        root: poses of the root link, z of the world up.
        feet: whose outline is known.
        remarks: what was assumed, and what could not be expressed; sentences.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: float
    world_R_file: Array
    stamps: Stamps
    q: dict[str, Array]
    root: Poses
    feet: tuple[Foot, ...]
    remarks: tuple[str, ...]

    @property
    def mass(self) -> float:
        """Of the whole body [kg]."""
        return sum(link.mass for link in self.links)
