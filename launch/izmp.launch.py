"""The graph beside a robot: `ros2 launch izmp_dynamics izmp.launch.py robot:=my_robot.yaml`."""

import os
import posixpath

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription
from launch.actions import GroupAction, LogInfo, OpaqueFunction
from launch.launch_description_entity import LaunchDescriptionEntity
from launch_ros.actions import Node, PushRosNamespace
from launch_ros.parameter_descriptions import ParameterValue

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.launching.checked import end_if_refused, read_argument, stated
from izmp_dynamics.launching.graph import (
    GRAPH,
    declared,
    given,
    node,
    refuse_taken_place,
)
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.nodes.registry import SEPARATE, TASKS

TEXTS = (
    'robot', 'urdf', 'robot_description', 'robot_description_topic', 'evaluation_frame',
    'frame_prefix', 'results_namespace',
)  # fmt: skip
OF_ROBOT = ('robot', 'urdf', 'robot_description', 'frame_prefix')
"""What robot_state_publisher must know of the nodes' parameters."""

FLAGS = ('autostart', 'use_sim_time', 'reliable_inputs', 'publish_tf')
SWITCHES = (*FLAGS, 'composed', 'robot_state_publisher', 'record', 'overwrite', 'rviz', 'view')


def generate_launch_description() -> LaunchDescription:
    """Describe nodes, recorder and views."""
    return LaunchDescription(
        [*declared(GRAPH), refuse_taken_place(), OpaqueFunction(function=_start)]
    )


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    values = given(context, *GRAPH)
    if not values['robot'] and not values['params_file']:
        raise RuntimeError('State the robot file, robot:=my_robot.yaml, or a params_file.')
    on = {name: read_argument(name, values[name], bool) for name in SWITCHES if values[name]}
    seen = dict(values)
    if values['params_file']:
        outer = context.launch_configurations.get('ros_namespace', '')
        namespace = posixpath.join(outer, values['namespace'])
        nodes = [TASKS['composed'].node] if on['composed'] else list(SEPARATE)
        needed = OF_ROBOT if on['robot_state_publisher'] or on['view'] else ()
        missing = [name for name in needed if not values[name]]
        seen |= stated(values['params_file'], namespace, nodes, missing)
        seen['robot'] = os.path.expanduser(seen['robot'])
    try:
        actions = [*_nodes(values, on), *_views(seen, on)]
    except IzmpError as error:
        raise RuntimeError(str(error)) from None
    return [GroupAction([PushRosNamespace(values['namespace']), *actions])]


def _nodes(values: dict[str, str], on: dict[str, bool]) -> list[GroupAction]:
    """The nodes that evaluate, which are started again if they die, and the recorder."""
    texts = {name: values[name] for name in TEXTS if values[name]}
    flags = {name: on[name] for name in FLAGS if name in on}
    parameters = [
        *([values['params_file']] if values['params_file'] else []),
        {name: ParameterValue(text, value_type=str) for name, text in texts.items()} | flags,
    ]
    nodes = [
        node(
            name,
            parameters=parameters,
            respawn=True,
            respawn_delay=1.0,
            on_exit=end_if_refused,
        )
        for name in (['composed'] if on['composed'] else SEPARATE)
    ]
    recorder = node(
        'recorder',
        parameters=[
            {
                'output': ParameterValue(values['bag'], value_type=str),
                'overwrite': on['overwrite'],
                'use_sim_time': on['use_sim_time'],
            }
        ],
        on_exit=end_if_refused,
        sigterm_timeout='60',  # to complete a long recording
    )
    return [*nodes, recorder] if on['record'] else nodes


def _views(values: dict[str, str], on: dict[str, bool]) -> list[LaunchDescriptionEntity]:
    """What shows the robot.

    Raises:
        IzmpError: if robot file or URDF cannot be used.
    """
    views: list[LaunchDescriptionEntity] = []
    robot = load_robot_file(values['robot'], values['urdf'] or None) if values['robot'] else None
    if on['robot_state_publisher']:
        if robot is None:
            raise RuntimeError(
                'robot_state_publisher:=true needs the path of the robot file: state it as '
                f"robot:=…, or as robot in params_file '{values['params_file']}', which has none."
            )
        views.append(_robot_state_publisher(robot, values, on['use_sim_time']))
    if on['view']:
        names = ('robot', 'urdf', 'frame_prefix', 'results_namespace')
        texts = {name: values[name] for name in names} | {'address': values['view_address']}
        parameters = [{name: ParameterValue(text, value_type=str) for name, text in texts.items()}]
        views.append(node('view', parameters=parameters))
    if on['rviz']:
        views.append(
            Node(
                package='rviz2',
                executable='rviz2',
                arguments=['-d', str(find_resource('rviz/izmp.rviz'))],
                parameters=[{'use_sim_time': on['use_sim_time']}],
            )
        )
    return views


def _robot_state_publisher(
    robot: RobotFile, values: dict[str, str], use_sim_time: bool
) -> LaunchDescriptionEntity:
    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return LogInfo(
            msg='robot_state_publisher is not installed: viewers will not show the robot.'
        )
    description = values['robot_description'] or robot.read_urdf().text
    parameters = {
        'robot_description': ParameterValue(description, value_type=str),
        'use_sim_time': use_sim_time,
        'frame_prefix': values['frame_prefix'],
    }
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        parameters=[parameters],
        remappings=[('joint_states', robot.joints.topic)],
        output='screen',
    )
