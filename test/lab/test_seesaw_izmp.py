"""The IZMP on the seesaw from a recording, against the true CoP; and its figure."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the runs are simulated with MuJoCo')
pytest.importorskip('pinocchio', reason='the controller needs Pinocchio')
pytest.importorskip('daqp', reason='the controller solves quadratic programmes')

from izmp_lab.seesaw.study.checks import LARGEST_EXACT, WRONG, izmp
from izmp_lab.seesaw.study.izmp import CASES, NAMES, REPLAYED, board_points, distances, share
from izmp_lab.seesaw.study.tasks import SeesawStudy
from izmp_lab.studies.publish import files_of


@pytest.fixture(scope='module')
def points():
    """A second and a half of balancing, with a push, replayed."""
    return board_points('biped31', 'mixed', 'sine:0.025:0.25', '100:lateral:0.6:0.01', 1.5)


def test_the_replay_finds_the_true_cop_on_the_moving_board(points):
    assert len(points['times']) == pytest.approx(1.5 * 125, abs=2)
    assert points['pushed'].sum() in (1, 2)
    mean = {name: distances(points, name).mean() for name in NAMES}
    assert 1e6 * distances(points, 'moving').max() < LARGEST_EXACT
    assert mean[REPLAYED] < 0.25  # the push is a large part of so short a run
    assert mean['board_still'] > 5.0 * mean[REPLAYED]
    assert mean['level_seen'] < mean['level']


def test_while_somebody_pushes_the_izmp_is_beside_the_cop(points):
    apart = np.linalg.norm(points['moving'] - points['cop'], axis=1)
    assert (apart[points['pushed']] > 0.05).all()


def test_no_claim_holds_if_many_instants_have_no_point(points):
    holes = points | {REPLAYED: points[REPLAYED].copy()}
    holes[REPLAYED][::20] = np.nan
    assert share(points) == 100.0
    assert share(holes) == pytest.approx(95.0, abs=1.0)
    facts = izmp.picture(SeesawStudy('biped31'), dict.fromkeys(CASES, holes)).facts
    assert not any(fact.holds for fact in facts)


def test_the_figure_names_its_runs_and_says_what_holds(points):
    study = SeesawStudy('biped31')
    references = [run.given['reference'] for run in izmp.runs(study).values()]
    assert references == [reference for reference, _, _ in CASES.values()]
    drawn = izmp.picture(study, dict.fromkeys(CASES, points))
    claims = {fact.key: fact.holds for fact in drawn.facts if fact.holds is not None}
    exact = {f'exact_{case}' for case in CASES}
    means = {f'{REPLAYED}_{case}_mean' for case in CASES}
    times = {f'{name}_{case}_times' for name in WRONG for case in CASES}
    shares = {f'{case}_share' for case in CASES}
    assert set(claims) == exact | means | times | shares
    assert all(claims[key] for key in exact | shares)
    assert all(claims[f'board_still_{case}_times'] for case in CASES)
    assert all('{' not in text for _, text in drawn.caption())
    assert set(files_of(drawn)) == {'izmp.png', 'izmp.svg', 'izmp.csv'}
