"""PyKDL, or an error that names the command that installs it."""

from izmp_dynamics.base.errors import MissingDependencyError

try:
    import PyKDL as kdl
except ImportError as error:
    raise MissingDependencyError(
        'PyKDL',
        'The robot model',
        'sudo apt install python3-pykdl (it is not on PyPI; a virtual environment sees it with '
        '--system-site-packages)',
    ) from error

__all__ = ['kdl']
