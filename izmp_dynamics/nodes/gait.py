"""The motion that the nodes motion and simulation are asked for by parameters."""

from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from izmp_dynamics.errors import UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.motion.plan import MotionPlan

GAITS = ('walk', 'sway')


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
    return make_plan(robot, gait, time_step, speed, steps)


def make_plan(
    robot: RobotFile, gait: str, time_step: float, speed: float = 0.3, steps: int = 20
) -> MotionPlan:
    """Plan a motion with the torques that it needs.

    Args:
        robot: robot file.
        gait: 'walk' or 'sway'.
        time_step: of the plan [s].
        speed: of the walk [m/s].
        steps: of the walk.

    Raises:
        UnknownNameError: another gait.
        MotionError: if the robot cannot move like that.
    """
    if gait == 'walk':
        from izmp_dynamics.motion.biped import Biped
        from izmp_dynamics.motion.walk import plan_walk
        from izmp_dynamics.motion.walk_parameters import WalkParameters

        parameters = WalkParameters(speed=speed, steps=steps, time_step=time_step)
        return plan_walk(Biped.of(robot), parameters).plan
    if gait == 'sway':
        from izmp_dynamics.model.robot_model import load_model
        from izmp_dynamics.motion.sway import plan_sway

        return plan_sway(load_model(robot.urdf_path, robot.root), time_step=time_step)
    raise UnknownNameError('gait', gait, GAITS)


def _parameter(node: Node, name: str, default: Any, descriptor: ParameterDescriptor) -> Any:
    descriptor.read_only = True
    return node.declare_parameter(name, default, descriptor).value
