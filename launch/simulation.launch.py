"""MuJoCo in the loop: `ros2 launch izmp_dynamics simulation.launch.py gait:=walk speed:=0.3`."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Describe simulation, plan and graph."""
    share = FindPackageShare('izmp_dynamics')
    gait = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in (('robot', str), ('gait', str), ('speed', float), ('steps', int))
    }
    loop = {'loop': ParameterValue(LaunchConfiguration('loop'), value_type=bool)}
    graph = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([share, 'launch', 'izmp.launch.py'])),
        launch_arguments={
            'robot': LaunchConfiguration('robot'),
            'composed': LaunchConfiguration('composed'),
            'rviz': LaunchConfiguration('rviz'),
            'use_sim_time': 'true',
            'reliable_inputs': 'true',
        }.items(),
    )
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'robot',
                default_value=PathJoinSubstitution([share, 'robots', 'biped31', 'robot.yaml']),
                description='Robot file (YAML) of the robot to be simulated.',
            ),
            DeclareLaunchArgument(
                'gait', default_value='walk', description='The motion: walk or sway.'
            ),
            DeclareLaunchArgument('speed', default_value='0.3', description='Of the walk [m/s].'),
            DeclareLaunchArgument(
                'steps', default_value='20', description='Number of steps of the walk.'
            ),
            DeclareLaunchArgument(
                'loop', default_value='false', description='Begin again at the end.'
            ),
            DeclareLaunchArgument(
                'composed', default_value='true', description='All nodes in one process.'
            ),
            DeclareLaunchArgument('rviz', default_value='false', description='Start rviz.'),
            Node(
                package='izmp_dynamics',
                executable='simulation',
                parameters=[gait, loop],
                output='screen',
            ),
            Node(package='izmp_dynamics', executable='motion', parameters=[gait], output='screen'),
            graph,
        ]
    )
