"""Read a URDF file safely, with the line of every link and joint.

lxml reads the text (no entities, no network) and knows the lines, `urdf_grammar` checks the form,
urdf_parser_py gives the values their meaning. Only what carries dynamics is kept: links with
their inertials, joints with origin, axis, limits and mimic. Visuals, collisions, meshes, plugins
and transmissions are left out, so a `package://` mesh that does not exist is no obstacle.
"""

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from lxml import etree
from urdf_parser_py import urdf as urdf_types
from urdf_parser_py.xml_reflection import core as xml_reflection

from izmp_dynamics.base.errors import ModelError
from izmp_dynamics.files.place import read_regular_file
from izmp_dynamics.model.urdf_grammar import (
    GRAMMAR,
    VERSIONS,
    Problem,
    check_element,
    lookalike,
    problem,
    refuse_errors,
)


def expand_xacro(path: Path) -> bytes:
    """Return the URDF that a xacro file stands for, with its default arguments.

    Raises:
        ModelError: if xacro is not installed here, or refuses the file.
    """
    try:
        import xacro
    except ImportError as error:
        raise ModelError(
            f"'{path}' is xacro, not URDF, and xacro is not installed here. Install it (apt: "
            'ros-$ROS_DISTRO-xacro), or expand the file where it is: xacro robot.urdf.xacro > '
            'robot.urdf',
            kind='xacro', path=path,
        ) from error  # fmt: skip
    try:
        text: str = xacro.process_file(str(path)).toxml()
    except Exception as error:  # xacro evaluates expressions of Python
        raise ModelError(
            f"xacro cannot expand '{path}': {error}.",
            kind='xacro_refuses', path=path, cause=error,
        ) from error  # fmt: skip
    return text.encode()


LARGEST = 2**25
"""Most bytes of a URDF file."""

SUFFIXES = ('.urdf', '.xacro')
_LISTED = 5  # files that are there instead of the one that was asked for
_PARTS = {'link': GRAMMAR['link'], 'joint': GRAMMAR['joint']}
_ABSENT = {
    'limit': {'effort': 'inf', 'velocity': 'inf'},
    'inertia': {'ixy': '0', 'ixz': '0', 'iyz': '0'},
}  # values of absent attributes that urdf_parser_py requires
_XACRO_NAMESPACES = tuple(
    f'http://{host}/xacro' for host in ('www.ros.org/wiki', 'ros.org/wiki', 'wiki.ros.org')
)
_XACRO = (
    'is xacro, not URDF: name it *.xacro, and it is expanded where xacro is installed; or expand '
    'it first: xacro robot.urdf.xacro > robot.urdf'
)
_DOCTYPE = (
    'declares a document type (<!DOCTYPE …>); URDF has none, and entities are not expanded. '
    'Remove the declaration.'
)
_parser_lock = threading.Lock()


@dataclass(frozen=True)
class Urdf:
    """A parsed URDF with the places of its elements.

    Attributes:
        path: where it was read from; None for text.
        text: the whole document without XML declaration and comments.
        robot: urdf_parser_py's Robot, reduced to what carries dynamics.
        lines: ('link' or 'joint', name) → line in the file.
        sha256: hexadecimal digest of the file's bytes.
        remarks: anomalies of its form, as warnings.
        shaped: links with a <visual> or <collision> that has a shape.
    """

    path: Path | None
    text: str
    robot: Any
    lines: Mapping[tuple[str, str], int]
    sha256: str
    remarks: tuple[Problem, ...] = ()
    shaped: frozenset[str] = frozenset()

    def where(self, kind: str, name: str) -> str:
        """Describe the place of a link or joint, e.g. "link 'torso' (line 12)"."""
        line = self.lines.get((kind, name))
        return f"{kind} '{name}'" + (f' (line {line})' if line else '')

    def with_frame(
        self, name: str, link: str, xyz: Iterable[float], rpy: Iterable[float]
    ) -> 'Urdf':
        """Add a massless link that is fixed to another, unless there is one of that name.

        Args:
            name: of the new link.
            link: that it is fixed to.
            xyz: place of its origin in that link [m].
            rpy: roll, pitch, yaw in that link [rad].
        """
        if name in self.robot.link_map:
            return self
        root = etree.fromstring(self.text)
        etree.SubElement(root, 'link', name=name)
        joint = etree.SubElement(root, 'joint', name=f'{name}_mount', type='fixed')
        etree.SubElement(joint, 'parent', link=link)
        etree.SubElement(joint, 'child', link=name)
        place = {'xyz': ' '.join(map(repr, xyz)), 'rpy': ' '.join(map(repr, rpy))}
        etree.SubElement(joint, 'origin', place)
        text = etree.tostring(root, encoding='unicode')
        added = parse_urdf(text, self.path)
        return replace(added, lines=self.lines, sha256=self.sha256, remarks=self.remarks)

    def reachable(self, links: Iterable[str], *kinds: str) -> set[str]:
        """Return `links` and all links below them, across joints of the given kinds (or any)."""
        reached = set(links)
        frontier = list(reached)
        while frontier:
            for joint, child in self.robot.child_map.get(frontier.pop(), ()):
                fits = not kinds or self.robot.joint_map[joint].type in kinds
                if fits and child not in reached:
                    reached.add(child)
                    frontier.append(child)
        return reached


