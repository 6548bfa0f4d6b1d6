"""What is computed for the figures: the functions of the runs that `study` describes."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.metrics import deviation
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.sensing.foot_imu import LONGEST_MEMORY, foot_tilt
from izmp_dynamics.sensing.noise import degrees, micro_g
from izmp_dynamics.stability.ground_plane import (
    GroundPlane,
    Sole,
    Soles,
    level_plane,
    plane_of_foot_imus,
    plane_under,
)
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.noisy_signals import WhiteNoise
from izmp_lab.studies.paper.bench import Bench, Ground, carries_most
from izmp_lab.studies.paper.sensors import Densities, Rows, white_noise
from izmp_lab.studies.paper.trial import REFERENCE_RATE, Setup, WalkCase, WalkTruth, simulate_trial
from izmp_lab.studies.runs import Arrays, RobotKey
from izmp_lab.studies.tipping_arm import arm_of_wrench
from izmp_lab.walking.biped import Biped


@lru_cache(maxsize=2)
def bench_of(file: str) -> Bench:
    """Return the bench of a robot file; made once per process."""
    return Bench(load_robot_file(file))


def walk(robot: RobotKey, case: WalkCase) -> WalkTruth:
    """Simulate a walk."""
    return simulate_trial(bench_of(robot.file).file, case)


def _prepared(robot: RobotKey, trial: WalkTruth) -> tuple[Bench, Ground]:
    bench = bench_of(robot.file)
    return bench, bench.ground(trial)


def exact(robot: RobotKey, trial: WalkTruth) -> Arrays:
    """Compare the IZMP of the exact motion with what the ground does, at every instant.

    A push counts as part of what acts on the robot: with it the two are the same point as well.

    Returns:
        times (T,) [s]; steady (T,); arm (T,) tipping moment of the ground's (and the push's)
        wrench about the IZMP over the normal force, on the true ground [m]; gap (T,) distance to
        the CoP of the simulation when the ground is the sole's plane, as a robot sees it [m]; NaN
        under a push; array (2,) largest error of φ [m/s²] and ω̇ [rad/s²] by the accelerometer
        array with ideal sensors.
    """
    bench, ground = _prepared(robot, trial)
    wrench, acting = bench.exact_wrench(trial), trial.ground_wrench + trial.applied_wrench
    seen = zero_moment_point(
        wrench, ground.plane.normal, ground.plane.point, bench.rig.minimum_force
    )
    gap = np.linalg.norm(seen - trial.cop, axis=1)
    gap[trial.applied_wrench.any(axis=1)] = np.nan
    return {
        'times': trial.times,
        'steady': trial.steady(),
        'arm': arm_of_wrench(
            wrench, acting, trial.ground_normal, trial.cop, bench.rig.minimum_force
        ),
        'gap': gap,
        'array': bench.array_error(trial),
    }


def izmp(
    robot: RobotKey,
    trial: WalkTruth,
    setup: Setup,
    noise: Densities | None,
    seed: int,
) -> Arrays:
    """Evaluate a walk once.

    Returns:
        times (K,) [s]; points (K, 3) in nif [m]; in_foot (K, 3) in the frame of the sole that
        carries most [m]; steady (K,); sigma (K, 2) predicted σ in x and y [m] if there is noise;
        step_begins [s].
    """
    bench, ground = _prepared(robot, trial)
    rows, points = bench.izmp(trial, ground, setup, noise, seed)
    result = {
        'times': trial.times[rows],
        'points': points,
        'in_foot': bench.in_foot(trial, ground, points, rows),
        'steady': trial.steady()[rows],
        'step_begins': trial.step_begins,
    }
    if noise is not None:
        result['sigma'] = _sigma(bench.izmp_covariance(trial, ground, setup, noise))
    return result


def repetitions(
    robot: RobotKey,
    trial: WalkTruth,
    setup: Setup,
    noise: Densities | None,
    count: int,
) -> Arrays:
    """Compare a setup with its ideal reference, again and again.

    Repetition i has the noise of seed i and begins to sample i physics steps later (modulo the
    bus), so that the mean is over the phases of sampling as well.

    Returns:
        measures (count, 2, M): of x and y, in the order of `metrics.MEASURES`, lengths in m.
    """
    bench, ground = _prepared(robot, trial)
    reference = np.full((len(trial), 3), np.nan)
    ideal = setup.reference()
    for phase in range(trial.stride(ideal.bus)):
        rows, points = bench.izmp(trial, ground, ideal, phase=phase)
        reference[rows] = points
    steady, phases = trial.steady(), trial.stride(setup.bus)
    measures = []
    for seed in range(count):
        rows, points = bench.izmp(trial, ground, setup, noise, seed, seed % phases)
        used = steady[rows]
        pairs = [(points[used, axis], reference[rows[used], axis]) for axis in (0, 1)]
        measures.append([list(deviation(*pair).as_dict().values()) for pair in pairs])
    return {'measures': np.array(measures)}


def convergence(
    robot: RobotKey,
    trial: WalkTruth,
    method: str,
    convention: str,
    rates: list[float],
) -> Arrays:
    """Mean error of a method at several rates, over all phases.

    Returns:
        errors (R, 3): mean of |x|, of |y| and of the distance in the plane, against the exact
        value [m]; own (R, 3): likewise, against the same method at `REFERENCE_RATE`.
    """
    bench, ground = _prepared(robot, trial)
    exact, steady = bench.point(bench.exact_wrench(trial), ground, slice(None)), trial.steady()
    by_rate = {}
    for rate in {*rates, REFERENCE_RATE}:
        setup = Setup('', method, rate, rate, convention=convention)
        by_rate[rate] = [
            bench.izmp(trial, ground, setup, phase=phase) for phase in range(trial.stride(rate))
        ]
    own = np.full_like(exact, np.nan)
    for rows, points in by_rate[REFERENCE_RATE]:
        own[rows] = points

    def errors(reference: Array) -> Array:
        return np.array([_mean_error(by_rate[rate], reference, steady) for rate in rates])

    return {'errors': errors(exact), 'own': errors(own)}


def physics_step(robot: RobotKey, trial: WalkTruth, finer: WalkTruth, method: str) -> Arrays:
    """Mean error of a method at the rate of the physics, against a walk with finer physics.

    Returns:
        error (3,): mean of |x|, of |y| and of the distance in the plane [m].
    """
    tracks = []
    for each in (trial, finer):
        bench, ground = _prepared(robot, each)
        rows, points = bench.izmp(each, ground, Setup('', method, each.rate, each.rate))
        tracks.append((each.times[rows], points, each.steady()[rows]))
    (times, points, steady), (fine_times, reference, _) = tracks
    at = np.stack([np.interp(times, fine_times, reference[:, k]) for k in (0, 1, 2)], axis=1)
    everything = np.arange(len(points))
    return {'error': np.array(_mean_error([(everything, points)], at, steady))}


def _mean_error(
    parts: list[tuple[Rows, Array]], reference: Array, steady: npt.NDArray[np.bool_]
) -> list[float]:
    """Mean of |x|, |y| and the distance in the plane [m] of points (K, 3) at rows of a walk."""
    error = np.concatenate(
        [(points - reference[rows])[steady[rows]] for rows, points in parts]
    )  # fmt: skip
    distance = float(np.linalg.norm(error[:, :2], axis=1).mean())
    return [*np.abs(error).mean(axis=0)[:2].tolist(), distance]


def spread(
    robot: RobotKey,
    trial: WalkTruth,
    setup: Setup,
    noise: Densities,
    count: int,
) -> Arrays:
    """Compare predicted and observed standard deviation of the IZMP.

    Returns:
        times (K,) [s]; predicted, observed (K, 2) σ in x and y over the repetitions [m]; lost (1,)
        the share of repeated values at which the force was below the minimum.
    """
    bench, ground = _prepared(robot, trial)
    drawn = []
    for seed in range(count):
        rows, points = bench.izmp(trial, ground, setup, noise, seed)
        drawn.append(points[:, :2])
    used = trial.steady()[rows]
    values = np.stack(drawn)[:, used]
    lost = np.isnan(values).any(axis=2)
    observed = np.full((int(used.sum()), 2), np.nan)
    enough = (~lost).sum(axis=0) >= 2
    observed[enough] = np.nanstd(values[:, enough], axis=0, ddof=1)
    return {
        'times': trial.times[rows[used]],
        'predicted': _sigma(bench.izmp_covariance(trial, ground, setup, noise))[used],
        'observed': observed,
        'lost': np.array([lost.mean()]),
    }


def sensor_noise(robot: RobotKey, trial: WalkTruth, noise: Densities) -> Arrays:
    """Measure the noise that the sensors bear at every instant of a walk.

    Returns:
        rate (1,) [Hz]; count (3,) numbers of samples, rms (3,) of the accelerometers [m/s²], the
        gyroscope [rad/s] and the linear velocity [m/s].
    """
    count = len(trial)
    accelerometers = [
        white_noise(noise, sensor.name, 0, trial.rate, count, len(sensor.axes))
        for sensor in bench_of(robot.file).sensors.accelerometers
    ]
    drawn = (
        np.concatenate([values.ravel() for values in accelerometers]),
        white_noise(noise, 'gyroscope', 0, trial.rate, count).ravel(),
        white_noise(noise, 'velocity', 0, trial.rate, count).ravel(),
    )
    return {
        'rate': np.array([trial.rate]),
        'count': np.array([len(values) for values in drawn]),
        'rms': np.array([np.sqrt(np.mean(values**2)) for values in drawn]),
    }


def _sigma(covariance: Array) -> Array:
    """(K, 2) standard deviations in x and y."""
    return np.sqrt(np.stack([covariance[:, 0, 0], covariance[:, 1, 1]], axis=1))


JOINT_ERROR_DEG = 0.5
"""Error of the ankles' joint positions in the comparison of ground normals [°]."""

