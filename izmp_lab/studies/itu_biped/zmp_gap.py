"""Why the ranking reverses: how far the ZMP of all bodies is from the wanted one in the plan."""

from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line, panels
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.itu_biped import falls
from izmp_lab.studies.itu_biped.study import LARGE, SMALL, Setting, Study
from izmp_lab.studies.itu_biped.styles import (
    LABELS,
    MARKERS,
    METHODS,
    PAPER_METHODS,
    entry,
    foot_text,
    style,
)
from izmp_lab.studies.itu_biped.walks import Score
from izmp_lab.studies.runs import Load, Run

_FRICTION = 1.0  # of the run whose score is used; the plan does not know it
_FASTEST, _SLOWEST = 'fastest', 'slowest'


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    own = [_run(study, method, time) for method in METHODS for time in study.grid.step_times]
    return (*own, *falls.runs(study))


def _run(study: Study, method: str, step_time: float) -> Run:
    return study.score(method, Setting(step_time, LARGE, _FRICTION))


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    times = study.grid.step_times
    gaps = {
        (method, time): [
            1e3 * gap for gap in Score.from_arrays(load(_run(study, method, time))).zmp_gap
        ]
        for method in METHODS
        for time in times
    }

    def draw(look: Look, width: float) -> Any:
        legend = [
            *(entry(look, method, marker=MARKERS[method], markersize=4.5) for method in METHODS),
            Entry('from the middle of a sole to its edge', line(look, 'muted', linewidth=0.9)),
        ]
        canvas, axes = panels(width, 2, legend, height=3.0)
        for axis, ax in enumerate(axes):
            for method in METHODS:
                curve = [gaps[method, time][axis] for time in times]
                ax.plot(
                    times, curve, **style(look, method, marker=MARKERS[method], markersize=4.5)
                )
            for foot in (SMALL, LARGE):
                half = 500.0 * foot[axis]
                ax.axhline(half, color=look['muted'], linewidth=0.9, zorder=1)
                side = 0 if axis == 0 and foot == SMALL else -1  # where no curve is
                ax.annotate(f'feet of {foot_text(foot)}', (times[side], half), (0, 2),
                            textcoords='offset points', fontsize=8,
                            ha='right' if side else 'left')  # fmt: skip
            ax.set(xlabel='step time [s]', ylim=(0, None))
            ax.set_ylabel(f'largest gap of the ZMP in {"xy"[axis]} [mm]')
            ax.set_xticks(times, [f'{time:.1f}' for time in times])
        return canvas

    return Picture(
        name='zmp_gap',
        title='Why fast steps are not for CCG',
        source='Beyond the paper',
        draw=draw,
        facts=(*_facts(times, gaps), *_predictions(study, load)),
        seen='How far the ZMP of the plan, that of all bodies by inverse dynamics, is at most '
        'from the wanted one, which lies amid the sole, while one foot carries. Beyond the grey '
        'lines it is outside the sole and the robot tips. Nothing of this is simulated; foot size '
        'and friction play no part.',
        paper='Not considered: the motion of the CoG is that of a point mass (eqs. 12 and 13).',
        ours='With CCG the gap in x is {converging_fastest_x} at steps of {fastest} and '
        '{converging_slowest_x} at {slowest}; with the constant vector {constant_fastest_x} and '
        '{constant_slowest_x}. CCG puts the CoG right by moving the pelvis against the swinging '
        'leg, the faster the shorter the steps; the rate of angular momentum that this costs is '
        'in no equation of the method. Whether the gap is less than the way to the edge, in x and '
        'y, predicts for {right_converging} of {settings} walks with CCG whether they are '
        'finished; '
        'of those with the constant vector, whose CoG is not where it should be, of '
        '{right_constant}. The dynamics filter corrects the wanted CoG until at most '
        '{filtered_largest} of the gap are left at any step time.',
        why='',
        data=Table(
            ('method', 'step time [s]', 'largest gap in x [mm]', 'largest gap in y [mm]'),
            [[LABELS[method], time, *gap] for (method, time), gap in gaps.items()],
        ),
    )


def _facts(
    times: tuple[float, ...], gaps: dict[tuple[str, float], list[float]]
) -> tuple[Fact, ...]:
    facts = [
        Fact(_FASTEST, 'shortest step time', times[0], 's', 1),
        Fact(_SLOWEST, 'longest step time', times[-1], 's', 1),
    ]
    for method in METHODS[:2]:
        for name, time in ((_FASTEST, times[0]), (_SLOWEST, times[-1])):
            for axis, gap in zip('xy', gaps[method, time], strict=True):
                label = f'largest gap in {axis}, {LABELS[method]}, steps of {time:.1f} s'
                facts.append(Fact(f'{method}_{name}_{axis}', label, gap, 'mm', 0))
    largest = max(max(gaps['filtered', time]) for time in times)
    label = 'largest gap, CCG and dynamics filter, any step time'
    facts.append(Fact('filtered_largest', label, largest, 'mm', 1))
    return tuple(facts)


def _predictions(study: Study, load: Load) -> tuple[Fact, ...]:
    """How often the gap predicts whether a walk is finished."""
    found = falls.scores(study, load)
    facts = [Fact('settings', 'settings of the grid', len(found) // len(METHODS), '', 0)]
    for method in PAPER_METHODS:
        right = sum(
            score.finishes == all(gap < half / 2 for gap, half in
                                  zip(score.zmp_gap, setting.foot, strict=True))
            for (name, setting), score in found.items() if name == method
        )  # fmt: skip
        label = f'walks whose end the gap predicts, {LABELS[method]}'
        facts.append(Fact(f'right_{method}', label, right, '', 0))
    return tuple(facts)
