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
deals with wild values; a low-pass, if there is one, comes after both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.sensing.joint_kinematics import JointFaults, JointKinematics
from izmp_dynamics.signals.central_instants import central_instants
from izmp_dynamics.signals.differences import (
    Derivatives,
    Mask,
    central_quotient,
    check_method,
    check_window,
    contiguous,
    local_polynomial,
    paper_quotient,
)
from izmp_dynamics.signals.matched_filter import MARGIN, matched_means, settled
from izmp_dynamics.signals.outlier_gate import (
    ACCELERATION_LIMIT,
    REACH,
    REPAIR_REACH,
    RESOLUTION,
    GatedPositions,
    gate_positions,
    judge_instants,
    per_joint,
    settled_rows,
)
from izmp_dynamics.signals.sample_window import SampleWindow
from izmp_dynamics.signals.stamps import StampVerdict, nanoseconds, screen_stamps
from izmp_dynamics.signals.stream_filter import StreamFilter

if TYPE_CHECKING:  # scipy.signal takes long to import and most logs need no filter
    from izmp_dynamics.signals.low_pass import ZeroPhaseLowPass


@dataclass(frozen=True)
class _Instants:
    """Results in the rows of the admitted samples."""

    kinematics: JointKinematics
    exists: Mask
    repaired: Mask
    faulty: Mask
    any_wrong: bool


