"""Robot files with a sensor unit on links beside the root.

The unit is that of the paper's outlook: an IMU, and accelerometers on three orthogonal arms.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.sensors import Accelerometer, SegmentUnit
from izmp_dynamics.model.settings import stated
from izmp_dynamics.model.urdf import read_urdf
from izmp_lab.simulation.recording import NOISY

ARM = 0.1
"""From the IMU to each of the further accelerometers, as those of biped31's root [m]."""


def with_units(file: RobotFile, links: str, folder: Path) -> RobotFile:
    """Put a unit at the origin of links, beside those that the file states.

    Args:
        file: the robot file.
        links: 'all' for all links that joints move, or their names with commas between them.
        folder: where the URDF with the frames of the accelerometers is written.

    Raises:
        SimulationError: if a link is the root or fixed to it.
        RobotFileError: if a link is named twice.
        UnknownNameError: if there is no such link.
    """
    urdf = file.read_urdf()
    model = load_model(urdf, file.root)
    moved = tuple(s.link for s in model.tree.segments if s.kind != 'fixed')
    have = {model.mount(unit.link).body for unit in file.segments}
    wanted = [link.strip() for link in links.split(',')]
    if links == 'all':
        wanted = [link for link in moved if model.mount(link).body not in have]
    root, units = etree.fromstring(read_urdf(file.urdf_path).text), []
    for link in wanted:
        if link not in model.frame_names:
            raise UnknownNameError('link', link, moved, f"in robot '{model.name}'")
        if model.mount(link).body == 0:
            raise SimulationError(
                f"'{link}' is the root link or fixed to it, which has the IMU; valid: all, or "
                f'some of {", ".join(moved)}.',
                kind='unit_on_root', link=link,
            )  # fmt: skip
        further = []
        for axis, name in enumerate('xyz'):
            frame, place = f'{link}_accelerometer_{name}', ['0', '0', '0']
            place[axis] = str(ARM)
            etree.SubElement(root, 'link', name=frame)
            joint = etree.SubElement(root, 'joint', name=f'{frame}_mount', type='fixed')
            etree.SubElement(joint, 'parent', link=link)
            etree.SubElement(joint, 'child', link=frame)
            etree.SubElement(joint, 'origin', xyz=' '.join(place))
            further.append(Accelerometer(f'segments/{link}/accelerometer_{name}', frame))
        units.append(SegmentUnit(link, f'segments/{link}/imu', link, tuple(further)))
    path = folder / 'robot.urdf'
    path.write_bytes(etree.tostring(root, encoding='utf-8'))
    return replace(file, urdf=str(path.absolute()), segments=(*file.segments, *units))


def files_of(file: RobotFile, noisy: bool) -> dict[str, str]:
    """The robot file and its URDF as they are put into the folder of a bag: name → text.

    Args:
        file: the robot file that is simulated.
        noisy: whether to name the noisy copies of the signals.
    """
    given: dict[str, Any] = stated(file)
    given['segments'] = {unit.pop('link'): unit for unit in given['segments']}
    if noisy:
        units = given['segments'].values()
        sensors = [
            given.setdefault('imu', {}), *given.get('accelerometers', ()), *units,
            *(further for unit in units for further in unit.get('accelerometers', ())),
            *([given['position']] if file.position else ()),
        ]  # fmt: skip
        for sensor in sensors:
            sensor['topic'] = NOISY + sensor.get('topic', file.imu.topic).lstrip('/')
    given['urdf'] = 'robot.urdf'
    text = yaml.safe_dump(given, sort_keys=False, default_flow_style=None, width=99)
    return {
        'robot.yaml': f'# The robot with its units, as it was simulated.\n{text}',
        'robot.urdf': read_urdf(file.urdf_path).text,
    }
