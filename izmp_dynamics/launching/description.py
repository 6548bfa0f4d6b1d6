"""robot_state_publisher, which shows the robot in viewers."""

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import LogInfo
from launch.launch_description_entity import LaunchDescriptionEntity
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.urdf import read_urdf


def robot_state_publisher(
    robot: RobotFile, text: str, use_sim_time: bool, frame_prefix: str
) -> LaunchDescriptionEntity:
    """Describe the node; where it is not installed, say so.

    Args:
        robot: names the URDF and the topic of the joints.
        text: a URDF to use instead; '' for none.
        use_sim_time: whether time comes from /clock.
        frame_prefix: of all frames.

    Raises:
        ModelError: if the URDF cannot be read.
    """
    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return LogInfo(
            msg='robot_state_publisher is not installed: viewers will not show the robot.'
        )
    description = text or read_urdf(robot.urdf_path).text
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        parameters=[
            {
                'robot_description': ParameterValue(description, value_type=str),
                'use_sim_time': use_sim_time,
                'frame_prefix': frame_prefix,
            }
        ],
        remappings=[('joint_states', robot.joints.topic)],
        output='screen',
    )
