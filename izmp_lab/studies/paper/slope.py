"""From level ground onto a slope: IZMP, support polygons and ground normals (fig. 11).

The feet's IMUs are derived from the truth of the trial: the pose of a foot is differenced at the
rate of the physics, and white noise is added.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.sensing.foot_imu import LONGEST_MEMORY, FootRest, FootTilt, foot_tilt
from izmp_dynamics.sensing.noise import WhiteNoise, degrees, micro_g
from izmp_dynamics.stability.foot_imu_plane import plane_of_foot_imus
from izmp_dynamics.stability.ground_plane import GroundPlane, Sole, level_plane, plane_of_soles
from izmp_dynamics.stability.support_polygon import margins
from izmp_lab.studies.paper.bench import Bench, Ground
from izmp_lab.studies.paper.root_sensors import Densities
from izmp_lab.studies.paper.setups import Setup
from izmp_lab.studies.paper.tasks import Parameters, bench_of, walk_run
from izmp_lab.studies.paper.trial import Trial
from izmp_lab.studies.runs import Load
from izmp_lab.studies.store import Arrays
from izmp_lab.walking.biped import Biped

JOINT_ERROR_DEG = 0.5
"""Error of the ankles' joint positions in the comparison of ground normals [°]."""

LEVEL, SLOPE, BETWEEN = 0, 1, -1

SOURCES = ('sole', 'feet_imus', 'level')
"""Of the ground plane; 'level' ignores the slope."""


def slope(
    load: Load, robot: Parameters, case: Parameters, setup: Parameters, noise: Parameters
) -> Arrays:
    """Evaluate a walk onto a slope; sensors of the root are ideal, those of the feet noisy.

    Returns:
        times (K,) [s]; steady (K,); where (K,): LEVEL, SLOPE or BETWEEN; step_begins [s];
        corners (K, F, V, 3) of the soles in nif [m]; loaded (K, F); and for each source S of the
        ground plane S_izmp (K, 3) in nif [m], S_margin (K,) and that of the true CoP,
        S_cop_margin (K,) [m], S_gap (K,) distance to the true CoP [m], S_tilt and
        S_tilt_with_joint_error (K,) error of the normal [rad].
    """
    bench = bench_of(robot['file'])
    trial = Trial(**load(walk_run(robot, case)))
    densities = Densities(**noise)
    planes = _planes(bench, trial, trial.q, densities)
    wrong = _planes(bench, trial, _with_joint_error(bench, trial.q), densities)
    soles = bench.soles(trial)
    loaded = trial.normal_forces >= bench.rig.contact_force
    result: Arrays = {}
    for name in SOURCES:
        ground = Ground.on(planes[name], soles)
        rows, points = bench.izmp(trial, ground, Setup(**setup))
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
        'where': _where(trial, case['slope_deg'])[rows],
        'step_begins': trial.step_begins,
        'corners': np.stack(
            [np.einsum('tij,tvj->tvi', ground.nif_R_root, sole.corners)[rows] for sole in soles],
            axis=1,
        ),
        'loaded': loaded[rows],
    }


def _planes(bench: Bench, trial: Trial, q: Array, noise: Densities) -> dict[str, GroundPlane]:
    """Ground planes by source, when the encoders say q (T, n)."""
    up = trial.rotation[:, 2, :]
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
        'sole': plane_of_soles(believed, up),
        'level': level_plane(believed, up, trial.rotation),
        'feet_imus': plane_of_foot_imus(believed, tilts, up),
    }


def _foot_tilt(bench: Bench, trial: Trial, foot: int, sole: Sole, noise: Densities) -> FootTilt:
    """What the IMU of a foot says of the vertical."""
    gravity = bench.file.gravity
    omega, force = _foot_signals(trial, sole, gravity)
    count, name = len(trial), bench.rig.feet[foot].name
    omega += WhiteNoise(0, f'{name}/gyroscope', degrees(noise.gyroscope), trial.rate).batch(count)
    force += WhiteNoise(
        0, f'{name}/accelerometer', micro_g(noise.accelerometer), trial.rate
    ).batch(count)
    memory = round(LONGEST_MEMORY * trial.rate)
    return foot_tilt(omega, force, memory, FootRest(gravity=gravity))


def _foot_signals(trial: Trial, sole: Sole, gravity: float) -> tuple[Array, Array]:
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
    """Joint positions with an error in the ankles, pitch and roll, of both feet."""
    wrong = np.array(q)
    columns = list(Biped.of(bench.file, model=bench.model).leg_columns)
    wrong[:, [*columns[4:6], *columns[10:12]]] += np.radians(JOINT_ERROR_DEG)
    return wrong


def _where(trial: Trial, slope_deg: float) -> np.ndarray:
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
