"""A planned walk as one figure: footsteps, ZMP and centre of mass, joints against their limits."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.pages.look import Canvas, save
from izmp_lab.walking.biped import SIDES, Biped
from izmp_lab.walking.footsteps import Foothold
from izmp_lab.walking.walk import PlannedWalk

_SIDE_COLOURS = ('#2f6fb3', '#c76b1f')
_REFERENCE = {'color': '#8a8f98', 'linewidth': 2.6, 'label': 'desired ZMP'}
_ZMP = {'color': '#b3202c', 'linewidth': 1.0, 'label': 'ZMP of all bodies'}
_COM = {'color': '#1d8348', 'linewidth': 1.4, 'label': 'centre of mass'}
_MOVING = 1e-6
_POSITION, _VELOCITY, _TORQUE = '#2f6fb3', '#7d5ba6', '#c76b1f'


def save_walk_figure(walk: PlannedWalk, biped: Biped, path: Path) -> None:
    """Draw a plan to a file.

    Args:
        walk: the plan.
        biped: the robot that it is for.
        path: of the picture; its ending chooses the format, e.g. .png, .svg or .pdf.
    """
    if not path.suffix:
        raise MotionError(
            f"The plot '{path}' has no ending: .png, .svg or .pdf sets its format.",
            kind='no_file_ending', path=path,
        )  # fmt: skip
    save(walk_figure(walk, biped), path, 110)


def walk_figure(walk: PlannedWalk, biped: Biped) -> Any:
    """Return the matplotlib figure."""
    figure = Canvas(figsize=(12.0, 10.5), layout='constrained')
    rows = figure.add_gridspec(3, 2, height_ratios=(1.0, 1.0, 2.0))
    _draw_ground(figure.add_subplot(rows[0, :]), walk, biped)
    for axis, name in enumerate('xy'):
        _draw_course(figure.add_subplot(rows[1, axis]), walk, axis, name)
    _draw_joints(rows[2, :], walk, biped)
    figure.suptitle(_title(walk), fontsize=11)
    return figure


def _title(walk: PlannedWalk) -> str:
    parameters = walk.parameters
    parts = [f'{parameters.steps} steps at {parameters.speed:g} m/s']
    if parameters.turn_rate:
        parts.append(f'turning at {parameters.turn_rate:g} rad/s')
    if walk.ramp.slope:
        parts.append(f'up a slope of {np.degrees(walk.ramp.slope):g}°')
    before, after = (1e3 * np.array(walk.filter_errors[index]) for index in (0, -1))
    if parameters.generator == 'cart_table':
        parts.append(
            f'mean ZMP error {before[0]:.1f} / {before[1]:.1f} mm for a point mass, '
            f'{after[0]:.1f} / {after[1]:.1f} mm for all bodies'
        )
    else:
        parts.append(f'mean ZMP error {after[0]:.1f} / {after[1]:.1f} mm')
    return ', '.join(parts)


def _draw_ground(axes: Any, walk: PlannedWalk, biped: Biped) -> None:
    """Soles, ZMP and centre of mass from above."""
    for hold in (*walk.footsteps.start, *walk.footsteps.steps):
        outline = _sole_outline(hold, biped.polygons[hold.foot])
        colour = _SIDE_COLOURS[hold.foot]
        axes.fill(*outline.T, facecolor=colour, alpha=0.18, edgecolor='none')
        axes.plot(*outline.T, color=colour, linewidth=0.8)
    for points, style in _points(walk):
        axes.plot(points[:, 0], points[:, 1], **style)
    if walk.ramp.slope:
        axes.axvline(walk.ramp.start, color='black', linestyle=':', linewidth=1.0)
        axes.annotate(
            'slope', (walk.ramp.start, 1.0), xycoords=('data', 'axes fraction'),
            xytext=(4, -4), textcoords='offset points', va='top', fontsize=8,
        )  # fmt: skip
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_xlabel('x [m]')
    axes.set_ylabel('y [m]')
    axes.legend(fontsize=8, ncols=3, loc='upper left', bbox_to_anchor=(0.0, 1.2), frameon=False)
    for foot, (side, colour) in enumerate(zip(SIDES, _SIDE_COLOURS, strict=True)):
        place = (1.0 - 0.08 * (len(SIDES) - 1 - foot), 1.04)
        axes.text(*place, f'{side} sole', color=colour, ha='right', transform=axes.transAxes)


def _draw_course(axes: Any, walk: PlannedWalk, axis: int, name: str) -> None:
    times = walk.plan.times
    for points, style in _points(walk):
        axes.plot(times, points[:, axis], **style)
    axes.set_xlabel('time [s]')
    axes.set_ylabel(f'{name} [m]')
    axes.margins(x=0.0)
    axes.grid(linewidth=0.4)


def _points(walk: PlannedWalk) -> Iterable[tuple[Array, dict[str, Any]]]:
    drawn = (
        (walk.zmp_reference.point, _REFERENCE), (walk.plan.zmp, _ZMP), (walk.plan.com, _COM),
    )  # fmt: skip
    return [(points, style) for points, style in drawn if points is not None]


def _draw_joints(place: Any, walk: PlannedWalk, biped: Biped) -> None:
    """What the moving joints use of their limits: range, speed and torque."""
    plan, model = walk.plan, biped.model
    columns = np.flatnonzero(np.ptp(plan.q, axis=0) > _MOVING)
    names = [model.joint_names[column] for column in columns]
    torque = np.zeros_like(plan.q) if plan.feed_forward is None else plan.feed_forward
    three = place.subgridspec(1, 3, width_ratios=(2, 1, 1))
    ranges, speeds, torques = three.subplots(sharey=True)
    lower, upper = (
        np.degrees(limit[columns]) for limit in (model.position_lower, model.position_upper)
    )
    used = np.degrees(plan.q[:, columns])
    height = np.arange(len(columns))
    ranges.barh(height, upper - lower, left=lower, color='#e3e6ea', height=0.75)
    lowest = used.min(axis=0)
    ranges.barh(height, used.max(axis=0) - lowest, left=lowest, color=_POSITION, height=0.45)
    ranges.set_yticks(height, names, fontsize=8)
    ranges.invert_yaxis()
    ranges.set_xlabel('position within its limits [°]')
    for axes, values, limits, colour, label in (
        (speeds, plan.qd, model.velocity_limit, _VELOCITY, 'largest speed / limit [%]'),
        (torques, torque, model.effort_limit, _TORQUE, 'largest torque / limit [%]'),
    ):
        share = 100.0 * np.abs(values[:, columns]).max(axis=0) / limits[columns]
        axes.barh(height, share, color=colour, height=0.45)
        axes.set_xlim(0.0, 100.0)
        axes.set_xlabel(label)
    for axes in (ranges, speeds, torques):
        axes.grid(axis='x', linewidth=0.4)
        axes.set_axisbelow(True)


def _sole_outline(hold: Foothold, polygon: Array) -> Array:
    """Corners (V + 1, 2) of a sole from above, closed [m]."""
    closed = polygon[[*range(len(polygon)), 0]]
    outline: Array = hold.position[:2] + closed @ hold.rotation[:2, :2].T
    return outline
