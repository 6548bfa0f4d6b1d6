"""Legs or foot sensors that are exchanged, joints of the other sign: which order fits physics.

The IZMP does not leave the feet that touch the ground, a foot in the air carries nothing, a sole
that carries load does not tilt, and the forces of feet that are balls act where the IZMP is. Where
the recording contradicts that for long, it is seen through other orders of the legs, of their
joints and foot sensors, and through other signs of joints. Those that fit are named. Feet are
lifted against where they stand themselves, and tilt against their own mean, so a slope is no
contradiction, and a constant tilt of the IMU is granted to every order.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations, permutations, product
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags
from izmp_dynamics.base.finding import Finding, warning
from izmp_dynamics.model.body_layout import DRIVER
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.clearance import (
    CLEARANCE_BY_JOINTS,
    lowest_above,
    shows_plane,
)
from izmp_dynamics.stability.ground_plane import joined_corners
from izmp_dynamics.stability.support_polygon import write_margins

SAMPLES, ENOUGH = 400, 50
"""Instants that are looked at, at most and at least."""

LIFTED = 0.008
"""A foot that is so much higher than where it stands is in the air [m]."""

TURN = 2.0 * np.pi
"""A joint that is farther beyond its limits is in another unit or broken, not exchanged [rad]."""

TILT = float(np.radians(2.5))
"""Of the mounting of the IMU, which says nothing about the order [rad]."""

TILTED = float(np.radians(1.0))
"""Mean tilt of a sole that carries load, about its own mean, that contradicts an order [rad]: at
its ends a sole of 0.2 m yields less than the 2 mm that this is."""

OUTSIDE = 0.015
"""Mean distance of the IZMP from the feet, or the CoP, that contradicts an order [m]."""

LOADED = 0.35
"""Share of the time in the air in which sensors measure load that contradicts it [-].

Of four feet, one exchanged pair makes half of it wrong.
"""

EXPLAINED = 0.3
"""Part of a contradiction that may be left in an order that fits [-]."""

SAME = 0.3
"""Contradictions that differ by less count as equal [-]."""

MOST_FEET, MOST_NAMED = 4, 4

LARGE_SHARE = 0.7
"""A foot in the air cannot measure this share of what it and a foot on the ground measure [-]."""

AGAINST = -0.7
"""Correlation of the feet's shares and the place of the IZMP that means exchanged feet [-]."""

LEAST_SHIFT = 0.03
"""Standard deviation of the shares from which on that correlation means something [-]."""

WHOLLY = 0.2
"""Part of a smaller one by which IZMP and shares may differ if it means something, too [-]."""

LEAST_TIME = 0.3
"""Time in the air that is needed to judge a foot [s]."""

LEAST_LOAD = 0.1
"""Share of the load that these two must measure, or one of them may be about to step [-]."""


class _Order(NamedTuple):
    """Whose position each joint has, whose sensor each foot, the joints' signs; and in words."""

    joints: tuple[int, ...]
    feet: tuple[int, ...]
    signs: Array
    words: str