class ActuatorDifferentiator:
    """Differentiates encoder values of n joints (ACD; paper, sect. 4.4.1).

    Args:
        joint_names: names of the n joints.
        period: nominal time between samples [s].
        method: 'central', 'paper' or 'savitzky_golay'.
        window: samples of the Savitzky-Golay fit (odd).
        degree: degree of the Savitzky-Golay fit, 2 to 4.
        max_gap: no value across a longer time between samples [s].
        min_spacing: samples followed sooner than this fraction of `period` are left out.
            A half: a stamp that is later by more than that belongs to the next sample's turn.
        acceleration_limit: what no joint exceeds [rad/s²] or [m/s²], one number or n; None turns
            the outlier gate off, except for values that are not finite.
        resolution: step of the encoders [rad] or [m], one number or n.
        recovery: instants that a joint stays invalid after it broke its acceleration limit. A
            wrong value that lasts for up to so many samples passes through here and not into the
            wrench.
        low_pass: filter of the stream that `extend` takes, after the gates; None: unfiltered.
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
        min_spacing: float = 0.5,
        acceleration_limit: float | npt.ArrayLike | None = ACCELERATION_LIMIT,
        resolution: float | npt.ArrayLike = RESOLUTION,
        recovery: int = 5,
        low_pass: StreamFilter | None = None,
        half_width: float | None = None,
    ) -> None:
        _check(method, window, degree, period, max_gap, min_spacing)
        self.joint_names = tuple(joint_names)
        self.period = period
        self.method = method
        self.window = window if method == 'savitzky_golay' else 3
        self.degree = degree
        self.max_gap = max_gap
        self.min_spacing = min_spacing * period
        self.recovery = 0 if acceleration_limit is None else recovery
        limit = np.inf if acceleration_limit is None else acceleration_limit
        self._limit = per_joint('acceleration_limit', limit, len(self.joint_names))
        self._resolution = per_joint('resolution', resolution, len(self.joint_names))
        _check_limits(self._limit, self._resolution)
        self._reach = 0 if acceleration_limit is None else REACH
        self._low_pass = low_pass
        self.half_width = half_width
        self._half = self.window // 2 if half_width is None else round(half_width / period)
        self._stencil = (0, self._half)
        if half_width is not None:
            self._stencil = (nanoseconds(half_width), MARGIN)
        behind = self._half if half_width is None else 2 * self._half + 4
        self._behind = behind + self.recovery + REPAIR_REACH + 2
        self.reset()

    @property
    def context(self) -> float:
        """Time before and after an instant that its values can depend on [s]."""
        return (self._behind + 2) * self.max_gap

    @property
    def latency(self) -> int:
        """Samples that `update` is behind the newest one, as long as no outlier shows up."""
        return self._half + self._reach + 1

    def batch(
        self,
        stamps: Stamps,
        positions: Array,
        low_pass: 'ZeroPhaseLowPass | None' = None,
    ) -> tuple[JointKinematics, JointFaults]:
        """Differentiate a log or a window of it.

        Args:
            stamps: (T,) as recorded [ns].
            positions: (T, n) encoder values [rad] or [m].
            low_pass: filters the positions after the gates and before the quotients; its context
                adds to that of this stage.

        Returns:
            The instants, and what was wrong with the samples.

        Raises:
            ShapeError: if `positions` has another shape.
        """
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        positions = self._checked(positions, len(stamps))
        verdicts = screen_stamps(stamps, self.min_spacing)
        rows = np.flatnonzero(verdicts == StampVerdict.ADMITTED)
        instants = self._differentiate(stamps[rows], positions[rows], low_pass)
        repaired, faulty = np.zeros((2, *positions.shape), dtype=np.bool_)
        repaired[rows], faulty[rows] = instants.repaired, instants.faulty
        faults = JointFaults(self.joint_names, verdicts, repaired, faulty)
        return instants.kinematics.select(instants.exists), faults

    def update(self, stamp: int, positions: Array) -> JointKinematics:
        """Take one sample; return the instants that it completes, usually none or one.

        Args:
            stamp: [ns].
            positions: (n,) encoder values [rad] or [m].
        """
        return self.extend(np.array([stamp]), np.reshape(positions, (1, -1)))

    def extend(self, stamps: Stamps, positions: Array) -> JointKinematics:
        """Take the next samples of a stream; return the instants that they complete.

        Args:
            stamps: (T,) in the order of arrival [ns].
            positions: (T, n) encoder values [rad] or [m].
        """
        self._window.extend(stamps, self._checked(positions, len(stamps)))
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
        self._filtered: Array = np.empty((0, len(self.joint_names)))
        self._filtered_from = self._filtered_to = 0
        self._faults: Faults = Counter()
        if self._low_pass is not None:
            self._low_pass.reset()

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
        return self._faults + self._window.stamp_gate.faults

    def _differentiate(
        self, stamps: Stamps, positions: Array, low_pass: 'ZeroPhaseLowPass | None' = None
    ) -> _Instants:
        gated = self._gate(stamps, positions)
        used = low_pass.batch(stamps, gated.positions) if low_pass else gated.positions
        return self._evaluate(stamps, used, gated)

    def _gate(self, stamps: Stamps, positions: Array) -> GatedPositions:
        gap = nanoseconds(self.max_gap)
        return gate_positions(stamps, positions, self._limit, self._resolution, gap)

    def _evaluate(self, stamps: Stamps, positions: Array, gated: GatedPositions) -> _Instants:
        """Difference quotients of positions that went through the gates (and the filter)."""
        values, first, second, exists = self._quotients(stamps, positions)
        valid, repaired, faulty, any_wrong = judge_instants(
            stamps,
            values,
            first,
            second,
            exists,
            gated.outliers,
            gated.kinks,
            nanoseconds(self.max_gap),
            *self._stencil,
            self.recovery,
        )
        kinematics = JointKinematics(stamps, values, first, second, valid)
        return _Instants(kinematics, exists, repaired, faulty, any_wrong)

    def _quotients(self, stamps: Stamps, positions: Array) -> Derivatives:
        if self.half_width is not None:
            return matched_means(stamps, positions, self.half_width, self.max_gap)
        if self.method == 'savitzky_golay':
            return local_polynomial(stamps, positions, self.window, self.degree, self.max_gap)
        if self.method == 'paper':
            return paper_quotient(stamps, positions, self.max_gap)
        return central_quotient(stamps, positions, self.max_gap)

    def _completed(self, final: bool) -> JointKinematics:
        """Evaluate the window; hand out the instants that no further sample can change."""
        if self.method == 'central' and self.half_width is None and self._low_pass is None:
            return self._completed_at_once(final)
        window = self._window
        gated = self._gate(window.stamps, window.values)
        used = self._usable(gated, final)
        rows = len(used)
        part = GatedPositions(gated.positions[:rows], gated.outliers[:rows], gated.kinks[:rows])
        instants = self._evaluate(window.stamps[:rows], used, part)
        end = rows if final else max(window.next_row, self._complete(window.stamps[:rows]))
        while end < rows and self._closed(end, end + self._half):
            end += 1
        new = window.hand_out(end)
        if instants.any_wrong:
            self._count(instants.repaired[new], instants.faulty[new])
        exists = instants.exists[new]
        kinematics = instants.kinematics.select(new)
        return kinematics if all(exists.tolist()) else kinematics.select(exists)

    def _completed_at_once(self, final: bool) -> JointKinematics:
        """Do so in one compiled call, as the stages cost less than the steps between them."""
        window = self._window
        stamps, shape = window.stamps, window.values.shape
        quotients, masks = np.empty((3, *shape)), np.zeros((2, *shape), dtype=np.bool_)
        exists, valid = np.empty((2, len(stamps)), dtype=np.bool_)
        end, any_wrong = central_instants(
            stamps, window.values, self._limit, self._resolution, nanoseconds(self.max_gap),
            self._reach, self.recovery, -1 if final else window.next_row,
            quotients, exists, valid, masks,
        )  # fmt: skip
        new = window.hand_out(end)
        if any_wrong:
            self._count(masks[0, new], masks[1, new])
        q, qd, qdd = quotients[:, new]
        kinematics = JointKinematics(stamps[new], q, qd, qdd, valid[new])
        exists = exists[new]
        return kinematics if all(exists.tolist()) else kinematics.select(exists)

    def _complete(self, stamps: Stamps) -> int:
        """How many leading rows have all samples that their quotients need."""
        rows = len(stamps) - self._half
        return rows if self.half_width is None else min(rows, settled(stamps, self.half_width))

    def _usable(self, gated: GatedPositions, final: bool) -> Array:
        """Positions of the rows whose gates (and filter) no further sample can change."""
        window = self._window
        end = len(window.stamps)
        if not final:
            gap = nanoseconds(self.max_gap)
            end = settled_rows(window.stamps, gated.outliers, gap, self._reach)
        if self._low_pass is None:
            return gated.positions[:end]
        new = slice(self._filtered_to - window.dropped, end)
        smooth = [
            self._filtered[window.dropped - self._filtered_from :],
            self._low_pass.extend(window.stamps[new], gated.positions[new]),
            *([self._low_pass.flush()] if final else []),
        ]
        self._filtered = np.concatenate(smooth)
        self._filtered_from, self._filtered_to = window.dropped, window.dropped + end
        return self._filtered

    def _closed(self, row: int, last: int) -> bool:
        """Whether a gap lies between `row` and `last`, as far as there are samples."""
        stamps = self._window.stamps
        newest = min(last, len(stamps) - 1)
        return not contiguous(stamps, row, newest, nanoseconds(self.max_gap))

    def _count(self, repaired: Mask, faulty: Mask) -> None:
        if repaired.any() or faulty.any():
            used = np.zeros(len(repaired), dtype=np.int8)
            self._faults += JointFaults(self.joint_names, used, repaired, faulty).counts()

    def _checked(self, positions: Array, rows: int) -> Array:
        positions = np.ascontiguousarray(positions, dtype=np.float64)
        expected = (rows, len(self.joint_names))
        if positions.shape != expected:
            raise ShapeError('positions', str(expected), positions.shape)
        return positions


def _check(
    method: str, window: int, degree: int, period: float, max_gap: float, min_spacing: float
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
    if not 0.0 <= min_spacing < 1.0:
        raise SensingError(
            f'min_spacing must be a fraction from 0 to 1, not {min_spacing:g}.',
            kind='min_spacing',
            min_spacing=min_spacing,
        )


def _check_limits(limit: Array, resolution: Array) -> None:
    if not np.all(limit > 0.0):
        raise SensingError(
            f'acceleration_limit must be positive, not {limit.min():g}.',
            kind='acceleration_limit',
            acceleration_limit=float(limit.min()),
        )
    if not np.all(resolution >= 0.0):
        raise SensingError(
            f'resolution must not be negative, but is {resolution.min():g}.',
            kind='resolution',
            resolution=float(resolution.min()),
        )
