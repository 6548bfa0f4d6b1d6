"""Start and end of a process: signals end it soon, and the log says what takes long."""

import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

SAID_AFTER = 2.0
"""Time after which the log says what keeps a node busy [s]."""

LONGEST_END = 1.5
"""Time that a node is given to end after a signal [s]."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[Callable[[float | None], None]]:
    """Let SIGINT and SIGTERM end the process at once, with status 0, until the start is over.

    A start imports, compiles and plans for seconds, much of it in calls during which Python
    handles no signals. So a thread waits for them. Nothing of a start needs tidying up. SIGINT may
    have been blocked until now, as by the launch files: Python would print a traceback before.

    Yields:
        A function that ends this; from then on it is for ROS to act on the signals. Its argument
        is the time that the process has to end then [s], before it is ended; None: as long as it
        takes.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: None)  # or it would not reach the pipe
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    patience: list[float | None] = [0.0]
    threading.Thread(target=_end_on_signal, args=(reader, patience), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def started(longest: float | None) -> None:
        patience[0] = longest

    try:
        yield started
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)


def _end_on_signal(reader: int, patience: list[float | None]) -> None:
    """End the process when a signal arrives; return when the other end is closed."""
    arrived, longest = os.read(reader, 1), patience[0]
    if not arrived:
        os.close(reader)
    if not arrived or longest is None:
        return
    if longest:
        faulthandler.dump_traceback_later(longest * 7.0 / 6.0, exit=True)  # if the lock is kept
        time.sleep(longest)
        faulthandler.cancel_dump_traceback_later()
        print(f'Ended after {longest:g} s; still busy: {_busy()}.', file=sys.stderr)
    leave(0)


def leave(status: int) -> NoReturn:
    """End the process at once: Python would take it apart for a second, and may wait or abort."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _busy() -> str:
    frames, found = sys._current_frames(), []
    for thread in threading.enumerate():
        if thread.ident in frames and thread is not threading.current_thread():
            code = frames[thread.ident].f_code
            file = os.path.basename(code.co_filename)
            found.append(f'{thread.name} in {code.co_name} of {file}')
    return ', '.join(found)


@contextmanager
def signals_handled(handler: Callable[[int, FrameType | None], Any] | int) -> Iterator[None]:
    """Let SIGINT and SIGTERM do this meanwhile, whatever the process inherited.

    A shell script starts its background jobs with SIGINT ignored.
    """
    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal as Python handles Ctrl-C."""
    raise KeyboardInterrupt


@contextmanager
def announced(log: Any, what: str) -> Iterator[None]:
    """Log what keeps the node busy, e.g. 'Planning the walk', after `SAID_AFTER`."""
    done = threading.Event()

    def say() -> None:
        if not done.wait(SAID_AFTER) and not done.is_set():
            log.info(f'{what}…')

    threading.Thread(target=say, daemon=True).start()
    try:
        yield
    finally:
        done.set()


class ForwardedLog(logging.Handler):
    """Hands what the core logs, e.g. that it compiles, to the log of ROS."""

    def __init__(self, log: Any) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a message with the severity that it has."""
        log = self._log
        serious = record.levelno >= logging.WARNING
        (log.warning if serious else log.info)(record.getMessage())
