"""The robot as read-only arrays, made from its KDL tree: the input of every kernel.

Links tied together by fixed joints are merged into *bodies*. A body's frame has its origin on the
axis of the joint that moves it (the paper's body-fixed frame, sect. 3) and its z axis along that
axis; body 0 is the root link's, its frame is the root link's frame.

The kernels are imported in the methods that run them, so that reading a URDF does not load numba.
"""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Indices, frozen
from izmp_dynamics.base.errors import ShapeError, UnknownNameError
from izmp_dynamics.model.audit import Problem
from izmp_dynamics.model.body_layout import (
    BODY,
    DRIVER,
    FIRST_MOMENT,
    INERTIA,
    MASS,
    MULTIPLIER,
    PARENT,
    POSE,
    POSITION,
    PRISMATIC,
    REVOLUTE,
    ROTATION,
)
from izmp_dynamics.model.kinematic_tree import KinematicTree, build_tree, kdl
from izmp_dynamics.model.urdf import Urdf, parse_urdf, read_urdf


@dataclass(frozen=True)
class FrameMount:
    """Where a link's frame sits: on which body, and how.

    Attributes:
        body: index of the body.
        body_R_frame: (3, 3).
        p_frame_in_body: (3,) [m].
    """

    body: int
    body_R_frame: Array
    p_frame_in_body: Array

    @functools.cached_property
    def pose(self) -> Array:
        """The pose as the kernels take it, (12,), see `body_layout`."""
        return frozen([*self.body_R_frame.ravel(), *self.p_frame_in_body])


