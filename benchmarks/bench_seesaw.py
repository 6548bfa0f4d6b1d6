"""Time of a tick of the momentum controllers on the seesaw, and of a second in either plant.

Run `python benchmarks/bench_seesaw.py`.
"""

import argparse
from time import perf_counter

import numpy as np

from izmp_lab.seesaw.balancing_robot import ROBOTS, load_balancing_robot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.closed_loop import TICK, balance_on_seesaw
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.gains import CONTROLLERS, ComReference, gains
from izmp_lab.seesaw.kkt_plant import KktPlant
from izmp_lab.seesaw.loop_check import check_loop
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw

DURATION = 4.0  # [s]
LARGEST_MEDIAN = 1.0
"""Of the time of a tick [ms]."""


def main() -> None:
    """Print a table."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print(f'A tick must take at most {LARGEST_MEDIAN:g} ms in the median.')
    print(
        'robot    controller  tick median [ms]  holds  p99 [ms]  check [s]  1 s in MuJoCo [s]'
        '  KKT [s]'
    )
    for name in ROBOTS:
        robot, seesaw = load_balancing_robot(name), Seesaw()
        for kind in CONTROLLERS:
            own = gains(kind, robot.model.joint_names)
            controller = MomentumController(robot, seesaw, kind, own, ComReference(0.025))
            begin = perf_counter()
            check_loop(controller, TICK)
            checked = perf_counter() - begin
            taken, ticks = [], []
            for plant in (MujocoSeesaw(robot, seesaw), KktPlant(robot, seesaw)):
                begin = perf_counter()
                run = balance_on_seesaw(plant, controller, DURATION)
                taken.append((perf_counter() - begin - run.effort.sum()) / DURATION)
                ticks.append(run.effort)
            effort = 1e3 * np.concatenate(ticks)
            holds = 'yes' if np.median(effort) <= LARGEST_MEDIAN else 'NO'
            print(
                f'{name:8} {kind:10} {np.median(effort):17.3f} {holds:>6} '
                f'{np.percentile(effort, 99):9.3f} '
                f'{checked:10.2f} {taken[0]:18.2f} {taken[1]:8.2f}'
            )


if __name__ == '__main__':
    main()
