"""Fig. 9: ZMP and CoG over time with CCG."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, line, panels, patch
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped.study import SHOWN, Study
from izmp_lab.studies.itu_biped.styles import (
    LABELS,
    setting_text,
    style,
    wanted,
    wanted_entry,
)
from izmp_lab.studies.runs import Load, Run

_NUMBERS = {'converging': '9', 'constant': '10'}
_PAPER = {
    'converging': 'ZMP and CoG agree well; hysteresis of the contact forces makes the ZMP '
    'deviate, but it stays within the support.',
    'constant': 'CoG and ZMP are compatible during the first two steps and deviate afterwards; '
    'the robot falls in the fourth step.',
}
_HERE = {
    'converging': 'The ZMP is within the box around the soles that are meant to carry for '
    '{inside} of the time, and {zmp_mean} from the wanted one on average. In the first step the '
    'CoG goes {reach} to the side; {wanted_reach} are wanted.',
    'constant': 'In the first step the CoG goes only {reach} to the side instead of '
    '{wanted_reach}, not beyond the inner edge of the sole at {inner_edge}. So the ZMP is at that '
    'edge from {edge_time} on, in step {edge_step}, and the robot stands on an edge of its foot. '
    'In the next steps the soles are not where they should be, and it falls.',
}
_WHY = {
    'converging': 'The paper measures the ZMP by force sensors in the ankles (eqs. 15 and 16), '
    'here it is where the simulated ground reaction acts: the same point. What separates it from '
    'the wanted ZMP is the angular momentum of the swinging leg, which neither the point mass nor '
    'CCG knows.',
    'constant': 'The same happens, two steps earlier: how wide the steps and how large the feet '
    'are, and so how soon the robot stands on an edge, the paper does not state.',
}
_EDGE = 1e-3  # this close to the edge of the sole the robot tips [m]


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return (study.tracks('converging', SHOWN),)


def picture(study: Study, load: Load) -> Picture:
    """Draw fig. 9."""
    return picture_of('converging', load(study.tracks('converging', SHOWN)))


def picture_of(method: str, walk: Any) -> Picture:
    """Draw the tracks of a walk by a method."""
    count = len(walk['times'])

    def draw(look: Look, width: float) -> Any:
        zmp = {'color': look['other'], 'linewidth': 0.9}
        legend = [
            wanted_entry(look, 'wanted ZMP'), Entry('ZMP', line(look, 'other', linewidth=1.1)),
            wanted_entry(look, 'wanted CoG'),
            Entry('CoG', line(look, 'mr-ad' if method == 'converging' else 'ir-md',
                              linewidth=1.4)),
            Entry('soles that are to carry', patch(look, 'sole', alpha=0.25)),
        ]  # fmt: skip
        canvas, axes = panels(width, 2, legend, height=2.7)
        for axis, ax in enumerate(axes):
            t = walk['wanted_times']
            ax.fill_between(t, walk['support'][:, 2 * axis], walk['support'][:, 2 * axis + 1],
                            color=look['sole'], alpha=0.18, linewidth=0)  # fmt: skip
            ax.plot(t, walk['wanted_zmp'][:, axis], **wanted(look, 'wanted ZMP'))
            ax.plot(walk['times'], walk['cop'][:, axis], **zmp)
            ax.plot(walk['times'], walk['com'][:, axis], **style(look, method, linestyle='-'))
            ax.plot(t, walk['wanted_com'][:, axis], **wanted(look, 'wanted CoG'))
            low, high = (
                np.nanmin(walk['support'][:, 2 * axis]),
                np.nanmax(walk['support'][:, 2 * axis + 1]),
            )
            ax.set(xlabel='time [s]', ylabel=f'{"xy"[axis]} [m]', xlim=(0, t[-1]))
            ax.set_ylim(low - 0.05, high + 0.05)
        return canvas

    return Picture(
        name=f'fig{_NUMBERS[method]}',
        title=f'ZMP and CoG with {"the " if method == "constant" else ""}{LABELS[method]}',
        source=f'Fig. {_NUMBERS[method]}',
        draw=draw,
        facts=_facts(walk, count),
        seen=f'x and y of ZMP and CoG over time: {setting_text(SHOWN)}. The band is the box '
        'around the soles that are meant to carry; what is far beyond it is out of view.',
        paper=_PAPER[method],
        ours=_HERE[method],
        why=_WHY[method],
        data=Table(
            ('time [s]', 'ZMP x [m]', 'ZMP y [m]', 'CoG x [m]', 'CoG y [m]', 'wanted ZMP x [m]',
             'wanted ZMP y [m]', 'wanted CoG x [m]', 'wanted CoG y [m]'),
            np.column_stack(
                [walk['times'], *(column[:count, :2] for column in (
                    walk['cop'], walk['com'], walk['wanted_zmp'], walk['wanted_com']))]
            ).tolist(),
        ),
    )  # fmt: skip


def _facts(walk: Any, count: int) -> tuple[Fact, ...]:
    margin = _margin(walk, count)
    known = np.isfinite(margin)
    away = np.linalg.norm((walk['cop'] - walk['wanted_zmp'][:count])[known, :2], axis=1)
    at_edge = np.flatnonzero(known & (margin < _EDGE))
    time = float(walk['times'][at_edge[0]]) if len(at_edge) else np.nan
    step = np.searchsorted(walk['step_begins'], time, side='right') if len(at_edge) else np.nan
    begin, end = walk['step_begins'][:2]
    reach, wanted_reach = (
        1e3 * float(com[(times >= begin) & (times < end), 1].max())
        for times, com in (
            (walk['times'], walk['com']),
            (walk['wanted_times'], walk['wanted_com']),
        )
    )
    inner_edge = 1e3 * float(walk['soles'][0, :, 1].min())
    facts = [
        Fact('zmp_mean', 'mean distance of the ZMP from the wanted one', 1e3 * float(away.mean()),
             'mm', 1),
        Fact('inside', 'share of the time with the ZMP within the box around the soles',
             100.0 * float((margin[known] > -_EDGE).mean()), '%', 1),
        Fact('reach', 'largest y of the CoG in the first step', reach, 'mm', 0),
        Fact('wanted_reach', 'largest y of the wanted CoG in the first step', wanted_reach, 'mm',
             0),
        Fact('inner_edge', 'y of the inner edge of the sole', inner_edge, 'mm', 0),
    ]  # fmt: skip
    if len(at_edge):
        facts += [
            Fact('edge_time', 'when the ZMP first is at the edge of a sole', time, 's', 2),
            Fact('edge_step', 'step in which that is', float(step), '', 0),
        ]
    return tuple(facts)


def _margin(walk: Any, count: int) -> Array:
    """(K,) distance of the ZMP from the edge of the box, negative outside; NaN without a ZMP."""
    low, high = walk['support'][:count, 0::2], walk['support'][:count, 1::2]
    point = walk['cop'][:, :2]
    margin: Array = np.minimum(point - low, high - point).min(axis=1)
    return margin
