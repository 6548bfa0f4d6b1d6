"""Read a short YAML text into nodes that know their lines, with errors that suggest a fix.

Nothing is constructed here: no Python objects, no dates, no guessing of types. The reader of the
nodes knows which types it expects.
"""

from pathlib import Path
from typing import NoReturn

import yaml

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.base.resources import find_resources
from izmp_dynamics.files.place import read_regular_file

LARGEST_FILE = 1_000_000
"""Size beyond which a file is no robot file [byte]."""

_PLAIN_TAGS = {
    f'tag:yaml.org,2002:{kind}'
    for kind in ('null', 'bool', 'int', 'float', 'str', 'timestamp', 'seq', 'map', 'value')
}
_FIXES = {
    'cannot start any token': 'indent with spaces; quote text that begins with a special sign',
    'mapping values are not allowed': 'text that contains ": " needs quotes',
    "but got '<stream end>'": 'a bracket or quote is not closed',
    'end of stream': 'a bracket or quote is not closed',
    'expected <block end>': 'keys of one level begin in the same column',
    'undefined alias': 'an alias (*name) needs an anchor (&name) above it',
}


def read_yaml(path: Path) -> yaml.Node | None:
    """Read a YAML file.

    Args:
        path: the file.

    Returns:
        The outermost node; None if the file holds nothing.

    Raises:
        RobotFileError: if it cannot be read, is not UTF-8, is far too large or no YAML; the
            message names the line.
    """
    text = _read_text(path)
    try:
        if '\\' in text:
            _refuse_surrogates(path, text)
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        _refuse(path, error)
    except yaml.reader.ReaderError as error:
        line = text.count('\n', 0, error.position) + 1
        message = f'YAML does not allow the character U+{error.character:04X}.'
        raise _at_line(path, line, message, 'forbidden_character') from error
    except RecursionError as error:
        raise RobotFileError(
            f"'{path}' is not valid YAML: nested too deeply.", kind='invalid_yaml', path=path
        ) from error
    except (ValueError, OverflowError) as error:
        raise RobotFileError(
            f"'{path}' is not valid YAML: an escape (\\U…) or a version is out of bounds.",
            kind='invalid_yaml',
            path=path,
        ) from error


def fail(path: Path, node: yaml.Node, message: str, kind: str, **data: object) -> NoReturn:
    """Raise a RobotFileError that names the file and the line of `node`."""
    raise _at_line(path, node.start_mark.line + 1, message, kind, **data)


def _at_line(path: Path, line: int, message: str, kind: str, **data: object) -> RobotFileError:
    stated = data | {'path': path, 'line': line}
    return RobotFileError(f"'{path}', line {line}: {message}", kind=kind, **stated)


def check_tag(path: Path, node: yaml.Node, name: str) -> None:
    """Refuse a node with a tag (`!…`) that asks for more than plain values.

    Raises:
        RobotFileError: with the line of the node.
    """
    if node.tag == 'tag:yaml.org,2002:merge':
        fail(path, node, 'merge keys (<<) are not supported; repeat the keys.', 'merge_key')
    if node.tag not in _PLAIN_TAGS:
        tag = node.tag.replace('tag:yaml.org,2002:', '!!')
        message = f"{name} has the tag '{tag}'; only plain values are allowed."
        fail(path, node, message, 'tag', key=name, tag=tag)


def is_null(node: yaml.Node) -> bool:
    """Whether the node is empty, `~` or `null`."""
    return isinstance(node, yaml.ScalarNode) and node.tag == 'tag:yaml.org,2002:null'


def _read_text(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > LARGEST_FILE:
            size = path.stat().st_size / 1e6
            raise RobotFileError(
                f"'{path}' has {size:.0f} MB; a robot file is a short YAML text.",
                kind='file_too_large', path=path,
            )  # fmt: skip
        data = read_regular_file(path, LARGEST_FILE)
    except FileNotFoundError:
        instead = 'izmp draft writes one from a recording and a URDF.'
        if path.stem in (file.parent.name for file in find_resources('robots/*/robot.yaml')):
            instead = f"That of the shipped robot is named '{path.stem}'."
        raise RobotFileError(
            f"There is no robot file '{path}'. {instead}", kind='file_absent', path=path
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        cause = getattr(error, 'strerror', None) or error
        raise RobotFileError(
            f"The robot file '{path}' cannot be read: {cause}.", kind='file_unreadable', path=path
        ) from error
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start) + 1
        message = f'this is not UTF-8 (byte 0x{data[error.start]:02x}); save the file as UTF-8.'
        raise _at_line(path, line, message, 'not_utf8') from error


def _refuse_surrogates(path: Path, text: str) -> None:
    """Refuse escapes of half a character (U+D800 …): no other file could hold such a name."""
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken):
            half = next((c for c in token.value if '\ud800' <= c <= '\udfff'), None)
            if half is not None:
                line = token.start_mark.line + 1
                message = f'the escape \\u{ord(half):04x} is half a character.'
                raise _at_line(path, line, message, 'half_character')


def _refuse(path: Path, error: yaml.MarkedYAMLError) -> NoReturn:
    """Turn PyYAML's report into an error that suggests a fix."""
    mark = error.problem_mark or error.context_mark
    place = f', line {mark.line + 1}, column {mark.column + 1}' if mark else ''
    cause = ', '.join(part for part in (error.context, error.problem) if part)
    fix = next((text for key, text in _FIXES.items() if key in cause), '')
    hint = f' ({fix})' if fix else ''
    raise RobotFileError(
        f"'{path}'{place}: not valid YAML: {cause}{hint}.",
        kind='invalid_yaml', path=path, fix=fix,
        **({'line': mark.line + 1, 'column': mark.column + 1} if mark else {}),
    ) from error  # fmt: skip