class _Legs:
    """What is needed of an evaluation, at S instants."""

    def __init__(self, evaluation: Evaluation, stands: Flags | slice) -> None:
        motion = evaluation.motion
        assert motion is not None
        self.model, self.feet = motion.model, evaluation.feet
        few = np.unique(np.linspace(0, len(motion.stamps) - 1, SAMPLES).astype(int))
        rows = np.searchsorted(evaluation.stamps, motion.stamps[few])
        on = np.zeros(len(evaluation.stamps), np.bool_)
        on[stands] = True
        up = evaluation.normal if evaluation.up is None else evaluation.up
        point = evaluation.tracks['mr_ad'].point
        places = point[rows] + up[rows] + sum(foot.sole[rows].sum(axis=1) for foot in self.feet)
        low, high = self.model.position_lower - TURN, self.model.position_upper + TURN
        q = motion.positions[few]
        known = on[rows] & ((q >= low) & (q <= high)).all(axis=1) & np.isfinite(places).all(axis=1)
        rows, self.q = rows[known], q[known]
        self.up, self.point, self.com = up[rows], point[rows], self.model.com(self.q)
        self.loaded = np.stack([foot.loaded[rows] for foot in self.feet], axis=1)
        self.measured = all(foot.measured for foot in self.feet)
        self.forces = np.stack([foot.normal_force[rows] for foot in self.feet], axis=1)
        flat = any(foot.sole.shape[1] > 1 for foot in self.feet)
        self.tilts = flat and evaluation.up is not None  # else up is what the soles say
        self.alone = self.measured and not (flat and np.isfinite(self.forces).any())
        self.soles = []
        for foot in self.feet:
            R, p = self.model.frame_pose(foot.frame, self.q)
            local = np.einsum('sij,svi->svj', R, foot.sole[rows] - p[:, None])
            self.soles.append(0.0 * local if foot.sole.shape[1] == 1 else local)  # a ball's centre
        self.chains = [
            [int(self.model.joints[body, DRIVER]) for body in self.model.chain(foot.frame)]
            for foot in self.feet
        ]

    @cached_property
    def shifts(self) -> Array:
        """By how much the IZMP may be off everywhere (P, S, 3) [m]."""
        x = np.array([1.0, 0.0, 0.0]) - self.up[:, :1] * self.up
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        reach = np.tan(TILT) * np.median(np.einsum('si,si->s', self.up, self.com - self.point))
        y, parts = np.cross(self.up, x), product((0.0, -0.5, 0.5, -1.0, 1.0), repeat=2)
        return np.stack([reach * (a * x + b * y) for a, b in parts])

    def contradiction(self, order: _Order) -> Array:
        """(4,) how far an order is from physics, 1: too far: by IZMP, load, CoP and tilt."""
        q = self.q[:, list(order.joints)] * order.signs
        loaded = self.loaded[:, list(order.feet)]
        soles, heights, tilts = [], np.empty((len(q), len(self.feet))), [0.0]
        for k, (foot, local) in enumerate(zip(self.feet, self.soles, strict=True)):
            R, p = self.model.frame_pose(foot.frame, q)
            soles.append(p[:, None] + np.einsum('sij,svj->svi', R, local))
            heights[:, k] = np.einsum('svi,si->sv', soles[k], self.up).min(axis=1)
            if self.tilts and np.count_nonzero(loaded[:, k]) >= ENOUGH // 5:
                up = np.einsum('sji,sj->si', R[loaded[:, k]], self.up[loaded[:, k]])
                tilts.append(float(np.linalg.norm(up - up.mean(axis=0), axis=1).mean()))
        heights -= np.percentile(heights, 20.0, axis=0)
        touches = heights <= heights.min(axis=1, keepdims=True) + LIFTED
        corners, foot_of = joined_corners(tuple(soles))
        points = self.point + self.model.com(q) - self.com + self.shifts
        margins = np.empty(points.shape[:2])
        write_margins(points, corners, foot_of, touches, self.up, 1, margins)
        outside = np.maximum(-margins, 0.0).mean(axis=1).min()
        air = ~touches
        counts = self.measured and air.sum() >= ENOUGH // 5
        share = (air & loaded).sum() / air.sum() if counts else 0.0
        gap = self._gap(points, np.stack(soles, axis=1), self.forces[:, list(order.feet)])
        return np.array([outside / OUTSIDE, share / LOADED, gap / OUTSIDE, max(tilts) / TILTED])

    def _gap(self, points: Array, soles: Array, forces: Array) -> float:
        """Least mean distance [m] of IZMPs (P, S, 3) and CoP; 0 where feet are no balls."""
        total = forces.sum(axis=1)
        known = total > 0.0  # not of NaN, so of no flag
        if soles.shape[2] > 1 or np.count_nonzero(known) < ENOUGH:
            return 0.0
        cop = np.einsum('sf,sfi->si', forces[known], soles[known, :, 0]) / total[known, None]
        off = points[:, known] - cop
        off -= np.einsum('psi,si->ps', off, self.up[known])[..., None] * self.up[known]
        return float(np.linalg.norm(off, axis=2).mean(axis=1).min())

    def orders(self) -> Iterator[_Order]:
        """Other orders of the legs, simple ones first, of their joints, and signs of these."""
        same, plain = tuple(range(len(self.feet))), np.ones(self.q.shape[1])
        columns = tuple(range(self.q.shape[1]))
        names = [foot.name for foot in self.feet]
        swaps = list(combinations(same, 2))
        twice = [pair for pair in combinations(swaps, 2) if len({*pair[0], *pair[1]}) == 4]
        for pairs in [*((swap,) for swap in swaps), *twice]:
            legs = _swapped(same, pairs)
            joints = _swapped(columns, [
                both for a, b in pairs for both in zip(self.chains[a], self.chains[b], strict=True)
            ])  # fmt: skip
            words = ', '.join(f'{names[a]} with {names[b]}' for a, b in pairs)
            if self.alone:  # those with forces and flat soles are compared by their steps
                yield _Order(columns, legs, plain, f'the foot sensors are exchanged: {words}')
            yield _Order(joints, same, plain, f'the joints of the legs are exchanged: {words}')
            if self.measured:
                both = f'the joints of the legs and the foot sensors are exchanged: {words}'
                yield _Order(joints, legs, plain, both)
        for a, b in combinations(zip(*self.chains, strict=True), 2):
            each = list(dict.fromkeys(zip(a, b, strict=True)))
            words = ', '.join(' with '.join(self.model.joint_names[k] for k in p) for p in each)
            yield _Order(_swapped(columns, each), same, plain, f'joints are exchanged: {words}')
        for chain in zip(*self.chains, strict=True):
            for some in (chain, chain[::2], chain[1::2]):
                signs = plain.copy()
                signs[list(some)] = -1.0
                words = ', '.join(self.model.joint_names[joint] for joint in dict.fromkeys(some))
                yield _Order(columns, same, signs, f'the sign is reversed: {words}')


