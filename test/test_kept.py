"""What follows from installed files is made once, and again if its file is not as written."""

import pytest

from izmp_dynamics.base import kept as module
from izmp_dynamics.base.kept import kept
from izmp_dynamics.report.player.packing import THREE, UPLOT, compressed

from .test_report_player import require_libraries


class Maker:
    """Turns the bytes round, and counts how often it was asked to."""

    def __init__(self):
        self.count = 0

    def __call__(self, source):
        self.count += 1
        return source[::-1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(module, 'cache_folder', lambda: tmp_path)
    return tmp_path


def test_it_is_made_once_for_each_source(folder):
    make = Maker()
    assert [kept('text', b'abc', make) for _ in range(3)] == [b'cba'] * 3
    assert make.count == 1
    assert kept('text', b'abd', make) == b'dba'
    assert kept('other', b'abd', make) == b'dba'
    assert make.count == 3
    assert sorted(path.name for path in folder.iterdir()) == ['other', 'text']


@pytest.mark.parametrize(
    'damage',
    [lambda content: b'', lambda content: content[:-1], lambda content: content[:-1] + b'x'],
    ids=['empty', 'cut off', 'changed'],
)
def test_a_damaged_file_is_made_again(folder, damage):
    make = Maker()
    kept('text', b'abc', make)
    (folder / 'text').write_bytes(damage((folder / 'text').read_bytes()))
    assert [kept('text', b'abc', make) for _ in range(2)] == [b'cba'] * 2
    assert make.count == 2


def test_where_nothing_can_be_written_it_is_made_every_time(tmp_path, monkeypatch):
    make = Maker()
    for folder in (None, tmp_path / 'missing'):
        monkeypatch.setattr(module, 'cache_folder', lambda folder=folder: folder)
        assert [kept('text', b'abc', make) for _ in range(2)] == [b'cba'] * 2
    assert make.count == 4


@pytest.mark.parametrize('library', [THREE, UPLOT], ids=lambda library: library.package)
def test_a_library_is_packed_as_if_nothing_were_kept(folder, library):
    require_libraries()
    assert library.packed() == library.packed() == compressed(library.read().encode())
