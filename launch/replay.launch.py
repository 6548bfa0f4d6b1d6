"""A recording through the graph: `ros2 launch izmp_dynamics replay.launch.py bag:=… robot:=…`.

The node player waits for the graph, and for the recorder if there is one, and plays of the
recording what the robot publishes, with /clock. The launch ends when all of it is evaluated.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import GroupAction, OpaqueFunction, Shutdown
from launch.events.process import ProcessExited
from launch.launch_description_entity import LaunchDescriptionEntity
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import PushRosNamespace

from izmp_dynamics.launching.checked import read_argument
from izmp_dynamics.launching.graph import (
    SIMULATED,
    declared,
    given,
    graph,
    graph_arguments,
    node,
    parameters,
    refuse_taken_place,
)

ARGUMENTS = {
    **graph_arguments(**SIMULATED),
    'bag': (None, 'Recording to play (rosbag2).'),
    'robot': (None, 'Robot file (YAML) of the recording.'),
    'rate': ('1.0', 'Playback rate.'),
    'output': ('izmp_bag', 'Folder of the new recording, which must not exist.'),
}


def generate_launch_description() -> LaunchDescription:
    """Describe the graph and the player."""
    return LaunchDescription(
        [
            *declared(ARGUMENTS),
            refuse_taken_place('output'),
            OpaqueFunction(function=_player),
            graph(bag=LaunchConfiguration('output')),
        ]
    )


def _player(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    recorded = read_argument('record', given(context, 'record')['record'], bool)
    player = node(
        'player',
        parameters=[
            parameters(bag=str, robot=str, rate=float, results_namespace=str),
            {'wait_for_recorder': recorded},
        ],
        on_exit=_end,
    )
    return [GroupAction([PushRosNamespace(LaunchConfiguration('namespace')), player])]


def _end(event: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """End the launch with the player.

    Raises:
        RuntimeError: if it failed; launch prints it and ends with a non-zero status.
    """
    if context.is_shutdown:
        return []
    if event.returncode:
        raise RuntimeError('The recording was not played to its end; the player says why.')
    return [Shutdown(reason='the recording is played and evaluated')]
