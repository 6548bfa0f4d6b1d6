"""Which bags there are, which robot file each has, and what if that changes meanwhile."""

import errno
import os
import re
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock

import pytest

pytest.importorskip('fsspec', reason='bags are found with fsspec')

from izmp_dynamics.base.errors import FleetError, IzmpError
from izmp_dynamics.fleet import sources
from izmp_dynamics.fleet import task as module
from izmp_dynamics.fleet.campaign import _tasks
from izmp_dynamics.fleet.robots import RobotFiles, robot_digest
from izmp_dynamics.fleet.sources import BagSource, find_bags, public
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


def names(bags, folder):
    return {bag.url.removeprefix(f'{folder}/'): [file.name for file in bag.files] for bag in bags}


def test_a_folder_has_all_bags_below_it(logs):
    assert names(find_bags([str(logs)]), logs) == {
        'a/killed': ['killed_0.db3', 'killed_1.db3', 'killed_1.db3-wal'],
        'a/walk': ['metadata.yaml', 'walk_0.mcap', 'walk_1.mcap'],
        'b/empty': ['metadata.yaml'],  # a row that says what is missing
        'b/one.mcap': ['one.mcap'],
        'b/two.db3.zstd': ['two.db3.zstd'],
    }


def test_a_bag_is_found_once_by_path_glob_and_url(logs):
    places = [f'{logs}/a/walk', f'file://{logs}/a/*', f'{logs}/b/*.mcap', f'{logs}/b/one.mcap']
    assert list(names(find_bags(places), logs)) == ['a/killed', 'a/walk', 'b/one.mcap']


def test_loose_files_are_bags_with_what_sqlite_has_beside_them(tmp_path):
    put(tmp_path / 'logs', 'a.db3', 'a.db3-shm', 'a.db3-wal', 'b.db3')
    with_log = ['a.db3', 'a.db3-shm', 'a.db3-wal']
    folder = tmp_path / 'logs'
    assert names(find_bags([str(folder)]), folder) == {'a.db3': with_log, 'b.db3': ['b.db3']}
    (bag,) = find_bags([f'{folder}/a.db3'])
    assert sorted(file.name for file in bag.files) == with_log
    assert RobotFiles(['*={bag}/robot.yaml']).file_for(bag) == folder / 'robot.yaml'


def memory():
    import fsspec

    return fsspec.filesystem('memory')


def test_a_remote_file_is_fetched_with_its_log_which_its_hash_contains(tmp_path):
    remote = memory()
    remote.pipe({'/fleet/a.db3': b'data', '/fleet/a.db3-wal': b'log', '/fleet/b.db3': b'data'})
    found = {}
    for bag in find_bags(['memory://fleet']):
        (tmp_path / bag.name).mkdir()
        found[bag.name] = bag.fetch(tmp_path / bag.name)
    remote.rm('/fleet', recursive=True)
    assert found['a.db3'].with_name('a.db3-wal').read_bytes() == b'log'
    assert content_hash(found['a.db3']) != content_hash(found['b.db3']) != ''
    assert data_hashes(found['a.db3']).keys() == {'a.db3', 'a.db3-wal'}
    assert data_hashes(found['a.db3'].parent).keys() == {'a.db3', 'a.db3-wal'}


def test_a_list_names_places_and_a_missing_one_is_a_bag_without_files(logs):
    put(logs, 'today.txt')
    (logs / 'today.txt').write_text(f'# today\na/walk\n\n{logs}/b/one.mcap\nb/gone.mcap\n')
    found = find_bags([str(logs / 'today.txt')])
    assert names(found, logs) == {
        'a/walk': ['metadata.yaml', 'walk_0.mcap', 'walk_1.mcap'],
        'b/gone.mcap': [],
        'b/one.mcap': ['one.mcap'],
    }


