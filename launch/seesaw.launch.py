"""Balancing on the seesaw: `ros2 launch izmp_dynamics seesaw.launch.py controller:=mixed`."""

import atexit
import shutil
import sys
import tempfile
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.conditions import IfCondition
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import PushRosNamespace

from izmp_dynamics.launching.checked import end_if_refused
from izmp_dynamics.launching.graph import (
    SIMULATED,
    declared,
    given,
    graph,
    graph_arguments,
    node,
    parameters,
    refuse_taken_place,
    without_traceback,
)

ARGUMENTS = {
    'robot': ('icub', 'Which robot balances: icub or biped31.'),
    'controller': ('mixed', 'What is controlled: mixed or robot (momentum).'),
    'gains': ('authors', 'Gains of the controller: authors or tuned.'),
    'reference': ('constant', 'Lateral motion of the CoM: constant, or sine:METRES:HERTZ.'),
    'push': (
        '100:lateral:20.0:0.01',
        'Push on the torso, NEWTONS:DIRECTION:START:DURATION; or none.',
    ),
    'duration': ('60.0', 'Duration of the run [s].'),
    'rate': ('1.0', 'Simulated time per real time, at most.'),
    'izmp': ('false', 'Start the graph too: the IZMP on the moving board, live.'),
}
"""Name → default, description."""

OF_ROBOT = ('urdf', 'robot_description', 'robot_description_topic')
OF_GRAPH = {
    name: argument
    for name, argument in graph_arguments(**SIMULATED).items()
    if name not in ('robot', *OF_ROBOT)
}
"""With izmp; the robot is that of the seesaw."""


def generate_launch_description() -> LaunchDescription:
    """Describe plant and controller."""
    balancing = [
        node(
            'seesaw',
            parameters=[parameters(robot=str, push=str, duration=float, rate=float)],
            on_exit=end_if_refused,
        ),
        node(
            'balance',
            parameters=[parameters(robot=str, controller=str, gains=str, reference=str)],
            on_exit=end_if_refused,
        ),
    ]
    namespace = PushRosNamespace(LaunchConfiguration('namespace'))
    return LaunchDescription(
        [
            *declared(ARGUMENTS | OF_GRAPH),
            refuse_taken_place(),
            GroupAction([namespace, *balancing]),
            OpaqueFunction(function=_graph, condition=IfCondition(LaunchConfiguration('izmp'))),
        ]
    )


def _graph(context: LaunchContext) -> list[GroupAction]:
    """The graph, as soon as there is a robot file that names the board as ground."""
    folder = _temporary_folder()
    values = given(context, *OF_GRAPH)

    def start(event: ProcessExited, context: LaunchContext) -> list[IncludeLaunchDescription]:
        if context.is_shutdown:
            return []
        if event.returncode:
            raise RuntimeError('There is no robot file of the robot on the seesaw; see above.')
        robot = str(next(folder.glob('*.yaml')))
        return [graph(**values, **dict.fromkeys(OF_ROBOT, ''), robot=robot)]

    module = 'izmp_lab.seesaw.robot_files'
    robot = LaunchConfiguration('robot')
    return [
        without_traceback(
            ExecuteProcess(  # it takes seconds, in which this process would not heed Ctrl-C
                cmd=[sys.executable, '-m', module, robot, str(folder)],
                name='robot_files',
                output='screen',
                on_exit=start,
            )
        )
    ]


def _temporary_folder() -> Path:
    """A folder that is removed at the end."""
    folder = tempfile.mkdtemp(prefix='izmp_seesaw_')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
