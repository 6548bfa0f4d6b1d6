"""All pictures of `izmp experiments fall_alarm`, and the words of their page."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.robust import mean
from izmp_dynamics.pages.look import Entry, line, panels, patch
from izmp_dynamics.pages.picture import Fact, Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_dynamics.stability.alarm_rule import HORIZON, threshold
from izmp_dynamics.stability.fall_probability import STEP_ERROR
from izmp_lab.studies.fall_alarm.study import (
    DURATIONS,
    IMPULSES,
    KINDS,
    PAUSES,
    SPEEDS,
    TOO_LATE,
    TURNS,
    FallStudy,
    FallTrial,
    Outcome,
    least,
    share_in_time,
    trials_by_kind,
)
from izmp_lab.studies.publish import Figure, at_least, at_most, figure, heading

WANTED = {'walking': 0.5, 'standing': 0.8}
"""Mean lead that must hold [s]."""

FALLS, HOURS, SHARE = 300, 15.0, 95.0


@figure(FallStudy.runs)
def leads(study: FallStudy, trials: Any) -> Picture:
    found = {kind: Outcome.of(trials) for kind, trials in trials_by_kind(trials).items()}

    def draw(width: float) -> Any:
        legend = [
            Entry('falls', patch('mr-ad')),
            Entry('mean', line('ink')),
            Entry('too late to act', line('outside', linestyle='--')),
        ]
        canvas, axes = panels(width, len(KINDS), legend, titles=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            leads = found[kind].leads
            ax.hist(leads, bins=np.arange(0.0, 2.05, 0.05), color=LIGHT['mr-ad'])
            ax.axvline(mean(leads), color=LIGHT['ink'])
            ax.axvline(TOO_LATE, color=LIGHT['outside'], linestyle='--')
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


THRESHOLDS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
_COLOURS = {'walking': ('mr-ad', 'o'), 'standing': ('ir-md', 's')}


@figure(FallStudy.runs)
def roc(study: FallStudy, walked: Any) -> Picture:
    trials = trials_by_kind(walked)
    used = {kind: Outcome.of(trials[kind]) for kind in KINDS}
    curves = {kind: [Outcome.of(trials[kind], each) for each in THRESHOLDS] for kind in KINDS}

    def draw(width: float) -> Any:
        legend = [
            *(
                Entry(kind, line(colour, marker=marker, markersize=4))
                for kind, (colour, marker) in _COLOURS.items()
            ),
            Entry('threshold by the costs', line('ink', marker='*', linestyle='none')),
        ]
        canvas, axes = panels(width, 2, legend, titles=True)
        for kind, (colour, marker) in _COLOURS.items():
            style = {'color': LIGHT[colour], 'marker': marker, 'markersize': 4}
            rates = [each.rate for each in curves[kind]]
            means = [mean(each.leads) for each in curves[kind]]
            seen = [100.0 * each.in_time for each in curves[kind]]
            here = used[kind]
            for ax, values, value in zip(
                axes, (seen, means), (100.0 * here.in_time, mean(here.leads)), strict=True
            ):
                ax.plot(rates, values, **style)
                ax.plot([here.rate], [value], color=LIGHT['ink'], marker='*', markersize=9)
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
        survived = f'hours_{kind}', f'time survived, {kind}', each.hours
        rate = f'rate_{kind}', f'false alarms, {kind}', each.rate
        judged = kind == 'walking'
        facts += [
            Fact(f'false_{kind}', f'false alarms, {kind}', len(each.false_alarms), '', 0),
            Fact(f'undecided_{kind}', f'alarms at the end of a trial, {kind}', each.undecided, '',
                 0),
            at_least(*survived, HOURS, 'h') if judged else Fact(*survived, 'h'),
            Fact(f'pushes_{kind}', f'pushes survived, {kind}', each.pushes, '', 0),
            at_most(*rate, 1.0, 'per hour') if judged else Fact(*rate, 'per hour'),
            Fact(f'bound_{kind}', f'their 95 % bound, {kind}', each.rate_bound, 'per hour'),
        ]  # fmt: skip
    return tuple(facts)


EDGES = np.array([0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0])
"""Of the bins of the probability."""

RESAMPLED = 1000
"""Sets of trials drawn with replacement for the intervals."""


@figure(FallStudy.runs)
def curve(study: FallStudy, walked: Any) -> Picture:
    bins = {kind: reliability(trials) for kind, trials in trials_by_kind(walked).items()}

    def draw(width: float) -> Any:
        legend = [
            Entry('fell within 1 s, 95 % interval', line('mr-ad', marker='o')),
            Entry('as predicted', line('muted', linestyle='--')),
        ]
        canvas, axes = panels(width, len(KINDS), legend, titles=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            _, _, predicted, fell, low, high = 100.0 * bins[kind]
            ax.plot([0.0, 100.0], [0.0, 100.0], color=LIGHT['muted'], linestyle='--')
            ax.errorbar(predicted, fell, [fell - low, high - fell], color=LIGHT['mr-ad'],
                        marker='o', markersize=4, capsize=3)  # fmt: skip
            ax.set(xlabel='predicted probability [%]', ylabel='fell within 1 s [%]')
            heading(ax, kind)
        return canvas

    return Picture(
        name='reliability',
        title='Whether the probability is right',
        source='Reliability',
        draw=draw,
        facts=_curve_facts(bins),
        seen='Instants from the first push on, in bins of the predicted probability: its mean, '
        'and in what share of them the trunk was tilted by 45° within the next second. Left out '
        'are instants with a push in that second, which no probability can know, and those within '
        'a second of the end of a trial that the robot survived. Instants of a trial depend on '
        'each other, so the intervals (95 %) come from trials that are drawn with replacement.',
        paper='',
        ours='Of the instants with 90 to 99 %, {fell_walking_7} fell while walking and '
        '{fell_standing_7} while standing; with more than 99 %, {fell_walking_8} and '
        '{fell_standing_8}; with 30 to 50 %, {fell_walking_4} and {fell_standing_4}; with less '
        'than 0.1 %, {fell_walking_0} and {fell_standing_0}.',
        data=Table(
            ('kind', 'bin', 'instants', 'trials', 'predicted [%]', 'fell [%]', 'low', 'high'),
            [
                [kind, _name(k), str(int(row[0])), str(int(row[1])), *(100.0 * row[2:])]
                for kind in KINDS
                for k, row in enumerate(bins[kind].T)
            ],
        ),
    )


def reliability(trials: list[FallTrial]) -> Array:
    """Compare probabilities with what happened.

    Returns:
        (6, B) for each bin: instants, trials with such, mean probability, share of the instants
        with a fall in the next second, and the ends of its 95 % interval; NaN without instants.
    """
    sums = np.array([_sums(trial) for trial in trials]).reshape(-1, 3, len(EDGES) - 1)
    count, predicted, fell = np.moveaxis(sums, 1, 0)
    draws = np.random.default_rng(0).multinomial(
        len(sums), np.full(len(sums), 1.0 / max(len(sums), 1)), size=RESAMPLED
    )
    total = count.sum(axis=0)
    with np.errstate(invalid='ignore', divide='ignore'):
        shares = (draws @ fell) / (draws @ count)
        found = [predicted.sum(axis=0) / total, fell.sum(axis=0) / total]
    ends = np.full((2, len(total)), np.nan)
    for k in np.flatnonzero(total).tolist():
        ends[:, k] = np.nanpercentile(shares[:, k], [2.5, 97.5])
    return np.array([total, (count > 0).sum(axis=0), *found, *ends])


def _sums(trial: FallTrial) -> Array:
    """(3, B) instants, and the sums of their probabilities and falls."""
    begins, time = trial.pushes[:, 0], trial.time
    pushed = ((begins > time[:, None]) & (begins <= time[:, None] + HORIZON)).any(axis=1)
    falls = trial.fallen - time <= HORIZON
    judged = np.isfinite(trial.probability) & ~pushed & (time >= begins.min(initial=np.inf))
    judged &= falls | (time <= time[-1] - HORIZON)
    judged &= ~(time >= trial.fallen)
    where = np.clip(np.searchsorted(EDGES, trial.probability[judged], 'right') - 1, 0, _LAST)
    values = (np.ones(len(where)), trial.probability[judged], falls[judged])
    return np.array([np.bincount(where, value, _LAST + 1) for value in values])


_LAST = len(EDGES) - 2


def _name(k: int) -> str:
    return f'{100.0 * EDGES[k]:g} to {100.0 * EDGES[k + 1]:g} %'


def _curve_facts(bins: dict[str, Array]) -> tuple[Fact, ...]:
    """Of each bin with instants: how many, the probability, and the share of falls."""
    facts: list[Fact] = []
    for kind, each in bins.items():
        for k, (count, trials, predicted, fell, low, high) in enumerate(each.T.tolist()):
            of = f'probability of {_name(k)}, {kind}'
            facts += [
                Fact(f'count_{kind}_{k}', f'instants, {of}', count, '', 0),
                Fact(f'trials_{kind}_{k}', f'trials, {of}', trials, '', 0),
                Fact(f'predicted_{kind}_{k}', f'mean, {of}', 100.0 * predicted, '%', 1),
                Fact(f'fell_{kind}_{k}', f'fell within 1 s, {of}', 100.0 * fell, '%', 1,
                     interval=50.0 * (high - low)),
            ]  # fmt: skip
    return tuple(facts)


FIGURES: dict[str, tuple[Figure, str]] = {
    'leads': (leads, 'lead times before the falls'),
    'roc': (roc, 'false alarms per hour against falls seen in time, over the threshold'),
    'reliability': (curve, 'predicted probability against how often the robot fell'),
}
"""Name → figure, and what it shows."""

_LEAD = (
    'biped31 walks or stands in MuJoCo and is pushed again and again, until it falls or the '
    'trial is over. A fall is a trunk that is tilted by 45°. How long before does the alarm come, '
    'and how often is it raised although the robot survives?'
)

_METHOD = (
    'The robot follows its plan by stiff servos; the ankles compensate the tilt of the IMU, but '
    'no step is adapted to a push. Pushes act on the trunk; direction, duration, impulse and the '
    'pauses between them are uniformly distributed. The alarm sees noisy sensors without any '
    'filter, by the same code as the nodes and the replay: IMU and accelerometers with the noise '
    'of a MTi-20, encoders of 16 bits, an orientation that is tilted by 0.3° (1 σ, constant in a '
    'trial), force sensors with 1 N and 0.1 N·m of noise, all at 125 Hz; in half of the trials '
    'messages are late, held up or lost. The alarm is raised when its reason has lasted for three '
    'steps (24 ms), so that the first and the last instant share no sample. It is true if it is '
    'raised at the last instant before the fall, false if there is no fall within 2 s of its '
    'start. The lead counts from the start of the true alarm. Where a push came after that, the '
    'trial is repeated without it: only if the robot falls all the same does the lead count from '
    'the alarm, until the sooner of the two falls; else from the last push. Time counts as '
    'survived from the first push on, until 2 s before a fall or 4 s after the last push. What '
    'the trials lack: another robot, and steps that react to a push. The error of the steps was '
    'chosen with this robot, these gaits and this distribution of pushes, on other seeds.'
)


def page(study: FallStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='The fall alarm, measured',
        lead=_LEAD,
        method=_METHOD,
        settings=settings(study),
    )


def settings(study: FallStudy) -> dict[str, str]:
    """List what is tried, for the page."""
    return {
        **{
            f'trials, {kind}': f'{study.count(kind)}, seeds {study.first_seed} to '
            f'{study.first_seed + study.count(kind) - 1}; impulses up to {IMPULSES[kind]:g} N·s'
            for kind in KINDS
        },
        'speeds': ', '.join(f'{speed:g}' for speed in SPEEDS) + ' m/s',
        'turns': ', '.join(f'{turn:g}' for turn in TURNS) + ' rad/s',
        'pushes': f'{DURATIONS[0]:g} to {DURATIONS[1]:g} s, every {PAUSES[0]:g} to '
        f'{PAUSES[1]:g} s',
        'horizon': f'{HORIZON:g} s',
        'threshold by the costs': f'{threshold(1.0):.3f}',
        'error of the steps': f'{1e3 * STEP_ERROR:g} mm',
    }
