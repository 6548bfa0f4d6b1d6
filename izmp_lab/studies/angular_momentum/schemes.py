"""E1 to E4 of the poster: how far the ZMP of all bodies is from the wanted one."""

from typing import Any

from izmp_dynamics.pages.look import Look, log_ticks, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.angular_momentum.study import SCHEMES, Robot, Study, Trial
from izmp_lab.studies.angular_momentum.styles import LABELS, MARKERS, entry, style
from izmp_lab.studies.angular_momentum.walks import Score
from izmp_lab.studies.runs import Load, Run

LIMITS = {'rms': (4.0, 1.5), 'largest': (16.0, 4.0)}
"""Of E3 and E4 in x and y [mm]."""

WORSE, SAME = 6.0, 1.1
"""How many times worse E1 is at least, and E4 at most, than E3."""

Scores = dict[tuple[Robot, str], Score]


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(study.score(robot, Trial(scheme)) for robot in study.robots for scheme in SCHEMES)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    names = [robot.name for robot in study.robots]
    found = {
        (robot.name, scheme): Score.from_arrays(load(study.score(robot, Trial(scheme))))
        for robot in study.robots
        for scheme in SCHEMES
    }

    def draw(look: Look, width: float) -> Any:
        legend = [entry(look, s, marker=MARKERS[s], linestyle='none') for s in SCHEMES]
        canvas, axes = panels(width, 2, legend, height=0.55 * len(names) + 0.5, titles=True)
        for axis, ax in enumerate(axes):
            _draw(ax, look, names, found, axis)
            ax.set_title(f'in {"xy"[axis]}', fontsize=9.5, loc='left')
        return canvas

    return Picture(
        name='schemes',
        title='The four experiments',
        source='E1 to E4 of the poster',
        draw=draw,
        facts=tuple(fact for name in names for fact in _facts(name, found)),
        seen='Distance of the ZMP of all bodies, by inverse dynamics of the whole plan, from the '
        'wanted ZMP: root mean square (marker) and largest (end of the line) from the first step '
        'to the last. Steps of 0.8 s and 0.25 m; lift-offs and landings are at knots of the '
        'splines.',
        paper='E3 and E4 keep the error to a fraction of E1’s; E2 lies between, and knows a '
        'whole window too late. Its table is not legible enough in the source to quote; robot and '
        'gait are not stated.',
        ours='On biped31 E1 has {biped31_E1_rms_x} RMS and {biped31_E1_largest_x} at most in x, '
        'E2 {biped31_E2_rms_x} and {biped31_E2_largest_x}, E3 {biped31_E3_rms_x} and '
        '{biped31_E3_largest_x}, E4 {biped31_E4_rms_x} and {biped31_E4_largest_x}. The point '
        'mass’s own ZMP is perfect in all four: what differs is what legs and arms do.',
        why='',
        data=Table(
            ('robot', 'scheme', 'axis', 'RMS [mm]', 'largest [mm]'),
            [
                [name, LABELS[scheme], 'xy'[axis], 1e3 * float(score.rms[axis]),
                 1e3 * float(score.largest[axis])]
                for (name, scheme), score in found.items()
                for axis in (0, 1)
            ],
        ),
    )  # fmt: skip


def _draw(
    ax: Any, look: Look, names: list[str], found: dict[tuple[str, str], Score], axis: int
) -> None:
    for row, name in enumerate(names):
        for index, scheme in enumerate(SCHEMES):
            score, y = found[name, scheme], row + 0.18 * (index - 1.5)
            rms, most = 1e3 * score.rms[axis], 1e3 * score.largest[axis]
            ax.plot([rms, most], [y, y], **style(look, scheme, linestyle='-', linewidth=1.2))
            ax.plot(rms, y, **style(look, scheme, marker=MARKERS[scheme], markersize=5))
    ax.axvline(LIMITS['rms'][axis], color=look['muted'], linewidth=0.8)
    ax.axvline(LIMITS['largest'][axis], color=look['muted'], linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set(xscale='log', ylim=(len(names) - 0.5, -0.5), xlabel='error of the ZMP [mm]')
    log_ticks(ax.xaxis, (1, 3, 10, 30, 100) if axis == 0 else (0.3, 1, 3, 10))
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis='y', length=0)


def _facts(name: str, found: dict[tuple[str, str], Score]) -> list[Fact]:
    facts = []
    for scheme in SCHEMES:
        score = found[name, scheme]
        for what, label in (('rms', 'RMS'), ('largest', 'largest')):
            for axis, letter in enumerate('xy'):
                value = 1e3 * float(getattr(score, what)[axis])
                limit = LIMITS[what][axis]
                bound = scheme in ('E3', 'E4')
                facts.append(
                    Fact(
                        f'{name}_{scheme}_{what}_{letter}',
                        f'{label} error in {letter}, {scheme}, {name}', value, 'mm', 2,
                        wanted=f'≤ {limit:g} mm' if bound else '',
                        holds=value <= limit if bound else None,
                    )
                )  # fmt: skip
    rms = {scheme: float(found[name, scheme].rms[0]) for scheme in SCHEMES}
    worse, same = rms['E1'] / rms['E3'], rms['E4'] / rms['E3']
    facts += [
        Fact(f'{name}_worse', f'RMS error in x, E1 over E3, {name}', worse, '', 1,
             wanted=f'≥ {WORSE:g}', holds=worse >= WORSE),
        Fact(f'{name}_same', f'RMS error in x, E4 over E3, {name}', same, '', 2,
             wanted=f'≤ {SAME:g}', holds=same <= SAME),
    ]  # fmt: skip
    return facts
