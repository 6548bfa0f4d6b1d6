"""How long before the fall the alarm comes, also over a bus, and where it failed."""

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
from izmp_lab.studies.fall_alarm.trials import HELD_UP, LATE, LOST, QUEUE
from izmp_lab.studies.publish import at_least, figure

WANTED = {'walking': 0.5, 'standing': 0.8}
"""Mean lead that must hold [s]."""

FALLS, HOURS, SHARE = 300, 15.0, 95.0


@figure(FallStudy.runs)
def leads(study: FallStudy, batches: Any) -> Picture:
    found = {kind: Outcome.of(trials) for kind, trials in trials_by_kind(batches).items()}

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


GROUPS = {'exact': ('exact stamps', 'mr-ad', '-'), 'bus': ('as over a bus', 'ir-md', '--')}


@figure(FallStudy.runs)
def messages(study: FallStudy, batches: Any) -> Picture:
    found = {
        kind: {
            'exact': Outcome.of([trial for trial in trials if not trial.bus]),
            'bus': Outcome.of([trial for trial in trials if trial.bus]),
        }
        for kind, trials in trials_by_kind(batches).items()
    }

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
            heading(ax, kind)
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


def _facts(found: dict[str, dict[str, Outcome]]) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    for kind, groups in found.items():
        for group, each in groups.items():
            key, of = f'{kind}_{group}', f'{kind}, {GROUPS[group][0]}'
            facts += [
                Fact(f'falls_{key}', f'falls, {of}', len(each.leads), '', 0),
                Fact(f'mean_{key}', f'mean lead, {of}', mean(each.leads), 's', 2),
                Fact(f'share_{key}', f'leads of 0.2 s or more, {of}', 100.0 * each.in_time, '%',
                     1),
                Fact(f'false_{key}', f'false alarms, {of}', len(each.false_alarms), '', 0),
                Fact(f'hours_{key}', f'time survived, {of}', each.hours, 'h', 2),
            ]  # fmt: skip
    return tuple(facts)


SOON = 0.5
"""A lead below it is listed, although it is long enough to act [s]."""

_HEADINGS = (
    'kind', 'seed', 'what', 'at [s]', 'since the push [s]', 'impulse [N·s]', 'direction [°]',
)  # fmt: skip


@figure(FallStudy.runs)
def failures(study: FallStudy, batches: Any) -> Picture:
    rows: list[list[str | float]] = []
    late = false = 0
    for kind, trials in trials_by_kind(batches).items():
        outcome, by_seed = Outcome.of(trials), {trial.seed: trial for trial in trials}
        for seed, lead in zip(outcome.seeds.tolist(), outcome.leads, strict=True):
            if lead < SOON:
                trial = by_seed[seed]
                before = trial.pushes[trial.pushes[:, 0] < trial.fallen]
                push = tuple(before[-1].tolist()) if len(before) else ()
                what = 'no alarm' if lead == 0.0 else f'lead of {lead:.2f} s'
                rows.append([kind, str(seed), what, *_push(trial.fallen, push)])
                late += int(lead < TOO_LATE)
        for each in outcome.false_alarms:
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
            heading(ax, kind)
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
        data=table,
        table=table,
    )


def _push(time: float, push: tuple[float, ...]) -> list[str | float]:
    if not push:
        return [time, np.nan, np.nan, np.nan]
    begin, impulse, direction, _ = push
    return [time, time - begin, impulse, float(np.degrees(direction))]
