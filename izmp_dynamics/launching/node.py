"""The nodes of this package, as its launch files start them."""

import functools
import subprocess
from typing import Any

from launch.actions import ExecuteProcess, GroupAction, SetLaunchConfiguration
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

PREFIX = 'launch-prefix'
"""What launch puts before a command; `--launch-prefix` sets it, e.g. to that of a debugger."""


def node(name: str, **options: Any) -> GroupAction:
    """Start a node of this package.

    Args:
        name: of its executable.
        options: other arguments of `launch_ros.actions.Node`.
    """
    return without_traceback(
        Node(
            package='izmp_dynamics',
            executable=name,
            exec_name=name,
            output='screen',
            **options,
        )
    )


def without_traceback(process: ExecuteProcess) -> GroupAction:
    """Start a process that prints no traceback if Ctrl-C comes while its interpreter starts.

    Args:
        process: one that uses `nodes.start_up.interruptible`, which acts on the signal.
    """
    prefix = LaunchConfiguration(PREFIX, default=_sigint_blocked())
    return GroupAction([SetLaunchConfiguration(PREFIX, prefix), process])


@functools.cache
def _sigint_blocked() -> str:
    """Command that starts another with SIGINT blocked.

    Empty where `env` cannot do so: GNU's can since coreutils 8.31.
    """
    command = 'env --block-signal=INT'
    try:
        tried = subprocess.run([*command.split(), 'true'], check=False, capture_output=True)
    except OSError:
        return ''
    return '' if tried.returncode else command
