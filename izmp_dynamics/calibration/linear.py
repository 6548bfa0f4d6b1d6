"""Residuals as rows, and their derivatives with respect to the parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.parameters import GAINS, LEVEL, Layout
from izmp_dynamics.calibration.residuals import (
    Block,
    blocks,
    inertia_jacobian,
    readings,
    required,
    residuals,
    rest_blocks,
    root_motion,
    swing_block,
    tilts,
    wrench_block,
)

STEP = 1e-3
"""Of the difference quotients, as part of the prior."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Residuals of one kind.

    Attributes:
        name: of the kind.
        stretch: (M,) index of the stretch of each row.
        row: (M,) index of the instant.
        share: (M,) what each row counts, see `Instants.shares`.
        values: (M, c).
    """

    name: str
    stretch: npt.NDArray[np.intp]
    row: npt.NDArray[np.intp]
    share: Array
    values: Array


@dataclass(frozen=True)
class Linear(Rows):
    """Residuals of one kind and their derivatives.

    Attributes:
        jacobian: (M, c, N).
    """

    jacobian: Array


def rows_of(
    stretches: Sequence[Instants], layout: Layout, x: Array, used: Sequence[Flags] | None = None
) -> tuple[Rows, ...]:
    """Residuals of all stretches for x (N,), by kind.

    Args:
        stretches: the recording.
        layout: the parameters.
        x: (N,) their values.
        used: (K,) instants of each stretch that count; all if None.
    """
    kinds: dict[str, list[Rows]] = {}
    for index, instants in enumerate(stretches):
        for block in residuals(instants, layout, x):
            some = None if used is None else used[index]
            kinds.setdefault(block.name, []).append(_rows(instants, index, block, some))
    return tuple(
        Rows(
            name,
            np.concatenate([part.stretch for part in parts]),
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.share for part in parts]),
            np.concatenate([part.values for part in parts]),
        )
        for name, parts in kinds.items()
    )


def linearise(
    instants: Instants,
    index: int,
    layout: Layout,
    x: Array,
    free: Flags,
    used: Flags | None = None,
) -> list[Linear]:
    """Residuals and their derivatives, by kind.

    Args:
        instants: of a stretch, or some of them.
        index: of the stretch.
        layout: the parameters.
        x: (N,) their values.
        free: (N,) parameters whose derivatives are wanted.
        used: (K,) instants that count; all if None.
    """
    base = residuals(instants, layout, x)
    jacobians = _jacobians(instants, layout, x, free, base)
    found = []
    for block in base:
        rows = _rows(instants, index, block, used)
        found.append(Linear(**vars(rows), jacobian=jacobians[block.name][rows.row]))
    return found


def _rows(instants: Instants, index: int, block: Block, used: Flags | None) -> Rows:
    rows = np.flatnonzero(block.rows if used is None else block.rows & used)
    return Rows(
        block.name, np.full(len(rows), index), rows, instants.shares[rows], block.values[rows]
    )


def _jacobians(
    instants: Instants, layout: Layout, x: Array, free: Flags, base: list[Block]
) -> dict[str, Array]:
    """Block → (K, c, N) by difference quotients; those of inertias are exact."""
    count = len(layout.parameters)
    motion = root_motion(instants, layout, x)
    needed = required(instants, layout, x, motion)
    feet = readings(instants, layout, x)
    before = {block.name: block.values for block in base}
    found = {b.name: np.zeros((*b.values.shape, count)) for b in base}
    index = {foot.name: n for n, foot in enumerate(instants.rig.feet)}
    for k, parameter in enumerate(layout.parameters):
        if not free[k] or parameter.group == 'inertias':
            continue
        other = x.copy()
        step = STEP * parameter.prior
        other[k] += step
        foot = index.get(parameter.foot, -1)
        if parameter.group == LEVEL:
            tilt = tilts(layout, other)[parameter.foot]
            after = rest_blocks(instants, foot, motion, tilt)
        elif foot >= 0:
            gains = parameter.group in GAINS
            changed = feet.with_foot(instants, layout, other, instants.rig.feet[foot], gains)
            after = wrench_block(instants, needed, changed)
            after += swing_block(instants, foot, needed, changed)
        elif parameter.group == 'payload':
            more = required(instants, layout, other, motion)
            after = wrench_block(instants, more, feet)
            for n in index.values():
                after += swing_block(instants, n, more, feet)
        else:
            turned = root_motion(instants, layout, other)
            more = required(instants, layout, other, turned)
            after = blocks(instants, turned, more, feet, tilts(layout, x))
        for block in after:
            found[block.name][:, :, k] = (block.values - before[block.name]) / step
    if layout.inertias:
        columns = np.array([p.group == 'inertias' for p in layout.parameters])
        for name, jacobian in inertia_jacobian(instants, motion).items():
            if name in found:
                found[name][:, :, columns] = jacobian
    return found
