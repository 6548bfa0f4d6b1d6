"""A picture of a robot at q = 0: its links, centre of mass, and the frames of its sensors."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.cli.model_frames import SensorFrame
from izmp_dynamics.model.robot_model import RobotModel

VIEWS = (('from the side', 0, 2), ('from the front', 1, 2), ('from above', 0, 1))
"""Title, and the axes of the root to the right and up."""

COLOURS = ('#c0392b', '#27803a', '#2d5fb4')
"""Of the axes x, y and z."""

AXIS_LENGTH = 0.08
"""Length of the drawn axes, as part of the robot's largest extent [-]."""


def write_picture(
    path: Path,
    model: RobotModel,
    frames: Sequence[SensorFrame],
    hidden: Collection[str] = (),
) -> None:
    """Draw a robot from three sides.

    Args:
        path: of the picture; its suffix says the format.
        model: of the robot.
        frames: that are drawn with their axes.
        hidden: links that are not drawn.

    Raises:
        OSError: if the file cannot be written.
        MissingDependencyError: if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            'matplotlib', 'Drawing a model', 'pip install matplotlib'
        ) from error

    q = np.zeros(model.dof)
    links = [link for link in model.frame_names if link not in hidden]
    places = {link: model.frame_pose(link, q)[1] for link in links}
    points = np.array([*places.values(), *(frame.p for frame in frames)])
    extent = float(np.ptp(points, axis=0).max()) or 1.0
    figure = Figure(figsize=(13.0, 7.0), layout='constrained')
    for axes, (title, right, up) in zip(np.ravel(figure.subplots(1, 3)), VIEWS, strict=True):
        axes.set(title=title, xlabel=f'{"xyz"[right]} [m]', ylabel=f'{"xyz"[up]} [m]')
        axes.set_aspect('equal')
        for segment in model.tree.segments:
            if segment.link in hidden:
                continue
            ends = np.array([places[segment.parent], places[segment.link]])
            axes.plot(ends[:, right], ends[:, up], color='#9a9a9a', linewidth=1.2)
        com = model.com(q)
        axes.plot(com[right], com[up], 'o', color='black', markersize=5)
        axes.annotate('COM', com[[right, up]], (4, 4), textcoords='offset points', fontsize=7)
        for frame in frames:
            _draw(axes, frame, right, up, AXIS_LENGTH * extent)
        _label(axes, frames, right, up, 0.02 * extent)
    colours = ', '.join(
        f'{axis} {name}' for axis, name in zip('xyz', ('red', 'green', 'blue'), strict=True)
    )
    figure.suptitle(
        f"{model.name} at q = 0, in the frame of '{model.root}'; axes: {colours}", fontsize=10
    )
    figure.savefig(path, dpi=130)


def _draw(axes: Any, frame: SensorFrame, right: int, up: int, length: float) -> None:
    """Draw the axes of a frame, and the outline of a sole."""
    if frame.polygon is not None:
        corners = np.column_stack([frame.polygon, np.zeros(len(frame.polygon))])
        outline = np.vstack([corners, corners[:1]]) @ frame.R.T + frame.p
        axes.plot(outline[:, right], outline[:, up], color='#b08a2e', linewidth=1.0)
    for k, colour in enumerate(COLOURS):
        tip = frame.p + length * frame.R[:, k]
        axes.plot(
            [frame.p[right], tip[right]], [frame.p[up], tip[up]], color=colour, linewidth=1.6
        )


def _label(axes: Any, frames: Sequence[SensorFrame], right: int, up: int, near: float) -> None:
    """Write the names of the frames, those of one place together."""
    places: dict[tuple[int, int], list[SensorFrame]] = {}
    for frame in frames:
        place = round(frame.p[right] / near), round(frame.p[up] / near)
        places.setdefault(place, []).append(frame)
    for found in places.values():
        axes.annotate(
            '\n'.join(frame.role or frame.link for frame in found),
            found[0].p[[right, up]],
            (3, -4),
            textcoords='offset points',
            fontsize=6.5,
            color='#444444',
            va='top',
        )
