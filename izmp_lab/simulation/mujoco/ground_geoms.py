"""The ground as MuJoCo geoms, with light and sky for pictures."""

from typing import Any

import numpy as np

from izmp_dynamics.base.errors import SimulationError
from izmp_lab.simulation.mujoco.engine import mujoco
from izmp_lab.simulation.terrain import Flat, Slope, Terrain, Uneven

_FLOOR = 'floor'
_MATERIAL = 'checker'
_PLANE_SIZE = [50.0, 50.0, 0.1]
_BASE = 0.1
"""How far a height field reaches down below its lowest point [m]."""


def add_ground(spec: Any, terrain: Terrain, contact: dict[str, Any]) -> None:
    """Add a terrain to a mujoco.MjSpec.

    Args:
        spec: to add to.
        terrain: the ground.
        contact: friction and softness, as arguments of `add_geom`.

    Raises:
        SimulationError: if there is no translation for this kind of terrain.
    """
    _add_surroundings(spec)
    common = {'material': _MATERIAL, 'contype': 0, 'conaffinity': 1, **contact}
    if isinstance(terrain, Flat):
        _add_plane(spec, _FLOOR, common)
    elif isinstance(terrain, Slope):
        _add_plane(spec, _FLOOR, common)
        if terrain.ramp.slope > 0.0:
            half = -0.5 * terrain.ramp.slope
            place = {'pos': [terrain.ramp.start, 0.0, 0.0]}
            turn = {'quat': [np.cos(half), 0.0, np.sin(half), 0.0]}
            # Two planes are two half spaces: the upper one counts, before the edge and beyond.
            tint = {'rgba': [0.82, 0.86, 0.98, 1.0]}
            _add_plane(spec, 'ramp', {**common, **place, **turn, **tint})
    elif isinstance(terrain, Uneven):
        _add_height_field(spec, terrain, common)
    else:
        raise SimulationError(
            f'MuJoCo has no ground of the kind {type(terrain).__name__}.',
            kind='unknown_terrain',
            terrain=type(terrain).__name__,
        )


def _add_plane(spec: Any, name: str, arguments: dict[str, Any]) -> None:
    kind = mujoco.mjtGeom.mjGEOM_PLANE
    spec.worldbody.add_geom(name=name, type=kind, size=_PLANE_SIZE, **arguments)


def _add_height_field(spec: Any, terrain: Uneven, arguments: dict[str, Any]) -> None:
    grid = terrain.grid
    half = 0.5 * terrain.cell * (len(grid) - 1)
    lowest, highest = float(grid.min()), float(grid.max())
    spec.add_hfield(
        name=_FLOOR, nrow=len(grid), ncol=len(grid),
        size=[half, half, highest - lowest, _BASE], userdata=grid.ravel().tolist(),
    )  # fmt: skip
    spec.worldbody.add_geom(
        name=_FLOOR, type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=_FLOOR,
        pos=[0.0, 0.0, lowest], **arguments,
    )  # fmt: skip


def _add_surroundings(spec: Any) -> None:
    spec.worldbody.add_light(
        pos=[1.5, 1.5, 4.0], dir=[-0.35, -0.35, -0.9], castshadow=True,
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
    )  # fmt: skip
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    spec.visual.quality.shadowsize = 2048
    spec.add_texture(
        name='sky', type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, width=64, height=384,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.75, 0.83, 0.92], rgb2=[0.96, 0.97, 0.98],
    )  # fmt: skip
    spec.add_texture(
        name=_MATERIAL, type=mujoco.mjtTexture.mjTEXTURE_2D, width=256, height=256,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.80, 0.82, 0.84], rgb2=[0.72, 0.75, 0.78],
    )  # fmt: skip
    material = spec.add_material(name=_MATERIAL, texrepeat=[2, 2], texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = _MATERIAL
