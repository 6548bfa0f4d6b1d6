"""Settings of the method: rates, differentiation, filters, pairing, fall alarm."""

from dataclasses import dataclass

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.settings import METRES, setting


@dataclass(frozen=True)
class Rates:
    """Two rates: joints are differentiated at the first, the dynamics evaluated at the second."""

    actuator: float | None = setting(
        'rate of the joint positions; measured from the stamps if not given',
        default=None, unit='Hz', lower=1.0, upper=50_000.0, hint='hertz, not kilohertz',
    )  # fmt: skip
    bus: float = setting(
        'rate at which the dynamics are evaluated', default=125.0, unit='Hz', lower=1.0,
        upper=10_000.0, hint='hertz, not kilohertz',
    )  # fmt: skip


@dataclass(frozen=True)
class Acd:
    """Actuator coordinate differentiation (sect. 4.4.1)."""

    method: str = setting(
        'difference quotient',
        default='central',
        choices=('central', 'paper', 'savitzky_golay'),
    )
    window: int = setting('samples of the Savitzky–Golay fit (odd)', default=7, lower=3, upper=101)
    degree: int = setting('degree of the Savitzky–Golay fit', default=3, lower=2, upper=4)
    max_gap: float = setting(
        'longest time between samples that is differentiated across',
        default=0.05, unit='s', lower=1e-4, upper=10.0, hint='seconds, not milliseconds',
    )  # fmt: skip
    acceleration_limit: float = setting(
        'joint acceleration beyond which a single sample counts as an outlier',
        default=1000.0, unit='rad/s² or m/s²', lower=1.0, upper=1e7,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.window % 2 == 0 or self.window <= self.degree:
            raise RobotFileError(
                'window must be odd and larger than degree.',
                kind='unsuitable_window', window=self.window, degree=self.degree,
            )  # fmt: skip


@dataclass(frozen=True)
class AngularAcceleration:
    """How the angular acceleration of the root is found (sect. 4.4.1)."""

    method: str = setting(
        'accelerometers: from the array; gyro: difference quotient of the gyroscope; auto: the '
        'array if the robot has one',
        default='auto',
        choices=('auto', 'accelerometers', 'gyro'),
    )


@dataclass(frozen=True)
class IrMd:
    """The baseline IR-MD (sect. 4.4.2)."""

    difference: str = setting(
        'difference quotient of the momenta', default='central', choices=('central', 'paper')
    )
    step: str = setting(
        'step of the difference quotient', default='bus', choices=('bus', 'actuator')
    )


@dataclass(frozen=True)
class Filter:
    """Filter that all signals pass, so that the equations of motion still hold between them.

    See `signals.matched_filter`.
    """

    method: str = setting(
        'matched: the mean over a triangle of half_width; none: unfiltered; auto: matched if '
        'half_width is given, else izmp replay chooses it from the measured noise and nodes do '
        'not filter',
        default='auto',
        choices=('auto', 'matched', 'none'),
    )
    half_width: float | None = setting(
        'half-width of the triangle',
        default=None, unit='s', lower=1e-4, upper=1.0, hint='seconds, not milliseconds',
    )  # fmt: skip
    scatter: float = setting(
        'scatter of the IZMP below which auto and izmp check want it',
        default=0.005, unit='m', lower=1e-6, upper=1.0, hint=METRES,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.method == 'matched' and self.half_width is None:
            raise RobotFileError(
                "method: matched needs the key 'half_width' in seconds; izmp check proposes one.",
                kind='missing_key', keys=('filter.half_width',),
            )  # fmt: skip
        if self.method == 'none' and self.half_width is not None:
            raise RobotFileError(
                'half_width has no effect with method: none; leave one of them out.',
                kind='key_without_effect', key='filter.half_width', method=self.method,
            )  # fmt: skip


@dataclass(frozen=True)
class FallAlarm:
    """When the fall alarm is raised."""

    missed_fall: float = setting(
        'what a missed fall costs, in false alarms: there is reason for the alarm from the '
        'probability of a fall 1 / (1 + 0.1 missed_fall) on',
        default=1.0, lower=1e-3, upper=1e6,
    )  # fmt: skip


@dataclass(frozen=True)
class Fusion:
    """What motion and feet say together (docs/fusion.md)."""

    link: str | None = setting(
        'link in whose frame fusion/push_on_link and the report state where a push passes',
        default=None,
    )


@dataclass(frozen=True)
class Pairing:
    """How samples of different topics are brought to one instant."""

    max_gap: float = setting(
        'longest time between two samples that is interpolated across',
        default=0.05, unit='s', lower=0.0, upper=10.0, hint='seconds, not milliseconds',
    )  # fmt: skip
