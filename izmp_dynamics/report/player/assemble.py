"""The player as HTML: numbers, texts and code in one piece that needs nothing else."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages import styles
from izmp_dynamics.pages.templates import template, text_file, unbroken
from izmp_dynamics.report.player.packing import THREE, UPLOT, UPLOT_STYLE, Block, json_for_script
from izmp_dynamics.report.player.playback import Playback, play_back
from izmp_dynamics.report.player.shapes import Shape, robot_shapes
from izmp_dynamics.report.plots import Plot
from izmp_dynamics.verdict.events.event import STEPS, Event
from izmp_dynamics.verdict.scene import Scene, label_of
from izmp_dynamics.verdict.summary import Summary

FORMAT = 'izmp_dynamics player 1'

TEMPLATE, STYLE = 'player.html.j2', 'player.css'

SCRIPTS = ('load.js', 'clock.js', 'sketch.js', 'stage.js', 'series.js', 'player.js')
"""The page's own code, in this order."""

_VIEWS = {
    'world': '',
    'feet': 'The pose in the world is not known: the feet that carry show where the robot is.',
    'root': 'Neither pose nor feet show where the robot is: its root stays in place.',
}
_RANGE = 32767  # of the integers that poses are stored as
_UNKNOWN = -32768


def player_html(scene: Scene, summary: Summary, plots: Iterable[Plot]) -> str:
    """Build the interactive part of the page.

    Args:
        scene: what is shown.
        summary: its numbers.
        plots: its series.

    Returns:
        HTML; '' for an evaluation of fewer than two instants, in which nothing moves.

    Raises:
        MissingDependencyError: a library is not installed that draws in the page.
    """
    three, uplot, styles_of_uplot = THREE.packed(), UPLOT.packed(), UPLOT_STYLE.read()
    if len(scene.timeline.time) < 2:
        return ''
    block = Block()
    document = player_document(scene, summary, plots, block)
    alarm = summary.fall_alarm
    alarms = [] if alarm is None else [alarm.sentence]
    return template(__package__, TEMPLATE).render(
        document=json_for_script(document),
        block=block.text,
        three=three,
        uplot=uplot,
        styles=styles_of_uplot + text_file(__package__, STYLE),
        scripts='\n'.join(text_file(__package__, name) for name in SCRIPTS),
        remark=document['remark'],
        findings=[*alarms, *summary.remarks],
    )


def player_document(
    scene: Scene, summary: Summary, plots: Iterable[Plot], block: Block
) -> dict[str, Any]:
    """Describe the recording for the page; the numbers go into `block`."""
    playback, worst = play_back(scene, summary.events), summary.verdict.margin_time
    shapes: list[Shape] = []
    remark = 'The joints are not known, so the robot itself is not shown.'
    if scene.evaluation.motion is not None and playback.bodies.shape[1]:
        shapes, remark = robot_shapes(scene.evaluation.motion)
    remark = ' '.join(filter(None, (remark, _VIEWS[playback.view])))
    return {
        'format': FORMAT,
        'robot': summary.robot,
        'duration': scene.timeline.duration,
        'start': str(summary.start_stamp),  # more digits than a number has there
        'worst': float(np.nan_to_num(worst)),
        'weight': scene.weight,
        'judged': summary.verdict.judged_by,
        'remark': remark,
        'events': [_listed(event) for event in summary.events],
        'panels': [_series(plot, block) for plot in plots],
        'scene': _scene(scene, playback, shapes, block),
    }


def _listed(event: Event) -> dict[str, Any]:
    return {
        'begin': event.begin,
        'end': event.end,
        'kind': event.kind,
        'sentence': unbroken(event.sentence),
        'step': event.kind in STEPS,
    }


def _series(plot: Plot, block: Block) -> dict[str, Any]:
    return {
        'name': plot.name,
        'title': plot.title,
        'unit': plot.label.rpartition('[')[2].rstrip(']'),
        'limits': plot.limits,
        'lines': plot.lines,
        'hidden': plot.hidden and f'outside the view: {plot.hidden}',
        'time': block.add(np.fmax.accumulate(plot.time)),  # NaN where a line is broken
        'traces': [
            {
                'label': trace.label,
                'colour': trace.style.colour,
                'width': trace.style.width,
                'dashes': trace.style.dashes,
                'opacity': trace.style.opacity,
                'values': block.add(_shortened(trace.values)),
            }
            for trace in plot.traces
        ],
    }


def _scene(scene: Scene, playback: Playback, shapes: list[Shape], block: Block) -> dict[str, Any]:
    drawn = sorted({shape.body for shape in shapes})
    reach = float(np.nanmax(np.abs(playback.bodies[..., :3]), initial=1e-3, where=np.isfinite(
        playback.bodies[..., :3])))  # fmt: skip
    return {
        'view': playback.view,
        'time': block.add(playback.time),
        'root': block.add(playback.root),
        'reach': reach,
        'bodies': block.add(_integers(playback.bodies[:, drawn], reach), 'i2'),
        'shapes': [
            {
                'body': drawn.index(shape.body),
                'vertices': block.add(shape.vertices),
                'faces': block.add(shape.faces, 'u4'),
                'colour': shape.colour,
                'smooth': shape.smooth,
            }
            for shape in shapes
        ],
        'feet': [
            {'name': foot.name, 'sole': block.add(_micrometres(sole))}
            for foot, sole in zip(scene.evaluation.feet, playback.soles, strict=True)
        ],
        'loaded': block.add(playback.loaded, 'i2'),
        'polygon': block.add(_micrometres(playback.polygon)),
        'tracks': [
            {
                'name': name,
                'label': label_of(name),
                'colour': styles.style_of(name).colour,
                'points': block.add(_micrometres(points)),
                'forces': block.add(playback.forces[name]),
            }
            for name, points in playback.points.items()
        ],
        'com': block.add(_micrometres(playback.com)),
        'push': block.add(playback.push),
    }


def _micrometres(points: Array) -> Array:
    """Points [m] without the digits below, which would make the page larger."""
    return np.round(points, 6) + 0.0


def _shortened(values: Array) -> Array:
    """Values to a part in 2¹⁸: the rest of the mantissa, mostly noise, would be half the page."""
    bits = values.astype('<f4').view('<u4')
    shortened: Array = np.where(np.isfinite(values), (bits + 0x20) & ~np.uint32(0x3F), bits)
    return shortened.astype('<u4').view('<f4')


def _integers(poses: Array, reach: float) -> Array:
    """Poses (F, B, 7) as integers: positions in units of reach/32767, quaternions of 1/32767."""
    scale = np.array([_RANGE / reach] * 3 + [float(_RANGE)] * 4)
    scaled = np.clip(np.round(poses * scale), -_RANGE, _RANGE)
    return np.where(np.isfinite(scaled), scaled, _UNKNOWN)
