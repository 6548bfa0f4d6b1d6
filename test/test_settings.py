"""YAML becomes typed settings, or an error that names the line and what would be valid."""

from dataclasses import dataclass, field

import pytest

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.settings import (
    MOST_MISTAKES,
    MOST_VALUES,
    NOT_IN_FILE,
    flatten,
    mistakes_of,
    read_settings,
    setting,
)
from izmp_dynamics.model.yaml_text import LARGEST_FILE

from .raising import raising


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
            raise RobotFileError('green lamps are on side 1.', kind='impossible_lamp')


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


def at(key, line=2, **data):
    """What an error about a key states."""
    return {'line': line, 'key': key, **data}


BAD = {
    'empty': ('', 'empty', {}),
    'null': ('null', 'empty', {}),
    'a list': ('- name: x', 'wrong_type', at('', 1)),
    'missing key': ('count: 3', 'missing_key', {'line': 1, 'keys': ('name',)}),
    'missing keys below': ('name: x\nmotors:\n  - {torque: 3}', 'missing_key',
                           {'line': 3, 'keys': ('motors[0].name',)}),
    'key without value': ('name:\ncount: 3', 'missing_key', {'line': 1, 'keys': ('name',)}),
    'unknown key': ('name: x\ncolor: red', 'unknown_key', at('color')),
    'misspelt key': ('name: x\ncuont: 3', 'unknown_key', at('cuont', suggestions=('count',))),
    'capital key': ('Name: x', 'unknown_key', at('Name', 1, suggestions=('name',))),
    'misspelt key below': ('name: x\nlamp: {colur: red}', 'unknown_key',
                           at('lamp.colur', suggestions=('colour',))),
    'misplaced key': ('name: x\ntorque: 3', 'unknown_key',
                      at('torque', suggestions=('spare.torque', 'motors.torque'))),
    'key set by the program': ('name: x\nsecret: 3', 'unknown_key', at('secret')),
    'duplicate key': ('name: x\ncount: 3\ncount: 4', 'duplicate_key', at('count', 3)),
    'duplicate key below': ('name: x\nlamp: {colour: red, colour: red}', 'duplicate_key',
                            at('lamp.colour')),
    'list as key': ('name: x\n[a, b]: c', 'invalid_key', {'line': 2}),
    'word for a number': ('name: x\nmotors: [{name: a, torque: strong}]', 'wrong_type',
                          at('motors[0].torque')),
    'number with comma': ('name: x\nspare: {name: a, torque: "1,5"}', 'wrong_type',
                          at('spare.torque')),
    'time for a number': ('name: x\nspare: {name: a, torque: 1:30}', 'wrong_type',
                          at('spare.torque')),
    'truth for a number': ('name: x\ncount: true', 'wrong_type', at('count')),
    'fraction for a count': ('name: x\ncount: 3.0', 'wrong_type', at('count')),
    'huge count': (f'name: x\ncount: {"9" * 5000}', 'wrong_type', at('count')),
    'number too long': (f'name: x\nspare: {{name: a, torque: {"9" * 5000}}}', 'out_of_range',
                        at('spare.torque')),
    'not a number': ('name: x\nspare: {name: a, torque: .nan}', 'out_of_range',
                     at('spare.torque')),
    'infinite': ('name: x\nspare: {name: a, torque: -.inf}', 'out_of_range', at('spare.torque')),
    'unit hint': ('name: x\nsize: [1, 500]', 'out_of_range', at('size[1]')),
    'no choice': ('name: x\nlamp: {colour: blue}', 'invalid_choice',
                  at('lamp.colour', valid=('red', 'green'))),
    'word for a truth': ('name: x\nsilent: perhaps', 'wrong_type', at('silent')),
    'list for a word': ('name: [x]', 'wrong_type', at('name', 1)),
    'empty word': ('name: ""', 'missing_value', at('name', 1)),
    'word for a list': ('name: x\nmotors: all', 'wrong_type', at('motors')),
    'word for a mapping': ('name: x\nlamp: red', 'wrong_type', at('lamp')),
    'list too short': ('name: x\nsize: [1]', 'wrong_length', at('size', length=1)),
    'list too long': ('name: x\nsize: [1, 2, 3]', 'wrong_length', at('size', length=3)),
    'null in a list': ('name: x\nsize: [1, ~]', 'missing_value', at('size[1]')),
    'contradiction': ('name: x\nlamp:\n  colour: green\n  side: -1', 'impossible_lamp',
                      {'line': 3, 'record': 'lamp'}),
    'open bracket': ('name: x\nsize: [1, 2', 'invalid_yaml', {'line': 2}),
    'open quote': ('name: "x', 'invalid_yaml', {'line': 1}),
    'bad indentation': ('name: x\nlamp:\n   side: 1\n  colour: red', 'invalid_yaml', {'line': 4}),
    'colon in a text': ('name: a: b', 'invalid_yaml', {'line': 1}),
    'tab': ('name: x\nlamp:\n\tside: 1', 'invalid_yaml', {'line': 3}),
    'special character': ('name: @x', 'invalid_yaml', {'line': 1}),
    'two documents': ('name: x\n---\nname: y', 'invalid_yaml', {'line': 2}),
    'YAML 9': ('%YAML 9.9\n---\nname: x', 'invalid_yaml', {'line': 1}),
    'endless version': (f'%YAML {"9" * 5000}.1\n---\nname: x', 'invalid_yaml', {}),
    'impossible escape': ('name: "\\UFFFFFFFF"', 'invalid_yaml', {}),
    'NUL': (b'name: x\ncount: 3\0', 'forbidden_character', {'line': 2}),
    'Latin-1': ('name: x\nlabel: Füße'.encode('latin-1'), 'not_utf8', {'line': 2}),
    'far too large': (b'#' * (LARGEST_FILE + 1), 'file_too_large', {}),
    'nested too deeply': ('name: ' + '[' * 2000, 'invalid_yaml', {}),
    'nested mappings': ('{name: ' * 2000, 'invalid_yaml', {}),
    'undefined alias': ('name: *other', 'invalid_yaml', {'line': 1}),
    'merge key': ('name: x\nlamp:\n  <<: {side: 1}', 'merge_key', {'line': 3}),
    'recursive list': ('name: x\nmotors: &m [*m]', 'wrong_type', at('motors[0]')),
    'recursive mapping': ('&m\nname: x\nlamp: *m', 'several', {}),
    'unknown tag': ('name: !secret x', 'tag', at('name', 1)),
    'binary tag': ('name: !!binary aGk=', 'tag', at('name', 1)),
    'tag on a key': ('name: x\n!!python/name:os.system size: x', 'tag', at('a key')),
}  # fmt: skip


