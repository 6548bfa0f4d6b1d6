"""Balancing on the seesaw: `ros2 launch izmp_dynamics seesaw.launch.py controller:=mixed`."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.descriptions import ParameterValue

ARGUMENTS = {
    'robot': ('icub', 'Which robot balances: icub or biped31.'),
    'controller': ('mixed', 'What is controlled: mixed or robot (momentum).'),
    'gains': ('authors', 'Gains of the controller: authors or tuned.'),
    'reference': ('constant', 'Of the CoM: constant, or sine:METRES:HERTZ, e.g. sine:0.025:0.25.'),
    'push': (
        '100:lateral:20.0:0.01',
        "Push on the torso, NEWTONS:DIRECTION:START:DURATION; '' for none.",
    ),
    'duration': ('60.0', 'Of the run [s].'),
    'rate': ('1.0', 'Simulated per real time, at most.'),
}
"""Name → default, description."""


def generate_launch_description() -> LaunchDescription:
    """Describe plant and controller."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription(
        [
            *declared,
            Node(
                package='izmp_dynamics',
                executable='seesaw',
                parameters=[
                    _given(robot=str, push=str, duration=float, rate=float),
                ],
                output='screen',
            ),
            Node(
                package='izmp_dynamics',
                executable='balance',
                parameters=[_given(robot=str, controller=str, gains=str, reference=str)],
                output='screen',
            ),
        ]
    )


def _given(**kinds: type) -> dict[str, ParameterValue]:
    """Parameters from the arguments of the same name."""
    return {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, kind in kinds.items()
    }
