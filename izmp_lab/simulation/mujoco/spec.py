"""The robot as a MuJoCo model spec, made in code from the one URDF.

MuJoCo's own URDF importer is not used: depending on the version it drops the inertia of the root,
fuses static links or loses the rotation of inertials. Here every body of the `RobotModel` becomes
a MuJoCo body with the same frame and inertia, every link frame a site of the same name, and the
root floats. Only the soles collide, with a small sphere at each corner or as the ball that they
are, and only with the ground; feet do not touch each other, so every contact force is a ground
reaction.
"""

import logging
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MissingDependencyError, SimulationError
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.model.body_layout import (
    DRIVER,
    FIRST_MOMENT,
    INERTIA,
    KIND,
    MASS,
    MULTIPLIER,
    PRISMATIC,
)
from izmp_dynamics.model.feet import Foot
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import FrameMount, RobotModel
from izmp_lab.simulation.physics import Physics, Servo, check_sensors
from izmp_lab.simulation.terrain import Flat, Slope, Terrain, Uneven


@dataclass(frozen=True)
class MassMoments:
    """Inertia of a body.

    Attributes:
        mass: [kg].
        first_moment: (3,) mass times centre of mass in the body frame [kg·m].
        inertia: (3, 3) about the body's origin [kg·m²].
    """

    mass: float
    first_moment: Array
    inertia: Array


def mass_moments(model: RobotModel, body: int) -> MassMoments:
    """Return the inertia of a body."""
    row = model.bodies[body]
    xx, yy, zz, xy, xz, yz = row[INERTIA:MULTIPLIER]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return MassMoments(float(row[MASS]), row[FIRST_MOMENT:INERTIA], inertia)


_GRAPHICS = 'MUJOCO_GL'

# By default MuJoCo loads GLFW, which starts a subprocess; nothing here draws.
_is_named = _GRAPHICS in os.environ
os.environ.setdefault(_GRAPHICS, 'disable')
try:
    import mujoco
except ImportError as error:
    raise MissingDependencyError('mujoco', 'The simulation', 'pip install mujoco') from error
except Exception as error:  # it loads the OpenGL library that the environment asks for
    raise SimulationError(
        f"MuJoCo cannot be loaded ({error}). {_GRAPHICS} is '{os.environ.get(_GRAPHICS, '')}': "
        'unset it, or install the library that it names.',
        kind='mujoco_not_loaded',
        cause=error,
    ) from error
finally:
    if not _is_named:
        del os.environ[_GRAPHICS]

__all__ = ['diverged', 'mujoco']

# MuJoCo would append its warnings to a file in the current folder; what matters is raised.
mujoco.set_mju_user_warning(logging.getLogger(__name__).debug)

_BAD = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADQACC) + 1)
"""Warnings about positions, velocities and accelerations, which follow each other."""


def diverged(data: Any) -> bool:
    """Return whether a position, velocity or acceleration of mujoco.MjData diverged.

    MuJoCo then resets to its first state, with a warning only.
    """
    return bool(data.warning.number[_BAD].any())


_FLOOR = 'floor'
_PLANE_SIZE = [50.0, 50.0, 0.1]
_BASE = 0.1
"""How far a height field reaches down below its lowest point [m]."""


def add_ground(spec: Any, terrain: Terrain, contact: dict[str, Any]) -> None:
    """Add a terrain to a mujoco.MjSpec.

    Args:
        spec: to add to.
        terrain: the ground.
        contact: friction and softness, as arguments of `add_geom`.

    Raises:
        SimulationError: if there is no translation for this kind of terrain.
    """
    common = {'contype': 0, 'conaffinity': 1, **contact}
    if isinstance(terrain, Flat):
        _add_plane(spec, _FLOOR, common)
    elif isinstance(terrain, Slope):
        _add_plane(spec, _FLOOR, common)
        if terrain.ramp.slope > 0.0:
            half = -0.5 * terrain.ramp.slope
            place = {'pos': [terrain.ramp.start, 0.0, 0.0]}
            turn = {'quat': [np.cos(half), 0.0, np.sin(half), 0.0]}
            # Two planes are two half spaces: the upper one counts, before the edge and beyond.
            _add_plane(spec, 'ramp', {**common, **place, **turn})
    elif isinstance(terrain, Uneven):
        _add_height_field(spec, terrain, common)
    else:
        raise SimulationError(
            f'MuJoCo has no ground of the kind {type(terrain).__name__}.',
            kind='unknown_terrain',
            terrain=type(terrain).__name__,
        )


def _add_plane(spec: Any, name: str, arguments: dict[str, Any]) -> None:
    kind = mujoco.mjtGeom.mjGEOM_PLANE
    spec.worldbody.add_geom(name=name, type=kind, size=_PLANE_SIZE, **arguments)


