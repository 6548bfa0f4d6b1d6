"""False alarms against falls that are seen in time, over the threshold."""

from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.stability.alarm_rule import threshold
from izmp_lab.studies.fall_alarm.leads import HOURS, outcomes, runs
from izmp_lab.studies.fall_alarm.outcome import Outcome, mean
from izmp_lab.studies.fall_alarm.study import KINDS, Study
from izmp_lab.studies.runs import Load

__all__ = ['picture', 'runs']

THRESHOLDS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
_COLOURS = {'walking': ('mr-ad', 'o'), 'standing': ('ir-md', 's')}


def picture(study: Study, load: Load) -> Picture:
    """Draw the curves."""
    used = outcomes(study, load)
    trials = {kind: study.found(kind, load) for kind in KINDS}
    curves = {kind: [Outcome.of(trials[kind], each) for each in THRESHOLDS] for kind in KINDS}

    def draw(look: Look, width: float) -> Any:
        legend = [
            *(
                Entry(kind, line(look, colour, marker=marker, markersize=4))
                for kind, (colour, marker) in _COLOURS.items()
            ),
            Entry('threshold by the costs', line(look, 'ink', marker='*', linestyle='none')),
        ]
        canvas, axes = panels(width, 2, legend, titles=True)
        for kind, (colour, marker) in _COLOURS.items():
            style = {'color': look[colour], 'marker': marker, 'markersize': 4}
            rates = [each.rate for each in curves[kind]]
            means = [mean(each.leads) for each in curves[kind]]
            seen = [100.0 * each.in_time for each in curves[kind]]
            here = used[kind]
            for ax, values, value in zip(
                axes, (seen, means), (100.0 * here.in_time, mean(here.leads)), strict=True
            ):
                ax.plot(rates, values, **style)
                ax.plot([here.rate], [value], color=look['ink'], marker='*', markersize=9)
        for ax in axes:
            ax.set(xscale='symlog', xlabel='false alarms per hour')
        axes[0].set(ylabel='falls seen 0.2 s before or sooner [%]')
        axes[1].set(ylabel='mean lead [s]')
        return canvas

    return Picture(
        name='roc',
        title='False alarms against falls seen',
        source='False alarms',
        draw=draw,
        facts=_facts(used),
        seen='Each point is a threshold of the probability, from 0.0001 (right) to 0.9999 (left); '
        'the star is the one that follows from the costs. Left: share of the falls that have '
        'a lead of 0.2 s or more, over the false alarms per hour that was survived; right: the '
        'mean lead. Trials were repeated for the star only: at other thresholds a lead counts '
        'from the last push, unless the same pushes follow the alarm.',
        paper='',
        ours='At the threshold by the costs, {threshold}, {false_walking} false alarms in '
        '{hours_walking} of walking with {pushes_walking} pushes survived, {rate_walking} '
        '(the rate is judged; its one-sided 95 % bound is {bound_walking}); '
        'standing: {false_standing} in {hours_standing} with {pushes_standing} pushes. Of '
        '{undecided_walking} and {undecided_standing} further alarms it is not known whether they '
        'are false, as the trial ended less than 2 s after their start.',
        why='',
        data=Table(
            ('kind', 'threshold', 'false alarms per hour', 'falls seen in time', 'mean lead [s]'),
            [
                [kind, each, one.rate, one.in_time, mean(one.leads)]
                for kind in KINDS
                for each, one in zip(THRESHOLDS, curves[kind], strict=True)
            ],
        ),
    )


def _facts(used: dict[str, Outcome]) -> tuple[Fact, ...]:
    facts = [Fact('threshold', 'threshold by the costs', threshold(1.0), '', 3)]
    for kind, each in used.items():
        judged = kind == 'walking'
        facts += [
            Fact(f'false_{kind}', f'false alarms, {kind}', len(each.false_alarms), '', 0),
            Fact(f'undecided_{kind}', f'alarms at the end of a trial, {kind}', each.undecided, '',
                 0),
            Fact(f'hours_{kind}', f'time survived, {kind}', each.hours, 'h', 2,
                 wanted=f'≥ {HOURS:g} h' if judged else '',
                 holds=each.hours >= HOURS if judged else None),
            Fact(f'pushes_{kind}', f'pushes survived, {kind}', each.pushes, '', 0),
            Fact(f'rate_{kind}', f'false alarms, {kind}', each.rate, 'per hour', 2,
                 wanted='≤ 1 per hour' if judged else '',
                 holds=each.rate <= 1.0 if judged else None),
            Fact(f'bound_{kind}', f'their 95 % bound, {kind}', each.rate_bound, 'per hour',
                 2),
        ]  # fmt: skip
    return tuple(facts)
