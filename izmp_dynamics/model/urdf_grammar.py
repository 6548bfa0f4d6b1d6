"""The grammar of the URDF elements that carry dynamics, the check against it, and its findings.

The format is that of https://wiki.ros.org/urdf/XML and, for versions 1.1 and 1.2, of urdfdom.
Checked here is the form: attributes, numbers, missing and doubled elements. Whether the values
make sense as a robot is the matter of `audit`.
"""

import difflib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from izmp_dynamics.base.errors import ModelError

MOST_LISTED = 20
"""Problems that one message lists; the rest are counted."""


@dataclass(frozen=True)
class Problem:
    """One finding.

    Attributes:
        severity: 'error' makes the model unusable, 'warning' does not.
        kind: identifies the finding, e.g. 'negative_mass'; programs may rely on it.
        where: the link or joint with its line.
        message: what is wrong and what would be right.
    """

    severity: Literal['error', 'warning']
    kind: str
    where: str
    message: str

    def __str__(self) -> str:
        return f'{self.where}: {self.message}' if self.where else self.message


def refuse_errors(problems: Iterable[Problem], name: str) -> None:
    """Raise if there are errors among the problems.

    Args:
        problems: errors and warnings.
        name: what they are about, as it begins the message, e.g. "'robot.urdf'".

    Raises:
        ModelError: the message lists the errors; `data['problems']` are all of them.
    """
    errors = tuple(problem for problem in problems if problem.severity == 'error')
    if not errors:
        return
    listed = [str(problem) for problem in errors[:MOST_LISTED]]
    if len(errors) > MOST_LISTED:
        listed.append(f'… and {len(errors) - MOST_LISTED} more.')
    message = '\n  '.join([f'{name} cannot be used:', *listed])
    raise ModelError(message, kind='invalid_model', problems=errors)


LARGEST_NUMBER = 1e9
"""Numbers of a URDF beyond this are taken for mistakes; limits are exempt [SI units]."""

VERSIONS = ('1.0', '1.1', '1.2')
JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')

_MOST_COMPARED = 1000  # names; comparing takes long
_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?', re.ASCII | re.I)


@dataclass(frozen=True)
class _Attribute:
    """How many numbers an attribute holds (none: a word), and whether the element needs it."""

    numbers: int = 1
    required: bool = False
    infinite: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Element:
    attributes: Mapping[str, _Attribute] = field(default_factory=dict)
    children: Mapping[str, bool] = field(default_factory=dict)  # name → required
    extensible: bool = False  # other attributes are common


_NAME = _Attribute(numbers=0, required=True)
_TYPE = _Attribute(numbers=0, required=True, choices=JOINT_TYPES)
_VECTOR = _Attribute(numbers=3)
_NEEDED = _Attribute(required=True)
_LIMIT = _Attribute(infinite=True)

GRAMMAR: Mapping[str, _Element] = {
    'link': _Element({'name': _NAME}, {'inertial': False}, extensible=True),
    'joint': _Element(
        {'name': _NAME, 'type': _TYPE},
        {
            'parent': True,
            'child': True,
            'origin': False,
            'axis': False,
            'limit': False,
            'mimic': False,
        },
        extensible=True,
    ),
    'inertial': _Element({}, {'mass': True, 'origin': False, 'inertia': False}),
    'mass': _Element({'value': _NEEDED}),
    'inertia': _Element(
        dict.fromkeys(('ixx', 'iyy', 'izz'), _NEEDED)
        | {key: _Attribute() for key in ('ixy', 'ixz', 'iyz')}
    ),
    'origin': _Element({'xyz': _VECTOR, 'rpy': _VECTOR, 'quat_xyzw': _Attribute(numbers=4)}),
    'axis': _Element({'xyz': _Attribute(numbers=3, required=True)}),
    'parent': _Element({'link': _NAME}),
    'child': _Element({'link': _NAME}),
    'limit': _Element(
        dict.fromkeys(
            ('lower', 'upper', 'effort', 'velocity', 'acceleration', 'deceleration', 'jerk'),
            _LIMIT,
        ),
        extensible=True,
    ),
    'mimic': _Element({'joint': _NAME, 'multiplier': _Attribute(), 'offset': _Attribute()}),
}


def check_element(element: Any, where: str, version: str) -> Iterator[Problem]:
    """Compare a link or joint and all below it that carries dynamics with the grammar.

    Args:
        element: lxml element whose tag is a key of `GRAMMAR`.
        where: the link or joint it belongs to, e.g. "link 'torso'".
        version: version of the URDF.

    Yields:
        Errors, and warnings about parts that are ignored but resemble parts of the grammar.
    """
    rule = GRAMMAR[element.tag]
    here = f'{where} (line {element.sourceline})'
    yield from _check_attributes(element, rule, here)
    yield from _check_children(element, rule, here)
    if element.tag == 'origin':
        yield from _check_orientation(element, here, version)
    for child in element:
        if child.tag in rule.children:
            yield from check_element(child, where, version)


