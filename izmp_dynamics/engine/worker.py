"""Ctrl-C while processes are at work: the parent acts on it, workers leave it to the parent.

Every worker loads this module first.
"""

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from typing import Any

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


def dask_setup(_: Any) -> None:
    """Leave Ctrl-C to the process that started this one, and the terminal as well."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    logging.getLogger('izmp_dynamics').setLevel(logging.ERROR)
    for name in ('distributed', 'tornado'):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Hold back SIGINT and SIGTERM; at the end they have the effect that they had before.

    A process that is started meanwhile gets all that it waits for, else it would end with an
    `EOFError`. It inherits both signals blocked, until `dask_setup`: Ctrl-C reaches every process
    of a terminal, those that are still importing as well.
    """
    came: list[int] = []
    previous: dict[signal.Signals, Any] = {}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        if threading.current_thread() is threading.main_thread():  # else they do not come here
            for each in _INTERRUPTS:  # other threads receive what this one blocks
                previous[each] = signal.signal(each, lambda number, _: came.append(number))
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in came:
            signal.raise_signal(number)
