"""A balancing robot with sensors: the URDF with their frames, and the robot file that names them.

biped31 has sensors of its own. iCub's URDF has an IMU in the head only; it gets the set-up of
Giessler and Waltersberger: an IMU at the root, three accelerometers on orthogonal arms of 0.1 m
around it, and a force/torque sensor above each sole. Motion capture measures the poses of root and
board.
"""

import dataclasses
from dataclasses import dataclass

import yaml

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_file import (
    Accelerometer,
    Foot,
    FootWrench,
    Ground,
    Imu,
    Position,
    RobotFile,
    load_robot_file,
)
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.settings import stated
from izmp_dynamics.model.urdf import Urdf, parse_urdf
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.mujoco_spec import BOARD

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
    """The first link of the moving body that carries a link."""
    body = model.mount(link).body
    return next(name for name in model.frame_names if model.mount(name).body == body)


def _with_frames(urdf: Urdf, root: str) -> Urdf:
    """Add the frames of the sensors to the root link."""
    added = ''.join(
        f'  <link name="{frame}"/>\n'
        f'  <joint name="{frame}_joint" type="fixed">'
        f'<parent link="{root}"/><child link="{frame}"/>'
        f'<origin xyz="{x} {y} {z}" rpy="0 0 0"/></joint>\n'
        for frame, (x, y, z) in _SENSORS.items()
    )
    head, end, tail = urdf.text.rpartition('</robot>')
    return parse_urdf(head + added + end + tail)
