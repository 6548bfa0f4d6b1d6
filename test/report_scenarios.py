"""Synthetic evaluations for the tests of the report: a robot that walks, is pushed, falls, …

The motion is made in the world (z up, ground at z = 0) and then expressed in the root frame, so
that every array of an Evaluation is consistent with every other.
"""

from dataclasses import fields, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.results.evaluation import Evaluation, Foot, SignalHealth, Track

MASS, GRAVITY, HEIGHT = 27.6, 9.80665, 0.8
SOLE = np.array([[0.15, 0.06], [-0.09, 0.06], [-0.09, -0.06], [0.15, -0.06]])
STANCE = 0.09  # lateral distance of each sole from the middle [m]
STEP_TIME, DOUBLE_SUPPORT, REST = 0.56, 0.11, 1.2
TILT = np.array([0.06, 0.04, 0.10])  # amplitude of roll, pitch and yaw of the root [rad]


def walking(duration=12.0, rate=125.0, speed=0.3, noise=None, seed=1, dtype=np.int64):
    """A walk along x: stamps, two feet, MR-AD, IR-MD and CoP, a localizer.

    Args:
        noise: track name → standard deviation per axis [m] of its point; default: small noise.
    """
    noise = {'mr_ad': 0.0004, 'ir_md': 0.004, 'cop': 0.0} | (noise or {})
    rng = np.random.default_rng(seed)
    time = np.arange(round(duration * rate) + 1) / rate
    soles, loaded, cop = _steps(time, speed)
    com = gaussian_filter1d(cop, 0.22 * rate, axis=0, mode='nearest')
    points = {name: cop + sigma * rng.standard_normal(cop.shape) for name, sigma in noise.items()}
    return assemble(time, com, points, soles, loaded, rng)


def standing(duration=10.0, rate=125.0, seed=1, offset=None, cop_limit=None):
    """A robot on both feet that shifts its weight.

    Args:
        offset: time → (K, 2) [m] that is added to the IZMP.
        cop_limit: None: the CoP knows nothing of the offset. Otherwise the CoP follows the IZMP up
            to this lateral distance [m] from the middle.
    """
    rng = np.random.default_rng(seed)
    time = np.arange(round(duration * rate) + 1) / rate
    sway = np.stack([0.03 + 0.02 * np.sin(1.3 * time), 0.06 * np.sin(2.1 * time)], axis=1)
    cop = sway
    soles = [np.tile(SOLE + np.array([0.0, side * STANCE]), (len(time), 1, 1)) for side in (1, -1)]
    loaded = [np.ones(len(time), dtype=bool)] * 2
    izmp = cop + 0.0003 * rng.standard_normal(cop.shape)
    if offset is not None:
        izmp = izmp + offset(time)
    if cop_limit is not None:
        cop = np.clip(izmp, -cop_limit, cop_limit)
    points = {'mr_ad': izmp, 'ir_md': izmp + 0.002 * rng.standard_normal(cop.shape), 'cop': cop}
    return assemble(time, sway, points, soles, loaded, rng)


def falling(start=6.0, duration=10.0):
    """A robot whose COM sinks to the ground within half a second from `start` on."""
    evaluation = standing(duration)
    drop = 0.9 * HEIGHT * np.clip((evaluation.time - start) / 0.5, 0.0, 1.0)
    return replace(evaluation, com=evaluation.com - drop[:, None] * evaluation.normal)


def bump(start, length, depth, axis=1):
    """An offset of `depth` [m] along `axis` for `length` seconds from `start` on."""

    def offset(time):
        values = np.zeros((len(time), 2))
        values[(time >= start) & (time < start + length), axis] = depth
        return values

    return offset


