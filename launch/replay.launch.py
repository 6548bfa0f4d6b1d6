"""A recording through the live graph: `ros2 launch izmp_dynamics replay.launch.py bag:=… …`.

The bag is played by `ros2 bag play` with --clock, so the nodes live in its time.
"""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    TimerAction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

START_UP = 6.0
"""Time that the nodes are given before the first message [s]."""


def generate_launch_description() -> LaunchDescription:
    """Describe the graph and the player."""
    graph = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare('izmp_dynamics'), 'launch', 'izmp.launch.py'])
        ),
        launch_arguments={
            'robot': LaunchConfiguration('robot'),
            'composed': LaunchConfiguration('composed'),
            'rviz': LaunchConfiguration('rviz'),
            'use_sim_time': 'true',
        }.items(),
    )
    player = ExecuteProcess(
        cmd=[
            'ros2', 'bag', 'play', LaunchConfiguration('bag'), '--clock', '--rate',
            LaunchConfiguration('rate'),
        ],
        output='screen',
    )  # fmt: skip
    return LaunchDescription(
        [
            DeclareLaunchArgument('bag', description='Recording to play (rosbag2).'),
            DeclareLaunchArgument('robot', description='Robot file (YAML) of the recording.'),
            DeclareLaunchArgument('rate', default_value='1.0', description='Times as fast.'),
            DeclareLaunchArgument(
                'composed', default_value='true', description='All nodes in one process.'
            ),
            DeclareLaunchArgument('rviz', default_value='false', description='Start rviz.'),
            graph,
            TimerAction(period=START_UP, actions=[player]),
        ]
    )
