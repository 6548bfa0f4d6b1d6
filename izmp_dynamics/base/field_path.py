"""Numbers in a message of any type, as the robot file names them.

`motor_state[0:12].q` are twelve numbers, `data[3]` is one, `imu.gyroscope` all of a field;
`foot_force[0] * 0.1` is multiplied, and commas join several.
"""

import re
from typing import NamedTuple

_STEP = r'[A-Za-z]\w*(?:\[\d{1,6}(?::\d{1,6})?\])?'
_TERM = re.compile(
    rf'\s*(?P<path>{_STEP}(?:\.{_STEP})*)'
    r'\s*(?:\*\s*(?P<scale>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)\s*)?'
)
_PARTS = re.compile(r'([A-Za-z]\w*)(?:\[(\d+)(?::(\d+))?\])?')

FORM = (
    'write a field as imu.gyroscope, elements as motor_state[0:12].q or data[3], a factor as '
    'data[3] * 0.01, and commas between several'
)
"""What a text must look like."""


class Step(NamedTuple):
    """A field, and which of its elements: `begin` to before `end`; None: all of it."""

    name: str
    begin: int | None
    end: int | None


class Term(NamedTuple):
    """Numbers that follow one path, and the factor they are multiplied with, if one is stated."""

    path: str
    steps: tuple[Step, ...]
    scale: float | None


def parse(text: str) -> tuple[Term, ...]:
    """Read a text.

    Raises:
        ValueError: it does not have the form.
    """
    return tuple(_term(part) for part in text.split(','))


def _term(text: str) -> Term:
    found = _TERM.fullmatch(text)
    if found is None:
        raise ValueError(text)
    steps = []
    for name, begin, end in _PARTS.findall(found['path']):
        first = int(begin) if begin else None
        steps.append(Step(name, first, int(end) if end else None if first is None else first + 1))
    if any(step.begin is not None and step.begin >= (step.end or 0) for step in steps):
        raise ValueError(text)
    return Term(found['path'], tuple(steps), float(found['scale']) if found['scale'] else None)
