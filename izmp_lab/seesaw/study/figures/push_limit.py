"""How hard a push the robot stands."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.seesaw.study.figures.styles import LABELS, MARKERS, entry, style
from izmp_lab.seesaw.study.tasks import CONTROLLERS, Study, Track
from izmp_lab.studies.runs import Load, Run

LEAST = 600.0
"""Push that must be survived with the gains of the authors [N]."""

CALM = 1.0
"""Largest |θ| in the last two seconds of a run that counts as survived [°]."""

STAYS = 5.0
"""Largest distance of a sole from its place on the board, likewise [mm]."""

AUTHORS, TUNED, LEFT = 'authors', 'tuned', 'lateral'
OTHERS = ('right', 'forward', 'back')
"""Directions that are tried besides."""

_GAINS_LINES: Mapping[str, Mapping[str, Any]] = {
    AUTHORS: {},
    TUNED: {'linewidth': 0.8, 'markerfacecolor': 'none'},
}

Shoves = Mapping[tuple[str, str, str], Mapping[float, Track]]
"""(controller, gains, direction) → force [N] → track."""


def survived(track: Track) -> bool:
    """Whether the robot stands at the end, the board is calm and the soles are in place."""
    return not track.fell and track.last_angle() <= CALM and track.slip <= STAYS


def _cases(study: Study) -> Iterator[tuple[str, str, str, tuple[float, ...]]]:
    for name in CONTROLLERS:
        yield name, AUTHORS, LEFT, study.forces
        yield name, TUNED, LEFT, study.forces
        for direction in OTHERS:
            yield name, AUTHORS, direction, study.other_forces


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(
        study.shove(name, force, gains, direction)
        for name, gains, direction, forces in _cases(study)
        for force in forces
    )


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    shoves = {
        (name, gains, direction): {
            force: Track.of(load(study.shove(name, force, gains, direction))) for force in forces
        }
        for name, gains, direction, forces in _cases(study)
    }

    def draw(look: Look, width: float) -> Any:
        legend = [
            *(
                entry(look, name, f'{LABELS[name]}, {gains}', marker=MARKERS[name],
                      markersize=4.5, **_GAINS_LINES[gains])
                for gains in (AUTHORS, TUNED)
                for name in CONTROLLERS
            ),
            Entry('not survived', line(look, 'ink', marker='x', markersize=6, linestyle='none')),
        ]  # fmt: skip
        canvas, (ax,) = panels(width, 1, legend)
        height = 35.0
        for gains in (AUTHORS, TUNED):
            for name in CONTROLLERS:
                found = shoves[name, gains, LEFT]
                stood = {f: track.largest_angle() for f, track in found.items() if survived(track)}
                ax.plot(list(stood), list(stood.values()),
                        **style(look, name, marker=MARKERS[name], markersize=4.5,
                                **_GAINS_LINES[gains]))  # fmt: skip
                lost = [force for force in found if force not in stood]
                ax.plot(lost, np.full(len(lost), height),
                        **style(look, name, marker='x', linestyle='none',
                                markersize=6 if gains == AUTHORS else 3.5))  # fmt: skip
                height += 2.5
        ax.set(xlabel='push for 10 ms [N]', ylabel='largest |θ| [°]', ylim=(0.0, 45.0))
        return canvas

    return Picture(
        name='push_limit',
        title='How hard a push the robot stands',
        source='Beyond the paper',
        draw=draw,
        facts=tuple(_facts(shoves)),
        seen='A push to the left on the torso for 10 ms, in MuJoCo. Survived is a push if the '
        f'robot stands {study.settled:g} s after it, |θ| is at most {CALM:g}° in the last two '
        f'seconds, and both soles are within {STAYS:g} mm of their places on the board. A cross '
        'marks a push that is not; small crosses and open markers are tuned gains.',
        paper='100 N.',
        ours='With the gains of the authors all pushes that were tried up to {mixed_authors} '
        '(mixed) and {robot_authors} (robot) are survived; with 600 N the board turns by '
        '{mixed_authors_at} and {robot_authors_at}. Tuned gains stand {mixed_tuned} and '
        '{robot_tuned}. The table lists the other directions.',
        why='',
        data=Table(
            ('controller', 'gains', 'direction', 'push [N]', 'survived', 'largest |θ| [°]',
             'largest |θ|, last 2 s [°]', 'slip of a sole [mm]', 'fell', 'end [s]',
             'ticks without a solution'),
            [
                [LABELS[name], gains, direction, force, 'yes' if survived(track) else 'no',
                 track.largest_angle(), track.last_angle(), track.slip,
                 'yes' if track.fell else 'no', float(track.times[-1]), track.unsolved]
                for (name, gains, direction), found in shoves.items()
                for force, track in found.items()
            ],
        ),
        table=Table(
            ('push', *(f'{LABELS[name]}, {gains}' for name in CONTROLLERS
                       for gains in (AUTHORS, TUNED))),
            [
                [f'{force:g} N, {direction}',
                 *(_cell(shoves.get((name, gains, direction), {}).get(force))
                   for name in CONTROLLERS for gains in (AUTHORS, TUNED))]
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


def _facts(shoves: Shoves) -> Iterator[Fact]:
    for (name, gains, direction), found in shoves.items():
        limit = 0.0
        for force, track in found.items():
            if not survived(track):
                break
            limit = force
        whose = f'{LABELS[name]}, {gains}'
        if direction != LEFT:
            yield Fact(f'{name}_{direction}', f'{whose}: the same, {direction}', limit, 'N', 0)
            continue
        must = gains == AUTHORS
        yield Fact(
            f'{name}_{gains}',
            f'{whose}: largest push that is survived, as are all smaller ones tried',
            limit, 'N', 0, paper='100 N' if must else '', wanted=f'≥ {LEAST:g} N' if must else '',
            holds=limit >= LEAST if must else None,
        )  # fmt: skip
        at = found.get(LEAST)
        if at is not None:
            value = np.nan if at.fell else at.largest_angle()
            yield Fact(
                f'{name}_{gains}_at', f'{whose}: largest |θ| with {LEAST:g} N', value, '°', 1
            )
            slip = np.nan if at.fell else at.slip
            yield Fact(f'{name}_{gains}_slip', f'{whose}: slip with {LEAST:g} N', slip, 'mm', 2)
