"""Import of MuJoCo; if it is missing, the error says how to install it."""

import logging
import os
from typing import Any

from izmp_dynamics.base.errors import MissingDependencyError, SimulationError

_GRAPHICS = 'MUJOCO_GL'

# By default MuJoCo loads GLFW, which starts a subprocess; `open_renderer` does not need it.
_is_named = _GRAPHICS in os.environ
os.environ.setdefault(_GRAPHICS, 'disable')
try:
    import mujoco
except ImportError as error:
    raise MissingDependencyError('mujoco', 'The simulation', 'pip install mujoco') from error
except Exception as error:  # it loads the OpenGL library that the environment asks for
    raise SimulationError(
        f"MuJoCo cannot be loaded ({error}). {_GRAPHICS} is '{os.environ.get(_GRAPHICS, '')}': "
        'unset it, or install the library that it names.',
        kind='mujoco_not_loaded',
        cause=error,
    ) from error
finally:
    if not _is_named:
        del os.environ[_GRAPHICS]

__all__ = ['diverged', 'mujoco']

# MuJoCo would append its warnings to a file in the current folder; what matters is raised.
mujoco.set_mju_user_warning(logging.getLogger(__name__).debug)

_BAD = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


def diverged(data: Any) -> bool:
    """Return whether a position, velocity or acceleration of mujoco.MjData diverged.

    MuJoCo then resets to its first state, with a warning only.
    """
    return any(data.warning[warning].number for warning in _BAD)
