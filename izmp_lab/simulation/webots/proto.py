"""The PROTO of a robot, from its URDF: solids, joints, motors, shapes, sensors and soles.

Poses, axes, limits and inertias are those of the `RobotModel`, with the joints as the robot stands
when the world begins. A link is a solid if it has mass; shapes and sensors of one without mass go
to the link that carries it.

A pad is a TouchSensor of the type force-3d: a small sphere that alone touches the ground. Such a
sensor measures the force through its joint to the foot, no moment; but the places of the spheres
are known, so those at the corners of a sole give the whole wrench of the ground on the foot (the
moment of friction on a point is zero). The mass of the pads is taken from the foot.
"""

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.model.body_layout import DRIVER, KIND, PRISMATIC
from izmp_dynamics.model.feet import Foot
from izmp_dynamics.model.kinematic_tree import TreeSegment, kdl
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.model.visuals import Visual, find_mesh, visuals_of
from izmp_lab.simulation.webots.options import DeviceNames
from izmp_lab.simulation.webots.vrml import Document, Interface, Is, Node, def_names


@dataclass(frozen=True)
class StartPose:
    """Joint positions and the pose of the URDF's root link.

    Attributes:
        q: joint → position [rad] or [m].
        world_R_root: (3, 3).
        p_root_in_world: (3,) [m]; the ground is at z = 0.
        reason: why the robot stands with its joints at zero; empty if it stands ready to walk.
    """

    q: Mapping[str, float]
    world_R_root: Array
    p_root_in_world: Array
    reason: str = ''


def ball(mass: float, radius: float, middle: Array) -> Any:
    """KDL inertia of a solid ball with its middle (3,) [m]."""
    moment = 0.4 * mass * radius**2
    about = kdl.RotationalInertia(moment, moment, moment)
    return kdl.RigidBodyInertia(mass, kdl.Vector(*middle), about)


def without(solid: Any, part: Any) -> Any:
    """KDL inertia of what remains of a solid if a part is taken away.

    Raises:
        SimulationError: if less remains than a body can have.
    """
    rest = solid + -1.0 * part
    if rest.getMass() <= 0.0 or np.linalg.eigvalsh(tensor_of(rest)).min() <= 0.0:
        mass = solid.getMass()
        raise SimulationError(
            f'A foot of {mass:.3g} kg is too light for the pads of its sole; its inertia would '
            'not be positive.',
            kind='foot_too_light',
            mass=mass,
        )
    return rest


def tensor_of(solid: Any) -> Array:
    """(3, 3) about the centre of mass, in the solid's axes [kg·m²]."""
    about_com = solid.RefPoint(solid.getCOG()).getRotationalInertia()
    return np.array([about_com[index] for index in range(9)]).reshape(3, 3)


def _physics(solid: Any) -> Node:
    tensor = tensor_of(solid)
    return Node(
        'Physics',
        {
            'density': (-1.0,),
            'mass': (solid.getMass(),),
            'centerOfMass': [solid.getCOG()[k] for k in range(3)],
            'inertiaMatrix': [
                *np.diag(tensor).tolist(), tensor[0, 1], tensor[0, 2], tensor[1, 2],
            ],
        },
    )  # fmt: skip


PAD_RADIUS = 0.01
"""Radius of the spheres at the corners of a sole [m]; as in the MuJoCo model."""

PAD_PART = 0.01
"""Mass of a pad as part of that of the link that carries it [-]."""

UNLIMITED = 1e6
"""What stands for a torque, force, velocity or one of two limits that the URDF does not state."""

_LEAST_RANGE = 2e-6
"""Between the limits of a motor [rad] or [m]."""

SOLE, GROUND = 'sole', 'ground'
"""Contact materials."""

_PAD_COLOUR = (0.2, 0.2, 0.2)
_GREY = (0.5, 0.5, 0.5)
_UNSCALED = (1.0, 1.0, 1.0)

_FIELDS: dict[str, tuple[str, Any]] = {
    'translation': ('SFVec3f', (0.0, 0.0, 0.0)),
    'rotation': ('SFRotation', (0.0, 0.0, 1.0, 0.0)),
    'controller': ('SFString', 'void'),
    'controllerArgs': ('MFString', []),
    'customData': ('SFString', ''),
    'supervisor': ('SFBool', False),
    'synchronization': ('SFBool', True),
    'selfCollision': ('SFBool', False),
}
"""What a world may state about the robot, besides its name: type and default."""


