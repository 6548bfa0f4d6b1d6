"""How hard a push the robot stands."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from izmp_dynamics.experiments.look import Entry, Look, line, panels
from izmp_dynamics.experiments.picture import Fact, Picture, Table
from izmp_dynamics.experiments.runs import Load, Run
from izmp_dynamics.experiments.seesaw_figures.styles import LABELS, MARKERS, entry, style
from izmp_dynamics.experiments.seesaw_study import CONTROLLERS, Study, Track

LEAST = 600.0
"""Push that must be survived [N]."""


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.shove(name, force) for name in CONTROLLERS for force in study.forces)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    tracks = {
        name: {force: Track.of(load(study.shove(name, force))) for force in study.forces}
        for name in CONTROLLERS
    }

    def draw(look: Look, width: float) -> Any:
        legend = [
            *(entry(look, name, marker=MARKERS[name], markersize=4.5) for name in CONTROLLERS),
            Entry('falls', line(look, 'ink', marker='x', markersize=6, linestyle='none')),
        ]
        canvas, (ax,) = panels(width, 1, legend)
        for name, found in tracks.items():
            standing = {f: track.largest_angle() for f, track in found.items() if not track.fell}
            ax.plot(list(standing), list(standing.values()),
                    **style(look, name, marker=MARKERS[name], markersize=4.5))  # fmt: skip
            fallen = [force for force, track in found.items() if track.fell]
            height = {'mixed': 35.0, 'robot': 37.5}[name]
            ax.plot(fallen, np.full(len(fallen), height),
                    **style(look, name, marker='x', markersize=6, linestyle='none'))  # fmt: skip
        ax.set(xlabel='push for 10 ms [N]', ylabel='largest |θ| [°]', ylim=(0.0, 40.0))
        return canvas

    return Picture(
        name='push_limit',
        title='How hard a push the robot stands',
        source='Beyond the paper',
        draw=draw,
        facts=_facts(tracks),
        seen='A push to the left on the torso for 10 ms, in MuJoCo, the gains of the authors. A '
        'cross marks a fall.',
        paper='100 N.',
        ours='All pushes up to {mixed} (mixed) and {robot} (robot) are survived; with 600 N the '
        'board turns by {mixed_at} and {robot_at}.',
        why='',
        data=Table(
            ('controller', 'push [N]', 'largest |θ| [°]', 'fell', 'ticks without a solution'),
            [
                [LABELS[name], force, track.largest_angle(), 'yes' if track.fell else 'no',
                 track.unsolved]
                for name, found in tracks.items()
                for force, track in found.items()
            ],
        ),
    )  # fmt: skip


def _facts(tracks: Mapping[str, Mapping[float, Track]]) -> tuple[Fact, ...]:
    facts = []
    for name, found in tracks.items():
        survived = 0.0
        for force, track in found.items():
            if track.fell:
                break
            survived = force
        at = found[LEAST].largest_angle() if LEAST in found else float('nan')
        facts += [
            Fact(name, f'{LABELS[name]}: largest push that is survived, as are all smaller ones',
                 survived, 'N', 0, paper='100 N', wanted=f'≥ {LEAST:g} N',
                 holds=survived >= LEAST),
            Fact(f'{name}_at', f'{LABELS[name]}: largest |θ| with {LEAST:g} N', at, '°', 1),
        ]  # fmt: skip
    return tuple(facts)
