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
from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.differences import (
    Mask,
    backward,
    central,
    check_method,
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
from izmp_dynamics.signals.stage import SampleWindow
from izmp_dynamics.signals.stamps import nanoseconds

_CENTRAL, _PAPER, _POLYNOMIAL, _MATCHED = range(4)

SPACING = 0.5
"""Samples that are followed sooner than this part of the period are left out: a stamp that is
later by more belongs to the next sample's turn [-]."""

RECOVERY = 5
"""Instants that a joint stays invalid after it broke its acceleration limit. A wrong value that
lasts for up to so many samples passes through here and not into the wrench."""

_QUOTIENTS = {'central': _CENTRAL, 'paper': _PAPER, 'savitzky_golay': _POLYNOMIAL}
_REASONS = (Reason.JOINT_REPAIRED, Reason.JOINT_FAULTY)


class ActuatorDifferentiator:
    """Differentiates encoder values of n joints (ACD; paper, sect. 4.4.1).

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
        limit = np.inf if acceleration_limit is None else acceleration_limit
        _check(method, window, degree, period, max_gap, limit)
        self.joint_names = tuple(joint_names)
        self.period = period
        self.method = method
        self.window = window if method == 'savitzky_golay' else 3
        self.degree = degree
        self.max_gap = max_gap
        self.min_spacing = SPACING * period
        self.recovery = 0 if acceleration_limit is None else RECOVERY
        self._limit = float(limit)
        self._reach = 0 if acceleration_limit is None else REACH
        self.half_width = half_width
        self._half = self.window // 2 if half_width is None else round(half_width / period)
        self._quotient = _QUOTIENTS[method] if half_width is None else _MATCHED
        behind = self._half if half_width is None else 2 * self._half + 4
        self._behind = behind + self.recovery + REPAIR_REACH + 2
        self.reset()

    @property
    def latency(self) -> int:
        """Samples by which results are behind the newest one, as long as no outlier shows up."""
        return self._half + self._reach + 1

    def batch(self, stamps: Stamps, positions: Array) -> JointKinematics:
        """Differentiate a log or a window of it: a stream that comes at once.

        What came before is discarded; `faults` are then those of the log.

        Args:
            stamps: (T,) as recorded [ns].
            positions: (T, n) encoder values [rad] or [m].

        Raises:
            ShapeError: if `positions` has another shape.
        """
        self.reset()
        return JointKinematics.joined([self.extend(stamps, positions), self.flush()])

    def extend(self, stamps: Stamps, positions: Array) -> JointKinematics:
        """Take the next samples of a stream; return the instants that they complete.

        Args:
            stamps: (T,) in the order of arrival [ns].
            positions: (T, n) encoder values [rad] or [m].

        Raises:
            ShapeError: if `positions` has another shape.
        """
        positions = np.ascontiguousarray(positions, dtype=np.float64)
        expected = (len(stamps), len(self.joint_names))
        if positions.shape != expected:
            raise ShapeError('positions', str(expected), positions.shape)
        self._window.extend(stamps, positions)
        return self._completed(final=False)

    def flush(self) -> JointKinematics:
        """Return the instants that are left at the end of the stream."""
        self._window.close()
        left = self._completed(final=True)
        self._window.clear()
        return left

    def reset(self) -> None:
        """Discard all samples and faults of the stream."""
        self._window = SampleWindow(len(self.joint_names), self._behind, self.min_spacing)
        self._faults: Faults = Counter()

    @property
    def received_until(self) -> int:
        """Newest usable stamp of the stream [ns]; 0 before there is one."""
        return self._window.received_until

    @property
    def settled(self) -> int:
        """No further result of the stream has this stamp or an older one [ns]."""
        return self._window.settled

    @property
    def faults(self) -> Faults:
        """Fault → number of samples and instants of the stream."""
        return self._faults + self._window.gate.faults

    def _completed(self, final: bool) -> JointKinematics:
        """Evaluate the window; hand out the instants that no further sample can change."""
        window = self._window
        stamps, gap, shape = window.stamps, nanoseconds(self.max_gap), window.values.shape
        used, found = np.empty(shape), np.empty((2, *shape), dtype=np.bool_)
        rows = _gated(
            stamps, window.values, self._limit, gap, self._reach, final, used,
            found,
        )  # fmt: skip
        used = used[:rows]
        quotients, masks = np.empty((3, *used.shape)), np.zeros((2, *used.shape), dtype=np.bool_)
        exists, valid = np.empty((2, len(used)), dtype=np.bool_)
        end, any_wrong = _differentiated(
            stamps, used, found, self._quotient, self._half, self.degree,
            nanoseconds(self.half_width or 0.0), gap, self.recovery,
            -1 if final else window.next_row, quotients, exists, valid, masks,
        )  # fmt: skip
        kinematics = JointKinematics(
            stamps[:rows], quotients[0], quotients[1], quotients[2], valid
        )
        new = window.hand_out(end)
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


def _check(
    method: str, window: int, degree: int, period: float, max_gap: float, limit: float
) -> None:
    check_method(method)
    if method == 'savitzky_golay':
        check_window(window, degree)
    if not 0.0 < period < np.inf:
        raise SensingError(
            f'The sample period must be a positive time in seconds, not {period}.',
            kind='period',
            period=period,
        )
    if max_gap < period:
        raise SensingError(
            f'The longest gap to differentiate across ({max_gap:g} s) must not be shorter than '
            f'the sample period ({period:g} s).',
            kind='max_gap',
            max_gap=max_gap,
            period=period,
        )
    if not limit > 0.0:
        raise SensingError(
            f'acceleration_limit must be positive, not {limit:g}.',
            kind='acceleration_limit',
            acceleration_limit=limit,
        )
