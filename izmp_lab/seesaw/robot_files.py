"""Writes the URDF and the robot file of a robot on the seesaw, for the graph.

python -m izmp_lab.seesaw.robot_files icub FOLDER
"""

import sys
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes.start_up import interruptible


def main(robot: str, folder: str) -> int:
    """Write the files; return the exit status. Ctrl-C ends it at once."""
    with interruptible():
        from izmp_lab.seesaw.balancing_robot import load_balancing_robot
        from izmp_lab.seesaw.board import Seesaw
        from izmp_lab.seesaw.mujoco_spec import sensed_robot

        try:
            files = sensed_robot(load_balancing_robot(robot), Seesaw()).files()
        except IzmpError as error:
            print(f'robot_files: error: {error}', file=sys.stderr)
            return 2
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
