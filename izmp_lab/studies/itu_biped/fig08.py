"""Fig. 8: wanted and simulated tracks of the CoG, seen from above."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, Look, panels, patch
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped.study import SHOWN, Study
from izmp_lab.studies.itu_biped.styles import (
    PAPER_METHODS,
    entry,
    setting_text,
    style,
    wanted,
    wanted_entry,
)
from izmp_lab.studies.itu_biped.walks import Score
from izmp_lab.studies.runs import Load, Run
from izmp_lab.walking.itu_biped import RIGHT_LEG, TORSO

_BESIDE = 0.22  # [m] around the middle of the path; a fall leads far beyond
DEVIATION = 0.01
"""From this distance on the track counts as left [m]."""


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    walks = [study.tracks(method, SHOWN) for method in PAPER_METHODS]
    return (*walks, study.score('constant', SHOWN))


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    walks = {method: load(study.tracks(method, SHOWN)) for method in PAPER_METHODS}
    plan = walks['converging']

    def draw(look: Look, width: float) -> Any:
        legend = [
            wanted_entry(look, 'wanted ZMP'), wanted_entry(look, 'wanted CoG'),
            *(entry(look, method, text) for method, text in (
                ('converging', 'CoG with CCG'), ('constant', 'CoG with the constant vector'))),
            Entry('soles', patch(look, 'sole', alpha=0.25)),
        ]  # fmt: skip
        left, right = plan['soles'][..., 0].min() - 0.05, plan['soles'][..., 0].max() + 0.05
        height = max((width - 0.9) / (right - left) * 2 * _BESIDE, 1.4)
        canvas, (ax,) = panels(width, 1, legend, height=height)
        for outline in plan['soles']:
            ax.fill(*outline.T, color=look['sole'], alpha=0.18, linewidth=0)
        ax.plot(*plan['wanted_zmp'][:, :2].T, **wanted(look, 'wanted ZMP'))
        for method in PAPER_METHODS:
            ax.plot(*walks[method]['com'][:, :2].T, **style(look, method))
        ax.plot(*plan['wanted_com'][:, :2].T, **wanted(look, 'wanted CoG'))
        ax.set(xlim=(left, right), ylim=(-_BESIDE, _BESIDE), xlabel='x [m]', ylabel='y [m]')
        return canvas

    return Picture(
        name='fig8',
        title='Wanted and simulated tracks of the CoG',
        source='Fig. 8',
        draw=draw,
        facts=_facts(study, load, walks),
        seen=f'The ground from above: {setting_text(SHOWN)}. Both walks have the same wanted ZMP '
        'and CoG.',
        paper='With CCG the CoG agrees with the wanted one; without, it deviates after the second '
        'step and the robot falls in the fourth. The feet slide, which explains errors along x '
        'and y.',
        ours='With CCG the track stays within {ccg_aside} of the wanted one. With the constant '
        'vector it is left by more than {limit} from step {leaves_in} on.',
        why='It is not sliding that separates the tracks here: with the constant vector the CoG '
        'is wrong by up to {planned} in the plan already, because each leg has {leg_share} of the '
        'mass and a swinging one takes the CoG along. What is left with CCG is the give of the '
        'contacts.',
        data=Table(
            ('method', 'time [s]', 'CoG x [m]', 'CoG y [m]', 'wanted CoG x [m]',
             'wanted CoG y [m]', 'wanted ZMP x [m]', 'wanted ZMP y [m]'),
            [
                [method, *map(float, row)]
                for method, walk in walks.items()
                for row in _rows(walk)
            ],
        ),
    )  # fmt: skip


def _rows(walk: Any) -> Array:
    count = len(walk['times'])
    columns = (walk['com'], walk['wanted_com'][:count], walk['wanted_zmp'][:count])
    return np.column_stack([walk['times'], *(column[:, :2] for column in columns)])


def _facts(study: Study, load: Load, walks: Any) -> tuple[Fact, ...]:
    aside = {method: _aside(walk) for method, walk in walks.items()}
    constant = walks['constant']
    score = Score.from_arrays(load(study.score('constant', SHOWN)))
    leg = sum(part.mass for part in RIGHT_LEG)
    away = np.flatnonzero(aside['constant'] > DEVIATION)
    step = np.nan
    if len(away):
        begins = constant['step_begins']
        step = max(1, int(np.searchsorted(begins, constant['times'][away[0]], side='right')))
    return (
        Fact('ccg_aside', 'largest distance from the wanted track with CCG',
             1e3 * float(aside['converging'].max()), 'mm', 1),
        Fact('limit', 'distance from which on a track counts as left', 1e3 * DEVIATION, 'mm', 0),
        Fact('leaves_in', 'step in which the constant vector leaves the track', step, '', 0,
             paper='3'),
        Fact('planned', 'largest error of the CoG in the plan with the constant vector',
             1e3 * score.planned, 'mm', 0),
        Fact('leg_share', 'share of a leg in the mass', 100.0 * leg / (2.0 * leg + TORSO.mass),
             '%', 0),
    )  # fmt: skip


def _aside(walk: Any) -> Array:
    """(K,) horizontal distance of the CoG from the wanted one [m]."""
    distance: Array = np.linalg.norm(
        (walk['com'] - walk['wanted_com'][: len(walk['com'])])[:, :2], axis=1
    )
    return distance
