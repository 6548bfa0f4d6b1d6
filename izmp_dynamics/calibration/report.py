"""The report of a calibration, as a page, for programs and for a terminal."""

import dataclasses
import json
import math
import textwrap
from collections.abc import Iterable
from typing import Any

from izmp_dynamics.calibration.result import CalibrationResult, sentences

FORMAT = 'izmp_dynamics calibration 1'


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
    title = 'Corrected, the largest effect first:' if result.accepted else 'Not corrected:'
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


def trade_off_lines(result: CalibrationResult) -> list[str]:
    """Combinations that are known where the numbers themselves are known less."""
    return [
        f'{pair.first} and {pair.second} trade off (correlation {pair.correlation:+.3f}); '
        f'known is {pair.first} {pair.factor:+.4g} · {pair.second} = {pair.value:.4g} ± '
        f'{pair.sigma:.2g}.'
        for pair in result.trade_offs
    ]


def render_json(result: CalibrationResult) -> str:
    """The result for programs; what is not a number is null."""
    plain = dataclasses.asdict(result)
    plain['files'] = {name: str(path) for name, path in result.files.items()}
    plain = {'format': FORMAT, 'sentences': sentences(result), **plain}
    return json.dumps(_finite(plain), indent=2, ensure_ascii=False, allow_nan=False) + '\n'


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def render_html(result: CalibrationResult) -> str:
    """The result as a self-contained page.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    from izmp_dynamics.pages.templates import template

    return template(__package__, 'report.html.j2').render(
        result=result,
        sentences=sentences(result),
        errors=held_out_lines(result),
        open=[*result.notes, *trade_off_lines(result)],
        infinity=math.inf,
    )
