"""Every false alarm, and every alarm that came too late."""

from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.fall_alarm.leads import outcomes, runs
from izmp_lab.studies.fall_alarm.outcome import TOO_LATE
from izmp_lab.studies.fall_alarm.study import KINDS, Study
from izmp_lab.studies.runs import Load

__all__ = ['picture', 'runs']

SOON = 0.5
"""A lead below it is listed, although it is long enough to act [s]."""

_HEADINGS = (
    'kind', 'seed', 'what', 'at [s]', 'since the push [s]', 'impulse [N·s]', 'direction [°]',
)  # fmt: skip


def picture(study: Study, load: Load) -> Picture:
    """Draw the pushes behind them."""
    found = outcomes(study, load)
    rows: list[list[str | float]] = []
    late = false = 0
    for kind in KINDS:
        falls = {trial.seed: trial for trial in study.found(kind, load)}
        for seed, lead in zip(found[kind].seeds.tolist(), found[kind].leads, strict=True):
            if lead < SOON:
                trial = falls[seed]
                before = trial.pushes[trial.pushes[:, 0] < trial.fallen]
                push = tuple(before[-1].tolist()) if len(before) else ()
                what = 'no alarm' if lead == 0.0 else f'lead of {lead:.2f} s'
                rows.append([kind, str(seed), what, *_push(trial.fallen, push)])
                late += int(lead < TOO_LATE)
        for each in found[kind].false_alarms:
            rows.append([kind, str(each.seed), 'false alarm', *_push(each.begin, each.push)])
            false += 1

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('false alarm', line(look, 'outside', marker='x', linestyle='none')),
            Entry('lead below 0.5 s', line(look, 'mr-ad', marker='o', linestyle='none')),
        ]
        canvas, axes = panels(width, len(KINDS), legend, titles=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            for _, _, what, _, since, impulse, _ in (row for row in rows if row[0] == kind):
                false_one = what == 'false alarm'
                ax.plot([since], [impulse], color=look['outside' if false_one else 'mr-ad'],
                        marker='x' if false_one else 'o', linestyle='none')  # fmt: skip
            ax.set(xlabel='time since the last push [s]', ylabel='impulse of the last push [N·s]')
            ax.set_title(kind, fontsize=9.5, loc='left')
        return canvas

    table = Table(_HEADINGS, rows)
    return Picture(
        name='failures',
        title='Failures',
        source='One by one',
        draw=draw,
        facts=(
            Fact('false', 'false alarms', false, '', 0),
            Fact('late', 'falls with a lead below 0.2 s', late, '', 0),
            Fact('listed', 'entries of the list', len(rows), '', 0),
        ),
        seen='Every false alarm and every fall with a lead below 0.5 s, with the push before it: '
        'time of the alarm or of the fall since that push, impulse and direction (0°: ahead of '
        'the world’s x axis, 90°: to its left).',
        paper='',
        ours='{false} false alarms, {late} falls with a lead below 0.2 s.',
        why='',
        data=table,
        table=table,
    )


def _push(time: float, push: tuple[float, ...]) -> list[str | float]:
    """When something was, and what is known of the push before it."""
    if not push:
        return [time, np.nan, np.nan, np.nan]
    begin, impulse, direction, _ = push
    return [time, time - begin, impulse, float(np.degrees(direction))]
