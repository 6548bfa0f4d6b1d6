"""What a calibration found, as values and in a sentence for each item."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from izmp_dynamics.calibration.held_out import HeldOut
from izmp_dynamics.calibration.parameters import LAG

UNITS = {
    's': (1e3, 'ms'),
    'rad': (180.0 / math.pi, '°'),
    'rad/s': (180.0 / math.pi, '°/s'),
    'm': (1e3, 'mm'),
}
"""SI unit → what a number in it is multiplied by to be read, and the unit of that."""


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


def sentences(result: CalibrationResult) -> list[str]:
    """What was wrong, the largest effect on the IZMP first; or why nothing is corrected."""
    if not result.accepted:
        return [result.reason]
    lines = []
    order = [effect.group for effect in result.effects] or list(result.groups)
    moved = {effect.group: effect.izmp for effect in result.effects}
    for group in order:
        items: dict[str, list[Estimate]] = {}
        for estimate in result.estimates:
            if estimate.group == group and estimate.used:
                items.setdefault(estimate.item, []).append(estimate)
        found = [_sentence(group, item, used, result) for item, used in items.items()]
        if found and group in moved:
            found[-1] += f' ({"Together: " * (len(found) > 1)}{1e3 * moved[group]:.2g} mm of IZMP)'
        lines += [f'{sentence}.' for sentence in found]
    return lines


def _sentence(group: str, item: str, used: Sequence[Estimate], result: CalibrationResult) -> str:
    sensor = _sensor(item)
    values = [estimate.value for estimate in used]
    if group == 'delays':
        late = 'later' if values[0] > 0.0 else 'earlier'
        than = 'accelerometer' if item == LAG else 'joints'
        return f'The stamps of {sensor} are {_size(used[0])} {late} than those of the {than}'
    if group in ('imu_rotation', 'ft_rotation'):
        angle = math.degrees(math.hypot(*values))
        return f'{_capital(sensor)} is turned by {angle:.2g}° against its frame: {_axes(used)}'
    if group in ('gyroscope_bias', 'accelerometer_bias'):
        what = 'gyroscope' if group == 'gyroscope_bias' else 'accelerometer'
        return f'The {what} reads too much: {_axes(used)}'
    if group == 'ft_offsets':
        return f'Without load {sensor} reads {_axes(used)}'
    if group == 'ft_scale':
        amount, sigma = 100.0 * abs(values[0]), 100.0 * used[0].sigma
        too = 'little' if values[0] > 0.0 else 'much'
        return f'{_capital(sensor)} reads {amount:.2g} ± {sigma:.1g} % too {too}'
    if group == 'ft_matrix':
        return f'{_capital(sensor)} has a calibration matrix, of which {len(used)} entries change'
    if group == 'inertias':
        return 'Mass, centre of mass and inertia of all links are corrected; see the URDF'
    if item == 'payload.com':
        return f"The centre of mass of link '{result.payload_link}' lies aside: {_axes(used)}"
    than = 'heavier' if values[0] > 0.0 else 'lighter'
    return f"Link '{result.payload_link}' is {_size(used[0])} {than} than in the URDF"


def _sensor(item: str) -> str:
    if item.startswith('feet['):
        return f"the force sensor of foot '{item[len('feet[') : item.rindex(']')]}'"
    return 'the gyroscope' if item == LAG else 'the IMU'


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _size(estimate: Estimate) -> str:
    """A number without its sign, with deviation and unit."""
    factor, unit = UNITS.get(estimate.unit, (1.0, estimate.unit))
    return f'{_number(factor * abs(estimate.value), factor * estimate.sigma)} {unit}'


def _axes(used: Sequence[Estimate]) -> str:
    """Numbers axis by axis, the unit after the last one that has it."""
    parts = []
    for k, estimate in enumerate(used):
        factor, unit = UNITS.get(estimate.unit, (1.0, estimate.unit))
        value = _number(factor * estimate.value, factor * estimate.sigma, sign='+')
        last = k + 1 == len(used) or used[k + 1].unit != estimate.unit
        parts.append(f'{estimate.name.rpartition(".")[2]} {value}{" " * last}{unit * last}')
    return ', '.join(parts)


def _number(value: float, sigma: float, sign: str = '') -> str:
    """Value ± deviation, as many digits as the deviation has with two."""
    digits = 2 if sigma <= 0.0 else max(0, min(6, 1 - math.floor(math.log10(sigma))))
    return f'{value:{sign}.{digits}f} ± {sigma:.{digits}f}'
