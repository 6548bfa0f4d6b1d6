"""The robot file: contradictions, magnitudes, the commented example, random damage."""

import dataclasses
import re
import typing
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.feet import Foot
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.settings import mistakes_of

from .raising import raising

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / 'config' / 'robot_example.yaml'
BIPED31 = ROOT / 'robots' / 'biped31' / 'robot.yaml'
SQUARE = '[[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1], [0.1, -0.1]]'


def foot(name='left', sole='l_sole', polygon=SQUARE, wrench=''):
    return f'feet: [{{name: {name}, sole: {sole}, polygon: {polygon}{wrench}}}]'


def two_feet(*names):
    feet = (f'{{name: {name}, sole: {sole}, polygon: {SQUARE}}}' for name, sole in names)
    return f'feet: [{", ".join(feet)}]'


def at(key, line=2, **data):
    """What an error about a key states."""
    return {'line': line, 'key': key, **data}


BAD = {
    'no URDF': ('root: pelvis', 'missing_key', {'line': 1, 'keys': ('urdf',)}),
    'address of the URDF': ('urdf: https://host/robot.urdf', 'urdf_is_address', {'line': 1}),
    'gravity in cm/s²': ('gravity: 981', 'out_of_range', at('gravity')),
    'gravity downwards': ('gravity: -9.81', 'out_of_range', at('gravity')),
    'no gravity': ('gravity: 0', 'out_of_range', at('gravity')),
    'polygon in mm': (foot(polygon='[[100, 50], [-100, 50], [0, -50]]'), 'out_of_range',
                      at('feet[0].polygon[0][0]')),
    'polygon in 3D': (foot(polygon='[[0.1, 0, 0], [0, 1, 0], [1, 1, 0]]'), 'wrong_length',
                      at('feet[0].polygon[0]', length=3)),
    'two corners': (foot(polygon='[[0, 0], [0.1, 0]]'), 'too_few_corners', {'line': 2}),
    'corners on a line': (foot(polygon='[[0, 0], [0.1, 0], [0.2, 0]]'), 'polygon_without_area',
                          {'line': 2}),
    'equal corners': (foot(polygon='[[0.1, 0.1], [0.1, 0.1], [0.1, 0.1]]'), 'polygon_without_area',
                      {'line': 2}),
    'feet of one name': (two_feet(('a', 'l'), ('a', 'r')), 'repeated_name',
                         {'line': 2, 'name': 'a', 'keys': ('feet[0].name', 'feet[1].name')}),
    'feet of one sole': (two_feet(('a', 's'), ('b', 's')), 'repeated_name',
                         {'line': 2, 'name': 's'}),
    'a wrench without topic': (foot(wrench=', wrench: {sign: -1}'), 'missing_key',
                               {'line': 2, 'keys': ('feet[0].wrench.topic',)}),
    'sign of no direction': (foot(wrench=', wrench: {topic: w, sign: 0}'), 'invalid_choice',
                             at('feet[0].wrench.sign')),
    'delay in milliseconds': ('imu: {delay: 8}', 'out_of_range', at('imu.delay')),
    'mounting in degrees': ('imu: {rotation: [0, 0, 90]}', 'out_of_range', at('imu.rotation[2]')),
    'mounting as a quaternion': ('imu: {rotation: [0, 0, 0, 1]}', 'wrong_length',
                                 at('imu.rotation', length=4)),
    'bias that is gravity': ('imu: {accelerometer_bias: [0, 0, 9.81]}', 'out_of_range',
                             at('imu.accelerometer_bias[2]')),
    'bias in °/s': ('imu: {gyroscope_bias: [5.0, 0, 0]}', 'out_of_range',
                    at('imu.gyroscope_bias[0]')),
    'offset of the force alone': (foot(wrench=', wrench: {topic: w, offset: [1, 2, 3]}'),
                                  'wrong_length', at('feet[0].wrench.offset', length=3)),
    'matrix of the force alone': (
        foot(wrench=', wrench: {topic: w, matrix: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}'),
        'wrong_length',
        at('feet[0].wrench.matrix[0]', length=3),
    ),
    'half a matrix': (foot(wrench=', wrench: {topic: w, matrix: [[1, 0, 0, 0, 0, 0]]}'),
                      'wrong_length', at('matrix', length=1)),
    'singular matrix': (
        foot(wrench=f', wrench: {{topic: w, matrix: [{", ".join(["[1, 0, 0, 0, 0, 0]"] * 6)}]}}'),
        'singular_matrix',
        at('matrix'),
    ),
    'one topic for two signals': ('imu: {topic: imu}\naccelerometers: [{topic: /imu}]',
                                  'repeated_name', {'line': 3, 'name': 'imu'}),
    'one topic for two signals, one of them by default': (
        'gravity: 9.81\naccelerometers: [{topic: /imu}]',
        'repeated_name',
        {'line': 3, 'name': 'imu', 'keys': ('imu.topic', 'accelerometers[0].topic')},
    ),
    'an imu from no position': ('gravity: 9.81\nimu:\n  from_position: true', 'no_position',
                                at('imu.from_position', 4)),
    'array without accelerometers': ('angular_acceleration: {method: accelerometers}',
                                     'no_accelerometers', {'line': 1}),
    'ground of a frame': ('ground: {source: frame}', 'missing_key',
                          {'line': 2, 'keys': ('ground.frame',)}),
    'ground of an idle frame': ('ground: {frame: floor}', 'key_without_effect',
                                at('ground.frame')),
    'ground of an idle topic': ('ground: {topic: board}', 'key_without_effect',
                                at('ground.topic')),
    'ground of an idle height': ('ground: {source: gravity, height: 0.1}', 'key_without_effect',
                                 at('ground.height')),
    'feet without IMUs': ('ground: {source: feet_imus}', 'no_foot_imu', {'line': 1}),
    'negative force': ('ground: {minimum_force: -5}', 'out_of_range', at('ground.minimum_force')),
    'noise in m/s²': ('noise: {accelerometer: 6.0e-4}', 'out_of_range', at('noise.accelerometer')),
    'noise in °/h': ('noise: {gyroscope: 36}', 'out_of_range', at('noise.gyroscope')),
    'rate in kHz': ('rates: {actuator: 0.5}', 'out_of_range', at('rates.actuator')),
    'rate as a period': ('rates: {bus: 0.008}', 'out_of_range', at('rates.bus')),
    'gap in milliseconds': ('acd: {max_gap: 50}', 'out_of_range', at('acd.max_gap')),
    'pairing in milliseconds': ('pairing: {max_gap: 50}', 'out_of_range', at('pairing.max_gap')),
    'even window': ('acd: {window: 8}', 'unsuitable_window', {'line': 2}),
    'window below the degree': ('acd: {window: 3, degree: 4}', 'unsuitable_window', {'line': 2}),
    'unknown difference': ('acd: {method: forward}', 'invalid_choice', at('acd.method')),
}  # fmt: skip


