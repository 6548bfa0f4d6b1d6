"""A stand-in for Webots: a robot that behaves like the controller API, moved by MuJoCo.

It reads the world and PROTO that `make_world` wrote: which devices there are, where the robot
stands, how strong its motors are. That the devices sit in the frames of the robot file is tested
elsewhere; here they read MuJoCo's sensors there. What it imitates of Webots (reference manual, and
the sources of the simulator where the manual is silent):

* a motor's position control: velocity = P · (target − position), at most maxVelocity, which the
  solver enforces as a constraint, as ODE does; a target set now acts in the following step. The
  torque that this takes is noted, not limited.
* sensors change only on steps and at their sampling periods. Before the first sample a
  PositionSensor is nan, so are GPS, Gyro and Accelerometer; the quaternion of an InertialUnit is
  garbage.
* the values of an Accelerometer and of a force-3d TouchSensor are those of the step, and belong to
  the instant before the other sensors'. A TouchSensor's getValues() is a raw pointer without a
  length.
* `getDevice` of an unknown name is None.

Not imitated: the mass of the pads apart from the feet, ODE's contacts (they are MuJoCo's), limits
of torque, sounds, pictures.
"""

import ctypes
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.signals import StepSamples, simulated_run, take_contacts
from izmp_lab.simulation.mujoco.spec import FORCE, GYRO, ORIENTATION, SpecBuilder, sphere_name
from izmp_lab.simulation.physics import Physics, Servo
from izmp_lab.simulation.terrain import Flat, Slope
from izmp_lab.simulation.webots.options import DeviceNames
from izmp_lab.walking.footsteps import Ramp

from .vrml_reader import parse

LIMP = Servo(kp=0.0, kv=0.0, armature=0.0, damping=0.0)
GARBAGE = (6.9e-310, math.nan, 0.0, 1.5e300)
POINTER = ctypes.POINTER(ctypes.c_double)


class Device:
    """Something with a name; a sensor takes samples once it is enabled."""

    before = math.nan
    period = 0

    def __init__(self, name, measure=None):
        self.name, self.measure, self.value = name, measure, self.before

    def getName(self):
        return self.name

    def enable(self, period):
        self.period, self.enabled_at = period, None

    def step(self, now):
        if not self.period:
            return
        if self.enabled_at is None:
            self.enabled_at = now - self.period
        if (now - self.enabled_at) % self.period == 0:
            self.value = self.measure()

    def getValue(self):
        return self.value

    def getValues(self):
        return list(self.value)

    getQuaternion = getValues


class Motor(Device):
    def __init__(self, node):
        super().__init__(node.fields['name'])
        self.gain = node.fields['controlPID'][0]
        self.max_velocity = node.fields['maxVelocity'][0]
        self.max_torque = node.fields['maxTorque'][0]
        self.target = None

    def setPosition(self, position):
        self.target = position


def _pointer(self):
    self.memory = (ctypes.c_double * 3)(*self.value)
    return ctypes.cast(self.memory, POINTER)


NAN = {'before': 3 * (math.nan,)}
SENSORS = {
    name: type(name, (Device,), own)
    for name, own in (
        ('PositionSensor', {}), ('Accelerometer', NAN), ('Gyro', NAN), ('GPS', NAN),
        ('InertialUnit', {'before': GARBAGE}),
        ('TouchSensor',
         {'before': 3 * (0.0,), 'getType': lambda self: 2, 'getValues': _pointer}),
    )
}  # fmt: skip


