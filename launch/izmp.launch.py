"""The graph beside a robot: `ros2 launch izmp_dynamics izmp.launch.py robot:=my_robot.yaml`."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

NODES = ('acd', 'angular_acceleration', 'mr_ad', 'localizer', 'ir_md', 'izmp')

ARGUMENTS = {
    'robot': (None, 'Robot file (YAML): URDF, sensors, feet; config/robot_example.yaml explains.'),
    'urdf': ('', 'URDF to use instead of the one that the robot file names.'),
    'namespace': ('', 'Namespace of all nodes and topics.'),
    'composed': ('false', 'Run all nodes in one process: less latency, less work.'),
    'use_sim_time': ('false', 'Take the time from /clock.'),
    'reliable_inputs': ('false', "Ask for reliable delivery of the sensors' topics."),
    'evaluation_frame': (
        '',
        'Frame of IZMP and CoP: a link, world, nif or one of TF; default: the root.',
    ),
    'record': ('false', 'Record all topics.'),
    'bag': ('izmp_bag', 'Folder of the recording, which must not exist.'),
    'rviz': ('false', 'Start rviz with the view of this package.'),
}


def generate_launch_description() -> LaunchDescription:
    """Describe nodes, recorder and view."""
    composed = LaunchConfiguration('composed')
    parameters = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in (
            ('robot', str), ('urdf', str), ('use_sim_time', bool), ('reliable_inputs', bool),
            ('evaluation_frame', str),
        )
    }  # fmt: skip
    separate = [
        Node(
            package='izmp_dynamics',
            executable=name,
            parameters=[parameters],
            output='screen',
            respawn=True,
            respawn_delay=1.0,
            condition=UnlessCondition(composed),
        )
        for name in NODES
    ]
    together = Node(
        package='izmp_dynamics',
        executable='composed',
        parameters=[parameters],
        output='screen',
        respawn=True,
        respawn_delay=1.0,
        condition=IfCondition(composed),
    )
    recorder = Node(
        package='izmp_dynamics',
        executable='recorder',
        parameters=[
            {'output': ParameterValue(LaunchConfiguration('bag'), value_type=str)},
            {'use_sim_time': parameters['use_sim_time']},
        ],
        output='screen',
        condition=IfCondition(LaunchConfiguration('record')),
    )
    view = Node(
        package='rviz2',
        executable='rviz2',
        arguments=[
            '-d',
            PathJoinSubstitution([FindPackageShare('izmp_dynamics'), 'rviz', 'izmp.rviz']),
        ],
        condition=IfCondition(LaunchConfiguration('rviz')),
    )
    namespace = PushRosNamespace(LaunchConfiguration('namespace'))
    return LaunchDescription(
        [*_arguments(), GroupAction([namespace, *separate, together, recorder, view])]
    )


def _arguments() -> list[DeclareLaunchArgument]:
    return [
        DeclareLaunchArgument(name, description=description)
        if default is None
        else DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
