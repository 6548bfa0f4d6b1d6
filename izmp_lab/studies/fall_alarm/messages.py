"""What late, held up and lost messages do to the alarm."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.fall_alarm.bus import HELD_UP, LATE, LOST, QUEUE
from izmp_lab.studies.fall_alarm.leads import runs
from izmp_lab.studies.fall_alarm.outcome import TOO_LATE, Outcome, mean
from izmp_lab.studies.fall_alarm.study import KINDS, Study
from izmp_lab.studies.runs import Load

__all__ = ['picture', 'runs']

GROUPS = {'exact': ('exact stamps', 'mr-ad', '-'), 'bus': ('as over a bus', 'ir-md', '--')}


def picture(study: Study, load: Load) -> Picture:
    """Draw the leads with and without such messages."""
    found = {kind: _outcomes(study, load, kind) for kind in KINDS}

    def draw(look: Look, width: float) -> Any:
        legend = [
            *(
                Entry(text, line(look, colour, linestyle=style))
                for text, colour, style in GROUPS.values()
            ),
            Entry('too late to act', line(look, 'outside', linestyle=':')),
        ]
        canvas, axes = panels(width, len(KINDS), legend, titles=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            for group, (_, colour, style) in GROUPS.items():
                leads = np.sort(found[kind][group].leads)
                share = 100.0 * np.arange(1, len(leads) + 1) / max(len(leads), 1)
                ax.step(leads, share, where='post', color=look[colour], linestyle=style)
            ax.axvline(TOO_LATE, color=look['outside'], linestyle=':')
            ax.set(xlim=(0.0, 2.0), xlabel='lead [s]', ylabel='falls with no longer lead [%]')
            ax.set_title(kind, fontsize=9.5, loc='left')
        return canvas

    return Picture(
        name='messages',
        title='Late and lost messages',
        source='Messages',
        draw=draw,
        facts=_facts(found),
        seen=f'The seed decides in which half of the trials each topic’s messages are stamped '
        f'late (exponentially distributed, {1e3 * LATE:g} ms in the mean), held up in a queue '
        f'({100.0 * HELD_UP:g} %, up to {1e3 * QUEUE:g} ms, with those behind them) or lost '
        f'({100.0 * LOST:g} %). Share of the falls over the lead.',
        paper='',
        ours='Walking: {falls_walking_exact} falls with exact stamps, {mean_walking_exact} in the '
        'mean, {share_walking_exact} with 0.2 s or more, {false_walking_exact} false alarms in '
        '{hours_walking_exact}; {falls_walking_bus} with messages as over a bus: '
        '{mean_walking_bus}, {share_walking_bus}, {false_walking_bus} in {hours_walking_bus}. '
        'Standing: {mean_standing_exact} and {mean_standing_bus} in the mean.',
        why='',
        data=Table(
            ('kind', 'messages', 'seed', 'lead [s]'),
            [
                [kind, GROUPS[group][0], str(seed), lead]
                for kind, groups in found.items()
                for group, each in groups.items()
                for seed, lead in zip(each.seeds.tolist(), each.leads.tolist(), strict=True)
            ],
        ),
    )


def _outcomes(study: Study, load: Load, kind: str) -> dict[str, Outcome]:
    trials = study.found(kind, load)
    return {
        'exact': Outcome.of([trial for trial in trials if not trial.bus]),
        'bus': Outcome.of([trial for trial in trials if trial.bus]),
    }


def _facts(found: dict[str, dict[str, Outcome]]) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    for kind, groups in found.items():
        for group, each in groups.items():
            key, of = f'{kind}_{group}', f'{kind}, {GROUPS[group][0]}'
            facts += [
                Fact(f'falls_{key}', f'falls, {of}', len(each.leads), '', 0),
                Fact(f'mean_{key}', f'mean lead, {of}', mean(each.leads), 's', 2),
                Fact(
                    f'share_{key}', f'leads of 0.2 s or more, {of}', 100.0 * each.in_time, '%', 1
                ),
                Fact(f'false_{key}', f'false alarms, {of}', len(each.false_alarms), '', 0),
                Fact(f'hours_{key}', f'time survived, {of}', each.hours, 'h', 2),
            ]
    return tuple(facts)
