"""Rows and reports of a fleet are made anew when anything has changed that decides them."""

import shutil
from importlib.metadata import version

import pytest

from izmp_dynamics.base.source_closure import PACKAGE, code_digest
from izmp_dynamics.fleet import code as module
from izmp_dynamics.fleet.code import code, digest_with

SOURCES = code_digest('izmp_dynamics.fleet.task')


@pytest.mark.parametrize(
    'file', ['report.html.j2', 'player/player.html.j2', 'player/stage.js', 'player/player.css']
)
def test_another_byte_in_what_a_report_is_made_of_is_another_code(tmp_path, file):
    folder = shutil.copytree(PACKAGE / 'report', tmp_path / 'report')
    assert digest_with(SOURCES, folder) == code()
    with (folder / file).open('a') as asset:
        asset.write('\n')
    assert digest_with(SOURCES, folder) != code()


@pytest.mark.parametrize('library', module.LIBRARIES)
def test_another_version_of_a_library_is_another_code(monkeypatch, library):
    before = code()
    monkeypatch.setattr(module, 'version', lambda name: '0' if name == library else version(name))
    assert digest_with(SOURCES, PACKAGE / 'report') != before
