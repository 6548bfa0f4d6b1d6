"""What a world of Webots holds besides the robot: ground, contacts, light, view.

Only base nodes without sounds, so that nothing is downloaded.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_lab.simulation.webots.proto import GROUND, SOLE, axis_angle
from izmp_lab.simulation.webots.start_pose import StartPose
from izmp_lab.simulation.webots.vrml import Document, Node
from izmp_lab.walking.ramp import Ramp

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
    return Document(
        [info, *_view(robot), *floors, body],
        external=[proto],
        remarks=[mark],
    )


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
