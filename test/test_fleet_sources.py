"""Which bags there are, which robot file each has, and what if that changes meanwhile."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from izmp_dynamics.base.errors import FleetError, IzmpError
from izmp_dynamics.fleet import task as module
from izmp_dynamics.fleet.campaign import _tasks
from izmp_dynamics.fleet.robots import RobotFiles, robot_digest
from izmp_dynamics.fleet.sources import BagSource, find_bags
from izmp_dynamics.fleet.task import Task, content_hash, evaluate
from izmp_dynamics.results.files import data_hashes

from .conftest import REPOSITORY
from .raising import raising

ROBOT = REPOSITORY / 'robots' / 'biped31' / 'robot.yaml'


def put(folder, *paths):
    for path in paths:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(path.encode())


@pytest.fixture
def logs(tmp_path):
    """A folder with a bag of every kind, and with what is none."""
    put(
        tmp_path / 'logs',
        'a/walk/metadata.yaml', 'a/walk/walk_0.mcap', 'a/walk/walk_1.mcap', 'a/walk/notes.pdf',
        'a/killed/killed_0.db3', 'a/killed/killed_1.db3', 'a/killed/killed_1.db3-wal',
        'b/one.mcap', 'b/two.db3.zstd', 'b/empty/metadata.yaml', 'b/settings.yaml',
        'c/replayed/report.json', 'c/replayed/bag/metadata.yaml', 'c/replayed/bag/bag_0.mcap',
        'c/.out.partial-1/walk/walk_0.mcap',
    )  # fmt: skip
    return tmp_path / 'logs'


def found_in(folder, *places):
    """Bag → size of its files, by their paths below a folder."""
    bags = find_bags([str(place) for place in places or [folder]])
    return {os.path.relpath(bag.path, folder): bag.size for bag in bags}


def size(*paths):
    return sum(map(len, paths))


def test_a_folder_has_all_bags_below_it(logs):
    assert found_in(logs) == {
        'a/killed': size(*(f'a/killed/killed_{k}' for k in ('0.db3', '1.db3', '1.db3-wal'))),
        'a/walk': size('a/walk/metadata.yaml', 'a/walk/walk_0.mcap', 'a/walk/walk_1.mcap'),
        'b/empty': size('b/empty/metadata.yaml'),  # a row that says what is missing
        'b/one.mcap': size('b/one.mcap'),
        'b/two.db3.zstd': size('b/two.db3.zstd'),
    }


def test_a_bag_is_found_once_by_path_and_glob(logs):
    places = [logs / 'a' / 'walk', logs / 'a' / '*', logs / 'b' / '*.mcap', logs / 'b/one.mcap']
    assert list(found_in(logs, *places)) == ['a/killed', 'a/walk', 'b/one.mcap']


def test_loose_files_are_bags_with_what_sqlite_has_beside_them(tmp_path):
    folder, whole = tmp_path / 'logs', size('a.db3', 'a.db3-shm', 'a.db3-wal')
    put(folder, 'a.db3', 'a.db3-shm', 'a.db3-wal', 'b.db3')
    assert found_in(folder) == {'a.db3': whole, 'b.db3': size('b.db3')}
    assert found_in(folder, folder / 'a.db3') == {'a.db3': whole}
    (bag,) = find_bags([f'{folder}/a.db3'])
    assert RobotFiles(['*={bag}/robot.yaml']).file_for(bag) == folder / 'robot.yaml'


def test_a_list_names_places_and_a_missing_one_is_a_bag_without_files(logs):
    put(logs, 'today.txt')
    (logs / 'today.txt').write_text(f'# today\na/walk\n\n{logs}/b/one.mcap\nb/gone.mcap\n')
    found = found_in(logs, logs / 'today.txt')
    assert {path: size > 0 for path, size in found.items()} == {
        'a/walk': True, 'b/gone.mcap': False, 'b/one.mcap': True
    }  # fmt: skip


def test_links_to_folders_are_followed_each_folder_once(logs, tmp_path):
    put(tmp_path, 'far/c.mcap', 'far/deep/d.mcap')
    (logs / '2026').symlink_to(tmp_path / 'far')
    (logs / '2027').symlink_to(tmp_path / 'far')
    (tmp_path / 'far' / 'back').symlink_to(logs)
    (logs / 'walk').symlink_to(logs / 'a' / 'walk')
    (logs / 'gone').symlink_to(tmp_path / 'nowhere')
    before = ['a/killed', 'a/walk', 'b/empty', 'b/one.mcap', 'b/two.db3.zstd']
    assert list(found_in(logs)) == ['2026/c.mcap', '2026/deep/d.mcap', *before]


def test_a_folder_that_cannot_be_read_is_a_row(logs, monkeypatch):
    """As of another user's logs; root may read everything, so the system call refuses here."""

    def refuse(path, scandir=os.scandir):
        if str(path).endswith('/b'):
            raise PermissionError(errno.EACCES, 'Permission denied', path)
        return scandir(path)

    monkeypatch.setattr(os, 'scandir', refuse)
    refused = find_bags([str(logs)])[-1]
    assert (refused.path, refused.size) == (f'{logs}/b', 0)
    assert refused.problem == f"'{logs}/b' cannot be read: Permission denied."
    ((row,), tasks) = _tasks([refused], None, False)[::-1]
    assert (row['state'], row['error'], tasks) == ('error', refused.problem, [])


