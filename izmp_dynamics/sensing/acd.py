"""Actuator coordinate differentiation (ACD): q, q̇ and q̈ from encoder values (sect. 4.4.1).

Each result bears the stamp of the instant it belongs to:

* 'central' (default): the parabola through k-1, k, k+1, at k.
* 'paper': q̇ = (q_k - q_(k-1)) / Δt, the backward quotient, and the second difference of q. That
  one is centred on the middle of its three samples, so the pair is stamped there, and not with
  the newest sample. (Pairing q̈ with the accelerometer of the newest sample throws the IZMP of a
  walking robot about by 150 to 300 mm.)
* 'savitzky_golay': least-squares polynomial through a window, at its middle sample;
* with a half-width, the means of `matched_filter`, whatever the method.

Before differentiating, `stamps` leaves out samples whose stamps cannot be used and `outlier_gate`
deals with wild values.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.sensing.difference_stage import Differentiator
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.differences import (
    METHODS,
    Mask,
    backward,
    central,
    check_window,
    contiguous,
    polynomial,
)
from izmp_dynamics.signals.matched_filter import MARGIN, means
from izmp_dynamics.signals.outlier_gate import (
    ACCELERATION_LIMIT,
    REACH,
    REPAIR_REACH,
    gate,
    judge,
    settled_rows,
)
from izmp_dynamics.signals.stamps import nanoseconds

_PAPER, _POLYNOMIAL, _MATCHED = 1, 2, 3  # the first two by their places in METHODS

RECOVERY = 5
"""Instants that a joint stays invalid after it broke its acceleration limit. A wrong value that
lasts for up to so many samples passes through here and not into the wrench."""

_REASONS = (Reason.JOINT_REPAIRED, Reason.JOINT_FAULTY)


class ActuatorDifferentiator(Differentiator[JointKinematics]):
    """Differentiates encoder values (T, n) of n joints [rad] or [m] (ACD; paper, sect. 4.4.1).

    Args:
        joint_names: names of the n joints.
        period: nominal time between samples [s].
        method: 'central', 'paper' or 'savitzky_golay'.
        window: samples of the Savitzky-Golay fit (odd).
        degree: degree of the Savitzky-Golay fit, 2 to 4.
        max_gap: no value across a longer time between samples [s].
        acceleration_limit: what no joint exceeds [rad/s²] or [m/s²]; None turns the outlier gate
            off, except for values that are not finite.
        half_width: of the matched filter [s]; None: difference quotients.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        period: float,
        *,
        method: str = 'central',
        window: int = 7,
        degree: int = 3,
        max_gap: float = 0.05,
        acceleration_limit: float | None = ACCELERATION_LIMIT,
        half_width: float | None = None,
    ) -> None:
        super().__init__(
            {'positions': (len(joint_names),)}, period, method=method, max_gap=max_gap,
            methods=METHODS,
        )  # fmt: skip
        limit = np.inf if acceleration_limit is None else float(acceleration_limit)
        self._check(period, limit)
        self.window = 3
        if method == 'savitzky_golay':
            check_window(window, degree)
            self.window = window
        self.joint_names = tuple(joint_names)
        self.degree = degree
        self.half_width = half_width
        self._limit = limit
        self._recovery, self._reach = (RECOVERY, REACH) if acceleration_limit else (0, 0)
        self._half = self.window // 2 if half_width is None else round(half_width / period)
        self._quotient = METHODS.index(method) if half_width is None else _MATCHED
        behind = self._half if half_width is None else 2 * self._half + 4
        self._behind = behind + self._recovery + REPAIR_REACH + 2

    def _check(self, period: float, limit: float) -> None:
        if self.max_gap < period:
            raise SensingError(
                f'The longest gap to differentiate across ({self.max_gap:g} s) must not be '
                f'shorter than the sample period ({period:g} s).',
                kind='max_gap',
                max_gap=self.max_gap,
                period=period,
            )
        if not limit > 0.0:
            raise SensingError(
                f'acceleration_limit must be positive, not {limit:g}.',
                kind='acceleration_limit',
                acceleration_limit=limit,
            )

    @property
    def latency(self) -> int:
        """Samples by which results are behind the newest one, as long as no outlier shows up."""
        return self._half + self._reach + 1

    def _completed(self, final: bool) -> JointKinematics:
        stamps, samples = self._samples.stamps, self._samples.values
        gap, shape = nanoseconds(self.max_gap), samples.shape
        used, found = np.empty(shape), np.empty((2, *shape), dtype=np.bool_)
        rows = _gated(stamps, samples, self._limit, gap, self._reach, final, used, found)
        used = used[:rows]
        quotients, masks = np.empty((3, *used.shape)), np.zeros((2, *used.shape), dtype=np.bool_)
        exists, valid = np.empty((2, len(used)), dtype=np.bool_)
        end, any_wrong = _differentiated(
            stamps, used, found, self._quotient, self._half, self.degree,
            nanoseconds(self.half_width or 0.0), gap, self._recovery,
            -1 if final else self._next, quotients, exists, valid, masks,
        )  # fmt: skip
        kinematics = JointKinematics(
            stamps[:rows], quotients[0], quotients[1], quotients[2], valid
        )
        new = self._handed_out(end)
        if any_wrong:
            for reason, mask in zip(_REASONS, masks[:, new], strict=True):
                for joint, number in zip(self.joint_names, mask.sum(axis=0).tolist(), strict=True):
                    self._faults += Counter({Fault(reason, joint): number})
        kinematics, exists = kinematics.select(new), exists[new]
        return kinematics if all(exists.tolist()) else kinematics.select(exists)


