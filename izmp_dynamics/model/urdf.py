"""Read a URDF file safely, remembering where everything stands.

lxml reads the text (no entities, no network) and knows the lines; urdf_parser_py gives the values
their meaning. Only what carries dynamics is kept: links with their inertials, joints with origin,
axis, limits and mimic. Visuals, collisions, meshes, plugins and transmissions are left out, so a
`package://` mesh that does not exist is no obstacle.
"""

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import etree
from urdf_parser_py import urdf as urdf_types
from urdf_parser_py.xml_reflection import core as xml_reflection

from izmp_dynamics.errors import ModelError

_KEPT = {
    'link': {'inertial'},
    'joint': {'origin', 'parent', 'child', 'axis', 'limit', 'mimic'},
}
_XACRO = 'http://www.ros.org/wiki/xacro'
_JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')
_parser_lock = threading.Lock()


@dataclass(frozen=True)
class Urdf:
    """A parsed URDF with the places of its elements.

    Attributes:
        path: where it was read from; None for text.
        text: the file's text.
        robot: urdf_parser_py's Robot, reduced to what carries dynamics.
        lines: ('link' or 'joint', name) → line in the file.
        sha256: hexadecimal digest of the file's bytes.
    """

    path: Path | None
    text: str
    robot: Any
    lines: Mapping[tuple[str, str], int]
    sha256: str

    def where(self, kind: str, name: str) -> str:
        """Describe the place of a link or joint, e.g. "link 'torso' (line 12)"."""
        line = self.lines.get((kind, name))
        return f"{kind} '{name}'" + (f' (line {line})' if line else '')


def read_urdf(path: str | Path) -> Urdf:
    """Read a URDF file.

    Args:
        path: the file.

    Raises:
        ModelError: if it cannot be read, is not XML, is xacro, is no URDF, or declares entities.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"There is no URDF file '{path}'.") from None
    except OSError as error:
        raise ModelError(f"The URDF file '{path}' cannot be read: {error.strerror}.") from error
    return parse_urdf(data, path)


def parse_urdf(data: bytes | str, path: Path | None = None) -> Urdf:
    """Parse the text of a URDF; `path` only serves the messages. Raises as `read_urdf`."""
    if isinstance(data, str):
        data = data.encode()
    name = f"'{path}'" if path else 'the given text'
    root = _parse_xml(data, name)
    if (path is not None and path.suffix == '.xacro') or _uses_xacro(root):
        raise ModelError(
            f'{name} is xacro, not URDF; expand it first: '
            f'xacro {path or "robot.urdf.xacro"} > robot.urdf'
        )
    if root.tag != 'robot':
        raise ModelError(f'{name} is no URDF: its outermost element is <{root.tag}>, not <robot>.')
    lines = _reduce(root, name)
    return Urdf(
        path=path,
        text=data.decode(errors='replace'),
        robot=_interpret(root, name),
        lines=lines,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _parse_xml(data: bytes, name: str) -> Any:
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ModelError(f'{name} is not valid XML: {error.msg}.') from error
    if root.getroottree().docinfo.doctype:
        raise ModelError(
            f'{name} declares a document type (<!DOCTYPE …>); URDF has none, and entities are '
            'not expanded. Remove the declaration.'
        )
    return root


def _uses_xacro(root: Any) -> bool:
    return any(
        isinstance(element.tag, str) and element.tag.startswith(f'{{{_XACRO}}}')
        for element in root.iter()
    )


def _reduce(root: Any, name: str) -> dict[tuple[str, str], int]:
    """Drop all that carries no dynamics, in place; return the lines of links and joints."""
    lines: dict[tuple[str, str], int] = {}
    for element in list(root):
        if element.tag not in _KEPT:
            root.remove(element)
            continue
        label = element.get('name')
        if not label:
            raise ModelError(f'{name}, line {element.sourceline}: a <{element.tag}> has no name.')
        key = (element.tag, label)
        if key in lines:
            raise ModelError(
                f"{name}, line {element.sourceline}: there are two {element.tag}s named '{label}' "
                f'(the other is in line {lines[key]}).'
            )
        lines[key] = element.sourceline
        for child in list(element):
            if child.tag not in _KEPT[element.tag]:
                element.remove(child)
        if element.tag == 'joint':
            _complete_joint(element, name)
    return lines


def _complete_joint(element: Any, name: str) -> None:
    """Refuse an unknown joint type; fill in limits that urdf_parser_py insists on."""
    if element.get('type') not in _JOINT_TYPES:
        raise ModelError(
            f"{name}, line {element.sourceline}: joint '{element.get('name')}' has the type "
            f"'{element.get('type')}'; valid: {', '.join(_JOINT_TYPES)}."
        )
    for limit in element.findall('limit'):
        for attribute in ('effort', 'velocity'):
            limit.set(attribute, limit.get(attribute, 'inf'))


def _interpret(root: Any, name: str) -> Any:
    if root.get('name') is None:
        root.set('name', 'robot')
    with _parser_lock:  # the library reports through a module-wide hook
        report = xml_reflection.on_error
        xml_reflection.on_error = lambda message: None  # attributes that are not URDF's
        try:
            return urdf_types.URDF.from_xml_string(etree.tostring(root))
        except Exception as error:  # the library raises many kinds, all about the content
            cause = ' '.join(str(error).split())
            raise ModelError(f'{name} is no valid URDF: {cause}.') from error
        finally:
            xml_reflection.on_error = report
