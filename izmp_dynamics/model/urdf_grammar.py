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


ERRORS = {
    'no_links': 'the URDF has no links.',
    'unknown_urdf_version': "its URDF version '{version}' is not known; known: {known}.",
    'repeated_name': 'there is another {tag} of this name in line {line}.',
    'missing_attribute': "{subject} lacks the attribute '{name}'.",
    'invalid_choice': "'{word}' is not one of: {valid}, in {place}.",
    'not_a_number': "'{word}' is not a number, in {place}.",
    'number_too_large': '{word} is beyond ±1e9, in {place}.',
    'not_finite': '{word} is not finite, in {place}.',
    'wrong_length': '{count} numbers, but {wanted} needed, in {place}.',
    'missing_element': '{subject} lacks the element <{tag}>.',
    'repeated_element': '{subject} has {count} elements <{tag}> (lines {lines}); one is meant.',
    'quaternion_in_urdf_1_0': 'quat_xyzw belongs to URDF 1.1; state <robot version="1.1"> or use '
                              'rpy.',
    'two_orientations': 'its <origin> has both rpy and quat_xyzw; one is meant.',
    'quaternion_not_normalised': 'its quat_xyzw has the norm {norm:.4g}, not 1.',
    'unknown_link': "its {role} link '{link}' does not exist.{meant}",
    'second_parent': "link '{link}' is already the child of joint '{other}'; closed kinematic "
                     'chains are not supported: a link has one parent.',
    'several_roots': 'the links {links} have no parent; a robot has exactly one such link.',
    'cycle': 'the joints form a cycle through the links {links}; they must form a tree.',
    'unsupported_joint_type': '{type} joints inside the robot are not supported; use revolute, '
                              'continuous, prismatic or fixed joints.',
    'axis_without_direction': 'its axis {axis} has no direction.',
    'mimic_circle': 'the mimics form a circle: {ring}.',
    'mimic_of_no_movable_joint': "it mimics '{leader}', which is not a movable joint.{meant}",
    'mimic_gain_too_large': 'the multipliers of its mimics make {gain:.3g} in all.',
    'negative_mass': 'its mass is negative ({mass} kg).',
    'negative_moment': 'it has a negative moment of inertia ({moment} kg·m²).',
    'massless_robot': 'the robot has no mass: its <inertial> elements make {mass:g} kg.',
}  # fmt: skip
"""What makes a model unusable: kind → sentence."""

WARNINGS = {
    'ignored_element': 'the element <{tag}> in line {line} is ignored; did you mean <{meant}>?',
    'ignored_attribute': "the attribute '{name}' of {subject} is ignored; valid: {valid}.",
    'tied_to_world': "the robot is tied to a link 'world'; it is taken to float all the same. "
                     'Name the link that carries the IMU as its root.',
    'root_joint_left_out': "this floating joint and its parent '{parent}' are left out: the root "
                           'floats anyway.',
    'far_origin': 'its origin is {distance:.4g} m from the parent; URDF has metres, not '
                  'millimetres.',
    'axis_not_normalised': 'its axis {axis} is not a unit vector; normalised.',
    'reversed_limits': 'its limits are reversed ({lower} > {upper}); exchanged.',
    'limits_in_degrees': 'it turns by up to {widest:.4g} rad; URDF has radians, not degrees.',
    'limit_not_positive': 'its velocity or effort limit is not positive; taken as unlimited.',
    'no_inertial': '{text}',
    'moving_without_mass': '{text}',
    'mass_without_inertia': 'it has a mass but no <inertia>; taken as zero.',
    'zero_inertia': 'its inertia tensor is zero: a point mass.',
    'inertia_without_mass': 'it has an inertia tensor but no mass; both are ignored.',
    'negative_principal_moment': 'its principal moments {moments} kg·m² are not all positive: no '
                                 'body has this inertia; its products of inertia are too large.',
    'triangle_inequality': 'its principal moments {moments} kg·m² break the triangle inequality: '
                           'no body has this inertia.',
    'inertia_in_other_units': 'its moments of inertia are those of {mass:g} kg at a distance of '
                              '{radius:.3g} m; URDF has kg·m².',
    'mass_in_other_units': 'the robot weighs {mass:.0f} kg; are the masses in grams?',
}  # fmt: skip
"""What does not."""


def problem(kind: str, where: str, **data: object) -> Problem:
    """Make a finding of one of these kinds, with the data that its sentence names."""
    if kind in ERRORS:
        return Problem('error', kind, where, ERRORS[kind].format(**data))
    return Problem('warning', kind, where, WARNINGS[kind].format(**data))


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
    subject = _subject(element)
    for name, attribute in rule.attributes.items():
        text = element.get(name)
        if text is None or (not text.strip() and attribute.numbers == 0):
            if attribute.required:
                yield problem('missing_attribute', here, subject=subject, name=name)
        elif misread := _misread(text, attribute):
            kind, data = misread
            yield problem(kind, here, place=f'<{element.tag} {name}="{_short(text)}">', **data)
    if not rule.extensible and rule.attributes:
        valid = ', '.join(rule.attributes)
        for name in element.keys() - rule.attributes.keys():
            yield problem('ignored_attribute', here, name=name, subject=subject, valid=valid)


def _misread(text: str, attribute: _Attribute) -> tuple[str, dict[str, object]] | None:
    """Return the kind and its data if an attribute cannot be read."""
    if attribute.choices and text not in attribute.choices:
        return 'invalid_choice', {'word': _short(text), 'valid': ', '.join(attribute.choices)}
    if attribute.numbers == 0:
        return None
    words = text.split()
    for word in words:
        if not _NUMBER.fullmatch(word):
            return 'not_a_number', {'word': _short(word)}
        value = abs(float(word))
        if not attribute.infinite and value > LARGEST_NUMBER:
            kind = 'number_too_large' if math.isfinite(value) else 'not_finite'
            return kind, {'word': _short(word)}
    if len(words) != attribute.numbers:
        wanted = 'a number is' if attribute.numbers == 1 else f'{attribute.numbers} numbers are'
        return 'wrong_length', {'count': len(words), 'wanted': wanted}
    return None


def _check_children(element: Any, rule: _Element, here: str) -> Iterator[Problem]:
    for tag, required in rule.children.items():
        found, data = element.findall(tag), {'subject': _subject(element), 'tag': tag}
        if required and not found:
            yield problem('missing_element', here, **data)
        if len(found) > 1:
            lines = ', '.join(str(child.sourceline) for child in found)
            yield problem('repeated_element', here, count=len(found), lines=lines, **data)
    for child in element:
        if meant := lookalike(child.tag, rule.children):
            line = child.sourceline
            yield problem('ignored_element', here, tag=child.tag, line=line, meant=meant)


def _check_orientation(element: Any, here: str, version: str) -> Iterator[Problem]:
    quaternion = element.get('quat_xyzw')
    if quaternion is None:
        return
    if version == '1.0':
        yield problem('quaternion_in_urdf_1_0', here)
    if element.get('rpy') is not None:
        yield problem('two_orientations', here)
    if not _misread(quaternion, _Attribute(numbers=4)):
        norm = math.hypot(*map(float, quaternion.split()))
        if abs(norm - 1.0) > 1e-3:
            yield problem('quaternion_not_normalised', here, norm=norm)


def _subject(element: Any) -> str:
    return 'it' if element.getparent().tag == 'robot' else f'its <{element.tag}>'


def _short(text: str) -> str:
    return text if len(text) <= 60 else f'{text[:60]}…'
