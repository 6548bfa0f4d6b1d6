"""Webots' files (.wbt, .proto) as trees of nodes, written in one canonical way.

The format is VRML97's with what Webots adds: EXTERNPROTO by address, and PROTO interfaces.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from izmp_dynamics.base.errors import SimulationError

IDENTIFIER = re.compile(
    r'(?!(?:DEF|EXTERNPROTO|FALSE|IS|NULL|PROTO|TRUE|USE)\Z)[A-Za-z_][A-Za-z0-9_]*'
)
"""What a DEF or PROTO may be called in Webots' files."""


def def_names(links: Sequence[str]) -> dict[str, str]:
    """Return link → DEF name, each one once; a link whose name is an identifier keeps it.

    Args:
        links: all links, in the order of the URDF.
    """
    names = {link: link for link in links if IDENTIFIER.fullmatch(link)}
    taken = set(names)
    for link in links:
        if link in names:
            continue
        stem = re.sub(r'\W', '_', link, flags=re.ASCII)
        stem = stem if IDENTIFIER.fullmatch(stem) else f'link_{stem}'
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f'{stem}_{count}'
        names[link] = name
        taken.add(name)
    return names


HEADER = '#VRML_SIM R2025a utf8'
"""First line of a file of Webots R2025a."""


@dataclass(frozen=True)
class Is:
    """A value that is that of a field of the PROTO's interface."""

    field: str


@dataclass
class Node:
    """A node.

    Attributes:
        type: e.g. 'Solid'.
        fields: name → value: a tuple of numbers for all that consists of one number or several
            (SFFloat, SFVec3f, SFRotation …), a str, a bool, None for NULL, a Node, an `Is`,
            or a list of numbers, strings or nodes for what stands in brackets (MF…).
        name: by which DEF calls it; empty without.
    """

    type: str
    fields: dict[str, Any] = field(default_factory=dict)
    name: str = ''

    def nodes(self) -> Iterator['Node']:
        """Yield this node and all below it, parents first."""
        yield self
        for value in self.fields.values():
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, Node):
                    yield from item.nodes()


@dataclass
class Interface:
    """What a PROTO shows to the outside.

    Attributes:
        name: of the PROTO.
        fields: name → (type, default value).
    """

    name: str
    fields: dict[str, tuple[str, Any]] = field(default_factory=dict)


@dataclass
class Document:
    """A file.

    Attributes:
        nodes: of a world; the one node of a PROTO.
        interface: of a PROTO; None for a world.
        external: addresses of the PROTOs that are used.
        remarks: comments below the header.
    """

    nodes: list[Node]
    interface: Interface | None = None
    external: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def write(document: Document) -> str:
    """Write a file: two spaces for each level, numbers with twelve digits.

    Raises:
        SimulationError: if a DEF or the PROTO has a name that Webots does not take.
    """
    lines = [HEADER, *(f'# {remark}' for remark in document.remarks), '']
    lines += [f'EXTERNPROTO {_quoted(address)}' for address in document.external]
    lines += [''] if document.external else []
    if document.interface is None:
        for node in document.nodes:
            lines += _node_lines('', node, 0)
    else:
        lines.append(f'PROTO {_identifier(document.interface.name)} [')
        for name, (kind, value) in document.interface.fields.items():
            lines += _value_lines(f'field {kind} {name} ', value, 1)
        lines += [']', '{']
        lines += _node_lines('', document.nodes[0], 1)
        lines.append('}')
    return '\n'.join(lines) + '\n'


def _node_lines(lead: str, node: Node, level: int) -> list[str]:
    name = f'DEF {_identifier(node.name)} ' if node.name else ''
    lines = [f'{"  " * level}{lead}{name}{node.type} {{']
    for key, value in node.fields.items():
        lines += _value_lines(f'{key} ', value, level + 1)
    return [*lines, f'{"  " * level}}}']


def _value_lines(lead: str, value: Any, level: int) -> list[str]:
    indent = '  ' * level
    if isinstance(value, Node):
        return _node_lines(lead, value, level)
    if not isinstance(value, list):
        return [f'{indent}{lead}{_scalar(value)}']
    if not any(isinstance(item, Node) for item in value):
        return [f'{indent}{lead}[{" ".join(map(_scalar, value))}]']
    lines = [f'{indent}{lead}[']
    for item in value:
        lines += _value_lines('', item, level + 1)
    return [*lines, f'{indent}]']


def _scalar(value: Any) -> str:
    if isinstance(value, tuple):
        return ' '.join(map(_scalar, value))
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Is):
        return f'IS {value.field}'
    if value is None:
        return 'NULL'
    if isinstance(value, bool):
        return 'TRUE' if value else 'FALSE'
    text = f'{value:.12g}'
    return '0' if text == '-0' else text


def _identifier(name: str) -> str:
    if not IDENTIFIER.fullmatch(name):
        raise SimulationError(
            f"'{name}' is not a valid name of a Webots node or PROTO; use letters, digits and _, "
            'not beginning with a digit.',
            kind='vrml_name',
            name=name,
        )
    return name


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r'\\\1', text) + '"'
