"""The seesaw with real contacts: how it compares with ideal constraints, and the IZMP on it.

Run `python benchmarks/bench_seesaw_mujoco.py`. All runs have the authors' gains; the pushes are
100 N for 10 ms to the side, at 2 s.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.closed_loop import SeesawPlant, SeesawRun, balance_on_seesaw
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.gains import ComReference, gains
from izmp_lab.seesaw.kkt_plant import KktPlant
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw
from izmp_lab.seesaw.mujoco_spec import seesaw_physics
from izmp_lab.seesaw.study import izmp
from izmp_lab.seesaw.study.tasks import foot_slip
from izmp_lab.simulation.physics import Shove
from izmp_lab.studies.runs import Store, perform

PUSH, SINE = 'push', 'sine'
DURATION = 22.0
"""Of a run [s]: 20 s after the push."""

CASES = (
    ('icub', 'mixed', PUSH), ('icub', 'robot', PUSH), ('icub', 'mixed', SINE),
    ('icub', 'robot', SINE), ('biped31', 'mixed', PUSH), ('biped31', 'robot', PUSH),
)  # fmt: skip
STEPS = (0.002, 0.001, 0.0005, 0.00025, 0.000125)
"""Steps of MuJoCo's physics [s]."""


def run(plant: SeesawPlant, kind: str, case: str, duration: float = DURATION) -> SeesawRun:
    """Balance; the reference or the push is that of the case."""
    robot = plant.robot
    reference = ComReference(0.025, 0.25) if case == SINE else ComReference()
    own = gains(kind, robot.model.joint_names)
    controller = MomentumController(robot, plant.seesaw, kind, own, reference)
    pushes = [Shove(100.0, 'lateral', 2.0, 0.01)] if case == PUSH else []
    return balance_on_seesaw(plant, controller, duration, pushes)


def decay(angles: np.ndarray, times: np.ndarray) -> float:
    """Ratio of the largest |θ| from 7 s to 12 s to that from 2 s to 7 s."""
    early, late = ((times >= t) & (times < t + 5.0) for t in (2.0, 7.0))
    return float(np.abs(angles[late]).max() / np.abs(angles[early]).max())


def numbers(result: SeesawRun) -> tuple[float, float, float]:
    """Peak of θ [°], decay, RMSE of the lateral CoM [mm]."""
    peak = np.degrees(result.largest_angle())
    return float(peak), decay(result.angle, result.times), 1e3 * result.lateral_rmse(2.0)


def print_agreement() -> None:
    """Print both plants side by side."""
    print('Both plants; peak of θ [°], decay of θ (7–12 s against 2–7 s), RMSE of the CoM [mm]')
    print(f'{"":22}{"constraints":>28}{"MuJoCo":>28}{"largest difference":>20}')
    for name, kind, case in CASES:
        robot = load_balancing_robot(name)
        plants = (KktPlant(robot, Seesaw()), MujocoSeesaw(robot, Seesaw()))
        found = np.array([numbers(run(plant, kind, case)) for plant in plants])
        texts = [' '.join(f'{value:8.4f}' for value in row) for row in found]
        difference = np.abs(found[1] / found[0] - 1.0).max()
        print(f'{name:8} {kind:6} {case:5} {texts[0]:>28} {texts[1]:>28} {difference:17.2%}')


def print_steps() -> None:
    """Print what the step of the physics decides."""
    print(
        "\nStep of MuJoCo's physics; icub, mixed, push: the same, and how far feet and board slip"
    )
    robot = load_balancing_robot('icub')
    for step in STEPS:
        plant = MujocoSeesaw(robot, Seesaw(), seesaw_physics(Seesaw(), step))
        peak, ratio, error = numbers(run(plant, 'mixed', PUSH, 12.0))
        print(f'{1e3 * step:8.3f} ms {peak:9.4f}° {ratio:8.4f} {error:8.4f} mm', end='   ')
        print(f'feet {1e3 * foot_slip(plant):.3f} mm, board {1e3 * board_slip(plant):.3f} mm')


def board_slip(plant: MujocoSeesaw) -> float:
    """How far the contact line is from where rolling takes it [m]."""
    contact, angle = plant.seesaw.contact_point(plant.state.board), plant.state.angle
    return float(np.hypot(contact[0], contact[1] + plant.seesaw.radius * angle))


def print_izmp() -> None:
    """Print the IZMP on the board against the true CoP."""
    print('\nDistance from the true CoP on the board [mm], mean and largest, push left out')
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for robot in ('icub', 'biped31'):
            for controller in ('mixed', 'robot'):
                for case in izmp.CASES:
                    points = perform(izmp.run_of(robot, case, controller), store)
                    print(f'{robot} {controller} {case}')
                    for name, text in izmp.NAMES.items():
                        apart = izmp.distances(points, name)
                        print(f'    {text:34} {apart.mean():12.6f} {apart.max():12.6f}')


def main() -> None:
    """Print all tables."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print_agreement()
    print_steps()
    print_izmp()


if __name__ == '__main__':
    main()
