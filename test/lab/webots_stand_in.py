"""A stand-in for Webots: a robot that behaves like the controller API, moved by MuJoCo.

It reads the world and PROTO that `make_world` wrote: which devices there are, what they are called
and where they sit, where the robot stands, how strong its motors are. What it imitates of Webots
(reference manual, and the sources of the simulator where the manual is silent):

* a motor's position control: velocity = P · (target − position), at most maxVelocity, which the
  solver enforces as a constraint, as ODE does; a target set now acts in the following step. The
  torque that this takes is noted, not limited.
* sensors change only on steps and at their sampling periods. Before the first sample a
  PositionSensor is nan, so are GPS, Gyro and Accelerometer; the quaternion of an InertialUnit is
  garbage.
* an Accelerometer differences the velocity of its place over the sampling period; a force-3d
  TouchSensor measures the force of the solver during the step; both therefore belong to the
  instant before the other sensors'. A TouchSensor's getValues() is a raw pointer without a length.
* `getDevice` of an unknown name is None.

Not imitated: the mass of the pads apart from the feet, ODE's contacts (they are MuJoCo's), limits
of torque, sounds, pictures.
"""

import ctypes
import math
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import NANOSECONDS, cross
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import read_urdf
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.signals import StepSamples, simulated_run, take_contacts
from izmp_lab.simulation.mujoco.spec import SpecBuilder, sphere_name
from izmp_lab.simulation.physics import Physics, Servo
from izmp_lab.simulation.terrain import Flat, Slope
from izmp_lab.simulation.webots.vrml import parse
from izmp_lab.walking.footsteps import Ramp

LIMP = Servo(kp=0.0, kv=0.0, armature=0.0, damping=0.0)
GARBAGE = (6.9e-310, math.nan, 0.0, 1.5e300)
POINTER = ctypes.POINTER(ctypes.c_double)


class Device:
    """A device without sampling."""

    def __init__(self, name):
        self.name = name

    def getName(self):
        return self.name


class Motor(Device):
    def __init__(self, node):
        super().__init__(node.fields['name'])
        self.gain = node.fields['controlPID'][0]
        self.max_velocity = node.fields['maxVelocity'][0]
        self.max_torque = node.fields['maxTorque'][0]
        self.target = None

    def setPosition(self, position):
        self.target = position


class Sensor(Device):
    """A device that takes samples once it is enabled."""

    def __init__(self, name, measure, before):
        super().__init__(name)
        self.measure, self.value = measure, before
        self.period = self.enabled_at = 0

    def enable(self, period):
        self.period, self.enabled_at = period, None

    def getSamplingPeriod(self):
        return self.period

    def step(self, now):
        if not self.period:
            return
        if self.enabled_at is None:
            self.enabled_at = now - self.period
        if (now - self.enabled_at) % self.period == 0:
            self.value = self.measure(self.period)


class PositionSensor(Sensor):
    def getValue(self):
        return self.value


class Vector(Sensor):
    def getValues(self):
        return list(self.value)


class Accelerometer(Vector):
    pass


class Gyro(Vector):
    pass


class GPS(Vector):
    pass


class InertialUnit(Sensor):
    def getQuaternion(self):
        return list(self.value)


class TouchSensor(Sensor):
    def getType(self):
        return 2

    def getValues(self):
        self.memory = (ctypes.c_double * 3)(*self.value)
        return ctypes.cast(self.memory, POINTER)


class SolidNode:
    """A node as the supervisor sees it."""

    def __init__(self, stand_in, body):
        self.stand_in, self.body = stand_in, body

    def addForce(self, force, relative):
        assert not relative
        self.stand_in.pushes.append((self.stand_in.now, self.body, force))
        self.stand_in.data.xfrc_applied[self.body, :3] += force