def assemble(time, com_xy, points, soles, loaded, rng):
    """Express a motion in the world in the root frame, as an Evaluation does.

    Args:
        time: (K,) [s].
        com_xy: (K, 2) [m].
        points: track name → (K, 2) [m].
        soles: for each foot (K, 4, 2) or (K, 4, 3) corners [m].
        loaded: for each foot (K,).
    """
    n = len(time)
    com = np.column_stack([com_xy, np.full(n, HEIGHT)])
    angles = TILT * np.sin(np.outer(time, [2.8, 1.9, 0.9]))
    R = Rotation.from_euler('xyz', angles).as_matrix()
    p = com + np.array([-0.02, 0.0, -0.05])

    def into_root(x):
        return np.einsum('kji,k...j->k...i', R, x - p.reshape(n, *[1] * (x.ndim - 2), 3))

    normal = R[:, 2, :].copy()
    acceleration = (
        np.gradient(np.gradient(com_xy, time, axis=0), time, axis=0) if n > 1 else 0 * com_xy
    )
    corners = [s if s.shape[2] == 3 else np.dstack([s, np.zeros((n, 4))]) for s in soles]
    tracks = {}
    for name, point in points.items():
        force = MASS * np.column_stack([acceleration, np.full(n, GRAVITY)])
        if name != 'cop':
            force += 0.004 * MASS * GRAVITY * rng.standard_normal(force.shape)
        world = np.column_stack([point, np.zeros(n)])
        in_root, force = into_root(world), np.einsum('kji,kj->ki', R, force)
        margin = signed_margin(point, [c[..., :2] for c in corners], loaded)
        wrench = np.hstack([force, np.cross(in_root, force)])
        tracks[name] = Track(name, wrench, in_root, margin)
    return Evaluation(
        robot='biped31',
        root='pelvis',
        total_mass=MASS,
        gravity=GRAVITY,
        stamps=(1_720_000_000_000_000_000 + np.round(time * 1e9)).astype(np.int64),
        tracks=tracks,
        normal=normal,
        ground_point=into_root(np.column_stack([com_xy, np.zeros(n)])),
        com=into_root(com),
        feet=_feet(into_root, corners, loaded, points, np.swapaxes(R, 1, 2)),
        world_p_root=p,
        world_R_root=R,
        missing=(),
        health=HEALTH,
        parameters=PARAMETERS,
        hashes=HASHES,
    )


def signed_margin(point, soles, loaded, directions=96):
    """Signed distance of `point` (K, 2) from the edge of the hull of the loaded soles.

    By the support function: the margin is the smallest distance to any supporting line.
    """
    angle = 2 * np.pi * np.arange(directions) / directions
    along = np.stack([np.cos(angle), np.sin(angle)])
    reach = np.full((len(point), directions), -np.inf)
    for sole, carries in zip(soles, loaded, strict=True):
        reach = np.where(carries[:, None], np.maximum(reach, (sole @ along).max(axis=1)), reach)
    margin = (reach - point @ along).min(axis=1)
    return np.where(np.isfinite(margin), margin, np.nan)


def without(evaluation, *names):
    """The evaluation without the tracks `names`."""
    kept = {name: track for name, track in evaluation.tracks.items() if name not in names}
    return replace(evaluation, tracks=kept)


def changed(record, change):
    """A record of which every array is changed."""
    arrays = {f.name: getattr(record, f.name) for f in fields(record)}
    known = {name: a for name, a in arrays.items() if isinstance(a, np.ndarray)}
    return replace(record, **{name: change(values) for name, values in known.items()})


def with_tracks(evaluation, change):
    """The evaluation with every array of its tracks changed."""
    tracks = {name: changed(track, change) for name, track in evaluation.tracks.items()}
    return replace(evaluation, tracks=tracks)


def with_feet(evaluation, **changes):
    """The evaluation with changes of its feet, or functions that make these of a foot."""
    feet = [
        replace(foot, **{name: c(foot) if callable(c) else c for name, c in changes.items()})
        for foot in evaluation.feet
    ]
    return replace(evaluation, feet=tuple(feet))


def with_parts(evaluation, change):
    """The evaluation with every array of its tracks and feet changed."""
    feet = tuple(changed(foot, change) for foot in evaluation.feet)
    return with_tracks(replace(evaluation, feet=feet), change)


def part(evaluation, chosen):
    """The evaluation at the instants `chosen` (a slice or a mask) only."""
    return changed(with_parts(evaluation, lambda a: a[chosen]), lambda a: a[chosen])


def known_until(evaluation, stop):
    """The evaluation with nothing known about tracks and feet after `stop` [s]."""
    after = evaluation.time > stop

    def unknown(values):
        values = values.copy()
        values[after] = False if values.dtype == bool else np.nan
        return values

    com, normal = unknown(evaluation.com), unknown(evaluation.normal)
    return replace(with_parts(evaluation, unknown), com=com, normal=normal)


