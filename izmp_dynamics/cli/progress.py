"""A progress bar on a terminal, silence elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(what: str, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Show how far a task is.

    Args:
        what: the task, e.g. 'replay'.
        quiet: show nothing.

    Yields:
        A function to call with the fraction that is done and, if it changes, with the task.
    """
    if quiet:
        yield lambda fraction, what=what: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:  # a disabled bar of an older rich still ends in a newline
        yield lambda fraction, what=what: None
        return
    bar = Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=1.0)
        yield lambda fraction, what=what: bar.update(task, completed=fraction, description=what)
