"""Pictures of a simulated robot without a screen.

MuJoCo draws with OpenGL; EGL gives it a place to draw to. The environment variable MUJOCO_GL
(egl, osmesa or glfw) chooses another one.
"""

import importlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_lab.simulation.mujoco.engine import mujoco
from izmp_lab.simulation.mujoco.model import MujocoRobot
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
        """Draw the ground reaction, from the CoP upwards, and a push, towards the root."""
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
