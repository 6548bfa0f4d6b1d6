"""How long it takes to plan a walk, and to find whole-body poses by converging CoG.

Run `python benchmarks/bench_walk.py`; the best of three runs counts.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.converging_cog import Convergence, converge_cog
from izmp_lab.walking.walk import PlannedWalk, plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

ROBOTS = Path(__file__).parents[1] / 'robots'

ITU_WALK = WalkParameters(
    speed=0.3, steps=6, step_time=1.0, step_width=0.13, com_height=0.45, swing_height=0.075,
    zmp_travel=(0.019, 0.019), filter_passes=0,
)  # fmt: skip


def best(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the best of three times of `function` [s], and its result."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def plan(biped: Biped, parameters: WalkParameters, label: str) -> PlannedWalk:
    """Plan a walk and print how long it took."""
    plan_walk(biped, parameters)
    duration, walk = best(lambda: plan_walk(biped, parameters))
    print(f'{label:34} {duration:6.3f} s for {walk.plan.duration:.1f} s of motion')
    return walk


def converge(biped: Biped, walk: PlannedWalk, convergence: Convergence, label: str) -> None:
    """Find the poses of a planned walk and print how long a point takes."""
    plan = walk.plan
    feet = (plan.feet[0], plan.feet[1])

    def poses() -> Any:
        return converge_cog(
            biped, plan.com, feet, plan.root.rotation, start=plan.com[0], convergence=convergence
        )

    duration, found = best(poses)
    print(
        f'{label:34} {1e6 * duration / len(plan):6.1f} µs, {found.iterations.mean():.2f} '
        f'iterations per point on average, CoG within {1e3 * found.residual.max():.2g} mm'
    )


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    biped31 = Biped.of(load_robot_file(ROBOTS / 'biped31/robot.yaml'))
    itu = Biped.of(load_robot_file(ROBOTS / 'itu_biped/robot.yaml'), posture={})
    walks = (
        (biped31, plan(biped31, WalkParameters(steps=13), 'biped31, 13 steps at 0.3 m/s')),
        (itu, plan(itu, ITU_WALK, 'ITU Biped, 6 steps of 1 s')),
    )
    for biped, walk in walks:
        name = biped.model.name
        converge(biped, walk, Convergence.as_in_paper(), f'{name}, CCG as in the paper')
        converge(biped, walk, Convergence(), f'{name}, CCG exact')


if __name__ == '__main__':
    main()
