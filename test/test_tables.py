"""Tables, CSV and Parquet, read as the robot file maps their columns."""

import numpy as np
import pytest
import yaml

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import BagError, ReplayError
from izmp_dynamics.check import check
from izmp_dynamics.draft.write import write_draft
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import load_robot_file

from .bag_surgery import IMU, JOINTS, TOPICS
from .raising import raising
from .requiring import need

AXES = 'xyz'


@pytest.fixture(scope='module')
def columns(sound):
    """Joints and IMU of the sound recording as columns, each with all its digits."""
    joints, imu = sound[JOINTS], sound[IMU]
    names = sound[JOINTS].like['name']
    found = {'__time (ns)': joints.stamps, 'note': np.repeat('walk', len(joints))}
    for name, positions in zip(names, joints['position'].T, strict=True):
        found |= {f'vel_{name}': np.zeros(len(joints)), f'q.{name}': positions}
    for key, path in (('gyro', 'angular_velocity'), ('acc', 'linear_acceleration')):
        found |= {f'{key} {a}': column for a, column in zip(AXES, imu[path].T, strict=True)}
    return found | {f'q{a}': c for a, c in zip('xyzw', imu['orientation'].T, strict=True)}


def write(path, columns, separator=','):
    lines = zip(*(map(repr, column.tolist()) for column in columns.values()), strict=True)
    rows = [separator.join(columns), *map(separator.join, lines)]
    path.write_text('\n'.join(rows).replace("'", '') + '\n')
    return path


@pytest.fixture(scope='module')
def log(columns, tmp_path_factory):
    return write(tmp_path_factory.mktemp('tables') / 'log.csv', columns)


@pytest.fixture(scope='module')
def robot_file(columns, robot_content, log):
    """Makes the robot file of the table, with other settings of the joints."""
    names = [name[2:] for name in columns if name.startswith('q.')]
    table = {'topic': 'table', 'type': 'table/msg/Row'}
    positions = ', '.join(f'q_{name}' for name in names)
    imu = {
        'frame': 'imu_link', 'angular_velocity': 'gyro_x, gyro_y, gyro_z',
        'linear_acceleration': 'acc_x, acc_y, acc_z', 'orientation': 'qw, qx, qy, qz',
        'quaternion': 'wxyz',
    }  # fmt: skip

    def robot(**changes):
        joints = {**table, 'names': names, 'positions': positions, **changes}
        content = robot_content | {'joints': joints, 'imu': table | imu}
        path = log.with_name('robot.yaml')
        path.write_text(yaml.safe_dump(content))
        return load_robot_file(path)

    return robot


def test_a_table_gives_what_a_bag_gives(log, robot_file, columns, sound, biped31, tmp_path):
    arrow = need('pyarrow')
    path = tmp_path / 'log.parquet'
    times = columns['__time (ns)'].astype('datetime64[ns]')
    others = {name: column for name, column in columns.items() if not name.startswith('__')}
    table = arrow.table({'time': times, **others})
    need('pyarrow.parquet').write_table(table, path)
    mixed = {name: column[::-1] for name, column in columns.items()}
    unsorted = write(tmp_path / 'mixed.tsv', mixed, separator='\t')
    draft = sound.copy()
    for topic in {*TOPICS} - {JOINTS, IMU}:
        draft.drop(topic)
    expected = evaluate_bag(draft.write(tmp_path / 'bag'), biped31).tracks['mr_ad'].wrench
    assert np.isfinite(expected).any()
    for each in (log, path, unsorted):
        found = evaluate_bag(each, robot_file())
        np.testing.assert_array_equal(found.tracks['mr_ad'].wrench, expected)
    assert any('not in the order' in note for note in found.notes)


def test_the_time_of_a_table(columns, tmp_path):
    """By name of its column, or in the unit in which rows are as far apart as sensors' are."""
    elapsed = (columns['__time (ns)'] - columns['__time (ns)'][0]) / 1e9
    for name, scale in (('t', 1e3), ('Time', 1.0), ('stamp_us', 1e6), ('log.time', 1e9)):
        path = write(tmp_path / 'log.csv', {name: elapsed * scale, 'q': elapsed})
        with BagReader(path) as bag:
            (batch,) = bag.batches(['/table'])
            stamps = batch['/table'].decode().column('header.stamp')
            np.testing.assert_allclose(stamps, 1 + elapsed * 1e9, rtol=0, atol=1)
            np.testing.assert_array_equal(batch['/table'].received, stamps)
            assert bool(bag.notes) == (name != 'stamp_us')
    for name, scale, kind in (
        ('t', 1e12, 'no_unit'), ('x', 1.0, 'no_time'), ('t_s', np.inf, 'no_time')
    ):  # fmt: skip
        write(path, {name: (elapsed + 1.0) * scale, 'q': elapsed})
        with raising(BagError, kind) as caught:
            BagReader(path)
        assert '\n' not in str(caught.value)