def blank(evaluation, name):
    """The evaluation with a track that has no value at any instant."""
    empty = changed(evaluation.tracks[name], lambda values: np.full_like(values, np.nan))
    return replace(evaluation, tracks={**evaluation.tracks, name: empty})


def _steps(time, speed):
    """Soles, loaded feet and the CoP of a walk that starts and ends standing."""
    phase = np.clip(time - REST, 0.0, max(time[-1] - 2 * REST, 0.0)) / STEP_TIME
    number = np.floor(phase).astype(int)
    within = (phase - number) * STEP_TIME
    moving = (time > REST) & (time < time[-1] - REST)
    swing = np.clip((within - DOUBLE_SUPPORT) / (STEP_TIME - DOUBLE_SUPPORT), 0.0, 1.0)
    eased = swing**3 * (10 - 15 * swing + 6 * swing**2)
    stride = speed * STEP_TIME
    soles, loaded, centres = [], [], []
    for side, parity in ((1, 0), (-1, 1)):
        swings = number % 2 == parity
        steps_done = np.where(swings, number, number - 1 + 0 * number)
        start = stride * np.maximum(np.where(swings, steps_done - 1, steps_done), 0)
        goal = stride * (steps_done + 1)
        x = np.where(
            swings, start + eased * (goal - start), np.where(number > 0, stride * number, 0)
        )
        lift = np.where(swings & moving, 0.04 * 64 * (swing * (1 - swing)) ** 3, 0.0)
        corners = np.zeros((len(time), 4, 3))
        corners[..., :2] = SOLE + np.stack([x, np.full_like(x, side * STANCE)], axis=1)[:, None]
        corners[..., 2] = lift[:, None]
        soles.append(corners)
        loaded.append(~(swings & (within > DOUBLE_SUPPORT) & moving))
        centres.append(np.stack([x + 0.03, np.full_like(x, side * (STANCE - 0.01))], axis=1))
    even = (number % 2 == 0)[:, None]
    stance, other = np.where(even, centres[1], centres[0]), np.where(even, centres[0], centres[1])
    share = np.clip(within / DOUBLE_SUPPORT, 0.0, 1.0)[:, None]
    cop = np.where(moving[:, None], other + share * (stance - other), (stance + other) / 2)
    return (
        soles,
        loaded,
        gaussian_filter1d(cop, 0.012 / (time[1] - time[0]), axis=0, mode='nearest'),
    )


def _feet(into_root, corners, loaded, points, axes):
    """Feet that share the weight as the CoP demands; their soles have the axes of the world."""
    reference = points.get('cop', next(iter(points.values())))
    left, right = (c[..., :2].mean(axis=1) for c in corners)
    across = left - right
    apart = np.maximum((across * across).sum(1), 1e-9)
    split = np.clip(((reference - right) * across).sum(1) / apart, 0.0, 1.0)
    split = np.where(loaded[0], np.where(loaded[1], split, 1.0), 0.0)
    forces = (split * MASS * GRAVITY, (1 - split) * MASS * GRAVITY)
    names = ('left_foot', 'right_foot')
    return tuple(
        Foot(name, into_root(c), force, np.asarray(carries), axes)
        for name, c, force, carries in zip(names, corners, forces, loaded, strict=True)
    )


_WRENCH = ('geometry_msgs/msg/WrenchStamped', 'CoP')
_IMU = {Fault(Reason.STAMP_TWICE): 2, Fault(Reason.JOINT_REPAIRED, 'l_knee'): 11}
HEALTH = (
    SignalHealth('/joint_states', 'sensor_msgs/msg/JointState', 'joints', 6001, 500.0, 0.002),
    SignalHealth('/imu', 'sensor_msgs/msg/Imu', 'gyroscope', 5988, 500.0, 0.026, _IMU),
    SignalHealth('/left_foot/wrench', *_WRENCH, 6001, 500.0, 0.002),
    SignalHealth('/right_foot/wrench', *_WRENCH, 0, 0.0, 0.0),
)
PARAMETERS = {'bus.rate': '125 Hz', 'ground.source': 'gravity', 'version': 'izmp_dynamics 0.1.0'}
HASHES = {
    'biped31.urdf': '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'walk.mcap': '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752',
}
