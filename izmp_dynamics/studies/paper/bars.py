"""Bars with confidence intervals on a logarithmic axis, as in figs. 9 and 10, and their table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from izmp_dynamics.studies.look import Entry, Look, line, log_ticks, panels, patch
from izmp_dynamics.studies.paper.campaign import Score
from izmp_dynamics.studies.paper.setups import Setup
from izmp_dynamics.studies.picture import Fact, Table, number

PAPER_PERCENT = {'A': 65.22, 'B': 16.05, 'C': 112.42, 'D': 4.44, 'E': 18.9}
"""The paper's relative errors of y [%], by its own metric."""

_ANGULAR = {'accelerometers': 'accelerometers', 'gyro': 'difference of the gyroscope'}


def draw_bars(
    look: Look, width: float, setups: Sequence[Setup], scores: Mapping[str, Score]
) -> Any:
    """Draw both relative errors of y beside the values that the paper states."""
    methods = {setup.method for setup in setups}
    legend = [
        Entry(f'{text}: Σ|f − f_ref| / Σ|f_ref|', patch(look, colour))
        for method, text, colour in (('mr_ad', 'MR-AD', 'mr-ad'), ('ir_md', 'IR-MD', 'ir-md'))
        if method in methods
    ]
    legend += [
        Entry('the paper’s Δ', patch(look, 'muted', alpha=0.45)),
        Entry('Δ as printed in the paper', line(look, 'ink', marker='D', markersize=6,
                                                markerfacecolor='none', linestyle=':')),
    ]  # fmt: skip
    canvas, (ax,) = panels(width, 1, legend, height=3.2, below=0.3)
    places = np.arange(len(setups), dtype=float)
    for place, setup in zip(places, setups, strict=True):
        colour = 'mr-ad' if setup.method == 'mr_ad' else 'ir-md'
        bars = (('relative', -0.2, colour, 1.0), ('paper', 0.2, 'muted', 0.45))
        for measure, offset, paint, opacity in bars:
            found = scores[setup.name].of_measure(measure)
            if not math.isfinite(found.mean):
                continue
            ax.bar(place + offset, found.mean, 0.36, color=look[paint], alpha=opacity, linewidth=0)
            if math.isfinite(found.half_width):
                ax.errorbar(place + offset, found.mean, found.half_width, color=look['ink'],
                            linewidth=0.9, capsize=3)  # fmt: skip
            top = found.mean + (found.half_width if math.isfinite(found.half_width) else 0.0)
            text = number(found.mean, _digits(found.mean))
            ax.annotate(text, (place + offset, top), (0, 4), textcoords='offset points',
                        ha='center', fontsize=8.5, zorder=5,
                        bbox={'fc': look['paper'], 'ec': 'none', 'pad': 0.6})  # fmt: skip
        if setup.name in PAPER_PERCENT:
            printed = PAPER_PERCENT[setup.name]
            ax.plot([place - 0.38, place + 0.38], [printed, printed], ':', color=look['ink'],
                    linewidth=1.2)  # fmt: skip
            ax.plot(place, printed, 'D', color=look['ink'], markersize=6,
                    markerfacecolor=look['paper'])  # fmt: skip
    names = [f'{setup.name}\n{setup.label}\n{_rates(setup)}' for setup in setups]
    ax.set_xticks(places, names)
    ax.set(yscale='log', ylabel='relative error of y [%]', xlim=(-0.6, len(setups) - 0.4))
    log_ticks(ax.yaxis, (1, 10, 100, 1000))
    ax.set_ylim(0.5, 4000)
    ax.grid(axis='x', visible=False)
    return canvas


def score_facts(setup: Setup, score: Score, wanted: float | None = None) -> tuple[Fact, ...]:
    """Facts of a setup: key `A` is the Σ metric, `A_paper` the paper's Δ, `A_rms` in mm."""
    key = fact_key(setup)
    relative, delta = score.of_measure('relative'), score.of_measure('paper')
    rms = score.of_measure('rms')
    printed = PAPER_PERCENT.get(setup.name)
    return (
        Fact(key, f'setup {setup.name}, Σ metric of y', relative.mean, '%', 2, relative.half_width,
             '' if printed is None else f'{printed} % (by Δ)',
             '' if wanted is None else f'≤ {wanted} %',
             None if wanted is None else relative.mean <= wanted),
        Fact(f'{key}_paper', f'setup {setup.name}, the paper’s Δ of y', delta.mean, '%', 1,
             delta.half_width, '' if printed is None else f'{printed} %'),
        Fact(f'{key}_rms', f'setup {setup.name}, RMS of y', 1e3 * rms.mean, 'mm', 2,
             1e3 * rms.half_width),
    )  # fmt: skip


def fact_key(setup: Setup) -> str:
    """A setup's name as a key of facts."""
    return ''.join(c if c.isalnum() else '_' for c in setup.name.replace('*', '_aligned'))


def score_table(setups: Sequence[Setup], scores: Mapping[str, Score]) -> Table:
    """Everything about the setups, as the paper's Table 3 with the results beside it."""
    rows = []
    for setup in setups:
        measures = [scores[setup.name].of_measure(m) for m in ('relative', 'paper')]
        lengths = [scores[setup.name].of_measure(m) for m in ('rms', 'bias')]
        differenced = setup.method == 'ir_md' or setup.angular_acceleration == 'gyro'
        rows.append([
            setup.name, setup.label, _rates(setup),
            _ANGULAR[setup.angular_acceleration] if setup.method == 'mr_ad' else 'not needed',
            f'{1e3 * setup.differenced_over:g}' if differenced else '–',
            setup.convention,
            *(f'{number(m.mean, 2)} ± {number(m.half_width, 2)}' for m in measures),
            str(PAPER_PERCENT.get(setup.name, '–')),
            *(number(1e3 * m.mean, 2) for m in lengths),
            str(measures[0].count),
        ])  # fmt: skip
    headings = (
        'setup', 'method', 'ACD/bus [Hz]', 'angular acceleration', 'differenced over [ms]',
        'quotients', 'Σ metric of y [%]', 'the paper’s Δ of y [%]', 'printed in the paper [%]',
        'RMS of y [mm]', 'bias of y [mm]', 'repetitions',
    )  # fmt: skip
    return Table(headings, rows)


def _rates(setup: Setup) -> str:
    return f'{setup.actuator:g}/{setup.bus:g}'


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2
