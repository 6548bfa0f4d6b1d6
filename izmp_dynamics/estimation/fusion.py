"""Contact wrench and external wrench as one estimate, from motion and feet, with covariances.

MR-AD measures the contact wrench c with a bias b of the model and what pushes the robot besides,
x; the sensors of the feet measure c with an offset o_f each, in the axes of the sensor:

    m = c + b + x + ε_m,    f = c + Σ T_f o_f + ε_f,    T_f: from the sensor's axes to the root's

b and o are slow random walks (Kalman 1960): half seconds at rest, x = 0, measure
b − Σ T_f o_f by the gap m − f, swings measure o_f (`pipeline.unloaded`); until its first swing a
foot counts as it is, and the doubt about it stays in the covariance P (Schmidt 1966). The best
combination of both at rest, as far as noise goes, is (Bar-Shalom, Estimation with Applications to
Tracking and Navigation, 2001, sect. 8.3.3)

    ĉ = f − Σ T_f o_f + K r,    r = m − b − f + Σ T_f o_f,    K = −cov(ε_f, ε_m − ε_f) S⁻¹
    cov ĉ = C − K Dᵀ − D Kᵀ + K S Kᵀ

with C the covariance of the corrected feet, S that of r and −D that of both; in a push
ĉ = f − Σ T_f o_f, and x = r in any case. c has no dynamics: there is no delay.

An r that is no noise by S and no push, rᵀ S⁻¹ r > 36, is of an impact that the samples do not
resolve. All that is near it errs as well, and how much of that is common to motion and feet is not
known, so for `FAST` seconds ĉ = f − Σ T_f o_f, S counts s = rᵀ S⁻¹ r / 6 times by the largest r
(variance factor, Förstner 1979), and C is larger by (s − 1) S. A push that begins or ends moves r
along a line; in a push r counts from the line through those of the last `SPANS[1]` seconds.

The joints move the mass below the sensors of the feet, too, so ε_f is mostly the noise of the same
encoders as ε_m, and r shows a part of it. The covariance of (ε_m, ε_f) is what the pipeline
predicts, times the factor by which r scatters less. What readings scatter more in swings is noise
of their sensors; what r scatters beyond both is of the model, so of MR-AD.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Indices, Stamps, finite_rows
from izmp_dynamics.base.robust import MAD_TO_SIGMA
from izmp_dynamics.estimation.push import LEAST_PART, NO_NOISE, Mask

CELL = NANOSECONDS // 2
"""Time between two updates of the biases [ns]."""

SHIFT = 0.005
"""Prior standard deviation of biases: by how much they shift the CoP of the weight [m]. That of
forces is LEAST_PART of the weight."""

RANDOM_WALK = 3600.0
"""Biases are random walks: after this time their standard deviation is the prior one [s]."""

WARM = 4
"""Cells at the beginning in which no push is seen, as no bias is known."""

KEPT = 120
"""Cells of which the scatter is known."""

USUAL = 60
"""Cells from which on means of r as they are in half of all cells are no push, but the model."""

SPANS = (0.02, 0.1, CELL / NANOSECONDS)
"""Time over which r is averaged to see whether it is a push [s]."""

MOST_PUSHED = 0.1
"""Part of a cell at rest in which r may be large, as when a foot lands [-]."""

MOST_NOISE = 2.0
"""Variance of fast r over the predicted one from which on the rest is an error of the model."""

FAST = 0.05
"""What differs from instants so long before and after it is fast, as noise and impacts are [s]."""

ASSUMED = 6.0
"""The assumed random walk counts as so many measured changes of forces, and of moments."""

_EXACT = 0.003  # part of the prior standard deviation that no scatter is below
_FEWEST = 4  # instants of a cell
_OUTLYING = 3.0  # cells that scatter by more times the median tell nothing


@dataclass(frozen=True)
class Fused(Record):
    """Both wrenches at K instants, about the root origin in root axes; NaN: not known.

    Attributes:
        contact: (K, 6) between ground and feet [N, N·m].
        covariance: (K, 6, 6) of it.
        external: (K, 6) of all else [N, N·m].
        external_covariance: (K, 6, 6) of it.
        pushed: (K,) whether the external wrench is no noise.
        changes: (K,) whether the covariances differ from those before.
        point_covariance: (K, 3, 3) of the IZMP that follows from `contact` [m²]; None: not known.
    """

    contact: Array
    covariance: Array
    external: Array
    external_covariance: Array
    pushed: Mask
    changes: Mask
    point_covariance: Array | None = None


class Seen(NamedTuple):
    """What is measured at K instants of one cell.

    Attributes:
        stamps: (K,) [ns].
        moved: (K, 6) contact wrench by MR-AD about the root origin, in root axes [N, N·m].
        feet: (K, F, 6) on each foot by its sensor, likewise.
        maps: (K, F, 6, 6) T_f, of wrenches in the frames of the sensors.
    """

    stamps: Stamps
    moved: Array
    feet: Array
    maps: Array


@dataclass(frozen=True)
class Swing:
    """A foot in the air.

    Attributes:
        excess: (6,) median of what the sensor reads without load, corrected, in the axes of its
            frame [N, N·m].
        duration: time that it is the median of [s].
        lasts: whether the foot is still in the air.
        scatter: (6, 6) of the single readings about it.
        noise: (6, 6) of the median, if errors are independent but for the filter.
        end: the last instant of that time [ns].
    """

    excess: Array
    duration: float
    lasts: bool
    scatter: Array
    noise: Array
    end: int


class _Rows(NamedTuple):
    """Instants of the present cell."""

    stamps: Stamps
    gap: Array
    maps: Array
    external: Array
    pushed: Mask


class _Cell(NamedTuple):
    scatter: Array  # (6, 6) of r
    noise: Array  # (6, 6) the part of it that is fast
    squares: Array  # (3, 3) mean squares of the means of the forces over `SPANS`
    change: Array  # (6,) half the square by which the mean gap differs from that before
    level: Array  # (6,) mean of r
    instants: int


class Fusion:
    """Fuses the instants of a robot, cell by cell: first `turn`, then `fuse` any number of times.

    Args:
        weight: of the robot [N].
        feet: their number F.
    """

    def __init__(self, weight: float, feet: int) -> None:
        self._sigma = weight * np.repeat([LEAST_PART, SHIFT], 3)
        self._prior = np.diag(np.tile(self._sigma**2, 1 + feet))
        self.bias = np.zeros(6 * (1 + feet))
        self.spread = self._prior
        self._cells: deque[_Cell] = deque(maxlen=KEPT)
        self._predicted: deque[Array] = deque(maxlen=KEPT)
        self._swings: dict[int, Array] = {}
        self._compared = np.full((2, 2), ASSUMED)
        self._closed = 0
        self._rows: list[_Rows] = []
        self._waiting: tuple[Array, Array] | None = None
        self._before: Array | None = None
        self._times = np.empty(0, np.int64)
        self._values, self._pushes = np.empty((0, 6)), np.empty(0, np.bool_)
        self._turned, self._state = False, 0
        self._scattered = self._scatter()
        self._combine(np.tile(np.eye(6), (feet, 1, 1)))

    def turn(self, predicted: Array, maps: Array, swings: Iterable[tuple[int, Swing]]) -> None:
        """Learn from the instants since the last call, and begin another cell.

        Args:
            predicted: (12, 12) covariance now of MR-AD's contact wrench and of what the mass below
                the sensors of the feet takes, by the noise of its sensors; NaN: not known.
            maps: (F, 6, 6) T_f now.
            swings: those that ended meanwhile, each with the number of its foot.
        """
        self._close()
        for foot, swing in swings:
            rows = slice(6 * (1 + foot), 6 * (2 + foot))
            H = np.eye(len(self.bias))[rows]
            if foot in self._swings:
                change = swing.excess - H @ self.bias
                self._compare(change, H @ self.spread @ H.T + swing.noise)
            self._swings[foot] = swing.scatter
            self._learn(H, swing.excess, swing.noise)
        if self._closed and np.isfinite(predicted).all():  # live, no rate is known before
            self._predicted.append(predicted)
        if np.isfinite(maps).all():
            self._combine(maps)
        self._turned = True

    def fuse(self, seen: Seen) -> Fused:
        """Estimate both wrenches at K instants of the present cell."""
        offsets = self.bias[6:].reshape(-1, 6)
        measured = seen.feet.sum(axis=1)
        feet = measured - np.einsum('kfij,fj->ki', seen.maps, offsets)
        external = seen.moved - self.bias[:6] - feet
        pushed, factor = self._judged(seen.stamps, external)
        self._rows.append(_Rows(seen.stamps, seen.moved - measured, seen.maps, external, pushed))
        at_rest, of_feet, of_external = self._covariances
        odd = factor > 1.0
        state = pushed + 2 * odd
        changes = odd | (np.diff(state, prepend=self._state) != 0)
        changes[0] |= self._turned
        self._turned, self._state = False, int(state[-1])
        alone = (pushed | odd)[:, None]
        more = (factor - 1.0)[:, None, None] * of_external
        return Fused(
            feet + np.where(alone, 0.0, external @ self._gain.T),
            np.where(alone[:, None], of_feet, at_rest) + more,
            external,
            of_external + more,
            pushed,
            changes,
        )

    def _combine(self, maps: Array) -> None:
        """Find gain and covariances for maps (F, 6, 6)."""
        M, units = np.concatenate(maps, axis=1), self._sigma**2
        drift = np.tile(np.repeat(self._compared[0] / self._compared[1], 3), 1 + len(maps))
        P = self.spread * np.sqrt(np.outer(drift, drift))
        least = np.diag((_EXACT * self._sigma) ** 2)
        noise = np.mean(self._predicted, axis=0) if self._predicted else np.zeros((12, 12))
        moved, feet, both = noise[:6, :6], noise[6:, 6:], noise[6:, :6]
        swings = sum((maps[k] @ s @ maps[k].T for k, s in self._swings.items()), least)
        feet = feet + swings * max(0.0, 1.0 - _size(feet, units) / _size(swings, units))
        known, (scatter, fast) = moved + feet - both - both.T, self._scattered
        part = _size(fast, units) / _size(known, units)
        factor = min(part, MOST_NOISE)
        rest = _positive(scatter - factor / part * fast, self._sigma)
        H = np.concatenate([np.eye(6), -M], axis=1)
        S = factor * known + rest + H @ P @ H.T
        C = factor * feet + M @ P[6:, 6:] @ M.T
        D = C - factor * both - M @ P[6:, :6]
        K = np.linalg.solve(S, factor * (feet - both).T).T
        self._gain = K
        self._covariances = C - K @ D.T - D @ K.T + K @ S @ K.T, C, S
        floor = (self._sigma[:3] / NO_NOISE) ** 2 + np.diag(H @ P @ H.T)[:3]
        usual = np.zeros((len(SPANS), 3))
        if self._cells:
            squares = np.median([cell.squares for cell in self._cells], axis=0)
            usual = squares + self._wander()[:3]
        self._limits = np.sqrt(floor + usual)

    def _compare(self, change: Array, covariance: Array) -> None:
        """Compare by how much an offset (6,) has changed with the covariance (6, 6) of that."""
        for k, rows in enumerate((slice(3), slice(3, 6))):
            solved = np.linalg.solve(covariance[rows, rows], change[rows])
            self._compared[:, k] += change[rows] @ solved, 3.0

    def _scatter(self) -> tuple[Array, Array]:
        """(6, 6) covariance of r in the last cells, and its part that is noise."""
        least = np.diag((_EXACT * self._sigma) ** 2)
        if not self._cells:
            unknown = least + np.diag((self._sigma / NO_NOISE) ** 2)
            return unknown, unknown
        scatters = np.array([cell.scatter for cell in self._cells])
        sizes = np.trace(scatters / np.outer(self._sigma, self._sigma), axis1=1, axis2=2)
        usual = sizes <= _OUTLYING * np.median(sizes)
        fast = np.array([cell.noise for cell in self._cells])[usual].mean(axis=0)
        slow = np.diag(self._wander())
        return least + scatters[usual].mean(axis=0) + slow, least + fast

    def _wander(self) -> Array:
        """(6,) variance of the mean of r beyond that of its changes, as where the posture does."""
        if len(self._cells) < USUAL:
            return np.zeros(6)
        changes, levels = (np.array(part) for part in [*zip(*self._cells, strict=True)][3:5])
        spread = (MAD_TO_SIGMA * np.median(np.abs(levels), axis=0)) ** 2
        return np.asarray(np.maximum(0.0, spread - np.median(changes, axis=0)))

    def _judged(self, stamps: Stamps, external: Array) -> tuple[Mask, Array]:
        """Of external wrenches (K, 6): whether they are a push (K,), and the variance factor (K,).

        Both follow from the instants up to each; NaN where the wrench is not known.
        """
        known, before = finite_rows(external), len(self._times)
        times = np.concatenate([self._times, stamps[known]])
        values = np.concatenate([self._values, external[known]])
        pushed, factor = np.zeros(len(stamps), np.bool_), np.full(len(stamps), np.nan)
        ends, large = np.arange(before, len(times)), np.zeros(len(times) - before, np.bool_)
        sums = np.vstack([np.zeros(6), np.cumsum(values, axis=0)])

        def begins(span: float) -> Indices:
            return np.asarray(np.searchsorted(times, times[ends] - round(span * NANOSECONDS)))

        if self._closed >= WARM:
            for span, sigma in zip(SPANS, self._limits, strict=True):
                first = begins(span)
                means = (sums[ends + 1] - sums[first])[:, :3] / (ends + 1 - first)[:, None]
                large |= (first < ends) & (np.linalg.norm(means / sigma, axis=1) >= NO_NOISE)
        pushed[known] = large
        pushes = np.concatenate([self._pushes, large])
        first = np.where(large, begins(SPANS[1]), begins(FAST))
        white = np.linalg.solve(np.linalg.cholesky(self._covariances[2]), values.T).T
        worst = np.array(
            [
                _unexplained(white[a:b], bool(pushes[a:b].any()))
                for a, b in zip(first, ends + 1, strict=True)
            ]
        )
        factor[known] = np.where(worst > NO_NOISE**2, worst / 6.0, 1.0)
        if len(times):
            kept = times > times[-1] - CELL
            self._times, self._values, self._pushes = times[kept], values[kept], pushes[kept]
        return pushed, factor

    def _close(self) -> None:
        """Learn from the instants of the present cell."""
        self.spread = self.spread + self._prior * (CELL / NANOSECONDS / RANDOM_WALK)
        if not self._rows:
            return
        rows = _Rows(*(np.concatenate(part) for part in zip(*self._rows, strict=True)))
        self._rows = []
        known = finite_rows(rows.external)
        if np.count_nonzero(known) < _FEWEST:
            self._waiting = None
            return
        warm = self._closed < WARM
        calm = rows.pushed[known].mean() <= MOST_PUSHED
        counts = known & ~rows.pushed if calm else known
        left, gap = rows.external[counts], rows.gap[counts].mean(axis=0)
        level = left.mean(axis=0)
        left = left - level
        change = np.zeros(6) if self._before is None else gap - self._before
        scatter = left.T @ left / len(left) + 0.5 * np.outer(change, change)
        noise = _noise(rows.stamps[counts], left)
        changed = 0.5 * change**2
        squares = np.vstack([_squares(rows.stamps[known], rows.gap[known, :3]), changed[:3]])
        self._cells.append(_Cell(scatter, noise, squares, changed, level, len(left)))
        self._closed, self._before, self._scattered = self._closed + 1, gap, self._scatter()
        M = np.concatenate(rows.maps[counts].mean(axis=0), axis=1)
        measured = gap, np.concatenate([np.eye(6), -M], axis=1)
        self._waiting, learned = (measured if calm else None), self._waiting
        if warm:
            self._waiting, learned = None, measured
        if learned is not None and calm:
            fresh = [k for k in range(rows.maps.shape[1]) if k not in self._swings]
            self._learn(learned[1], learned[0], self._mean_scatter(), fresh)

    def _mean_scatter(self) -> Array:
        """(6, 6) covariance of the mean of r over a cell: half the square of its changes."""
        scatter, units = self._scattered[0], self._sigma**2
        if len(self._cells) < 2:
            return scatter
        change = np.mean([cell.change for cell in self._cells], axis=0) * len(self._cells)
        part = np.sum(change / units) / (len(self._cells) - 1) / _size(scatter, units)
        return np.asarray(scatter * min(1.0, max(part, 1.0 / self._cells[-1].instants)))

    def _learn(self, H: Array, value: Array, noise: Array, known: Sequence[int] = ()) -> None:
        """Learn of the biases that H times them was measured, with a noise (6, 6).

        The offsets of the feet `known` count as known: they are not learned, and what they err by
        stays in the covariance (Schmidt 1966).
        """
        P, R = self.spread, noise + np.diag((_EXACT * self._sigma) ** 2)
        rows = [6 + 6 * foot + k for foot in known for k in range(6)]
        given = P - P[:, rows] @ np.linalg.solve(P[np.ix_(rows, rows)], P[rows])
        gain = np.linalg.solve(H @ given @ H.T + R, H @ given).T
        left = np.eye(len(P)) - gain @ H
        self.bias = self.bias + gain @ (value - H @ self.bias)
        self.spread = left @ P @ left.T + gain @ R @ gain.T


def _size(covariance: Array, units: Array) -> float:
    return float(np.sum(np.diag(covariance) / units))


def _unexplained(white: Array, pushed: bool) -> float:
    """The largest square of r (K, 6) in standard deviations; in a push that beside their line."""
    if pushed:
        white = white - white.mean(axis=0)
        white = white @ np.linalg.eigh(white.T @ white)[1][:, :-1]
    return float(np.sum(white**2, axis=1).max())


def _noise(stamps: Stamps, values: Array) -> Array:
    """(6, 6) covariance of what is fast in values (K, 6): of differences of three instants."""
    lag = max(1, round(FAST * NANOSECONDS * (len(stamps) - 1) / float(stamps[-1] - stamps[0])))
    bends = values[2 * lag :] - 2.0 * values[lag:-lag] + values[: -2 * lag]
    return np.asarray(bends.T @ bends / 6.0 / max(len(bends), 1))


def _positive(covariance: Array, sigma: Array) -> Array:
    """What of a difference of covariances (6, 6) is positive, in units of sigma (6,)."""
    sizes, axes = np.linalg.eigh(covariance / np.outer(sigma, sigma))
    axes *= sigma[:, None] * np.sqrt(np.maximum(sizes, 0.0))
    return np.asarray(axes @ axes.T)


def _squares(stamps: Stamps, force: Array) -> Array:
    """(2, 3) mean squares of the means of forces (K, 3) over the shorter `SPANS`."""
    middle, squares = force.mean(axis=0), np.zeros((len(SPANS) - 1, 3))
    step = float(stamps[-1] - stamps[0]) / NANOSECONDS / (len(stamps) - 1)
    for k, span in enumerate(SPANS[:-1]):
        count = min(len(force), max(2, round(span / step)))
        blocks = force[: len(force) // count * count].reshape(-1, count, 3).mean(axis=1)
        squares[k] = np.mean((blocks - middle) ** 2, axis=0)
    return squares
