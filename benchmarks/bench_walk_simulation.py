"""How long biped31 takes to walk and be recorded in simulation, and how well it walks.

Run `python benchmarks/bench_walk_simulation.py`. Each walk is executed once.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import MujocoRobot, build_mujoco
from izmp_lab.simulation.mujoco.plant import AnkleFeedback, simulate
from izmp_lab.simulation.physics import Physics
from izmp_lab.simulation.recording import record
from izmp_lab.simulation.scenarios import SimulatedWalk
from izmp_lab.simulation.terrain import Flat, Slope, Uneven
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.walk import PlannedWalk, plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

FILE = load_robot_file(Path(__file__).parents[1] / 'robots/biped31/robot.yaml')
BIPED = Biped.of(FILE)
SLOPE = float(np.radians(10.0))
WALKS = {
    '100 steps at 0.3 m/s': WalkParameters(steps=100),
    '30 steps at 0.15 m/s': WalkParameters(steps=30, speed=0.15),
    '30 steps up 10°': WalkParameters(steps=30, slope=SLOPE),
    '20 steps, turning': WalkParameters(steps=20, speed=0.2, turn_rate=0.3),
}
NEIGHBOURS = {
    'friction 0.8': Physics(friction=0.8),
    'friction 1.2': Physics(friction=1.2),
    'solref 0.007 s': Physics(solref=(0.007, 1.0)),
    'solref 0.015 s': Physics(solref=(0.015, 1.0)),
    'mass 98 %': Physics(mass_scale=0.98),
    'mass 102 %': Physics(mass_scale=1.02),
}


def timed(function: Any, *arguments: Any) -> tuple[Any, float]:
    """Return what a function returns and how long it took [s]."""
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def izmp_errors(walk: SimulatedWalk, plant: MujocoRobot) -> tuple[Array, Array]:
    """Distance of the IZMP by MR-AD from the true CoP: exact q̇, q̈, and by ACD at 500 Hz [mm]."""
    run, truth = walk.run, walk.run.truth
    root, q, step = truth.root, run.q, walk.planned.plan.time_step
    central = (q[2:] - q[:-2]) / (2 * step), (q[2:] - 2 * q[1:-1] + q[:-2]) / step**2
    errors = []
    for rows, (qd, qdd) in ((slice(None), (truth.qd, truth.qdd)), (slice(1, -1), central)):
        motion = (
            root.proper_acceleration(FILE.gravity), root.angular_velocity,
            root.angular_acceleration, q,
        )  # fmt: skip
        wrench, _ = MrAd(plant.robot).batch(*(signal[rows] for signal in motion), qd, qdd)
        cop = truth.cop_in_root()[rows]
        izmp = zero_moment_point(wrench, truth.ground_normal_in_root()[rows], cop, 10.0)
        errors.append(1e3 * np.linalg.norm(izmp - cop, axis=1))
    return errors[0], errors[1]


def print_walk(label: str, walk: SimulatedWalk) -> None:
    """Print how a walk went."""
    if walk.run.fall:
        print(f'  {label:26} {walk.run.fall}')
        return
    (ahead, left, _), (x, y) = 1e3 * walk.off_course, 1e3 * walk.cop_rms
    print(
        f'  {label:26} off course {ahead:6.1f} ahead {left:5.1f} left,   '
        f'CoP - planned ZMP {x:5.1f} x {y:5.1f} y RMS'
    )


def walked(
    planned: PlannedWalk, physics: Physics, terrain: Any, feedback: AnkleFeedback | None = None
) -> SimulatedWalk:
    """Execute a plan."""
    plant = build_mujoco(FILE, physics, terrain=terrain)
    return SimulatedWalk(planned, terrain, simulate(planned.plan, plant, feedback=feedback))


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    plan_walk(BIPED, WalkParameters(steps=2))  # compiles
    print('walks of biped31 [mm]; time to plan and to simulate')
    for label, parameters in WALKS.items():
        planned, planning = timed(plan_walk, BIPED, parameters)
        terrain = Slope(planned.ramp) if planned.ramp.slope else Flat()
        walk, simulating = timed(walked, planned, Physics(), terrain)
        print_walk(label, walk)
        exact, acd = izmp_errors(walk, build_mujoco(FILE))
        print(
            f'  {"":26} {planned.plan.duration:.1f} s planned in {planning:.2f} s, simulated in '
            f'{simulating:.2f} s ({planned.plan.duration / simulating:.1f} x real time)'
        )
        print(
            f'  {"":26} IZMP - CoP: exact {exact.max():.1e} max, ACD {acd.mean():.3f} mean '
            f'{acd.max():.3f} max'
        )
    for name, parameters in (('level', WALKS['30 steps at 0.15 m/s']),
                             ('10° slope', WALKS['30 steps up 10°'])):  # fmt: skip
        print(f'neighbouring worlds, {name} [mm]')
        planned = plan_walk(BIPED, parameters)
        terrain = Slope(planned.ramp) if planned.ramp.slope else Flat()
        for label, physics in NEIGHBOURS.items():
            print_walk(label, walked(planned, physics, terrain))
    print('uneven ground, ± 10 mm, with ankle feedback [mm]')
    planned = plan_walk(BIPED, WalkParameters(steps=20))
    for seed in range(4):
        print_walk(f'seed {seed}', walked(planned, Physics(), Uneven(seed), AnkleFeedback()))
    walk = walked(planned, Physics(), Flat())
    with tempfile.TemporaryDirectory() as folder:
        _, recording = timed(record, walk.run, FILE, Path(folder) / 'bag')
    print(f'recording {planned.plan.duration:.1f} s (mcap): {recording:.2f} s')


if __name__ == '__main__':
    main()