@pytest.mark.parametrize(
    ('place', 'kind'),
    [('nothing/here', 'no_bag'), ('s3://logs', 'no_bag'), ('no.txt', 'unreadable')],
)
def test_a_place_without_a_bag_is_refused(place, kind):
    with raising(FleetError, kind, place=place):
        find_bags([place])


def test_the_hash_of_a_bag_contains_the_log_beside_it(tmp_path):
    put(tmp_path, 'a.db3', 'a.db3-wal')
    hashed = content_hash(tmp_path / 'a.db3')
    assert data_hashes(tmp_path / 'a.db3').keys() == {'a.db3', 'a.db3-wal'}
    assert data_hashes(tmp_path).keys() == {'a.db3', 'a.db3-wal'}
    (tmp_path / 'a.db3-wal').unlink()
    assert '' != content_hash(tmp_path / 'a.db3') != hashed


def bag(path):
    return BagSource(path)


def test_the_first_pattern_chooses_the_robot_file():
    files = RobotFiles([f'walk_*={ROBOT}', '*/icub/*={bag}/robot.yaml', str(ROBOT)])
    assert files.file_for(bag('/logs/walk_1')) == ROBOT
    assert str(files.file_for(bag('/logs/icub/x'))) == '/logs/icub/x/robot.yaml'
    assert files.file_for(bag('/logs/other')) == ROBOT


def test_a_bag_without_a_robot_file_is_refused():
    with pytest.raises(FleetError, match=r"'/logs/x'.*walk_\*"):
        RobotFiles([f'walk_*={ROBOT}']).file_for(bag('/logs/x'))


@pytest.mark.parametrize('rules', [['=x'], ['walk_*='], [str(ROBOT), str(ROBOT)], ['no.yaml']])
def test_rules_that_cannot_be_used_are_refused_at_once(rules):
    with pytest.raises(IzmpError):
        RobotFiles(rules)


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A task with a robot of its own and a file that is never read."""
    monkeypatch.setattr(module, '_metadata', lambda bag: {})
    shutil.copytree(REPOSITORY / 'robots' / 'biped31', tmp_path / 'biped31')
    (tmp_path / 'x.mcap').write_bytes(b'x')
    robot = tmp_path / 'biped31' / 'robot.yaml'
    return Task(*find_bags([f'{tmp_path}/x.mcap']), str(robot), robot_digest(robot))


def test_a_robot_file_that_changes_meanwhile_is_no_verdict_about_the_bag(task, monkeypatch):
    def evaluate_bag(bag, robot):
        with Path(task.robot).open('ab') as file:
            file.write(b'\n')

    monkeypatch.setattr(module, 'evaluate_bag', evaluate_bag)
    row = evaluate(task).row
    assert (row['error_kind'], row['transient']) == ('other_robot', True)
    assert task.robot in row['error']
