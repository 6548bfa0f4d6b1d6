"""The motion that the nodes motion and simulation are asked for by parameters."""

from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.start_up import announced
from izmp_lab.walking.gaits import GAITS, make_plan
from izmp_lab.walking.plan import MotionPlan


def plan_gait(node: Node, robot: RobotFile, time_step: float) -> MotionPlan:
    """Declare the parameters of a motion and plan it.

    Args:
        node: has the parameters gait, speed [m/s] and steps.
        robot: robot file.
        time_step: of the plan [s].

    Raises:
        MotionError: if the robot cannot move like that.
    """
    gait = _parameter(node, 'gait', 'walk', ParameterDescriptor(
        description='the motion', additional_constraints=f'one of: {", ".join(GAITS)}',
    ))  # fmt: skip
    speed = _parameter(node, 'speed', 0.3, ParameterDescriptor(
        description='of the walk [m/s]',
        floating_point_range=[FloatingPointRange(from_value=0.0, to_value=2.0)],
    ))  # fmt: skip
    steps = _parameter(node, 'steps', 20, ParameterDescriptor(
        description='of the walk',
        integer_range=[IntegerRange(from_value=1, to_value=1000, step=1)],
    ))  # fmt: skip
    with announced(node.get_logger(), f"Planning '{gait}'"):
        return make_plan(robot, gait, time_step, speed, steps)


def _parameter(node: Node, name: str, default: Any, descriptor: ParameterDescriptor) -> Any:
    descriptor.read_only = True
    return node.declare_parameter(name, default, descriptor).value
