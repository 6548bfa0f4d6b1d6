"""OpenSim models and motions, read by OpenSim's own library.

A joint of OpenSim moves its child along and about up to six axes; each may follow a function of
the coordinates, as in knees whose axis wanders. URDF has no such functions. So each axis becomes a
joint of its own, without mass in between, and its position is published as the model computes it:
the motion is that of the model, the coupling is in the positions.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import BagError, ModelError, UnknownNameError
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.bodies.recording import Foot, Joint, Link, Recording, up_to_z
from izmp_dynamics.bodies.table import read_table
from izmp_dynamics.files.libraries import library

_AXES = {'PinJoint': 'Z', 'SliderJoint': 'x', 'UniversalJoint': 'XY', 'GimbalJoint': 'XYZ'}
"""Axes of joints in the frame of the joint, one per coordinate: capital letters turn."""

_PARTS = ('x', 'y', 'z', 'about_x', 'about_y', 'about_z')

_PLACES_IN_CODE = re.compile(
    r"std::exception in '.*?': |SimTK Exception thrown at .*?: "
    r'|Error detected by Simbody method .*?\(\): '
)

_FEET = ('calcn', 'calcaneus', 'foot')
_ROTATIONAL = 1
_SAME = 1e-9
_SOLE = ((-0.04, -0.045), (0.23, 0.045))
"""Corners of a sole that is not known, from its heel [m]."""

_SMALLEST_SOLE = (0.12, 0.055)
"""Length and width below which markers do not show the whole sole, not even a child's [m]."""

_ON_GROUND = 5.0
"""Percentile of the height of a foot that counts as standing on the ground [%]."""


def read_opensim(
    path: Path,
    motion: Path,
    feet: Sequence[str] = (),
    progress: Callable[[float], None] = lambda done: None,
) -> Recording:
    """Read a model and let it perform a motion.

    Args:
        path: the model, *.osim.
        motion: the file of its coordinates over time.
        feet: bodies that are feet; default: those whose names say so.
        progress: is called with the part that is done.

    Raises:
        ModelError: the model cannot be used.
        BagError: the motion is not one of this model.
        MissingDependencyError: OpenSim's library is not installed.
    """
    return _Reader(path, motion, feet).recording(progress)


class _Axis(NamedTuple):
    """One axis of a joint: its name, kind, direction, and its position in a state."""

    name: str
    kind: str
    axis: Array
    value: Callable[[Any], float]
    is_constant: bool = False


def opensim_library() -> Any:
    """Import OpenSim's library and undo what that does to the variables of the environment.

    It puts its own LD_LIBRARY_PATH in place of the one with which later processes find theirs.

    Raises:
        MissingDependencyError: it is not installed.
    """
    before = os.environ.copy()
    try:
        return library('opensim', "Reading OpenSim's models", 'opensim')
    finally:
        os.environ.clear()
        os.environ.update(before)