def similar(name: str, known: Collection[str]) -> str:
    """Return ' Did you mean …?' if a known name resembles `name`, else nothing."""
    if len(known) > _MOST_COMPARED:
        return ''
    near = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{near[0]}'?" if near else ''


def lookalike(tag: Any, known: Mapping[str, Any]) -> str | None:
    """Return the known element that an unknown one is probably meant to be."""
    if not isinstance(tag, str) or tag in known:
        return None
    near = difflib.get_close_matches(tag.lower(), known, n=1, cutoff=0.8)
    return near[0] if near else None


def _check_attributes(element: Any, rule: _Element, here: str) -> Iterator[Problem]:
    for name, attribute in rule.attributes.items():
        text = element.get(name)
        if text is None or (not text.strip() and attribute.numbers == 0):
            if attribute.required:
                yield Problem(
                    'error',
                    'missing_attribute',
                    here,
                    f"{_subject(element)} lacks the attribute '{name}'.",
                )
            continue
        misread = _misread(text, attribute)
        if misread:
            kind, cause = misread
            place = f'<{element.tag} {name}="{_short(text)}">'
            yield Problem('error', kind, here, f'{cause}, in {place}.')
    if rule.extensible or not rule.attributes:
        return
    for name in element.keys() - rule.attributes.keys():
        valid = ', '.join(rule.attributes) or 'none'
        yield Problem(
            'warning',
            'ignored_attribute',
            here,
            f"the attribute '{name}' of {_subject(element)} is ignored; valid: {valid}.",
        )


def _misread(text: str, attribute: _Attribute) -> tuple[str, str] | None:
    """Return kind and description of why an attribute cannot be read; None if it can."""
    if attribute.choices and text not in attribute.choices:
        valid = ', '.join(attribute.choices)
        return 'invalid_choice', f"'{_short(text)}' is not one of: {valid}"
    if attribute.numbers == 0:
        return None
    words = text.split()
    for word in words:
        if not _NUMBER.fullmatch(word):
            return 'not_a_number', f"'{_short(word)}' is not a number"
        value = abs(float(word))
        if not attribute.infinite and value > LARGEST_NUMBER:
            if math.isfinite(value):
                return 'number_too_large', f'{_short(word)} is beyond ±1e9'
            return 'not_finite', f'{_short(word)} is not finite'
    if len(words) != attribute.numbers:
        wanted = 'a number is' if attribute.numbers == 1 else f'{attribute.numbers} numbers are'
        return 'wrong_length', f'{len(words)} numbers, but {wanted} needed'
    return None


def _check_children(element: Any, rule: _Element, here: str) -> Iterator[Problem]:
    for tag, required in rule.children.items():
        found = element.findall(tag)
        if required and not found:
            yield Problem(
                'error', 'missing_element', here, f'{_subject(element)} lacks the element <{tag}>.'
            )
        if len(found) > 1:
            lines = ', '.join(str(child.sourceline) for child in found)
            yield Problem(
                'error',
                'repeated_element',
                here,
                f'{_subject(element)} has {len(found)} elements <{tag}> (lines {lines}); one is '
                'meant.',
            )
    for child in element:
        meant = lookalike(child.tag, rule.children)
        if meant:
            yield Problem(
                'warning',
                'ignored_element',
                here,
                f'the element <{child.tag}> in line {child.sourceline} is ignored; did you mean '
                f'<{meant}>?',
            )


def _check_orientation(element: Any, here: str, version: str) -> Iterator[Problem]:
    quaternion = element.get('quat_xyzw')
    if quaternion is None:
        return
    if version == '1.0':
        yield Problem(
            'error',
            'quaternion_in_urdf_1_0',
            here,
            'quat_xyzw belongs to URDF 1.1; state <robot version="1.1"> or use rpy.',
        )
    if element.get('rpy') is not None:
        yield Problem(
            'error',
            'two_orientations',
            here,
            'its <origin> has both rpy and quat_xyzw; one is meant.',
        )
    if not _misread(quaternion, _Attribute(numbers=4)):
        norm = math.hypot(*map(float, quaternion.split()))
        if abs(norm - 1.0) > 1e-3:
            yield Problem(
                'error',
                'quaternion_not_normalised',
                here,
                f'its quat_xyzw has the norm {norm:.4g}, not 1.',
            )


def _subject(element: Any) -> str:
    return 'it' if element.getparent().tag == 'robot' else f'its <{element.tag}>'


def _short(text: str) -> str:
    return text if len(text) <= 60 else f'{text[:60]}…'
