"""How long walks with estimated angular momentum take to plan, and how good their ZMP is.

Run `python benchmarks/bench_angular_momentum.py [SECONDS]`: so many seconds of walking (60) are
planned online, interval by interval, by E3 (16 nodes) and E4 (8 nodes). TALOS comes with
example-robot-data.
"""

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.studies.angular_momentum import study
from izmp_lab.studies.angular_momentum.study import Trial, ZmpScore
from izmp_lab.walking import com_programme
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.online_walk import OnlineWalk, WalkCommand
from izmp_lab.walking.quadratic_programme import solve_qp
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import SCHEMES, WalkParameters

BIPED31 = Path(__file__).parents[1] / 'robots/biped31/robot.yaml'
NODES = {'E3': 16, 'E4': 8}

WARM_UP = 10
"""Cycles that are not counted: the first ones compile."""


def time_cycles(biped: Biped, parameters: WalkParameters, cycles: int) -> dict[str, Array]:
    """Measure every cycle of a walk straight on.

    Args:
        biped: the robot.
        parameters: how it walks.
        cycles: that are counted.

    Returns:
        (cycles,) [s] each. Time of one core: 'solver' of the quadratic programme, 'programme' with
        everything that sets it up, 'nodes' inverse kinematics and dynamics at all of them, 'plan'
        the whole plan. Wall time: 'interval', the plan and the joint references of the interval.
    """
    walk = OnlineWalk(biped, parameters)
    walk.walk(WalkCommand(parameters.step_length, biped.hip_width))
    for _ in range(WARM_UP):
        walk.advance()
    planner = walk.planner
    with (
        _timed(com_programme, 'solve_qp') as solver,
        _timed(planner.programme, 'solve') as programme,
        _timed(planner, 'estimate') as nodes,
        _timed(planner, 'plan') as plan,
        _timed(walk, 'advance', time.perf_counter) as interval,
    ):
        for _ in range(cycles):
            walk.advance()
    measured = {'solver': solver, 'programme': programme, 'nodes': nodes, 'plan': plan,
                'interval': interval}  # fmt: skip
    return {name: np.array(durations) for name, durations in measured.items()}


@contextmanager
def _timed(
    owner: Any, name: str, clock: Callable[[], float] = time.thread_time
) -> Iterator[list[float]]:
    """Note how long every call of an attribute takes [s]."""
    function, durations = getattr(owner, name), list[float]()

    def timed(*arguments: Any, **named: Any) -> Any:
        begin = clock()
        try:
            return function(*arguments, **named)
        finally:
            durations.append(clock() - begin)

    setattr(owner, name, timed)
    try:
        yield durations
    finally:
        setattr(owner, name, function)


def robots() -> list[tuple[str, Biped, float]]:
    """Name, robot, height of its centre of mass [m]."""
    found = [('biped31', Biped.of(load_robot_file(BIPED31)), 0.75)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            file = load_robot_file(study.write_robot_file(Path(folder)))
        except MissingDependencyError as error:
            print(error)
        else:
            found.append(('TALOS', Biped.of(file, study.POSTURE), 0.86))
    return found


def tell_accuracy(biped: Biped, height: float) -> None:
    """Print the error of the ZMP of all bodies, ten steps of 0.8 s and 0.25 m."""
    for scheme in SCHEMES:
        score = ZmpScore.of(plan_walk(biped, Trial(scheme).parameters(height)), biped)
        (x, y), (most_x, most_y) = 1e3 * score.rms, 1e3 * score.largest
        print(f'  {scheme}  x {x:5.2f} RMS {most_x:5.1f} max   y {y:5.2f} RMS {most_y:5.2f} max')


def tell_times(biped: Biped, height: float, cycles: int) -> None:
    """Print times of planning cycles, and how many missed the next interval."""
    for scheme, nodes in NODES.items():
        parameters = dataclasses.replace(Trial(scheme).parameters(height), time_step=0.01)
        times = {part: 1e3 * t for part, t in time_cycles(biped, parameters, cycles).items()}
        middle = {part: np.median(t) for part, t in times.items()}
        print(
            f'  {scheme}  solver {middle["solver"]:.3f}, programme {middle["programme"]:.2f}, '
            f'node {middle["nodes"] / nodes:.3f}, plan {middle["plan"]:.2f} (99 % '
            f'{np.percentile(times["plan"], 99):.2f}, max {times["plan"].max():.2f}) ms'
        )
        interval = times['interval']
        print(
            f'      plan and joint references, wall time: {np.median(interval):.2f}, at most '
            f'{interval.max():.1f} ms; {np.sum(interval > 100.0)} of {cycles} intervals missed'
        )


def tell_changing(biped: Biped, height: float, cycles: int) -> None:
    """Print the time of intervals in which a new command comes, each walkable or not."""
    parameters = dataclasses.replace(Trial('E4').parameters(height), time_step=0.01)
    walk, random = OnlineWalk(biped, parameters), np.random.default_rng(0)
    wall, core = [], []
    for _ in range(cycles + WARM_UP):
        length, turn = random.uniform((-0.2, -0.3), (0.35, 0.3))
        walk.walk(WalkCommand(length, random.uniform(1.0, 1.5) * biped.hip_width, turn))
        begin = time.perf_counter(), time.thread_time()
        walk.advance()
        wall.append(1e3 * (time.perf_counter() - begin[0]))
        core.append(1e3 * (time.thread_time() - begin[1]))
    wall, core = wall[WARM_UP:], core[WARM_UP:]
    print(
        f'  a new command in every interval: wall {np.median(wall):.1f}, at most {max(wall):.1f}; '
        f'of one core {np.median(core):.1f}, at most {max(core):.1f} ms; '
        f'{np.sum(np.array(wall) > 100.0)} of {cycles} intervals missed'
    )


def tell_solver(count: int = 500) -> None:
    """Compare DAQP with quadprog, if that is installed (it is under the GPL): time and minimum."""
    try:
        import quadprog
    except ImportError:
        return
    for n, m in ((6, 38), (30, 100)):
        times, apart = np.zeros((count, 2)), 0.0
        for seed in range(count):
            random = np.random.default_rng(seed)
            root, G = random.normal(size=(n, n)), random.normal(size=(m, n))
            P, q, h = root.T @ root + 1e-3 * np.eye(n), random.normal(size=n), np.full(m, 0.2)
            begin = time.perf_counter()
            x = solve_qp(P, q, G, h)
            middle = time.perf_counter()
            other, *_ = quadprog.solve_qp(P, -q, -G.T, -h)
            times[seed] = middle - begin, time.perf_counter() - middle
            apart = max(apart, float(np.abs(x - other).max()))
        ours, theirs = 1e6 * np.median(times, axis=0)
        print(f'{n} unknowns, {m} conditions: DAQP {ours:.0f} µs, quadprog {theirs:.0f} µs, '
              f'minima at most {apart:.1g} apart')  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        'seconds', type=float, nargs='?', default=60.0, help='of walking that are planned'
    )
    cycles = round(10 * parser.parse_args().seconds)
    tell_solver()
    for name, biped, height in robots():
        print(f'{name}: ZMP of all bodies against the wanted one [mm]')
        tell_accuracy(biped, height)
        print(f'{name}: planning {cycles / 10:.0f} s of walking')
        tell_times(biped, height, cycles)
        tell_changing(biped, height, cycles)


if __name__ == '__main__':
    main()
