"""Which corrections are needed: what changes nothing on held-out motion is left alone.

An item (a delay, a bias, the offsets of a foot, …) stays if it is significant, and if motion that
was held out is described worse without it by more than can matter. Significance alone does not
do: the assumptions themselves, e.g. that a foot rests or that signals after a filter obey Newton,
hold to a fraction of a millimetre only, at every step in the same way, which no bootstrap shows.

Items are removed one after the other, the least needed first (backward elimination), so that of
two that trade off one stays, the likelier one if neither costs anything.
"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import scipy.stats

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.judged import Judged
from izmp_dynamics.calibration.parameters import LEVEL, Layout
from izmp_dynamics.calibration.time_blocks import Minimum, Quadratic

NEGLIGIBLE = 0.1
"""Part of what matters that does not decide between items of which one can replace another [-]."""

UNLIKELY = ('ft_rotation',)
"""Groups that are removed first then: sensors are seldom turned by some degrees, but loads are
often missing in a URDF, and a shifted centre of mass looks like turned sensors in a short walk."""

SIGNIFICANT = 0.9973
"""Probability with which an item is not zero, that of three standard deviations [-]."""

Flags = npt.NDArray[np.bool_]


def items(layout: Layout) -> dict[str, npt.NDArray[np.intp]]:
    """Item → its columns: what is corrected together or not at all."""
    found: dict[str, list[int]] = {}
    for k, parameter in enumerate(layout.parameters):
        if parameter.group != LEVEL:
            found.setdefault(parameter.item, []).append(k)
    return {name: np.array(columns) for name, columns in found.items()}


def needed(
    judged: Sequence[Judged],
    layout: Layout,
    near: Quadratic,
    without: Mapping[int, Quadratic],
    free: Flags,
    sigma: Array,
) -> Flags:
    """(N,) the parameters of the items that are needed, of those that are free.

    Args:
        judged: residuals on the parts of the motion.
        layout: the parameters.
        near: cost of all data that may be used.
        without: part of the motion → cost of these data without it.
        free: (N,) parameters that were estimated.
        sigma: (N,) their standard deviations.
    """
    curvature = np.sqrt(np.maximum(np.diag(near.covariance(free)), 1e-300))
    widened = np.maximum(sigma / curvature, 1.0)
    free = free.copy()

    left = {name: columns[free[columns]] for name, columns in items(layout).items()}
    left = {name: columns for name, columns in left.items() if len(columns)}
    while left:
        x, covariance = near.least(free), near.covariance(free)
        covariance *= np.outer(widened, widened)
        effects = {
            name: effect
            for name, effect in _effects(judged, near.x, without, free, left).items()
            if effect < 1.0 or not _significant(layout, x, covariance, left[name])
        }
        if not effects:
            break
        free[left.pop(least_needed(layout, left, effects))] = False
    return free


def _effects(
    judged: Sequence[Judged],
    x: Array,
    without: Mapping[int, Quadratic],
    free: Flags,
    left: Mapping[str, npt.NDArray[np.intp]],
) -> dict[str, float]:
    """Item → by how much its removal makes held-out residuals larger, as part of what matters."""
    minima = [Minimum(cost, free) for cost in without.values()]
    y = np.stack([[each.y, *map(each.without, left.values())] for each in minima])
    errors = [kind.mean_squares(list(without), y - x) / kind.least**2 for kind in judged]
    larger = (np.array(errors) - np.array(errors)[:, :1]).max(axis=0)
    return dict(zip(left, larger[1:].tolist(), strict=True))


def least_needed(
    layout: Layout, left: Mapping[str, npt.NDArray[np.intp]], effects: Mapping[str, float]
) -> str:
    """The item to remove: of those that cost nothing, the least likely one; else the cheapest."""

    def cost(name: str) -> tuple[float, int, float]:
        group = layout.parameters[left[name][0]].group
        return max(effects[name], NEGLIGIBLE), group not in UNLIKELY, effects[name]

    return min(effects, key=cost)


def _significant(
    layout: Layout, x: Array, covariance: Array, columns: npt.NDArray[np.intp]
) -> bool:
    """Whether numbers together are not zero (Wald); inertias have no zero of their own."""
    if layout.parameters[columns[0]].group == 'inertias':
        return True
    mine, values = covariance[np.ix_(columns, columns)], x[columns]
    distance = float(values @ np.linalg.pinv(mine, hermitian=True) @ values)
    return distance > _least_distance(len(columns))


@functools.cache
def _least_distance(count: int) -> float:
    """Square from which on `count` numbers together are not zero, in standard deviations."""
    return float(scipy.stats.chi2.ppf(SIGNIFICANT, count))
