"""Motions by their names, for nodes, simulators and launch files."""

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.sway import plan_sway
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

GAITS = ('walk', 'sway')


def make_plan(
    robot: RobotFile,
    gait: str,
    time_step: float,
    speed: float = 0.3,
    steps: int = 20,
    slope: float = 0.0,
) -> MotionPlan:
    """Plan a motion.

    Args:
        robot: robot file.
        gait: 'walk' or 'sway'.
        time_step: of the plan [s].
        speed: of the walk [m/s].
        steps: of the walk.
        slope: of the ramp that the walk goes up [rad].

    Raises:
        UnknownNameError: another gait.
        MotionError: if the robot cannot move like that.
    """
    if gait == 'walk':
        parameters = WalkParameters(speed=speed, steps=steps, time_step=time_step, slope=slope)
        return plan_walk(Biped.of(robot), parameters).plan
    if gait == 'sway':
        return plan_sway(load_model(robot.read_urdf(), robot.root), time_step=time_step)
    raise UnknownNameError('gait', gait, GAITS)
