"""The figures of recordings and the page of `izmp experiments real`."""

import math
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, panels, series
from izmp_dynamics.pages.page import Missing, Page
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.publish import Figure, within
from izmp_lab.studies.real.logs import HALF_WIDTH, Log, LogStudy
from izmp_lab.studies.runs import Arrays

WINDOW = 4.0
"""How much of a recording the upper panels show: where y moves most [s]."""

FORCE = (0.95, 1.05)
"""Mean normal force over the weight: who ends as upright as at the start has changed no momentum,
so what is left are the accelerometer's offset and the mass of the model."""

_LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD', 'cop': 'CoP'}


def log_figure(log: Log) -> Figure:
    """Return the figure of a recording."""
    return Figure(
        lambda study: {
            'raw': study.evaluation(log, filtered=False),
            'filtered': study.evaluation(log, filtered=True),
        },
        lambda study, found: _picture(log, found['raw'], found['filtered']),
    )


def _picture(log: Log, raw: Arrays, smooth: Arrays) -> Picture | Missing:
    runs = (raw, smooth)
    for run in runs:
        if 'refused' in run:
            return Missing(log.name, str(run['refused']), 'See there.')
    methods = [name for name in _LABELS
               if all(np.isfinite(run.get(name, np.nan)).any() for run in runs)]  # fmt: skip
    measured = 'cop' in methods
    common = np.isin(raw['times'], smooth['times']), np.isin(smooth['times'], raw['times'])
    start = _liveliest(smooth['times'], smooth['mr_ad'][:, 1])

    def draw(look: Look, width: float) -> Any:
        legend = [Entry(_LABELS[name], line(look, name.replace('_', '-'), linewidth=1.4))
                  for name in methods]  # fmt: skip
        legend.append(Entry('raw', line(look, 'muted', linewidth=0.6, alpha=0.6)))
        canvas, axes = panels(width, 4, legend, height=2.4)
        shown = [(run['times'] >= start) & (run['times'] <= start + WINDOW) for run in runs]
        for axis, ax in enumerate(axes[:2]):
            for name in methods:
                style = series(look, name)
                styles = {'linewidth': 0.6, 'alpha': 0.4, 'color': style['color']}, style
                for run, rows, each in zip(runs, shown, styles, strict=True):
                    ax.plot(run['times'][rows], run[name][rows, axis], **each)
            ax.set(xlabel='time [s]', ylabel=f'{"xy"[axis]} in nif [m]')
            ax.set(xlim=(start, start + WINDOW), ylim=_limits(smooth, methods, axis))
        for name in methods:
            axes[2].plot(smooth['times'], smooth[name][:, 1], **series(look, name))
        axes[2].set(xlabel='time [s]', ylabel='y in nif [m]', ylim=_limits(smooth, methods, 1))
        _draw_robot(axes[3], look, smooth)
        return canvas

    return Picture(
        name=log.name,
        title=log.name.replace('_', ' '),
        source='Fig. 12, another robot',
        draw=draw,
        facts=_facts(raw, smooth, methods),
        seen='Above, x and y of the IZMP of MR-AD, and what else the sensors allow, where y '
        'moves most: thin as recorded, thick by the matched filter of '
        f'half-width {1e3 * HALF_WIDTH:g} ms. Below, y of the whole recording, filtered, and the '
        'robot from its side at seven instants, with the IZMP on the ground.',
        paper='Sweaty’s IZMP is like that of the simulation, less regular, with smoother '
        'changes of the foot; no numbers.',
        ours=_ours(measured),
        why='',
        data=Table(
            ('time [s]', *(f'{_LABELS[name]} {kind} {axis} [m]' for name in methods
                           for kind in ('raw', 'filtered') for axis in 'xy')),
            np.column_stack([raw['times'][common[0]], *(
                run[name][rows] for name in methods
                for run, rows in zip(runs, common, strict=True)
            )]).tolist(),
        ),
    )  # fmt: skip


def _ours(measured: bool) -> str:
    text = (
        'MR-AD has a point at {valid} of the instants. Its mean normal force is {force} of the '
        'weight; y varies by {y_raw} raw and {y_filtered} filtered (standard deviation).'
    )
    if measured:
        text += (
            ' Its distance to the measured CoP is {gap_raw} raw and {gap_filtered} filtered in '
            'the median.'
        )
    return text