class ProtoBuilder:
    """Makes the PROTO of a robot.

    Args:
        path: where the PROTO will lie; it is called like the file, and addresses of meshes are
            relative to its folder.
        urdf: the URDF.
        model: of the URDF with the URDF's own root.
        file: the robot file, with a wrench for each foot that has a sole of pads.
        pose: how the robot stands when the world begins.
        gain: P of the motors' position control [1/s].

    Raises:
        SimulationError: if Webots cannot have such a robot.
    """

    def __init__(
        self,
        path: Path,
        urdf: Urdf,
        model: RobotModel,
        file: RobotFile,
        pose: StartPose,
        gain: float,
    ) -> None:
        self.path, self.urdf, self.model, self.file = path, urdf, model, file
        self.pose, self.gain = pose, gain
        self.parents = {segment.link: segment.parent for segment in model.tree.segments}
        self.interface = Interface(path.stem, _FIELDS | {'name': ('SFString', path.stem)})
        shown = {name: Is(name) for name in _FIELDS}
        self.robot = Node('Robot', shown | {'children': [], 'name': Is('name')})
        self.solids: dict[str, Node] = {model.root: self.robot}
        self._visuals, self._collisions = _by_link(urdf, 'visual'), _by_link(urdf, 'collision')
        self.bounds: dict[str, list[Node]] = {}
        self.masses: dict[str, Any] = {}  # KDL inertias
        if len(model.bodies) != model.dof + 1:
            raise SimulationError(
                f"The robot '{model.name}' has mimic joints, which Webots cannot couple; remove "
                'their <mimic> or fix them.',
                kind='mimic_joints',
                robot=model.name,
            )

    def build(self) -> Document:
        """Return the PROTO."""
        if (inertia := self.model.tree.inertias[self.model.root]).getMass() > 0.0:
            self.masses[self.model.root] = inertia
        self._add_shapes(self.model.root)
        defs = def_names([link.name for link in self.urdf.robot.links])
        for segment in self.model.tree.segments:
            self._add_link(segment, defs[segment.link])
            self._add_shapes(segment.link)
        names = DeviceNames.of(self.file)
        self._add_sensors(names)
        for foot, pads in zip(self.file.feet, names.pads, strict=True):
            if pads:
                self._add_pads(foot, pads)
        for link, solid in self.solids.items():
            if link in self.bounds:
                solid.fields['boundingObject'] = Node('Group', {'children': self.bounds[link]})
            if link in self.masses:
                solid.fields['physics'] = _physics(self.masses[link])
        return Document([self.robot], self.interface)

    def _add_link(self, segment: TreeSegment, name: str) -> None:
        link, carrier = segment.link, self._carrier(segment.parent)
        moved = self.model.mount(link).body != self.model.mount(carrier).body
        inertia = segment.segment.getInertia()
        solid = Node('Solid', {'children': [], 'name': link}, name)
        if inertia.getMass() > 0.0:
            self.masses[link] = inertia
        elif moved:
            raise SimulationError(
                f"A joint moves the link '{link}', which has no mass; give it some.",
                kind='massless_link',
                link=link,
            )
        else:
            return
        if moved:
            self._append(carrier, self._joint(carrier, segment, solid))
        else:
            _set_pose(solid, *self._relative(carrier, link))
            self._append(carrier, solid)
        self.solids[link] = solid

    def _joint(self, carrier: str, segment: TreeSegment, solid: Node) -> Node:
        parent, child = self.model.mount(carrier), self.model.mount(segment.link)
        kind, column = self.model.joints[child.body, [KIND, DRIVER]]
        mount, joint = self.model.joint_mount(child.body), self.model.joint_names[column]
        q = self.pose.q[joint]
        link_R_joint = parent.body_R_frame.T @ mount.body_R_frame
        anchor = parent.body_R_frame.T @ (mount.p_frame_in_body - parent.p_frame_in_body)
        axis = link_R_joint[:, 2]
        parameters = {'position': (q,), 'axis': tuple(axis)}
        if kind == PRISMATIC:
            turned, place = link_R_joint, anchor + q * axis
        else:
            turned, place = link_R_joint @ Rotation.from_euler('z', q).as_matrix(), anchor
            parameters['anchor'] = tuple(anchor)
        if (dynamics := segment.urdf_joint.dynamics) is not None:
            given = {'dampingConstant': dynamics.damping, 'staticFriction': dynamics.friction}
            parameters |= {key: (float(value),) for key, value in given.items() if value}
        _set_pose(solid, turned @ child.body_R_frame, place + turned @ child.p_frame_in_body)
        return Node(
            'SliderJoint' if kind == PRISMATIC else 'HingeJoint',
            {
                'jointParameters': Node(
                    'JointParameters' if kind == PRISMATIC else 'HingeJointParameters', parameters
                ),
                'device': self._devices(joint, kind, column),
                'endPoint': solid,
            },
        )

    def _devices(self, joint: str, kind: int, column: int) -> list[Node]:
        model = self.model
        velocity, effort = model.velocity_limit[column], model.effort_limit[column]
        limits = np.array([model.position_lower[column], model.position_upper[column]])
        motor: dict[str, Any] = {
            'name': joint,
            'controlPID': (self.gain, 0.0, 0.0),
            'maxVelocity': (velocity if np.isfinite(velocity) else UNLIMITED,),
        }
        if np.isfinite(limits).any():
            lower, upper = _range(*np.clip(limits, -UNLIMITED, UNLIMITED))
            motor |= {'minPosition': (lower,), 'maxPosition': (upper,)}
        strength = 'maxForce' if kind == PRISMATIC else 'maxTorque'
        motor[strength] = (effort if np.isfinite(effort) else UNLIMITED,)
        motor['sound'] = ''
        sensor = joint + DeviceNames.of(self.file).sensor_suffix
        return [
            Node('LinearMotor' if kind == PRISMATIC else 'RotationalMotor', motor),
            Node('PositionSensor', {'name': sensor}),
        ]

    def _add_shapes(self, link: str) -> None:
        """Show the visuals of a link, and let its collisions collide."""
        carrier = self._carrier(link)
        for visual in self._visuals[link]:
            shape = self._geometry(visual)
            if shape is not None and Path(visual.file).suffix.lower() in ('.dae', '.obj'):
                shape.type = 'CadShape'  # with colours of its own
            elif shape is not None:
                surface = {'baseColor': visual.colour or _GREY, 'roughness': (1.0,)}
                appearance = Node('PBRAppearance', surface | {'metalness': (0.0,)})
                shape = Node('Shape', {'appearance': appearance, 'geometry': shape})
            if shape is not None:
                self._append(carrier, self._placed(carrier, visual, shape))
        for collision in self._collisions[link]:
            shape = self._geometry(collision)
            if shape is not None and (collision.kind != 'mesh' or collision.size == _UNSCALED):
                bound = self._placed(carrier, collision, shape)
                self.bounds.setdefault(carrier, []).append(bound)

    def _geometry(self, shape: Visual) -> Node | None:
        if shape.kind == 'box':
            return Node('Box', {'size': shape.size})
        if shape.kind == 'sphere':
            return Node('Sphere', {'radius': shape.size})
        if shape.kind == 'cylinder':
            radius, height = shape.size
            return Node('Cylinder', {'radius': (radius,), 'height': (height,)})
        mesh = find_mesh(shape.file, self.urdf.path)
        if mesh is None:
            return None
        url = Path(os.path.relpath(mesh, self.path.parent)).as_posix()
        return Node('Mesh', {'url': [url]})

    def _placed(self, carrier: str, shape: Visual, node: Node) -> Node:
        R, p = self._relative(carrier, shape.link)
        scaled = shape.kind == 'mesh' and shape.size != _UNSCALED
        pose = Node('Transform' if scaled else 'Pose')
        _set_pose(pose, R @ shape.R, p + R @ shape.p)
        pose.fields |= {'scale': shape.size} if scaled else {}
        pose.fields['children'] = [node]
        return pose

    def _append(self, carrier: str, child: Node) -> None:
        self.solids[carrier].fields['children'].append(child)

    def _relative(self, link: str, frame: str) -> tuple[Array, Array]:
        base, mount = self.model.mount(link), self.model.mount(frame)
        R = base.body_R_frame.T
        return R @ mount.body_R_frame, R @ (mount.p_frame_in_body - base.p_frame_in_body)

    def _carrier(self, frame: str) -> str:
        self.model.mount(frame)
        while frame not in self.solids:
            frame = self.parents[frame]
        return frame

    def _add_sensors(self, names: DeviceNames) -> None:
        file = self.file
        imu = file.imu.frame or ''
        self._add_device('Accelerometer', names.imu_accelerometer, imu)
        self._add_device('Gyro', names.imu_gyro, imu)
        self._add_device('InertialUnit', names.inertial_unit, imu)
        for sensor, name in zip(file.all_accelerometers, names.accelerometers, strict=True):
            self._add_device('Accelerometer', name, sensor.frame or '')
        of_units = zip(file.segments, names.unit_accelerometers, names.unit_gyros, strict=True)
        for unit, accelerometer, gyro in of_units:
            self._add_device('Accelerometer', accelerometer, unit.frame or '')
            self._add_device('Gyro', gyro, unit.frame or '')
        if file.position and names.gps:
            self._add_device('GPS', names.gps, file.position.frame or self.model.root)

    def _add_device(self, kind: str, name: str, frame: str) -> None:
        carrier = self._carrier(frame)
        device = Node(kind, {'name': name})
        _set_pose(device, *self._relative(carrier, frame))
        self._append(carrier, device)

    def _add_pads(self, foot: Foot, names: tuple[str, ...]) -> None:
        carrier = self._carrier(foot.sole_frame)
        R, p = self._relative(carrier, foot.sole_frame)
        body = self.model.mount(carrier).body
        for link in [x for x in self.bounds if self.model.mount(x).body == body]:
            del self.bounds[link]  # nothing else may touch the ground
        if carrier not in self.masses:
            raise SimulationError(
                f"The link '{carrier}' carries a sole but has no mass.",
                kind='massless_link',
                link=carrier,
            )
        mass = PAD_PART * self.masses[carrier].getMass()
        for name, (x, y) in zip(names, foot.polygon, strict=True):
            corner = p + R @ [x, y, 0.0]
            self._append(carrier, _pad(name, R, corner, mass))
            pad = ball(mass, PAD_RADIUS, corner + R @ [0.0, 0.0, PAD_RADIUS])
            self.masses[carrier] = without(self.masses[carrier], pad)


