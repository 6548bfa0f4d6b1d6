"""Bars with confidence intervals on a logarithmic axis, as in figs. 9 and 10, and their table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, log_ticks, panels, patch
from izmp_dynamics.pages.picture import Fact, Table, number
from izmp_lab.studies.estimate import Estimate
from izmp_lab.studies.paper.campaign import Score
from izmp_lab.studies.paper.setups import Setup

PAPER_PERCENT = {'A': 65.22, 'B': 16.05, 'C': 112.42, 'D': 4.44, 'E': 18.9}
"""The paper's relative errors of y [%], by its own metric Δ: one run each."""

REPRODUCED, NOT_REPRODUCED = 'reproduced', 'not reproduced'

_ANGULAR = {'accelerometers': 'accelerometers', 'gyro': 'gyroscope'}


def draw_bars(
    look: Look, width: float, setups: Sequence[Setup], scores: Mapping[str, Score]
) -> Any:
    """Draw medians and ranges of both relative errors of y, and Δ as the paper states it."""
    methods = {setup.method for setup in setups}
    legend = [
        Entry(f'{text}: Σ|f − f_ref| / Σ|f_ref|', patch(look, colour))
        for method, text, colour in (('mr_ad', 'MR-AD', 'mr-ad'), ('ir_md', 'IR-MD', 'ir-md'))
        if method in methods
    ]
    legend += [
        Entry('Δ as the paper defines it', patch(look, 'muted', alpha=0.45)),
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
            if not math.isfinite(found.range[1]):
                continue
            x, median, (low, high) = place + offset, found.median, found.range
            ax.bar(x, median, 0.36, color=look[paint], alpha=opacity, linewidth=0)
            ax.errorbar(x, median, [[median - low], [high - median]], color=look['ink'],
                        linewidth=0.9, capsize=3)  # fmt: skip
            top, text = high, number(found.median, _digits(found.median))
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
    ax.set_ylim(0.5, 20000)
    ax.grid(axis='x', visible=False)
    return canvas


def score_facts(setup: Setup, score: Score) -> tuple[Fact, ...]:
    """Facts of a setup: key `A` is the Σ metric, `A_paper` the paper's Δ, `A_rms` in mm.

    Δ and Σ are different measures, so the paper's value stands beside Δ alone. `A_least` and
    `A_most` are the range of Δ, and `A_times` is its median over the paper's value.
    """
    key = fact_key(setup)
    relative, delta = score.of_measure('relative'), score.of_measure('paper')
    rms, (low, high) = score.of_measure('rms'), delta.range
    facts = [
        Fact(key, f'setup {setup.name}, Σ metric of y', relative.mean, '%', 2,
             relative.half_width),
        Fact(f'{key}_paper', f'setup {setup.name}, Δ of y, mean', delta.mean, '%', 1,
             delta.half_width, _printed(setup, delta)),
        Fact(f'{key}_median', f'setup {setup.name}, Δ of y, median', delta.median, '%', 1),
        Fact(f'{key}_least', f'setup {setup.name}, Δ of y, 2.5 % quantile', low, '%', 1),
        Fact(f'{key}_most', f'setup {setup.name}, Δ of y, 97.5 % quantile', high, '%', 1),
        Fact(f'{key}_rms', f'setup {setup.name}, RMS of y', 1e3 * rms.mean, 'mm', 2,
             1e3 * rms.half_width),
    ]  # fmt: skip
    if setup.name in PAPER_PERCENT:
        printed = PAPER_PERCENT[setup.name]
        facts.append(Fact(f'{key}_times', f'setup {setup.name}, median Δ over the paper’s',
                          delta.median / printed, '', 1))  # fmt: skip
    return tuple(facts)


def _printed(setup: Setup, delta: Estimate) -> str:
    """What the paper prints, and whether a repetition could have printed it."""
    if setup.name not in PAPER_PERCENT:
        return ''
    printed = PAPER_PERCENT[setup.name]
    return f'{printed} %, {REPRODUCED if delta.has(printed) else NOT_REPRODUCED}'


def fact_key(setup: Setup) -> str:
    """A setup's name as a key of facts."""
    return ''.join(c if c.isalnum() else '_' for c in setup.name.replace('*', '_aligned'))


def score_table(setups: Sequence[Setup], scores: Mapping[str, Score]) -> Table:
    """Everything about the setups, as the paper's Table 3 with the results beside it."""
    rows = []
    for setup in setups:
        relative, delta, rms = (
            scores[setup.name].of_measure(m) for m in ('relative', 'paper', 'rms')
        )
        differenced = setup.method == 'ir_md' or setup.angular_acceleration == 'gyro'
        rows.append([
            setup.name, f'{setup.label}, {_rates(setup)}',
            _ANGULAR[setup.angular_acceleration] if setup.method == 'mr_ad' else '–',
            f'{1e3 * setup.differenced_over:g}' if differenced else '–',
            _printed(setup, delta) or '–',
            number(delta.median, 1),
            f'{number(delta.range[0], 1)} to {number(delta.range[1], 1)}',
            f'{number(delta.mean, 1)} ± {number(delta.half_width, 1)}',
            f'{number(relative.mean, 2)} ± {number(relative.half_width, 2)}',
            number(1e3 * rms.mean, 2),
            str(relative.count),
        ])  # fmt: skip
    headings = (
        'setup', 'method, ACD/bus [Hz]', 'angular acceleration', 'over [ms]', 'Δ in the paper',
        'Δ, median [%]', '95 % of Δ [%]', 'Δ, mean [%]', 'Σ metric [%]',
        'RMS [mm]', 'runs',
    )  # fmt: skip
    return Table(headings, rows)


def _rates(setup: Setup) -> str:
    return f'{setup.actuator:g}/{setup.bus:g}'


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2
