"""Angular acceleration by the difference quotient of the gyroscope (sect. 4.4.1, setup E).

The alternative to the accelerometer array for a robot with an IMU only. The quotient amplifies
the noise of the gyroscope with 1 / Δt; φ at the root origin follows from the accelerometer of the
IMU at the point p by eq. 23: φ_root = f - ω̇ × p - ω × (ω × p).
"""

from collections import Counter

import numpy as np

from izmp_dynamics.conventions import Array, Stamps, frozen
from izmp_dynamics.errors import SensingError, ShapeError
from izmp_dynamics.sensing.differences import (
    Mask,
    backward_quotient,
    central_quotient,
    check_window,
    contiguous,
    local_polynomial,
)
from izmp_dynamics.sensing.imu import finite_or_nan
from izmp_dynamics.sensing.root_state import RootState, root_state
from izmp_dynamics.sensing.sample_window import SampleWindow
from izmp_dynamics.sensing.stamps import StampVerdict, Verdicts, nanoseconds, screen_stamps

METHODS = ('central', 'paper', 'savitzky_golay')


class GyroDifference:
    """Motion of the root from the gyroscope and the accelerometer of one IMU.

    Args:
        p_imu_in_root: (3,) position of the IMU [m].
        period: nominal time between samples [s].
        method: 'central' (default), 'paper' (backward quotient, taken as the value at k, although
            it belongs to k - 1/2) or 'savitzky_golay'. The angular velocity itself is the sample.
        window: samples of the Savitzky-Golay fit (odd).
        degree: its degree, 2 to 4.
        max_gap: no value across a longer time between samples [s].
        min_spacing: samples followed sooner than this fraction of `period` are left out.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(
        self,
        p_imu_in_root: Array,
        period: float,
        *,
        method: str = 'central',
        window: int = 5,
        degree: int = 2,
        max_gap: float = 0.05,
        min_spacing: float = 0.5,
    ) -> None:
        if method not in METHODS:
            raise SensingError(
                f"There is no differentiation method '{method}'; valid: {', '.join(METHODS)}."
            )
        check_window(window, degree)
        self.p_imu_in_root = frozen(p_imu_in_root)
        self.method = method
        self.window = window
        self.degree = degree
        self.max_gap = max_gap
        self.min_spacing = min_spacing * period
        self._before = window // 2 if method == 'savitzky_golay' else 1
        self._after = {'central': 1, 'paper': 0, 'savitzky_golay': window // 2}[method]
        self.reset()

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        return (self._before + 3) * self.max_gap

    @property
    def latency(self) -> int:
        """Samples that `update` is behind the newest one."""
        return self._after + 1

    def batch(
        self, stamps: Stamps, angular_velocity: Array, specific_force: Array
    ) -> tuple[RootState, Verdicts]:
        """Differentiate a log or a window of it.

        Args:
            stamps: (T,) as recorded [ns].
            angular_velocity: (T, 3) gyroscope in root axes [rad/s].
            specific_force: (T, 3) accelerometer in root axes, at the IMU [m/s²].

        Returns:
            The instants that have a quotient; the `StampVerdict` (T,) of each sample.
        """
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        samples = _samples(angular_velocity, specific_force, len(stamps))
        verdicts = screen_stamps(stamps, self.min_spacing)
        used = verdicts == StampVerdict.ADMITTED
        state, exists = self._differentiate(stamps[used], samples[used])
        return state.select(exists), verdicts

    def update(self, stamp: int, angular_velocity: Array, specific_force: Array) -> RootState:
        """Take one sample, (3,) each; return the instants that it completes."""
        omega, force = np.reshape(angular_velocity, (1, -1)), np.reshape(specific_force, (1, -1))
        self._samples.push(stamp, _samples(omega, force, 1))
        return self._completed(final=False)

    def flush(self) -> RootState:
        """Return the instants that are left at the end of the stream."""
        self._samples.close()
        left = self._completed(final=True)
        self._samples.clear()
        return left

    def reset(self) -> None:
        """Forget all samples and counts of `update`."""
        self._samples = SampleWindow(6, self._before, self.min_spacing)

    def warm_up(self) -> None:
        """Compile the kernels (once per installation), so that no first sample waits for it."""
        stamps = np.arange(1, 2 * self.window) * nanoseconds(self.max_gap)
        self.batch(stamps, np.zeros((len(stamps), 3)), np.zeros((len(stamps), 3)))

    @property
    def counts(self) -> Counter[str]:
        """Samples of `update` that were left out, by reason."""
        return self._samples.stamp_gate.gated

    def _differentiate(self, stamps: Stamps, samples: Array) -> tuple[RootState, Mask]:
        omega, force = samples[:, :3], samples[:, 3:]
        alpha, exists = self._quotient(stamps, omega)
        arm = self.p_imu_in_root
        with np.errstate(over='ignore', invalid='ignore'):
            phi = force - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
        return root_state(stamps, omega, alpha, phi), exists

    def _quotient(self, stamps: Stamps, omega: Array) -> tuple[Array, Mask]:
        if self.method == 'paper':
            return backward_quotient(stamps, omega, self.max_gap)
        if self.method == 'central':
            central = central_quotient(stamps, omega, self.max_gap)
            return central.first, central.valid
        fit = local_polynomial(stamps, omega, self.window, self.degree, self.max_gap)
        return fit.first, fit.valid

    def _completed(self, final: bool) -> RootState:
        samples = self._samples
        state, exists = self._differentiate(samples.stamps, samples.values)
        end = samples.next_row
        while end < len(samples.stamps) and (final or self._settled(samples.stamps, end)):
            end += 1
        rows = samples.hand_out(end)
        return state.select(rows.start + np.flatnonzero(exists[rows]))

    def _settled(self, stamps: Stamps, row: int) -> bool:
        """Whether no further sample can change the instant `row`."""
        last = row + self._after
        newest = min(last, len(stamps) - 1)
        closed = not contiguous(stamps, row, newest, nanoseconds(self.max_gap))
        return closed or last < len(stamps)


def _samples(angular_velocity: Array, specific_force: Array, rows: int) -> Array:
    for name, value in (
        ('angular_velocity', angular_velocity),
        ('specific_force', specific_force),
    ):
        if np.shape(value) != (rows, 3):
            raise ShapeError(name, f'({rows}, 3)', np.shape(value))
    return finite_or_nan(np.hstack([angular_velocity, specific_force]))
