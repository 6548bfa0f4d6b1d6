"""A world of Webots for a robot: the PROTO, the ground, the plugin's URDF and the robot file.

The four files belong together and are generated together; do not edit them. Only base nodes of
Webots are used and no sounds, so that nothing is downloaded. The same arguments give the same
bytes.
"""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import MotionError, SimulationError
from izmp_dynamics.files.place import TAKEN, write_whole
from izmp_dynamics.model.feet import FootWrench
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.sensors import Accelerometer, Imu, SegmentUnit
from izmp_dynamics.model.urdf import Urdf
from izmp_lab.simulation.physics import check_sensors
from izmp_lab.simulation.webots.options import DeviceNames, Options
from izmp_lab.simulation.webots.proto import GROUND, SOLE, ProtoBuilder, StartPose, axis_angle
from izmp_lab.simulation.webots.vrml import Document, Node, write
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.footsteps import Ramp
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

_FRICTION = 1.0
_SOFT_CFM = 1e-4
"""Softness of the contacts [m/s/N]: with Webots' ERP of 0.2 at 2 ms, 1 MN/m at each corner."""

_NEVER = 1e6
"""Time after which resting bodies are put to sleep [s]; sleeping sensors measure nothing."""

_FLOOR_SIZE = (40.0, 40.0)
_LEVEL_COLOUR, _RAMP_COLOUR = (0.76, 0.79, 0.81), (0.62, 0.65, 0.74)


def make_scene(
    robot: str, proto: str, gravity: float, pose: StartPose, ramp: Ramp, time_step: int, mark: str
) -> Document:
    """Return the world of a robot.

    Args:
        robot: its name.
        proto: file of its PROTO, beside the world.
        gravity: [m/s²].
        pose: how it stands.
        ramp: the ground.
        time_step: basicTimeStep [ms].
        mark: who made the world.
    """
    info = Node(
        'WorldInfo',
        {
            'info': [mark],
            'title': f'{robot}: walking and the imaginary zero-moment point',
            'gravity': (gravity,),
            'basicTimeStep': (float(time_step),),
            'physicsDisableTime': (_NEVER,),
            'coordinateSystem': 'ENU',
            'gpsCoordinateSystem': 'local',
            'contactProperties': [_contact(SOLE), _contact('default')],
        },
    )
    body = Node(
        Path(proto).stem,
        {
            'translation': tuple(pose.p_root_in_world),
            'rotation': axis_angle(pose.world_R_root),
            'name': robot,
            'controller': '<extern>',
            'supervisor': True,  # for pushes, and to end the simulation
        },
        name='ROBOT',
    )
    floors = [_floor('floor', np.zeros(3), 0.0, _LEVEL_COLOUR)]
    if ramp.slope > 0.0:
        # A plane is a half space here: the upper one counts, before the edge and beyond.
        start = np.array([ramp.start, 0.0, 0.0])
        floors.append(_floor('ramp', start, ramp.slope, _RAMP_COLOUR))
    return Document([info, *_view(robot), *floors, body], external=[proto], remarks=[mark])


def _contact(material: str) -> Node:
    """Of a material with the ground; without, Webots takes its own, with sounds."""
    silent = {f'{sound}Sound': '' for sound in ('bump', 'roll', 'slide')}
    return Node(
        'ContactProperties',
        {
            'material1': material, 'material2': GROUND, 'coulombFriction': [_FRICTION],
            'bounce': (0.0,), 'softCFM': (_SOFT_CFM,), **silent,
        },
    )  # fmt: skip


def _view(robot: str) -> list[Node]:
    looking = Rotation.from_euler('ZY', [0.5 * np.pi, 0.06])  # to the left, a little down
    return [
        Node(
            'Viewpoint',
            {
                'orientation': axis_angle(looking.as_matrix()),
                'position': (0.3, -4.0, 1.0),
                'follow': robot,
                'followType': 'Tracking Shot',
            },
        ),
        Node('Background', {'skyColor': [0.75, 0.83, 0.92]}),
        Node(
            'DirectionalLight',
            {
                'ambientIntensity': (0.6,), 'direction': (0.35, 0.35, -0.9),
                'intensity': (1.6,), 'castShadows': True,
            },
        ),
    ]  # fmt: skip


