"""Mutations of YAML, XML and SQLite by their structure."""

import copy
import sqlite3
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml
from fuzz_bytes import mutated_text
from fuzz_values import encoded, name, number
from numpy.random import Generator

_ABC = 'abcdefghi'

_BOMBS = (
    'a: &a [x,x,x,x,x,x,x,x,x]\n'
    + ''.join(f'{b}: &{b} [{",".join(9 * [f"*{a}"])}]\n' for a, b in pairwise(_ABC))
    + 'all: *i\n',
    'deep: ' + 5_000 * '[' + 5_000 * ']' + '\n',
    'deep: ' + 3_000 * '{a: ' + 3_000 * '}' + '\n',
    'deep:\n' + ''.join(' ' * k + '-\n' for k in range(1, 900)),
    'self: &self [*self]\n',
    'm: &m {k: 1}\nn: {<<: *m, <<: [*m, *m]}\n',
    'o: !!python/object/apply:os.system [exit]\n',
    'b: !!binary x\nt: 2001-99-99\nu: 2001-01-01T99:00:00\ns: !!set {1, 2}\n',
    '---\na: 1\n---\nb: 2\n',
    '? [complex, key]\n: 1\n? {a: b}\n: 2\n',
    'long: ' + 300_000 * 'x' + '\n',
    'many: [' + 50_000 * '1,' + '1]\n',
    '%YAML 9.9\n---\n',
    'urdf: /dev/zero\n',
    'urdf: .\n',
    '\t\n',
)

_LAUGHS = ''.join(f'<!ENTITY {b} "{9 * f"&{a};"}">' for a, b in pairwise(_ABC))
_PROLOGUES = (
    f'<!DOCTYPE robot [<!ENTITY a "ha">{_LAUGHS}]>',
    '<!DOCTYPE robot [<!ENTITY i SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE robot SYSTEM "robot.dtd">',
    '<?xml version="1.0" encoding="utf-7"?>',
    '<?xml version="1.1"?>',
    '<?xml-stylesheet href="x"?>',
    '<!-- -- -->',
)

_STATEMENTS = (
    'UPDATE messages SET timestamp = {value} WHERE id % 7 = 3',
    'UPDATE messages SET timestamp = {value}',
    'UPDATE messages SET topic_id = {value} WHERE id % 5 = 2',
    'UPDATE messages SET data = {value} WHERE id % 9 = 4',
    'UPDATE messages SET data = substr(data, 1, length(data) - 3)',
    'UPDATE messages SET id = -id',
    'UPDATE topics SET id = {value} WHERE id = 1',
    'UPDATE topics SET name = {value} WHERE id = 2',
    'UPDATE topics SET type = {value} WHERE id = 1',
    "UPDATE topics SET type = 'std_msgs/msg/String' WHERE id = 2",
    'UPDATE topics SET serialization_format = {value}',
    'UPDATE topics SET offered_qos_profiles = {value}',
    'UPDATE topics SET name = (SELECT name FROM topics LIMIT 1)',
    'UPDATE schema SET schema_version = {value}',
    'UPDATE schema SET ros_distro = {value}',
    'UPDATE metadata SET metadata = {value}',
    'UPDATE metadata SET metadata_version = {value}',
    'UPDATE message_definitions SET encoded_message_definition = {value}',
    'UPDATE message_definitions SET topic_type = {value}',
    'DELETE FROM topics WHERE id = 1',
    'DELETE FROM messages',
    'DELETE FROM schema',
    'INSERT INTO schema SELECT * FROM schema',
    'INSERT INTO topics SELECT id + 100, name, type, serialization_format, offered_qos_profiles, '
    'type_description_hash FROM topics',
    'DROP TABLE messages',
    'DROP TABLE topics',
    'DROP TABLE schema',
    'DROP TABLE message_definitions',
    'DROP INDEX timestamp_idx',
    'ALTER TABLE messages RENAME COLUMN data TO datum',
    'ALTER TABLE topics RENAME COLUMN type TO kind',
    'ALTER TABLE messages RENAME TO m; CREATE VIEW messages AS SELECT * FROM m',
    'ALTER TABLE messages RENAME TO m; CREATE VIEW messages AS WITH RECURSIVE r(x) AS (VALUES(1) '
    "UNION ALL SELECT x + 1 FROM r) SELECT x AS id, 1 AS topic_id, x AS timestamp, x'00' AS data "
    'FROM r',
    'PRAGMA journal_mode = WAL',
    'PRAGMA encoding = "UTF-16"',
    'PRAGMA user_version = 7',
    'PRAGMA page_size = 512; VACUUM',
    'PRAGMA auto_vacuum = 1; VACUUM',
    'CREATE TABLE other (x); INSERT INTO other VALUES (zeroblob(1000000))',
)

_VALUES = (
    'NULL', "''", "x''", "'text'", "x'00010000ffffffff'", "x'ff'", 'zeroblob(300000)', '1.5',
    '9e999', '-1', '0', '2147483648', '9223372036854775807', '-9223372036854775808', 'id',
    'rowid * 1e9',
    "char(27) || '[31m'", 'char(0xd800)', "CAST(x'eda080' AS TEXT)", "'/' || char(10)",
    "CAST(x'fffe' AS TEXT)", "'[/bold]'", "replace(hex(zeroblob(5000)), '00', 'ab')",
)  # fmt: skip