def _add_height_field(spec: Any, terrain: Uneven, arguments: dict[str, Any]) -> None:
    grid = terrain.grid
    half = 0.5 * terrain.cell * (len(grid) - 1)
    lowest, highest = float(grid.min()), float(grid.max())
    spec.add_hfield(
        name=_FLOOR, nrow=len(grid), ncol=len(grid),
        size=[half, half, highest - lowest, _BASE], userdata=grid.ravel().tolist(),
    )  # fmt: skip
    spec.worldbody.add_geom(
        name=_FLOOR, type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=_FLOOR,
        pos=[0.0, 0.0, lowest], **arguments,
    )  # fmt: skip


SPHERE_RADIUS = 0.01
"""Radius of the spheres at the corners of a sole [m]."""

GYRO, FORCE, TORQUE, ORIENTATION = '#gyro', '#force', '#torque', '#orientation'
"""Endings of MuJoCo sensors that share a topic; an accelerometer measures specific force."""

SOLVER_TOLERANCE = 1e-20
"""At which gain the solver of the contact forces stops [-]; the error of a force goes with its
root: about 1e-8 N. MuJoCo's default of 1e-8 leaves 0.01 N, at the same speed."""


class SpecBuilder:
    """Translates the bodies of a RobotModel, parents first.

    Attributes:
        sole_contype: MuJoCo's contype of the soles; the ground's conaffinity is 1.
    """

    sole_contype = 1

    def __init__(
        self,
        robot: RobotModel,
        file: RobotFile,
        physics: Physics,
        servos: tuple[Servo, ...],
        terrain: Terrain,
    ) -> None:
        self.robot, self.file, self.physics, self.servos = robot, file, physics, servos
        self.terrain = terrain
        if len(robot.bodies) != robot.dof + 1:
            raise SimulationError(
                f"The robot '{robot.name}' has mimic joints; the simulation cannot couple joints.",
                kind='mimic_joints',
                robot=robot.name,
            )
        check_sensors(file)
        self.spec = mujoco.MjSpec()
        self.spec.modelname = robot.name
        self.spec.compiler.degree = False
        self.links: dict[int, str] = {}
        for link in robot.frame_names:
            self.links.setdefault(robot.mount(link).body, link)

    def build(self) -> Any:
        """Return the mujoco.MjSpec."""
        self._set_options()
        add_ground(self.spec, self.terrain, self._contact())
        bodies = self._add_bodies()
        for link in self.robot.frame_names:
            mount = self.robot.mount(link)
            bodies[mount.body].add_site(name=link, **_pose(mount))
        for foot in self.file.feet:
            self._add_sole(bodies, foot)
        self._add_servos()
        self._add_sensors()
        return self.spec

    def _set_options(self) -> None:
        option = self.spec.option
        option.timestep = self.physics.time_step
        option.gravity = [0.0, 0.0, -self.file.gravity]
        option.integrator = mujoco.mjtIntegrator.mjINT_EULER
        # With implicit joint damping qacc would not be the change of qvel over the step.
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio = self.physics.impratio
        # MuJoCo 4.0.0 factorizes sparse Hessians wrongly (issue 3767 of google-deepmind/mujoco).
        option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        option.tolerance = SOLVER_TOLERANCE

    def _contact(self) -> dict[str, Any]:
        return {
            'friction': [self.physics.friction, 0.005, 0.0001],
            'solref': list(self.physics.solref),
            'condim': 3,
        }

    def _add_bodies(self) -> list[Any]:
        robot = self.robot
        root = self.spec.worldbody.add_body(name=robot.root)
        root.add_freejoint(name=f'{robot.root}_free')
        self._set_inertia(root, 0)
        bodies = [root]
        for index in range(1, len(robot.bodies)):
            mount, joint = robot.joint_mount(index), robot.joints[index]
            body = bodies[mount.body].add_body(name=self.links[index], **_pose(mount))
            self._add_joint(body, int(joint[KIND]), int(joint[DRIVER]))
            self._set_inertia(body, index)
            bodies.append(body)
        return bodies

    def _add_joint(self, body: Any, kind: int, column: int) -> None:
        robot, joint = self.robot, self.robot.joint_names[column]
        servo = self.servos[column]
        lower, upper = robot.position_lower[column], robot.position_upper[column]
        limited = bool(np.isfinite([lower, upper]).all())
        body.add_joint(
            name=joint,
            type=mujoco.mjtJoint.mjJNT_SLIDE if kind == PRISMATIC else mujoco.mjtJoint.mjJNT_HINGE,
            axis=[0.0, 0.0, 1.0],
            limited=limited,
            range=[lower, upper] if limited else [0.0, 0.0],
            armature=servo.armature,
            damping=servo.damping,
        )

    def _set_inertia(self, body: Any, index: int) -> None:
        mass, com, tensor = _about_com(mass_moments(self.robot, index))
        if mass <= 0.0:
            raise SimulationError(
                f"Link '{self.links[index]}' moves but has no mass; the simulation needs some.",
                kind='massless_link',
                link=self.links[index],
            )
        moments, axes = np.linalg.eigh(tensor)
        axes[:, 2] *= np.linalg.det(axes)
        body.explicitinertial = True
        body.mass = mass * self.physics.mass_scale
        body.ipos = com
        body.iquat = _quaternion_wxyz(axes)
        body.inertia = moments * self.physics.mass_scale

    def _add_sole(self, bodies: list[Any], foot: Foot) -> None:
        mount = self.robot.mount(foot.sole_frame)
        radius, above = foot.radius or SPHERE_RADIUS, 0.0 if foot.radius else SPHERE_RADIUS
        for corner, (x, y) in enumerate(foot.corners):
            center = mount.p_frame_in_body + mount.body_R_frame @ [x, y, above]
            bodies[mount.body].add_geom(
                name=sphere_name(foot, corner), type=mujoco.mjtGeom.mjGEOM_SPHERE,
                size=[radius, 0, 0], pos=center,
                contype=self.sole_contype, conaffinity=0, group=3, **self._contact(),
            )  # fmt: skip

    def _add_servos(self) -> None:
        for joint, servo, effort in zip(
            self.robot.joint_names, self.servos, self.robot.effort_limit, strict=True
        ):
            limited = bool(np.isfinite(effort))
            self.spec.add_actuator(
                name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT,
                gaintype=mujoco.mjtGain.mjGAIN_FIXED, gainprm=_padded(servo.kp),
                biastype=mujoco.mjtBias.mjBIAS_AFFINE, biasprm=_padded(0.0, -servo.kp, -servo.kv),
                forcelimited=limited, forcerange=[-effort, effort] if limited else [0.0, 0.0],
            )  # fmt: skip

    def _add_sensors(self) -> None:
        """Add the sensors of the robot file; they bear the names of their topics."""
        file, kinds = self.file, mujoco.mjtSensor
        self._add_sensor(file.imu.topic + GYRO, kinds.mjSENS_GYRO, file.imu.frame)
        self._add_sensor(file.imu.topic + FORCE, kinds.mjSENS_ACCELEROMETER, file.imu.frame)
        self._add_sensor(file.imu.topic + ORIENTATION, kinds.mjSENS_FRAMEQUAT, file.imu.frame)
        for sensor in file.all_accelerometers:
            self._add_sensor(sensor.topic, kinds.mjSENS_ACCELEROMETER, sensor.frame)
        for unit in file.segments:
            self._add_sensor(unit.topic + GYRO, kinds.mjSENS_GYRO, unit.frame)
            self._add_sensor(unit.topic + FORCE, kinds.mjSENS_ACCELEROMETER, unit.frame)
        if file.position:
            frame = file.position.frame or self.robot.root
            self._add_sensor(file.position.topic, kinds.mjSENS_FRAMEPOS, frame)
        for foot in file.feet:
            if foot.wrench and foot.radius is None:
                wrench = foot.wrench
                self._add_sensor(wrench.topic + FORCE, kinds.mjSENS_FORCE, wrench.frame)
                self._add_sensor(wrench.topic + TORQUE, kinds.mjSENS_TORQUE, wrench.frame)

    def _add_sensor(self, name: str, kind: Any, frame: str | None) -> None:
        if frame is None:
            raise SimulationError(
                f"The simulation needs to know where the sensor of topic '{name}' sits; give its "
                'frame in the robot file.',
                kind='sensor_without_frame',
                topic=name,
            )
        self.robot.mount(frame)
        self.spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=frame)


def sphere_name(foot: Foot, corner: int) -> str:
    """Return the name of the geom at a corner of a foot's sole."""
    return f'{foot.name}_corner_{corner}'


def _about_com(body: MassMoments) -> tuple[float, Array, Array]:
    mass = body.mass
    com = body.first_moment / mass if mass > 0.0 else np.zeros(3)
    return mass, com, body.inertia - mass * (com @ com * np.eye(3) - np.outer(com, com))


def _pose(mount: FrameMount) -> dict[str, Array]:
    return {'pos': mount.p_frame_in_body, 'quat': _quaternion_wxyz(mount.body_R_frame)}


def _quaternion_wxyz(R: Array) -> Array:
    return np.roll(from_matrices(R).as_quat(), 1)


def _padded(*values: float) -> list[float]:
    return [*values, *([0.0] * (10 - len(values)))]