class Supervisor:
    """What `webots_node.robot` is."""

    def __init__(self, stand_in):
        self.stand_in = stand_in
        self.quit_status = None

    def getName(self):
        return self.stand_in.name

    def getTime(self):
        return 1e-3 * self.stand_in.now

    def getBasicTimeStep(self):
        return float(self.stand_in.time_step)

    def getSupervisor(self):
        return self.stand_in.supervisor

    def getNumberOfDevices(self):
        return len(self.stand_in.devices)

    def getDeviceByIndex(self, index):
        return list(self.stand_in.devices.values())[index]

    def getDevice(self, name):
        return self.stand_in.devices.get(name)

    def getSelf(self):
        return self

    def isProto(self):
        return True

    def getFromProtoDef(self, name):
        link = self.stand_in.links.get(name)  # the PROTO's own node has no DEF in it
        return (
            None if link is None else SolidNode(self.stand_in, self.stand_in.plant.body_of(link))
        )

    def addForce(self, force, relative):
        root = load_model(self.stand_in.file.urdf_path).root
        SolidNode(self.stand_in, self.stand_in.plant.body_of(root)).addForce(force, relative)

    def simulationQuit(self, status):
        self.quit_status = status
        self.stand_in.end = self.stand_in.now


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
        self.links, self.devices = {}, {}
        self.plant = self._build(self._terrain(document), proto)
        self.model, self.data = self.plant.model, mujoco.MjData(self.plant.model)
        self._add_devices(proto)
        self._stand(place, proto)
        self.samples = StepSamples.empty(self.plant, 20_000)
        self.torque = np.zeros(self.plant.robot.dof)
        self.robot = Supervisor(self)
        self._see()

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
            if isinstance(device, Sensor):
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
        urdf = read_urdf(self.file.urdf_path)
        spec = SpecBuilder(robot, self.file, physics, plant.servos, terrain).build(urdf)
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

    def _add_devices(self, node, link=None):
        """Make the devices that a solid carries, and those of the solids below it."""
        link = link or load_model(self.file.urdf_path).root
        for child in node.fields.get('children', []):
            if child.type == 'HingeJoint':
                motor, sensor = child.fields['device']
                self._add_position_sensor(sensor.fields['name'], motor.fields['name'])
                self._add_solid(child.fields['endPoint'])
            elif child.type == 'Solid':
                self._add_solid(child)
            elif child.type in ('Accelerometer', 'Gyro', 'GPS', 'InertialUnit', 'TouchSensor'):
                device = getattr(self, f'_make_{child.type}')(child, Mount(self, link, child))
                self.devices[device.name] = device

    def _add_solid(self, solid):
        if solid.name:
            self.links[solid.name] = solid.fields['name']
        self._add_devices(solid, solid.fields['name'])

    def _add_position_sensor(self, name, joint):
        column = self.model.joint(joint).qposadr[0]
        measure = lambda period: float(self.data.qpos[column])  # noqa: E731
        self.devices[name] = PositionSensor(name, measure, math.nan)

    def _make_Accelerometer(self, node, mount):
        before = np.zeros(3)
        up = np.array([0.0, 0.0, self.file.gravity])

        def measure(period):
            nonlocal before
            velocity = mount.velocity()
            change, before = (velocity - before) / (1e-3 * period), velocity
            return (change + up) @ mount.rotation()

        return Accelerometer(node.fields['name'], measure, [math.nan] * 3)

    def _make_Gyro(self, node, mount):
        def measure(period):
            return mount.angular_velocity() @ mount.rotation()

        return Gyro(node.fields['name'], measure, [math.nan] * 3)

    def _make_GPS(self, node, mount):
        return GPS(node.fields['name'], lambda period: mount.position(), [math.nan] * 3)

    def _make_InertialUnit(self, node, mount):
        def measure(period):
            return Rotation.from_matrix(mount.rotation()).as_quat()

        return InertialUnit(node.fields['name'], measure, GARBAGE)

    def _make_TouchSensor(self, node, mount):
        assert node.fields['type'] == 'force-3d'
        assert node.fields['lookupTable'] == []
        geom = self._sphere_at(node, mount)
        return TouchSensor(
            node.fields['name'], lambda period: self.forces[geom] @ mount.rotation(), [0.0] * 3
        )

    def _sphere_at(self, node, mount):
        """Id of MuJoCo's sphere at the place of a pad's."""
        mujoco.mj_kinematics(self.model, self.data)
        middle = mount.position() + mount.rotation() @ np.array(
            node.fields['boundingObject'].fields['translation']
        )
        names = [
            sphere_name(foot, corner)
            for foot in self.file.feet
            for corner in range(len(foot.polygon))
        ]
        ids = [self.model.geom(name).id for name in names]
        distances = [np.linalg.norm(self.data.geom_xpos[geom] - middle) for geom in ids]
        assert min(distances) < 1e-9
        return ids[int(np.argmin(distances))]

    def _see(self):
        """Compute where everything is and how it moves, without touching forces."""
        for compute in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
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
        forces = {geom: np.zeros(3) for geom in self.plant.soles}
        wrench, contacts = np.empty(6), self.data.contact
        geoms, frames = contacts.geom.tolist(), contacts.frame
        for index, (first, second) in enumerate(geoms):
            mujoco.mj_contactForce(self.model, self.data, index, wrench)
            geom, sign = (second, 1.0) if second in forces else (first, -1.0)
            if geom in forces:
                forces[geom] = forces[geom] + sign * wrench[:3] @ frames[index].reshape(3, 3)
        return forces


class Mount:
    """Where a device sits."""

    def __init__(self, stand_in, link, node):
        self.stand_in = stand_in
        self.site = stand_in.plant.model.site(link).id
        *axis, angle = node.fields['rotation']
        self.R = Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
        self.p = np.array(node.fields['translation'])

    def _link(self):
        return self.stand_in.data.site_xmat[self.site].reshape(3, 3)

    def rotation(self):
        return self._link() @ self.R

    def position(self):
        return self.stand_in.data.site_xpos[self.site] + self._link() @ self.p

    def _twist(self):
        twist = np.empty(6)
        model, data = self.stand_in.model, self.stand_in.data
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, self.site, twist, 0)
        return twist

    def angular_velocity(self):
        return self._twist()[:3]

    def velocity(self):
        twist = self._twist()
        return twist[3:] + cross(twist[:3], self._link() @ self.p)
