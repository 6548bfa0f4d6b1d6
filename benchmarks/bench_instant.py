"""What evaluating one instant costs a robot's computer, which uses its caches for other things.

Run: ``python benchmarks/bench_instant.py [--ticks 300]``

An evaluator of biped31 gets the samples of one instant after the other, as of a running system;
between them the process sleeps and touches 32 MB. Listed is the CPU time of the thread for what
follows once an instant is complete (motion of the root, feet, ground, MR-AD, points and margins),
and for all that happens to the samples, without and with the fall alarm: medians.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import Rig, make_rig
from izmp_dynamics.pipeline.standstill import compile_stages, standstill
from izmp_dynamics.signals.samples import Samples

ROBOT = Path(__file__).parents[1] / 'robots/biped31/robot.yaml'
LEARNING = 100
"""Ticks in which the evaluator learns the rates."""

CACHES = 32 * 2**20


class Evaluating:
    """CPU time of the evaluation of complete instants, by wrapping the functions."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.time = 0
        self._wrap(evaluator, '_evaluate_izmp', 1)
        self._wrap(evaluator, '_decided', -1)  # within the other one; not a part of this

    def _wrap(self, evaluator: Evaluator, name: str, sign: int) -> None:
        inner = getattr(evaluator, name)

        def timed(*arguments: Any) -> Any:
            begin = time.thread_time_ns()
            result = inner(*arguments)
            self.time += sign * (time.thread_time_ns() - begin)
            return result

        setattr(evaluator, name, timed)


def tick_times(rig: Rig, ticks: int, judges: bool) -> tuple[float, float]:
    """Medians [µs]: evaluating a complete instant, and all that happens at a tick."""
    known: list[Any] = []
    evaluator = Evaluator(rig, live=True, prompt=known.append)
    evaluator.locates, evaluator.judges = False, judges
    evaluating, caches, times = Evaluating(evaluator), np.zeros(CACHES // 8), []
    signals = standstill(rig, LEARNING + ticks, 0.008)
    for k, stamp in enumerate(signals['joints'].stamps.tolist()):
        if k >= LEARNING:
            caches += 1.0
            time.sleep(0.004)
        before, evaluating.time, begin = len(known), 0, time.thread_time_ns()
        for signal, samples in signals.items():
            evaluator.take({signal: Samples.one(stamp, samples.values[k])})
        evaluator.advance()
        if k >= LEARNING and len(known) == before + 1:
            times.append((evaluating.time, time.thread_time_ns() - begin))
    instant, tick = np.median(times, axis=0) / 1e3
    return float(instant), float(tick)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--ticks', type=int, default=300)
    options = parser.parse_args()
    rig = make_rig(load_robot_file(ROBOT))
    compile_stages(rig)
    table = Table(title='CPU time per tick, caches cold')
    for head in ('fall alarm', r'complete instant \[µs]', r'whole tick \[µs]'):
        table.add_column(head, justify='right')
    for judges in (False, True):
        instant, tick = tick_times(rig, options.ticks, judges)
        table.add_row('yes' if judges else 'no', f'{instant:.0f}', f'{tick:.0f}')
    Console().print(table)


if __name__ == '__main__':
    main()