def load(tmp_path, text):
    path = tmp_path / 'robot.yaml'
    path.write_text(text if 'urdf' in text or 'root' in text else f'urdf: r.urdf\n{text}')
    return load_robot_file(path)


@pytest.mark.parametrize(('text', 'kind', 'data'), BAD.values(), ids=BAD)
def test_a_bad_robot_file_is_refused_with_its_line(tmp_path, text, kind, data):
    with raising(RobotFileError, kind, path=tmp_path / 'robot.yaml', **data) as refusal:
        load(tmp_path, text)
    assert len(str(refusal.value)) < 600


def test_all_that_does_not_go_together_is_reported_at_once(tmp_path):
    text = 'angular_acceleration: {method: accelerometers}\nimu: {from_position: true}'
    with raising(RobotFileError, 'several') as refusal:
        load(tmp_path, text)
    found = [mistake.kind for mistake in mistakes_of(refusal.value)]
    assert found == ['no_accelerometers', 'no_position']
    assert str(refusal.value).count('line') == len(found)


def test_a_urdf_is_enough(tmp_path):
    robot = load(tmp_path, 'urdf: robots/my.urdf')
    assert robot == RobotFile('robots/my.urdf', path=tmp_path / 'robot.yaml')
    assert robot.urdf_path == tmp_path / 'robots' / 'my.urdf'


@pytest.mark.parametrize(
    ('stated', 'expected'),
    [('/opt/my.urdf', '/opt/my.urdf'), ('~/my.urdf', '/home/someone/my.urdf')],
)
def test_absolute_and_home_paths_of_the_urdf(tmp_path, monkeypatch, stated, expected):
    monkeypatch.setenv('HOME', '/home/someone')
    assert load(tmp_path, f'urdf: {stated}').urdf_path == Path(expected)
    nobody = load(tmp_path, 'urdf: ~nobody_of_this_name/my.urdf')
    assert nobody.urdf_path.name == 'my.urdf'


