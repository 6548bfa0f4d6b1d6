"""Force plates: what they measure, and which foot feels it.

A plate is fixed in the world and does not know who stands on it. Its centre of pressure does: it
lies under the foot that loads it. One foot over two plates feels the sum of both. Of two feet on
one plate only the sum is known; it is divided as a lever between them would, which leaves the sum
and its centre of pressure as they are. What a foot beside the plates feels is not known.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Slerp

from izmp_dynamics.base.conventions import Array, Stamps, seconds
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.base.rotations import from_matrices, rotated_back
from izmp_dynamics.bodies.recording import Foot, Recording, Wrenches
from izmp_dynamics.bodies.registration import Step, find_shift
from izmp_dynamics.bodies.table import Table

LOADED = 0.02
"""Part of the weight from which on a plate carries somebody [-]."""

_NEAR = 0.04
"""Distance of a centre of pressure from a foot, within which that foot alone causes it [m]."""

_FAR = 0.25
"""Distance of a centre of pressure from the feet beyond which it is none of theirs [m]."""

_BETWEEN = 0.25
"""Distance from the nearer foot, as part of that from the other, of a point between both [-]."""

_LOW = 0.03
"""Height of a foot that is on the ground [m]."""

_SLOW = 0.3
"""Speed of a foot that is on the ground [m/s]."""

_STANCE = 0.1
"""Shortest time that a foot stands [s]; it is unloaded for less at touch-down."""

_SUM = re.compile('(combined|sum|total)([^a-z]|$)', re.IGNORECASE)
"""Begins the name of what is no plate, but made of several."""

_STEP = 0.1
"""Part of the weight from which on a centre of pressure counts as that of a step [-]."""

_MISSED = 0.9
"""Part of the weight that plates carry at most while a foot stands beside them [-]."""


def read_plates(table: Table, world_R_file: Array) -> tuple[tuple[Wrenches, ...], tuple[str, ...]]:
    """Find the plates in a file of ground reaction forces: columns vx … vz, px … pz, torques.

    Args:
        table: of the file.
        world_R_file: (3, 3) to a z axis that points up.

    Returns:
        The plates; what is remarkable, sentences.

    Raises:
        BagError: there is none, or its units are wrong.
        UnknownNameError: a column is missing.
    """
    stems = [name[:-2] for name in table.names if name.endswith('vx')]
    if not stems:
        raise BagError(
            f"'{table.path}' has no forces: a column of them ends in vx, as in ground_force_vx.",
            kind='no_forces', path=table.path,
        )  # fmt: skip
    plates, fixed, without, up = [], [], [], world_R_file[2]
    single = [stem for stem in stems if not _SUM.match(stem)] or stems
    for stem in single:
        name = re.sub(r'\W+', '_', stem.strip('_')) or 'plate'
        force = table.columns([f'{stem}v{axis}' for axis in 'xyz'])
        point = table.lengths([f'{stem}p{axis}' for axis in 'xyz'])
        turning = (f'{stem}m', f'{stem}moment_', f'{stem.replace("force", "torque")}')
        found = next((t for t in turning if f'{t}x' in table.names), None)
        torque = np.zeros_like(force)
        if found is None:
            without.append(name)
        else:
            torque = table.columns([f'{found}{axis}' for axis in 'xyz'])
            about_point = _about_point(torque, force, point, up)
            if about_point is not None:
                fixed.append(name)
                torque = about_point
        moment = np.cross(point, force) + torque
        wrench = np.hstack([force @ world_R_file.T, moment @ world_R_file.T])
        plates.append(Wrenches(name, table.stamps, wrench))
    remarks = []
    derived = [stem.strip('_') for stem in stems if stem not in single]
    if derived:
        remarks.append(f'{list_names(derived)}: derived from other plates by its name, left out.')
    if without:
        remarks.append(f'{list_names(without)}: without torques, which count as zero.')
    if fixed:
        remarks.append(
            f'{list_names(fixed)}: the torques are about a fixed point and not about the point of '
            'the force, as their horizontal parts show; they are read so.'
        )
    return tuple(plates), tuple(remarks)


def _about_point(torque: Array, force: Array, point: Array, up: Array) -> Array | None:
    """(T, 3) vertical torques about the point of the force; None if they are that already.

    A plate cannot pull its surface, so about the point of the force there is no horizontal torque.
    """
    level = np.eye(3) - np.outer(up, up)
    lever = np.cross(point, force) - torque  # of a fixed point c: c × force, but for its vertical
    columns = np.stack([(np.cross(axis, force) @ level).ravel() for axis in np.eye(3)], axis=1)
    fixed = np.linalg.lstsq(columns, (lever @ level).ravel(), rcond=1e-6)[0]
    rest = np.cross(fixed, force) - lever
    if np.linalg.norm(rest @ level) > 0.5 * np.linalg.norm(torque @ level):
        return None
    vertical: Array = rest - rest @ level
    return vertical


def foot_forces(
    recording: Recording, plates: Sequence[Wrenches]
) -> tuple[tuple[Wrenches, ...], tuple[str, ...], Array]:
    """Find what plates do to the feet.

    Args:
        recording: has the feet.
        plates: with stamps of their own.

    Returns:
        Per foot; what is remarkable, sentences; by what plates should be moved (3,) [m].

    Raises:
        BagError: plates and motion have no time in common.
    """
    inside = recording.inside(plates[0].stamps, 'forces')
    stamps = plates[0].stamps[inside]
    wrenches = np.array([plate.values[inside] for plate in plates])
    threshold = LOADED * recording.mass * recording.gravity
    feet = [_Placed(foot, recording.stamps, stamps) for foot in recording.feet]
    found = [_shares(feet, wrench, threshold) for wrench in wrenches]
    shares, aways = np.array([shares for shares, _ in found]), [away for _, away in found]
    beside, remarks = _beside(recording, feet, stamps, shares, wrenches[..., 2])
    off = [
        f'{plate.name} ({1e3 * away:.0f} mm)'
        for plate, away in zip(plates, aways, strict=True)
        if away > _NEAR
    ]
    if off:
        remarks.append(
            f'The CoP of {list_names(off)} is that far beside the feet (median): the '
            'frames of plates and motion differ, and so do CoP and ZMP.'
        )
    steps = list(_steps(feet, recording, wrenches, shares))
    shift, way = find_shift(steps), np.zeros(3)
    if shift is not None and shift.clear.any():
        way[:2] = -shift.value
        (x, y), (dx, dy) = 1e3 * shift.value, 1e3 * shift.sigma
        remarks.append(
            f'By {shift.steps} steps that roll over them, the plates are shifted against the '
            f'motion by {x:.0f} ± {dx:.0f} mm in x and {y:.0f} ± {dy:.0f} mm in y: CoP and ZMP '
            f'differ by that. --shift-plates={way[0]:.3f},{way[1]:.3f} moves them.'
        )
    both = [
        plate.name
        for plate, share in zip(plates, shares, strict=True)
        if ((share > 0.0) & (share < 1.0)).any()
    ]
    if both:
        remarks.append(
            f'Both feet stand on {list_names(both)} at times: only the sum of their forces is '
            'measured then; it is divided as by a lever.'
        )
    forces = []
    for k, foot in enumerate(feet):
        known = ~beside[:, k]
        wrench = foot.seen(np.einsum('pt,pti->ti', shares[:, :, k], wrenches))
        forces.append(Wrenches(recording.feet[k].link, stamps[known], wrench[known]))
    return tuple(forces), tuple(remarks), way


def _steps(
    feet: Sequence['_Placed'], recording: Recording, wrenches: Array, shares: Array
) -> Iterator[Step]:
    """Where a foot is loaded and unloaded again; instants at which it has its plates alone."""
    threshold = _STEP * recording.mass * recording.gravity
    for k, foot in enumerate(feet):
        wrench = np.einsum('pt,pti->ti', shares[:, :, k], wrenches)
        alone = ((shares[:, :, k] == 0.0) | (shares[:, :, k] == 1.0)).all(axis=0)
        for run in _runs(wrench[:, 2] > threshold):
            rows = np.flatnonzero(alone[run]) + run.start
            if run.start > 0 and run.stop < len(wrench) and len(rows):
                cop = np.stack([-wrench[rows, 4], wrench[rows, 3]], axis=1) / wrench[rows, 2:3]
                yield Step(foot.corners, foot.on_sole(cop, rows), foot.R[rows])


def _beside(
    recording: Recording,
    feet: Sequence['_Placed'],
    stamps: Stamps,
    shares: Array,
    loads: Array,
) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """(T, F) where a foot stands beside the plates, by `shares` (P, T, F) and `loads` (P, T)."""
    felt = (shares > 0.0).any(axis=0)
    beside = np.stack([foot.is_low & (foot.speed < _SLOW) for foot in feet], axis=1) & ~felt
    speeds = np.stack([foot.speed for foot in feet], axis=1)[felt]
    remarks = []
    if len(speeds) and (speed := float(np.median(speeds))) > _SLOW:
        remarks.append(
            f'The loaded feet move with {speed:.2f} m/s: on belts. They count as on the plates '
            'at all times.'
        )
        beside[:] = False
    total = np.einsum('ptf,pt->t', shares, loads)
    weight, at = recording.mass * recording.gravity, seconds(stamps)
    for column in beside.T:  # not where the plates carry all of the weight, or at touch-down
        for run in _runs(column):
            lasts = at[run][-1] - at[run][0] > _STANCE
            column[run] = lasts and np.mean(total[run]) < _MISSED * weight
    if beside.any():
        remarks.append(
            f'In {100.0 * beside.any(axis=1).mean():.0f} % of the time a foot stands where no '
            'plate carries it: what it feels is not known then, and there is no CoP.'
        )
    return beside, remarks


class _Placed:
    """A foot at T stamps of plates.

    Attributes:
        R: (T, 3, 3) world_R_link.
        p: (T, 3) origin of the link [m].
        middle: (T, 2) of the sole, seen from above [m].
        speed: (T,) of its slowest corner, along the ground [m/s].
        is_low: (T,) whether some corner of the sole is close to the ground.
    """

    def __init__(self, foot: Foot, known: Stamps, stamps: Stamps) -> None:
        t, at = seconds(known), seconds(stamps, int(known[0]))
        self.R = Slerp(t, from_matrices(foot.R))(at).as_matrix()
        self.p = np.stack([np.interp(at, t, foot.p[:, k]) for k in range(3)], axis=1)
        level = np.insert(foot.corners, 2, foot.height, axis=1)
        corners = np.einsum('tij,vj->tvi', self.R, level) + self.p[:, None]
        self.middle = corners.mean(axis=1)[:, :2]
        velocities = np.gradient(corners[..., :2], at, axis=0)
        self.speed = np.linalg.norm(velocities, axis=2).min(axis=1)
        self.is_low = corners[..., 2].min(axis=1) < _LOW
        self.corners = foot.corners

    def on_sole(self, cop: Array, rows: npt.NDArray[np.intp]) -> Array:
        """Points (N, 2) of the ground at some rows, in the link (N, 2) [m]."""
        lever = np.insert(cop, 2, 0.0, axis=1) - self.p[rows]
        return rotated_back(self.R[rows], lever)[:, :2]

    def distance(self, cop: Array, rows: npt.NDArray[np.intp]) -> Array:
        """(N,) how far points (N, 2) of the ground at some rows are outside the outline [m]."""
        points = self.on_sole(cop, rows)
        edges = np.roll(self.corners, -1, axis=0) - self.corners
        outwards = np.stack([edges[:, 1], -edges[:, 0]], axis=1)
        outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
        beyond = np.einsum('nvi,vi->nv', points[:, None] - self.corners, outwards)
        found: Array = np.maximum(beyond.max(axis=1), 0.0)
        return found

    def seen(self, wrench: Array) -> Array:
        """Wrenches (T, 6) about the origin of the world as the link sees them."""
        force, moment = wrench[:, :3], wrench[:, 3:] - np.cross(self.p, wrench[:, :3])
        return np.hstack([rotated_back(self.R, force), rotated_back(self.R, moment)])


def _shares(feet: Sequence[_Placed], wrench: Array, threshold: float) -> tuple[Array, float]:
    """(T, F) parts of a wrench (T, 6) that feet feel; how far its CoP is beside them (median)."""
    shares = np.zeros((len(wrench), len(feet)))
    rows = np.flatnonzero(wrench[:, 2] > threshold)
    if not len(rows):
        return shares, 0.0
    cop = np.stack([-wrench[rows, 4], wrench[rows, 3]], axis=1) / wrench[rows, 2:3]
    distances = np.stack([foot.distance(cop, rows) for foot in feet], axis=1)
    closest = distances.min(axis=1)
    shares[rows, np.argmin(distances, axis=1)] = closest < _FAR
    if len(feet) == 2:
        first, second = (foot.middle[rows] for foot in feet)
        way = second - first
        part = np.sum((cop - first) * way, axis=1) / np.maximum(np.sum(way**2, axis=1), 1e-9)
        between = (closest > _NEAR) & (closest > _BETWEEN * distances.max(axis=1))
        between &= (part > 0.0) & (part < 1.0)
        between &= feet[0].is_low[rows] & feet[1].is_low[rows]
        shares[rows[between]] = np.stack([1.0 - part, part], axis=1)[between]
        closest = closest[~between]
    return shares, float(np.median(closest)) if len(closest) else 0.0


def _runs(flags: npt.NDArray[np.bool_]) -> list[slice]:
    """The intervals in which flags (T,) are set."""
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    return [slice(*pair) for pair in edges.reshape(-1, 2).tolist()]
