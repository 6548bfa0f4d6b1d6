"""A strip of pictures and a clip of a simulated run."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, seconds
from izmp_dynamics.base.errors import MissingDependencyError, SimulationError
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.renderer import Image, open_renderer
from izmp_lab.simulation.simulated_run import SimulatedRun

FRAMES = 7
"""Instants on a strip."""

_FRAME_SIZE = (300, 440)
_CLIP_SIZE = (480, 400)
_CLIP_RATE = {'.gif': 12.5, '.mp4': 25.0}


def check_clip(path: Path, plant: MujocoRobot) -> None:
    """Check before a simulation that its clip can be made.

    Raises:
        SimulationError: if the ending is unknown, or there is no renderer or no encoder.
        MissingDependencyError: if Pillow is not installed.
    """
    if path.suffix not in _CLIP_RATE:
        raise SimulationError(
            f"A clip is written as .gif or .mp4; '{path.name}' has neither ending.",
            kind='clip_format',
            path=path,
        )
    if path.suffix == '.gif':
        _pillow()
    elif shutil.which('ffmpeg') is None:
        raise SimulationError(
            'Writing .mp4 needs the program ffmpeg; write a .gif instead.',
            kind='no_ffmpeg',
            path=path,
        )
    with open_renderer(plant, *_CLIP_SIZE):
        pass


def save_clip(
    run: SimulatedRun,
    plant: MujocoRobot,
    path: Path,
    progress: Callable[[float], None] = lambda fraction: None,
) -> None:
    """Draw a run in real time as a clip.

    Args:
        run: what the robot did.
        plant: the robot.
        path: of the clip, .gif or .mp4.
        progress: is called with the part that is drawn, 0 … 1.

    Raises:
        SimulationError: as `check_clip` does.
        MissingDependencyError: likewise.
    """
    check_clip(path, plant)
    rate = _CLIP_RATE[path.suffix]
    times = np.arange(0.0, seconds(run.stamps)[-1], 1.0 / rate)
    rows = np.searchsorted(seconds(run.stamps), times).tolist()
    images = []
    with open_renderer(plant, *_CLIP_SIZE) as renderer:
        for count, row in enumerate(rows):
            images.append(renderer.image(run, row))
            progress(count / len(rows))
    path.parent.mkdir(parents=True, exist_ok=True)
    (_write_gif if path.suffix == '.gif' else _write_mp4)(images, path, rate)


def save_strip(run: SimulatedRun, plant: MujocoRobot, path: Path) -> str:
    """Draw a run as a strip of pictures, or of stick figures where there is no renderer.

    Args:
        run: what the robot did.
        plant: the robot.
        path: of the picture, e.g. .png.

    Returns:
        Why there are stick figures; empty if there are pictures.

    Raises:
        SimulationError: if the picture cannot be written.
    """
    rows = np.linspace(0, len(run) - 1, FRAMES).round().astype(int).tolist()
    reason = ''
    try:
        with open_renderer(plant, *_FRAME_SIZE) as renderer:
            images = [renderer.image(run, row) for row in rows]
        figure = _strip_of_images(images, seconds(run.stamps)[rows])
    except SimulationError as error:
        reason = str(error)
        figure = stick_figures(run, plant.robot, rows)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=100)
    except (OSError, ValueError) as error:
        raise SimulationError(
            f"The picture '{path}' cannot be written: {error}.",
            kind='not_written',
            path=path,
        ) from error
    return reason


def stick_figures(run: SimulatedRun, robot: RobotModel, rows: Sequence[int]) -> Any:
    """Draw the robot from its right side at some instants, as lines between its links.

    Args:
        run: what the robot did.
        robot: its model.
        rows: indices of the instants.

    Returns:
        A matplotlib figure.
    """
    figure = _canvas(11.0, 3.6)
    axes = figure.add_subplot()
    points = body_origins(run, robot, list(rows))
    parents = robot.joints[:, PARENT]
    for row, places in zip(rows, points, strict=True):
        shade = 0.25 + 0.5 * list(rows).index(row) / max(len(rows), 1)
        for body in range(1, len(places)):
            ends = places[[int(parents[body]), body]]
            axes.plot(ends[:, 0], ends[:, 2], color=str(1.0 - shade), linewidth=1.6)
        for foot in run.truth.feet.values():
            sole = foot.corners[row][[*range(foot.corners.shape[1]), 0]]
            axes.plot(sole[:, 0], sole[:, 2], color='#1f5fa8', linewidth=2.0)
        axes.plot(*run.truth.cop[row, [0, 2]], 'o', color='#c81e1e', markersize=4)
    axes.set_aspect('equal')
    axes.set_xlabel('x [m]')
    axes.set_ylabel('z [m]')
    figure.set_layout_engine('tight')
    return figure


def body_origins(run: SimulatedRun, robot: RobotModel, rows: list[int]) -> Array:
    """Origins (len(rows), B, 3) of all bodies in the world [m]."""
    root = run.truth.root
    in_root = np.stack([robot.body_poses(q)[1] for q in run.q[rows]])
    turned = np.einsum('tij,tbj->tbi', root.rotation[rows], in_root)
    origins: Array = root.position[rows][:, None] + turned
    return origins


def _strip_of_images(images: Sequence[Image], times: Array) -> Any:
    width, height = _FRAME_SIZE
    figure = _canvas(0.005 * width * len(images), 0.005 * height + 0.25)
    for index, (image, time) in enumerate(zip(images, times, strict=True)):
        axes = figure.add_subplot(1, len(images), index + 1)
        axes.imshow(image)
        axes.set_axis_off()
        axes.set_title(f'{time:.2f} s', fontsize=8)
    figure.subplots_adjust(left=0.0, right=1.0, bottom=0.0, top=0.9, wspace=0.02)
    return figure


def _canvas(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            'matplotlib', 'Drawing a picture', 'pip install matplotlib'
        ) from error
    return Figure(figsize=(width, height))


def _pillow() -> Any:
    try:
        from PIL import Image as pillow
    except ImportError as error:
        raise MissingDependencyError('PIL', 'Writing a .gif', 'pip install pillow') from error
    return pillow


def _write_gif(images: Sequence[Image], path: Path, rate: float) -> None:
    pillow = _pillow()
    samples = np.concatenate(images[:: max(1, len(images) // 8)])  # every colour that appears
    palette = pillow.fromarray(samples).quantize(128)
    frames = [pillow.fromarray(image).quantize(palette=palette, dither=0) for image in images]
    period_ms = round(1000.0 / rate)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=period_ms, loop=0)


def _write_mp4(images: Sequence[Image], path: Path, rate: float) -> None:
    height, width, _ = images[0].shape
    command = [
        'ffmpeg', '-y', '-loglevel', 'error', '-f', 'rawvideo', '-pix_fmt', 'rgb24',
        '-s', f'{width}x{height}', '-r', f'{rate:g}', '-i', '-', '-pix_fmt', 'yuv420p', str(path),
    ]  # fmt: skip
    data = b''.join(np.ascontiguousarray(image).tobytes() for image in images)
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        reason = ' '.join(done.stderr.decode(errors='replace').split())
        raise SimulationError(
            f"ffmpeg could not write '{path}': {reason}",
            kind='not_written',
            path=path,
        )