def test_both_feet_may_share_a_polygon_by_an_alias(tmp_path):
    text = (
        f'urdf: r\nfeet:\n- {{name: a, sole: l, polygon: &sole {SQUARE}}}\n'
        '- {name: b, sole: r, polygon: *sole}'
    )
    left, right = load(tmp_path, text).feet
    assert left.polygon == right.polygon
    assert right == Foot('b', 'r', left.polygon)


# ---- the example ----


def described(cls=RobotFile, prefix=''):
    """Every key of the robot file with its field; lists of records count as records."""
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if field.metadata.get('hidden'):
            continue
        hint = hints[field.name]
        kinds = [hint, *typing.get_args(hint)]
        record = next((kind for kind in kinds if dataclasses.is_dataclass(kind)), None)
        yield f'{prefix}{field.name}', field
        if record is not None and str not in kinds:  # a sole's place: the example has its name
            yield from described(record, f'{prefix}{field.name}.')


def uncommented(with_examples):
    """The example with the # of its commented keys deleted."""
    lines = []
    for line in EXAMPLE.read_text().splitlines():
        match = re.match(r'( *(?:- )?)#(\w+: .*)', line)
        if match and (with_examples or 'e.g.' not in line):
            line = ''.join(match.groups())
        lines.append(line)
    return '\n'.join(lines)


def flat(value, prefix=''):
    """Dotted keys and values of plain YAML data; the first entry of a list of records counts."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    for key, item in value.items():
        yield f'{prefix}{key}', item
        if isinstance(item, dict) or (isinstance(item, list) and isinstance(item[0], dict)):
            yield from flat(item, f'{prefix}{key}.')


def test_the_example_loads_and_fits_its_robot():
    example, biped31 = load_robot_file(EXAMPLE), load_robot_file(BIPED31)
    assert example.urdf_path.resolve() == biped31.urdf_path.resolve()
    same = {'urdf': '', 'path': None}
    assert dataclasses.replace(example, **same) == dataclasses.replace(biped31, **same)
    model = load_model(example.urdf_path, example.root)
    named = [example.imu.frame, example.position.frame]
    named += [sensor.frame for sensor in example.accelerometers]
    for foot in example.feet:
        named += [foot.sole, foot.wrench.frame, foot.wrench.below]
    for frame in named:
        model.mount(frame)


def test_the_example_shows_every_key_and_no_other():
    shown = [key for key, _ in flat(yaml.safe_load(uncommented(with_examples=True)))]
    assert sorted(shown) == sorted(key for key, _ in described())


def test_the_example_states_the_defaults_of_the_code():
    as_is = dict(flat(yaml.safe_load(EXAMPLE.read_text())))
    shown = dict(flat(yaml.safe_load(uncommented(with_examples=False))))
    fields = dict(described())
    optional = shown.keys() - as_is.keys()
    assert len(optional) > 15
    for key in optional:
        default = fields[key].default
        assert shown[key] == (list(default) if isinstance(default, tuple) else default), key
    left_out = fields.keys() - shown.keys()
    assert left_out
    records = {key for key in left_out if key.rpartition('.')[0] not in left_out}
    assert all(fields[key].default in (None, ()) for key in records)


def test_the_example_with_all_keys_is_valid_too(tmp_path):
    path = tmp_path / 'robot.yaml'
    text = uncommented(with_examples=True).replace('#source', 'source')
    for other in ('radius: ', 'force: {', 'contact: {'):  # than a polygon, than a wrench
        text = text.replace(f'    {other}', f'    #{other}')
    path.write_text(text.replace('source: sole', 'source: frame'))
    robot = load_robot_file(path)
    assert robot.ground.frame == 'l_sole'


def test_the_example_names_the_unit_of_every_number():
    text = EXAMPLE.read_text().splitlines()
    for key, field in described():
        unit = field.metadata.get('unit')
        if not unit:
            continue
        name = key.split('.')[-1]
        lines = [k for k, line in enumerate(text) if re.match(rf' *#?{name}:', line)]
        near = '\n'.join('\n'.join(text[max(0, k - 4) : k + 1]) for k in lines)
        assert f'[{unit}]' in near, key


# ---- random damage ----


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_robot_file_loads_or_is_refused(tmp_path_factory, data):
    lines = BIPED31.read_text().splitlines()
    spoil = st.sampled_from(['drop', 'double', 'swap', 'indent', 'cut', 'replace'])
    for _ in range(data.draw(st.integers(1, 4))):
        k = data.draw(st.integers(0, len(lines) - 1))
        how = data.draw(spoil)
        if how == 'drop' and len(lines) > 1:
            del lines[k]
        elif how == 'double':
            lines.insert(k, lines[k])
        elif how == 'swap':
            lines[k], lines[0] = lines[0], lines[k]
        elif how == 'indent':
            lines[k] = data.draw(st.sampled_from([' ', '  ', '\t', '- '])) + lines[k]
        elif how == 'cut':
            lines[k] = lines[k][: data.draw(st.integers(0, 40))]
        else:
            word = data.draw(st.sampled_from(['~', '.inf', '-1', '1e9', '[]', '{}', '"', '*x']))
            place = data.draw(st.integers(0, 3))
            words = re.split(r'([\w.]+)', lines[k])
            words[2 * place + 1 : 2 * place + 2] = [word]
            lines[k] = ''.join(words)
    path = tmp_path_factory.getbasetemp() / 'damaged.yaml'
    path.write_text('\n'.join(lines))
    try:
        robot = load_robot_file(path)
    except RobotFileError as refusal:
        assert refusal.kind  # noqa: PT017 (either outcome is right)
        assert refusal.data['path'] == path  # noqa: PT017
        return
    assert robot.urdf
    assert 1.0 <= robot.rates.bus <= 10_000.0
    assert all(len(foot.polygon) >= 3 for foot in robot.feet)


LINKS = """\
urdf: {urdf}
root: pelvs
imu: {{topic: imu, frame: imu_lnk}}
feet:
  - {{name: left, sole: l_sol, polygon: {square}}}
  - {{name: right, sole: r_sole, polygon: {square}, wrench: {{topic: r, below: r_fot}}}}
