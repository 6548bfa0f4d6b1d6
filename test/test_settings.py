"""YAML becomes typed settings, or a sentence that names the line and what would be valid."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from izmp_dynamics.errors import RobotFileError
from izmp_dynamics.model.settings import (
    MOST_VALUES,
    NOT_IN_FILE,
    flatten,
    read_settings,
    setting,
)
from izmp_dynamics.model.yaml_text import LARGEST_FILE


@dataclass(frozen=True)
class Motor:
    name: str = setting('name of the motor')
    torque: float = setting('peak torque', default=2.0, unit='N·m', lower=0.0, upper=100.0)


@dataclass(frozen=True)
class Lamp:
    colour: str = setting('colour', default='red', choices=('red', 'green'))
    side: int = setting('side', default=1, choices=(1, -1))

    def __post_init__(self) -> None:
        if self.colour == 'green' and self.side == -1:
            raise RobotFileError('green lamps are on side 1.')


@dataclass(frozen=True)
class Machine:
    name: str = setting('name of the machine')
    size: tuple[float, float] = setting(
        'width and depth', default=(1.0, 2.0), unit='m', upper=9.0, hint='metres'
    )
    count: int = setting('how many', default=3, lower=0, upper=10)
    silent: bool = setting('whether it is silent', default=False)
    label: str | None = setting('label', default=None)
    lamp: Lamp = setting('lamp', factory=Lamp)  # noqa: RUF009 (declares a field)
    spare: Motor | None = setting('spare motor', default=None)  # noqa: RUF009
    motors: tuple[Motor, ...] = setting('motors', default=())
    secret: int = field(default=7, metadata=NOT_IN_FILE)


@pytest.fixture
def read(tmp_path):
    """Read a text, or bytes, as settings of a machine."""

    def reader(text):
        path = tmp_path / 'machine.yaml'
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_settings(Machine, path)

    return reader


BAD = {
    'empty': ('', 'is empty; it needs at least: name'),
    'comments only': ('# nothing\n\n', 'is empty'),
    'null': ('null', 'is empty'),
    'a list': ('- name: x', 'line 1: the file must be a mapping with keys: name, size'),
    'a word': ('machine', 'line 1: the file must be a mapping'),
    'missing key': ('count: 3', r"line 1: the file lacks 'name' \(name of the machine\)"),
    'missing keys below': (
        'name: x\nmotors:\n  - {torque: 3}',
        r"line 3: motors\[0\] lacks 'name'",
    ),
    'key without value': ('name:\ncount: 3', "the file lacks 'name'"),
    'unknown key': ('name: x\ncolor: red', "line 2: unknown key 'color'; valid: name, size"),
    'misspelt key': ('name: x\ncuont: 3', r"unknown key 'cuont'.* Did you mean 'count'\?"),
    'capital key': ('Name: x', "Did you mean 'name'"),
    'misspelt key below': ('name: x\nlamp: {colur: red}', "'lamp.colur'; .*mean 'colour'"),
    'misplaced key': ('name: x\ntorque: 3', r'mean spare\.torque or motors\.torque\?'),
    'key set by the program': ('name: x\nsecret: 3', "unknown key 'secret'"),
    'duplicate key': ('name: x\ncount: 3\ncount: 4', "line 3: the key 'count' .*second time"),
    'duplicate key below': (
        'name: x\nlamp: {colour: red, colour: red}',
        "'lamp.colour' stands here a second time",
    ),
    'list as key': ('name: x\n[a, b]: c', 'line 2: a key must be a word'),
    'mapping as key': ('name: x\n{a: b}: c', 'line 2: a key must be a word'),
    'word for a number': ('name: x\nmotors: [{name: a, torque: strong}]', 'number in N·m, not'),
    'number with unit': ('name: x\nmotors: [{name: a, torque: 3 Nm}]', "N·m, not '3 Nm'"),
    'number with comma': ('name: x\nspare: {name: a, torque: "1,5"}', "not '1,5'"),
    'time for a number': ('name: x\nspare: {name: a, torque: 1:30}', "not '1:30'"),
    'truth for a number': ('name: x\ncount: true', "whole number, not 'true'"),
    'fraction for a count': ('name: x\ncount: 3.0', "whole number, not '3.0'"),
    'huge count': (f'name: x\ncount: {"9" * 5000}', "whole number, not '9{80}'"),
    'number too large': ('name: x\nspare: {name: a, torque: 1e3}', 'valid: 0 to 100 N·m'),
    'number too long': (f'name: x\nspare: {{name: a, torque: {"9" * 5000}}}', 'valid: 0 to 100'),
    'not a number': ('name: x\nspare: {name: a, torque: .nan}', r'torque is \.nan; valid: 0 to'),
    'infinite': ('name: x\nspare: {name: a, torque: -.inf}', r'torque is -\.inf; valid'),
    'unit hint': ('name: x\nsize: [1, 500]', r'size\[1\] is 500; valid: .* to 9 m \(metres\)'),
    'no choice': ('name: x\nlamp: {colour: blue}', "lamp.colour is 'blue'; valid: red, green"),
    'no numeric choice': ('name: x\nlamp: {side: 0}', "lamp.side is '0'; valid: 1, -1"),
    'word for a truth': (
        'name: x\nsilent: perhaps',
        "silent must be true or false, not 'perhaps'",
    ),
    'list for a word': ('name: [x]', 'line 1: name must be a word, not a list'),
    'mapping for a number': ('name: x\ncount: {a: 1}', 'count must be a whole number, not a list'),
    'empty word': ('name: ""', 'name must be a word; nothing stands there'),
    'word for a list': ('name: x\nmotors: all', r'motors must be a list; it is: motors'),
    'mapping for a list': ('name: x\nmotors: {name: a}', 'motors must be a list'),
    'word for a mapping': ('name: x\nlamp: red', 'lamp must be a mapping with keys: colour, side'),
    'list for a mapping': ('name: x\nlamp: [red]', 'lamp must be a mapping'),
    'list too short': ('name: x\nsize: [1]', r'2 entries, not 1; .*width and depth \[m\]'),
    'list too long': ('name: x\nsize: [1, 2, 3]', 'must have 2 entries, not 3'),
    'null in a list': ('name: x\nsize: [1, ~]', r'size\[1\] must be a number in m; nothing'),
    'contradiction': (
        'name: x\nlamp:\n  colour: green\n  side: -1',
        'line 3: lamp: green lamps are on side 1',
    ),
    'open bracket': ('name: x\nsize: [1, 2', r'line 2.*not valid YAML.*\(a bracket'),
    'open quote': ('name: "x', r'not valid YAML.*\(a bracket or quote is not closed'),
    'bad indentation': ('name: x\nlamp:\n   side: 1\n  colour: red', r'line 4.*same column'),
    'colon in a text': ('name: a: b', r'line 1, column 8: not valid YAML.*needs quotes'),
    'tab': ('name: x\nlamp:\n\tside: 1', r'line 3, column 1: not valid YAML.*spaces'),
    'special character': ('name: @x', r'line 1, column 7: not valid YAML.*quote'),
    'two documents': ('name: x\n---\nname: y', 'line 2.*not valid YAML'),
    'YAML 9': ('%YAML 9.9\n---\nname: x', 'line 1.*not valid YAML'),
    'endless version': (f'%YAML {"9" * 5000}.1\n---\nname: x', 'not valid YAML'),
    'impossible escape': ('name: "\\UFFFFFFFF"', 'not valid YAML.*out of bounds'),
    'NUL': (b'name: x\ncount: 3\0', r'line 2: the character U\+0000'),
    'bell': (b'name: x\x07', r'line 1: the character U\+0007'),
    'Latin-1': ('name: x\nlabel: Füße'.encode('latin-1'), 'line 2: this is not UTF-8 .byte 0xfc'),
    'UTF-16': ('name: x'.encode('utf-16'), 'line 1: this is not UTF-8'),
    'binary': (bytes(range(128, 256)), 'this is not UTF-8'),
    'far too large': (b'#' * (LARGEST_FILE + 1), 'has 1 MB; a robot file is a short YAML text'),
    'nested too deeply': ('name: ' + '[' * 3000, 'nested too deeply'),
    'nested mappings': ('{name: ' * 3000, 'nested too deeply'),
    'undefined alias': ('name: *other', 'line 1.*not valid YAML.*needs an anchor'),
    'merge key': ('name: x\nlamp:\n  <<: {side: 1}', r'line 3: merge keys \(<<\) are not supp'),
    'recursive list': ('name: x\nmotors: &m [*m]', r'motors\[0\] must be a mapping'),
    'recursive mapping': ('&m\nname: x\nlamp: *m', "unknown key 'lamp.name'"),
    'unknown tag': ('name: !secret x', "line 1: name has the tag '!secret'; only plain values"),
    'binary tag': ('name: !!binary aGk=', "name has the tag '!!binary'"),
    'set tag': ('name: x\nlamp: !!set {side}', "lamp has the tag '!!set'"),
    'tag on a key': ('!!python/name:os.system name: x', 'a key has the tag'),
}


@pytest.mark.parametrize(('text', 'message'), BAD.values(), ids=BAD)
def test_bad_settings_end_in_a_sentence(read, text, message):
    with pytest.raises(RobotFileError, match=f'(?s)machine.yaml.*{message}') as refusal:
        read(text)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize('kind', ['object/apply', 'object/new', 'object', 'name', 'module'])
def test_python_objects_are_refused_and_not_made(read, tmp_path, kind):
    marker = tmp_path / 'made'
    text = f'name: x\nlamp: !!python/{kind}:os.mkdir ["{marker}"]'
    with pytest.raises(RobotFileError, match=f'lamp has the tag .!!python/{kind}:os.mkdir'):
        read(text)
    with pytest.raises(RobotFileError, match="unknown key 'a'"):
        read(f'name: x\na: !!python/{kind}:os.mkdir ["{marker}"]')
    assert not marker.exists()


def test_absent_files_and_directories(tmp_path):
    with pytest.raises(RobotFileError, match=r"There is no robot file '.*absent\.yaml'"):
        read_settings(Machine, tmp_path / 'absent.yaml')
    with pytest.raises(RobotFileError, match='cannot be read: Is a directory'):
        read_settings(Machine, tmp_path)
    with pytest.raises(RobotFileError, match='cannot be read'):
        read_settings(Machine, tmp_path / 'a\0b')


def test_defaults_and_values(read):
    assert read('name: x') == Machine('x')
    text = """
        name: 'yes'
        size: [3, 4.5]
        count: +7
        silent: on
        label: 007
        lamp: {colour: green}
        spare: {name: s, torque: 1e-3}
        motors:
          - name: no
            torque: .5
          - {name: "~", torque: "9."}
        """
    assert read(text) == Machine(
        'yes', (3.0, 4.5), 7, True, '007', Lamp('green'), Motor('s', 0.001),
        (Motor('no', 0.5), Motor('~', 9.0)),
    )  # fmt: skip


def test_words_are_taken_as_they_stand(read):
    for word in ('yes', '12', '1e3', '2001-01-01', '=', '0x1f', 'true', '"null"', 'l_foot'):
        assert read(f'name: {word}').name == word.strip('"')


def test_a_key_without_value_counts_as_not_given(read):
    assert read('name: x\nsize:\nlamp:\n  # side: 1\nmotors:\nlabel: ~') == Machine('x')


def test_byte_order_mark_and_windows_lines(read):
    assert read(b'\xef\xbb\xbfname: x\r\ncount: 4\r\n') == Machine('x', count=4)


def test_aliases_repeat_values(read):
    text = 'name: x\nspare: &m {name: a}\nmotors: [*m, *m]\nsize: [&one 1, *one]'
    assert read(text) == Machine('x', (1.0, 1.0), spare=Motor('a'), motors=(Motor('a'),) * 2)


def test_an_alias_bomb_does_not_explode(read):
    laughs = 'name: x\nlabel: &a0 ha\n' + ''.join(
        f'k{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 9)}]\n' for k in range(1, 30)
    )
    with pytest.raises(RobotFileError, match="unknown key 'k1'"):
        read(laughs)
    many = ', '.join(['*m'] * MOST_VALUES)
    with pytest.raises(RobotFileError, match=f'more than {MOST_VALUES} values'):
        read(f'name: x\nspare: &m {{name: a, torque: 1}}\nmotors: [{many}]')


def test_flatten_lists_all_values_with_their_units():
    machine = Machine('x', spare=Motor('s'), motors=(Motor('left', 3.0),))
    flat = flatten(machine)
    assert flat['name'] == 'x'
    assert flat['lamp.colour'] == 'red'
    assert flat['spare.torque'] == '2.0 N·m'
    assert flat['motors[left].torque'] == '3.0 N·m'
    assert flat['label'] == 'not given'
    assert 'secret' not in flat


def _plain(depth):
    """Strategies for YAML values, valid ones included."""
    words = st.sampled_from(
        ['x', 'red', 'on', '~', '3', '-1', '1.5', '.nan', '1e400', '[1, 2]', '[]', '{}', '*a', '']
    )
    texts = st.text(st.characters(exclude_categories=['Cs']), max_size=8)
    keys = st.sampled_from([*Machine.__dataclass_fields__, 'torque', 'colour', 'side', '<<', '?'])
    leaves = words | texts
    if depth == 0:
        return leaves
    below = _plain(depth - 1)
    mapping = st.lists(st.tuples(keys, below), max_size=5).map(
        lambda pairs: '{' + ', '.join(f'{key}: {item}' for key, item in pairs) + '}'
    )
    sequence = st.lists(below, max_size=4).map(lambda items: '[' + ', '.join(items) + ']')
    tagged = st.tuples(st.sampled_from(['!x ', '!!str ', '!!int ', '&a ']), below).map(''.join)
    return leaves | mapping | sequence | tagged


@hypothesis_settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([*Machine.__dataclass_fields__]), _plain(3)), max_size=6)
)
def test_random_yaml_gives_settings_or_a_sentence(tmp_path_factory, pairs):
    path = tmp_path_factory.getbasetemp() / 'random.yaml'
    text = 'name: x\n' + ''.join(f'{key}: {item}\n' for key, item in pairs)
    path.write_text(text, encoding='utf-8')
    try:
        machine = read_settings(Machine, path)
    except RobotFileError as refusal:
        assert 'random.yaml' in str(refusal)  # noqa: PT017 (either outcome is right)
        return
    assert isinstance(machine, Machine)
    assert 0 <= machine.count <= 10
    assert all(0.0 <= motor.torque <= 100.0 for motor in machine.motors)
