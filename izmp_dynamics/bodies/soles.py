"""Outline of the sole of a human's foot."""

import numpy as np

from izmp_dynamics.base.conventions import Array

_SMALLEST = 0.008
"""Area of an outline below which points do not show a sole [m²]; a child's has 0.01."""

_LENGTH, _WIDTH = 0.26, 0.09
"""Of an assumed sole [m]."""

_HEEL, _TIP, _HALF_WIDTH = -0.15, 1.4, 0.25
"""An assumed sole, as parts of the way from the heel to the joints of the toes."""


def outline_of(points: Array, has_toes: bool) -> tuple[Array, bool]:
    """Find the outline of a sole.

    Args:
        points: (N, 3) of the foot, first those of markers; last the origins of its bodies, heel
            first, x forward, z up [m].
        has_toes: whether there is an origin besides that of the heel.

    Returns:
        (4, 2) corners of the box around them, anticlockwise [m]; whether they are
        assumed, as the points show no sole.
    """
    low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
    if np.prod(high - low) >= _SMALLEST:
        return _box(low[0], high[0], low[1], high[1]), False
    length = float(points[:, 0].max()) if has_toes else 0.0
    length = length if length > 0.05 else _LENGTH / (_TIP - _HEEL)
    x0, x1, y = _HEEL * length, _TIP * length, max(_HALF_WIDTH * length, _WIDTH / 2.0)
    return _box(x0, x1, -y, y), True


def _box(x0: float, x1: float, y0: float, y1: float) -> Array:
    return np.array([[x1, y1], [x0, y1], [x0, y0], [x1, y0]])
