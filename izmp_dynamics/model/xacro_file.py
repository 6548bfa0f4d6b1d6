"""Expansion of xacro files, where ROS's xacro is installed."""

from pathlib import Path

from izmp_dynamics.base.errors import ModelError


def expand_xacro(path: Path) -> bytes:
    """Return the URDF that a xacro file stands for, with its default arguments.

    Raises:
        ModelError: if xacro is not installed here, or refuses the file.
    """
    try:
        import xacro
    except ImportError as error:
        raise ModelError(
            f"'{path}' is xacro, not URDF, and xacro is not installed here. Install it (apt: "
            'ros-$ROS_DISTRO-xacro), or expand the file where it is: xacro robot.urdf.xacro > '
            'robot.urdf',
            kind='xacro', path=path,
        ) from error  # fmt: skip
    try:
        text: str = xacro.process_file(str(path)).toxml()
    except Exception as error:  # xacro evaluates expressions of Python
        raise ModelError(
            f"xacro cannot expand '{path}': {error}.",
            kind='xacro_refuses', path=path, cause=error,
        ) from error  # fmt: skip
    return text.encode()
