"""What a calibration found: as values, in sentences, as a page, for programs and a terminal."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import izmp_dynamics
from izmp_dynamics.calibration.held_out import CLEAR, HeldOut
from izmp_dynamics.calibration.parameters import LAG, POSE_DELAY, Parameter
from izmp_dynamics.files.plain_json import as_json

FORMAT = 'izmp_dynamics calibration 1'

UNITS = {
    's': (1e3, 'ms'),
    'rad': (180.0 / math.pi, '°'),
    'rad/s': (180.0 / math.pi, '°/s'),
    'm': (1e3, 'mm'),
}
"""SI unit → what a number in it is multiplied by to be read, and the unit of that."""


@dataclass(frozen=True)
class Estimate(Parameter):
    """One number that was estimated.

    Attributes:
        value: what is added to what the robot file states, of forces in the sensor's axes.
        sigma: its standard deviation.
        info: 1 − (σ/σ of the prior)²: the part that this recording contributed.
        used: whether the corrected files hold it.
    """

    value: float
    sigma: float
    info: float
    used: bool


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
        agrees: whether nothing is to be corrected, and what is left over is little.
        reason: why nothing is corrected; empty if something is.
        before: errors on held-out motion without the corrections.
        after: with them.
        estimates: the numbers.
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
    agrees: bool
    reason: str
    before: HeldOut | None
    after: HeldOut | None
    estimates: tuple[Estimate, ...]
    effects: tuple[Effect, ...]
    notes: tuple[str, ...]
    motion: float
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """In a few words, beginning with the name of the robot."""
        if self.accepted:
            return f'{self.robot}: calibrated'
        return (
            f'{self.robot}: {self.reason.partition(":")[0] if self.agrees else "not calibrated"}'
        )


def sentences(result: CalibrationResult) -> list[str]:
    """What was wrong, the largest effect on the IZMP first; or why nothing is corrected."""
    if not result.accepted:
        return [result.reason]
    lines = []
    order = dict.fromkeys([*(effect.group for effect in result.effects), *result.groups])
    moved = {effect.group: effect.izmp for effect in result.effects}
    for group in order:
        items: dict[str, list[Estimate]] = {}
        for estimate in result.estimates:
            if estimate.group == group and estimate.used:
                of = estimate.name if group == 'delays' else estimate.item
                items.setdefault(of, []).append(estimate)
        found = [_sentence(group, item, used, result) for item, used in items.items()]
        if found and group in moved:
            subject = 'together these move' if len(found) > 1 else 'this moves'
            found[-1] += f' ({subject} the IZMP by {1e3 * moved[group]:.2g} mm)'
        lines += [f'{sentence}.' for sentence in found]
    return lines


def _sentence(group: str, item: str, used: Sequence[Estimate], result: CalibrationResult) -> str:
    first, value = used[0], used[0].value
    if first.segment:
        sensor = f"the unit on '{first.segment}'"
    elif first.foot:
        sensor = f"the force sensor of foot '{first.foot}'"
    else:
        sensor = {LAG: 'the gyroscope', POSE_DELAY: 'the pose'}.get(item, 'the IMU')
    subject = f'T{sensor[1:]}'
    if group == 'delays' or item.endswith('].delay'):
        late = 'later' if value > 0.0 else 'earlier'
        than = 'accelerometer' if item == LAG else 'joints'
        return f'The stamps of {sensor} are {_size(first)} {late} than those of the {than}'
    if group == 'unit_places':
        return f'{subject} is elsewhere than stated, in its axes: {_axes(used)}'
    if group in ('imu_rotation', 'ft_rotation', 'units'):
        angle = math.degrees(math.hypot(*(estimate.value for estimate in used)))
        return f'{subject} is turned by {angle:.2g}° against its frame: {_axes(used)}'
    if group in ('gyroscope_bias', 'accelerometer_bias'):
        what = group.removesuffix('_bias')
        if all(abs(estimate.value) < CLEAR * estimate.sigma for estimate in used):
            return f'The bias of the {what} is zero within its uncertainty: {_axes(used)}'
        return f'The {what} reads too much: {_axes(used)}'
    if group == 'ft_offsets':
        return f'Without load {sensor} reads {_axes(used)}'
    if group == 'ft_scale':
        amount, sigma = 100.0 * abs(value), 100.0 * first.sigma
        too = 'little' if value > 0.0 else 'much'
        return f'{subject} reads {amount:.2g} ± {sigma:.1g} % too {too}'
    if group == 'ft_matrix':
        return f'{subject} has a calibration matrix, of which {len(used)} entries change'
    if item == 'payload.com':
        return f"The centre of mass of link '{result.payload_link}' lies aside: {_axes(used)}"
    than = 'heavier' if value > 0.0 else 'lighter'
    return f"Link '{result.payload_link}' is {_size(first)} {than} than in the URDF"


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
    return f'{value:{sign}.{digits}f} ± {sigma:.{digits}f}'.replace('-', '−')


def held_out_lines(result: CalibrationResult) -> list[tuple[str, float, float, str]]:
    """(what, before, after, unit) on motion that was held out."""
    if result.before is None or result.after is None:
        return []
    rows = [
        ('Residual force', result.before.force, result.after.force, 'N'),
        ('Residual moment', result.before.moment, result.after.moment, 'N·m'),
        ('IZMP to CoP, x', 1e3 * result.before.izmp[0], 1e3 * result.after.izmp[0], 'mm'),
        ('IZMP to CoP, y', 1e3 * result.before.izmp[1], 1e3 * result.after.izmp[1], 'mm'),
        ('Specific force, foot at rest', result.before.rest, result.after.rest, 'm/s²'),
    ]
    return [row for row in rows if math.isfinite(row[1]) and math.isfinite(row[2])]


def summary(result: CalibrationResult, width: int = 100) -> list[str]:
    """What a terminal shows: what was wrong, errors before and after, what is not known."""
    lines = [f'{result.robot}, {result.motion:.1f} s of motion']
    if result.agrees:
        lines += textwrap.wrap(result.reason, width)
    else:
        first = ', the largest effect first' if result.effects else ''
        title = f'Corrected{first}:' if result.accepted else 'Not corrected:'
        lines += _bullets(title, sentences(result), width)
    rows = held_out_lines(result)
    if rows and result.before != result.after:
        lines += ['', f'{"Errors on held-out motion (RMS)":34s}{"before":>9s}{"after":>9s}']
        lines += [f'  {what:32s}{old:9.3g}{new:9.3g} {unit}' for what, old, new, unit in rows]
    if result.notes:
        lines += ['', *_bullets('To know:', result.notes, width)]
    return lines


def _bullets(title: str, items: Iterable[str], width: int) -> list[str]:
    return [
        title,
        *(
            line
            for item in items
            for line in textwrap.wrap(
                item, width, initial_indent='  * ', subsequent_indent='    ',
                break_long_words=False, break_on_hyphens=False,
            )
        ),
    ]  # fmt: skip


def render_json(result: CalibrationResult) -> str:
    """The result for programs; what is not a number is null."""
    return as_json({'format': FORMAT, 'sentences': sentences(result), **vars(result)})


def render_html(result: CalibrationResult) -> str:
    """The result as a self-contained page.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    from izmp_dynamics.pages.templates import template

    return template(__package__, 'report.html.j2').render(
        result=result,
        version=izmp_dynamics.__version__,
        sentences=sentences(result),
        errors=held_out_lines(result),
    )
