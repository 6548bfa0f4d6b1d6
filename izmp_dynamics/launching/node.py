"""The nodes that launch files start: those of this package, and robot_state_publisher."""

import functools
import subprocess
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import ExecuteProcess, GroupAction, LogInfo, SetLaunchConfiguration
from launch.launch_description_entity import LaunchDescriptionEntity
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from izmp_dynamics.model.robot_file import RobotFile

PREFIX = 'launch-prefix'
"""What launch puts before a command; `--launch-prefix` sets it, e.g. to that of a debugger."""


def node(name: str, **options: Any) -> GroupAction:
    """Start a node of this package.

    Args:
        name: of its executable.
        options: other arguments of `launch_ros.actions.Node`.
    """
    return without_traceback(
        Node(
            package='izmp_dynamics',
            executable=name,
            exec_name=name,
            output='screen',
            **options,
        )
    )


def without_traceback(process: ExecuteProcess) -> GroupAction:
    """Start a process that prints no traceback if Ctrl-C comes while its interpreter starts.

    Args:
        process: one that uses `nodes.start_up.interruptible`, which acts on the signal.
    """
    prefix = LaunchConfiguration(PREFIX, default=_sigint_blocked())
    return GroupAction([SetLaunchConfiguration(PREFIX, prefix), process])


@functools.cache
def _sigint_blocked() -> str:
    """Command that starts another with SIGINT blocked.

    Empty where `env` cannot do so: GNU's can since coreutils 8.31.
    """
    command = 'env --block-signal=INT'
    try:
        tried = subprocess.run([*command.split(), 'true'], check=False, capture_output=True)
    except OSError:
        return ''
    return '' if tried.returncode else command


def robot_state_publisher(
    robot: RobotFile, text: str, use_sim_time: bool, frame_prefix: str
) -> LaunchDescriptionEntity:
    """Describe the node; where it is not installed, say so.

    Args:
        robot: names the URDF and the topic of the joints.
        text: a URDF to use instead; '' for none.
        use_sim_time: whether time comes from /clock.
        frame_prefix: of all frames.

    Raises:
        ModelError: if the URDF cannot be read.
    """
    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return LogInfo(
            msg='robot_state_publisher is not installed: viewers will not show the robot.'
        )
    description = text or robot.read_urdf().text
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        parameters=[
            {
                'robot_description': ParameterValue(description, value_type=str),
                'use_sim_time': use_sim_time,
                'frame_prefix': frame_prefix,
            }
        ],
        remappings=[('joint_states', robot.joints.topic)],
        output='screen',
    )
