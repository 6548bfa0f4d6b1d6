"""Entry points: `ros2 run izmp_dynamics NODE`, or `python -m izmp_dynamics.nodes NODE`."""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError, MissingDependencyError, RobotFileError
from izmp_dynamics.nodes.registry import TASKS
from izmp_dynamics.nodes.start_up import LONGEST_END, interruptible, leave

REFUSED = 2
"""Exit status of a node that cannot work with what it was given; to try again is no use."""


def require_ros() -> None:
    """Do nothing if rclpy and its messages are there.

    Raises:
        MissingDependencyError: if not.
    """
    try:
        import rclpy  # noqa: F401
        import trajectory_msgs.msg  # noqa: F401
        import visualization_msgs.msg  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            error.name or 'rclpy',
            'Running a node',
            "a ROS 2 distribution, or pip install '.[ros]' in the folder of izmp_dynamics",
        ) from error


def run(name: str, arguments: Sequence[str] | None = None) -> int:
    """Run a node in this process, and end the process with it.

    Returns:
        The exit status if it does not start: `REFUSED`, with the reason printed; or 0, asked for
        help.
    """
    if own := _own(sys.argv[1:] if arguments is None else arguments):
        return _answer(name, own)
    longest = None if name == 'recorder' else LONGEST_END  # it completes its bag
    gc.disable()  # nearly all objects of a start stay: to look through them again takes 0.15 s
    try:
        with interruptible() as started:

            def begun() -> None:
                started(longest)
                gc.freeze()
                gc.enable()

            require_ros()
            from rclpy.exceptions import ParameterException

            from izmp_dynamics.nodes.process import spin_node

            try:
                leave(spin_node(name, arguments, begun))
            except ParameterException as error:
                raise RobotFileError(f'{error}.', kind='parameter') from error
    except IzmpError as error:
        print(f'{name}: error: {error}', file=sys.stderr)
        return REFUSED
    finally:
        gc.enable()


def _own(arguments: Sequence[str]) -> list[str]:
    """Arguments that are not those of ROS, which lie between --ros-args and --, or the end."""
    found, of_ros = [], False
    for each in arguments:
        if each == '--ros-args':
            of_ros = True
        elif of_ros:
            of_ros = each != '--'
        else:
            found.append(each)
    return found


def _answer(name: str, given: list[str]) -> int:
    """Answer arguments that are none of ROS: all that a node understands is a call for help."""
    usage = (
        f'usage: {name} [--ros-args -p NAME:=VALUE … --params-file FILE]\n'
        'docs/nodes.md describes topics and parameters, config/parameters.yaml sets them;\n'
        f'`ros2 param describe {name} NAME` describes one while the node runs.'
    )
    if not {'-h', '--help'} & set(given):
        print(f"{name}: error: There is no argument '{given[0]}'.\n{usage}", file=sys.stderr)
        return REFUSED
    print(f'Node {name}: {TASKS[name].purpose}\n\n{usage}' if name in TASKS else usage)
    return 0


def main() -> int:
    """Run the node that has the name of the command."""
    return run(Path(sys.argv[0]).name)
