"""MuJoCo, or a sentence that says how to get it."""

from izmp_dynamics.errors import MissingDependencyError

try:
    import mujoco
except ImportError as error:
    raise MissingDependencyError(
        'mujoco', 'The simulation', 'pip install izmp_dynamics[sim]'
    ) from error

__all__ = ['mujoco']