@pytest.mark.parametrize(('text', 'kind', 'data'), BAD.values(), ids=BAD)
def test_bad_settings_are_refused_with_their_place(read, tmp_path, text, kind, data):
    with raising(RobotFileError, kind, path=tmp_path / 'machine.yaml', **data) as refusal:
        read(text)
    assert len(str(refusal.value)) < 600


def test_the_message_names_file_line_key_value_range_unit_and_hint(read, tmp_path):
    with pytest.raises(RobotFileError) as refusal:
        read(BAD['unit hint'][0])
    assert str(refusal.value) == (
        f"'{tmp_path / 'machine.yaml'}', line 2: size[1] is 500; valid: -inf to 9 m (metres)."
    )


@pytest.mark.parametrize(
    'mistake',
    ['open bracket', 'open quote', 'bad indentation', 'colon in a text', 'tab',
     'special character', 'undefined alias'],
)  # fmt: skip
def test_errors_about_usual_mistakes_in_yaml_suggest_a_fix(read, mistake):
    with raising(RobotFileError, 'invalid_yaml') as refusal:
        read(BAD[mistake][0])
    assert refusal.value.data['fix'] in str(refusal.value)
    assert refusal.value.data['fix']


@pytest.mark.parametrize('kind', ['object/apply', 'object/new', 'object', 'name', 'module'])
def test_python_objects_are_refused_and_not_made(read, tmp_path, kind):
    marker = tmp_path / 'made'
    text = f'name: x\nlamp: !!python/{kind}:os.mkdir ["{marker}"]'
    with raising(RobotFileError, 'tag', key='lamp', tag=f'!!python/{kind}:os.mkdir'):
        read(text)
    with raising(RobotFileError, 'unknown_key', key='a'):
        read(f'name: x\na: !!python/{kind}:os.mkdir ["{marker}"]')
    assert not marker.exists()


