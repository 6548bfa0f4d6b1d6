"""All pictures of `izmp experiments paper`, and the words of their page."""

import math
from typing import Any

import numpy as np
import shapely.geometry

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.robust import mean
from izmp_dynamics.compare.metrics import MEASURES
from izmp_dynamics.model.settings import flatten
from izmp_dynamics.pages.look import Entry, is_wide, line, log_ticks, panels, patch
from izmp_dynamics.pages.picture import Fact, Missing, Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_dynamics.sensing.noise import STANDARD_GRAVITY
from izmp_lab.studies.paper import ideal_sensors, noisy_sensors
from izmp_lab.studies.paper.study import PaperStudy
from izmp_lab.studies.paper.tasks import LEVEL, SLOPE
from izmp_lab.studies.paper.trial import (
    PAPER_SETUPS,
    SETUP_B,
    SETUP_D,
    Setup,
)
from izmp_lab.studies.publish import Figure, at_least, at_most, figure
from izmp_lab.studies.runs import Arrays

LEAST_INSIDE = 99.0
"""Part of the samples that must be inside the polygon [%]."""

LARGEST_GAP = {'level': 0.35, 'slope': 0.35, 'all': 0.45}
"""Mean distance from the true CoP [mm]: the soles sink 0.25 mm (see the first picture), quotients
at 500 Hz make 0.1 mm; the whole walk has the edge between two planes."""

LARGEST_AGAIN = 1e-6
"""Difference of the margin from that of another library: rounding [mm]."""

LARGEST_EDGE = 0.06
"""Mean difference of the margins of IZMP and CoP [mm]: sinking is along the normal, so what is
left are quotients at 500 Hz and the noise of the normal; 0.03 to 0.04 are measured."""

_PLACES = {'level': LEVEL, 'slope': SLOPE}
_SETUP = SETUP_D.aligned()


@figure(lambda study: {'walk': study.slope(_SETUP)})
def fig11(study: PaperStudy, found: dict[str, Arrays]) -> Picture:
    walk = found['walk']
    cycles = {place: _cycle(walk, code) for place, code in _PLACES.items()}

    def draw(width: float) -> Any:
        legend = [
            Entry('level ground', line('mr-ad', linewidth=1.4)),
            Entry(f'slope {study.experiment.slope_deg:g}°',
                  line('ir-md', linewidth=1.6, dashes=(1, 1.5))),
            Entry('soles while they carry alone, level', patch('mr-ad', alpha=0.15)),
            Entry('the same, slope',
                  line('ir-md', linewidth=1.0, dashes=(4, 2))),
        ]  # fmt: skip
        canvas, (ax,) = panels(width, 1, legend, height=4.4 if is_wide(width) else 2.5)
        styles: dict[str, tuple[str, dict[str, Any]]] = {
            'level': ('mr-ad', {'linewidth': 1.4}),
            'slope': ('ir-md', {'linewidth': 1.6, 'dashes': (1, 1.5)}),
        }
        for place, (colour, style) in styles.items():
            for polygon in _swept(walk, cycles[place]):
                x, y = np.array(polygon.exterior.coords).T
                if place == 'level':
                    ax.fill(x, y, color=LIGHT[colour], alpha=0.12, linewidth=0)
                    ax.plot(x, y, color=LIGHT[colour], linewidth=0.8, alpha=0.6)
                else:
                    ax.plot(x, y, color=LIGHT[colour], linewidth=1.0, dashes=(4, 2))
            points = walk['feet_imus_izmp'][cycles[place]]
            ax.plot(points[:, 0], points[:, 1], color=LIGHT[colour], **style)
        ax.set(xlabel='x in nif [m]', ylabel='y in nif [m]', aspect='equal')
        ax.set_adjustable('datalim')
        return canvas

    return Picture(
        name='fig11',
        title='From level ground onto a slope',
        source='Fig. 11',
        draw=draw,
        facts=_facts(walk),
        seen='The IZMP of MR-AD in the plane of the ground over one gait cycle on level ground '
        'and one on the slope, in the evaluation frame nif, whose z axis is the normal of the '
        'ground as the IMUs in the feet measure it; the soles as kinematics place them while they '
        'carry alone (they pass below the moving root, so their outlines are what they sweep).',
        paper='Both curves lie inside the support polygons; 0.15 m/s, 10°; the polygons of slope '
        'and level ground have the same x.',
        ours='Inside the support polygon: {level_inside} of the samples on level ground, '
        '{slope_inside} on the slope, {all_inside} of the whole walk. MR-AD is {slope_gap} from '
        'the true CoP on the slope in the mean and {level_gap} on level ground, and its margin '
        '{slope_edge} and {level_edge} from that of the CoP. With the slope ignored the distance '
        'would be {slope_ignored}, and {ignored_inside} of the samples still inside: to be inside '
        'says little. The normal by the '
        'feet’s IMUs is {imu_tilt} off, that of the sole by kinematics {sole_tilt}; with an error '
        'of 0.5° in the ankles’ encoders {imu_tilt_wrong} and {sole_tilt_wrong}.',
        why='On the slope the robot keeps its trunk upright and so its root ahead of the feet, as '
        'nif tilts with the ground; the polygons therefore move in x here.',
        data=_data(walk, cycles),
    )