def _floor(name: str, place: Any, slope: float, colour: tuple[float, ...]) -> Node:
    appearance = Node(
        'PBRAppearance', {'baseColor': colour, 'roughness': (1.0,), 'metalness': (0.0,)}
    )
    shape = Node(
        'Shape', {'appearance': appearance, 'geometry': Node('Plane', {'size': _FLOOR_SIZE})}
    )
    return Node(
        'Solid',
        {
            'translation': tuple(place),
            'rotation': axis_angle(Rotation.from_euler('y', -slope).as_matrix()),
            'children': [shape],
            'name': name,
            'contactMaterial': GROUND,
            'boundingObject': Node('Plane', {'size': _FLOOR_SIZE}),
        },
    )


_DIGITS = 9
"""Decimals of a start pose: no computer's last bits show in the files of a world."""


def start_pose(file: RobotFile, model: RobotModel) -> StartPose:
    """Let a robot stand as its walk begins; one that cannot walk with all joints at zero.

    Args:
        file: the robot file.
        model: of the URDF with the URDF's own root.
    """
    try:
        plan = plan_walk(Biped.of(file), WalkParameters(steps=1)).plan
    except MotionError as error:
        return _upright(file, model, str(error))
    q = dict(zip(plan.joint_names, np.round(plan.q[0], _DIGITS).tolist(), strict=True))
    root_R_base, p_base_in_root = model.frame_pose(
        file.root or model.root, [q[name] for name in model.joint_names]
    )
    world_R_root = plan.root.rotation[0] @ root_R_base.T
    p_root_in_world = plan.root.position[0] - world_R_root @ p_base_in_root
    return StartPose(q, world_R_root, np.round(p_root_in_world, _DIGITS))


def _upright(file: RobotFile, model: RobotModel, reason: str) -> StartPose:
    """All joints at zero, or at the nearest limit; the lowest corner of a sole on the ground."""
    floating = load_model(file.read_urdf(), file.root)
    zeros = np.clip(np.zeros(floating.dof), floating.position_lower, floating.position_upper)
    q = dict(zip(floating.joint_names, zeros.tolist(), strict=True))
    values = [q[name] for name in model.joint_names]
    lowest = 0.0
    for foot in file.feet:
        R, p = model.frame_pose(foot.sole_frame, values)
        corners = p + np.array([[x, y, 0.0] for x, y in foot.polygon]) @ R.T
        lowest = min(lowest, float(corners[:, 2].min()))
    height = round(-lowest, _DIGITS)
    return StartPose(q, np.eye(3), np.array([0.0, 0.0, height]), reason)


PLUGIN = 'izmp_lab.nodes.webots_driver.WebotsDriver'
"""Type of the plugin for webots_ros2_driver."""

TIME_STEPS = (2, 8)
"""Values of WorldInfo.basicTimeStep that the paper used [ms]."""

MARK = 'Made by izmp make-world; make it again instead of editing it.'


@dataclass(frozen=True)
class World:
    """The files of a world.

    Attributes:
        world: .wbt.
        proto: .proto.
        urdf: the robot's URDF with the plugin, for WebotsController.
        robot: robot file that fits: the feet's wrenches are those at the soles.
        name: of the robot in the world.
        remark: why the robot does not stand ready to walk; empty if it does.
    """

    world: Path
    proto: Path
    urdf: Path
    robot: Path
    name: str
    remark: str = ''

    @classmethod
    def of(cls, folder: Path, robot: str) -> 'World':
        """Name the files for a robot.

        No base node of Webots is called …Proto; one with the PROTO's name would take precedence.
        """
        name = re.sub(r'\W', '_', robot, flags=re.ASCII)
        proto = f'{name[:1].upper()}{name[1:]}Proto'
        if not proto[:1].isalpha():
            proto = 'Robot' + proto
        return cls(
            world=folder / f'{name}.wbt',
            proto=folder / f'{proto}.proto',
            urdf=folder / f'{name}.urdf',
            robot=folder / f'{name}.yaml',
            name=name,
        )


