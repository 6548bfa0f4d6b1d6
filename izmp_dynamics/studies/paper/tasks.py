"""What is computed for the figures: functions of parameters that return arrays, see `runs`.

Each takes first a function that loads other runs. Robots, walks, setups and densities come as
plain dictionaries, because they are part of the key under which the result is kept.
"""

import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.studies.metrics import deviation
from izmp_dynamics.studies.paper.bench import Bench, Ground
from izmp_dynamics.studies.paper.root_sensors import Densities
from izmp_dynamics.studies.paper.setups import Setup
from izmp_dynamics.studies.paper.trial import Trial, WalkCase, simulate_trial
from izmp_dynamics.studies.runs import Load, Run
from izmp_dynamics.studies.store import Arrays

Parameters = dict[str, Any]


@lru_cache(maxsize=2)
def bench_of(file: str) -> Bench:
    """Return the bench of a robot file; made once per process."""
    return Bench(load_robot_file(file))


def task(function: str, needs: tuple[Run, ...] = (), effort: float = 1.0, **given: Any) -> Run:
    """Describe a run of a function of this module."""
    return Run(f'{__name__}:{function}', given, needs, effort)


def walk_run(robot: Parameters, case: Parameters) -> Run:
    """Describe the simulation of a walk."""
    steps = case['steps'] * case['physics_rate'] / 500.0
    return task('walk', effort=0.4 * steps, robot=robot, case=case)


def walk(load: Load, robot: Parameters, case: Parameters) -> Arrays:
    """Simulate a walk: the arrays of a `Trial`."""
    return simulate_trial(bench_of(robot['file']).file, WalkCase(**case)).arrays()


def _prepared(load: Load, robot: Parameters, case: Parameters) -> tuple[Bench, Trial, Ground]:
    bench = bench_of(robot['file'])
    trial = Trial(**load(walk_run(robot, case)))
    return bench, trial, bench.ground(trial)


def _densities(noise: Parameters | None) -> Densities | None:
    return None if noise is None else Densities(**noise)


def truth(load: Load, robot: Parameters, case: Parameters) -> Arrays:
    """Compute the IZMP of the exact motion and the CoP at every instant.

    Returns:
        times (T,) [s]; izmp, cop (T, 3) in nif [m]; steady (T,); step_begins [s].
    """
    bench, trial, ground = _prepared(load, robot, case)
    everything = slice(None)
    contact = ContactWrench.from_array(trial.contact_wrench)
    return {
        'times': trial.times,
        'izmp': bench.point(bench.exact_wrench(trial), ground, everything),
        'cop': bench.point(contact, ground, everything),
        'steady': trial.steady(),
        'step_begins': trial.step_begins,
    }


def izmp(
    load: Load,
    robot: Parameters,
    case: Parameters,
    setup: Parameters,
    noise: Parameters | None,
    seed: int,
) -> Arrays:
    """Evaluate a walk once.

    Returns:
        times (K,) [s]; points (K, 3) in nif [m]; steady (K,); sigma (K, 2) predicted σ in x and y
        [m] if there is noise; step_begins [s].
    """
    bench, trial, ground = _prepared(load, robot, case)
    chosen, densities = Setup(**setup), _densities(noise)
    rows, points = bench.izmp(trial, ground, chosen, densities, seed)
    result = {
        'times': trial.times[rows],
        'points': points,
        'steady': trial.steady()[rows],
        'step_begins': trial.step_begins,
    }
    if densities is not None:
        result['sigma'] = _sigma(bench.izmp_covariance(trial, ground, chosen, densities))
    return result


def repetitions(
    load: Load,
    robot: Parameters,
    case: Parameters,
    setup: Parameters,
    noise: Parameters | None,
    first: int,
    count: int,
    distance: float | None = None,
    reference_rate: float = 500.0,
) -> Arrays:
    """Compare a setup with its ideal reference, again and again.

    Repetition i has the noise of seed i and begins to sample i physics steps later (modulo the
    bus), so that the mean is over the phases of sampling as well.

    Returns:
        measures (count, 2, M): of x and y, in the order of `metrics.MEASURES`, lengths in m.
    """
    bench, trial, ground = _prepared(load, robot, case)
    if distance is not None:
        bench = bench.with_arms(distance)
    chosen = Setup(**setup)
    reference = np.full((len(trial), 3), np.nan)
    ideal = chosen.reference(reference_rate)
    for phase in range(trial.stride(ideal.bus)):
        rows, points = bench.izmp(trial, ground, ideal, phase=phase)
        reference[rows] = points
    steady, phases = trial.steady(), trial.stride(chosen.bus)
    measures = []
    for seed in range(first, first + count):
        rows, points = bench.izmp(trial, ground, chosen, _densities(noise), seed, seed % phases)
        used = steady[rows]
        pairs = [(points[used, axis], reference[rows[used], axis]) for axis in (0, 1)]
        measures.append([list(deviation(*pair).as_dict().values()) for pair in pairs])
    return {'measures': np.array(measures)}


