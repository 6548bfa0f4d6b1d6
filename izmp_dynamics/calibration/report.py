"""The report of a calibration, as a page, for programs and for a terminal."""

import dataclasses
import json
import math
import textwrap
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from izmp_dynamics.calibration.result import CalibrationResult
from izmp_dynamics.calibration.wording import sentences

FORMAT = 'izmp_dynamics calibration 1'

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ddd; --muted: #6d6d6d;
        --good: #2a7; --good-tint: #f3faf6; --bad: #c73; --bad-tint: #fdf6f0 }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e8ecf0; --paper: #14181d; --line: #39424b; --muted: #9aa6b2;
          --good: #3ed3a5; --good-tint: #10302a; --bad: #ff8a52; --bad-tint: #3a2013 }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: var(--ink); background: var(--paper) }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse } td, th { padding: .2rem .8rem .2rem 0; text-align: left }
td.n { text-align: right; font-variant-numeric: tabular-nums }
tr { border-bottom: 1px solid var(--line) }
.verdict { padding: .8rem 1rem; border-left: 5px solid var(--good); background: var(--good-tint) }
.refused { border-color: var(--bad); background: var(--bad-tint) } .off { color: var(--muted) }
"""


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
    """The result as a self-contained page."""
    return '\n'.join(_page(result)) + '\n'


def _page(result: CalibrationResult) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    title = f'Calibration of {escape(result.robot)}'
    yield f'<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>'
    bags = ', '.join(escape(bag) for bag in result.bags)
    yield f'<p>From {bags}, {result.motion:.1f} s of motion.</p>'
    state = 'verdict' if result.accepted else 'verdict refused'
    verdict = 'It improves the motion that was held out.' if result.accepted else result.reason
    yield f'<p class="{state}">{escape(verdict)}</p>'
    if result.accepted:
        yield '<h2>What was wrong</h2><ul>'
        yield from (f'<li>{escape(line)}</li>' for line in sentences(result))
        yield '</ul>'
    rows = held_out_lines(result)
    if rows:
        yield '<h2>Errors on held-out motion (RMS)</h2><table>'
        yield '<tr><th></th><th>before</th><th>after</th><th></th></tr>'
        for what, before, after, unit in rows:
            yield (
                f'<tr><td>{what}</td><td class="n">{before:.3g}</td>'
                f'<td class="n">{after:.3g}</td><td>{unit}</td></tr>'
            )
        yield '</table><p>Each quarter of the motion is predicted by what the others chose and '
        yield 'gave.</p>'
    if result.notes or result.trade_offs:
        yield '<h2>Unobservable or open</h2><ul>'
        yield from (f'<li>{escape(line)}</li>' for line in result.notes)
        yield from (f'<li>{escape(line)}</li>' for line in trade_off_lines(result))
        yield '</ul>'
    yield '<h2>All numbers</h2><p>Added to what the robot file stated.</p><table>'
    yield '<tr><th></th><th>value</th><th>σ</th><th>unit</th><th>info</th><th></th></tr>'
    for e in result.estimates:
        info = f'{e.info:.2f}' if math.isfinite(e.info) else ''
        used = '' if e.used else 'not used'
        yield (
            f'<tr{"" if e.used else " class=off"}><td>{escape(e.name)}</td>'
            f'<td class="n">{e.value:.5g}</td><td class="n">{e.sigma:.2g}</td><td>{e.unit}</td>'
            f'<td class="n">{info}</td><td>{used}</td></tr>'
        )
    yield '</table><p>info is the part of the knowledge that the recording gives: below 0.5 a '
    yield 'number is unobservable, and left alone. So is what changes nothing that can be judged.'
    yield '</p></body></html>'
