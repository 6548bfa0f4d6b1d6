"""The robot as a compiled MuJoCo model, and where to find things in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import frozen
from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.urdf import Urdf
from izmp_lab.simulation.mujoco.spec import SpecBuilder, sphere_name
from izmp_lab.simulation.physics import Physics, Servo
from izmp_lab.simulation.terrain import Flat, Terrain


@dataclass(frozen=True)
class MovingBoard:
    """A body with a free joint on which the robot stands: its ground.

    Attributes:
        body: MuJoCo's id of it.
        q_column: where its pose begins in qpos.
        v_column: where its twist begins in qvel and qacc.
        height: of its upper side above the origin of its frame, along its z axis [m].
    """

    body: int
    q_column: int
    v_column: int
    height: float


@dataclass(frozen=True)
class MujocoRobot:
    """A compiled MuJoCo model and where to find things in it.

    Attributes:
        robot: the model it was made from (masses unscaled).
        file: the robot file; it names sensors and feet.
        urdf: the URDF.
        physics: its physics.
        terrain: the ground that it stands on.
        servos: the servos of the joints, in the robot's order.
        model: mujoco.MjModel; qpos and qvel begin with the free joint of the root.
        q_columns: (n,) indices of the joints in qpos, in the robot's order.
        v_columns: (n,) indices in qvel, qacc and forces.
        ctrl_columns: (n,) indices of the servos in ctrl.
        feet_of_geoms: (geoms,) index of the foot below whose sole a sphere is; −1 for others.
        board: what the robot stands on if that moves; None if it is the terrain.
    """

    robot: RobotModel
    file: RobotFile
    urdf: Urdf
    physics: Physics
    terrain: Terrain
    servos: tuple[Servo, ...]
    model: Any
    q_columns: np.ndarray
    v_columns: np.ndarray
    ctrl_columns: np.ndarray
    feet_of_geoms: np.ndarray
    board: MovingBoard | None = None

    def sensor(self, name: str) -> slice:
        """Return where a sensor's values stand in sensordata."""
        entry = self.model.sensor(name)
        return slice(int(entry.adr[0]), int(entry.adr[0] + entry.dim[0]))

    def body_of(self, link: str) -> int:
        """Return MuJoCo's id of the body that carries a link.

        Raises:
            UnknownNameError: if there is no such link.
        """
        self.robot.mount(link)
        return int(self.model.site(link).bodyid[0])


def build_mujoco(
    file: RobotFile,
    physics: Physics | None = None,
    servos: Mapping[str, Servo] | None = None,
    terrain: Terrain | None = None,
) -> MujocoRobot:
    """Make the MuJoCo model of a robot.

    Args:
        file: the robot file.
        physics: the physics; the defaults if None.
        servos: joint → servo, where it is not the default.
        terrain: the ground; level if None.

    Raises:
        ModelError: if the URDF cannot be used.
        SimulationError: if a sensor has no frame, if there are mimic joints or massless moving
            links.
        UnknownNameError: if a frame or joint that is named does not exist.
    """
    urdf = file.read_urdf()
    robot = load_model(urdf, file.root)
    for joint in servos or {}:
        if joint not in robot.joint_names:
            raise UnknownNameError('joint', joint, robot.joint_names, f"in robot '{robot.name}'")
    chosen = tuple((servos or {}).get(joint, Servo()) for joint in robot.joint_names)
    physics, terrain = physics or Physics(), terrain or Flat()
    builder = SpecBuilder(robot, file, physics, chosen, terrain)
    return compiled(builder, urdf)


def compiled(builder: SpecBuilder, urdf: Urdf) -> MujocoRobot:
    """Compile what a builder makes of a robot.

    Raises:
        SimulationError: if MuJoCo refuses it.
    """
    robot, file = builder.robot, builder.file
    spec = builder.build()
    try:
        model = spec.compile()
    except ValueError as error:
        cause = ' '.join(str(error).split())
        raise SimulationError(
            f"MuJoCo cannot simulate '{robot.name}': {cause}",
            kind='mujoco_model',
            robot=robot.name,
            cause=cause,
        ) from error
    names = robot.joint_names
    feet = np.full(model.ngeom, -1)
    for index, foot in enumerate(file.feet):
        for corner in range(len(foot.corners)):
            feet[model.geom(sphere_name(foot, corner)).id] = index
    return MujocoRobot(
        robot=robot,
        file=file,
        urdf=urdf,
        physics=builder.physics,
        terrain=builder.terrain,
        servos=builder.servos,
        model=model,
        q_columns=frozen([model.joint(name).qposadr[0] for name in names], np.int64),
        v_columns=frozen([model.joint(name).dofadr[0] for name in names], np.int64),
        ctrl_columns=frozen([model.actuator(name).id for name in names], np.int64),
        feet_of_geoms=frozen(feet, np.int64),
    )
