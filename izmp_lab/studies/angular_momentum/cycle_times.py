"""How long the parts of a planning cycle take, while a robot walks by commands."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_lab.walking import com_programme
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.online_walk import OnlineWalk
from izmp_lab.walking.walk_command import WalkCommand
from izmp_lab.walking.walk_parameters import WalkParameters

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
