"""The scene over time: where the robot, its soles, points and forces are in each frame."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Indices, Stamps, seconds
from izmp_dynamics.base.robust import median
from izmp_dynamics.base.rotations import matrices_from_quaternions, quaternions_of_matrices
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.stability.support_polygon import outlines
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import changes

FRAME_RATE = 50.0
"""About this rate the frames have, if the evaluation is faster [Hz]."""

MOST_FRAMES = 3000
"""A longer log has fewer frames a second."""

_LOCATED = 0.5  # share of the frames whose pose in the world must be known to show the world


@dataclass(frozen=True)
class Playback:
    """Frames of an evaluation; NaN where something is not known.

    Lengths in m, in the frame of the view, z up, the ground at z = 0.

    Attributes:
        view: 'world' if the pose of the root in it is known; else 'feet': a frame that the feet
            that carry do not leave; else 'root': nif, lowered to the ground, in which the root
            stays.
        time: (F,) [s] after the first instant.
        root: (F, 7) position and quaternion (x, y, z, w) of the root.
        bodies: (F, B, 7) of the bodies in the root frame; B = 0 where the joints are not known.
        soles: for each foot (F, V, 3) corners.
        loaded: (F, number of feet) which feet carry load.
        polygon: (F, C, 3) support polygon; its last corner repeated where it has fewer.
        points: track → (F, 3) on the ground.
        forces: track → (F, 3) contact force [N].
        com: (F, 3) centre of mass.
        push: (F, 3) external force during a push [N]; NaN at all other times.
    """

    view: str
    time: Array
    root: Array
    bodies: Array
    soles: tuple[Array, ...]
    loaded: Array
    polygon: Array
    points: dict[str, Array]
    forces: dict[str, Array]
    com: Array
    push: Array


def play_back(scene: Scene, events: Sequence[Event]) -> Playback:
    """Make the frames of an evaluation.

    Args:
        scene: the evaluation.
        events: whose pushes have an arrow.
    """
    evaluation = scene.evaluation
    rows, moved = _frames(scene)
    view, R, p = _view(scene, rows)

    def taken(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return evaluation.columns.take(values, rows)

    def seen(points: Array) -> Array:
        """Points (F, …, 3) of the root frame in the view."""
        offset = p.reshape(len(rows), *[1] * (points.ndim - 2), 3)
        placed: Array = np.einsum('fij,f...j->f...i', R, points) + offset
        return placed

    def turned(forces: Array) -> Array:
        rotated: Array = np.einsum('fij,fj->fi', R, forces)
        return rotated

    push = np.full((len(rows), 3), np.nan)
    if evaluation.external_force is not None:
        pushed = _during(taken(scene.timeline.time), events, 'push')
        push[pushed] = turned(taken(evaluation.external_force))[pushed]
    tracks = [
        (name, track)
        for name, track in evaluation.tracks.items()
        if name != 'cop' or scene.cop_is_whole
    ]
    return Playback(
        view=view,
        time=taken(scene.timeline.time),
        root=poses(R, p),
        bodies=_bodies(evaluation, moved),
        soles=tuple(seen(taken(foot.sole)) for foot in evaluation.feet),
        loaded=np.array([taken(f.loaded) for f in evaluation.feet]).T.reshape(len(rows), -1),
        polygon=seen(_polygons(evaluation, rows)),
        points={name: seen(taken(track.point)) for name, track in tracks},
        forces={name: turned(taken(track.wrench)[:, :3]) for name, track in tracks},
        com=seen(taken(evaluation.com)),
        push=push,
    )


def poses(R: Array, p: Array) -> Array:
    """Join rotations (…, 3, 3) and positions (…, 3) to (…, 7), quaternions x, y, z, w.

    NaN where either is not known. Consecutive quaternions along the first axis lie on one side, so
    that they can be interpolated.
    """
    joined = np.full((*p.shape[:-1], 7), np.nan)
    known = np.isfinite(R).all(axis=(-2, -1)) & np.isfinite(p).all(axis=-1)
    if known.any():
        joined[known, :3] = p[known]
        joined[known, 3:] = quaternions_of_matrices(R[known])
    flipped = np.einsum('...i,...i->...', joined[1:, ..., 3:], joined[:-1, ..., 3:]) < 0
    joined[1:, ..., 3:] *= np.cumprod(np.where(flipped, -1.0, 1.0), axis=0)[..., None]
    return joined


def _frames(scene: Scene) -> tuple[Indices, Indices]:
    """Choose the frames: rows of the evaluation and, if it has them, the rows of the motion."""
    evaluation = scene.evaluation
    motion = evaluation.motion
    if motion is not None and len(motion.stamps):
        moved = _decimated(motion.stamps)
        rows = np.searchsorted(evaluation.stamps, motion.stamps[moved])
        return np.minimum(rows, len(evaluation.stamps) - 1), moved
    return _decimated(evaluation.stamps), np.empty(0, dtype=np.int64)


def _decimated(stamps: Stamps) -> Indices:
    """Pick instants at about `FRAME_RATE`, `MOST_FRAMES` at the most, and the last one."""
    count = len(stamps)
    if count < 2:
        return np.arange(count)
    step = median(np.diff(seconds(stamps)))
    stride = max(1, round(1.0 / FRAME_RATE / max(step, 1e-9)), -(-count // MOST_FRAMES))
    return np.unique(np.append(np.arange(0, count, stride), count - 1))


def _view(scene: Scene, rows: Indices) -> tuple[str, Array, Array]:
    """Which view it is, and the pose of the root in it: (F, 3, 3) and (F, 3)."""
    evaluation, taken = scene.evaluation, scene.evaluation.columns.take
    if evaluation.world_R_root is not None and evaluation.world_p_root is not None:
        R, p = (
            taken(values, rows) for values in (evaluation.world_R_root, evaluation.world_p_root)
        )
        known = np.asarray(np.isfinite(R).all(axis=(1, 2)) & np.isfinite(p).all(axis=1))
        if known.any() and known.mean() >= _LOCATED:
            ground = np.einsum('fij,fj->fi', R, taken(evaluation.ground_point, rows)) + p
            height = ground[np.isfinite(ground[:, 2]), 2]
            lowered = np.array([0.0, 0.0, float(np.median(height)) if len(height) else 0.0])
            return 'world', *_bridged(R, p - lowered, known)
    height = taken(scene.height, rows) - np.einsum(
        'fi,fi->f', taken(evaluation.normal, rows), taken(evaluation.com, rows)
    )  # of the root's origin over the ground
    p = np.zeros((len(rows), 3))
    p[:, 2] = _held(height)
    headings, places = _walked(scene, rows)
    p[:, :2] = places
    R = _about_z(headings) @ evaluation.nif_R_root(rows)
    return ('feet' if headings.any() or places.any() else 'root'), R, p


def _walked(scene: Scene, rows: Indices) -> tuple[Array, Array]:
    """Heading (F,) [rad] and place (F, 2) [m] of nif at `rows` (F,), by the feet that carry.

    Held where none carries; a new segment begins where the last one ended.
    """
    ground, take = scene.ground_fixed, scene.evaluation.columns.take
    headings, places = np.zeros(len(rows)), np.zeros((len(rows), 2))
    heading, place = 0.0, np.zeros(2)
    edges = [0, *changes(ground.segment).tolist(), len(ground.segment)]
    for begin, end in pairwise(edges):
        frames = slice(*np.searchsorted(rows, [begin, end]).tolist())
        headings[frames], places[frames] = heading, place
        if begin == end or ground.segment[begin] < 0:
            continue
        at = np.concatenate([[begin], rows[frames], [end - 1]])
        nif_R_root = scene.evaluation.nif_R_root(at)
        turned = take(ground.R, at) @ np.swapaxes(nif_R_root, 1, 2)  # ground_R_nif
        level_R_ground = turned[0].T
        about = level_R_ground @ turned
        along = (take(ground.p, at) - ground.p[begin]) @ level_R_ground.T
        headed = heading + np.arctan2(about[:, 1, 0], about[:, 0, 0])
        placed = place + along[:, :2] @ _about_z(np.array([heading]))[0, :2, :2].T
        headings[frames], places[frames] = headed[1:-1], placed[1:-1]
        heading, place = headed[-1], placed[-1]
    return headings, places


def _about_z(angles: Array) -> Array:
    """(T, 3, 3) rotations about z by `angles` (T,) [rad]."""
    R = np.tile(np.eye(3), (len(angles), 1, 1))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(angles)
    R[:, 1, 0] = np.sin(angles)
    R[:, 0, 1] = -R[:, 1, 0]
    return R


def _held(values: Array) -> Array:
    """Bridge gaps by interpolation; zeros without any value."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return np.zeros(len(values))
    return np.interp(np.arange(len(values)), known, values[known])


