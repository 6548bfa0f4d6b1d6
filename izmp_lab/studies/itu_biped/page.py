"""All pictures of `izmp experiments itu_biped`, and the words of their page."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.look import Entry, line, panels, patch
from izmp_dynamics.pages.picture import Fact, Missing, Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.studies.itu_biped import falls, open_parameters, postures
from izmp_lab.studies.itu_biped.postures import PAPER_LARGEST, PAPER_MEAN, PAPER_SMALLEST
from izmp_lab.studies.itu_biped.study import (
    ALL_METHODS,
    CURVES,
    LARGE,
    PAPER_METHODS,
    SHOWN,
    WANTED_COG,
    WANTED_ZMP,
    WITH_LARGE_FEET,
    CogScore,
    ItuStudy,
    Setting,
    Tracks,
    foot_text,
    setting_text,
)
from izmp_lab.studies.publish import Figure, at_least, at_most, figure, heading
from izmp_lab.studies.runs import Run

_EDGE = 1e-3  # this close to the edge of the sole the robot tips [m]


@figure(lambda study: {'walk': study.tracks('converging', SHOWN)})
def fig9(study: ItuStudy, found: dict[str, Tracks]) -> Picture:
    return _picture(
        'converging',
        'fig9',
        found['walk'],
        paper='ZMP and CoG agree well; hysteresis of the contact forces makes the ZMP deviate, '
        'but it stays within the support.',
        ours='The ZMP is within the box around the soles that are meant to carry for {inside} of '
        'the time, and {zmp_mean} from the wanted one on average. In the first step the CoG goes '
        '{reach} to the side; {wanted_reach} are wanted.',
        why='The paper measures the ZMP by force sensors in the ankles (eqs. 15 and 16), here it '
        'is where the simulated ground reaction acts: the same point. What separates it from the '
        'wanted ZMP is the angular momentum of the swinging leg, which neither the point mass nor '
        'CCG knows.',
    )


@figure(lambda study: {'walk': study.tracks('constant', SHOWN)})
def fig10(study: ItuStudy, found: dict[str, Tracks]) -> Picture:
    return _picture(
        'constant',
        'fig10',
        found['walk'],
        paper='CoG and ZMP are compatible during the first two steps and deviate afterwards; the '
        'robot falls in the fourth step.',
        ours='In the first step the CoG goes only {reach} to the side instead of {wanted_reach}, '
        'not beyond the inner edge of the sole at {inner_edge}. So the ZMP is at that edge from '
        '{edge_time} on, in step {edge_step}, and the robot stands on an edge of its foot. In the '
        'next steps the soles are not where they should be, and it falls.',
        why='The same happens, two steps earlier: how wide the steps and how large the feet are, '
        'and so how soon the robot stands on an edge, the paper does not state.',
    )


def _picture(method: str, name: str, walk: Tracks, *, paper: str, ours: str, why: str) -> Picture:
    count = len(walk.times)

    def draw(width: float) -> Any:
        zmp = {'color': LIGHT['other'], 'linewidth': 0.9}
        legend = [
            WANTED_ZMP.entry(), Entry('ZMP', line('other', linewidth=1.1)),
            WANTED_COG.entry(),
            Entry('CoG', line('mr-ad' if method == 'converging' else 'ir-md',
                              linewidth=1.4)),
            Entry('soles that are to carry', patch('sole', alpha=0.25)),
        ]  # fmt: skip
        canvas, axes = panels(width, 2, legend, height=2.7)
        for axis, ax in enumerate(axes):
            t, (low, high) = walk.wanted_times, walk.support[:, 2 * axis : 2 * axis + 2].T
            ax.fill_between(t, low, high, color=LIGHT['sole'], alpha=0.18, linewidth=0)
            ax.plot(t, walk.wanted_zmp[:, axis], **WANTED_ZMP.style())
            ax.plot(walk.times, walk.cop[:, axis], **zmp)
            ax.plot(walk.times, walk.com[:, axis], **CURVES[method].style(linestyle='-'))
            ax.plot(t, walk.wanted_com[:, axis], **WANTED_COG.style())
            ax.set(xlabel='time [s]', ylabel=f'{"xy"[axis]} [m]', xlim=(0, t[-1]))
            ax.set_ylim(np.nanmin(low) - 0.05, np.nanmax(high) + 0.05)
        return canvas

    return Picture(
        name=name,
        title=f'ZMP and CoG with {"the " if method == "constant" else ""}{CURVES[method].label}',
        source=f'Fig. {name[3:]}',
        draw=draw,
        facts=_facts(walk, count),
        seen=f'x and y of ZMP and CoG over time: {setting_text(SHOWN)}. The band is the box '
        'around the soles that are meant to carry; what is far beyond it is out of view.',
        paper=paper,
        ours=ours,
        why=why,
        data=Table(
            ('time [s]', 'ZMP x [m]', 'ZMP y [m]', 'CoG x [m]', 'CoG y [m]', 'wanted ZMP x [m]',
             'wanted ZMP y [m]', 'wanted CoG x [m]', 'wanted CoG y [m]'),
            np.column_stack(
                [walk.times, *(column[:count, :2] for column in (
                    walk.cop, walk.com, walk.wanted_zmp, walk.wanted_com))]
            ).tolist(),
        ),
    )  # fmt: skip


def _facts(walk: Tracks, count: int) -> tuple[Fact, ...]:
    margin = _margin(walk, count)
    known = np.isfinite(margin)
    away = np.linalg.norm((walk.cop - walk.wanted_zmp[:count])[known, :2], axis=1)
    at_edge = np.flatnonzero(known & (margin < _EDGE))
    time = float(walk.times[at_edge[0]]) if len(at_edge) else np.nan
    step = np.searchsorted(walk.step_begins, time, side='right') if len(at_edge) else np.nan
    begin, end = walk.step_begins[:2]
    reach, wanted_reach = (
        1e3 * float(com[(times >= begin) & (times < end), 1].max())
        for times, com in (
            (walk.times, walk.com),
            (walk.wanted_times, walk.wanted_com),
        )
    )
    inner_edge = 1e3 * float(walk.soles[0, :, 1].min())
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


def _margin(walk: Tracks, count: int) -> Array:
    """(K,) distance of the ZMP from the edge of the box, negative outside; NaN without a ZMP."""
    low, high = walk.support[:count, 0::2], walk.support[:count, 1::2]
    point = walk.cop[:, :2]
    margin: Array = np.minimum(point - low, high - point).min(axis=1)
    return margin


MEAN, LARGEST, RATIO = 2.0, 5.0, 7.0
"""With large feet: mean and largest error with CCG at most [mm], constant vector's over CCG's."""

STEP_TIMES = (1.0, 1.4)
"""At which this is to hold [s]."""

_SETTINGS = (SHOWN, WITH_LARGE_FEET)


def _fig11_runs(study: ItuStudy) -> dict[Any, Run]:
    walks, scored = _SETTINGS, (SHOWN, *_large(study))
    return {
        **{('tracks', m, each): study.tracks(m, each) for each in walks for m in ALL_METHODS},
        **{('score', m, each): study.score(m, each) for each in scored for m in ALL_METHODS},
    }


@figure(_fig11_runs)
def fig11(study: ItuStudy, found: Any) -> Picture:
    walks = {
        (setting, method): found['tracks', method, setting]
        for setting in _SETTINGS
        for method in ALL_METHODS
    }

    def draw(width: float) -> Any:
        paper = {'color': LIGHT['ink'], 'linewidth': 0.9, 'linestyle': (0, (1, 1.5))}
        legend = [
            *(CURVES[method].entry() for method in ALL_METHODS),
            Entry('paper with CCG: mean and largest', line('ink', linewidth=0.9,
                                                           linestyle=(0, (1, 1.5)))),
        ]  # fmt: skip
        canvas, axes = panels(width, 2, legend, height=3.0, titles=True)
        for ax, setting in zip(axes, _SETTINGS, strict=True):
            for method in ALL_METHODS:
                walk = walks[setting, method]
                ax.plot(walk.times, 1e3 * walk.error, **CURVES[method].style())
            for value in (PAPER_MEAN, PAPER_LARGEST):
                ax.axhline(value, **paper)
            ax.set(yscale='log', ylim=(0.08, 600), xlim=(0, walk.wanted_times[-1]))
            ax.set_yticks([0.1, 1, 10, 100], ['0.1', '1', '10', '100'])
            ax.set(xlabel='time [s]', ylabel='error of the CoG [mm]')
            title = f'feet of {foot_text(setting.foot)}, steps of {setting.step_time:.1f} s'
            heading(ax, title)
        return canvas

    return Picture(
        name='fig11',
        title='Error of the CoG over time',
        source='Fig. 11',
        draw=draw,
        facts=_fig11_facts(study, found, 1e3 * float(walks[SHOWN, 'converging'].error[-1])),
        seen='Distance of the simulated CoG from the wanted one, on a logarithmic axis: left '
        'where the constant vector falls, right where every method finishes; friction 1.0. The '
        'paper shows the curve with CCG only.',
        paper=f'With CCG the mean is {PAPER_MEAN} mm, the largest {PAPER_LARGEST} mm, the '
        f'smallest {PAPER_SMALLEST} mm.',
        ours='Left, with CCG: mean {shown_mean}, largest {shown_largest}, smallest '
        '{shown_smallest}. With feet of '
        + foot_text(LARGE)
        + ', over all frictions: mean at most {mean_10} and {mean_14}, largest {largest_10} and '
        '{largest_14} at steps of 1.0 and 1.4 s; the constant vector has at least {ratio_10} and '
        '{ratio_14} times the mean error. With the dynamics filter, left: mean {filtered_mean}.',
        why='The paper moves its joints exactly, against contacts of 6·10⁴ N/m and 6·10³ N·s/m, '
        'and sees the feet slide. Here the error grows from step to step, and {left_over} of it '
        'are left (left, with CCG) when the robot stands again: the feet creep a little in '
        'MuJoCo’s soft contacts, less in harder ones. Our constant vector has about the mean '
        'error, {constant_10} and {constant_14}, that the paper reports with CCG; why, the paper '
        'does not say.',
        data=Table(
            ('foot [m]', 'step time [s]', 'method', 'time [s]', 'error [mm]'),
            [
                [foot_text(setting.foot), setting.step_time, CURVES[method].label, float(t),
                 1e3 * float(error)]
                for (setting, method), walk in walks.items()
                for t, error in zip(walk.times, walk.error, strict=True)
            ],
        ),
    )  # fmt: skip


def _large(study: ItuStudy) -> list[Setting]:
    return [
        Setting(step_time, LARGE, friction)
        for step_time in STEP_TIMES
        for friction in study.grid.frictions
    ]


def _fig11_facts(study: ItuStudy, found: Any, left_over: float) -> tuple[Fact, ...]:
    shown = found['score', 'converging', SHOWN]
    facts = [
        Fact('shown_mean', 'mean error with CCG, small feet', 1e3 * shown.mean, 'mm', 2,
             paper=f'{PAPER_MEAN} mm'),
        Fact('shown_largest', 'largest error with CCG, small feet', 1e3 * shown.largest, 'mm', 2,
             paper=f'{PAPER_LARGEST} mm'),
        Fact('shown_smallest', 'smallest error with CCG, small feet', 1e3 * shown.smallest, 'mm',
             2, paper=f'{PAPER_SMALLEST} mm'),
        Fact('left_over', 'error with CCG at the end, small feet', left_over, 'mm', 1),
        Fact('filtered_mean', 'mean error with the dynamics filter, small feet',
             1e3 * found['score', 'filtered', SHOWN].mean, 'mm', 2),
    ]  # fmt: skip
    for step_time in STEP_TIMES:
        settings = [each for each in _large(study) if each.step_time == step_time]
        ccg, constant = (
            [found['score', method, each] for each in settings] for method in PAPER_METHODS
        )
        facts += _bounds(step_time, ccg, constant)
    return tuple(facts)


def _bounds(step_time: float, ccg: list[CogScore], constant: list[CogScore]) -> tuple[Fact, ...]:
    """What must hold with large feet, over all frictions."""
    mean = 1e3 * max(score.mean for score in ccg)
    largest = 1e3 * max(score.largest for score in ccg)
    ratio = min(other.mean / score.mean for score, other in zip(ccg, constant, strict=True))
    key, where = f'{round(10 * step_time)}', f'large feet, steps of {step_time:.1f} s'
    stands = all(score.finishes for score in ccg)
    return (
        at_most(f'mean_{key}', f'largest mean error with CCG, {where}', mean, MEAN, 'mm',
                sound=stands),
        at_most(f'largest_{key}', f'largest error with CCG, {where}', largest, LARGEST, 'mm',
                sound=stands),
        at_least(f'ratio_{key}', f'mean error, constant vector over CCG, {where}', ratio, RATIO,
                 '', 1),
        Fact(f'constant_{key}', f'mean error with the constant vector, {where}',
             1e3 * float(np.mean([score.mean for score in constant])), 'mm', 1),
    )  # fmt: skip


FIGURES: dict[str, tuple[Figure, str]] = {
    'exact': (falls.exact, 'on the exact motion the IZMP is the CoP, in every walk'),
    'fig7': (postures.fig7, 'poses with and without CCG'),
    'fig8': (postures.fig8, 'wanted and simulated tracks of the CoG'),
    'fig9': (fig9, 'ZMP and CoG over time with CCG'),
    'fig10': (fig10, 'ZMP and CoG over time with the constant vector'),
    'fig11': (fig11, 'error of the CoG over time'),
    'literal': (postures.literal, 'Algorithm 1 as it is printed, on position servos'),
    'falls': (falls.falls, 'who falls over step time, foot size and friction'),
    'zmp_gap': (falls.zmp_gap, 'why fast steps are not for CCG'),
    'open': (open_parameters.left_open, 'what the paper leaves open, and what depends on it'),
    'iterations': (open_parameters.iterations, 'what Algorithm 1 costs'),
}
"""Name → figure, and what it shows."""

_LEAD = (
    'Şanlıtürk and Kocabaş (2024) let the ITU Biped walk with the converging centre of gravity '
    '(CCG): the pelvis is moved until the CoG of all parts is where the point-mass model wants '
    'it. They compare it with a constant vector from pelvis to CoG. Here the same robot, from '
    'their tables, walks in MuJoCo by both, open loop as there, and by a third method: CCG behind '
    'this package’s dynamics filter, which corrects the wanted CoG until the ZMP of all bodies is '
    'the wanted one.'
)

_METHOD = (
    'Every walk is six steps of 0.3 m with the CoG at 0.45 m, planned with a row every 2 ms and '
    'executed by stiff servos with the torques of the plan. The error is the distance of the '
    'simulated CoG from the wanted one over the whole run, standing included; of a robot that '
    'falls, up to the fall. Nothing is random: the same setting gives the same walk.'
)


MISSING = (
    Missing(
        'Figs. 9 and 11: the error of the CoG with CCG, 23.8 mm in the mean and 55.9 mm at most',
        'Not reproduced by the walks of figs. 7 to 11 here, which stay much closer to the wanted '
        'CoG: dense points, the exact form, and servos that know the torques of the motion. '
        'Algorithm 1 as it is printed, on position servos, has errors of the paper’s size, on '
        'some feet and steps (see that figure).',
        'The paper’s size of the feet, duration of a step, friction and joints.',
    ),
    Missing(
        'Figs. 7, 8 and 10: without CCG the robot falls in the fourth step',
        'It falls, but in another step, and only on small feet; step time, size of the feet and '
        'friction are not stated (see “What the paper leaves open”).',
        'These three numbers.',
    ),
    Missing(
        'The contacts of table 4 (6·10⁴ N/m and 6·10³ N·s/m per sphere)',
        'MuJoCo has no such contacts: its stiffness and damping are those of a constraint that is '
        'solved implicitly, scaled by the inertia that the contact sees.',
        'A simulator with penalty contacts, and its friction law.',
    ),
    Missing(
        'Calculation time: 414 µs per point, 1.66 ms for the first',
        'Measured in MATLAB on another computer; the figure on Algorithm 1 gives the times here.',
        'That computer and MATLAB.',
    ),
)
"""What is not reproduced."""


def page(study: ItuStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='The ITU Biped, measured',
        lead=_LEAD,
        method=_METHOD,
        settings=settings(study),
        missing=MISSING,
    )


def settings(study: ItuStudy) -> dict[str, str]:
    """List what is tried, for the page."""
    grid = study.grid
    listed = {
        'step times': ', '.join(f'{time:.1f}' for time in grid.step_times) + ' s',
        'feet': ', '.join(map(foot_text, grid.feet)),
        'frictions': ', '.join(f'{friction:.1f}' for friction in grid.frictions),
    }
    varied: dict[str, list[str]] = {}
    for each in open_parameters.variations(study):
        if not each.usual:
            varied.setdefault(each.label, []).append(each.number)
    return listed | {f'{name}, varied': ', '.join(values) for name, values in varied.items()}
