"""A recording through the graph: `ros2 launch izmp_dynamics replay.launch.py bag:=… robot:=…`.

It is played by the node player, which waits for the graph, or without rosbags by `ros2 bag play`;
of the recording only what the robot publishes. /clock carries the time of the recording.
"""

import importlib.util

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    TimerAction,
)
from launch.launch_description_entity import LaunchDescriptionEntity
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from izmp_dynamics.model.robot_file import load_robot_file

START_UP = 6.0
"""Time that the nodes are given before `ros2 bag play` [s]."""

OWN_PLAYER = importlib.util.find_spec('rosbags') is not None
"""Whether the node player can read recordings; it delivers reliably."""

FORWARDED = ('robot', 'namespace', 'composed', 'record', 'rviz')

ARGUMENTS = {
    'bag': (None, 'Recording to play (rosbag2).'),
    'robot': (None, 'Robot file (YAML) of the recording.'),
    'rate': ('1.0', 'Playback rate.'),
    'namespace': ('', 'Namespace of all nodes and topics.'),
    'composed': ('true', 'All nodes in one process.'),
    'record': ('false', 'Record all topics.'),
    'output': ('izmp_bag', 'Folder of that recording, which must not exist.'),
    'rviz': ('false', 'Start rviz.'),
}


def generate_launch_description() -> LaunchDescription:
    """Describe the graph and the player."""
    graph = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare('izmp_dynamics'), 'launch', 'izmp.launch.py'])
        ),
        launch_arguments={
            **{name: LaunchConfiguration(name) for name in FORWARDED},
            'bag': LaunchConfiguration('output'),
            'use_sim_time': 'true',
            'reliable_inputs': str(OWN_PLAYER).lower(),
        }.items(),
    )
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_player), graph])


def _player(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    if OWN_PLAYER:
        kinds = (('bag', str), ('robot', str), ('rate', float))
        return [
            Node(
                package='izmp_dynamics',
                executable='player',
                namespace=LaunchConfiguration('namespace'),
                parameters=[
                    {name: ParameterValue(LaunchConfiguration(name), value_type=kind)}
                    for name, kind in kinds
                ],
                output='screen',
            )
        ]
    given = context.launch_configurations
    topics = [f'/{topic.lstrip("/")}' for topic in load_robot_file(given['robot']).topics()]
    options = ['--clock', '--rate', given['rate'], '--topics', *topics]
    play = ExecuteProcess(cmd=['ros2', 'bag', 'play', given['bag'], *options], output='screen')
    return [TimerAction(period=START_UP, actions=[play])]
