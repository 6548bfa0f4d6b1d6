"""What is chosen by motion that is held out: widths of priors, and the items that are needed.

The choice takes some parts of the motion and the blocks of data that it may see. With all of them
it is what is estimated in the end; without one part and its blocks it predicts that part, so that
the errors which a report states are those of motion that chose nothing (nested cross-validation).
Where sets of groups are chosen without a part, they are judged by what the others predict of each
other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.block_sums import BLOCK, Blocks, Total
from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.judged import Judged
from izmp_dynamics.calibration.parameters import (
    LAG,
    LEVEL,
    MATRIX_WIDTHS,
    Layout,
    with_matrix_width,
)
from izmp_dynamics.calibration.pieces import Pieces
from izmp_dynamics.calibration.selection import needed
from izmp_dynamics.calibration.solver import Solution
from izmp_dynamics.calibration.time_blocks import (
    Quadratic,
    deviations,
    estimate_from,
    labels_of,
)
from izmp_dynamics.calibration.validation import (
    FOLDS,
    HeldOut,
    Squares,
    errors,
    folds,
    motion_time,
)

LEAST_INFO = 0.5
"""A parameter with less information in the recording is left as it is [-]."""

LEAST_LAG = 2e-3
"""A gyroscope that is less later than its accelerometer is left as it is [s]."""

WEIGHTS = (30.0, 300.0, 3000.0)
"""λ of the inertias' divergence that are tried; held-out motion chooses."""

MOTION_FOR_WIDTH = 2.0 * FOLDS * BLOCK
"""With less motion the parts that are held out have less than two blocks, and the widest prior of
calibration matrices, which says least, is used [s]."""

ALL = tuple(range(FOLDS))
"""The parts of the motion."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Estimated:
    """An estimate of everything, near which all choices are made.

    Attributes:
        stretches: the recording, with its contacts decided.
        layout: the parameters, with the widest priors.
        solution: their values.
        before: errors on each part of the motion without corrections.
        pieces: the recording in pieces.
    """

    stretches: Sequence[Instants]
    layout: Layout
    solution: Solution
    before: tuple[Squares, ...]
    pieces: Pieces
    _fits: 'dict[tuple[int, ...], Fit]' = field(default_factory=dict, init=False)
    _totals: dict[tuple[int, ...], Total] = field(default_factory=dict, init=False)

    def fit(self, parts: Sequence[int]) -> 'Fit':
        """What these parts of the motion choose and give."""
        key = tuple(parts)
        if key not in self._fits:
            choice = choose_items(self, *choose_priors(self, parts), parts)
            x = estimate_from(
                self.total_of(parts),
                choice.layout,
                self.solution,
                choice.free,
                choice.divergence,
            )
            self._fits[key] = Fit(choice, x)
        return self._fits[key]

    def total_of(self, parts: Sequence[int]) -> Total:
        """The blocks of these parts of the motion together."""
        key = tuple(parts)
        if key not in self._totals:
            self._totals[key] = self.blocks_of(parts).total()
        return self._totals[key]

    @cached_property
    def parts(self) -> list[tuple[Flags, ...]]:
        """Instants (K,) of every stretch that each part of the motion consists of."""
        return folds(self.stretches)

    @cached_property
    def blocks(self) -> Blocks:
        """All data."""
        return self.solution.blocks

    @cached_property
    def judged(self) -> list[Judged]:
        """Residuals on the parts of the motion."""
        return self.pieces.judged(self.solution.point)

    def blocks_of(self, parts: Sequence[int]) -> Blocks:
        """The blocks of these parts of the motion, and of no motion at all."""
        others = [labels_of(self.parts[part]) for part in ALL if part not in parts]
        return self.blocks.without(np.concatenate([np.empty(0, np.int64), *others]))


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes:
        layout: the parameters, with the priors that were chosen.
        divergence: keeps inertias near the URDF's; None if they are not estimated.
        free: (N,) what is estimated.
        sigma: (N,) standard deviations with everything estimated.
        info: (N,) information about each [-]; NaN of inertias.
    """

    layout: Layout
    divergence: Divergence | None
    free: Flags
    sigma: Array
    info: Array

    @property
    def corrected(self) -> Flags:
        """(N,) what the robot file or the URDF takes."""
        return corrected(self.layout, self.free)


