"""Arguments of launch files, the nodes that they start, and the graph as a part of others."""

import functools
import subprocess
from collections.abc import Mapping
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
    SetLaunchConfiguration,
)
from launch.launch_context import LaunchContext
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.launching.checked import free_place, read_argument

Arguments = Mapping[str, tuple[str | None, str]]
"""Name → default and description; None: the argument must be given."""


def declared(arguments: Arguments) -> list[DeclareLaunchArgument]:
    """Declare arguments."""
    return [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in arguments.items()
    ]


def given(context: LaunchContext, *names: str) -> dict[str, str]:
    """The values of arguments."""
    return {name: LaunchConfiguration(name).perform(context) for name in names}


def parameters(**kinds: type) -> dict[str, ParameterValue]:
    """Parameters from the arguments of the same name, of these types."""
    return {
        name: ParameterValue(_Read(name, kind), value_type=kind) for name, kind in kinds.items()
    }


class _Read(LaunchConfiguration):
    """An argument of a type, or launch ends with a sentence."""

    def __init__(self, name: str, kind: type) -> None:
        super().__init__(name)
        self._name, self._kind = name, kind

    def perform(self, context: LaunchContext) -> str:
        """Return its text."""
        text: str = super().perform(context)
        value = read_argument(self._name, text, self._kind)
        return str(value).lower() if self._kind is bool else text


GRAPH: Arguments = {
    'robot': (
        '',
        'Robot file (YAML): URDF, sensors, feet; config/robot_example.yaml explains. Or the name '
        'of a robot that is shipped, as go2 (docs/robots.md). Needed here or in params_file.',
    ),
    'urdf': ('', 'URDF or xacro file to use instead of the one that the robot file names.'),
    'robot_description': ('', 'The text of a URDF to use instead.'),
    'robot_description_topic': (
        '',
        'Topic to take the URDF from instead, e.g. robot_description; it is waited for.',
    ),
    'params_file': (
        '',
        'Parameters of the nodes (YAML); config/parameters.yaml explains. Arguments that are not '
        'empty have precedence.',
    ),
    'namespace': ('', 'Namespace of all nodes and topics.'),
    'frame_prefix': (
        '',
        'Prefix of all TF frames, as that of robot_state_publisher: my_robot/ for one of several '
        'robots.',
    ),
    'composed': ('false', 'Run all nodes in one process: less latency, less work.'),
    'autostart': (
        'true',
        'Nodes configure and activate themselves; false: a lifecycle manager does it.',
    ),
    'publish_tf': (
        '',
        'Broadcast the pose of the robot in the world, and the frame nif, on /tf; false where an '
        'estimator on the robot does. If empty, what params_file says, or true.',
    ),
    'results_namespace': (
        '',
        "Namespace of the results within the nodes' own: izmp keeps odom, cop, events, markers … "
        'apart from topics of other packages with the same names.',
    ),
    'use_sim_time': ('false', 'Take the time from /clock.'),
    'reliable_inputs': ('false', "Ask for reliable delivery of the sensors' topics."),
    'evaluation_frame': (
        '',
        'Frame of IZMP and CoP: a link, world, nif or one of TF; if empty, the root.',
    ),
    'robot_state_publisher': (
        'false',
        'Start robot_state_publisher, for viewers; usually the robot has one.',
    ),
    'record': ('false', 'Record all topics.'),
    'bag': ('izmp_bag', 'Folder of the recording, which must not exist.'),
    'overwrite': ('false', 'Replace an earlier recording in that folder.'),
    'rviz': ('false', 'Start rviz with the view of this package.'),
    'view': ('false', 'Show the robot in a web browser, at http://127.0.0.1:8080; needs viser.'),
    'view_address': (
        '127.0.0.1',
        'Address of this computer to show it at; 0.0.0.0: to everyone who reaches the computer.',
    ),
}
"""The arguments of izmp.launch.py."""


def refuse_taken_place(bag: str = 'bag') -> OpaqueFunction:
    """Refuse a recording whose folder is taken, before anything starts.

    Args:
        bag: the argument that names the folder, beside record and overwrite.
    """

    def refuse(context: LaunchContext) -> None:
        values = given(context, 'record', 'overwrite', bag)
        if read_argument('record', values['record'], bool):
            free_place(values[bag], read_argument('overwrite', values['overwrite'], bool))

    return OpaqueFunction(function=refuse)


SIMULATED = dict.fromkeys(
    ('composed', 'use_sim_time', 'reliable_inputs', 'robot_state_publisher'), 'true'
)
"""Defaults of launch files whose time is that of a simulation or a recording."""


def graph_arguments(**defaults: str) -> dict[str, tuple[str | None, str]]:
    """The arguments of izmp.launch.py with other defaults."""
    return {
        name: (defaults.get(name, default), description)
        for name, (default, description) in GRAPH.items()
    }


def graph(**changes: str | LaunchConfiguration) -> IncludeLaunchDescription:
    """Include izmp.launch.py with the arguments of the launch file that includes it."""
    source = PythonLaunchDescriptionSource(str(find_resource('launch/izmp.launch.py')))
    values = {
        name: LaunchConfiguration(name, default=default) for name, (default, _) in GRAPH.items()
    } | changes
    return IncludeLaunchDescription(source, launch_arguments=values.items())


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