def _swapped(order: tuple[int, ...], pairs: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    others = dict(pairs)
    others |= {b: a for a, b in others.items()}
    return tuple(others.get(k, k) for k in order)


def legs_findings(evaluation: Evaluation, stands: Flags | slice) -> Iterator[Finding]:
    """Find legs that are exchanged, and joints whose sign is the other one.

    Args:
        evaluation: of a recording.
        stands: (K,) where the robot stands, so that the ground carries it.
    """
    feet = evaluation.feet
    if (
        evaluation.motion is None
        or not len(evaluation.motion.stamps)
        or 'mr_ad' not in evaluation.tracks
        or not 2 <= len(feet) <= MOST_FEET
        or any(foot.held_joints or not foot.frame for foot in feet)
    ):
        return
    legs = _Legs(evaluation, stands)
    if len(legs.q) < ENOUGH or len({len(chain) for chain in legs.chains}) > 1:
        return
    same, joints = tuple(range(len(feet))), tuple(range(legs.q.shape[1]))
    stated = legs.contradiction(_Order(joints, same, np.ones(len(joints)), ''))
    if stated.max() < 1.0:
        return
    left = [(legs.contradiction(order).max(), order) for order in legs.orders()]
    least = min(size for size, _ in left)
    if least > EXPLAINED * stated.max():
        return
    fits = [order for size, order in left if size <= 1.5 * least + SAME]
    by = int(stated.argmax()) if stated[0] < 1.0 else 0
    why = (
        f'according to the joints, the IZMP is {1e3 * OUTSIDE * stated[0]:.0f} mm outside the '
        'feet that touch',
        'feet that are in the air according to the joints are measured to be loaded for '
        f'{LOADED * stated[1]:.0%} of that time',
        f'the CoP of the foot sensors is {1e3 * OUTSIDE * stated[2]:.0f} mm from the IZMP',
        'according to the joints, soles that carry load tilt by '
        f'{np.degrees(TILTED * stated[3]):.1f}° on average',
    )[by]
    fit = f'It would fit if {"; or if ".join(order.words for order in fits[:MOST_NAMED])}.'
    of_sensors = [order.joints == joints and order.feet != same for order in fits]
    if all(of_sensors):
        yield warning(
            'feet_exchanged',
            f'The order of the foot sensors contradicts physics: {why}. {fit}',
            'Compare topics and fields under feet in the robot file with the messages.',
            data={'follows': -1.0},
        )
        return
    both = ', or the order of the foot sensors,' if any(of_sensors) else ''
    yield warning(
        'legs_exchanged',
        f'The order or the signs of the joints{both} contradict physics: {why}. {fit}',
        'Compare the names of the joints with the order in the messages (joints.names), and the '
        "signs and zeros with the driver's.",
    )


def sensors_exchanged(
    evaluation: Evaluation, total: Array, stands: Flags | slice
) -> Iterator[Finding]:
    """Find two feet whose sensors are each other's: by steps, or by the shift of weight.

    Steps show it of robots with any number of feet, if joints and flat soles show which foot is in
    the air; the shift of weight only of bipeds, as the place of the IZMP does not determine how
    more than two feet share the load, and only while the robot stands: one that falls over an
    edge may shift it either way.
    """
    feet = evaluation.feet
    step = usual_step(evaluation)
    raised = {foot.name: in_air(evaluation, foot) for foot in feet}
    stepped, found = False, ('', '', 0.0)
    for pair in combinations(feet, 2):
        shares = []
        for one, other in permutations(pair):
            both = one.normal_force + other.normal_force
            with np.errstate(invalid='ignore'):
                rows = raised[one.name] & ~raised[other.name] & (both > LEAST_LOAD * total)
            if np.count_nonzero(rows) * step >= LEAST_TIME:
                share = float(np.median(one.normal_force[rows] / both[rows]))
                shares.append((one.name, other.name, share))
        stepped |= bool(shares)
        if shares and min(share for _, _, share in shares) >= 1.0 - LARGE_SHARE:
            largest = max(shares, key=lambda entry: entry[2])
            if largest[2] >= LARGE_SHARE and largest[2] > found[2]:
                found = largest
    name, of, most = found
    if name:
        why = (
            f"while foot '{name}' is in the air, its sensor measures {most:.0%} of what both "
            'measure'
        )
    follows = _load_follows(evaluation, *feet, stands) if len(feet) == 2 else float('nan')
    if name and follows > 0.0:
        return  # a heel that rises is no foot in the air
    if not name and not stepped and follows < AGAINST:
        name, of = (foot.name for foot in feet)
        why = 'their load shifts against the IZMP'
    if not name:
        return
    yield warning(
        'feet_exchanged',
        f'The force sensors of the feet {name} and {of} seem to be exchanged: {why}.',
        f'Exchange feet[{name}].wrench.topic and feet[{of}].wrench.topic (and frame), if their '
        'legs are not exchanged in the URDF.',
        data={'feet': (name, of), 'follows': follows},
    )


def usual_step(evaluation: Evaluation) -> float:
    """Median time between instants [s]; 0 where there is none."""
    steps = np.diff(evaluation.stamps)
    return float(np.median(steps)) / NANOSECONDS if len(steps) else 0.0


def in_air(evaluation: Evaluation, foot: Foot) -> Flags:
    """(K,) whether the joints hold a foot above the soles of all others.

    Not known, so False, where the others touch the ground with points that have no plane, and
    where a joint between the root and a sole is not known.
    """
    others = [
        (other.sole, other.axes)
        for other in evaluation.feet
        if other is not foot
        and other.axes is not None
        and shows_plane(other.sole)
        and not (other.held_joints or foot.held_joints)
    ]

    def above_all(rows: slice) -> Flags:
        above = np.full(rows.stop - rows.start, bool(others))
        for sole, axes in others:
            height = lowest_above(foot.sole[rows], sole[rows].mean(axis=1), axes[rows, :, 2])
            with np.errstate(invalid='ignore'):
                above &= height > CLEARANCE_BY_JOINTS
        return above

    return np.asarray(evaluation.columns.by_blocks(len(evaluation.stamps), above_all))


def _load_follows(evaluation: Evaluation, one: Foot, other: Foot, stands: Flags | slice) -> float:
    """Correlation of the feet's shares and the place of the IZMP between them; NaN if unknown."""
    track = evaluation.tracks.get('mr_ad')
    if track is None:
        return float('nan')
    across = one.sole.mean(axis=1) - other.sole.mean(axis=1)
    length = np.einsum('ki,ki->k', across, across)
    with np.errstate(invalid='ignore', divide='ignore'):
        place = np.einsum('ki,ki->k', track.point - other.sole.mean(axis=1), across) / length
        share = one.normal_force / (one.normal_force + other.normal_force)
    place, share = place[stands], share[stands]
    known = np.isfinite(place + share) & (np.abs(share) < 10.0)
    place, share = place[known], share[known]
    if len(share) < 10:
        return float('nan')
    shift, apart = np.std(share), min(np.std(place - share), np.std(place + share))
    if shift < LEAST_SHIFT and not apart < WHOLLY * shift:
        return float('nan')
    return float(np.corrcoef(place, share)[0, 1])