def _bridged(R: Array, p: Array, known: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    """Poses (F, 3, 3), (F, 3) interpolated where they are not `known` (F,), held at the ends."""
    rows = np.flatnonzero(known)
    if len(rows) == len(known):
        return R, p
    every = np.arange(len(known))
    bridged = np.stack(
        [np.interp(every, rows, part) for part in poses(R[rows], p[rows]).T], axis=1
    )
    quaternions = bridged[:, 3:] / np.linalg.norm(bridged[:, 3:], axis=1, keepdims=True)
    return matrices_from_quaternions(quaternions), bridged[:, :3]


def _bodies(evaluation: Evaluation, moved: Indices) -> Array:
    if evaluation.motion is None or not len(moved):
        return np.empty((len(moved), 0, 7))
    positions = evaluation.columns.take(evaluation.motion.positions, moved)
    motion = replace(evaluation.motion, positions=positions)
    R, p = motion.body_poses(np.arange(len(moved)))
    return np.stack([poses(R[:, body], p[:, body]) for body in range(p.shape[1])], axis=1)


def _polygons(evaluation: Evaluation, rows: Indices) -> Array:
    """(F, C, 3) support polygons in the root frame [m]."""
    if not evaluation.feet:
        return np.full((len(rows), 0, 3), np.nan)
    take = evaluation.columns.take
    corners, counts = outlines(
        tuple(take(foot.sole, rows) for foot in evaluation.feet),
        np.stack([take(foot.loaded, rows) for foot in evaluation.feet], axis=1),
        take(evaluation.normal, rows),
        take(evaluation.ground_point, rows),
    )
    shown = np.minimum(np.arange(counts.max(initial=0)), counts[:, None] - 1)
    polygons: Array = np.take_along_axis(corners, shown[:, :, None], axis=1)
    polygons[counts == 0] = np.nan
    return polygons


def _during(time: Array, events: Sequence[Event], kind: str) -> Array:
    """Which instants (F,) lie within an event of that kind."""
    within = np.zeros(len(time), dtype=bool)
    for event in events:
        if event.kind == kind:
            within |= (time >= event.begin) & (time <= event.end)
    return within
