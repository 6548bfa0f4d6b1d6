"""Quadrupeds on ball feet: they stand, crawl or trot in MuJoCo, from a robot's name to a bag.

The robot files that are shipped state no force sensors. Here every ball has one, which measures
what the ground does to it: all six axes, the normal force, or whether it carries load. The file
that names them is written beside the bag's messages.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import yaml

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.feet import LOADED_PART, FootContact, FootForce, FootWrench
from izmp_dynamics.model.field_map import RECEIVED
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file, robot_file_path
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate
from izmp_lab.simulation.mujoco.whole_body import WholeBodyControl
from izmp_lab.simulation.noisy_signals import SensorErrors, with_errors
from izmp_lab.simulation.physics import Servo, Shove
from izmp_lab.simulation.recording import NUMBERS, check_recordable, record
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.walking.plan import MotionPlan, RootMotion
from izmp_lab.walking.quadruped_gait import Gait, plan_gait

_KNEES_BACK = {'thigh': 0.8, 'calf': -1.6, 'HFE': 0.8, 'KFE': -1.6}
_KNEES_IN = {'F_HFE': 0.5, 'F_KFE': -1.0, 'H_HFE': -0.5, 'H_KFE': 1.0}
POSTURES = {'anymal_c': _KNEES_IN} | dict.fromkeys(
    ('go2', 'go1', 'a1', 'b1', 'solo12'), _KNEES_BACK
)
"""Shipped quadruped → part of the name of a joint → its angle while it stands [rad]."""


@dataclass(frozen=True)
class SimulatedQuadruped:
    """What a quadruped did.

    Attributes:
        file: the robot file, with the force sensors.
        text: of that file, as it lies in the bag's folder.
        gait: what it was to do.
        run: what it did, with the errors of the sensors that were asked for.
    """

    file: RobotFile
    text: str
    gait: Gait
    run: SimulatedRun


SENSORS = {'wrench': FootWrench, 'force': FootForce, 'contact': FootContact}
"""Key of a foot → what its sensor measures."""


def with_force_sensors(name: str, measured: str = 'wrench') -> tuple[RobotFile, str]:
    """Return the robot file of a shipped quadruped with a force sensor in each ball, and its text.

    Args:
        name: of the robot.
        measured: a key of `SENSORS`.

    Raises:
        UnknownNameError: if no such robot is shipped.
    """
    file = load_robot_file(name, with_urdf=True)
    given = yaml.safe_load(robot_file_path(name).read_text())
    feet = []
    weight = load_model(file.read_urdf(), file.root).total_mass * file.gravity
    for k, (foot, text) in enumerate(zip(file.feet, given['feet'], strict=True)):
        link = foot.sole if isinstance(foot.sole, str) else foot.sole.link
        stated: dict[str, Any] = {'topic': f'{foot.name}/wrench', 'frame': link}
        if measured != 'wrench':
            stated = {
                'topic': 'foot_forces', 'type': NUMBERS, 'field': f'data[{k}]', 'clock': RECEIVED
            }  # fmt: skip
        if measured == 'contact':
            stated['loaded_above'] = round(LOADED_PART * weight, 1)
        feet.append(dataclasses.replace(foot, **{measured: SENSORS[measured](**stated)}))
        text[measured] = stated
    text = f'# {name} with a force sensor in each ball, as it was simulated.\n'
    text += yaml.safe_dump(given, sort_keys=False, default_flow_style=None, width=99)
    return dataclasses.replace(file, feet=tuple(feet)), text


def simulate_quadruped(
    name: str,
    gait: str,
    bag: str | PathLike[str] | None = None,
    *,
    duration: float = 10.0,
    speed: float | None = None,
    pushes: Sequence[str] = (),
    measured: str = 'wrench',
    errors: SensorErrors | None = None,
    seed: int = 0,
    storage: str = 'mcap',
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> SimulatedQuadruped:
    """Let a shipped quadruped stand, crawl or trot on level ground.

    Args:
        name: a key of POSTURES.
        gait: 'stand', 'crawl' or 'trot'.
        bag: folder to record to, with the robot file; nothing is recorded if None.
        duration: of the recording [s].
        speed: [m/s]; the usual one of the gait if None.
        pushes: on the root, as `Shove.parse` reads them.
        measured: by the feet, a key of `SENSORS`.
        errors: of the sensors; ideal sensors if None.
        seed: of their noise.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.
        progress: is called now and then with the part that is simulated, 0 … 1.

    Returns:
        The run. If the robot fell, the bag is kept, its metadata say so, and so does `run.fall`.

    Raises:
        BagError: if the bag exists or cannot be written.
        IzmpError: if the robot cannot be simulated or the gait not be planned.
    """
    if name not in POSTURES:
        raise SimulationError(
            f"'{name}' is no quadruped that can be simulated; valid: {', '.join(POSTURES)}.",
            kind='not_a_quadruped', robot=name,
        )  # fmt: skip
    file, text = with_force_sensors(name, measured)
    if bag is not None:
        check_recordable(file, bag, storage, overwrite)
    torque = dict.fromkeys(
        load_model(file.read_urdf(), file.root).joint_names,
        Servo(kp=1.0, kv=0.0, armature=0.0, damping=0.0),
    )
    plant = build_mujoco(file, servos=torque)
    model = plant.robot
    q = np.array([
        sum(angle for part, angle in POSTURES[name].items() if part in joint)
        for joint in model.joint_names
    ])  # fmt: skip
    balls = np.array([model.frame_pose(foot.sole_frame, q)[1] for foot in file.feet])
    up = float(np.mean([foot.radius for foot in file.feet] - balls[:, 2]))
    com = model.com(q) + np.array([0.0, 0.0, up])
    planned = plan_gait(
        gait, balls[:, :2], com[:2], float(com[2]), duration=duration, speed=speed,
        gravity=file.gravity, time_step=plant.physics.time_step,
    )  # fmt: skip
    plan = _at_rest(gait, model.joint_names, q, up, planned)
    run = simulate(
        plan, plant, progress=progress,
        pushes=[Shove.parse(push, model.root).push(plan) for push in pushes],
        control=WholeBodyControl(planned, plant, float(com[2])),
    )  # fmt: skip
    if errors is not None:
        run = with_errors(run, file, errors, seed)
    if bag is not None:
        files = {'robot.yaml': text}
        record(run, file, bag, files=files, storage=storage, overwrite=overwrite)
    return SimulatedQuadruped(file, text, planned, run)


def _at_rest(
    name: str, joints: tuple[str, ...], q: Array, height: float, gait: Gait
) -> MotionPlan:
    """The posture at first, for as long as the gait takes: the controller does the rest."""
    count = len(gait.com)
    position, rest = np.tile([0.0, 0.0, height], (count, 1)), np.zeros((count, 3))
    root = RootMotion(position, np.tile(np.eye(3), (count, 1, 1)), rest, rest, rest, rest)
    still = np.zeros((count, len(q)))
    return MotionPlan(name, joints, gait.time_step, still + q, still, still, root)
