"""MR-AD beside Pinocchio: the same inverse dynamics of the same states, called from Python.

Run: ``python benchmarks/bench_kernels.py [--seconds 0.05] [--repeat 15]``

`pin.rnea` also computes the torques of all joints, MR-AD only the contact wrench and the centre of
mass; but it is the call that one would make for a contact wrench otherwise. All functions are
timed in turn, `--repeat` times for `--seconds` of CPU time each; the figures are medians, the
ratios medians of the ratios within a turn. Before that, the wrenches are compared.

* kernel: `kernels.mr_ad` with packed arguments, as a running system calls it.
* update: `MrAd.update`, which packs six arrays and returns a `ContactWrench`.
* batch: the kernel of `mr_ad_batch` with 8192 packed states on one thread, per state.
* 2 threads: `mr_ad_batch` and `pin.rneaInParallel` with the same states, CPU time of both threads;
  of wall times, which other programs on the cores stretch, the ratio of the least ones.
* reference: `mr_ad_reference`, the readable formulas with KDL's types.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics import kernels, mr_ad_batch
from izmp_dynamics.dynamics.mr_ad import MrAd, mr_ad_reference
from izmp_dynamics.model.robot_model import load_model

sys.path.insert(0, str(Path(__file__).parents[1]))
from test.pinocchio_twin import PinocchioTwin, pin, random_state, robot_path

ROBOTS = ('biped31', 'icub', 'talos', 'g1', 'anymal_c', 'solo12')
BATCH = 8192
THREADS = 2


def functions_of(name: str) -> tuple[int, dict[str, tuple[Callable[[], object], int]]]:
    """Degrees of freedom; function to time → itself and the states that a call evaluates."""
    path = robot_path(name)
    model = load_model(path)
    twin, mr_ad = PinocchioTwin(path, model), MrAd(model)
    rng = np.random.default_rng(0)
    state = random_state(rng, model.dof)
    q, v, a = twin.state(*state)
    packed, work, out = (
        np.concatenate(state),
        np.empty((len(model.joints), kernels.WORK)),
        np.empty(9),
    )
    states = [random_state(rng, model.dof) for _ in range(BATCH)]
    many = np.array([np.concatenate(one) for one in states])
    qs, vs, accelerations = (
        np.array(column).T.copy('F')
        for column in zip(*(twin.state(*one) for one in states), strict=True)
    )
    pool = pin.ModelPool(twin.model, THREADS)
    taus, wrenches = np.empty_like(vs), np.empty((BATCH, 9))
    by_name = [dict(zip(model.joint_names, values, strict=True)) for values in state[3:]]
    kernels.mr_ad(model.joints, model.bodies, packed, work, out)
    tau = pin.rnea(twin.model, twin.data, q, v, a)
    np.testing.assert_allclose(out[:6], tau[:6], rtol=0, atol=1e-9 * np.abs(tau[:6]).max())
    return model.dof, {
        'rnea': (lambda: pin.rnea(twin.model, twin.data, q, v, a), 1),
        'kernel': (lambda: kernels.mr_ad(model.joints, model.bodies, packed, work, out), 1),
        'update': (lambda: mr_ad.update(*state), 1),
        'batch': (
            lambda: mr_ad_batch._mr_ad_lanes(model.joints, model.bodies, many, wrenches),
            BATCH,
        ),
        'rnea_parallel': (
            lambda: pin.rneaInParallel(THREADS, pool, qs, vs, accelerations, taus),
            BATCH,
        ),
        'parallel': (lambda: mr_ad_batch.mr_ad_batch(model.joints, model.bodies, many), BATCH),
        'reference': (lambda: mr_ad_reference(model.tree, *state[:3], *by_name), 1),
    }


def seconds_per_call(function: Callable[[], object], seconds: float, at_once: int) -> Array:
    """Mean CPU time and wall time of the calls that fit into `seconds`, `at_once` at least."""
    count, start = 0, np.array([time.process_time(), time.perf_counter()])
    while True:
        for _ in range(at_once):
            function()
        count += at_once
        elapsed = np.array([time.process_time(), time.perf_counter()]) - start
        if elapsed[0] > seconds:
            return elapsed / count


def measure(name: str, seconds: float, repeat: int) -> tuple[int, dict[str, Array]]:
    """Degrees of freedom; function → (`repeat`, 2) CPU and wall time [µs] per state, by turns."""
    dof, functions = functions_of(name)
    turns: dict[str, list[Array]] = {key: [] for key in functions}
    for _ in range(repeat):
        for key, (function, states) in functions.items():
            time_of_call = seconds_per_call(function, seconds, 20 if states == 1 else 1)
            turns[key].append(1e6 * time_of_call / states)
    return dof, {key: np.array(times) for key, times in turns.items()}


def row(times: dict[str, Array]) -> list[str]:
    """Cells of a robot."""
    cpu = {key: turns[:, 0] for key, turns in times.items()}
    cells = [f'{np.median(cpu["rnea"]):.2f}']
    for key, beside in (
        ('kernel', 'rnea'), ('update', 'rnea'), ('batch', 'rnea'), ('parallel', 'rnea_parallel'),
    ):  # fmt: skip
        if key == 'parallel':
            cells.append(f'{np.median(cpu[beside]):.2f}')
        cells += [f'{np.median(cpu[key]):.2f}', f'{np.median(cpu[key] / cpu[beside]):.2f}']
    wall = times['parallel'][:, 1].min() / times['rnea_parallel'][:, 1].min()
    return [*cells, f'{wall:.2f}', f'{np.median(cpu["reference"]):.0f}']


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=0.05, help='of each measurement')
    parser.add_argument('--repeat', type=int, default=15, help='measurements')
    options = parser.parse_args()
    numba.config.NUMBA_NUM_THREADS = THREADS
    table = Table(title='MR-AD: µs of CPU time per state; ratio to Pinocchio called from Python')
    for head in (
        'robot', 'joints', 'rnea', 'kernel', 'ratio', 'update', 'ratio', 'batch', 'ratio',
        'rnea, 2 threads', 'batch, 2 threads', 'ratio', 'of wall times', 'reference',
    ):  # fmt: skip
        table.add_column(head, justify='left' if head == 'robot' else 'right')
    for name in ROBOTS:
        dof, times = measure(name, options.seconds, options.repeat)
        table.add_row(name, str(dof), *row(times))
    Console(width=140).print(table)


if __name__ == '__main__':
    main()
