"""The folder of a replay's results: complete or absent; other files stay."""

# ruff: noqa: PT012 (the body of the `with` statement under test belongs inside `raises`)

import pytest

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.results.files import result_folder

from .raising import raising

RESULTS = ('report.json', 'report.html')


def fill(folder, text='new'):
    """Write what a replay writes."""
    for name in RESULTS:
        (folder / name).write_text(text)


def texts(folder):
    """File → its text."""
    return {path.name: path.read_text() for path in folder.iterdir()}


def names(folder):
    """What lies in a folder, hidden files included."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize('overwrite', [False, True])
def test_what_comes_to_the_place_meanwhile_stays(tmp_path, overwrite):
    place = tmp_path / 'out'
    with (
        raising(ReplayError, 'not_a_result' if overwrite else 'place_taken') as caught,
        result_folder(place, overwrite) as folder,
    ):
        fill(folder)
        place.mkdir()
        (place / 'thesis.txt').write_text('mine')
    assert texts(place) == {'thesis.txt': 'mine'}
    kept = caught.value.data['kept']
    assert texts(kept) == dict.fromkeys(RESULTS, 'new')
    assert str(kept) in str(caught.value)
    assert names(tmp_path) == sorted(['out', kept.name])


def test_what_is_put_into_a_result_that_is_replaced_stays(tmp_path):
    place = tmp_path / 'out'
    with result_folder(place, overwrite=False) as folder:
        fill(folder, 'old')
    with (
        raising(ReplayError, 'foreign_file', name='notes.txt') as caught,
        result_folder(place, overwrite=True) as folder,
    ):
        fill(folder)
        (place / 'notes.txt').write_text('mine')
    assert texts(place) == dict.fromkeys(RESULTS, 'old') | {'notes.txt': 'mine'}
    assert texts(caught.value.data['kept']) == dict.fromkeys(RESULTS, 'new')


def test_what_comes_in_the_last_moment_stays(tmp_path, monkeypatch):
    """Between the last look at the place and the renaming."""
    place = tmp_path / 'out'
    with (
        raising(ReplayError, 'place_taken', path=place) as caught,
        result_folder(place, overwrite=False) as folder,
    ):
        fill(folder)
        rename = type(place).rename

        def late(source, target):
            if target == place:
                place.mkdir(exist_ok=True)
                (place / 'thesis.txt').write_text('mine')
            return rename(source, target)

        monkeypatch.setattr(type(place), 'rename', late)
    assert texts(place) == {'thesis.txt': 'mine'}
    assert texts(caught.value.data['kept']) == dict.fromkeys(RESULTS, 'new')


def test_an_empty_folder_is_a_place(tmp_path):
    (tmp_path / 'out').mkdir()
    with result_folder(tmp_path / 'out', overwrite=False) as folder:
        fill(folder)
    assert names(tmp_path / 'out') == sorted(RESULTS)
    assert names(tmp_path) == ['out']


@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt])
def test_an_interrupted_replay_leaves_nothing(tmp_path, error):
    with pytest.raises(error), result_folder(tmp_path / 'a' / 'out', overwrite=False) as folder:
        fill(folder)
        raise error
    assert names(tmp_path) == []
