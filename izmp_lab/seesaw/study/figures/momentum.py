"""Figs. 2 and 3: how the errors of the momenta die out after the push."""

from typing import Any

from izmp_dynamics.pages.look import Look, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.figures.styles import LABELS, entry, style
from izmp_lab.seesaw.study.tasks import CONTROLLERS, Study, Track
from izmp_lab.studies.runs import Load, Run

_BEFORE, _AFTER = 1.0, 15.0  # [s]


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.push(controller) for controller in CONTROLLERS)


def picture_of(study: Study, load: Load, kind: str) -> Picture:
    """Draw fig. 2 (`kind` linear) or fig. 3 (angular)."""
    tracks = {name: Track.of(load(study.push(name))) for name in CONTROLLERS}
    name, unit, what = {
        'linear': ('fig2', 'kg·m/s', 'linear momentum of the robot'),
        'angular': ('fig3', 'kg·m²/s', 'angular momentum of robot (robot) or system (mixed)'),
    }[kind]

    def draw(look: Look, width: float) -> Any:
        legend = [entry(look, controller) for controller in CONTROLLERS]
        canvas, (ax,) = panels(width, 1, legend)
        for controller, track in tracks.items():
            ax.plot(track.times, getattr(track, kind), **style(look, controller))
        ax.set(xlabel='time [s]', ylabel=f'norm of the error [{unit}]')
        ax.set_xlim(study.push_time - _BEFORE, study.push_time + _AFTER)
        return canvas

    return Picture(
        name=name,
        title=f'Error of the {what}',
        source=f'Fig. {name[3:]}',
        draw=draw,
        facts=tuple(_facts(study, tracks, kind, unit)),
        seen=f'100 N to the left for 10 ms on the torso at {study.push_time:g} s; MuJoCo, the '
        'gains of the authors.',
        paper='Both controllers bring the system back to the equilibrium.',
        ours='The error rises to {mixed_peak} (mixed) and {robot_peak} (robot); 10 s after the '
        'push it is {mixed_later} and {robot_later}.',
        why='',
        data=Table(
            ('controller', 'time [s]', f'error [{unit}]'),
            [
                [LABELS[controller], float(t), float(value)]
                for controller, track in tracks.items()
                for t, value in zip(track.times, getattr(track, kind), strict=True)
            ],
        ),
    )


def _facts(study: Study, tracks: dict[str, Track], kind: str, unit: str) -> Any:
    for controller, track in tracks.items():
        error = getattr(track, kind)
        later = error[track.times >= study.push_time + 10.0].max()
        label = LABELS[controller]
        yield Fact(f'{controller}_peak', f'{label}: largest error', float(error.max()), unit, 2)
        yield Fact(f'{controller}_later', f'{label}: largest error from 10 s after the push on',
                   float(later), unit, 3, wanted='≤ 10 % of the largest',
                   holds=bool(later <= 0.1 * error.max()))  # fmt: skip