@kernel
def _gated(
    stamps: Stamps,
    positions: Array,
    limit: float,
    gap: int,
    reach: int,
    final: bool,
    used: Array,
    found: Mask,
) -> int:
    """Write what `gate` finds, outliers and kinks (2, T, n); return how many rows are settled."""
    gate(stamps, positions, limit, gap, used, found[0], found[1])
    return len(stamps) if final else settled_rows(stamps, found[0], gap, reach)


@kernel
def _differentiated(
    stamps: Stamps,
    used: Array,
    found: Mask,
    quotient: int,
    half: int,
    degree: int,
    half_width: int,
    gap: int,
    recovery: int,
    next_row: int,
    quotients: Array,
    exists: Mask,
    valid: Mask,
    masks: Mask,
) -> tuple[int, bool]:
    """Differentiate the settled samples of a stream.

    Args:
        stamps: (T,) strictly increasing [ns].
        used: (R, n) settled positions [rad] or [m].
        found: (2, T, n) outliers and kinks.
        quotient: which one.
        half: samples on either side of an instant that it takes in.
        degree: of the polynomial.
        half_width: of the matched filter [ns].
        gap: samples further apart do not know each other [ns].
        recovery: instants that a joint stays at fault after a kink.
        next_row: first row that has not been handed out; negative: no sample follows.
        quotients: (3, R, n) is given the values and their derivatives.
        exists: (R,) is given whether there are quotients.
        valid: (R,) is given whether all joints can be trusted.
        masks: (2, R, n) False; is given what was repaired, and what is faulty.

    Returns:
        Before which row no further sample can change anything; whether anything is wrong.
    """
    rows, width = len(used), 0
    settled, near = stamps[:rows], half
    if quotient == _MATCHED:
        means(settled, used, half_width, gap, 0, rows, True, quotients, exists)
        width, near = half_width, MARGIN
    elif quotient == _POLYNOMIAL:
        polynomial(settled, used, half, degree, gap, quotients, exists)
    else:
        central(settled, used, gap, quotients, exists)
    if quotient == _PAPER:
        backward(settled, used, gap, quotients[1], valid)
        for k in range(rows):
            if not exists[k]:
                quotients[1, k] = np.nan
    valid[:] = exists
    any_wrong = judge(
        settled, quotients[0], quotients[1], quotients[2], exists, found[0, :rows],
        found[1, :rows], gap, width, near, recovery, valid, masks[0], masks[1],
    )  # fmt: skip
    if next_row < 0:
        return rows, any_wrong
    known = rows - half
    if quotient == _MATCHED:
        whole = np.searchsorted(settled, settled[-3] - half_width, 'right') if rows > 2 else 0
        known = min(known, whole)
    end = max(next_row, known)
    while end < rows and not contiguous(stamps, end, min(end + half, len(stamps) - 1), gap):
        end += 1
    return end, any_wrong
