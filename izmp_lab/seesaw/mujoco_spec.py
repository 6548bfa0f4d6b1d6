"""Robot and seesaw as a MuJoCo model spec.

The board is a free body: a plate on an arc. The arc is a cylinder that touches only the floor, so
it rolls by contact, with nothing that ties it; what of it is above the plate touches nothing. The
feet stand on the plate with a small sphere at each corner, held by friction alone. The joints
take torques.

The contacts are as firm as hard rubber on wood: critically damped with a time constant of 4 ms,
under robot and board (320 N) a dent of 0.07 mm, so some 5 MN/m. That is 250 rad/s against the
4 rad/s of the motion, so it does not show in it, and slow enough for a step of the physics of
0.5 ms. Friction is that which the controller assumes; `impratio` 100 keeps MuJoCo's regularized
friction from creeping.
"""

import dataclasses
import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.feet import Foot, FootWrench, Ground
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.sensors import Accelerometer, Imu, Position
from izmp_dynamics.model.settings import stated
from izmp_dynamics.model.urdf import Urdf, parse_urdf
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.simulation.mujoco.model import MovingBoard, MujocoRobot, compiled
from izmp_lab.simulation.mujoco.spec import SpecBuilder, mujoco
from izmp_lab.simulation.physics import Physics, Servo
from izmp_lab.simulation.terrain import Flat

BOARD = 'board'
"""Name of the body and of its frame."""

_FLOOR, _PLATE = 1, 2
_QUARTER_TURN = [0.7071067811865476, 0.0, 0.7071067811865476, 0.0]
"""wxyz: the axis of a MuJoCo cylinder, z, along x."""


def seesaw_physics(seesaw: Seesaw, time_step: float = 0.0005) -> Physics:
    """Physics of the contacts: feet on the plate, arc on the floor."""
    return Physics(
        time_step=time_step, friction=seesaw.friction, solref=(0.004, 1.0), impratio=100.0
    )


def build_seesaw(
    robot: BalancingRobot, urdf: Urdf, file: RobotFile, seesaw: Seesaw, physics: Physics
) -> MujocoRobot:
    """Compile a robot on its seesaw.

    Args:
        robot: damping and rotor inertia of its joints count.
        urdf: its URDF, with the frames of its sensors.
        file: names the sensors.
        seesaw: the board.
        physics: of the contacts.

    Raises:
        IzmpError: if MuJoCo cannot simulate it.
    """
    builder = _SeesawBuilder(robot, urdf, file, seesaw, physics)
    return compiled(builder, urdf)


class _SeesawBuilder(SpecBuilder):
    """Adds the board to the robot, and motors in place of servos."""

    sole_contype = _FLOOR | _PLATE

    def __init__(
        self, robot: BalancingRobot, urdf: Urdf, file: RobotFile, seesaw: Seesaw, physics: Physics
    ) -> None:
        servos = tuple(
            Servo(kp=0.0, kv=0.0, armature=float(armature), damping=float(damping))
            for armature, damping in zip(robot.armature, robot.damping, strict=True)
        )
        super().__init__(load_model(urdf, file.root), file, physics, servos, Flat())
        self.seesaw = seesaw

    def build(self) -> Any:
        """Return the mujoco.MjSpec of robot and board; the board comes last."""
        spec = super().build()
        seesaw, kinds = self.seesaw, mujoco.mjtGeom
        board = spec.worldbody.add_body(name=BOARD)
        board.add_freejoint(name=f'{BOARD}_free')
        board.explicitinertial = True
        board.mass, board.inertia = seesaw.mass, list(seesaw.inertia)
        plate = {'conaffinity': _PLATE, 'contype': 0, **self._contact()}
        arc = {'contype': _FLOOR, 'conaffinity': 0, **self._contact()}
        half = 0.5 * seesaw.length
        board.add_geom(
            name='plate', type=kinds.mjGEOM_BOX, pos=[0.0, 0.0, seesaw.top - 0.5 * seesaw.plate],
            size=[half, seesaw.half_width, 0.5 * seesaw.plate],
            **plate,
        )  # fmt: skip
        board.add_geom(
            name='arc', type=kinds.mjGEOM_CYLINDER, pos=[0.0, 0.0, seesaw.axis_height],
            size=[seesaw.radius, half, 0.0], quat=_QUARTER_TURN, group=3, **arc,
        )  # fmt: skip
        return spec

    def _add_servos(self) -> None:
        for joint in self.robot.joint_names:
            self.spec.add_actuator(
                name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT,
                gaintype=mujoco.mjtGain.mjGAIN_FIXED, gainprm=[1.0] + 9 * [0.0],
                biastype=mujoco.mjtBias.mjBIAS_NONE,
            )  # fmt: skip


