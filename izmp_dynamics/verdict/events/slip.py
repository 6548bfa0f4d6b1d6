"""Slip: a sole that carries load slides over the ground.

How a sole moves is known against the world, where the pose of the root in it is measured, and
against another sole that carries load, from the joints alone. A sole that carries load cannot move
along its normal: what it seems to do so is the error of encoders, elastic legs and localizer, and
says how large the error along the ground is. On the real robots at hand that was up to 4.5 times
as large; so a slip is `RATIO` times as large as nearly all motion along the normal. Turning about
the normal counts with half the sole's length as its lever.

Feet that stand do not move against each other. So a sole that seems to slide in the world, but
not against any other foot that stands, shows a jump of the localizer; and of the feet that move
against each other, the one slides that does so against most. One that seems to slide in the world
and back at once shows a jump of the localizer, too.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, finite_rows
from izmp_dynamics.base.robust import percentile
from izmp_dynamics.base.rotations import rotated, rotated_back
from izmp_dynamics.stability.clearance import stays_point
from izmp_dynamics.verdict.events.contact import Contact
from izmp_dynamics.verdict.events.event import Event, where_to
from izmp_dynamics.verdict.formatting import mm, seconds
from izmp_dynamics.verdict.scene import Scene, sole_frame
from izmp_dynamics.verdict.timeline import Indices

WITHIN = 0.3
"""Time within which a sole must slide that far [s]."""

LEAST_DISTANCE = 0.005
"""Of a slip [m]."""

RATIO, NEARLY_ALL = 6.0, 99.0
"""How many times as far as this percentile of the motion along the normal."""

LEAST_LOAD = 0.2
"""Share of the weight below which a foot only lands or lifts off [-]."""

MOVES = 0.5
"""Share of a slip by which its sole must move against another one that stands [-]."""


class _Slide(NamedTuple):
    """A slip.

    Attributes:
        first: first row.
        last: last row.
        step: (3,) way in the frame in which the sole is seen [m].
        distance: along the ground [m].
        turned: its turn about the normal times the lever [m].
    """

    first: int
    last: int
    step: Array
    distance: float
    turned: float

    @property
    def size(self) -> float:
        """The larger of both [m]."""
        return max(self.distance, self.turned)


class _Sole(NamedTuple):
    """A foot's sole.

    Attributes:
        contact: the foot.
        firm: (K,) where it carries so much load that it is neither landing nor lifting off.
        R: (K, 3, 3) root_R_sole.
        p: (K, 3) its place in the root frame [m].
        lever: half its length [m].
        is_point: whether its axes lean while it stands, so that nothing is seen from them.
    """

    contact: Contact
    firm: Flags
    R: Array
    p: Array
    lever: float
    is_point: bool

    @property
    def name(self) -> str:
        """Of the foot."""
        return self.contact.foot.name

    def seen_from(self, other: '_Sole', rows: slice) -> tuple[Array, Array]:
        """Pose (S, 3, 3), (S, 3) in the axes of another sole, about its place."""
        R = np.swapaxes(other.R[rows], 1, 2) @ self.R[rows]
        p = rotated_back(other.R[rows], self.p[rows] - other.p[rows])
        return R, p


def slips(scene: Scene, contacts: Sequence[Contact], upright: Flags) -> list[Event]:
    """Find the slips of an evaluation; one that is seen against the world counts once.

    Args:
        scene: the evaluation.
        contacts: its feet.
        upright: (K,) where the robot neither falls nor lies: else its feet slide in any case.
    """
    soles = [_sole_of(scene, contact, upright) for contact in contacts]
    found = [event for sole in soles for event in _against_world(scene, sole, soles)]
    for one, other in permutations(soles, 2):
        if other.is_point:
            continue
        for event in _against_other(scene, one, other, soles):
            if not any(
                event.begin <= e.end and e.begin <= event.end
                for e in found
                if e.subject in (one.name, other.name)
            ):
                found.append(event)
    return found


def _sole_of(scene: Scene, contact: Contact, upright: Flags) -> _Sole:
    foot = contact.foot
    light = np.isfinite(foot.normal_force) & ~(foot.normal_force > LEAST_LOAD * scene.weight)
    return _Sole(
        contact,
        contact.carries & contact.known & foot.loaded & ~light & upright,
        *_by_blocks(scene, lambda rows: sole_frame(foot, rows)),
        _lever(scene, foot.sole),
        stays_point(foot.sole),
    )


def _against_world(scene: Scene, sole: _Sole, soles: Sequence[_Sole]) -> Iterator[Event]:
    evaluation = scene.evaluation
    if evaluation.world_R_root is None or evaluation.world_p_root is None:
        return
    world_R_root, world_p_root = evaluation.world_R_root, evaluation.world_p_root

    def in_world(rows: slice) -> tuple[Array, Array]:
        R = world_R_root[rows]
        p = rotated(R, sole.p[rows]) + world_p_root[rows]
        return np.broadcast_to(np.eye(3), R.shape) if sole.is_point else R @ sole.R[rows], p

    R, p = _by_blocks(scene, in_world)
    for slide in _slides(scene, R, p, sole.firm, sole.lever):
        moves = _moves_against(scene, sole, slide, soles)
        if (any(moves) or not moves) and _stays_away(scene, sole, slide, R, p):
            in_root = world_R_root[slide.first].T @ slide.step
            yield _event(scene, sole, slide, in_root, '')


def _stays_away(scene: Scene, sole: _Sole, slide: _Slide, R: Array, p: Array) -> bool:
    """Whether a sole is elsewhere than before for longer: a localizer that jumps comes back."""
    time, standing = scene.timeline.time, np.cumsum(~sole.firm)
    reach = time[[slide.first, slide.last]] + np.array([-WITHIN, WITHIN])
    rows = np.arange(*np.searchsorted(time, reach).tolist())
    rows = rows[(standing[rows] == standing[slide.first]) & np.isfinite(p[rows, 0])]
    (way,) = _ways(R, p, rows[:1], rows[-1:], sole.lever)
    return bool(np.linalg.norm(way[[0, 1, 3]]) >= MOVES * slide.size)


def _against_other(
    scene: Scene, one: _Sole, other: _Sole, soles: Sequence[_Sole]
) -> Iterator[Event]:
    """Slips of a sole against another one, unless it is the other that slides.

    It is the one that moves against more of the feet that stand; of two, the one that carries
    less, as far as that is known.
    """
    both = one.firm & other.firm
    seen = _by_blocks(scene, partial(one.seen_from, other))
    for slide in _slides(scene, *seen, both, one.lever):
        rows = slice(slide.first, slide.last + 1)
        moves, others = (sum(_moves_against(scene, sole, slide, soles)) for sole in (one, other))
        load, others_load = (
            float(np.mean(sole.contact.foot.normal_force[rows])) for sole in (one, other)
        )
        if moves > others or (moves == others and not load > others_load):
            in_root = other.R[slide.first] @ slide.step
            yield _event(scene, one, slide, in_root, f' against {other.name}')


def _moves_against(scene: Scene, sole: _Sole, slide: _Slide, soles: Sequence[_Sole]) -> list[bool]:
    """For each other foot that stands during a slide, whether the sole moves against it.

    Against a point as seen along the axes of the world, if the root is oriented in it.
    """
    rows = slice(slide.first, slide.last + 1)
    first, last = np.array([0]), np.array([slide.last - slide.first])
    moves = []
    for other in soles:
        if other is sole or not other.firm[rows].all():
            continue
        if other.is_point:
            world_R_root = scene.evaluation.world_R_root
            if world_R_root is None:
                continue
            ends = [slide.first, slide.last]
            apart = rotated(world_R_root[ends], sole.p[ends] - other.p[ends])
            moves.append(bool(np.linalg.norm(apart[1] - apart[0]) >= MOVES * slide.size))
        else:
            (way,) = _ways(*sole.seen_from(other, rows), first, last, sole.lever)
            moves.append(bool(np.linalg.norm(way[[0, 1, 3]]) >= MOVES * slide.size))
    return moves


def _lever(scene: Scene, sole: Array) -> float:
    """Half the length of a sole (K, V, 3) [m]."""
    finite = scene.columns.by_blocks(
        len(sole), lambda rows: np.isfinite(sole[rows].sum(axis=(1, 2)))
    )
    known = sole[np.flatnonzero(finite)[:1]]
    if not known.size:
        return 0.0
    return float(np.linalg.norm(known[0, :, None] - known[0, None], axis=2).max()) / 2


def _by_blocks(
    scene: Scene, function: Callable[[slice], tuple[Array, Array]]
) -> tuple[Array, Array]:
    """Compute poses (K, 3, 3), (K, 3) from a function of some rows."""
    R, p = scene.columns.by_blocks(len(scene.loaded), function)
    return R, p


def _slides(scene: Scene, R: Array, p: Array, on: Flags, lever: float) -> Iterator[_Slide]:
    """Find slips of a sole by its pose (K, 3, 3), (K, 3) in a frame, where `on` (K,) holds."""
    timeline = scene.timeline
    usable: Flags = on & scene.columns.by_blocks(
        len(on), lambda rows: finite_rows(p[rows]) & np.isfinite(R[rows].sum(axis=(1, 2)))
    )
    first, stop = timeline.runs(usable)
    if not len(first):
        return

    def motion(rows: slice) -> tuple[Array, Array]:
        """(S,) motion within `WITHIN` along the normal, and along the ground [m]."""
        at = np.flatnonzero(usable[rows]) + rows.start
        run = np.searchsorted(first, at, side='right') - 1
        time = timeline.time[at]
        before = np.searchsorted(timeline.time, time - WITHIN / 2)
        after = np.searchsorted(timeline.time, time + WITHIN / 2, side='right')
        before, after = np.maximum(before, first[run]), np.minimum(after, stop[run]) - 1
        ways = _ways(R, p, before, after, lever)
        normal, along = np.full((2, rows.stop - rows.start), np.nan)
        normal[at - rows.start] = np.abs(ways[:, 2])
        along[at - rows.start] = np.linalg.norm(ways[:, [0, 1, 3]], axis=1)
        return normal, along

    normal, along = scene.columns.by_blocks(len(on), motion)
    least = max(LEAST_DISTANCE, RATIO * percentile(normal, NEARLY_ALL))
    far = np.nan_to_num(along) >= least
    for begin, end in zip(first.tolist(), stop.tolist(), strict=True):
        rows = np.flatnonzero(far[begin:end]) + begin
        apart = np.flatnonzero(np.diff(timeline.time[rows]) > WITHIN / 2) + 1
        for run in np.split(rows, apart) if len(rows) else ():
            reach = timeline.time[run[[0, -1]]] + np.array([-WITHIN, WITHIN]) / 2
            first_row, stop_row = np.searchsorted(timeline.time, reach).tolist()
            near = max(begin, first_row), min(end - 1, stop_row)
            from_, to = _bounds(R, p, lever, near)
            (way,) = _ways(R, p, np.array([from_]), np.array([to]), lever)
            distance, turned = float(np.hypot(way[0], way[1])), abs(float(way[3]))
            yield _Slide(from_, to, p[to] - p[from_], distance, turned)


def _ways(R: Array, p: Array, before: Indices, after: Indices, lever: float) -> Array:
    """(N, 4) ways in the sole's axes from rows to later rows, then its turn times the lever."""
    first, last = R[before], R[after]
    way = rotated_back(first, p[after] - p[before])
    x, y = (rotated_back(first[:, :, :2], last[:, :, axis]) for axis in (0, 1))
    angle = np.arctan2(x[:, 1] - y[:, 0], x[:, 0] + y[:, 1])
    return np.column_stack([way, lever * angle])