def read_urdf(path: str | Path) -> Urdf:
    """Read a URDF file, or expand a xacro file (*.xacro); lines are then those of the expansion.

    Args:
        path: the file.

    Raises:
        ModelError: if it cannot be read or expanded, is not XML, is no URDF, declares entities, or
            has elements that break the grammar of URDF; the message lists them with their lines.
    """
    path = Path(path)
    try:
        data = read_regular_file(path, LARGEST)
    except FileNotFoundError:
        raise ModelError(_absent(path), kind='file_absent', path=path) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        cause = getattr(error, 'strerror', None) or error
        if isinstance(error, IsADirectoryError):
            cause = 'it is a folder; give a URDF or xacro file (are bag and URDF swapped?)'
        raise ModelError(
            f"The URDF file '{path}' cannot be read: {cause}.", kind='file_unreadable', path=path
        ) from error
    if path.suffix.lower() == '.xacro':
        with _parser_lock:
            data = expand_xacro(path)
    return parse_urdf(data, path)


def _absent(path: Path) -> str:
    """Say that there is no such file, and which ones are where it was looked for."""
    try:
        folder = os.path.dirname(os.path.abspath(path))
        names = sorted(name for name in os.listdir(folder) if name.lower().endswith(SUFFIXES))
    except FileNotFoundError:  # there is no such folder, or the working folder was deleted
        return f"There is no URDF file '{path}', nor its folder."
    except OSError:
        return f"There is no URDF file '{path}'."
    there = ', '.join(names[:_LISTED]) or 'none'
    more = f' and {len(names) - _LISTED} more' if len(names) > _LISTED else ''
    return f"There is no URDF file '{path.name}' in '{folder}'; URDFs there: {there}{more}."


@lru_cache(maxsize=4)  # robot file, model and report each ask for the same one
def parse_urdf(data: bytes | str, path: Path | None = None) -> Urdf:
    """Parse the text of a URDF; `path` only serves the messages. Raises as `read_urdf`."""
    name = f"'{path}'" if path else 'The given text'
    encoding = 'utf-8' if isinstance(data, str) else None  # even if the text declares another
    if isinstance(data, str):
        data = data.encode(errors='surrogatepass')
    root = _parse_xml(data, encoding, name)
    if _uses_xacro(root):
        raise ModelError(f'{name} {_XACRO}', kind='xacro', path=path)
    if root.tag != 'robot':
        raise ModelError(
            f'{name} is not a URDF: its outermost element is <{root.tag}>, not <robot>.',
            kind='other_format', path=path, element=root.tag,
        )  # fmt: skip
    text = etree.tostring(root, encoding='unicode')
    remarks = tuple(_check(root))
    refuse_errors(remarks, name)
    with_shape = root.xpath('link[visual/geometry/* or collision/geometry/*]')
    shaped = frozenset(link.get('name') for link in with_shape)
    return Urdf(
        path=path,
        text=text,
        lines={(part.tag, part.get('name')): part.sourceline for part in _parts(root)},
        robot=_interpret(_reduced(root), name),
        sha256=hashlib.sha256(data).hexdigest(),
        remarks=remarks,
        shaped=shaped,
    )