LEVEL, SLOPE, BETWEEN = 0, 1, -1

SOURCES = ('sole', 'feet_imus', 'level')
"""Of the ground plane; 'level' ignores the slope."""


def slope(
    robot: RobotKey, trial: WalkTruth, slope_deg: float, setup: Setup, noise: Densities
) -> Arrays:
    """Evaluate a walk onto a slope; sensors of the root are ideal, those of the feet noisy.

    Returns:
        times (K,) [s]; steady (K,); where (K,): LEVEL, SLOPE or BETWEEN; step_begins [s];
        corners (K, F, V, 3) of the soles in nif [m]; loaded (K, F); and for each source S of the
        ground plane S_izmp (K, 3) in nif [m], S_margin (K,) and that of the true CoP,
        S_cop_margin (K,) [m], S_gap (K,) distance to the true CoP [m], S_tilt and
        S_tilt_with_joint_error (K,) error of the normal [rad].
    """
    bench = bench_of(robot.file)
    planes = _planes(bench, trial, trial.q, noise)
    wrong = _planes(bench, trial, _with_joint_error(bench, trial.q), noise)
    soles = bench.soles(trial)
    loaded = trial.normal_forces >= bench.rig.contact_force
    result: Arrays = {}
    for name in SOURCES:
        ground = Ground.on(planes[name], soles)
        rows, points = bench.izmp(trial, ground, setup)
        in_root = np.einsum('tji,tj->ti', ground.nif_R_root[rows], points)
        corners = tuple(sole.corners[rows] for sole in soles)
        normal = ground.plane.normal[rows]
        result |= {
            f'{name}_izmp': points,
            f'{name}_margin': margins((in_root,), corners, loaded[rows], normal)[0],
            f'{name}_cop_margin': margins((trial.cop[rows],), corners, loaded[rows], normal)[0],
            f'{name}_gap': np.linalg.norm(in_root - trial.cop[rows], axis=1),
            f'{name}_tilt': _angle(planes[name].normal, trial.ground_normal)[rows],
            f'{name}_tilt_with_joint_error': _angle(wrong[name].normal, trial.ground_normal)[rows],
        }
    ground = Ground.on(planes['feet_imus'], soles)
    return result | {
        'times': trial.times[rows],
        'steady': trial.steady()[rows],
        'where': _where(trial, slope_deg)[rows],
        'step_begins': trial.step_begins,
        'corners': np.stack(
            [np.einsum('tij,tvj->tvi', ground.nif_R_root, sole.corners)[rows] for sole in soles],
            axis=1,
        ),
        'loaded': loaded[rows],
    }


