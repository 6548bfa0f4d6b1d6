"""Setups: a method, the rates of actuators and bus, and how derivatives are taken (Table 3)."""

import dataclasses
from dataclasses import dataclass

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.settings import setting

REFERENCE_RATE = 500.0
"""Rate at which the paper's reference curves were made [Hz] (sect. 5.2)."""


def _divides(rate: float, faster: float) -> bool:
    strides = faster / rate
    return round(strides) >= 1 and abs(strides - round(strides)) < 1e-9 * strides


@dataclass(frozen=True)
class Setup:
    """One way to evaluate a walk.

    The convention 'paper' takes the quotients that robot files call 'paper', gives each the stamp
    of the newest sample (q̈ one later than the instant it belongs to, see
    `sensors.paper_quotient`), and its accelerometers report the mean over their sample
    interval, because those of the paper's simulator are differences of velocity. 'aligned' is this
    package's default: central quotients at the instant they belong to, and accelerometers that
    report that instant.
    """

    name: str = setting('what it is called in figures and tables')
    method: str = setting('dynamics', default='mr_ad', choices=('mr_ad', 'ir_md'))
    actuator: float = setting(
        'rate at which joints and sensors are sampled', default=500.0, unit='Hz', lower=1.0,
        upper=10_000.0,
    )  # fmt: skip
    bus: float = setting(
        'rate at which the dynamics are evaluated', default=125.0, unit='Hz', lower=1.0,
        upper=10_000.0,
    )  # fmt: skip
    angular_acceleration: str = setting(
        'from the accelerometers or the difference of the gyroscope (MR-AD)',
        default='accelerometers',
        choices=('accelerometers', 'gyro'),
    )
    step: str = setting(
        'samples that momentum (IR-MD) or gyroscope are differenced between',
        default='bus',
        choices=('bus', 'actuator'),
    )
    convention: str = setting(
        'how derivatives are taken', default='paper', choices=('paper', 'aligned')
    )

    def __post_init__(self) -> None:
        """Refuse a bus that is not fed."""
        if not _divides(self.bus, self.actuator):
            raise RobotFileError(
                f"in setup '{self.name}' the bus sees every n-th sample of the actuators, so its "
                f'rate must divide theirs; {self.bus:g} Hz does not divide {self.actuator:g} Hz.',
                kind='rate_divides_not',
                setup=self.name,
                bus=self.bus,
                actuator=self.actuator,
            )

    @property
    def stride(self) -> int:
        """Samples of the actuators per tick of the bus."""
        return round(self.actuator / self.bus)

    @property
    def label(self) -> str:
        """The method as the paper writes it."""
        return 'MR-AD' if self.method == 'mr_ad' else 'IR-MD'

    @property
    def quotient(self) -> str:
        """Method of the package's stages."""
        return 'central' if self.convention == 'aligned' else 'paper'

    @property
    def sample_step(self) -> float:
        """Time between neighbouring samples of what is differenced, momentum or gyroscope [s]."""
        return 1.0 / (self.bus if self.step == 'bus' else self.actuator)

    @property
    def differenced_over(self) -> float:
        """Time between the two samples of a difference: a central one spans two steps [s]."""
        return self.sample_step * (2.0 if self.convention == 'aligned' else 1.0)

    def reference(self, rate: float = REFERENCE_RATE) -> 'Setup':
        """Return what this setup is compared with: the same, both rates at `rate` [Hz]."""
        return dataclasses.replace(
            self, name=f'{self.name} reference', actuator=rate, bus=rate, step='bus'
        )

    def aligned(self) -> 'Setup':
        """Return the same setup with this package's conventions."""
        return dataclasses.replace(self, name=f'{self.name}*', convention='aligned')


SETUP_A = Setup('A', method='ir_md', actuator=125.0)
SETUP_B = Setup('B', actuator=125.0)
SETUP_C = Setup('C', method='ir_md')
SETUP_D = Setup('D')
SETUP_E = Setup('E', angular_acceleration='gyro')
SETUP_C_FAST = Setup('C, 2 ms', method='ir_md', step='actuator')
SETUP_E_FAST = Setup('E, 2 ms', angular_acceleration='gyro', step='actuator')

PAPER_SETUPS = (SETUP_A, SETUP_B, SETUP_C, SETUP_D, SETUP_E)
"""The setups of figs. 9 and 10; C and E difference over the bus step (8 ms)."""

VARIANTS = (SETUP_C_FAST, SETUP_E_FAST)
"""C and E differenced over the actuator step, because the paper leaves it open."""
