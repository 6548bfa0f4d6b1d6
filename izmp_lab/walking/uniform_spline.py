"""Uniform B-splines over a window of time, as matrices that act on control points."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from izmp_dynamics.base.conventions import Array


@dataclass(frozen=True)
class UniformSpline:
    """The basis of a uniform B-spline that begins at time 0.

    Shifted by one interval, all control points but one are those of the shifted window: a plan
    that goes on is the same curve.

    Attributes:
        degree: 3 for a cubic, 1 for a polygon through its control points.
        interval: between two knots [s].
        pieces: number of intervals.
    """

    degree: int
    interval: float
    pieces: int

    @property
    def count(self) -> int:
        """Number of control points."""
        return self.pieces + self.degree

    @property
    def duration(self) -> float:
        """Length of the window [s]."""
        return self.pieces * self.interval

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Return the matrix (K, count) that takes control points to values.

        Args:
            times: (K,) since the beginning of the window [s]; the polynomials at its ends go on.
            derivative: of which derivative the values are.
        """
        knots = self.interval * np.arange(-self.degree, self.count + 1)
        spline = BSpline(knots, np.eye(self.count), self.degree)
        values: Array = spline(times, nu=derivative)
        return values