def _cycle(walk: Arrays, code: int) -> Indices:
    begins, times = walk['step_begins'], walk['times']
    found = []
    for first in range(2, len(begins) - 4):
        rows = np.flatnonzero((times >= begins[first]) & (times < begins[first + 2]))
        if len(rows) and (walk['where'][rows] == code).all():
            found.append(rows)
    return found[len(found) // 2] if found else np.empty(0, dtype=np.int64)


def _swept(walk: Arrays, rows: Indices) -> list[Any]:
    areas = []
    for foot in range(walk['loaded'].shape[1]):
        alone = walk['loaded'][rows, foot] & (walk['loaded'][rows].sum(axis=1) == 1)
        corners = walk['corners'][rows[alone], foot, :, :2].reshape(-1, 2)
        if len(corners):
            areas.append(shapely.geometry.MultiPoint(corners).convex_hull)
    return areas


def _facts(walk: Arrays) -> tuple[Fact, ...]:
    facts = []
    masks = {place: walk['steady'] & (walk['where'] == code) for place, code in _PLACES.items()}
    for place, mask in {**masks, 'all': walk['steady']}.items():
        name = {'level': 'level ground', 'slope': 'the slope', 'all': 'the whole walk'}[place]
        inside = _percent(walk['feet_imus_margin'][mask] >= 0.0)
        gap = mean(1e3 * walk['feet_imus_gap'][mask])
        edge = mean(1e3 * np.abs(walk['feet_imus_margin'] - walk['feet_imus_cop_margin'])[mask])
        facts += [
            at_least(f'{place}_inside', f'samples inside the support polygon, {name}', inside,
                     LEAST_INSIDE, '%', paper='inside'),
            at_most(f'{place}_gap', f'mean distance MR-AD to the true CoP, {name}', gap,
                    LARGEST_GAP[place], 'mm', 3),
            at_most(f'{place}_edge', f'mean difference of the margins of IZMP and CoP, {name}',
                    edge, LARGEST_EDGE, 'mm', 3),
            Fact(f'{place}_margin', f'least margin, {name}',
                 1e3 * float(np.nanmin(walk['feet_imus_margin'][mask])), 'mm', 1),
            Fact(f'{place}_ignored', f'mean distance to the true CoP without the slope, {name}',
                 mean(1e3 * walk['level_gap'][mask]), 'mm', 2),
        ]  # fmt: skip
    on_slope = masks['slope']
    again = np.abs(walk['feet_imus_margin'] - _margins_again(walk))[walk['steady']]
    edge = 1e3 * float(again.max())
    label = 'largest difference of the margin from Shapely’s'
    facts.append(at_most('again', label, edge, LARGEST_AGAIN, 'mm', 6))
    share = _percent(walk['level_margin'][on_slope] >= 0.0)
    facts.append(
        Fact('ignored_inside', 'samples inside, the slope, when it is ignored', share, '%')
    )
    for key, source, name in (
        ('imu', 'feet_imus', 'the feet’s IMUs'),
        ('sole', 'sole', 'the sole by kinematics'),
    ):
        exact, wrong = walk[f'{source}_tilt'], walk[f'{source}_tilt_with_joint_error']
        facts += [
            Fact(f'{key}_tilt', f'mean error of the normal by {name}',
                 mean(np.degrees(exact[on_slope])), '°', 3),
            Fact(f'{key}_tilt_wrong', f'the same with 0.5° of error in the ankles, by {name}',
                 mean(np.degrees(wrong[on_slope])), '°', 3),
        ]  # fmt: skip
    return tuple(facts)


def _margins_again(walk: Arrays) -> Array:
    """(K,) distance of the IZMP from the edge of the loaded soles' hull by Shapely [m]."""
    found = []
    for point, corners, loaded in zip(
        walk['feet_imus_izmp'], walk['corners'], walk['loaded'], strict=True
    ):
        hull = shapely.geometry.MultiPoint(corners[loaded][..., :2].reshape(-1, 2)).convex_hull
        place = shapely.geometry.Point(point[:2])
        distance = hull.exterior.distance(place)
        found.append(distance if hull.contains(place) else -distance)
    return np.array(found)


def _data(walk: Arrays, cycles: dict[str, Indices]) -> Table:
    rows: list[list[str | float]] = [
        [place, float(walk['times'][row]), *map(float, walk['feet_imus_izmp'][row, :2]),
         float(walk['feet_imus_margin'][row])]
        for place, chosen in cycles.items()
        for row in chosen
    ]  # fmt: skip
    return Table(('ground', 'time [s]', 'x [m]', 'y [m]', 'margin [m]'), rows)


def _percent(inside: Array) -> float:
    return 100.0 * float(np.mean(inside)) if len(inside) else float('nan')


@figure(
    lambda study: {
        'phases': study.phases(SETUP_B),
        'izmp': study.izmp(SETUP_B),
        'ideal': study.izmp(SETUP_B.reference()),
    }
)
def zero_crossing(study: PaperStudy, runs: dict[str, Arrays]) -> Picture:
    measures = runs['phases']['measures'][:, 1]
    delta, sums = (measures[:, MEASURES.index(name)] for name in ('paper', 'relative'))
    found, ideal = runs['izmp'], runs['ideal']
    used = found['steady']
    times, y = found['times'][used], found['points'][used, 1]
    reference = np.interp(times, ideal['times'], ideal['points'][:, 1])
    share = 100.0 * np.abs(y - reference) / np.abs(reference)
    heaviest = np.sort(share)[::-1]
    top = max(1, math.ceil(0.01 * len(share)))
    shift = 1e3 / study.experiment.walk.physics_rate * np.arange(len(delta))

    def draw(width: float) -> Any:
        legend = [
            Entry('one sample of setup B', line('mr-ad', marker='.', linestyle='none')),
            Entry('the paper’s Δ', line('ir-md', marker='s', dashes=(3.5, 1.6))),
            Entry('Σ|f − f_ref| / Σ|f_ref|', line('mr-ad', marker='o')),
        ]
        canvas, axes = panels(width, 2, legend)
        axes[0].plot(1e3 * np.abs(reference), share, '.', color=LIGHT['mr-ad'], markersize=4)
        axes[0].set(xscale='log', yscale='log', xlabel='|y_ref| of the sample [mm]',
                    ylabel='|y − y_ref| / |y_ref| [%]')  # fmt: skip
        log_ticks(axes[0].xaxis, (1, 2, 5, 10, 20, 50))
        log_ticks(axes[0].yaxis, (0.01, 0.1, 1, 10, 100, 1000))
        axes[1].plot(shift, delta, 's', color=LIGHT['ir-md'], linestyle='--', linewidth=1.2)
        axes[1].plot(shift, sums, 'o', color=LIGHT['mr-ad'], linestyle='-', linewidth=1.2)
        axes[1].set(xlabel='shift of the sampling [ms]', ylabel='relative error of y [%]')
        axes[1].set_xticks(shift)
        axes[1].set_ylim(bottom=0.0)
        return canvas

    return Picture(
        name='zero_crossing',
        title='The trap in the paper’s relative error',
        source='Sect. 4.6',
        draw=draw,
        facts=(
            Fact('least', 'smallest Δ over the phases', float(delta.min()), '%', 1),
            Fact('most', 'largest Δ over the phases', float(delta.max()), '%', 1),
            Fact('sum_least', 'smallest Σ metric over the phases', float(sums.min()), '%', 2),
            Fact('sum_most', 'largest Σ metric over the phases', float(sums.max()), '%', 2),
            Fact('share', 'part of Δ made by the worst 1 % of the samples',
                 100.0 * float(heaviest[:top].sum() / share.sum()), '%', 0),
        ),
        seen='Left, the relative error of each sample of setup B with ideal sensors over the '
        'size of the reference: the closer y is to zero, the larger. Right, both measures when '
        'the sampling is shifted by 2 ms at a time.',
        paper='Δ is the mean of the relative errors of the samples.',
        ours='Δ lies between {least} and {most} for the same walk and the same ideal sensors, '
        'only sampled at other instants; Σ|f − f_ref|/Σ|f_ref| between {sum_least} and '
        '{sum_most}. The worst 1 % of the samples make {share} of Δ.',
        data=Table(
            ('shift [ms]', 'the paper’s Δ [%]', 'Σ metric [%]'),
            np.column_stack([shift, delta, sums]).tolist(),
        ),
    )  # fmt: skip


LARGEST_DEVIATION = 10.0
"""Predicted and observed σ must agree so well [%]."""

LINEAR_NOISE = 0.15
"""First order holds while σ of the normal force is below this part of it."""

SETUPS = (*PAPER_SETUPS, *(setup.aligned() for setup in PAPER_SETUPS))
"""What is compared."""


@figure(lambda study: {setup.name: study.spread(setup) for setup in SETUPS})
def prediction(study: PaperStudy, spreads: dict[str, Arrays]) -> Picture:
    sizes = {
        name: {
            kind: 1e3 * np.sqrt(np.nanmean(run[kind] ** 2, axis=0))
            for kind in ('predicted', 'observed')
        }
        for name, run in spreads.items()
    }

    def draw(width: float) -> Any:
        legend = [
            Entry('x, MR-AD', line('mr-ad', marker='o', linestyle='none')),
            Entry('y, MR-AD', line('mr-ad', marker='s', linestyle='none',
                                   markerfacecolor='none')),
            Entry('x, IR-MD', line('ir-md', marker='^', linestyle='none')),
            Entry('y, IR-MD', line('ir-md', marker='v', linestyle='none',
                                   markerfacecolor='none')),
            Entry('equal; ± 10 %', line('muted', linewidth=1.0)),
        ]  # fmt: skip
        canvas, (ax,) = panels(width, 1, legend, height=3.4)
        ends = np.array([0.3, 400.0])
        ax.fill_between(ends, 0.9 * ends, 1.1 * ends, color=LIGHT['muted'], alpha=0.2, lw=0)
        ax.plot(ends, ends, color=LIGHT['muted'], linewidth=1.0)
        for setup in SETUPS:
            size, inertial = sizes[setup.name], setup.method == 'ir_md'
            for axis, marker in enumerate('^v' if inertial else 'os'):
                ax.plot(size['observed'][axis], size['predicted'][axis], marker=marker,
                        color=LIGHT['ir-md' if inertial else 'mr-ad'], linestyle='none',
                        markerfacecolor='none' if axis else None)  # fmt: skip
            corner = (-18, 7) if setup.convention == 'aligned' else (8, -10)
            ax.annotate(setup.name, (size['observed'][1], size['predicted'][1]), corner,
                        textcoords='offset points', fontsize=8.5)  # fmt: skip
        ax.set(xscale='log', yscale='log', xlim=ends, ylim=ends)
        ax.set(xlabel='observed σ of the IZMP [mm]', ylabel='predicted σ of the IZMP [mm]')
        log_ticks(ax.xaxis, (1, 10, 100))
        log_ticks(ax.yaxis, (1, 10, 100))
        return canvas

    return Picture(
        name='prediction',
        title='How uncertain the IZMP is, without repetitions',
        source='Beyond the paper',
        draw=draw,
        facts=_prediction_facts(study, sizes),
        seen='Standard deviation of the IZMP over repetitions with other noise, beside the one '
        'that follows from the noise densities by first-order propagation through array, '
        'kernel and ZMP (“izmp compare” prints it for one’s own recording); '
        'a star marks aligned quotients.',
        paper='Nothing.',
        ours='Where the noise of the normal force is below 15 % of it, all agree within '
        '{worst}; setup C (noise of the force {C_force}) is off by {C_deviation}.',
        why='The IZMP is a quotient: when the noise of the normal force is no longer small '
        'against the force, terms of second order widen its distribution (that of a quotient of '
        'two normal variables has no finite σ at all).',
        data=Table(
            ('setup', 'axis', 'predicted σ [mm]', 'observed σ [mm]'),
            [
                [name, 'xy'[axis], float(size['predicted'][axis]), float(size['observed'][axis])]
                for name, size in sizes.items()
                for axis in (0, 1)
            ],
        ),
    )  # fmt: skip


def _prediction_facts(study: PaperStudy, sizes: dict[str, Any]) -> tuple[Fact, ...]:
    facts, worst = [], 0.0
    for setup in SETUPS:
        size, force = sizes[setup.name], _force_noise(study, setup)
        off = 100.0 * float(np.abs(size['predicted'] / size['observed'] - 1.0).max())
        linear = force <= LINEAR_NOISE
        worst = max(worst, off) if linear else worst
        key = setup.name.replace('*', '_aligned')
        facts += [
            Fact(f'{key}_deviation', f'predicted against observed σ, setup {setup.name}', off,
                 '%', 1),
            Fact(f'{key}_force', f'σ of the normal force over the weight, setup {setup.name}',
                 100.0 * force, '%', 1),
        ]  # fmt: skip
    label = 'largest difference of predicted and observed σ'
    return (*facts, at_most('worst', label, worst, LARGEST_DEVIATION, '%', 1))


def _force_noise(study: PaperStudy, setup: Setup) -> float:
    sigma = study.experiment.densities.accelerometer_sigma(setup.actuator)
    if setup.method == 'mr_ad':
        return sigma / STANDARD_GRAVITY
    return math.sqrt(2.0) * sigma / setup.differenced_over / STANDARD_GRAVITY


ABBREVIATIONS = Table(
    ('abbreviation', 'meaning', 'here'),
    [
        ['IZMP', 'imaginary zero-moment point', 'stability/zmp.py'],
        ['EOM', 'equations of motion', 'eqs. 12 and 13, dynamics/mr_ad.py'],
        ['MR-AD', 'moving reference, analytic derivatives', 'dynamics/mr_ad.py'],
        ['IR-MD', 'inertial reference, momentum differenced', 'dynamics/ir_md.py'],
        ['ACD', 'actuator coordinate differentiation', 'sensing/acd.py'],
        ['WF', 'world frame', 'the topic of the pose; IR-MD alone needs it'],
        ['BFF', 'body-fixed frame', 'the frame of a link of the URDF'],
        ['NIF', 'non-inertial frame', 'nif: origin of the root, z along the normal of the ground'],
        ['COM', 'centre of mass', 'model/robot_model.py'],
    ],
)
"""Table 1: the abbreviations that its text uses; the table itself is not in the text at hand."""

_LEVEL, _SLOPE = 'level, 0.3 m/s', '0.15 m/s onto 10°'

LINE_DIAGRAMS = Table(
    ('figure', 'walk', 'ACD/bus [Hz]', 'noise', 'compared with', 'difference from the paper'),
    [
        ['Fig. 6', _LEVEL, '500/500', 'none', 'each other', 'a gait from heel to toe beside it'],
        ['Fig. 7', _LEVEL, '250, 200, 125, 62.5', 'none', 'the same at 500 Hz',
         'physics at 2 kHz, decimated; the exact value as a further reference'],
        ['Fig. 8', _LEVEL, '125/125', 'yes', 'ideal sensors', 'the predicted band beside it'],
        ['Fig. 11', _SLOPE, '500/125', 'of the feet’s IMUs', 'support polygon',
         'the true CoP as a further reference'],
        ['Fig. 12', 'the real robot', '125/125', 'real', 'none', 'izmp experiments real'],
    ],
)  # fmt: skip
"""Table 2: parameters of the line diagrams, from the text and the captions."""

BAR_DIAGRAMS = Table(
    ('setup', 'method', 'ACD/bus [Hz]', 'angular acceleration', 'Δ in the paper [%]'),
    [
        ['A', 'IR-MD', '125/125', '–', '65.22'],
        ['B', 'MR-AD', '125/125', 'accelerometers', '16.05'],
        ['C', 'IR-MD', '500/125', '–', '112.42'],
        ['D', 'MR-AD', '500/125', 'accelerometers', '4.44'],
        ['E', 'MR-AD', '500/125', 'difference of the gyroscope', '18.9'],
    ],
)
"""Table 3: setups of the bar diagrams; all with noise."""

TABLES = {
    'Table 1: abbreviations': ABBREVIATIONS,
    'Table 2: line diagrams': LINE_DIAGRAMS,
    'Table 3: bar diagrams': BAR_DIAGRAMS,
}

MISSING = (
    Missing(
        'Fig. 9, setups A and C: Δ of 65.22 % and 112.42 %',
        'Not reproduced: every repetition has a larger Δ; the medians are about four times the '
        'paper’s. B, D and E are reproduced, but Δ of single repetitions spans a factor of ten.',
        'A quarter of the noise density, or the paper’s code: '
        'over which time it differences the momentum, and which density it takes.',
    ),
    Missing(
        'The noise density ν',
        'Assumed: the paper refers to the data sheet of the MTi-20 and prints no number; the '
        'numbers here are those of the maker’s MTi 100-series.',
        'The table of the MTi 10-series, or the paper’s number.',
    ),
    Missing(
        'The robot Sweaty and its gait',
        'Not public. biped31 has its mass, height and number of joints; shape, masses of the '
        'links and gait are this package’s.',
        'Its model and its motion.',
    ),
    Missing(
        'The simulator Webots',
        'The walks of this page run in MuJoCo, whose contacts and noise-free sensors are known '
        'exactly; accelerometers are read as Webots computes them.',
        'Webots; docs/webots.md runs the node graph in it.',
    ),
    Missing(
        'Fig. 6: x in the frame of the root rises from −0.08 m to 0.1 m',
        'Reproduced in the frame of the sole only: in that of the root it would need 0.31 m of '
        'travel along a sole of 0.24 m.',
        'The frame of the paper’s figure.',
    ),
    Missing(
        'Fig. 7 with physics at 125 and 62.5 Hz',
        'With steps of 8 ms and more of the physics this robot falls, as its servos are stiff; '
        'the physics run at 2 kHz and are decimated, and at 250 and 200 Hz as well.',
        'A simulator that walks with such steps.',
    ),
    Missing(
        'Fig. 12: the real robot',
        'There is no public recording of Sweaty.',
        'Its recording. izmp experiments real evaluates the recordings that you have.',
    ),
)
"""What is not reproduced."""


FIGURES: dict[str, tuple[Figure, str]] = {
    'exact': (ideal_sensors.exact, 'on the exact motion the IZMP is the CoP, in every walk'),
    'fig6': (ideal_sensors.fig6, 'MR-AD and IR-MD with ideal sensors over one full step'),
    'fig7': (ideal_sensors.fig7, 'convergence of both methods with the time step'),
    'fig8': (noisy_sensors.fig8, 'noisy sensors at 125 Hz, with the predicted band'),
    'fig9': (
        noisy_sensors.fig9,
        'relative errors of the setups A to D, and the table of all setups',
    ),
    'fig10': (
        noisy_sensors.fig10,
        'angular acceleration from accelerometers or gyroscope (B, E, D)',
    ),
    'fig11': (fig11, 'walking onto a slope of 10°, with the IMUs in the feet'),
    'zero_crossing': (zero_crossing, 'the trap in the paper’s relative error'),
    'prediction': (
        prediction,
        'predicted and observed standard deviation of the IZMP',
    ),
}
"""Name → figure, and what it shows."""


_LEAD = (
    'Gießler and Waltersberger (2023) compare MR-AD, which evaluates the equations of motion in'
    ' the robot’s own frame, with IR-MD, which differentiates momentum in the world. Here both '
    'run on simulated walks of {robot}. The paper’s conventions are kept: backward quotients '
    'that bear the newest sample’s stamp, and accelerometers that report the mean over their '
    'sample interval, as those of its simulator do. “Aligned quotients” are this package’s '
    'default: every derivative at the instant that it belongs to.'
)
_METHOD = (
    'Every walk is planned with the defaults of the walking pattern generator and executed in '
    'MuJoCo; all steps but the first and last two are evaluated. A noise density ν gives '
    'σ = ν√f at the sample rate f; the noise of the linear velocity has the number of the '
    'accelerometer’s, as in the paper. Repetition i has the noise of seed i; the setups of '
    'figs. 9 and 10 have five times as many repetitions as the others. ± is the 95 % confidence '
    'interval of the mean. Limits of what must hold are given with their reasons in the modules '
    'of the figures; benchmarks/mutations.py plants errors and shows which claim notices each.'
)


def page(study: PaperStudy) -> Page:
    """Return what `study` shows and says."""
    robot = study.experiment.robot or 'biped31, a stand-in for their robot Sweaty'
    return Page(
        figures=FIGURES,
        title='The paper’s figures, measured',
        lead=_LEAD.format(robot=robot),
        method=_METHOD,
        settings=flatten(study.experiment),
        missing=MISSING,
        tables=TABLES,
    )