@dataclass(frozen=True)
class Fit:
    """What some parts of the motion chose and gave.

    Attributes:
        choice: of priors and items.
        x: (N,) values.
    """

    choice: Choice
    x: Array


def corrected(layout: Layout, free: Flags) -> Flags:
    """(N,) of what is estimated, what the robot file or the URDF takes."""
    kept = [p.group != LEVEL for p in layout.parameters]
    return free & np.array(kept, dtype=np.bool_)


def choose_priors(data: Estimated, parts: Sequence[int] = ALL) -> tuple[Layout, Divergence | None]:
    """The priors that predict these parts of the motion best, each from the others of them."""
    tried = list(_priors(data))
    if len(tried) == 1:
        return tried[0]
    free = np.ones(len(data.layout.parameters), dtype=np.bool_)
    before = HeldOut.of([data.before[part] for part in parts])
    seen = {part: data.total_of([p for p in parts if p != part]) for part in parts}

    def score(priors: tuple[Layout, Divergence | None]) -> float:
        layout, divergence = priors
        after = []
        for part in parts:
            x = Quadratic.of(seen[part], layout, data.solution, divergence).least(free)
            after.append(errors(data.stretches, layout, x, data.parts[part]))
        return HeldOut.of(after).score(before)

    return min(tried, key=score)


def _priors(data: Estimated) -> Iterator[tuple[Layout, Divergence | None]]:
    """What may be chosen."""
    layout = data.layout
    if layout.inertias:
        yield from ((layout, Divergence.of(layout, weight)) for weight in WEIGHTS)
    elif any(p.group == 'ft_matrix' for p in layout.parameters) and (
        motion_time(data.stretches) >= MOTION_FOR_WIDTH
    ):
        yield from ((with_matrix_width(layout, width), None) for width in MATRIX_WIDTHS)
    else:
        yield layout, None


def choose_items(
    data: Estimated,
    layout: Layout,
    divergence: Divergence | None,
    parts: Sequence[int] = ALL,
) -> Choice:
    """Leave alone what these parts of the motion do not tell, or do not need.

    Args:
        data: an estimate of everything.
        layout: the parameters, with the priors that were chosen.
        divergence: likewise.
        parts: of the motion; with none, only what the recording does not tell is left alone.
    """
    everything = np.ones(len(layout.parameters), dtype=np.bool_)
    blocks = data.blocks_of(parts) if parts else data.blocks
    sigma = deviations(blocks, layout, data.solution, everything, divergence)
    inertial = np.array([p.group == 'inertias' for p in layout.parameters], dtype=np.bool_)
    info = np.where(inertial, np.nan, 1.0 - (sigma / layout.priors) ** 2)
    level = np.array([p.group == LEVEL for p in layout.parameters], dtype=np.bool_)
    free = np.isnan(info) | level | (info >= LEAST_INFO)
    near = Quadratic.of(blocks.total(), layout, data.solution, divergence)
    lag = [k for k, p in enumerate(layout.parameters) if p.name == LAG]
    free[lag] &= np.abs(near.least(free)[lag]) > LEAST_LAG
    if parts:
        without = {
            part: Quadratic.of(
                data.total_of([p for p in parts if p != part]),
                layout,
                data.solution,
                divergence,
            )
            for part in parts
        }
        free = needed(data.judged, layout, near, without, free, sigma)
    return Choice(layout, divergence, free, sigma, info)


def predict(data: Estimated, part: int, among: Sequence[int] = ALL) -> Squares:
    """Errors on a part of the motion by what the others among some parts chose and gave."""
    fit = data.fit([p for p in among if p != part])
    return errors(data.stretches, fit.choice.layout, fit.x, data.parts[part])
