"""How far the controllers go: gains, the largest push."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.tasks import CONTROLLERS, CURVES, SETTLING, SeesawStudy, Track
from izmp_lab.studies.publish import at_most, figure

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


@figure(
    lambda study: {
        (text, name): study.sine(name, **other)
        for text, other in SETS.items()
        for name in CONTROLLERS
    }
)
def gains(study: SeesawStudy, tracks: dict[tuple[str, str], Track]) -> Picture:
    def draw(width: float) -> Any:
        legend = [curve.entry(6, linewidth=0.8) for curve in CURVES.values()]
        canvas, (ax,) = panels(width, 1, legend)
        places = np.arange(len(SETS))
        for name in CONTROLLERS:
            errors = [tracks[text, name].rmse() for text in SETS]
            ax.plot(places, errors, **CURVES[name].style(6, linewidth=0.8))
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
                [text, CURVES[name].label, track.rmse(), track.largest_angle()]
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
        track = tracks[WITHOUT, name]
        late = track.rmse(float(track.times[-1]) - SETTLING)
        yield Fact(f'late_{name}', f'no integral, last two periods: {name}', late, 'mm', 2)
        value, label = error[TUNED, name], f'tuned gains: {name}'
        sound = tracks[TUNED, name].sound
        yield at_most(f'tuned_{name}', label, value, LARGEST_TUNED[name], 'mm', sound=sound)
        whole = tracks[TUNED, name].rmse(0.0)
        yield Fact(f'tuned_{name}_whole', f'{label}, whole run', whole, 'mm', 2)
    ratio = error[TUNED, 'robot'] / error[TUNED, 'mixed']
    holds = ratio > 1 and all(tracks[TUNED, name].sound for name in CONTROLLERS)
    label = 'tuned gains: robot over mixed'
    yield Fact('tuned_ratio', label, ratio, '', 1, wanted='> 1', holds=holds)


LEAST = 600.0
"""Push that must be survived with the gains of the authors [N]."""

CALM = 1.0
"""Largest |θ| in the last two seconds of a run that counts as survived [°]."""

STAYS = 5.0
"""Largest distance of a sole from its place on the board, likewise [mm]."""

AUTHORS, PUSH_LIMIT_TUNED, LEFT = 'authors', 'tuned', 'lateral'
OTHERS = ('right', 'forward', 'back')
"""Directions that are tried besides."""

_GAINS_LINES: Mapping[str, Mapping[str, Any]] = {
    AUTHORS: {},
    PUSH_LIMIT_TUNED: {'linewidth': 0.8, 'markerfacecolor': 'none'},
}

Shoves = Mapping[tuple[str, str, str], Mapping[float, Track]]
"""(controller, gains, direction) → force [N] → track."""


def survived(track: Track) -> bool:
    """Whether the robot stands at the end, the board is calm and the soles are in place."""
    return not track.fell and track.last_angle() <= CALM and track.slip <= STAYS


def _cases(study: SeesawStudy) -> Iterator[tuple[str, str, str, tuple[float, ...]]]:
    for name in CONTROLLERS:
        yield name, AUTHORS, LEFT, study.forces
        yield name, PUSH_LIMIT_TUNED, LEFT, study.forces
        for direction in OTHERS:
            yield name, AUTHORS, direction, study.other_forces


@figure(
    lambda study: {
        (name, gains, direction, force): study.shove(name, force, gains, direction)
        for name, gains, direction, forces in _cases(study)
        for force in forces
    }
)
def push_limit(study: SeesawStudy, found: dict[tuple[str, str, str, float], Track]) -> Picture:
    shoves: dict[tuple[str, str, str], dict[float, Track]] = {}
    for (*case, force), track in found.items():
        name, gains, direction = case
        shoves.setdefault((name, gains, direction), {})[force] = track

    def draw(width: float) -> Any:
        legend = [
            *(
                CURVES[name].entry(4.5, f'{CURVES[name].label}, {gains}',
                                   **_GAINS_LINES[gains])
                for gains in (AUTHORS, PUSH_LIMIT_TUNED)
                for name in CONTROLLERS
            ),
            Entry('not survived', line('ink', marker='x', markersize=6, linestyle='none')),
        ]  # fmt: skip
        canvas, (ax,) = panels(width, 1, legend)
        height = 35.0
        for gains in (AUTHORS, PUSH_LIMIT_TUNED):
            for name in CONTROLLERS:
                found = shoves[name, gains, LEFT]
                stood = {f: track.largest_angle() for f, track in found.items() if survived(track)}
                ax.plot(list(stood), list(stood.values()),
                        **CURVES[name].style(4.5, **_GAINS_LINES[gains]))  # fmt: skip
                lost = [force for force in found if force not in stood]
                ax.plot(lost, np.full(len(lost), height),
                        **CURVES[name].style(6 if gains == AUTHORS else 3.5,
                                             marker='x', linestyle='none'))  # fmt: skip
                height += 2.5
        ax.set(xlabel='push for 10 ms [N]', ylabel='largest |θ| [°]', ylim=(0.0, 45.0))
        return canvas

    return Picture(
        name='push_limit',
        title='How hard a push the robot stands',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(_push_limit_facts(shoves)),
        seen='A push to the left on the torso for 10 ms, in MuJoCo. Survived is a push if the '
        f'robot stands {study.settled:g} s after it, |θ| is at most {CALM:g}° in the last two '
        f'seconds, and both soles are within {STAYS:g} mm of their places on the board. A cross '
        'marks a push that is not; small crosses and open markers are tuned gains.',
        paper='100 N.',
        ours='With the gains of the authors all pushes that were tried up to {mixed_authors} '
        '(mixed) and {robot_authors} (robot) are survived; with 600 N the board turns by '
        '{mixed_authors_at} and {robot_authors_at}. Tuned gains stand {mixed_tuned} and '
        '{robot_tuned}. The table lists the other directions.',
        data=Table(
            ('controller', 'gains', 'direction', 'push [N]', 'survived', 'largest |θ| [°]',
             'largest |θ|, last 2 s [°]', 'slip of a sole [mm]', 'fell', 'end [s]',
             'ticks without a solution'),
            [
                [CURVES[name].label, gains, direction, force, 'yes' if survived(track) else 'no',
                 track.largest_angle(), track.last_angle(), track.slip,
                 'yes' if track.fell else 'no', float(track.times[-1]), track.unsolved]
                for (name, gains, direction), found in shoves.items()
                for force, track in found.items()
            ],
        ),
        table=Table(
            ('push', *(f'{CURVES[name].label}, {gains}' for name in CONTROLLERS
                       for gains in (AUTHORS, PUSH_LIMIT_TUNED))),
            [
                [f'{force:g} N, {direction}',
                 *(_cell(shoves.get((name, gains, direction), {}).get(force))
                   for name in CONTROLLERS for gains in (AUTHORS, PUSH_LIMIT_TUNED))]
                for direction, forces in ((LEFT, study.forces),
                                          *((other, study.other_forces) for other in OTHERS))
                for force in forces
            ],
        ),
    )  # fmt: skip


def _cell(track: Track | None) -> str:
    if track is None:
        return '–'
    if track.fell:
        return f'falls at {track.times[-1]:.2f} s'
    text = f'θ {track.largest_angle():.1f}°, at last {track.last_angle():.2f}°'
    return f'{text}, slip {track.slip:.1f} mm' + ('' if survived(track) else ': not survived')


def _push_limit_facts(shoves: Shoves) -> Iterator[Fact]:
    for (name, gains, direction), found in shoves.items():
        limit = 0.0
        for force, track in found.items():
            if not survived(track):
                break
            limit = force
        whose = f'{CURVES[name].label}, {gains}'
        if direction != LEFT:
            yield Fact(f'{name}_{direction}', f'{whose}: the same, {direction}', limit, 'N', 0)
            continue
        must = gains == AUTHORS
        yield Fact(f'{name}_{gains}',
                   f'{whose}: largest push that is survived, as are all smaller ones tried', limit,
                   'N', 0, paper='100 N' if must else '', wanted=f'≥ {LEAST:g} N' if must else '',
                   holds=limit >= LEAST if must else None)  # fmt: skip
        at = found.get(LEAST)
        if at is not None:
            value = np.nan if at.fell else at.largest_angle()
            yield Fact(f'{name}_{gains}_at', f'{whose}: largest |θ| with {LEAST:g} N', value, '°',
                       1)  # fmt: skip
            slip = np.nan if at.fell else at.slip
            yield Fact(f'{name}_{gains}_slip', f'{whose}: slip with {LEAST:g} N', slip, 'mm', 2)