class StandIn:
    """A simulator with one robot in it.

    Args:
        world: files that `make_world` wrote.
        end: robot time at which the simulator is closed [s].

    Attributes:
        robot: what the plugin gets as `webots_node.robot`.
        devices: name → device; a test may take some away.
        torque: (n,) largest torque that each joint took [N·m].
        pushes: (time [ms], body, force [N]) of each step of a push.
    """

    def __init__(self, world, end=math.inf):
        document = parse(Path(world.world).read_text())
        proto = parse(Path(world.proto).read_text()).nodes[0]
        place = next(node for node in document.nodes if node.name == 'ROBOT')
        info = next(node for node in document.nodes if node.type == 'WorldInfo')
        self.name, self.supervisor = place.fields['name'], place.fields['supervisor']
        self.time_step = int(info.fields['basicTimeStep'][0])
        self.dt = 1e-3 * self.time_step
        self.now, self.end = 0, 1e3 * end
        self.pushes = []
        self.file = load_robot_file(world.robot)
        solids = [node for node in proto.nodes() if node.type == 'Solid' and node.name]
        self.links = {solid.name: solid.fields['name'] for solid in solids}
        self.devices = {}
        self.plant = self._build(self._terrain(document), proto)
        self.model, self.data = self.plant.model, mujoco.MjData(self.plant.model)
        self._add_sensors(proto)
        self._stand(place, proto)
        self.samples = StepSamples.empty(self.plant, 20_000)
        self.torque = np.zeros(self.plant.robot.dof)
        self.robot = self._supervisor()
        self._see()

    def _supervisor(self):
        """What `webots_node.robot` is."""

        def node(link):
            """A node as the supervisor sees it; the PROTO's own node has no DEF in it."""
            body = self.plant.body_of(link)

            def add(force, relative):
                assert not relative
                self.pushes.append((self.now, body, force))
                self.data.xfrc_applied[body, :3] += force

            return SimpleNamespace(addForce=add)

        def close(status):
            robot.quit_status, self.end = status, self.now

        robot = SimpleNamespace(
            quit_status=None,
            getName=lambda: self.name,
            getTime=lambda: 1e-3 * self.now,
            getBasicTimeStep=lambda: float(self.time_step),
            getSupervisor=lambda: self.supervisor,
            getNumberOfDevices=lambda: len(self.devices),
            getDeviceByIndex=lambda index: list(self.devices.values())[index],
            getDevice=lambda name: self.devices.get(name),
            getSelf=lambda: robot,
            isProto=lambda: True,
            getFromProtoDef=lambda name: node(self.links[name]) if name in self.links else None,
            addForce=node(load_model(self.file.urdf_path).root).addForce,
            simulationQuit=close,
        )
        return robot

    def step(self):
        """Simulate one step, as the driver asks for it; -1 when the simulator has been closed."""
        if self.now >= self.end:
            return -1
        model, data, row = self.model, self.data, self.samples.count
        self._command()
        self.samples.qpos[row], self.samples.qvel[row] = data.qpos, data.qvel
        mujoco.mj_step(model, data)
        self._note(row)
        data.xfrc_applied[:] = 0.0
        self._see()
        self.now += self.time_step
        for device in self.devices.values():
            device.step(self.now)
        return 0

    def truth(self):
        """What MuJoCo's sensors and the truth were at the beginning of each step."""
        step = round(self.dt * NANOSECONDS)
        stamps = step * np.arange(self.samples.count, dtype=np.int64)
        return simulated_run(self.samples.filled(), self.plant, 'walk', stamps, '')

    def _terrain(self, document):
        for node in document.nodes:
            if node.fields.get('name') == 'ramp':
                x, y, z, angle = node.fields['rotation']
                assert (x, y, z) == (0, -1, 0)
                return Slope(Ramp(angle, node.fields['translation'][0]))
        return Flat()

    def _build(self, terrain, proto):
        """MuJoCo's model with a constraint for each motor."""
        for node in proto.nodes():
            if node.type == 'RotationalMotor':
                motor = Motor(node)
                self.devices[motor.name] = motor
        physics = Physics(time_step=self.dt)
        robot = load_model(self.file.urdf_path, self.file.root)
        limp = dict.fromkeys(robot.joint_names, LIMP)
        plant = build_mujoco(self.file, physics, limp, terrain)
        spec = SpecBuilder(robot, self.file, physics, plant.servos, terrain).build()
        for joint in robot.joint_names:
            gain = self.devices[joint].gain
            spec.add_equality(
                name=joint, type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT,
                name1=joint, solimp=[0.9999, 0.9999, 0.001, 0.5, 2.0],
                solref=[-gain / self.dt, -1.0 / self.dt],
            )  # fmt: skip
        return replace(plant, model=spec.compile())

    def _stand(self, place, proto):
        """Put the robot where the world has it, with the joints of the PROTO."""
        *axis, angle = place.fields['rotation']
        quaternion = Rotation.from_rotvec(angle * np.array(axis)).as_quat()
        self.data.qpos[:3] = place.fields['translation']
        self.data.qpos[3:7] = np.roll(quaternion, 1)
        for node in proto.nodes():
            if node.type == 'HingeJoint':
                joint = node.fields['device'][0].fields['name']
                position = node.fields['jointParameters'].fields['position'][0]
                self.data.qpos[self.model.joint(joint).qposadr[0]] = position
                self.devices[joint].target = position

    def _add_sensors(self, proto):
        measures = dict(self._measures())
        for node in proto.nodes():
            if node.type in SENSORS:
                name = node.fields['name']
                self.devices[name] = SENSORS[node.type](name, measures[name])

    def _measures(self):
        """Name of a device → what it measures."""
        file, names = self.file, DeviceNames.of(self.file)
        imu, position = file.imu.topic, file.position.topic
        yield names.imu_gyro, self._reader(imu + GYRO)
        yield names.imu_accelerometer, self._reader(imu + FORCE)
        orientation = self._reader(imu + ORIENTATION)
        yield names.inertial_unit, lambda: np.roll(orientation(), -1)
        yield names.gps, self._reader(position)
        for name, sensor in zip(names.accelerometers, file.all_accelerometers, strict=True):
            yield name, self._reader(sensor.topic)
        units = zip(file.segments, names.unit_gyros, names.unit_accelerometers, strict=True)
        for unit, gyro, accelerometer in units:
            yield gyro, self._reader(unit.topic + GYRO)
            yield accelerometer, self._reader(unit.topic + FORCE)
        for joint in self.plant.robot.joint_names:
            column = self.model.joint(joint).qposadr[0]
            yield joint + names.sensor_suffix, lambda column=column: float(self.data.qpos[column])
        for foot, pads in zip(file.feet, names.pads, strict=True):
            for corner, name in enumerate(pads):
                geom = self.model.geom(sphere_name(foot, corner)).id
                yield name, lambda geom=geom, sole=foot.sole_frame: self._force(geom, sole)

    def _reader(self, sensor):
        place = self.plant.sensor(sensor)
        return lambda: self.data.sensordata[place].copy()

    def _force(self, geom, sole):
        """Force (3,) of the ground on the sphere at a corner, in the axes of its sole [N]."""
        return self.forces[geom] @ self.data.site(sole).xmat.reshape(3, 3)

    def _see(self):
        """Compute where everything is and how it moves, without touching forces."""
        for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel,
                        mujoco.mj_sensorPos, mujoco.mj_sensorVel):  # fmt: skip
            compute(self.model, self.data)

    def _command(self):
        """Set the targets of the motors in the constraints."""
        motors = [self.devices[joint] for joint in self.plant.robot.joint_names]
        targets = np.array([motor.target for motor in motors])
        gain = np.array([motor.gain for motor in motors])
        limit = np.array([motor.max_velocity for motor in motors])
        now = self.data.qpos[self.plant.q_columns]
        velocity = np.clip(gain * (targets - now), -limit, limit)
        self.model.eq_data[:, 0] = now + velocity / gain

    def _note(self, row):
        """Keep what belongs to the instant at which the step began."""
        samples, data = self.samples, self.data
        samples.qacc[row], samples.sensors[row] = data.qacc, data.sensordata
        samples.com[row] = data.subtree_com[1]
        samples.effort[row] = data.actuator_force[self.plant.ctrl_columns]
        take_contacts(self.plant, data, samples.ground[row])
        samples.count += 1
        equalities = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        self.torque = np.maximum(self.torque, np.abs(data.efc_force[equalities]))
        self.forces = self._forces_of_contacts()

    def _forces_of_contacts(self):
        """Geom id → force (3,) of the ground on it in the world [N]."""
        spheres = np.flatnonzero(self.plant.feet_of_geoms >= 0).tolist()
        forces = {geom: np.zeros(3) for geom in spheres}
        wrench, contacts = np.empty(6), self.data.contact
        geoms, frames = contacts.geom.tolist(), contacts.frame
        for index, (first, second) in enumerate(geoms):
            mujoco.mj_contactForce(self.model, self.data, index, wrench)
            geom, sign = (second, 1.0) if second in forces else (first, -1.0)
            if geom in forces:
                forces[geom] = forces[geom] + sign * wrench[:3] @ frames[index].reshape(3, 3)
        return forces
