"""Webots' files (.wbt, .proto) as trees of nodes: read, and written in one canonical way.

The format is VRML97's with what Webots adds: EXTERNPROTO by address, and PROTO interfaces. Only
what stands in such files is understood, not JavaScript templates and not all of VRML.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

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

_TOKEN = re.compile(
    r'(?P<space>[\s,]+|\#[^\n]*)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[\[\]{}])|(?P<word>[^\s,"\[\]{}\#]+)'
)
_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')
_WORDS = {'TRUE': True, 'FALSE': False, 'NULL': None}


@dataclass(frozen=True)
class Is:
    """A value that is that of a field of the PROTO's interface."""

    field: str


@dataclass(frozen=True)
class Use:
    """A value that is a node defined before."""

    name: str


@dataclass
class Node:
    """A node.

    Attributes:
        type: e.g. 'Solid'.
        fields: name → value: a tuple of numbers for all that consists of one number or several
            (SFFloat, SFVec3f, SFRotation …), a str, a bool, None for NULL, a Node, an `Is`, a
            `Use`, or a list of numbers, strings or nodes for what stands in brackets (MF…).
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


def parse(text: str) -> Document:
    """Read a file; comments are left out.

    Raises:
        SimulationError: if it is not a Webots file, or has a syntax error; the message names the
            line.
    """
    if not text.startswith('#VRML_SIM '):
        raise SimulationError(
            'This is not a Webots file: its first line is not #VRML_SIM ….', kind='not_vrml'
        )
    return _Parser(text).document()


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


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                self._fail(place, 'vrml_string_open', 'a string is not closed')
            if match.lastgroup != 'space':
                self.tokens.append((str(match.lastgroup), match.group(), place))
            place = match.end()
        self.next = 0

    def document(self) -> Document:
        document = Document([])
        while self._word() == 'EXTERNPROTO':
            self.next += 1
            document.external.append(self._string())
        if self._word() == 'PROTO':
            self.next += 1
            document.interface = self._interface()
            self._expect('{')
            document.nodes.append(self._node())
            self._expect('}')
        while self.next < len(self.tokens):
            if document.interface:
                self._fail(self._peek()[2], 'vrml_trailing', 'nothing may follow a PROTO')
            document.nodes.append(self._node())
        return document

    def _interface(self) -> Interface:
        interface = Interface(self._take('word'))
        self._expect('[')
        while self._word() in ('field', 'vrmlField'):
            self.next += 1
            kind, name = self._take('word'), self._take('word')
            interface.fields[name] = (kind, self._value())
        self._expect(']')
        return interface

    def _node(self) -> Node:
        name = ''
        if self._word() == 'DEF':
            self.next += 1
            name = self._take('word')
        node = Node(self._take('word'), name=name)
        self._expect('{')
        while self._word():
            place = self.tokens[self.next][2]
            key = self._take('word')
            if key in node.fields:
                self._fail(
                    place, 'vrml_field_twice', f'the field {key} of {node.type} stands here twice'
                )
            node.fields[key] = self._value()
        self._expect('}')
        return node

    def _value(self) -> Any:
        kind, text, _ = self._peek()
        if text == '[':
            return self._list()
        if kind == 'string':
            return self._string()
        if _NUMBER.fullmatch(text):
            numbers = []
            while _NUMBER.fullmatch(self._word()):
                numbers.append(float(self._take('word')))
            return tuple(numbers)
        if text in _WORDS:
            self.next += 1
            return _WORDS[text]
        if text in ('IS', 'USE'):
            self.next += 1
            return (Is if text == 'IS' else Use)(self._take('word'))
        return self._node()

    def _list(self) -> list[Any]:
        self._expect('[')
        items: list[Any] = []
        while self._peek()[1] != ']':
            value = self._value()
            items.extend(value if isinstance(value, tuple) else [value])
        self._expect(']')
        return items

    def _word(self) -> str:
        inside = self.next < len(self.tokens) and self.tokens[self.next][0] == 'word'
        return self.tokens[self.next][1] if inside else ''

    def _peek(self) -> tuple[str, str, int]:
        if self.next >= len(self.tokens):
            self._fail(len(self.text), 'vrml_truncated', 'the file ends too early')
        return self.tokens[self.next]

    def _take(self, kind: str) -> str:
        found, text, place = self._peek()
        if found != kind:
            self._fail(place, 'vrml_syntax', f'a {kind} is missing before {text}')
        self.next += 1
        return text

    def _expect(self, mark: str) -> None:
        _, text, place = self._peek()
        if text != mark:
            self._fail(place, 'vrml_syntax', f'{mark} is missing before {text}')
        self.next += 1

    def _string(self) -> str:
        return re.sub(r'\\(.)', r'\1', self._take('string')[1:-1])

    def _fail(self, place: int, kind: str, what: str) -> NoReturn:
        line = self.text.count('\n', 0, place) + 1
        raise SimulationError(f'Line {line} of the Webots file: {what}.', kind=kind, line=line)


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
    if isinstance(value, Use):
        return f'USE {value.name}'
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
