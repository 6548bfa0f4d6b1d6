"""A strip of pictures and a clip of a simulated run."""

import importlib
import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, seconds
from izmp_dynamics.base.errors import MissingDependencyError, SimulationError
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.spec import mujoco
from izmp_lab.simulation.simulated_run import SimulatedRun

Image = npt.NDArray[np.uint8]
"""(height, width, 3) red, green, blue; the first row is the upper one."""

_DISTANCE, _ELEVATION_DEG = 2.9, -10.0
_REACTION_COLOUR, _REACTION_SCALE = (0.1, 0.6, 0.25, 1.0), 0.0025
_PUSH_COLOUR, _PUSH_SCALE = (0.85, 0.1, 0.1, 1.0), 0.01
"""Length of the arrow per force [m/N]."""


class Renderer:
    """Draws instants of a run; made by `open_renderer`."""

    def __init__(self, plant: MujocoRobot, size: tuple[int, int], graphics: Any) -> None:
        self.plant, self.size = plant, size
        self.graphics = graphics
        model = plant.model
        self.data = mujoco.MjData(model)
        self.scene = mujoco.MjvScene(model, maxgeom=1000)
        self.options = mujoco.MjvOption()
        self.options.geomgroup[3] = 0
        self.camera = mujoco.MjvCamera()
        self.camera.distance, self.camera.elevation = _DISTANCE, _ELEVATION_DEG

    def image(self, run: SimulatedRun, row: int, azimuth_deg: float = 125.0) -> Image:
        """Draw the robot at one instant, with the forces of the ground and of a push.

        Args:
            run: what the robot did.
            row: index of the instant.
            azimuth_deg: where the camera looks; 90 is to the left, so it sees the right side.
        """
        self._pose(run, row)
        position = run.truth.root.position[row]
        ground = position[2] - 0.85
        self.camera.lookat = [position[0], position[1], ground + 0.78]
        self.camera.azimuth = azimuth_deg
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            self.plant.model, self.data, self.options, None, self.camera, everything, self.scene
        )
        self._mark(run, row)
        width, height = self.size
        view = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(view, self.scene, self.graphics)
        image = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_readPixels(image, None, view, self.graphics)
        return image[::-1]

    def _pose(self, run: SimulatedRun, row: int) -> None:
        root = run.truth.root
        self.data.qpos[:3] = root.position[row]
        mujoco.mju_mat2Quat(self.data.qpos[3:7], root.rotation[row].ravel())
        self.data.qpos[self.plant.q_columns] = run.q[row]
        mujoco.mj_forward(self.plant.model, self.data)

    def _mark(self, run: SimulatedRun, row: int) -> None:
        truth, world_R_root = run.truth, run.truth.root.rotation[row]
        reaction, push = (
            world_R_root @ wrench[row, :3]
            for wrench in (truth.ground_wrench, truth.applied_wrench)
        )
        if np.isfinite(truth.cop[row]).all():
            begin = truth.cop[row]
            self._add_arrow(begin, begin + _REACTION_SCALE * reaction, _REACTION_COLOUR)
        if push.any():
            end = truth.root.position[row] + [0.0, 0.0, 0.3]
            self._add_arrow(end - _PUSH_SCALE * push, end, _PUSH_COLOUR)

    def _add_arrow(self, begin: Array, end: Array, colour: tuple[float, ...]) -> None:
        geom, kind = self.scene.geoms[self.scene.ngeom], mujoco.mjtGeom.mjGEOM_ARROW
        size, place, turn = np.zeros(3), np.zeros(3), np.eye(3).ravel()
        mujoco.mjv_initGeom(geom, kind, size, place, turn, np.array(colour, np.float32))
        mujoco.mjv_connector(geom, kind, 0.02, begin, end)
        self.scene.ngeom += 1


@contextmanager
def open_renderer(plant: MujocoRobot, width: int, height: int) -> Iterator[Renderer]:
    """Give a renderer for pictures of one size [pixels].

    Raises:
        SimulationError: if there is nothing to draw to.
    """
    name = os.environ.get('MUJOCO_GL', '').strip().lower() or 'egl'
    view = plant.model.vis.global_
    view.offwidth, view.offheight = width, height
    logging.getLogger('OpenGL').setLevel(logging.CRITICAL)  # it logs optional modules
    try:
        context = importlib.import_module(f'mujoco.{name}').GLContext(width, height)
        context.make_current()
        graphics = mujoco.MjrContext(plant.model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, graphics)
    except Exception as error:  # what a missing driver raises depends on the driver
        raise SimulationError(
            f"There is no offscreen renderer: OpenGL by '{name}' cannot be used on this computer "
            f'({" ".join(str(error).split()) or type(error).__name__}). Install libegl1 and '
            'libgl1-mesa-dri, or choose another one with MUJOCO_GL (egl, osmesa or glfw).',
            kind='no_renderer',
            graphics=name,
        ) from error
    try:
        yield Renderer(plant, (width, height), graphics)
    finally:
        graphics.free()
        context.free()


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
            f"The picture '{path}' cannot be written: {error}.", kind='not_written', path=path
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
            f"ffmpeg could not write '{path}': {reason}", kind='not_written', path=path
        )
