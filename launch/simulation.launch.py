"""MuJoCo in the loop: `ros2 launch izmp_dynamics simulation.launch.py gait:=walk speed:=0.3`."""

from launch import LaunchDescription
from launch.actions import GroupAction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import PushRosNamespace

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.launching.checked import end_if_refused
from izmp_dynamics.launching.graph import (
    SIMULATED,
    declared,
    graph,
    graph_arguments,
    node,
    parameters,
    refuse_taken_place,
)

ARGUMENTS = {
    **graph_arguments(
        robot=str(find_resource('robots/biped31/robot.yaml')),
        **SIMULATED,
    ),
    'use_sim_time': (
        'true',
        'The simulation publishes /clock, and all nodes take the time from it. false: stamps '
        'begin at the wall-clock time, as several simulations beside each other need it.',
    ),
    'gait': ('walk', 'The motion: walk or sway.'),
    'speed': ('0.3', 'Speed of the walk [m/s].'),
    'steps': ('20', 'Number of steps of the walk.'),
    'loop': ('false', 'Begin again at the end.'),
    'lockstep': (
        'false',
        'Wait for the graph where it is too slow, at most half a second ahead of the results that '
        'its filter allows.',
    ),
}


def generate_launch_description() -> LaunchDescription:
    """Describe simulation, plan and graph."""
    gait = parameters(robot=str, urdf=str, gait=str, speed=float, steps=int)
    clock = parameters(use_sim_time=bool)['use_sim_time']
    motion = [
        node(
            'simulation',
            parameters=[
                gait,
                parameters(loop=bool, lockstep=bool, results_namespace=str),
                {'publish_clock': clock},
            ],
            on_exit=end_if_refused,
        ),
        node('motion', parameters=[gait], on_exit=end_if_refused),
    ]
    namespace = PushRosNamespace(LaunchConfiguration('namespace'))
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            refuse_taken_place(),
            GroupAction([namespace, *motion]),
            graph(),
        ]
    )