def convergence(
    load: Load,
    robot: Parameters,
    case: Parameters,
    method: str,
    convention: str,
    rates: list[float],
) -> Arrays:
    """Mean error of a method against the exact value at several rates, over all phases.

    Returns:
        errors (R, 3): mean of |x|, of |y| and of the distance in the plane [m].
    """
    bench, trial, ground = _prepared(load, robot, case)
    exact, steady = bench.point(bench.exact_wrench(trial), ground, slice(None)), trial.steady()
    errors = []
    for rate in rates:
        setup = Setup('', method=method, actuator=rate, bus=rate, convention=convention)
        parts = []
        for phase in range(trial.stride(rate)):
            rows, points = bench.izmp(trial, ground, setup, phase=phase)
            parts.append((points - exact[rows])[steady[rows]])
        error = np.concatenate(parts)
        distance = float(np.linalg.norm(error[:, :2], axis=1).mean())
        errors.append([*np.abs(error).mean(axis=0)[:2], distance])
    return {'errors': np.array(errors)}


def spread(
    load: Load,
    robot: Parameters,
    case: Parameters,
    setup: Parameters,
    noise: Parameters,
    count: int,
) -> Arrays:
    """Compare predicted and observed standard deviation of the IZMP.

    Returns:
        times (K,) [s]; predicted, observed (K, 2) σ in x and y over the repetitions [m]; lost (1,)
        the share of repeated values at which the force was below the minimum.
    """
    bench, trial, ground = _prepared(load, robot, case)
    chosen, densities = Setup(**setup), Densities(**noise)
    drawn = []
    for seed in range(count):
        rows, points = bench.izmp(trial, ground, chosen, densities, seed)
        drawn.append(points[:, :2])
    used = trial.steady()[rows]
    values = np.stack(drawn)[:, used]
    lost = np.isnan(values).any(axis=2)
    observed = np.full((int(used.sum()), 2), np.nan)
    enough = (~lost).sum(axis=0) >= 2
    observed[enough] = np.nanstd(values[:, enough], axis=0, ddof=1)
    return {
        'times': trial.times[rows[used]],
        'predicted': _sigma(bench.izmp_covariance(trial, ground, chosen, densities))[used],
        'observed': observed,
        'lost': np.array([lost.mean()]),
    }


def push(load: Load, robot: Parameters, case: Parameters, setup: Parameters) -> Arrays:
    """Find the gap between CoP and IZMP while something pushes.

    Returns:
        times (K,) [s]; izmp, cop (K, 3) in nif [m]; expected (K, 3) the gap IZMP − CoP that the
        true push explains [m]; step_begins [s]; pushed (K,).
    """
    bench, trial, ground = _prepared(load, robot, case)
    rows, points = bench.izmp(trial, ground, Setup(**setup))
    contact = ContactWrench.from_array(trial.contact_wrench[rows])
    everything = ContactWrench.from_array((trial.contact_wrench + trial.applied_wrench)[rows])
    cop = bench.point(contact, ground, rows)
    return {
        'times': trial.times[rows],
        'izmp': points,
        'cop': cop,
        'expected': bench.point(everything, ground, rows) - cop,
        'step_begins': trial.step_begins,
        'pushed': np.asarray(trial.applied_wrench[rows].any(axis=1)),
    }


def _sigma(covariance: Array) -> Array:
    """(K, 2) standard deviations in x and y."""
    return np.sqrt(np.stack([covariance[:, 0, 0], covariance[:, 1, 1]], axis=1))


def as_parameters(value: Any) -> Parameters:
    """Turn a dataclass of parameters into a plain dictionary."""
    return dataclasses.asdict(value)
