"""Figures with noisy sensors: figs. 8 to 10."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, line, log_ticks, panels, patch, series
from izmp_dynamics.pages.picture import Fact, Picture, Table, number
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.studies.paper.ideal_sensors import full_step
from izmp_lab.studies.paper.study import (
    Estimate,
    PaperStudy,
    of_measure,
)
from izmp_lab.studies.paper.trial import (
    SETUP_A,
    SETUP_B,
    SETUP_C,
    SETUP_C_FAST,
    SETUP_D,
    SETUP_E,
    SETUP_E_FAST,
    Setup,
)
from izmp_lab.studies.publish import figure, within
from izmp_lab.studies.runs import Arrays, Run

PAPER_PERCENT = {'A': 65.22, 'B': 16.05, 'C': 112.42, 'D': 4.44, 'E': 18.9}
"""The paper's relative errors of y [%], by its own metric Δ: one run each."""

_ANGULAR = {'accelerometers': 'accelerometers', 'gyro': 'gyroscope'}


def draw_bars(width: float, setups: Sequence[Setup], scores: Mapping[str, Arrays]) -> Any:
    """Draw medians and ranges of both relative errors of y, and Δ as the paper states it."""
    methods = {setup.method for setup in setups}
    legend = [
        Entry(f'{text}: Σ|f − f_ref| / Σ|f_ref|', patch(colour))
        for method, text, colour in (('mr_ad', 'MR-AD', 'mr-ad'), ('ir_md', 'IR-MD', 'ir-md'))
        if method in methods
    ]
    legend += [
        Entry('Δ as the paper defines it', patch('muted', alpha=0.45)),
        Entry('Δ as printed in the paper', line('ink', marker='D', markersize=6,
                                                markerfacecolor='none', linestyle=':')),
    ]  # fmt: skip
    canvas, (ax,) = panels(width, 1, legend, height=3.2, below=0.3)
    places = np.arange(len(setups), dtype=float)
    for place, setup in zip(places, setups, strict=True):
        colour = 'mr-ad' if setup.method == 'mr_ad' else 'ir-md'
        bars = (('relative', -0.2, colour, 1.0), ('paper', 0.2, 'muted', 0.45))
        for measure, offset, paint, opacity in bars:
            found = of_measure(scores[setup.name], measure)
            if not math.isfinite(found.range[1]):
                continue
            x, median, (low, high) = place + offset, found.median, found.range
            ax.bar(x, median, 0.36, color=LIGHT[paint], alpha=opacity, linewidth=0)
            ax.errorbar(x, median, [[median - low], [high - median]], color=LIGHT['ink'],
                        linewidth=0.9, capsize=3)  # fmt: skip
            top, text = high, number(found.median, _digits(found.median))
            ax.annotate(text, (place + offset, top), (0, 4), textcoords='offset points',
                        ha='center', fontsize=8.5, zorder=5,
                        bbox={'fc': LIGHT['paper'], 'ec': 'none', 'pad': 0.6})  # fmt: skip
        if setup.name in PAPER_PERCENT:
            printed = PAPER_PERCENT[setup.name]
            ax.plot([place - 0.38, place + 0.38], [printed, printed], ':', color=LIGHT['ink'],
                    linewidth=1.2)  # fmt: skip
            ax.plot(place, printed, 'D', color=LIGHT['ink'], markersize=6,
                    markerfacecolor=LIGHT['paper'])  # fmt: skip
    names = [f'{setup.name}\n{setup.label}\n{_rates(setup)}' for setup in setups]
    ax.set_xticks(places, names)
    ax.set(yscale='log', ylabel='relative error of y [%]', xlim=(-0.6, len(setups) - 0.4))
    log_ticks(ax.yaxis, (1, 10, 100, 1000))
    ax.set_ylim(0.5, 20000)
    ax.grid(axis='x', visible=False)
    return canvas


def score_facts(setup: Setup, score: Arrays) -> tuple[Fact, ...]:
    """Facts of a setup: key `A` is the Σ metric, `A_paper` the paper's Δ, `A_rms` in mm.

    Δ and Σ are different measures, so the paper's value stands beside Δ alone. `A_least` and
    `A_most` are the range of Δ, and `A_times` is its median over the paper's value.
    """
    key = fact_key(setup)
    relative, delta = of_measure(score, 'relative'), of_measure(score, 'paper')
    rms, (low, high) = of_measure(score, 'rms'), delta.range
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
    if setup.name not in PAPER_PERCENT:
        return ''
    printed = PAPER_PERCENT[setup.name]
    return f'{printed} %, {"" if delta.has(printed) else "not "}reproduced'