def _facts(raw: Arrays, smooth: Arrays, methods: list[str]) -> tuple[Fact, ...]:
    valid = 100.0 * float(np.isfinite(raw['mr_ad'][:, 0]).mean())
    force = float(np.nanmean(smooth['force']))
    facts = [
        Fact('duration', 'duration', float(raw['times'][-1] - raw['times'][0]), 's', 1),
        Fact('rate', 'instants per second', 1.0 / float(np.median(np.diff(raw['times']))), 'Hz',
             1),
        Fact('valid', 'instants at which MR-AD has a point', valid, '%', 1),
        within('force', 'mean normal force of MR-AD over the weight, filtered', force, FORCE, '',
               3),
    ]  # fmt: skip
    for kind, run in (('raw', raw), ('filtered', smooth)):
        facts.append(Fact(f'y_{kind}', f'standard deviation of y, MR-AD, {kind}',
                          1e3 * float(np.nanstd(run['mr_ad'][:, 1])), 'mm', 1))  # fmt: skip
        for other in methods:
            if other != 'mr_ad':
                gap = np.linalg.norm(run['mr_ad'] - run[other], axis=1)
                key = f'gap_{kind}' if other == 'cop' else f'{other}_{kind}'
                median = 1e3 * float(np.nanmedian(gap)) if np.isfinite(gap).any() else math.nan
                facts.append(Fact(key, f'median distance MR-AD to {_LABELS[other]}, {kind}',
                                  median, 'mm', 1))  # fmt: skip
    return tuple(facts)


def _liveliest(times: Array, y: Array) -> float:
    """When the `WINDOW` begins in which y moves most [s]."""
    step = 0.25 * WINDOW  # only where there are instants: one stamp may be years off
    starts = times[0] + step * np.unique((times - times[0]) // step)
    starts = starts[starts <= max(times[0], times[-1] - WINDOW)]

    def travel(start: float) -> float:
        part = y[(times >= start) & (times <= start + WINDOW)]
        part = part[np.isfinite(part)]
        return float(np.abs(np.diff(part)).sum()) if len(part) else 0.0

    return float(max(starts, key=travel))


def _limits(run: Arrays, methods: list[str], axis: int) -> tuple[float, float]:
    """Ends of an axis that hold nearly all of a coordinate [m]."""
    values = np.concatenate([run[name][:, axis] for name in methods])
    low, high = np.nanquantile(values, (0.005, 0.995))
    room = 0.15 * (high - low) + 0.01
    return float(low - room), float(high + room)


def _draw_robot(ax: Any, look: Look, run: Arrays) -> None:
    apart = 1.1 * float(np.ptp(run['sticks'][..., 0])) + 0.1
    for place, (row, origins) in enumerate(zip(run['shown'], run['sticks'], strict=True)):
        shift = place * apart
        for body in range(1, len(origins)):
            ends = origins[[int(run['parents'][body]), body]]
            ax.plot(ends[:, 0] + shift, ends[:, 2], color=look['muted'], linewidth=1.4)
        x = float(run['mr_ad'][row, 0]) + shift
        ax.plot(x, float(origins[:, 2].min()), 'v', color=look['mr-ad'], markersize=5)
    ax.set(xlabel='x [m], one instant beside the other', ylabel='z in nif [m]', aspect='equal')
    ax.set_adjustable('datalim')


FIGURES: dict[str, tuple[Figure, str]] = {}
"""Depends on the recordings: see `figures`."""

NOTHING = (
    'There are no recordings to evaluate: name a folder with --logs FOLDER. Every folder below it '
    'with a metadata.yaml (rosbag2) and a robot.yaml is evaluated.'
)

_LEAD = (
    'Fig. 12 of Gießler and Waltersberger (2023) is the IZMP of their real robot. Its recording '
    'is not public; here are {count} recordings of other robots and of a human being, evaluated '
    'by MR-AD as “izmp replay” does it, as they were recorded and filtered.'
)
_METHOD = (
    f'Raw: without any filter. Filtered: by the matched filter (filter.half_width: {HALF_WIDTH:g} '
    's, a bandwidth of 4 Hz). Derivatives, ground plane and soles are those of the robot files.'
)
_SWEATY = Missing(
    'Fig. 12: Sweaty’s IZMP',
    'There is no public recording of Sweaty.',
    'Its recording, and its model.',
)


def figures(study: LogStudy) -> dict[str, tuple[Figure, str]]:
    """Return the figures of the recordings that there are."""
    return {log.name: (log_figure(log), str(log.bag)) for log in study.found}


def page(study: LogStudy) -> Page:
    """Return what `study` shows and says."""
    skipped = (Missing('A recording', sentence, 'See there.') for sentence in study.skipped)
    return Page(
        figures=figures(study),
        title='Real robots',
        heading='The IZMP of real robots',
        lead=_LEAD.format(count=len(study.found)),
        method=_METHOD,
        settings={'half-width of the filter': f'{HALF_WIDTH:g} s'},
        missing=(_SWEATY, *skipped),
    )