def _planes(bench: Bench, trial: WalkTruth, q: Array, noise: Densities) -> dict[str, GroundPlane]:
    """Ground planes by source, when the encoders say q (T, n)."""
    up, foot = trial.rotation[:, 2, :], carries_most(trial)
    believed = tuple(
        Sole.from_polygon(
            *bench.model.frame_pose(foot.sole, q), foot.polygon, trial.normal_forces[:, k]
        )
        for k, foot in enumerate(bench.rig.feet)
    )
    tilts = tuple(
        _foot_tilt(bench, trial, k, sole, noise) for k, sole in enumerate(bench.soles(trial))
    )
    return {
        'sole': plane_under(Soles.of(believed, len(q)), foot),
        'level': level_plane(believed, foot, up),
        'feet_imus': plane_of_foot_imus(believed, foot, tilts, up),
    }


def _foot_tilt(bench: Bench, trial: WalkTruth, foot: int, sole: Sole, noise: Densities) -> Array:
    gravity = bench.file.gravity
    omega, force = _foot_signals(trial, sole, gravity)
    count, name = len(trial), bench.rig.feet[foot].name
    omega += WhiteNoise(0, f'{name}/gyroscope', degrees(noise.gyroscope), trial.rate).batch(count)
    force += WhiteNoise(
        0, f'{name}/accelerometer', micro_g(noise.accelerometer), trial.rate
    ).batch(count)
    memory = round(LONGEST_MEMORY * trial.rate)
    return foot_tilt(omega, force, memory, gravity)