def test_links_to_folders_are_followed_each_folder_once(logs, tmp_path):
    put(tmp_path, 'far/c.mcap', 'far/deep/d.mcap')
    (logs / '2026').symlink_to(tmp_path / 'far')
    (logs / '2027').symlink_to(tmp_path / 'far')
    (tmp_path / 'far' / 'back').symlink_to(logs)
    (logs / 'walk').symlink_to(logs / 'a' / 'walk')
    (logs / 'gone').symlink_to(tmp_path / 'nowhere')
    before = ['a/killed', 'a/walk', 'b/empty', 'b/one.mcap', 'b/two.db3.zstd']
    assert list(names(find_bags([str(logs)]), logs)) == [
        '2026/c.mcap',
        '2026/deep/d.mcap',
        *before,
    ]


def test_a_folder_that_cannot_be_read_is_a_row(logs, monkeypatch):
    """As of another user's logs; root may read everything, so the system call refuses here."""

    def refuse(path, scandir=os.scandir):
        if str(path).endswith('/b'):
            raise PermissionError(errno.EACCES, 'Permission denied', path)
        return scandir(path)

    monkeypatch.setattr(os, 'scandir', refuse)
    refused = find_bags([str(logs)])[-1]
    assert (refused.url, refused.files) == (f'{logs}/b', ())
    assert refused.problem == f"'{logs}/b' cannot be read: Permission denied."
    ((row,), tasks) = _tasks([refused], None, False)[::-1]
    assert (row['state'], row['error'], tasks) == ('error', refused.problem, [])


@pytest.fixture
def web(tmp_path, monkeypatch):
    """The URL of a web server whose files are an HTTP status, or that never answers."""
    pytest.importorskip('aiohttp')
    monkeypatch.setattr(sources, 'SILENCE', 0.5)
    over = threading.Event()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            status = self.path.strip('/').partition('.')[0]
            if status == 'silent':
                over.wait()
            if status == '200':
                return super().do_GET()
            self.send_response(int(status) if status.isdigit() else 500)
            self.send_header('Location', self.path)
            return self.end_headers()

        do_HEAD = do_GET
        log_message = Mock()

    put(tmp_path / 'web', '200.mcap')
    handler = partial(Handler, directory=tmp_path / 'web')
    with ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f'http://127.0.0.1:{server.server_port}'
        over.set()
        server.shutdown()


def test_one_failing_server_of_a_list_is_a_row_with_its_reason(web, tmp_path):
    (tmp_path / 'all.txt').write_text(
        f'{web}/200.mcap\n{web}/500.mcap\n{web}/302.mcap\n{web}/silent.mcap\n'
        'http://127.0.0.1:9/refused.mcap\n'
    )
    seen = []
    found = {bag.name: bag for bag in find_bags([str(tmp_path / 'all.txt')], seen.append)}
    assert seen == [1, 2, 3, 4, 5, 5]
    assert [file.size for file in found['200.mcap'].files] == [8]
    problems = {name: bag.problem for name, bag in found.items()}
    assert problems.pop('200.mcap') == ''
    for name, words in {
        '500.mcap': '500 ', '302.mcap': 'the server redirects without end.',
        'silent.mcap': 'nothing came for', 'refused.mcap': '.*Connect',
    }.items():  # fmt: skip
        assert re.search(f"/{name}' cannot be read: {words}", problems.pop(name)), name
    assert not problems
    with pytest.raises(FleetError, match=r"500\.mcap' cannot be read: .*500"):
        find_bags([f'{web}/500.mcap'])


@pytest.mark.parametrize(
    ('place', 'kind', 'named'),
    [
        ('nothing/here', 'no_bag', 'nothing/here'),
        ('warp://logs', 'unknown_protocol', 'warp://logs'),
        ('no.txt', 'unreadable', 'no.txt'),
        ('https://TOKEN@logs.org/a.mcap', 'password_in_url', 'password'),
        ('ftp://me:TOKEN@logs.org/', 'password_in_url', 'password'),
        ('s3://me:TOKEN@logs/x', 'password_in_url', 'password'),
    ],
)
def test_a_place_without_a_bag_or_with_a_password_is_refused(place, kind, named):
    with raising(FleetError, kind) as caught:
        find_bags([place])
    assert named in str(caught.value)
    assert 'TOKEN' not in f'{caught.value} {caught.value.data}'