"""


def test_all_links_that_the_urdf_lacks_are_found(tmp_path):
    path = tmp_path / 'robot.yaml'
    urdf = BIPED31.with_name('biped31.urdf')
    path.write_text(LINKS.format(urdf=urdf, square=SQUARE))
    with raising(RobotFileError, 'several') as refusal:
        load_robot_file(path, with_urdf=True)
    found = [(m.data['line'], m.data.get('key'), m.kind) for m in mistakes_of(refusal.value)]
    assert found == [
        (2, 'root', 'unknown_name'),
        (3, 'imu.frame', 'unknown_name'),
        (5, 'feet[0].sole', 'unknown_name'),
        (6, 'feet[1].wrench.below', 'unknown_name'),
    ]
    assert "did you mean 'pelvis'" in str(refusal.value)
    assert load_robot_file(path).root == 'pelvs'


def test_a_urdf_that_is_not_there_has_a_line_unless_the_command_line_names_it(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(f'root: pelvis\nurdf: robt.urdf\n{foot()}')
    with raising(RobotFileError, 'file_absent', line=2, key='urdf') as refusal:
        load_robot_file(path, with_urdf=True)
    assert 'URDFs there: none' in str(refusal.value)
    assert 'A relative path starts at the robot file; --urdf FILE' in str(refusal.value)
    urdf = BIPED31.with_name('biped31.urdf')
    assert load_robot_file(path, urdf, with_urdf=True).urdf_path == urdf
    assert load_robot_file(path, 'none.urdf', with_urdf=True).root == 'pelvis'


def test_the_ground_that_moves_is_no_link_and_a_topic_without_use_is_not_repeated(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text(
        f'urdf: {BIPED31.with_name("biped31.urdf")}\nposition: {{topic: odom}}\n'
        'imu: {topic: odom, from_position: true}\n'
        'ground: {source: frame, frame: board, topic: board}\n'
    )
    assert load_robot_file(path, with_urdf=True).ground.frame == 'board'


def test_a_list_that_is_none_is_told_how_to_write_it(tmp_path):
    path = tmp_path / 'robot.yaml'
    path.write_text('urdf: robot.urdf\nfeet: {name: left}')
    with raising(RobotFileError, 'wrong_type', line=2, key='feet') as refusal:
        load_robot_file(path)
    assert "begin each entry with '- '; keys of an entry: name, sole" in str(refusal.value)