def _foot_signals(trial: WalkTruth, sole: Sole, gravity: float) -> tuple[Array, Array]:
    """Ideal angular velocity [rad/s] and specific force [m/s²] of a sole in its axes, (T, 3)."""
    world_R_sole = trial.rotation @ sole.R
    place = trial.position + np.einsum('tij,tj->ti', trial.rotation, sole.p)
    acceleration, omega = np.zeros_like(place), np.zeros_like(place)
    acceleration[1:-1] = (place[2:] - 2.0 * place[1:-1] + place[:-2]) * trial.rate**2
    turn = np.einsum('tji,tjk->tik', world_R_sole[:-1], world_R_sole[1:])
    omega[1:] = trial.rate * np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
    felt = acceleration + np.array([0.0, 0.0, gravity])
    force: Array = np.einsum('tji,tj->ti', world_R_sole, felt)
    return omega, force


def _with_joint_error(bench: Bench, q: Array) -> Array:
    wrong = np.array(q)
    columns = list(Biped.of(bench.file, model=bench.model).leg_columns)
    wrong[:, [*columns[4:6], *columns[10:12]]] += np.radians(JOINT_ERROR_DEG)
    return wrong


def _where(trial: WalkTruth, slope_deg: float) -> np.ndarray:
    """(T,) whether the ground under the robot is level, the slope, or partly each."""
    normal = np.einsum('tij,tj->ti', trial.rotation, trial.ground_normal)
    pitch = np.arctan2(-normal[:, 0], normal[:, 2])
    where = np.full(len(trial), BETWEEN)
    where[np.abs(pitch) < 1e-6] = LEVEL
    where[np.abs(pitch - np.radians(slope_deg)) < 1e-6] = SLOPE
    return where


def _angle(one: Array, other: Array) -> Array:
    """(T,) angle between unit vectors [rad]."""
    angle: Array = np.arctan2(
        np.linalg.norm(np.cross(one, other), axis=1), np.sum(one * other, axis=1)
    )
    return angle
