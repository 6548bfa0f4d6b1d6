"""Which bags there are, and which robot file each has."""

import pytest

pytest.importorskip('fsspec', reason='bags are found with fsspec')

from izmp_dynamics.errors import FleetError, IzmpError
from izmp_dynamics.fleet.robots import RobotFiles
from izmp_dynamics.fleet.sources import BagSource, find_bags

from .conftest import REPOSITORY

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
        'b/one.mcap': ['one.mcap'],
        'b/two.db3.zstd': ['two.db3.zstd'],
    }


def test_a_bag_is_found_once_by_path_glob_and_url(logs):
    places = [f'{logs}/a/walk', f'file://{logs}/a/*', f'{logs}/b/*.mcap', f'{logs}/b/one.mcap']
    assert list(names(find_bags(places), logs)) == ['a/killed', 'a/walk', 'b/one.mcap']


def test_a_list_names_places_and_a_missing_one_is_a_bag_without_files(logs):
    put(logs, 'today.txt')
    (logs / 'today.txt').write_text(f'# today\na/walk\n\n{logs}/b/one.mcap\nb/gone.mcap\n')
    found = find_bags([str(logs / 'today.txt')])
    assert names(found, logs) == {
        'a/walk': ['metadata.yaml', 'walk_0.mcap', 'walk_1.mcap'],
        'b/gone.mcap': [],
        'b/one.mcap': ['one.mcap'],
    }


def test_the_stamp_changes_with_a_file(logs):
    before, same = (find_bags([f'{logs}/b/one.mcap'])[0] for _ in range(2))
    (logs / 'b/one.mcap').write_bytes(b'longer than before')
    after = find_bags([f'{logs}/b/one.mcap'])[0]
    assert before.stamp == same.stamp != after.stamp


@pytest.mark.parametrize(
    ('place', 'kind'),
    [('nothing/here', 'no_bag'), ('warp://logs', 'unknown_protocol'), ('no.txt', 'unreadable')],
)
def test_a_place_without_a_bag_is_refused(place, kind):
    with pytest.raises(FleetError, match=place) as caught:
        find_bags([place])
    assert caught.value.kind == kind


def bag(url):
    return BagSource(url, ())


def test_the_first_pattern_chooses_the_robot_file():
    files = RobotFiles([f'walk_*={ROBOT}', '*/icub/*={bag}/robot.yaml', str(ROBOT)])
    assert files.file_for(bag('/logs/walk_1')) == ROBOT
    assert str(files.file_for(bag('/logs/icub/x'))) == '/logs/icub/x/robot.yaml'
    assert files.file_for(bag('s3://logs/other')) == ROBOT


def test_a_bag_without_a_robot_file_is_refused():
    with pytest.raises(FleetError, match=r"'/logs/x'.*walk_\*"):
        RobotFiles([f'walk_*={ROBOT}']).file_for(bag('/logs/x'))


@pytest.mark.parametrize('rules', [['=x'], ['walk_*='], [str(ROBOT), str(ROBOT)], ['no.yaml']])
def test_rules_that_cannot_be_used_are_refused_at_once(rules):
    with pytest.raises(IzmpError):
        RobotFiles(rules)