def _parse_xml(data: bytes, encoding: str | None, name: str) -> Any:
    parser = etree.XMLParser(
        encoding=encoding,
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        cause = ' '.join(error.msg.split())
        kind, text = _suspicion(data) or ('invalid_xml', f'is not valid XML: {cause}.')
        raise ModelError(f'{name} {text}', kind=kind, line=error.lineno) from error
    if root.getroottree().docinfo.doctype:
        kind, text = _suspicion(data) or ('document_type', _DOCTYPE)
        raise ModelError(f'{name} {text}', kind=kind)
    return root


def _suspicion(data: bytes) -> tuple[str, str] | None:
    """Return kind and description of a file that cannot be parsed, for the usual mistakes."""
    text = data.lower()
    if not text.strip():
        return 'empty', 'is empty.'
    if b'<html' in text:
        return 'web_page', 'is a web page, not a URDF; was the page saved that shows the file?'
    if b'\0' in text and data[:2] not in (b'\xff\xfe', b'\xfe\xff'):  # UTF-16
        return 'binary', 'is a binary file, not the text of a URDF.'
    if b'<!doctype' in text:
        return 'document_type', _DOCTYPE
    if b'<xacro:' in text:
        return 'xacro', _XACRO
    return None


def _uses_xacro(root: Any) -> bool:
    """Whether there are xacro elements, or expressions where the dynamics stand."""
    return any(
        isinstance(element.tag, str)
        and (
            etree.QName(element).namespace in _XACRO_NAMESPACES
            or (element.tag in GRAMMAR and any('${' in text for text in element.values()))
        )
        for element in root.iter()
    )


def _parts(root: Any) -> list[Any]:
    return [element for element in root if element.tag in _PARTS]


def _check(root: Any) -> Iterator[Problem]:
    """Check the version, the names and the grammar of the links and joints."""
    version = root.get('version', '1.0')
    if version not in VERSIONS:
        known = ', '.join(VERSIONS)
        yield problem('unknown_urdf_version', '', version=version, known=known)
    for element in root:
        meant = lookalike(element.tag, _PARTS)
        if meant:
            where = f'<{element.tag}> (line {element.sourceline})'
            yield Problem('warning', 'ignored_element', where, f'ignored; did you mean <{meant}>?')
    first: dict[tuple[str, str], Any] = {}
    for part in _parts(root):
        label = part.get('name', '').strip()
        where = f"{part.tag} '{label}'" if label else f'a <{part.tag}>'
        twin = first.setdefault((part.tag, label), part)
        if label and twin is not part:
            here, line = f'{where} (line {part.sourceline})', twin.sourceline
            yield problem('repeated_name', here, tag=part.tag, line=line)
        yield from check_element(part, where, version)


def _reduced(root: Any) -> Any:
    """Drop, in place, all that carries no dynamics; adapt the rest to urdf_parser_py."""
    parts = _parts(root)
    root[:] = parts
    for part in parts:
        part[:] = [child for child in part if child.tag in _PARTS[part.tag].children]
    for tag, absent in _ABSENT.items():
        for element in root.iter(tag):
            for attribute, value in absent.items():
                element.set(attribute, element.get(attribute, value))
    for origin in root.iter('origin'):
        quaternion = origin.attrib.pop('quat_xyzw', None)
        if quaternion is not None:
            # scipy takes long to import, and hardly any URDF has quaternions
            from scipy.spatial.transform import Rotation

            rotation = Rotation.from_quat([float(number) for number in quaternion.split()])
            origin.set('rpy', ' '.join(map(repr, rotation.as_euler('xyz').tolist())))
    root.set('version', '1.0')
    root.set('name', root.get('name', 'robot'))
    return root


def _interpret(root: Any, name: str) -> Any:
    with _parser_lock:  # the library reports through a module-wide hook
        report = xml_reflection.on_error
        xml_reflection.on_error = lambda message: None  # attributes that are not URDF's
        try:
            return urdf_types.URDF.from_xml_string(etree.tostring(root))
        except Exception as error:  # the library raises many kinds, all about the content
            cause = ' '.join(str(error).split())
            what = f'{name} is not a valid URDF: {cause}.'
            raise ModelError(what, kind='invalid_urdf') from error
        finally:
            xml_reflection.on_error = report
