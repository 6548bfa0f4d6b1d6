"""Robot and seesaw as a MuJoCo model spec.

The board is a free body: a plate on an arc. The arc is a cylinder that touches only the floor, so
it rolls by contact, with nothing that ties it; what of it is above the plate touches nothing. The
feet stand on the plate with a small sphere at each corner, held by friction alone. The joints
take torques.

The contacts are as firm as hard rubber on wood: critically damped with a time constant of 4 ms,
under robot and board (320 N) a dent of 0.07 mm, so some 5 MN/m. That is 250 rad/s against the
4 rad/s of the motion, so it does not show in it, and slow enough for a step of the physics of
0.5 ms. Friction is that which the controller assumes; `impratio` 100 keeps MuJoCo's regularized
friction from creeping.
"""

from typing import Any

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import Urdf
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.simulation.mujoco.engine import mujoco
from izmp_lab.simulation.mujoco.model import MovingBoard, MujocoRobot, compiled
from izmp_lab.simulation.mujoco.spec import SpecBuilder
from izmp_lab.simulation.physics import Physics, Servo
from izmp_lab.simulation.terrain import Flat

BOARD = 'board'
"""Name of the body and of its frame."""

_FLOOR, _PLATE = 1, 2
_QUARTER_TURN = [0.7071067811865476, 0.0, 0.7071067811865476, 0.0]
"""wxyz: the axis of a MuJoCo cylinder, z, along x."""


def seesaw_physics(seesaw: Seesaw, time_step: float = 0.0005) -> Physics:
    """Physics of the contacts: feet on the plate, arc on the floor."""
    return Physics(
        time_step=time_step, friction=seesaw.friction, solref=(0.004, 1.0), impratio=100.0
    )


def build_seesaw(
    robot: BalancingRobot, urdf: Urdf, file: RobotFile, seesaw: Seesaw, physics: Physics
) -> MujocoRobot:
    """Compile a robot on its seesaw.

    Args:
        robot: damping and rotor inertia of its joints count.
        urdf: its URDF, with the frames of its sensors.
        file: names the sensors.
        seesaw: the board.
        physics: of the contacts.

    Raises:
        IzmpError: if MuJoCo cannot simulate it.
    """
    builder = _SeesawBuilder(robot, urdf, file, seesaw, physics)
    return compiled(builder, urdf)


class _SeesawBuilder(SpecBuilder):
    """Adds the board to the robot, and motors in place of servos."""

    sole_contype = _FLOOR | _PLATE

    def __init__(
        self,
        robot: BalancingRobot,
        urdf: Urdf,
        file: RobotFile,
        seesaw: Seesaw,
        physics: Physics,
    ) -> None:
        servos = tuple(
            Servo(kp=0.0, kv=0.0, armature=float(armature), damping=float(damping))
            for armature, damping in zip(robot.armature, robot.damping, strict=True)
        )
        super().__init__(load_model(urdf, file.root), file, physics, servos, Flat())
        self.seesaw = seesaw

    def build(self, urdf: Urdf) -> Any:
        """Return the mujoco.MjSpec of robot and board; the board comes last."""
        spec = super().build(urdf)
        seesaw, kinds = self.seesaw, mujoco.mjtGeom
        board = spec.worldbody.add_body(name=BOARD)
        board.add_freejoint(name=f'{BOARD}_free')
        board.explicitinertial = True
        board.mass, board.inertia = seesaw.mass, list(seesaw.inertia)
        plate = {'conaffinity': _PLATE, 'contype': 0, **self._contact()}
        arc = {'contype': _FLOOR, 'conaffinity': 0, **self._contact()}
        half = 0.5 * seesaw.length
        board.add_geom(
            name='plate', type=kinds.mjGEOM_BOX, pos=[0.0, 0.0, seesaw.top - 0.5 * seesaw.plate],
            size=[half, seesaw.half_width, 0.5 * seesaw.plate], rgba=[0.55, 0.4, 0.25, 1.0],
            **plate,
        )  # fmt: skip
        board.add_geom(
            name='arc', type=kinds.mjGEOM_CYLINDER, pos=[0.0, 0.0, seesaw.axis_height],
            size=[seesaw.radius, half, 0.0], quat=_QUARTER_TURN, group=3, **arc,
        )  # fmt: skip
        return spec

    def _add_servos(self) -> None:
        for joint in self.robot.joint_names:
            self.spec.add_actuator(
                name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT,
                gaintype=mujoco.mjtGain.mjGAIN_FIXED, gainprm=[1.0] + 9 * [0.0],
                biastype=mujoco.mjtBias.mjBIAS_NONE,
            )  # fmt: skip


def board_of(model: Any, seesaw: Seesaw) -> MovingBoard:
    """Find the board in a compiled model."""
    joint = model.joint(f'{BOARD}_free')
    return MovingBoard(
        body=int(model.body(BOARD).id),
        q_column=int(joint.qposadr[0]),
        v_column=int(joint.dofadr[0]),
        height=seesaw.top,
    )
