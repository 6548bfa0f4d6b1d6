"""How long before the fall the alarm comes."""

from typing import Any

import numpy as np

from izmp_dynamics.base.robust import mean
from izmp_dynamics.pages.look import Entry, Look, line, panels, patch
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.drawing import heading
from izmp_lab.studies.fall_alarm.study import (
    KINDS,
    TOO_LATE,
    FallStudy,
    Outcome,
    least,
    share_in_time,
    trials_by_kind,
)
from izmp_lab.studies.publish import at_least, figure

WANTED = {'walking': 0.5, 'standing': 0.8}
"""Mean lead that must hold [s]."""

FALLS, HOURS, SHARE = 300, 15.0, 95.0


@figure(FallStudy.runs)
def leads(study: FallStudy, trials: Any) -> Picture:
    found = {kind: Outcome.of(trials) for kind, trials in trials_by_kind(trials).items()}

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('falls', patch(look, 'mr-ad')),
            Entry('mean', line(look, 'ink')),
            Entry('too late to act', line(look, 'outside', linestyle='--')),
        ]
        canvas, axes = panels(width, len(KINDS), legend, titles=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            leads = found[kind].leads
            ax.hist(leads, bins=np.arange(0.0, 2.05, 0.05), color=look['mr-ad'])
            ax.axvline(mean(leads), color=look['ink'])
            ax.axvline(TOO_LATE, color=look['outside'], linestyle='--')
            ax.set(xlim=(0.0, 2.0), xlabel='lead [s]', ylabel='falls')
            heading(ax, kind)
        return canvas

    return Picture(
        name='leads',
        title='How long before a fall the alarm comes',
        source='Lead times',
        draw=draw,
        facts=_leads_facts(found),
        seen='Time to the instant at which the trunk is tilted by 45°, for every fall, from the '
        'start of the alarm that is raised until then; without such an alarm the lead is 0. An '
        'alarm cannot foresee a push that comes after it. Such a trial is simulated again without '
        'the later pushes. If the robot falls all the same, within 2 s of the alarm, the lead '
        'lasts until the sooner of both falls; if it does not, the lead counts from the last '
        'push.',
        paper='A standing Digit, by a neural network (arXiv:2506.01141): 1.1 s in the mean, no '
        'false alarm.',
        ours='{falls_walking} falls while walking: {mean_walking} in the mean, {least_walking} at '
        'least, in {share_walking} of them 0.2 s or more. {falls_standing} while standing: '
        '{mean_standing}, {least_standing}, {share_standing}. A push after the alarm came in '
        '{later_walking} walks and {later_standing} stances; without it, the robot falls as well '
        'in {anyway_walking} and {anyway_standing} of them. If every lead counts from the last '
        'push, whether it mattered or not: {mean_cautious_walking}, {least_cautious_walking}, '
        '{share_cautious_walking} while walking; {mean_cautious_standing}, '
        '{least_cautious_standing}, {share_cautious_standing} while standing. From the start of '
        'the alarm, whatever pushes came since: {raised_walking}, {least_raised_walking} at '
        'least; standing: {raised_standing}, {least_raised_standing}. {untilted} of the trials '
        'with a fall ended before the trunk was tilted by 45°; their leads count to their end.',
        data=Table(
            ('kind', 'seed', 'lead [s]', 'from the last push [s]', 'from the alarm [s]'),
            [
                [kind, str(seed), *leads]
                for kind, each in found.items()
                for seed, *leads in zip(
                    each.seeds.tolist(),
                    *(part.tolist() for part in (each.leads, each.cautious, each.raised)),
                    strict=True,
                )
            ],
        ),
    )


def _leads_facts(found: dict[str, Outcome]) -> tuple[Fact, ...]:
    total = sum(len(each.leads) for each in found.values())
    untilted = sum(each.untilted for each in found.values())
    facts = [
        at_least('falls', 'falls', total, FALLS, '', 0),
        Fact('untilted', 'falls that ended before 45°', untilted, '', 0),
    ]
    for kind, each in found.items():
        facts += [
            Fact(f'falls_{kind}', f'falls, {kind}', len(each.leads), '', 0),
            at_least(f'mean_{kind}', f'mean lead, {kind}', mean(each.leads), WANTED[kind], 's'),
            Fact(f'least_{kind}', f'smallest lead, {kind}', least(each.leads), 's', 2),
            at_least(f'share_{kind}', f'falls with a lead of 0.2 s or more, {kind}',
                     100.0 * each.in_time, SHARE, '%', 1),
            Fact(f'later_{kind}', f'falls with a push after the alarm, {kind}',
                 each.pushed_later, '', 0),
            Fact(f'anyway_{kind}', f'of these, falls without that push as well, {kind}',
                 each.fell_anyway, '', 0),
            Fact(f'mean_cautious_{kind}', f'mean lead, from the last push if later, {kind}',
                 mean(each.cautious), 's', 2),
            Fact(f'least_cautious_{kind}', f'smallest lead, likewise, {kind}',
                 least(each.cautious), 's', 2),
            Fact(f'share_cautious_{kind}', f'leads of 0.2 s or more, likewise, {kind}',
                 100.0 * share_in_time(each.cautious), '%', 1),
            Fact(f'raised_{kind}', f'mean time from the alarm to the fall, {kind}',
                 mean(each.raised), 's', 2),
            Fact(f'least_raised_{kind}', f'smallest time from the alarm to the fall, {kind}',
                 least(each.raised), 's', 2),
        ]  # fmt: skip
    return tuple(facts)