def fact_key(setup: Setup) -> str:
    """A setup's name as a key of facts."""
    return ''.join(c if c.isalnum() else '_' for c in setup.name.replace('*', '_aligned'))


def score_table(setups: Sequence[Setup], scores: Mapping[str, Arrays]) -> Table:
    """Everything about the setups, as the paper's Table 3 with the results beside it."""
    rows = []
    for setup in setups:
        relative, delta, rms = (
            of_measure(scores[setup.name], m) for m in ('relative', 'paper', 'rms')
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


INSIDE = (92.0, 98.0)
"""95.4 % of a normal distribution are within ± 2 σ; a walk has some 300 samples or more [%]."""

STANDARD_ERRORS = 4.0
"""So many standard errors an observed σ may be off."""

_METHODS = {'mr_ad': SETUP_B, 'ir_md': SETUP_A}
_LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD'}


def _fig8_runs(study: PaperStudy) -> dict[Any, Run]:
    return {
        **{('ideal', name): study.izmp(setup) for name, setup in _METHODS.items()},
        **{('noisy', name): study.izmp(setup, noisy=True) for name, setup in _METHODS.items()},
        'noise': study.sensor_noise(),
    }


@figure(_fig8_runs)
def fig8(study: PaperStudy, found: dict[Any, Arrays]) -> Picture:
    ideal, noisy = ({n: found[kind, n] for n in _METHODS} for kind in ('ideal', 'noisy'))
    times = ideal['mr_ad']['times']
    start, stop = full_step(ideal['mr_ad']['step_begins'])
    shown = (times >= start - 1e-9) & (times <= stop + 1e-9)
    t = times[shown] - start
    error = {n: 1e3 * (noisy[n]['points'] - ideal[n]['points'])[:, :2] for n in _METHODS}
    sigma = {n: 1e3 * noisy[n]['sigma'] for n in _METHODS}

    def draw(width: float) -> Any:
        legend = [
            Entry('MR-AD', line('mr-ad', linewidth=1.3)),
            Entry('MR-AD, ideal', line('mr-ad', linewidth=2.6, alpha=0.35)),
            Entry('IR-MD', line('ir-md', linewidth=1.2, dashes=(3.5, 1.6))),
            Entry('IR-MD, ideal', line('ir-md', linewidth=2.6, alpha=0.35)),
            Entry('predicted ± 2 σ', patch('other', alpha=0.25)),
        ]
        canvas, axes = panels(width, 4, legend, height=2.4)
        for axis, ax in enumerate(axes[:2]):
            for name in ('ir_md', 'mr_ad'):
                faint = series(name, linewidth=2.6, alpha=0.35, linestyle='-')
                ax.plot(t, ideal[name]['points'][shown, axis], **faint)
                ax.plot(t, noisy[name]['points'][shown, axis], **series(name))
            ax.set(xlabel='time since the sub-step began [s]', xlim=(0, stop - start))
            ax.set_ylabel(f'{"xy"[axis]} of the IZMP in nif [m]')
        for name, ax in zip(_METHODS, axes[2:], strict=True):
            band = 2.0 * sigma[name][shown, 1]
            ax.fill_between(t, -band, band, color=LIGHT['other'], alpha=0.25, linewidth=0)
            ax.plot(t, error[name][shown, 1], **series(name))
            ax.set(xlabel='time since the sub-step began [s]', xlim=(0, stop - start))
            ax.set_ylabel(f'{_LABELS[name]}: noise of y [mm]')
        return canvas

    used = ideal['mr_ad']['steady']
    facts = _facts({n: e[used] for n, e in error.items()}, {n: s[used] for n, s in sigma.items()})
    return Picture(
        name='fig8',
        title='Noisy sensors',
        source='Fig. 8',
        draw=draw,
        facts=(*facts, *_sensor_facts(study, found['noise'])),
        seen='Above, the IZMP over one full step with noisy sensors, on the curves with ideal '
        'ones; all at 125 Hz. Below, what the noise does to y, in the band of ± 2 σ that follows '
        'from the noise densities alone, without a repetition.',
        paper='Marginal impact of the noise on MR-AD, significant impact on IR-MD.',
        ours='The noise of y is {mr_ad_y} for MR-AD and {ir_md_y} for IR-MD (RMS), {ratio} times '
        'as much; {mr_ad_inside} and {ir_md_inside} of the samples lie within ± 2 σ (95.4 % of a '
        'normal distribution do).',
        data=Table(
            ('time [s]',
             *(f'{label} {kind} {axis} [m]' for label in _LABELS.values()
               for kind in ('ideal', 'noisy') for axis in 'xy'),
             *(f'{label} predicted σ of {axis} [m]' for label in _LABELS.values()
               for axis in 'xy')),
            np.column_stack(
                [t, *(run[name]['points'][shown, :2] for name in _METHODS
                      for run in (ideal, noisy)),
                 *(noisy[name]['sigma'][shown] for name in _METHODS)]
            ).tolist(),
        ),
    )  # fmt: skip


def _facts(error: dict[str, Array], sigma: dict[str, Array]) -> tuple[Fact, ...]:
    facts = []
    rms = {name: np.sqrt(np.nanmean(values**2, axis=0)) for name, values in error.items()}
    for name, label in _LABELS.items():
        inside = np.abs(error[name]) <= 2.0 * sigma[name]
        share = 100.0 * float(inside.mean())
        digits = 2 if name == 'mr_ad' else 0
        facts += [
            Fact(f'{name}_x', f'noise of x, {label}, RMS', float(rms[name][0]), 'mm', digits),
            Fact(f'{name}_y', f'noise of y, {label}, RMS', float(rms[name][1]), 'mm', digits),
            within(f'{name}_inside', f'samples within ± 2 σ, {label}', share, INSIDE, '%', 1),
        ]
    ratio = float(rms['ir_md'][1] / rms['mr_ad'][1])
    return (*facts, Fact('ratio', 'noise of y, IR-MD over MR-AD', ratio, '', 0))


def _sensor_facts(study: PaperStudy, found: Arrays) -> tuple[Fact, ...]:
    densities, root = study.experiment.densities, math.sqrt(float(found['rate'][0]))
    micro_g, degree = 9.80665e-6, math.pi / 180.0
    names = ('accelerometers', 'gyroscope', 'linear velocity')
    stated = (micro_g * densities.accelerometer, degree * densities.gyroscope,
              micro_g * densities.accelerometer)  # fmt: skip
    facts = []
    for name, density, rms, count in zip(names, stated, found['rms'], found['count'], strict=True):
        ratio, room = float(rms) / (density * root), STANDARD_ERRORS / math.sqrt(2.0 * int(count))
        facts.append(
            Fact(name.replace(' ', '_'), f'noise of the {name} over ν√f', ratio, '', 3, paper='1',
                 wanted=f'1 ± {number(room, 3)}', holds=abs(ratio - 1.0) <= room)
        )  # fmt: skip
    return tuple(facts)


SHOWN = (SETUP_A, SETUP_B, SETUP_C, SETUP_D)
AMONG_REPETITIONS = (SETUP_B, SETUP_D)
"""Setups whose printed Δ a repetition could have; A and C are on the list of what is missing."""

RISE = (1.8, 2.3)
"""Error of C over that of A: both are differenced over 8 ms, σ at 500 Hz is twice that at 125 Hz;
of a quotient whose denominator is noisy as well a little more."""


@figure(lambda study: {each.name: study.repetitions(each) for each in study.setups})
def fig9(study: PaperStudy, scores: dict[str, Arrays]) -> Picture:
    def draw(width: float) -> Any:
        return draw_bars(width, SHOWN, scores)

    table = score_table(study.setups, scores)
    return Picture(
        name='fig9',
        title='Setups A to D: rates and methods with noise',
        source='Fig. 9 and Table 3',
        draw=draw,
        facts=_fig9_facts(scores),
        seen='Relative error of y with noisy sensors against the same method with ideal ones at '
        '500/500 Hz: median over the repetitions and the range of 95 % of them, each with other '
        'noise and another phase of the sampling; all steps but the first and last two. Two '
        'measures, which are not to be compared with each other.',
        paper='Δ of one run each: A 65.22 %, B 16.05 %, C 112.42 %, D 4.44 %: faster sensors help '
        'MR-AD and harm IR-MD.',
        ours='Δ of single repetitions is spread: B {B_least} to {B_most} (median {B_median}, mean '
        '{B_paper}), D {D_least} to {D_most} (median {D_median}): the paper’s values are among '
        'them. A {A_least} to {A_most} (median {A_median}, mean {A_paper}) and C {C_least} to '
        '{C_most} (median {C_median}, mean {C_paper}) are not: the medians are {A_times} and '
        '{C_times} times the paper’s. B over D is {gain_delta} in the mean of Δ, {gain} in Σ. By '
        'Σ|f − f_ref|/Σ|f_ref|: A {A}, B {B}, C {C}, D {D}; C is {rise} times A. Were IR-MD '
        'differenced over 2 ms in C, it would be {C__2_ms}. With aligned quotients A {A_aligned}, '
        'B {B_aligned}, C {C_aligned}, D {D_aligned}: MR-AD at 125 Hz is then no worse than at '
        '500 Hz, because there is no skew that faster samples could lessen.',
        why='Δ is decided by the samples near the zero crossings of y (see the picture of the '
        'trap): its distribution has heavy tails, and its mean is that of a few repetitions. The '
        'errors of IR-MD scale with σ/Δt; the picture on noise densities shows which density '
        'the paper’s values would need. The error of B is the skew between quotients and '
        'accelerometers, which depends on the gait. Over 2 ms the noise of IR-MD’s normal force '
        'is as large as the weight; samples at which it falls below 5 % of it have no IZMP and '
        'are left out.',
        data=table,
        table=table,
    )


def _fig9_facts(scores: dict[str, Arrays]) -> tuple[Fact, ...]:
    facts = [
        fact
        for setup in (*SHOWN, SETUP_C_FAST, *(setup.aligned() for setup in SHOWN))
        for fact in score_facts(setup, scores[setup.name])
    ]
    for setup in AMONG_REPETITIONS:
        delta, printed = of_measure(scores[setup.name], 'paper'), PAPER_PERCENT[setup.name]
        low, high = (number(end, 1) for end in delta.range)
        facts.append(
            Fact(f'{setup.name}_printed',
                 f'setup {setup.name}: the paper’s Δ among 95 % of the repetitions',
                 printed, '%', 2, wanted=f'{low} to {high} %',
                 holds=delta.has(printed))
        )  # fmt: skip
    names = (SETUP_A.name, SETUP_B.name, SETUP_C.name, SETUP_D.name, SETUP_E.name)
    a, b, c, d, e = (of_measure(scores[name], 'relative').mean for name in names)
    b_delta, d_delta = (of_measure(scores[name], 'paper').mean for name in ('B', 'D'))
    return (
        *facts,
        within('rise', 'Σ metric of C over that of A', c / a, RISE),
        Fact('gain', 'Σ metric of B over that of D', b / d, '', 2, wanted='> 1', holds=d < b),
        Fact('gain_delta', 'mean Δ of B over that of D', b_delta / d_delta, '', 2, paper='3.61'),
        Fact('order', 'Σ metric of A over that of E', a / e, '', 2, wanted='> 1',
             holds=e < a < c),
    )  # fmt: skip


FASTER = (3.4, 4.2)
"""The noise of a quotient goes as 1/Δt: four times that over 8 ms, less what is not noise."""

SOURCES = (SETUP_B, SETUP_E, SETUP_D, SETUP_E_FAST)
_LISTED = (*SOURCES, SETUP_E.aligned())


@figure(lambda study: {each.name: study.repetitions(each) for each in _LISTED})
def fig10(study: PaperStudy, scores: dict[str, Arrays]) -> Picture:
    def draw(width: float) -> Any:
        return draw_bars(width, SOURCES, scores)

    table = score_table(_LISTED, scores)
    return Picture(
        name='fig10',
        title='Angular acceleration: accelerometers or gyroscope',
        source='Fig. 10 and Table 3',
        draw=draw,
        facts=_fig10_facts(scores),
        seen='MR-AD with the angular acceleration of the root from four accelerometers (B, D) or '
        'as the difference quotient of the gyroscope (E); relative error of y as in fig. 9.',
        paper='Δ of one run each: B 16.05 %, E 18.9 %, D 4.44 %.',
        ours='Δ: E {E_least} to {E_most} (median {E_median}, mean {E_paper}) when the gyroscope '
        'is differenced over the bus step of 8 ms, B {B_median} and D {D_median} in the median. '
        'By the Σ metric B {B}, E {E}, D {D}. Differenced over the 2 ms of the actuators, E is '
        '{E__2_ms}. With aligned quotients (over 16 ms) it is {E_aligned}.',
        why='The paper leaves open over which interval the gyroscope is differenced; both are '
        'shown. 8 ms fit its value, 2 ms do not.',
        data=table,
        table=table,
    )


def _fig10_facts(scores: dict[str, Arrays]) -> tuple[Fact, ...]:
    facts = [fact for setup in _LISTED for fact in score_facts(setup, scores[setup.name])]
    delta, printed = of_measure(scores[SETUP_E.name], 'paper'), PAPER_PERCENT[SETUP_E.name]
    low, high = (number(end, 1) for end in delta.range)
    names = (SETUP_D.name, SETUP_E.name, SETUP_E_FAST.name)
    d, e, fast = (of_measure(scores[name], 'relative').mean for name in names)
    return (
        *facts,
        Fact('E_printed', 'setup E: the paper’s Δ among 95 % of the repetitions', printed, '%', 2,
             wanted=f'{low} to {high} %', holds=delta.has(printed)),
        Fact('gyro', 'Σ metric of E over that of D', e / d, '', 2, wanted='> 1', holds=e > d),
        within('faster', 'Σ metric of E over 2 ms over that over 8 ms', fast / e, FASTER),
    )  # fmt: skip
