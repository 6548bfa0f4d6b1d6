"""The walk onto a slope (fig. 11)."""

from typing import Any

import numpy as np
import shapely.geometry

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.robust import mean
from izmp_dynamics.pages.look import Entry, Look, is_wide, line, panels, patch
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.paper.setups import SETUP_D
from izmp_lab.studies.paper.study import PaperStudy
from izmp_lab.studies.paper.tasks import LEVEL, SLOPE
from izmp_lab.studies.publish import at_least, at_most, figure
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

    def draw(look: Look, width: float) -> Any:
        legend = [
            Entry('level ground', line(look, 'mr-ad', linewidth=1.4)),
            Entry(f'slope {study.experiment.slope_deg:g}°',
                  line(look, 'ir-md', linewidth=1.6, dashes=(1, 1.5))),
            Entry('soles while they carry alone, level', patch(look, 'mr-ad', alpha=0.15)),
            Entry('the same, slope',
                  line(look, 'ir-md', linewidth=1.0, dashes=(4, 2))),
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
                    ax.fill(x, y, color=look[colour], alpha=0.12, linewidth=0)
                    ax.plot(x, y, color=look[colour], linewidth=0.8, alpha=0.6)
                else:
                    ax.plot(x, y, color=look[colour], linewidth=1.0, dashes=(4, 2))
            points = walk['feet_imus_izmp'][cycles[place]]
            ax.plot(points[:, 0], points[:, 1], color=look[colour], **style)
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