class _Reader:
    def __init__(self, path: Path, motion: Path, feet: Sequence[str]) -> None:
        self._osim = osim = opensim_library()
        osim.Logger.setLevelString('Off')
        osim.Logger.removeFileSink()
        self._path, self._remarks = path, list[str]()
        with _refusals(path):
            if not path.is_file():
                raise ModelError(f"There is no model '{path}'.", kind='no_file', path=path)
            with path.open('rb') as stream:
                if b'<OpenSimDocument' not in stream.read(4096):
                    raise self._bad('is not an OpenSim model (.osim)', 'opensim')
            self._model = model = osim.Model(str(path))
            if not sum(body.getMass() for body in model.getBodySet()):
                raise self._bad('has no masses', 'no_mass')
            model.updForceSet().clearAndDestroy()
            model.updControllerSet().clearAndDestroy()
            for coordinate in model.updCoordinateSet():
                coordinate.setDefaultLocked(False)
                coordinate.setDefaultClamped(False)
            self._state = model.initSystem()
        self._motion = read_table(motion)
        gravity = model.getGravity().to_numpy()
        self._gravity = float(np.linalg.norm(gravity))
        if not self._gravity:
            raise self._bad('has no gravity, so it is not known where up is', 'no_gravity')
        self._turn = up_to_z(-gravity / self._gravity)
        self._bodies = {body.getName(): body for body in model.getBodySet()}
        self._joints = {
            _base(joint.getChildFrame()): joint
            for joint in model.getJointSet()
            if _base(joint.getChildFrame()) in self._bodies
        }
        self._root = self._choose_root()
        self._members = [name for name in self._bodies if self._carrier(name) == self._root]
        self._given = self._columns()
        self._feet = self._choose_feet(feet)

    def recording(self, progress: Callable[[float], None]) -> Recording:
        outlines = {name: self._outline(name) for name in self._feet}
        chains = {
            name: self._axes(self._joints[name]) for name in self._members if name != self._root
        }
        axes = [axis for chain in chains.values() for axis in chain if not axis.is_constant]
        if not axes:
            raise self._bad('has no joint that moves', 'no_joints')
        followed = [axis.name for axis in axes if axis.name not in self._coordinates]
        if followed:
            self._remarks.append(
                f'URDF cannot express how {list_names(followed)} follow the coordinates of the '
                'model: they are joints of their own, and their positions are computed.'
            )
        watched = [self._root, *self._feet]
        count = len(self._motion.stamps)
        q = np.empty((count, len(axes)))
        R, p = np.empty((len(watched), count, 3, 3)), np.empty((len(watched), count, 3))
        for t in range(count):
            self._set(t)
            q[t] = [axis.value(self._state) for axis in axes]
            for k, name in enumerate(watched):
                R[k, t], p[k, t] = self._pose(self._bodies[name])
            if t % 100 == 0:
                progress(t / count)
        links, joints = self._tree(chains)
        soles = [
            # Its sole is on the ground, z = 0, where the foot is low.
            Foot(name, corners, -float(np.percentile(p[k, :, 2], _ON_GROUND)), R[k], p[k])
            for k, (name, corners) in enumerate(outlines.items(), start=1)
        ]
        turning = [axis.kind == 'continuous' for axis in axes]
        q[:, turning] = np.unwrap(q[:, turning], axis=0)  # angles of a matrix jump
        moves = {axis.name: q[:, k] for k, axis in enumerate(axes)}
        return Recording(
            self._model.getName() or self._path.stem, links, joints, self._gravity, self._turn,
            self._motion.stamps, moves,
            R[0], p[0], tuple(soles), tuple(self._remarks),
        )  # fmt: skip

    def _bad(self, what: str, kind: str) -> ModelError:
        return ModelError(f"The model '{self._path}' {what}.", kind=kind, path=self._path)

    def _carrier(self, name: str) -> str:
        """The body on the ground that carries a body."""
        while name in self._joints:
            parent = _base(self._joints[name].getParentFrame())
            if parent not in self._bodies:
                break
            name = parent
        return name

    def _choose_root(self) -> str:
        masses: dict[str, float] = {}
        for name, body in self._bodies.items():
            carrier = self._carrier(name)
            masses[carrier] = masses.get(carrier, 0.0) + body.getMass()
        root = max(masses, key=lambda name: masses[name])
        others = [name for name in masses if name != root]
        if others:
            self._remarks.append(f'{list_names(others)}: not carried by {root}, left out.')
        return root

    def _choose_feet(self, names: Sequence[str]) -> list[str]:
        for name in names:
            if name not in self._members:
                raise UnknownNameError('body', name, self._members, f"in '{self._path}'")
        found = list(names)
        for word in _FEET:
            found = found or [name for name in self._members if word in name.lower()]
        if not found:
            self._remarks.append(
                'No body is named like a foot (calcn, foot): state them with --feet.'
            )
        return found

    def _columns(self) -> Array:
        """(T, C) the coordinates of the model over time [rad, m]; in the order of the model."""
        self._coordinates = {c.getName(): c for c in self._model.getCoordinateSet()}
        motion, names = self._motion, [_coordinate(name) for name in self._motion.names]
        couplers = self._couplers()
        found = [name for name in self._coordinates if name in names and name not in couplers]
        if not found:
            raise UnknownNameError(
                'coordinate', motion.names[0], tuple(self._coordinates), f"in '{self._path}'",
                f"No column of '{motion.path}' is a coordinate of the model.",
            )  # fmt: skip
        turning = [n for n in found if self._coordinates[n].getMotionType() == _ROTATIONAL]
        angles = motion.values[:, [names.index(name) for name in turning]]
        degrees = self._in_degrees(turning, angles)
        values = np.empty((len(motion.stamps), len(self._coordinates)))
        missing = []
        for k, (name, coordinate) in enumerate(self._coordinates.items()):
            if name in turning:
                column = angles[:, turning.index(name)]
                values[:, k] = np.radians(column) if degrees else column
            elif name in found:
                values[:, k] = motion.lengths([motion.names[names.index(name)]])[:, 0]
            elif name not in couplers:
                values[:, k] = coordinate.getDefaultValue()
                missing.append(name)
        listed = list(self._coordinates)
        for name, coupler in couplers.items():
            others, function = coupler.getIndependentCoordinateNames(), coupler.getFunction()
            columns = [listed.index(others.get(i)) for i in range(others.getSize())]
            values[:, listed.index(name)] = [
                function.calcValue(self._osim.Vector.createFromMat(row))
                for row in values[:, columns]
            ]
        if missing:
            self._remarks.append(
                f'{list_names(missing)}: not in the motion, at the default of the model.'
            )
        return values

    def _in_degrees(self, names: Sequence[str], angles: Array) -> bool:
        """Whether angles are in degrees, as the file says, unless that cannot be."""
        motion, stated = self._motion, self._motion.in_degrees
        largest = np.abs(angles).max(axis=0, initial=0.0)
        k = int(np.argmax(largest)) if len(names) else 0
        if motion.path.suffix.lower() == '.mat' and len(names):  # it has no header
            stated = bool(largest[k] > 4.0 * np.pi)
            self._remarks.append(
                f"'{motion.path.name}' does not say whether angles are in degrees; they are read "
                f"in {'degrees' if stated else 'radians'}, as '{names[k]}' reaches "
                f'{largest[k]:.3g}.'
            )
        if not stated and len(names) and largest[k] > 4.0 * np.pi:
            says = 'does not say whether angles are in degrees'
            says = says if stated is None else 'says that angles are in radians (inDegrees=no)'
            raise BagError(
                f"'{motion.path}' {says}, but '{names[k]}' reaches {largest[k]:.4g}; write "
                'inDegrees=yes into its header.',
                kind='wrong_unit', path=motion.path, column=names[k],
            )  # fmt: skip
        return bool(stated)

    def _couplers(self) -> dict[str, Any]:
        """Coordinate → the constraint that makes it follow others."""
        found, other = {}, []
        for constraint in self._model.getConstraintSet():
            coupler = self._osim.CoordinateCouplerConstraint.safeDownCast(constraint)
            if coupler is None:
                other.append(constraint.getName())
            else:
                found[coupler.getDependentCoordinateName()] = coupler
        if other:
            self._remarks.append(
                f'Not enforced: {list_names(other)}, as only couplings of coordinates are read.'
            )
        return found

    def _set(self, t: int) -> None:
        for coordinate, value in zip(self._coordinates.values(), self._given[t], strict=True):
            coordinate.setValue(self._state, float(value), False)
        self._model.realizePosition(self._state)

    def _pose(self, frame: Any) -> tuple[Array, Array]:
        """world_R_frame and its origin in the present state, z up."""
        R, p = _transform(frame.getTransformInGround(self._state))
        return self._turn @ R @ self._turn.T, self._turn @ p

    def _axes(self, joint: Any) -> list[_Axis]:
        """The axes of a joint, from its parent to its child."""
        kind, name = joint.getConcreteClassName(), joint.getName()
        if kind == 'WeldJoint':
            return []
        if kind == 'CustomJoint':
            return list(self._custom_axes(self._osim.CustomJoint.safeDownCast(joint)))
        if kind in _AXES:
            coordinates = [joint.get_coordinates(i) for i in range(joint.numCoordinates())]
            return [
                _Axis(c.getName(), *self._along(letter), c.getValue)
                for c, letter in zip(coordinates, _AXES[kind], strict=True)
            ]
        return [
            _Axis(f'{name}_{part}', *self._along(letter), self._part(joint, k))
            for k, (part, letter) in enumerate(zip(_PARTS, 'xyzXYZ', strict=True))
        ]

    def _along(self, letter: str) -> tuple[str, Array]:
        axis = self._turn[:, 'xyz'.index(letter.lower())]
        return ('continuous' if letter.isupper() else 'prismatic'), axis

    def _part(self, joint: Any, part: int) -> Callable[[Any], float]:
        """One of the six numbers that say where the child is in the parent, of any joint."""

        def value(state: Any) -> float:
            base = joint.getParentFrame()
            R, p = _transform(joint.getChildFrame().findTransformBetween(state, base))
            return float(
                p[part] if part < 3 else Rotation.from_matrix(R).as_euler('XYZ')[part - 3]
            )

        return value

    def _custom_axes(self, joint: Any) -> Iterator[_Axis]:
        transform = joint.getSpatialTransform()
        used: set[str] = set()
        for i in (3, 4, 5, 0, 1, 2):  # it is moved in the parent's axes, then turned
            given = transform.getTransformAxis(i)
            names = given.getCoordinateNamesInArray()
            direction = given.getAxis().to_numpy()
            axis = self._turn @ direction / np.linalg.norm(direction)
            name = f'{joint.getName()}_{given.getName()}'
            kind, value = 'continuous' if i < 3 else 'prismatic', given.getValue
            linear = None
            if names.getSize() == 1 and names.get(0) not in used:
                linear = self._osim.LinearFunction.safeDownCast(given.getFunction())
            if linear is not None and abs(linear.getSlope()) == 1.0 and not linear.getIntercept():
                name, axis = names.get(0), axis * linear.getSlope()
                value = self._coordinates[name].getValue
                used.add(name)
            yield _Axis(name, kind, axis, value, names.getSize() == 0)

    def _tree(self, chains: dict[str, list[_Axis]]) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
        """Links and joints; between two axes is a link without mass."""
        links, joints = [self._link(self._root)], list[Joint]()
        for name, chain in chains.items():
            joint = self._joints[name]
            parent = _base(joint.getParentFrame())
            R, p = self._offset(joint.getParentFrame())
            R_end, p_end = self._offset(joint.getChildFrame())
            has_end = np.abs(R_end - np.eye(3)).max() > _SAME or np.abs(p_end).max() > _SAME
            moving = [axis for axis in chain if not axis.is_constant]
            for axis in chain:
                if axis.is_constant:
                    R, p = _moved(R, p, axis, axis.value(self._state))
                    continue
                child = name if axis is moving[-1] and not has_end else f'{name}_{axis.name}'
                joints.append(Joint(axis.name, parent, child, R, p, axis.kind, axis.axis))
                links += [Link(child)] if child != name else []
                parent, R, p = child, np.eye(3), np.zeros(3)
            if parent != name:
                R = R @ R_end.T
                joints.append(Joint(f'{joint.getName()}_mount', parent, name, R, p - R @ p_end))
            links.append(self._link(name))
        return tuple(links), tuple(joints)

    def _link(self, name: str) -> Link:
        body, turn = self._bodies[name], self._turn
        moments, products = (
            part.to_numpy()
            for part in (body.getInertia().getMoments(), body.getInertia().getProducts())
        )
        xy, xz, yz = products
        tensor = np.diag(moments) + np.array([[0, xy, xz], [xy, 0, yz], [xz, yz, 0]])
        com = turn @ body.getMassCenter().to_numpy()
        return Link(name, body.getMass(), com, turn @ tensor @ turn.T)

    def _offset(self, frame: Any) -> tuple[Array, Array]:
        R, p = _transform(frame.findTransformInBaseFrame())
        return self._turn @ R @ self._turn.T, self._turn @ p

    def _outline(self, name: str) -> Array:
        """(4, 2) corners of the box around the markers of a foot and of what it carries [m]."""
        self._model.realizePosition(self._state)  # at the defaults of the coordinates
        parts = [name]
        for member in self._members:
            if member in self._joints and _base(self._joints[member].getParentFrame()) in parts:
                parts.append(member)
        R, p = self._pose(self._bodies[name])
        points = [
            self._turn @ marker.getLocationInGround(self._state).to_numpy()
            for marker in self._model.getMarkerSet()
            if _base(marker.getParentFrame()) in parts
        ]
        points += [self._pose(self._bodies[part])[1] for part in parts]
        level = ((np.array(points) - p) @ R)[:, :2]
        low, high = level.min(axis=0), level.max(axis=0)
        if (high - low < _SMALLEST_SOLE).any():
            self._remarks.append(
                f'The outline of the sole of {name} is assumed, as the model has too few markers '
                'on it: look at polygon in robot.yaml.'
            )
            low, high = np.array(_SOLE)
        return np.array([high, [low[0], high[1]], low, [high[0], low[1]]])


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Make errors of OpenSim's library ours."""
    try:
        yield
    except RuntimeError as error:
        text = re.sub(r'\s+', ' ', str(error).partition('Thrown at')[0])
        reason = _PLACES_IN_CODE.sub('', text).strip().rstrip('.')
        raise ModelError(
            f"OpenSim cannot read the model '{path}': {reason[:300]}.", kind='opensim', path=path
        ) from error


def _base(frame: Any) -> str:
    """Name of the body, or of the ground, that a frame is fixed to."""
    return str(frame.findBaseFrame().getName())


def _coordinate(column: str) -> str:
    """Name of the coordinate of a column; of files of states it is inside a path."""
    parts = column.split('/')
    return parts[-2] if len(parts) > 2 and parts[-1] == 'value' else column


def _transform(given: Any) -> tuple[Array, Array]:
    matrix = given.R().asMat33()
    R = np.array([[matrix.get(i, j) for j in range(3)] for i in range(3)])
    return R, given.p().to_numpy()


def _moved(R: Array, p: Array, axis: _Axis, value: float) -> tuple[Array, Array]:
    """A frame moved along or about an axis of its own."""
    if axis.kind == 'prismatic':
        return R, p + R @ axis.axis * value
    return R @ Rotation.from_rotvec(axis.axis * value).as_matrix(), p