@pytest.fixture
def host():
    """Bags of a protocol whose URLs state user and host, as those of SFTP and FTP do."""
    import fsspec
    from fsspec.implementations.memory import MemoryFileSystem

    class Remote(MemoryFileSystem):
        protocol = 'remote'

        @classmethod
        def _strip_protocol(cls, path):
            return '/' + path.partition('://')[2].partition('/')[2] if '://' in path else path

        @staticmethod
        def _get_kwargs_from_urls(url):
            return {'host': url.partition('://')[2].partition('/')[0]}

    fsspec.register_implementation('remote', Remote, clobber=True)
    files = {f'/fleet/{name}': b'here/x.mcap\ngone.mcap' for name in ('x.mcap', 'all.txt')}
    memory().pipe(files | {'/fleet/here/x.mcap': b'data'})
    yield
    memory().rm('/fleet', recursive=True)


def test_the_host_of_a_bag_is_kept_and_its_user_is_not(host, tmp_path):
    found = find_bags(['remote://me@one/fleet/x.mcap', 'remote://me@two/fleet/x.mcap'])
    assert [bag.url for bag in found] == ['remote://one/fleet/x.mcap', 'remote://two/fleet/x.mcap']
    assert found[0].fetch(tmp_path).read_bytes()
    listed = find_bags(['remote://me@one/fleet/all.txt'])
    assert [(bag.url, len(bag.files)) for bag in listed] == [
        ('remote://one/fleet/gone.mcap', 0), ('remote://one/fleet/here/x.mcap', 1)
    ]  # fmt: skip
    assert listed[1].given.startswith('remote://me@one/')


def test_the_signature_of_a_url_is_used_and_not_written(tmp_path):
    pytest.importorskip('aiohttp')
    put(tmp_path, 'walk.mcap')
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f'http://127.0.0.1:{server.server_port}/walk.mcap'
        (tmp_path / 'all.txt').write_text(f'{url}?key=SECRET\n{url}.zstd?key=SECRET')
        bag, gone = find_bags([str(tmp_path / 'all.txt')])
        (tmp_path / 'here').mkdir()
        path = bag.fetch(tmp_path / 'here')
        server.shutdown()
    assert path.read_bytes() == b'walk.mcap'
    assert 'SECRET' in bag.given
    assert path.name == bag.name == 'walk.mcap'
    assert (bag.url, gone.url) == (url, f'{url}.zstd')
    assert public(f"403, url='{url}?key=SECRET' (no)") == f"403, url='{url}' (no)"


def bag(url):
    return BagSource(url, ())


def test_the_first_pattern_chooses_the_robot_file():
    files = RobotFiles([f'walk_*={ROBOT}', '*/icub/*={bag}/robot.yaml', str(ROBOT)])
    assert files.file_for(bag('/logs/walk_1')) == ROBOT
    assert str(files.file_for(bag('/logs/icub/x'))) == '/logs/icub/x/robot.yaml'
    assert files.file_for(bag('s3://logs/other')) == ROBOT


@pytest.mark.parametrize(
    ('rule', 'url', 'sentence'),
    [
        (f'walk_*={ROBOT}', '/logs/x', r"'/logs/x'.*walk_\*"),
        ('*={bag}/robot.yaml', 's3://logs/x', 'only for bags on this computer'),
    ],
)
def test_a_bag_without_a_robot_file_here_is_refused(rule, url, sentence):
    with pytest.raises(FleetError, match=sentence):
        RobotFiles([rule]).file_for(bag(url))


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


def changed(task):
    path = Path(task.robot)
    path.write_bytes(path.read_bytes() + b'\n')


@pytest.mark.parametrize('when', ['before', 'during'])
def test_a_robot_file_that_changes_is_no_verdict_about_the_bag(task, monkeypatch, when):
    evaluated = []

    def evaluate_bag(bag, robot):
        evaluated.append(bag)
        changed(task)

    monkeypatch.setattr(module, 'evaluate_bag', evaluate_bag)
    if when == 'before':
        changed(task)
    row = evaluate(task).row
    assert (row['error_kind'], row['transient']) == ('other_robot', True)
    assert task.robot in row['error']
    assert len(evaluated) == (when == 'during')
