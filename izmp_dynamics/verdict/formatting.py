"""How the report writes a quantity: a number, a thin gap, a unit; a dash where there is none.

The page, the verdict and the terminal use these functions on the same values, so they agree.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from string import Formatter
from typing import Any, TypeGuard

from izmp_dynamics.base.conventions import NANOSECONDS

NOTHING = '–'


def worded(template: str, **data: object) -> str:
    """Fill in a sentence; beside Python's formats there are those of `_FORMATS`: '{depth:mm}'."""
    return _WORDS.vformat(template, (), data)


class _Words(Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        """Write a quantity."""
        if spec in _FORMATS:
            return _FORMATS[spec](value)
        text: str = super().format_field(value, spec)
        return text


def mm(metres: float | None) -> str:
    """Write a length in millimetres, from one metre on in metres, with two digits or so.

    Args:
        metres: [m]; None or NaN where there is no value.
    """
    if not _present(metres):
        return NOTHING
    value = 1000.0 * metres
    if abs(value) >= 999.5:
        return f'{_number(metres, 2)} m'
    if 0 < abs(value) < 0.0005:
        return '< 0.001 mm'
    digits = ((3, 0.0995), (2, 0.995), (1, 9.95)) if value else ()
    return f'{_number(value, next((n for n, upper in digits if abs(value) < upper), 0))} mm'


def margin_mm(metres: float | None) -> str:
    """Write a margin like `mm`, to a tenth of a millimetre: it is not known any better."""
    if not _present(metres) or abs(metres) >= 1e-3:
        return mm(metres)
    return f'{_number(1000.0 * metres, 1)} mm'


def seconds(duration: float | None) -> str:
    """Write a duration or an instant [s]: milliseconds below 0.1 s."""
    if not _present(duration):
        return NOTHING
    if 0 < abs(duration) < 0.0995:
        return f'{_number(1000.0 * duration, 0 if abs(duration) >= 0.00995 else 1)} ms'
    return f'{_number(duration, 2 if abs(duration) < 99.95 else 1)} s'


_clock: ContextVar[tuple[int, int] | None] = ContextVar('clock', default=None)


def instant(time: float | None) -> str:
    """Write an instant [s since the first one] with a resolution of 10 ms."""
    if not _present(time):
        return NOTHING
    if (clock := _clock.get()) is None:
        return f'{_number(time, 2)} s'
    start, first = clock
    stamp = first + round(time * NANOSECONDS)
    whole, rest = divmod(stamp, NANOSECONDS)
    since = (stamp - start) / NANOSECONDS
    return f'{_number(since, 2)} s (stamp {whole}.{rest // 1_000_000:03d})'


@contextmanager
def instants_since(start: int, first: int) -> Iterator[None]:
    """Let `instant` count from another stamp meanwhile, and state stamps as well.

    Args:
        start: stamp from which the seconds count [ns].
        first: stamp of the first instant [ns].
    """
    token = _clock.set((start, first))
    try:
        yield
    finally:
        _clock.reset(token)


def percent(share: float | None) -> str:
    """Write a share (0 to 1) in percent; only the whole is 100 %, only nothing is 0 %."""
    if not _present(share):
        return NOTHING
    if 0.9995 < share < 1:
        return '> 99.9 %'
    if 0 < share < 0.0005:
        return '< 0.1 %'
    return f'{_number(100.0 * share, 0 if share in (0, 1) else 1)} %'


def ratio(value: float | None) -> str:
    """Write a ratio that may exceed one, e.g. of two forces, in percent."""
    return f'{_number(100.0 * value, 1)} %' if _present(value) else NOTHING


def newtons(force: float | None) -> str:
    """Write a force [N]."""
    return f'{_number(force, 1 if abs(force) < 999.5 else 0)} N' if _present(force) else NOTHING


def hertz(rate: float | None) -> str:
    """Write a rate [Hz]; nothing for zero, which means that there is none."""
    return f'{_number(rate, 1)} Hz' if _present(rate) and rate != 0 else NOTHING


def plain(value: float | None, digits: int = 2) -> str:
    """Write a number without a unit, e.g. a correlation."""
    return _number(value, digits) if _present(value) else NOTHING


def times(count: int) -> str:
    """Write how often: 'once', 'twice', '3 times'."""
    return {1: 'once', 2: 'twice'}.get(count, f'{count} times')


_WORDS = _Words()
_FORMATS = {
    'mm': mm, 'margin': margin_mm, 's': seconds, 'at': instant, '%': percent, 'ratio': ratio,
    'N': newtons, 'Hz': hertz, 'times': times,
}  # fmt: skip
"""How a sentence asks for a quantity → function that writes it."""


def _present(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _number(value: float, digits: int) -> str:
    """Fixed digits, a true minus sign, no negative zero."""
    text = f'{value:.{digits}f}'
    if float(text) == 0:
        text = text.lstrip('-')
    return text.replace('-', '−')
