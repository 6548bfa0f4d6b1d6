"""The memory that a report takes does not follow the length of its recording."""

import tracemalloc

import pytest

from izmp_dynamics.base import selection, store
from izmp_dynamics.base.store import Store
from izmp_dynamics.report import plots
from izmp_dynamics.report.player import playback
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise

from .report_scenarios import bump, standing
from .test_store import kept

MOST = 24
"""Bytes for each further instant: some masks, and what Python itself keeps; a column has 8."""


@pytest.fixture
def small_blocks(monkeypatch):
    """What does not depend on the length is small."""
    monkeypatch.setattr(selection, 'FEW', 256)
    monkeypatch.setattr(selection, '_BITS', 8)
    monkeypatch.setattr(plots, 'BINS', 100)
    monkeypatch.setattr(playback, 'MOST_FRAMES', 50)
    monkeypatch.setattr(store, '_TAKEN', 16)


def peak(evaluation, folder):
    """Bytes that computing the report takes at once."""
    evaluation = kept(evaluation, Store(folder, block=500, small=0))
    tracemalloc.start()
    try:
        scene = Scene(evaluation)
        summary = summarise(scene)
        plots.plots_of(scene, summary)
        playback.play_back(scene, summary.events)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_it_does_not(small_blocks, tmp_path):
    def pushed(duration):
        return standing(duration, offset=bump(3.0, 0.3, 0.2), cop_limit=0.1)

    short, long = pushed(8.0), pushed(24.0)
    peak(short, tmp_path)  # what is cached on the way
    grown = peak(long, tmp_path) - peak(short, tmp_path)
    assert grown < MOST * (len(long.stamps) - len(short.stamps))
