"""Round numbers along an axis."""

import math

Limits = tuple[float, float]

_LONG = 1e7  # numbers from here on are written with an exponent


def ticks(limits: Limits, most: int) -> list[tuple[float, str]]:
    """Round numbers between limits, with at most `most` steps between them, each with its text."""
    low, high = limits
    wanted = (high - low) / max(most, 1)
    power = math.floor(math.log10(wanted))
    factor = next(f for f in (1.0, 2.0, 2.5, 5.0, 10.0) if f * 10.0**power >= 0.999999 * wanted)
    step = factor * 10.0**power
    decimals = max(0, -power + (factor == 2.5) - (factor == 10.0))
    numbers = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    largest = max(map(abs, limits))
    digits = math.floor(math.log10(largest)) - power + 1 + (factor == 2.5)
    style = f'.{digits}g' if largest >= _LONG or decimals > 6 else f'.{decimals}f'
    return [(number, f'{number:{style}}'.replace('-', '−')) for number in numbers]


def apart(limits: Limits) -> Limits:
    """Limits between which there are numbers."""
    low, high = limits
    least = max(1e-5 * max(abs(low), abs(high)), 1e-100)
    return (low, high) if high - low > least else (low - max(least, 0.5), high + max(least, 0.5))
