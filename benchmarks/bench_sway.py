"""How long it takes to plan, simulate and record the sway of biped31.

Run `python benchmarks/bench_sway.py`; the best of three runs counts.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate, with_feed_forward
from izmp_lab.simulation.recording import record
from izmp_lab.walking.sway import plan_sway

ROBOT = Path(__file__).parents[1] / 'robots/biped31/robot.yaml'


def timed(label: str, duration: float, function: Callable[[], Any]) -> Any:
    """Print the best of three times of `function`, and how much faster than the motion it is."""
    best = float('inf')
    for _ in range(3):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    print(f'{label:28} {1e3 * best:8.0f} ms {duration / best:8.0f} x real time')
    return result


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    file = load_robot_file(ROBOT)
    plant = build_mujoco(file)
    plan = plan_sway(plant.robot)
    print(f'sway of {plan.duration:.1f} s at {1 / plan.time_step:.0f} Hz')
    timed('plan', plan.duration, lambda: plan_sway(plant.robot))
    plan = timed('feed-forward torques', plan.duration, lambda: with_feed_forward(plan, plant))
    run = timed('simulation', plan.duration, lambda: simulate(plan, plant))
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        timed('recording (mcap)', plan.duration, lambda: record(run, file, bag, overwrite=True))


if __name__ == '__main__':
    main()