def mutated_yaml(rng: Generator, content: bytes) -> bytes:
    """Change the text of a YAML file, or a node of its tree, or put a bomb into it."""
    what = rng.random()
    if what < 0.4:
        return mutated_text(rng, content)
    if what < 0.5:
        bomb = encoded(_BOMBS[rng.integers(len(_BOMBS))])
        return bomb + content if rng.random() < 0.5 else content + b'\n' + bomb
    try:
        tree = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError):
        return mutated_text(rng, content)
    tree = _mutated_node(rng, tree)
    options = {'allow_unicode': bool(rng.random() < 0.5), 'sort_keys': False}
    return encoded(yaml.safe_dump(tree, **options))


def mutated_xml(rng: Generator, content: bytes) -> bytes:
    """Change the text of an XML file, an element of its tree, or its prologue."""
    what = rng.random()
    if what < 0.35:
        return mutated_text(rng, content)
    if what < 0.38:
        depth, at = int(10 ** rng.integers(5)), content.rfind(b'</')
        return content[:at] + depth * b'<link>' + depth * b'</link>' + content[at:]
    if what < 0.45:
        prologue = encoded(_PROLOGUES[rng.integers(len(_PROLOGUES))])
        at = max(content.find(b'<robot'), 0)
        entity = (b'<robot>&i;', b'<robot')[rng.integers(2)]
        return content[:at] + prologue + entity + content[at + len(b'<robot') :]
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError):
        return mutated_text(rng, content)
    try:
        _mutate_element(rng, root)
        return encoded(ElementTree.tostring(root, 'unicode'))
    except RecursionError:  # it was nested deeply before
        return mutated_text(rng, content)


def mutated_sqlite(rng: Generator, content: bytes, scratch: Path) -> bytes:
    """Change rows, tables or the form of a database."""
    path = scratch / 'mutated.db3'
    path.write_bytes(content)
    statement = _STATEMENTS[rng.integers(len(_STATEMENTS))]
    value = _VALUES[rng.integers(len(_VALUES))]
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.executescript(statement.format(value=value))
    except sqlite3.Error:
        pass  # the file is what it was, or was corrupted before
    finally:
        database.close()
    changed = path.read_bytes()
    path.unlink()
    return changed


def _mutated_node(rng: Generator, node: Any) -> Any:
    """Change a node somewhere in a tree of dictionaries and lists."""
    children = list(node) if isinstance(node, dict) else list(range(_length(node)))
    if not children or rng.random() < 0.15:
        return _other_node(rng, node)
    key = children[rng.integers(len(children))]
    match int(rng.integers(8)):
        case 0:
            del node[key]
        case 1 if isinstance(node, dict):
            node[name(rng)] = node[key]
        case 1:
            node.extend([node[key]] * int(10 ** rng.integers(4)))
        case 2 if isinstance(node, dict):
            node[name(rng)] = node.pop(key)
        case _:
            node[key] = _mutated_node(rng, node[key])
    return node


def _length(node: Any) -> int:
    return len(node) if isinstance(node, list) else 0


def _other_node(rng: Generator, node: Any) -> Any:
    match int(rng.integers(6)):
        case 0:
            return name(rng)
        case 1:
            return [node]
        case 2:
            return {name(rng): node}
        case 3:
            return (None, True, [], {}, float('nan'), float('inf'))[rng.integers(6)]
        case _:
            return yaml_scalar(number(rng))


def yaml_scalar(text: str) -> Any:
    """What YAML makes of a number; the text itself where it is none."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return text


def _mutate_element(rng: Generator, root: ElementTree.Element) -> None:
    elements = list(root.iter())
    element = elements[int(rng.integers(len(elements)))]
    parent = next((other for other in elements if element in list(other)), None)
    keys = list(element.attrib)
    match int(rng.integers(10)):
        case 0 if parent is not None:
            parent.remove(element)
        case 1 if parent is not None:
            parent.append(element)
        case 2:
            element.append(copy.deepcopy(elements[int(rng.integers(len(elements)))]))
        case 3:
            element.tag = ('link', 'joint', 'mimic', 'inertial', 'x', 'gazebo')[rng.integers(6)]
        case 4 if keys:
            del element.attrib[keys[int(rng.integers(len(keys)))]]
        case 5:
            element.text = name(rng)
        case _ if keys:
            key = keys[int(rng.integers(len(keys)))]
            old = element.attrib[key]
            numbers = old.split()
            if numbers and rng.random() < 0.6:
                numbers[int(rng.integers(len(numbers)))] = number(rng)
                element.attrib[key] = ' '.join(numbers)
            else:
                _rename(rng, root, old, name(rng))


def _rename(rng: Generator, root: ElementTree.Element, old: str, new: str) -> None:
    """Give an attribute's value another one, there only or wherever it occurs."""
    everywhere = rng.random() < 0.5
    for element in root.iter():
        for key, value in element.attrib.items():
            if value == old:
                element.attrib[key] = new
                if not everywhere:
                    return
