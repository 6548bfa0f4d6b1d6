"""Motions by their names, for nodes, simulators and launch files."""

from collections.abc import Mapping

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.sway import BIPED31_POSTURE, plan_sway
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
        return plan_walk(load_biped(robot), parameters).plan
    if gait == 'sway':
        return plan_sway(load_model(robot.urdf_path, robot.root), time_step=time_step)
    raise UnknownNameError('gait', gait, GAITS)


def load_biped(robot: RobotFile) -> Biped:
    """Prepare a robot for walking: arms as biped31 holds them if it has such, else at zero.

    Raises:
        IzmpError: if it cannot be used, or has not two legs with the geometry of `leg_ik`.
    """
    model = load_model(robot.urdf_path, robot.root)
    like_biped31 = set(BIPED31_POSTURE) <= set(model.joint_names)
    posture: Mapping[str, float] = BIPED31_POSTURE if like_biped31 else {}
    return Biped.of(robot, posture, model)
