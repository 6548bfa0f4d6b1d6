"""Which feet are in the air, by the joints alone."""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array
from izmp_dynamics.stability.evaluation import Evaluation, Foot

CLEARANCE = 0.01
"""A foot whose lowest corner is higher above the plane of all other soles is in the air [m]."""


def in_air(evaluation: Evaluation, foot: Foot) -> npt.NDArray[np.bool_]:
    """(K,) whether the joints hold a foot above the soles of all others."""
    others = [other for other in evaluation.feet if other is not foot]
    if not others:
        return np.zeros(len(evaluation.stamps), dtype=np.bool_)
    up = evaluation.tracks['mr_ad'].wrench[:, :3] if 'mr_ad' in evaluation.tracks else None
    heights = [_above(foot.sole, other.sole, evaluation.normal if up is None else up)
               for other in others]  # fmt: skip
    with np.errstate(invalid='ignore'):
        lowest: Array = np.min(heights, axis=0)
        return np.asarray(lowest > CLEARANCE)


def _above(sole: Array, ground: Array, up: Array) -> Array:
    """(K,) height of the lowest corner of a sole (K, V, 3) above the plane of another [m]."""
    middle = ground.mean(axis=1)
    spread = ground - middle[:, None]
    scatter = np.einsum('kvi,kvj->kij', spread, spread)
    known = np.isfinite(scatter).all(axis=(1, 2))
    normal = np.full((len(sole), 3), np.nan)
    normal[known] = np.linalg.eigh(scatter[known])[1][:, :, 0]  # of the smallest spread
    normal *= np.where(np.einsum('ki,ki->k', normal, up) < 0.0, -1.0, 1.0)[:, None]
    heights: Array = np.einsum('kvi,ki->kv', sole - middle[:, None], normal).min(axis=1)
    return heights
