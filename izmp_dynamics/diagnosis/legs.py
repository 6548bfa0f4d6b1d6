"""Legs or foot sensors that are exchanged, joints of the other sign: which order fits physics.

The IZMP does not leave the feet that touch the ground, a foot in the air carries nothing, and the
forces of feet that are balls act where the IZMP is. Where the recording contradicts that for long,
it is seen through other orders of the legs, of their foot sensors and of both, and through other
signs of joints. Those that fit are named. Feet
are lifted against where they stand themselves, so a slope is no contradiction, and a constant
tilt of the IMU is granted to every order.
"""

from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.model.body_layout import DRIVER
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.stability.ground_plane import joined_corners
from izmp_dynamics.stability.support_polygon import write_margins

SAMPLES, ENOUGH = 400, 50
"""Instants that are looked at, at most and at least."""

LIFTED = 0.008
"""A foot that is so much higher than where it stands is in the air [m]."""

TILT = float(np.radians(2.5))
"""Of the mounting of the IMU, which says nothing about the order [rad]."""

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

Flags = npt.NDArray[np.bool_]


class _Order(NamedTuple):
    """Whose joints each leg has, whose sensor each foot, the signs of the joints; and in words."""

    legs: tuple[int, ...]
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
        known = on[rows] & np.isfinite(motion.positions[few]).all(axis=1)
        known &= np.isfinite(places).all(axis=1)
        rows, self.q = rows[known], motion.positions[few[known]]
        self.up, self.point, self.com = up[rows], point[rows], self.model.com(self.q)
        self.loaded = np.stack([foot.loaded[rows] for foot in self.feet], axis=1)
        self.measured = all(foot.measured for foot in self.feet)
        self.forces = np.stack([foot.normal_force[rows] for foot in self.feet], axis=1)
        flat = any(foot.sole.shape[1] > 1 for foot in self.feet)
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

    def shifts(self) -> Iterator[Array]:
        """By how much the IZMP may be off everywhere (S, 3) [m]."""
        x = np.array([1.0, 0.0, 0.0]) - self.up[:, :1] * self.up
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        reach = np.tan(TILT) * np.median(np.einsum('si,si->s', self.up, self.com - self.point))
        for a, b in product((0.0, -0.5, 0.5, -1.0, 1.0), repeat=2):
            yield reach * (a * x + b * np.cross(self.up, x))

    def contradiction(self, order: _Order) -> Array:
        """(3,) how far an order is from physics, 1: too far: by the IZMP, the load, the CoP."""
        q = self.q.copy()
        for to, of in enumerate(order.legs):
            q[:, self.chains[to]] = self.q[:, self.chains[of]]
        q *= order.signs
        soles, heights = [], np.empty((len(q), len(self.feet)))
        for k, (foot, local) in enumerate(zip(self.feet, self.soles, strict=True)):
            R, p = self.model.frame_pose(foot.frame, q)
            soles.append(p[:, None] + np.einsum('sij,svj->svi', R, local))
            heights[:, k] = np.einsum('svi,si->sv', soles[k], self.up).min(axis=1)
        heights -= np.percentile(heights, 20.0, axis=0)
        touches = heights <= heights.min(axis=1, keepdims=True) + LIFTED
        corners, foot_of = joined_corners(tuple(soles))
        point = self.point + self.model.com(q) - self.com
        points = np.stack([point + shift for shift in self.shifts()])
        margins = np.empty(points.shape[:2])
        write_margins(points, corners, foot_of, touches, self.up, 1, margins)
        outside = np.maximum(-margins, 0.0).mean(axis=1).min()
        air = ~touches
        wrong = air & self.loaded[:, list(order.feet)]
        share = wrong.sum() / air.sum() if self.measured and air.sum() >= ENOUGH // 5 else 0.0
        gap = self._gap(points, np.stack(soles, axis=1), self.forces[:, list(order.feet)])
        return np.array([outside / OUTSIDE, share / LOADED, gap / OUTSIDE])

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
        """Other orders of the legs, simple ones first, and other signs of their joints."""
        same, plain = tuple(range(len(self.feet))), np.ones(self.q.shape[1])
        names = [foot.name for foot in self.feet]
        swaps = list(combinations(same, 2))
        twice = [pair for pair in combinations(swaps, 2) if len({*pair[0], *pair[1]}) == 4]
        for pairs in [*((swap,) for swap in swaps), *twice]:
            swapped = dict(pairs) | {b: a for a, b in pairs}
            legs = tuple(swapped.get(k, k) for k in same)
            words = ', '.join(f'{names[a]} with {names[b]}' for a, b in pairs)
            if self.alone:  # those with forces and flat soles are compared by their steps
                yield _Order(same, legs, plain, f'the foot sensors are exchanged: {words}')
            yield _Order(legs, same, plain, f'the joints of the legs are exchanged: {words}')
            if self.measured:
                both = f'the joints of the legs and the foot sensors are exchanged: {words}'
                yield _Order(legs, legs, plain, both)
        for chain in zip(*self.chains, strict=True):
            for some in (chain, chain[::2], chain[1::2]):
                signs = plain.copy()
                signs[list(some)] = -1.0
                joints = ', '.join(self.model.joint_names[joint] for joint in some)
                yield _Order(same, same, signs, f'the sign is the other one: {joints}')


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
    same = tuple(range(len(feet)))
    stated = legs.contradiction(_Order(same, same, np.ones(legs.q.shape[1]), ''))
    if stated.max() < 1.0:
        return
    left = [(legs.contradiction(order).max(), order) for order in legs.orders()]
    least = min(size for size, _ in left)
    if least > EXPLAINED * stated.max():
        return
    fits = [order for size, order in left if size <= 1.5 * least + SAME]
    by = int(stated.argmax()) if stated[0] < 1.0 else 0
    why = (
        f'by the joints, the IZMP is {1e3 * OUTSIDE * stated[0]:.0f} mm outside the feet that '
        'touch',
        'by the joints, feet in the air are measured to be loaded for '
        f'{LOADED * stated[1]:.0%} of that time',
        f'the CoP of the foot sensors is {1e3 * OUTSIDE * stated[2]:.0f} mm from the IZMP',
    )[by]
    fit = f'It would fit if {"; or if ".join(order.words for order in fits[:MOST_NAMED])}.'
    of_sensors = [order.legs == same and order.feet != same for order in fits]
    if all(of_sensors):
        yield Finding(
            'feet_exchanged',
            'warning',
            f'The order of the foot sensors contradicts physics: {why}. {fit}',
            'Compare topics and fields under feet in the robot file with the messages.',
            data={'follows': -1.0},
        )
        return
    both = ', or the order of the foot sensors,' if any(of_sensors) else ''
    yield Finding(
        'legs_exchanged',
        'warning',
        f'The order or the signs of the joints{both} contradict physics: {why}. {fit}',
        'Compare the names of the joints with the order in the messages (joints.names), and the '
        "signs and zeros with the driver's.",
    )
