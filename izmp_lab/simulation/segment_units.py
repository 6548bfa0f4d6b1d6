"""Robot files with a unit of gyroscope and accelerometer on links beside the root."""

from dataclasses import replace
from typing import Any

import yaml

from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.sensors import SegmentUnit
from izmp_dynamics.model.settings import stated
from izmp_dynamics.model.urdf import read_urdf
from izmp_lab.simulation.recording import NOISY


def moving_links(model: RobotModel) -> tuple[str, ...]:
    """The links that joints move, each the first one of its body."""
    return tuple(s.link for s in model.tree.segments if s.kind != 'fixed')


def with_units(file: RobotFile, links: str) -> RobotFile:
    """Put a unit at the origin of links, beside those that the file states.

    Args:
        file: the robot file.
        links: 'all' for all links that joints move, or their names with commas between them.

    Raises:
        SimulationError: if a link is the root or fixed to it.
        RobotFileError: if a link is named twice.
        UnknownNameError: if there is no such link.
    """
    model = load_model(file.read_urdf(), file.root)
    moved = moving_links(model)
    have = {model.mount(unit.link).body for unit in file.segments}
    wanted = [link.strip() for link in links.split(',')]
    if links == 'all':
        wanted = [link for link in moved if model.mount(link).body not in have]
    for link in wanted:
        if link not in model.frame_names:
            raise UnknownNameError('link', link, moved, f"in robot '{model.name}'")
        if model.mount(link).body == 0:
            raise SimulationError(
                f"'{link}' is the root link or fixed to it, which has the IMU; valid: all, or "
                f'some of {", ".join(moved)}.',
                kind='unit_on_root', link=link,
            )  # fmt: skip
    units = tuple(SegmentUnit(link, f'segments/{link}/imu', link) for link in wanted)
    return replace(file, segments=(*file.segments, *units))


def files_of(file: RobotFile, noisy: bool) -> dict[str, str]:
    """The robot file and its URDF as they are put into the folder of a bag: name → text.

    Args:
        file: the robot file that is simulated.
        noisy: whether to name the noisy copies of the signals.
    """
    given: dict[str, Any] = stated(file)
    given['segments'] = {unit.pop('link'): unit for unit in given['segments']}
    if noisy:
        topics = [
            given.setdefault('imu', {'topic': file.imu.topic}),
            *given.get('accelerometers', ()),
            *given['segments'].values(),
        ]
        for each in (*topics, *([given['position']] if file.position else [])):
            each['topic'] = NOISY + each.get('topic', file.imu.topic).lstrip('/')
    given['urdf'] = 'robot.urdf'
    text = yaml.safe_dump(given, sort_keys=False, default_flow_style=None, width=99)
    return {
        'robot.yaml': f'# The robot with its units, as it was simulated.\n{text}',
        'robot.urdf': read_urdf(file.urdf_path).text,
    }