@dataclass(frozen=True)
class RobotModel:
    """Kinematics and inertias of a robot with a floating root.

    Attributes:
        name: name of the robot.
        root: name of the link that is the floating base.
        joint_names: the n independent joints; their order is the order of q.
        joints: (B, 3) int64, a row per body: its parent and its joint, see `body_layout`.
        bodies: (B, 24) float64, a row per body: the place of its joint [m] and its inertia
            [kg, kg·m, kg·m²]; `body_layout` names the columns.
        position_lower: (n,) [rad] or [m], −inf where the URDF states none.
        position_upper: (n,) [rad] or [m].
        velocity_limit: (n,) [rad/s] or [m/s], inf where the URDF states none.
        effort_limit: (n,) [N·m] or [N].
        problems: warnings of the audit.
        sha256: digest of the URDF.
        tree: the KDL tree, for the readable reference.
    """

    name: str
    root: str
    joint_names: tuple[str, ...]
    joints: Indices
    bodies: Array
    position_lower: Array
    position_upper: Array
    velocity_limit: Array
    effort_limit: Array
    problems: tuple[Problem, ...]
    sha256: str
    tree: KinematicTree
    _frames: Mapping[str, FrameMount] = field(repr=False)
    _masses: Mapping[str, list[float]] = field(repr=False)

    def __deepcopy__(self, memo: object) -> 'RobotModel':
        """Nothing in it changes, and KDL's part cannot be copied."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """For another process: KDL's part cannot be pickled, so it is made of the URDF again."""
        urdf, kept = self.tree.urdf, ('sha256', 'problems', 'bodies')
        changes = {name: getattr(self, name) for name in kept}
        return _restored, (urdf.text, urdf.path, self.root, changes)

    @property
    def dof(self) -> int:
        """Number n of independent joints."""
        return len(self.joint_names)

    @functools.cached_property
    def total_mass(self) -> float:
        """Mass of the robot [kg]."""
        return float(self.bodies[:, MASS].sum())

    @functools.cached_property
    def urdf_root(self) -> str:
        """Link that has no parent in the URDF; not `root` where the tree was re-rooted."""
        children = {segment.urdf_joint.child for segment in self.tree.segments}
        return next(name for name in self._frames if name not in children)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all links, massless and fixed ones included."""
        return tuple(self._frames)

    def mount(self, frame: str) -> FrameMount:
        """Return where the frame of link `frame` sits.

        Raises:
            UnknownNameError: if there is no such link.
        """
        try:
            return self._frames[frame]
        except KeyError:
            raise UnknownNameError(
                'frame', frame, self._frames, f"in robot '{self.name}'"
            ) from None

    def joint_mount(self, body: int) -> FrameMount:
        """Return where the joint of a body sits on the parent body, at q = 0."""
        row = self.bodies[body]
        R = row[ROTATION:POSITION].reshape(3, 3)
        return FrameMount(int(self.joints[body, PARENT]), R, row[POSITION:MASS])

    def chain(self, frame: str) -> list[int]:
        """Return the bodies that joints move between the root and a link, from the root on.

        Raises:
            UnknownNameError: if there is no such link.
        """
        chain: list[int] = []
        body = self.mount(frame).body
        while body > 0:
            chain.insert(0, body)
            body = int(self.joints[body, PARENT])
        return chain

    def body_poses(self, q: npt.ArrayLike) -> tuple[Array, Array]:
        """Compute the poses of all bodies in the root frame.

        Args:
            q: (n,) joint positions [rad] or [m].

        Returns:
            root_R_body (B, 3, 3) and the bodies' origins in the root frame (B, 3) [m].

        Raises:
            ShapeError: if q has not n entries.
        """
        from izmp_dynamics.model import kinematics

        positions = np.ascontiguousarray(q, dtype=np.float64)
        if positions.shape != (self.dof,):
            raise ShapeError('q', f'({self.dof},)', positions.shape)
        poses = np.empty((len(self.bodies), POSE))
        kinematics.body_poses(self.joints, self.bodies, positions, poses)
        return poses[:, ROTATION:POSITION].reshape(-1, 3, 3), poses[:, POSITION:]

    def mounted_on_root(self, frame: str) -> bool:
        """Whether link `frame` is rigidly fixed to the root link."""
        return self.mount(frame).body == 0

    def frame_pose(self, frame: str, q: npt.ArrayLike) -> tuple[Array, Array]:
        """Compute the pose of a link's frame in the root frame.

        Args:
            frame: name of the link.
            q: (n,) or (T, n) joint positions [rad] or [m].

        Returns:
            root_R_frame (3, 3) or (T, 3, 3), and the frame's origin in the root frame (3,) or
            (T, 3) [m].

        Raises:
            UnknownNameError: if there is no such link.
            ShapeError: if q has not n columns.
        """
        from izmp_dynamics.model import kinematics

        mount = self.mount(frame)
        batch, single = self._as_batch(q)
        poses = kinematics.frame_poses(self.joints, self.bodies, batch, mount.body, mount.pose)
        R, p = poses[:, ROTATION:POSITION].reshape(-1, 3, 3), poses[:, POSITION:]
        return (R[0], p[0]) if single else (R, p)

    def center_of_link(self, frame: str) -> Array:
        """Compute the centre of mass of the body that a link is part of: (3,) in its frame [m].

        Raises:
            UnknownNameError: if there is no such link.
        """
        mount = self.mount(frame)
        mass, moment = self.bodies[mount.body, MASS], self.bodies[mount.body, FIRST_MOMENT:INERTIA]
        if mass <= 0.0:
            return np.zeros(3)
        center: Array = mount.body_R_frame.T @ (moment / mass - mount.p_frame_in_body)
        return center

    def com(self, q: npt.ArrayLike) -> Array:
        """Compute the centre of mass in the root frame: (3,) or (T, 3) [m] for q (n,) or (T, n).

        Raises:
            ShapeError: if q has not n columns.
        """
        from izmp_dynamics.model import kinematics

        batch, single = self._as_batch(q)
        com: Array = kinematics.centers_of_mass(self.joints, self.bodies, batch)
        return com[0] if single else com

    def part(self, link: str) -> 'RobotModel':
        """Return this robot with all mass removed but that of `link` and what it carries.

        The contact wrench of the part is what the rest exerts on it plus its environment: with
        it, the mass below a force sensor is accounted for.

        Raises:
            UnknownNameError: if there is no such link.
        """
        bodies = self.bodies.copy()
        bodies[:, MASS:MULTIPLIER] = 0.0
        for carried in self.links_carried(link):
            bodies[self.mount(carried).body, MASS:MULTIPLIER] += self._masses[carried]
        return dataclasses.replace(self, bodies=frozen(bodies))

    def links_carried(self, link: str) -> frozenset[str]:
        """Return a link and all that it carries.

        Raises:
            UnknownNameError: if there is no such link.
        """
        self.mount(link)
        carried = {link}
        for segment in self.tree.segments:
            if segment.parent in carried:
                carried.add(segment.link)
        return frozenset(carried)

    def joints_that_move_mass(self) -> npt.NDArray[np.bool_]:
        """Find the joints that the dynamics depend on: for a `part`, those between root and part.

        Returns:
            (n,) mask over the independent joints.
        """
        mask = np.zeros(self.dof, dtype=np.bool_)
        for body in np.flatnonzero(self.bodies[:, MASS] > 0):
            while body > 0:
                mask[self.joints[body, DRIVER]] = True
                body = self.joints[body, PARENT]
        return mask

    def _as_batch(self, q: npt.ArrayLike) -> tuple[Array, bool]:
        batch = np.ascontiguousarray(q, dtype=np.float64)
        if batch.shape[-1:] != (self.dof,) or batch.ndim > 2:
            raise ShapeError('q', f'({self.dof},) or (T, {self.dof})', batch.shape)
        return (batch[None], True) if batch.ndim == 1 else (batch, False)


def load_model(urdf: str | Path | Urdf, root: str | None = None) -> RobotModel:
    """Load a robot model.

    Args:
        urdf: path of the URDF file, its text (anything that starts with '<'), or a parsed one.
        root: link to use as floating base, usually the one that carries the IMU; the URDF's own
            root if None. The tree is re-rooted there.

    Raises:
        ModelError: if the URDF cannot be used; the message names links, joints and lines.
        UnknownNameError: if `root` is no link.
    """
    if isinstance(urdf, str) and urdf.lstrip().startswith('<'):
        urdf = parse_urdf(urdf)
    elif not isinstance(urdf, Urdf):
        urdf = read_urdf(urdf)
    return _merged(build_tree(urdf, root))


@functools.lru_cache(maxsize=8)
def _of_text(text: str, path: Path | None, root: str) -> RobotModel:
    return load_model(parse_urdf(text, path), root)


def _restored(text: str, path: Path | None, root: str, changes: Mapping[str, Any]) -> RobotModel:
    """The model, or a part of it, that another process had."""
    bodies = frozen(changes['bodies'])
    return dataclasses.replace(_of_text(text, path, root), **{**changes, 'bodies': bodies})


def _merged(tree: KinematicTree) -> RobotModel:
    """Merge links into bodies on a walk through the tree."""
    drivers = (segment.driver for segment in tree.segments if segment.kind != 'fixed')
    joint_names = tuple(dict.fromkeys(drivers))
    joints, places, drives = [(-1, REVOLUTE, 0)], [kdl.Frame()], [(0.0, 0.0)]
    mounts = {tree.root: (0, kdl.Frame())}
    for segment in tree.segments:
        body, body_T_link = mounts[segment.parent]
        if segment.kind != 'fixed':
            joint = segment.segment.getJoint()
            place = kdl.Frame(_rotation_with_z(joint.JointAxis()), joint.JointOrigin())
            kind = REVOLUTE if segment.kind == 'revolute' else PRISMATIC
            joints.append((body, kind, joint_names.index(segment.driver)))
            places.append(body_T_link * place)
            drives.append((segment.multiplier, segment.offset))
            body, body_T_link = len(joints) - 1, place.Inverse()
        body_T_link = body_T_link * segment.segment.pose(0.0)
        mounts[segment.link] = body, body_T_link
    bodies = np.zeros((len(joints), BODY))
    bodies[:, :MASS] = [[*_rotation(place).ravel(), *_position(place)] for place in places]
    bodies[:, MULTIPLIER:] = drives
    masses = {link: moments(frame * tree.inertias[link]) for link, (_, frame) in mounts.items()}
    for link, (body, _) in mounts.items():
        bodies[body, MASS:MULTIPLIER] += masses[link]
    lower, upper, velocity, effort = _limits(tree, joint_names).T
    return RobotModel(
        tree.name, tree.root, joint_names, frozen(joints, np.int64), frozen(bodies),
        frozen(lower), frozen(upper), frozen(velocity), frozen(effort),
        tree.problems, tree.urdf.sha256, tree,
        MappingProxyType({
            link: FrameMount(body, frozen(_rotation(frame)), frozen(_position(frame)))
            for link, (body, frame) in mounts.items()
        }),
        masses,
    )  # fmt: skip


def _limits(tree: KinematicTree, joint_names: tuple[str, ...]) -> Array:
    """(n, 4): lower, upper, velocity, effort."""
    limits = np.tile([-np.inf, np.inf, np.inf, np.inf], (len(joint_names), 1))
    for segment in tree.segments:
        joint = segment.urdf_joint
        if segment.joint not in joint_names or joint.limit is None:
            continue
        row = limits[joint_names.index(segment.joint)]
        if joint.type != 'continuous':
            row[:2] = sorted((joint.limit.lower, joint.limit.upper))
        row[2:] = [
            limit if limit > 0 else np.inf for limit in (joint.limit.velocity, joint.limit.effort)
        ]
    return limits


def _rotation_with_z(axis: Any) -> Any:
    """Return a KDL rotation whose third column is the unit vector `axis`."""
    smallest = int(np.argmin(np.abs([axis[0], axis[1], axis[2]])))
    x = kdl.Vector(*np.eye(3)[smallest])
    x = x - kdl.dot(x, axis) * axis
    x.Normalize()
    return kdl.Rotation(x, axis * x, axis)  # Vector * Vector is the cross product


def _rotation(frame: Any) -> Array:
    return np.array([[frame.M[row, column] for column in range(3)] for row in range(3)])


def _position(frame: Any) -> Array:
    return np.array([frame.p[0], frame.p[1], frame.p[2]])


def moments(inertia: Any) -> list[float]:
    """Mass, first moment and inertia of KDL's inertia, as the columns from MASS of `bodies`."""
    mass, com, tensor = inertia.getMass(), inertia.getCOG(), inertia.getRotationalInertia()
    return [
        mass, mass * com[0], mass * com[1], mass * com[2],
        tensor[0], tensor[4], tensor[8], tensor[1], tensor[2], tensor[5],
    ]  # fmt: skip