def _bounds(R: Array, p: Array, lever: float, near: tuple[int, int]) -> tuple[int, int]:
    """Rows between which the sole covers the way to where it is farthest from where it was.

    That is within the rows from `near[0]` to `near[1]`; it may come back.
    """
    rows = np.arange(near[0], near[1] + 1)
    gone = _ways(R, p, np.full(len(rows), near[0]), rows, lever)[:, [0, 1, 3]]
    gone = gone[: int(np.argmax(np.einsum('ij,ij->i', gone, gone))) + 1]
    share = gone @ gone[-1] / max(float(gone[-1] @ gone[-1]), 1e-12)
    begin = int(np.flatnonzero(share <= 0.1)[-1])
    end = begin + int(np.flatnonzero(share[begin:] >= 0.9)[0])
    return int(rows[begin]), int(rows[end])


def _event(scene: Scene, sole: _Sole, slide: _Slide, in_root: Array, against: str) -> Event:
    """Describe a slip by its way (3,) in root axes [m]."""
    begin, end = scene.timeline.time[[slide.first, slide.last]].tolist()
    level = scene.seen_ahead(in_root[None], slice(slide.first, slide.first + 1))[0, :2]
    how = f'slides {where_to(level)}{against}'
    if slide.turned > slide.distance:
        how = f'turns{against} on the ground, its ends'
    sentence = f'{sole.name} {how} by {mm(slide.size)} in {seconds(end - begin)}'
    return Event(begin, end, 'slip', sentence, sole.name, slide.size, 'm')
