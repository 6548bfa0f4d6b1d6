"""Predicted probability of a fall against how often the robot fell."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_dynamics.stability.alarm_rule import HORIZON
from izmp_lab.studies.fall_alarm.leads import runs
from izmp_lab.studies.fall_alarm.study import KINDS, Study
from izmp_lab.studies.fall_alarm.trials import Trial
from izmp_lab.studies.runs import Load

__all__ = ['picture', 'runs']

EDGES = np.array([0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0])
"""Of the bins of the probability."""

RESAMPLED = 1000
"""Sets of trials drawn with replacement for the intervals."""


def picture(study: Study, load: Load) -> Picture:
    """Draw the curves."""
    bins = {kind: reliability(study.found(kind, load)) for kind in KINDS}

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('fell within 1 s, 95 % interval', line(look, 'mr-ad', marker='o')),
            Entry('as predicted', line(look, 'muted', linestyle='--')),
        ]
        canvas, axes = panels(width, len(KINDS), legend, titles=True)
        for ax, kind in zip(axes, KINDS, strict=True):
            _, _, predicted, fell, low, high = 100.0 * bins[kind]
            ax.plot([0.0, 100.0], [0.0, 100.0], color=look['muted'], linestyle='--')
            ax.errorbar(predicted, fell, [fell - low, high - fell], color=look['mr-ad'],
                        marker='o', markersize=4, capsize=3)  # fmt: skip
            ax.set(xlabel='predicted probability [%]', ylabel='fell within 1 s [%]')
            ax.set_title(kind, fontsize=9.5, loc='left')
        return canvas

    return Picture(
        name='reliability',
        title='Whether the probability is right',
        source='Reliability',
        draw=draw,
        facts=_facts(bins),
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
        why='',
        data=Table(
            ('kind', 'bin', 'instants', 'trials', 'predicted [%]', 'fell [%]', 'low', 'high'),
            [
                [kind, _name(k), str(int(row[0])), str(int(row[1])), *(100.0 * row[2:])]
                for kind in KINDS
                for k, row in enumerate(bins[kind].T)
            ],
        ),
    )


def reliability(trials: list[Trial]) -> Array:
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


def _sums(trial: Trial) -> Array:
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


def _facts(bins: dict[str, Array]) -> tuple[Fact, ...]:
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
