"""Growing arrays, in memory and in files, hold what was put into them; the report is the same."""

import tracemalloc
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from izmp_dynamics.base.columns import Column, Columns
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.report.writer import write_report
from izmp_dynamics.results.evaluation import Foot, Track
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise

from .report_scenarios import bump, falling, standing, walking
from .test_report_player import moving

MOST = 300
"""Bytes that the numbers of a report may take for each further instant of a long log."""


def test_a_file_is_gone_when_nothing_refers_to_its_rows_any_more(tmp_path):
    columns = Columns(tmp_path, 7, 0)
    rows = columns.by_blocks(100, lambda part: np.arange(100.0)[part])
    assert len(columns.maps) == 1
    assert rows[-1] == 99.0
    del rows
    assert not columns.maps


def test_a_full_disk_is_an_error(monkeypatch, tmp_path):
    with Path('/dev/full').open('wb') as full:
        monkeypatch.setattr('tempfile.TemporaryFile', lambda **options: full)
        with pytest.raises(ReplayError, match=r'cannot be kept in .*: No space left'):
            Column(Columns(tmp_path, small=0)).extend(np.zeros(3000))


def kept(evaluation, columns):
    """The same evaluation, with its arrays made by `columns`."""
    count = len(evaluation.stamps)

    def column(value):
        if isinstance(value, np.ndarray) and len(value) == count:
            return columns.by_blocks(count, lambda rows: np.array(value[rows], order='C'))
        if isinstance(value, dict):
            return {key: column(entry) for key, entry in value.items()}
        if isinstance(value, tuple):
            return tuple(column(entry) for entry in value)
        if isinstance(value, Foot | Track):
            return replace(
                value, **{f.name: column(getattr(value, f.name)) for f in fields(value)}
            )
        return value

    parts = {field.name: column(getattr(evaluation, field.name)) for field in fields(evaluation)}
    return replace(evaluation, **parts | {'columns': columns})


@pytest.mark.parametrize(
    'evaluation',
    [
        moving(walking(3.0)),
        replace(walking(3.0), world_p_root=None, world_R_root=None),
        falling(3.0, 6.0),
        standing(6.0, offset=bump(3.0, 0.3, 0.2), cop_limit=0.1),
    ],
    ids=['walk', 'unlocated', 'fall', 'push'],
)
def test_the_report_is_the_same_from_files(evaluation, tmp_path):
    """Whatever is computed block by block has the numbers that it has at once, bit for bit."""
    at_once = write_report(kept(evaluation, Columns(block=100)), tmp_path / 'at_once')
    by_blocks = write_report(kept(evaluation, Columns(tmp_path, 100, 0)), tmp_path / 'by_blocks')
    assert by_blocks.json.read_text() == at_once.json.read_text()
    assert by_blocks.html.read_text() == at_once.html.read_text()


def test_a_long_recording_takes_little_memory(tmp_path):
    """What is wide is in files: ten hours at 125 Hz take about a gigabyte."""

    def peak(duration):
        evaluation = standing(duration, offset=bump(3.0, 0.3, 0.2), cop_limit=0.1)
        evaluation = kept(evaluation, Columns(tmp_path, 500, 0))
        tracemalloc.start()
        try:
            summarise(Scene(evaluation))
            return len(evaluation.stamps), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(8.0)  # what is cached on the way
    (few, least), (many, most) = peak(8.0), peak(24.0)
    assert most - least < MOST * (many - few)