def _by_link(urdf: Urdf, kind: str) -> defaultdict[str, list[Visual]]:
    shapes: defaultdict[str, list[Visual]] = defaultdict(list)
    for shape in visuals_of(urdf, kind):
        shapes[shape.link].append(shape)
    return shapes


def _pad(name: str, R: Array, corner: Array, mass: float) -> Node:
    middle = (0.0, 0.0, PAD_RADIUS)
    sphere = Node('Sphere', {'radius': (PAD_RADIUS,)})
    appearance = Node('PBRAppearance', {'baseColor': _PAD_COLOUR, 'roughness': (1.0,)})
    shape = Node('Shape', {'appearance': appearance, 'geometry': sphere})
    pad = Node('TouchSensor')
    _set_pose(pad, R, corner)
    pad.fields |= {
        'children': [Node('Pose', {'translation': middle, 'children': [shape]})],
        'name': name,
        'contactMaterial': SOLE,
        'boundingObject': Node(
            'Pose',
            {'translation': middle, 'children': [Node('Sphere', {'radius': (PAD_RADIUS,)})]},
        ),
        'physics': _physics(ball(mass, PAD_RADIUS, np.array(middle))),
        'type': 'force-3d',
        'lookupTable': [],
    }
    return pad


def _range(lower: float, upper: float) -> tuple[float, float]:
    """Return limits as Webots understands them: two zeros, or twice the same, mean none."""
    room = max(0.0, _LEAST_RANGE - (upper - lower))
    return lower - 0.5 * room, upper + 0.5 * room


def _set_pose(node: Node, R: Array, p: Array) -> None:
    rest = {key: value for key, value in node.fields.items() if key not in _POSE}
    node.fields = {'translation': tuple(p), 'rotation': axis_angle(R), **rest}


_POSE = ('translation', 'rotation')


def axis_angle(R: Array) -> tuple[float, ...]:
    """Return a rotation (3, 3) as Webots writes it: unit axis and angle [rad]."""
    vector = from_matrices(R).as_rotvec()
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return (0.0, 0.0, 1.0, 0.0)
    return (*(vector / angle).tolist(), angle)