def test_of_several_times_that_of_the_rows_dates_them(tmp_path):
    """By its exact name, else the one that ascends, else that with the shortest name."""
    path, rows = tmp_path / 'log.csv', np.arange(1, 6)
    ascending, busy = rows * 10**7, np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    for name, other in (
        ('timestamp_ns', 'cpu_time_ms'), ('log_timestamp_ns', 'cpu_time_ms'),
        ('time_ns', 'cpu_stamp_ms'),
    ):  # fmt: skip
        write(path, {other: busy, name: ascending, 'q': busy})
        with BagReader(path) as bag:
            (batch,) = bag.batches(['/table'])
            np.testing.assert_array_equal(batch['/table'].received, ascending)
            (note,) = bag.notes
        assert f"column '{name}' is read as a time in ns and dates the rows, not {other}." in note
    write(path, {'gpu_load_time_ms': busy, 'cpu_time_ms': busy[::-1], 'q': busy})
    with BagReader(path) as bag:
        assert any("column 'cpu_time_ms'" in note for note in bag.notes)


def test_two_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / 'log.csv'
    path.write_text('t,q,q\n0.01,1,2\n0.02,3,4\n')
    with raising(BagError, 'column_twice') as caught:
        BagReader(path)
    assert "several columns called 'q'" in str(caught.value)
    arrow = need('pyarrow')
    numbers = np.arange(1, 4) * 10**7
    table = arrow.table([numbers.astype('datetime64[ns]'), numbers], ['time', 'time_ns'])
    path = tmp_path / 'log.parquet'
    need('pyarrow.parquet').write_table(table, path)
    with raising(BagError, 'column_twice') as caught:
        BagReader(path)
    assert "called 'time_ns'" in str(caught.value)


def test_semicolons_and_decimal_commas(columns, tmp_path):
    """As spreadsheets write them where a comma is the decimal point."""
    path = write(
        tmp_path / 'log.csv', {'time': columns['__time (ns)'] / 1e9, 'q': columns['gyro x']}, ';'
    )
    path.write_text(path.read_text().replace('.', ','))
    with BagReader(path) as bag:
        (batch,) = bag.batches(['/table'])
        np.testing.assert_array_equal(batch['/table'].decode().column('q'), columns['gyro x'])
    path.write_text('time;q\n')
    with raising(BagError, 'no_rows') as caught:
        BagReader(path)
    assert 'has no rows' in str(caught.value)


def test_texts_are_no_numbers_and_unused_columns_are_listed(log, robot_file):
    with raising(ReplayError, 'no_number') as caught:
        evaluate_bag(log, robot_file(names=['l_knee'], positions='note'))
    assert "'note' of table/msg/Row is not a number but a string" in str(caught.value)
    (found,) = [each for each in check(log, robot_file()).findings if 'not used' in each.sentence]
    assert 'note' in found.sentence
    assert 'vel_l_knee' in found.sentence
    assert 'q_l_knee' not in found.sentence.replace('vel_', '')
    assert 'time' not in found.sentence


def test_what_is_wrong_in_a_table_is_counted_and_named(log, robot_file, columns, tmp_path):
    with raising(ReplayError, 'unknown_field') as caught:
        evaluate_bag(log, robot_file(names=['l_knee'], positions='knee'))
    assert "no field 'knee'; valid: header, time_ns, vel_" in str(caught.value)
    with raising(ReplayError, 'no_number'):
        evaluate_bag(log, robot_file(clock='note'))
    lines = log.read_text().splitlines()
    place = list(columns).index('gyro y')
    for row, text in ((100, ''), (101, 'nan'), (102, 'ERR'), (103, 'ERR')):
        cells = lines[row].split(',')
        lines[row] = ','.join([*cells[:place], text, *cells[place + 1 :]])
    lines[-1] = lines[-1][:40]
    damaged = tmp_path / 'log.csv'
    damaged.write_text('\n'.join(lines))
    found = check(damaged, robot_file())
    assert found.usable
    sentences = ' '.join(str(finding) for finding in found.findings)
    assert "column 'gyro y' has 'ERR' in place of a number (rows like that: 2)" in sentences
    assert 'columns: 1.' in sentences
    evaluated = evaluate_bag(damaged, robot_file())
    imu = evaluated.health[1]
    assert imu.count == len(lines) - 2
    assert {fault.key: count for fault, count in imu.gated.items()}['not_finite'] == 4


def test_a_draft_finds_the_columns_of_a_table_by_their_names(
    log, robot_file, columns, biped31, tmp_path
):
    urdf = biped31.path.with_name('biped31.urdf')
    guesses = write_draft(log, urdf, tmp_path / 'robot.yaml')
    drafted = load_robot_file(tmp_path / 'robot.yaml')
    wanted = robot_file()
    assert set(drafted.joints.names) == set(wanted.joints.names)
    assert set(drafted.joints.positions.split(', ')) == set(wanted.joints.positions.split(', '))
    assert drafted.imu.angular_velocity == 'gyro_x, gyro_y, gyro_z'
    assert drafted.imu.linear_acceleration == 'acc_x, acc_y, acc_z'
    assert drafted.imu.orientation == 'qx, qy, qz, qw'
    assert any('table' in guess for guess in guesses)
    few = {name: column for name, column in columns.items() if 'gyro' not in name}
    with raising(ReplayError, 'not_in_bag') as caught:
        write_draft(write(tmp_path / 'few.csv', few), urdf, tmp_path / 'few.yaml')
    assert 'type: table/msg/Row' in str(caught.value)
    assert 'acc_x, acc_y, acc_z' in str(caught.value)
    with raising(ReplayError, 'not_in_bag') as caught:
        write_draft(log, None, tmp_path / 'nothing.yaml')
    assert 'State --urdf' in str(caught.value)
