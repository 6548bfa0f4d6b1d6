"""How a launch ends when one of its processes does."""

from typing import TYPE_CHECKING

from izmp_dynamics.nodes.main import REFUSED

if TYPE_CHECKING:
    from launch.events.process import ProcessExited
    from launch.launch_context import LaunchContext


def end_if_refused(event: 'ProcessExited', context: 'LaunchContext') -> None:
    """End the launch if a node cannot work with what it was given; for `on_exit`.

    Any other end, e.g. a crash, is for `respawn` to deal with.

    Raises:
        RuntimeError: which launch prints; it ends with a non-zero status.
    """
    if event.returncode == REFUSED and not context.is_shutdown:
        raise RuntimeError(
            f'{event.process_name} cannot work with what it was given; its last line says why.'
        )
