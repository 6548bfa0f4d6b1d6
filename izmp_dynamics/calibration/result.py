"""What a calibration found, as values."""

from dataclasses import dataclass, field
from pathlib import Path

from izmp_dynamics.calibration.held_out import HeldOut


@dataclass(frozen=True)
class Estimate:
    """One number.

    Attributes:
        name: as in `parameters.Parameter`.
        group: its group.
        item: what is corrected together with it or not at all.
        unit: its unit.
        value: what is added to what the robot file states.
        sigma: its standard deviation.
        info: 1 − (σ/σ of the prior)²: the part that this recording contributed; NaN if it has no
            prior of its own.
        used: whether the corrected files hold it.
    """

    name: str
    group: str
    item: str
    unit: str
    value: float
    sigma: float
    info: float
    used: bool


@dataclass(frozen=True)
class TradeOff:
    """Two numbers of which this recording knows a combination only.

    Attributes:
        first: name of the one.
        second: name of the other.
        correlation: of their errors.
        factor: first + factor · second is known best.
        value: of that combination.
        sigma: of that combination, in the unit of the first.
    """

    first: str
    second: str
    correlation: float
    factor: float
    value: float
    sigma: float


@dataclass(frozen=True)
class Effect:
    """What a group of corrections does to the results.

    Attributes:
        group: its name.
        izmp: root mean square by which IZMP or CoP, whichever moves more, moves [m].
    """

    group: str
    izmp: float


@dataclass(frozen=True)
class CalibrationResult:
    """Everything that the report says.

    Attributes:
        bags: the recordings.
        robot: name of the robot.
        payload_link: link whose mass and centre of mass may be corrected.
        groups: what was estimated.
        accepted: whether the corrections improve what was held out.
        reason: why nothing is corrected; empty if something is.
        before: errors on held-out motion without the corrections.
        after: with them.
        estimates: the numbers.
        trade_offs: of which only combinations are known.
        effects: by group, the largest first.
        notes: further sentences: what this recording cannot tell, and which motion would.
        motion: time of motion in the recordings [s].
        files: what was written.
    """

    bags: tuple[str, ...]
    robot: str
    payload_link: str
    groups: tuple[str, ...]
    accepted: bool
    reason: str
    before: HeldOut | None
    after: HeldOut | None
    estimates: tuple[Estimate, ...]
    trade_offs: tuple[TradeOff, ...]
    effects: tuple[Effect, ...]
    notes: tuple[str, ...]
    motion: float
    files: dict[str, Path] = field(default_factory=dict)
