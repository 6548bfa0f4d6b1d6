"""Why mixed momentum control tracks better: the same gains, and tuned ones, for both."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Look, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.figures.styles import LABELS, MARKERS, entry, style
from izmp_lab.seesaw.study.tasks import CONTROLLERS, SETTLING, Study, Track
from izmp_lab.studies.runs import Load, Run

ROBOT, MIXED, WITHOUT, TUNED = 'CoM of robot', 'CoM of mixed', 'and no integral', 'tuned'
SETS: Mapping[str, Mapping[str, Any]] = {
    ROBOT: {'com_gains_of': 'robot'},
    MIXED: {'com_gains_of': 'mixed'},
    WITHOUT: {'com_gains_of': 'mixed', 'integral': False},
    TUNED: {'gains': 'tuned'},
}
"""Gains → what sets the run apart; everything else is the controller's own."""

LARGEST_TUNED = {'mixed': 1.0, 'robot': 1.5}
"""Largest RMS error with tuned gains [mm]."""


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.sine(name, **other) for other in SETS.values() for name in CONTROLLERS)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    tracks = {
        (text, name): Track.of(load(study.sine(name, **other)))
        for text, other in SETS.items()
        for name in CONTROLLERS
    }

    def draw(look: Look, width: float) -> Any:
        own: dict[str, Any] = {'markersize': 6, 'linewidth': 0.8}
        legend = [entry(look, name, marker=MARKERS[name], **own) for name in CONTROLLERS]
        canvas, (ax,) = panels(width, 1, legend)
        places = np.arange(len(SETS))
        for name in CONTROLLERS:
            errors = [tracks[text, name].rmse() for text in SETS]
            ax.plot(places, errors, **style(look, name, marker=MARKERS[name], **own))
        ax.set_xticks(places, list(SETS))
        ax.set(yscale='log', ylabel='RMS error of the CoM [mm]', xlabel='gains')
        ax.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ['0.5', '1', '2', '5', '10', '20', '50'])
        ax.set_xlim(-0.4, len(SETS) - 0.6)
        return canvas

    return Picture(
        name='gains',
        title='The same gains for both controllers',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(_facts(tracks)),
        seen='The sine of fig. 5 in MuJoCo. First, both controllers have the gains of the CoM '
        'that the authors give the robot controller (P = 5 1/s² to the side), then those of the '
        'mixed one (10 1/s²); then the feedback of the integral of the angular momentum, which '
        'only the robot controller has, is left out. Tuned are P = 40 1/s² and critical damping '
        'of the CoM for both.',
        paper='A possible explanation of the difference: tracking may require an angular '
        'momentum of the robot, which robot momentum control regulates to zero.',
        ours='Each with its own gains, the errors are {own_mixed} (mixed) and {own_robot} '
        '(robot), a factor of {own_ratio}. With the CoM gains of the mixed controller the robot '
        'controller has {given_robot}, a factor of {given_ratio}. Without the integral as well, '
        'it has {without_robot}; in the last two periods, when transients are over, '
        '{late_robot}, against {late_mixed} of the mixed one. Tuned, the errors are '
        '{tuned_mixed} and {tuned_robot}, a factor of {tuned_ratio}.',
        why='The difference comes from the gains: that of the CoM, and the stiffness against the '
        'integral of the robot’s angular momentum, a stiffness of the posture in disguise, which '
        'works against a CoM that moves. To damp the robot’s angular momentum, as the paper '
        'suspects, does not by itself make tracking worse. The integral has its merit: with it '
        'deviations die out sooner.',
        data=Table(
            ('gains', 'controller', 'RMS error [mm]', 'largest |θ| [°]'),
            [
                [text, LABELS[name], track.rmse(), track.largest_angle()]
                for (text, name), track in tracks.items()
            ],
        ),
    )


def _facts(tracks: Mapping[tuple[str, str], Track]) -> Iterator[Fact]:
    error = {key: track.rmse() for key, track in tracks.items()}
    mixed, robot = error[MIXED, 'mixed'], error[ROBOT, 'robot']
    given, without = error[MIXED, 'robot'], error[WITHOUT, 'robot']
    yield Fact('own_mixed', 'own gains: mixed', mixed, 'mm', 2)
    yield Fact('own_robot', 'own gains: robot', robot, 'mm', 2)
    yield Fact('own_ratio', 'own gains: robot over mixed', robot / mixed, '', 1)
    yield Fact('given_robot', 'robot, with the CoM gains of mixed', given, 'mm', 2)
    yield Fact('given_ratio', 'CoM gains of mixed: robot over mixed', given / mixed, '', 1)
    yield Fact('without_robot', 'robot, and without the integral', without, 'mm', 2)
    for name in CONTROLLERS:
        late = _late(tracks[WITHOUT, name])
        yield Fact(f'late_{name}', f'no integral, last two periods: {name}', late, 'mm', 2)
        value, limit = error[TUNED, name], LARGEST_TUNED[name]
        label = f'tuned gains: {name}'
        holds = value <= limit and tracks[TUNED, name].sound
        yield Fact(f'tuned_{name}', label, value, 'mm', 2, wanted=f'≤ {limit:g} mm', holds=holds)
        whole = tracks[TUNED, name].rmse(0.0)
        yield Fact(f'tuned_{name}_whole', f'{label}, whole run', whole, 'mm', 2)
    ratio = error[TUNED, 'robot'] / error[TUNED, 'mixed']
    holds = ratio > 1 and all(tracks[TUNED, name].sound for name in CONTROLLERS)
    label = 'tuned gains: robot over mixed'
    yield Fact('tuned_ratio', label, ratio, '', 1, wanted='> 1', holds=holds)


def _late(track: Track) -> float:
    """RMS error of the last two periods [mm]."""
    return track.rmse(float(track.times[-1]) - SETTLING)
