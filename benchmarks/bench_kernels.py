"""MR-AD beside Pinocchio: the same inverse dynamics of the same states, called from Python.

Run: ``python benchmarks/bench_kernels.py [--seconds 0.05] [--repeat 15]``

`pin.rnea` also computes the torques of all joints, MR-AD only the contact wrench and the centre of
mass; but it is the call that one would make for a contact wrench otherwise. All functions are
timed in turn, `--repeat` times for `--seconds` each; the figures are medians, the ratios medians
of the ratios within a turn. Before that, the wrenches are compared.

* kernel: `kernels.mr_ad` with packed arguments, as a running system calls it.
* update: `MrAd.update`, which packs six arrays and returns a `ContactWrench`.
* batch: `kernels.mr_ad_batch` with 1000 packed states, per state.
* reference: `mr_ad_reference`, the readable formulas with KDL's types.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from izmp_dynamics.dynamics import kernels
from izmp_dynamics.dynamics.mr_ad import MrAd, mr_ad_reference
from izmp_dynamics.model.robot_model import load_model

sys.path.insert(0, str(Path(__file__).parents[1]))
from test.pinocchio_twin import PinocchioTwin, pin, random_state, robot_path

ROBOTS = ('biped31', 'icub', 'talos', 'g1', 'anymal_c', 'solo12')
BATCH = 1000

Times = dict[str, float]


def functions_of(name: str) -> tuple[int, dict[str, tuple[Callable[[], object], int]]]:
    """Degrees of freedom; function to time → itself and the states that a call evaluates."""
    path = robot_path(name)
    model = load_model(path)
    twin, mr_ad = PinocchioTwin(path, model), MrAd(model)
    state = random_state(np.random.default_rng(0), model.dof)
    q, v, a = twin.state(*state)
    packed, work, out = (
        np.concatenate(state),
        np.empty((len(model.joints), kernels.WORK)),
        np.empty(9),
    )
    packed_batch = np.tile(packed, (BATCH, 1))
    by_name = [dict(zip(model.joint_names, values, strict=True)) for values in state[3:]]
    kernels.mr_ad(model.joints, model.bodies, packed, work, out)
    tau = pin.rnea(twin.model, twin.data, q, v, a)
    np.testing.assert_allclose(out[:6], tau[:6], rtol=0, atol=1e-9 * np.abs(tau[:6]).max())
    return model.dof, {
        'rnea': (lambda: pin.rnea(twin.model, twin.data, q, v, a), 1),
        'kernel': (lambda: kernels.mr_ad(model.joints, model.bodies, packed, work, out), 1),
        'update': (lambda: mr_ad.update(*state), 1),
        'batch': (lambda: kernels.mr_ad_batch(model.joints, model.bodies, packed_batch), BATCH),
        'reference': (lambda: mr_ad_reference(model.tree, *state[:3], *by_name), 1),
    }


def seconds_per_call(function: Callable[[], object], seconds: float) -> float:
    """Mean time of the calls that fit into `seconds`, at least one."""
    count, start = 0, time.perf_counter()
    while True:
        for _ in range(20):
            function()
        count += 20
        elapsed = time.perf_counter() - start
        if elapsed > seconds:
            return elapsed / count


def measure(name: str, seconds: float, repeat: int) -> tuple[int, Times, Times]:
    """Degrees of freedom, median µs per state, median ratios to `rnea`."""
    dof, functions = functions_of(name)
    turns = [
        {
            key: 1e6 * seconds_per_call(f, seconds) / states
            for key, (f, states) in functions.items()
        }
        for _ in range(repeat)
    ]
    times = {key: float(np.median([turn[key] for turn in turns])) for key in functions}
    ratios = {
        key: float(np.median([turn[key] / turn['rnea'] for turn in turns])) for key in functions
    }
    return dof, times, ratios


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=0.05, help='of each measurement')
    parser.add_argument('--repeat', type=int, default=15, help='measurements')
    options = parser.parse_args()
    table = Table(title='MR-AD: µs per state; ratio to pin.rnea called from Python')
    for head in (
        'robot', 'joints', 'pin.rnea', 'kernel', 'ratio', 'update', 'ratio', 'batch', 'ratio',
        'reference',
    ):  # fmt: skip
        table.add_column(head, justify='left' if head == 'robot' else 'right')
    for name in ROBOTS:
        dof, times, ratios = measure(name, options.seconds, options.repeat)
        cells = [f'{times["rnea"]:.2f}']
        for key in ('kernel', 'update', 'batch'):
            cells += [f'{times[key]:.2f}', f'{ratios[key]:.2f}']
        table.add_row(name, str(dof), *cells, f'{times["reference"]:.0f}')
    Console(width=110).print(table)


if __name__ == '__main__':
    main()
