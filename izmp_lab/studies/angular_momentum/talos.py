"""TALOS as a walker: its URDF is that of example-robot-data, this package has no copy of it.

The URDF knows nothing of soles and of what the robot publishes; the robot file that is written
here adds it. The sole is a rectangle of 0.2 × 0.12 m below the ankle.
"""

import sys
from pathlib import Path

import yaml

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.pages.files import write_files

POSTURE = {
    'arm_left_2_joint': 0.3, 'arm_left_4_joint': -1.2,
    'arm_right_2_joint': -0.3, 'arm_right_4_joint': -1.2,
}  # fmt: skip
"""Joint positions at rest [rad]: the arms hang, with bent elbows."""

_URDF = 'cmeel.prefix/share/example-robot-data/robots/talos_data/robots/talos_reduced.urdf'
_SOLE = [[0.1, 0.06], [-0.1, 0.06], [-0.1, -0.06], [0.1, -0.06]]


def find_urdf() -> Path:
    """Return the path of TALOS's URDF.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
    """
    for folder in map(Path, sys.path):
        if (folder / _URDF).is_file():
            return folder / _URDF
    raise MissingDependencyError('example-robot-data', 'TALOS', 'pip install example-robot-data')


def write_robot_file(folder: Path) -> Path:
    """Write talos.yaml into a folder, and return its path.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
        StoreError: if the folder cannot be written.
    """
    robot = {
        'urdf': str(find_urdf()),
        'root': 'base_link',
        'joints': {'topic': 'joint_states'},
        'imu': {'topic': 'imu', 'frame': 'imu_link'},
        'feet': [
            {'name': f'{side}_foot', 'sole': f'{side}_sole_link', 'polygon': _SOLE}
            for side in ('left', 'right')
        ],
    }
    text = '# TALOS of example-robot-data, with the soles that its URDF lacks.\n'
    text += yaml.safe_dump(robot, sort_keys=False)
    write_files({'talos.yaml': text.encode()}, folder)
    return folder / 'talos.yaml'