def test_absent_files_and_directories(tmp_path):
    with raising(RobotFileError, 'file_absent', path=tmp_path / 'absent.yaml'):
        read_settings(Machine, tmp_path / 'absent.yaml')
    with raising(RobotFileError, 'file_unreadable', path=tmp_path):
        read_settings(Machine, tmp_path)
    with raising(RobotFileError, 'file_unreadable'):
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


def test_words_are_read_verbatim(read):
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
    with raising(RobotFileError, 'several') as raised:
        read(laughs)
    assert [mistake.data['key'] for mistake in mistakes_of(raised.value)][:2] == ['k1', 'k2']
    assert str(raised.value).count('unknown key') == MOST_MISTAKES
    assert 'mistakes or more' in str(raised.value)
    many = ', '.join(['*m'] * MOST_VALUES)
    with raising(RobotFileError, 'too_many_values'):
        read(f'name: x\nspare: &m {{name: a, torque: 1}}\nmotors: [{many}]')


def test_valid_keys_are_listed_once_of_each_kind_of_record(read):
    with raising(RobotFileError, 'several') as raised:
        read('name: x\ncolor: 1\ncolor: 2\n[a]: 3\nmotors:\n- {name: a, q: 1}\n- {name: b, q: 1}')
    said = str(raised.value)
    assert said.count('unknown key') == 4
    assert said.count('valid: name, size,') == said.count('valid: name, torque') == 1


def test_all_mistakes_are_reported_at_once(read, tmp_path):
    """Each with its line, its key and what is valid; what depends on a wrong key is not."""
    text = (
        'nmae: x\ncount: many\nlamp: {colour: [1]}\nmotors:\n- {name: a}\n- {nam: b, torque: x}\n'
    )
    with raising(RobotFileError, 'several', path=tmp_path / 'machine.yaml') as raised:
        read(text)
    found = [(m.data['line'], m.data['key'], m.kind) for m in mistakes_of(raised.value)]
    assert found == [
        (1, 'nmae', 'unknown_key'),
        (2, 'count', 'wrong_type'),
        (3, 'lamp.colour', 'wrong_type'),
        (6, 'motors[1].nam', 'unknown_key'),
        (6, 'motors[1].torque', 'wrong_type'),
    ]
    said = str(raised.value).splitlines()
    assert said[0].endswith("machine.yaml' has 5 mistakes:")
    assert [line.split(':')[0] for line in said[1:]] == [f'  line {line}' for line, _, _ in found]
    assert "'name'" in said[1]
    assert 'a whole number' in said[2]


def test_flatten_lists_all_values_with_their_units():
    machine = Machine('x', spare=Motor('s'), motors=(Motor('left', 3.0),))
    flat = flatten(machine)
    assert flat['name'] == 'x'
    assert flat['lamp.colour'] == 'red'
    assert flat['spare.torque'] == '2.0 N·m'
    assert flat['motors[left].torque'] == '3.0 N·m'
    assert flat['label'] == 'not given'
    assert 'secret' not in flat
