"""A robot that is shaken on the seesaw: springs hold its legs, its arms swing, it is pushed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import seconds
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw, SeesawRecorder

TICK = 0.001
PUSH = (0.5, 0.51)  # [s]
FORCE = np.array([0.0, 100.0, 0.0])


@dataclass
class Shaken:
    """What became of it.

    Attributes:
        plant: robot and board at the end.
        run: sensors and truth at 500 Hz.
        states: at every tick.
    """

    plant: MujocoSeesaw
    run: Any
    states: list


def shake(duration=1.0):
    """Shake biped31."""
    robot, recorder = load_balancing_robot('biped31'), SeesawRecorder()
    plant = MujocoSeesaw(robot, Seesaw(), observer=recorder)
    states = [plant.state]
    for step in range(round(duration / TICK)):
        time = step * TICK
        push = FORCE if PUSH[0] <= time < PUSH[1] else None
        states.append(plant.step(_torques(robot, time, states), TICK, push))
    return Shaken(plant, recorder.run(plant, 'shaken'), states)


def _torques(robot, time, states):
    """Torques of springs, stiff in legs and trunk, loose in the arms, which swing."""
    rest, state = states[0].q, states[-1]
    legs = ('hip', 'knee', 'ankle', 'waist', 'torso')
    stiff = np.array([any(part in name for part in legs) for name in robot.model.joint_names])
    swing = np.where(stiff, 0.0, 0.3 * np.sin(6.0 * time) * np.sin(np.arange(len(rest))))
    stiffness, damping = np.where(stiff, 1500.0, 30.0), np.where(stiff, 3.0, 0.0)
    return stiffness * (rest + swing - state.q) - damping * state.qd


def pushed(run):
    """(T,) whether somebody pushes."""
    time = seconds(run.stamps)
    return (time >= PUSH[0] - 1e-9) & (time < PUSH[1] - 1e-9)