def board_of(model: Any, seesaw: Seesaw) -> MovingBoard:
    """Find the board in a compiled model."""
    joint = model.joint(f'{BOARD}_free')
    return MovingBoard(
        body=int(model.body(BOARD).id),
        q_column=int(joint.qposadr[0]),
        v_column=int(joint.dofadr[0]),
        height=seesaw.top,
    )


ARM = 0.1
"""Distance of the further accelerometers from the IMU [m]."""

ROBOT_YAML, ROBOT_URDF = 'robot.yaml', 'robot.urdf'

_OWN_FILE = {'biped31': 'robots/biped31/robot.yaml'}
_SENSORS = {
    'seesaw_imu': (0.0, 0.0, 0.0),
    'seesaw_accelerometer_1': (ARM, 0.0, 0.0),
    'seesaw_accelerometer_2': (0.0, ARM, 0.0),
    'seesaw_accelerometer_3': (0.0, 0.0, ARM),
}
"""Frame → its place in the root frame [m]."""


@dataclass(frozen=True)
class SensedRobot:
    """A balancing robot with sensors.

    Attributes:
        robot: the robot.
        urdf: its URDF, with the frames of the sensors.
        file: its robot file; the ground is the board.
    """

    robot: BalancingRobot
    urdf: Urdf
    file: RobotFile

    def files(self) -> dict[str, str]:
        """Name → text of robot.yaml and robot.urdf, for `izmp replay`."""
        file = dataclasses.replace(self.file, urdf=ROBOT_URDF)
        text = yaml.safe_dump(stated(file), sort_keys=False, default_flow_style=None)
        comment = (
            f'# {self.robot.name} on the seesaw; config/robot_example.yaml explains the keys.'
        )
        return {ROBOT_YAML: f'{comment}\n{text}', ROBOT_URDF: self.urdf.text}


def sensed_robot(robot: BalancingRobot, seesaw: Seesaw) -> SensedRobot:
    """Give a robot the sensors that a recording needs."""
    height = round(seesaw.top, 9)
    ground = Ground(source='frame', frame=BOARD, topic=f'{BOARD}/pose', height=height)
    own = _OWN_FILE.get(robot.name)
    if own is not None:
        file = load_robot_file(find_resource(own))
        return SensedRobot(robot, robot.urdf, dataclasses.replace(file, ground=ground))
    file = RobotFile(
        urdf=ROBOT_URDF,
        root=robot.model.root,
        imu=Imu(frame='seesaw_imu'),
        accelerometers=tuple(
            Accelerometer(topic=f'accelerometers/accelerometer_{k}', frame=frame)
            for k, frame in enumerate(_SENSORS)
            if k > 0
        ),
        position=Position(topic='gps', frame=robot.model.root),
        feet=tuple(_foot(robot, side) for side in (0, 1)),
        ground=ground,
    )
    return SensedRobot(robot, _with_frames(robot.urdf, robot.model.root), file)


def _foot(robot: BalancingRobot, side: int) -> Foot:
    sole = robot.soles[side]
    (x_min, x_max), (y_min, y_max) = robot.foot_box.tolist()
    if side == 1:
        y_min, y_max = -y_max, -y_min
    return Foot(
        name=sole,
        sole=sole,
        polygon=((x_max, y_max), (x_min, y_max), (x_min, y_min), (x_max, y_min)),
        wrench=FootWrench(topic=f'{sole}/wrench', frame=sole, below=_moving(robot.model, sole)),
    )


def _moving(model: RobotModel, link: str) -> str:
    body = model.mount(link).body
    return next(name for name in model.frame_names if model.mount(name).body == body)


def _with_frames(urdf: Urdf, root: str) -> Urdf:
    added = ''.join(
        f'  <link name="{frame}"/>\n  <joint name="{frame}_joint" type="fixed"><parent '
        f'link="{root}"/><child link="{frame}"/><origin xyz="{x} {y} {z}" rpy="0 0 0"/></joint>\n'
        for frame, (x, y, z) in _SENSORS.items()
    )
    head, end, tail = urdf.text.rpartition('</robot>')
    return parse_urdf(head + added + end + tail)


@cache
def robot_digest(name: str) -> str:
    """Digest of URDF and robot file; empty without the library that has them, or without MuJoCo.

    The runs then say what is missing.
    """
    try:
        from izmp_lab.seesaw.balancing_robot import load_balancing_robot
        from izmp_lab.seesaw.board import Seesaw

        files = sensed_robot(load_balancing_robot(name), Seesaw()).files()
    except MissingDependencyError:
        return ''
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
