"""How far a task is: a bar on a terminal; elsewhere nothing, or a line every minute."""

import sys
import time
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


PERIOD = 60.0
"""Time between two lines where there is no terminal [s]."""

ENOUGH = 10
"""Bags from which the time that is left is estimated: before, most are still being evaluated."""


@contextmanager
def fleet_progress(quiet: bool) -> Iterator[Callable[[int, int, int, int], None]]:
    """Show bags done, rates and the time that is left.

    Yields:
        A function to call with bags done, bags in all, bytes done, bytes in all.
    """
    begin = shown = time.monotonic()
    is_terminal = sys.stderr.isatty()
    with progress_bar('Finding bags', quiet) as bar:

        def show(done: int, bags: int, size: int, total: int) -> None:
            nonlocal shown
            now = time.monotonic()
            text = progress_line(done, bags, size, now - begin) if total else f'{bags} bags found'
            bar(done / bags if total else 0.0, text)
            if not (quiet or is_terminal) and now - shown >= PERIOD:
                shown = now
                left = time_left(done, bags, now - begin)
                print(f'izmp: {text}{left}', file=sys.stderr, flush=True)

        yield show


def progress_line(done: int, bags: int, size: int, elapsed: float) -> str:
    """Say how far it is: '7 of 12 bags, 0.8 bags/s, 12.0 MB/s'."""
    if not done or elapsed <= 0.0:
        return f'{done} of {bags} bags'
    return f'{done} of {bags} bags, {done / elapsed:.2g} bags/s, {size / elapsed / 1e6:.3g} MB/s'


def time_left(done: int, bags: int, elapsed: float) -> str:
    """Say how long the rest takes: ', at most 40 s left'; nothing while too few bags are done.

    At most, as the largest bags come first.
    """
    return f', at most {elapsed * (bags / done - 1.0):.0f} s left' if done >= ENOUGH else ''