def make_world(
    robot: Path,
    folder: Path,
    slope_deg: float = 0.0,
    time_step: int = 2,
    plugin: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> World:
    """Make a world and write its files.

    Args:
        robot: robot file.
        folder: where the files go.
        slope_deg: angle of the ramp behind the level start [°]; level ground if 0.
        time_step: basicTimeStep [ms]: 2 or 8.
        plugin: properties for the plugin besides `robot` and `slope_deg`.
        overwrite: replace what `make_world` made there before.

    Raises:
        MotionError: if the slope cannot be.
        SimulationError: if the robot cannot be translated, a property is wrong, or a file is
            there that must not be replaced.
        IzmpError: if the robot file or URDF cannot be used.
    """
    if time_step not in TIME_STEPS:
        raise SimulationError(
            f'A world has time steps of {" or ".join(map(str, TIME_STEPS))} ms, not {time_step}.',
            kind='time_step',
            time_step=time_step,
            valid=TIME_STEPS,
        )
    ramp = Ramp(math.radians(slope_deg), WalkParameters.slope_start)
    given = load_robot_file(robot)
    file = _with_sole_wrenches(given)
    _check_sensors(file)
    urdf = file.read_urdf()
    model = load_model(urdf)
    files = World.of(folder.absolute(), urdf.robot.name)
    wanted = {name: text for name, text in (plugin or {}).items() if text}
    properties = {'robot': str(files.robot), **wanted, 'slope_deg': f'{slope_deg:g}'}
    Options.of(file, properties)
    pose = start_pose(file, model)
    document = ProtoBuilder(files.proto, urdf, model, file, pose, gain=1e3 / time_step).build()
    document.remarks = [MARK]
    texts = {
        files.proto: write(document),
        files.world: write(
            make_scene(files.name, files.proto.name, file.gravity, pose, ramp, time_step, MARK)
        ),
        files.urdf: _urdf(urdf, files.urdf.parent, DeviceNames.of(file), properties),
        files.robot: _robot_file(robot, file, files.urdf.name),
    }
    _write_all(texts, overwrite)
    return replace(files, remark=pose.reason)


def _check_sensors(file: RobotFile) -> None:
    check_sensors(file)
    sensors: list[Imu | Accelerometer | SegmentUnit] = [
        file.imu, *file.all_accelerometers, *file.segments,
    ]  # fmt: skip
    for sensor in sensors:
        if sensor.frame is None:
            raise SimulationError(
                f"Webots needs to know where the sensor of topic '{sensor.topic}' sits; give its "
                'frame in the robot file.',
                kind='sensor_without_frame',
                topic=sensor.topic,
            )


def _with_sole_wrenches(file: RobotFile) -> RobotFile:
    feet = tuple(
        replace(
            foot,
            wrench=FootWrench(
                topic=foot.wrench.topic if foot.wrench else f'{foot.name}/wrench',
                frame=foot.sole_frame,
            ),
        )
        for foot in file.feet
    )
    return replace(file, feet=feet)


def _robot_file(path: Path, file: RobotFile, urdf: str) -> str:
    settings: dict[str, Any] = yaml.safe_load(path.read_text(encoding='utf-8-sig'))
    settings['urdf'] = urdf
    for entry, foot in zip(settings.get('feet', []), file.feet, strict=True):
        if foot.wrench:
            entry['wrench'] = {'topic': foot.wrench.topic, 'frame': foot.wrench.frame}
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=98)
    return f'# {MARK}\n{text}'


def _urdf(urdf: Urdf, folder: Path, names: DeviceNames, properties: Mapping[str, str]) -> str:
    """Return the URDF with the element that webots_ros2_driver reads.

    The driver would publish the GPS on its own; once is enough. Meshes with relative paths are
    found from the folder where this URDF will lie.
    """
    robot = ElementTree.fromstring(urdf.text.encode())
    beside = (urdf.path or Path('robot.urdf')).absolute().parent
    for mesh in robot.iter('mesh'):
        address = mesh.get('filename', '')
        if '://' not in address and not Path(address).is_absolute():
            mesh.set('filename', Path(os.path.relpath(beside / address, folder)).as_posix())
    for old in robot.findall('webots'):
        robot.remove(old)
    webots = ElementTree.SubElement(robot, 'webots')
    if names.gps:
        device = ElementTree.SubElement(webots, 'device', reference=names.gps, type='GPS')
        ros = ElementTree.SubElement(device, 'ros')
        ElementTree.SubElement(ros, 'enabled').text = 'false'
    plugin = ElementTree.SubElement(webots, 'plugin', type=PLUGIN)
    for key, value in properties.items():  # none is empty: the driver would crash
        ElementTree.SubElement(plugin, key).text = value
    ElementTree.indent(robot)
    body = ElementTree.tostring(robot, encoding='unicode')
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!-- {MARK} -->\n{body}\n'


def _write_all(texts: Mapping[Path, str], overwrite: bool) -> None:
    for path in filter(Path.exists, texts):
        if MARK not in path.read_text(encoding='utf-8', errors='replace'):
            raise SimulationError(
                f"'{path}' exists and was not made by izmp make-world; choose another folder.",
                kind='foreign_file',
                path=path,
            )
        if not overwrite:
            raise SimulationError(f"'{path}' {TAKEN}.", kind='place_taken', path=path)
    for path, text in texts.items():
        write_whole(path, text.encode())
