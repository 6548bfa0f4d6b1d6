"""A robot walks in Webots: `ros2 launch izmp_dynamics webots.launch.py gait:=walk speed:=0.3`.

The world is made from the robot's URDF before Webots starts (`izmp make-world`). The graph is
started when the controller is connected to the robot; the robot waits for it before it moves.
Everything ends with Webots.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    EmitEvent,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.launching.checked import read_argument
from izmp_dynamics.launching.graph import (
    declared,
    given,
    graph,
    graph_arguments,
    refuse_taken_place,
)

if TYPE_CHECKING:
    from izmp_lab.simulation.webots.world import World

OF_GRAPH = (
    'namespace', 'frame_prefix', 'composed', 'record', 'bag', 'overwrite', 'rviz',
    'evaluation_frame',
)  # fmt: skip
"""Arguments that izmp.launch.py gets."""

ARGUMENTS = {
    'robot': (
        str(find_resource('robots/biped31/robot.yaml')),
        'Robot file (YAML) of the robot.',
    ),
    'gait': ('walk', 'The motion: walk, sway, or none to wait for trajectories.'),
    'speed': ('0.3', 'Speed of the walk [m/s].'),
    'steps': ('20', 'Number of steps of the walk.'),
    'slope_deg': ('0', 'Angle of a ramp behind the level start [degrees].'),
    'push': ('', 'Pushes, with spaces between them: 40:lateral:3.0 as in izmp simulate walk.'),
    'time_step': ('2', 'Time step of the simulation: 2 or 8 [ms].'),
    'mode': ('realtime', 'Mode of Webots: realtime, fast or pause.'),
    'gui': ('true', "Show Webots' window. Without a screen: false, and set WEBOTS_OFFSCREEN=1."),
    'port': ('1234', 'Port at which Webots waits for controllers.'),
    'worlds': ('', 'Folder for the world; izmp_webots/PORT in ROS_HOME if empty.'),
    'quit': ('false', 'End Webots, and all the rest, after the motion.'),
    **{name: graph_arguments(composed='true')[name] for name in OF_GRAPH},
}

NO_DRIVER = (
    'webots.launch.py needs webots_ros2_driver, which cannot be imported here. Install it (sudo '
    'apt install ros-$ROS_DISTRO-webots-ros2) and Webots R2025a or newer, and source your ROS '
    'installation; simulation.launch.py simulates in MuJoCo without them.'
)
NO_WEBOTS = (
    'webots.launch.py needs Webots R2025a or newer, which is not found here. Install it, or let '
    'WEBOTS_HOME be the folder where it is; simulation.launch.py simulates in MuJoCo without it.'
)


def generate_launch_description() -> LaunchDescription:
    """Describe the arguments; the rest follows when they are known."""
    return LaunchDescription(
        [*declared(ARGUMENTS), refuse_taken_place(), OpaqueFunction(function=_start)]
    )


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Make the world; start Webots, the controller and, once it is connected, the graph."""
    values = given(context, *ARGUMENTS)
    try:
        from webots_ros2_driver.utils import get_webots_home, has_shared_folder
        from webots_ros2_driver.wait_for_controller_connection import WaitForControllerConnection
        from webots_ros2_driver.webots_controller import WebotsController
        from webots_ros2_driver.webots_launcher import WebotsLauncher
    except ImportError as error:
        raise RuntimeError(NO_DRIVER) from error
    if not has_shared_folder() and get_webots_home() is None:
        raise RuntimeError(NO_WEBOTS)  # WebotsLauncher would ask on the terminal
    world = _make_world(values)
    webots = WebotsLauncher(
        world=str(world.world),
        gui=values['gui'],
        mode=values['mode'],
        port=values['port'],
        ros2_supervisor=True,  # publishes /clock
    )
    controller = WebotsController(
        robot_name=world.name,
        namespace=values['namespace'],
        port=values['port'],
        parameters=[{'robot_description': str(world.urdf), 'use_sim_time': True}],
    )
    of_graph = {name: values[name] for name in OF_GRAPH} | {'robot': str(world.robot)}
    waiting = WaitForControllerConnection(
        target_driver=controller,
        nodes_to_start=[graph(use_sim_time='true', reliable_inputs='true', **of_graph)],
    )
    ends = [
        RegisterEventHandler(
            OnProcessExit(
                target_action=process,
                on_exit=[EmitEvent(event=Shutdown(reason=f'{what} has ended'))],
            )
        )
        for process, what in ((webots, 'Webots'), (controller, "Webots' controller"))
    ]
    return [webots, webots._supervisor, controller, waiting, *ends]


def _make_world(values: dict[str, str]) -> 'World':
    from izmp_lab.simulation.webots.world import make_world  # takes a second or two

    read_argument('port', values['port'], int)
    home = Path(os.environ.get('ROS_HOME', '~/.ros')).expanduser()
    names = ['gait', 'speed', 'steps', 'push', 'quit']
    names += ['namespace'] if values['namespace'] else []  # which remappings do not give a plugin
    return make_world(
        Path(values['robot']),
        Path(values['worlds'] or home / 'izmp_webots' / values['port']),  # for runs side by side
        slope_deg=read_argument('slope_deg', values['slope_deg'], float),
        time_step=read_argument('time_step', values['time_step'], int),
        plugin={**{name: values[name] for name in names}, 'wait_for_listener': 'true'},
        overwrite=True,
    )
