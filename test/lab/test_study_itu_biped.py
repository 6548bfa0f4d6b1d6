"""`izmp experiments itu_biped`: what must hold, where the method loses, pictures and page."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from izmp_lab.simulation.itu_experiment import ItuTrial
from izmp_lab.studies.itu_biped import falls, open_parameters
from izmp_lab.studies.itu_biped import study as runs
from izmp_lab.studies.itu_biped.page import FIGURES, page
from izmp_lab.studies.itu_biped.study import (
    LARGE,
    METHODS,
    SHOWN,
    SMALL,
    Grid,
    ItuStudy,
)
from izmp_lab.studies.publish import publish
from izmp_lab.studies.runs import Store, perform

from .pages import assert_complete


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('itu')


@pytest.fixture(scope='module')
def study():
    """The quick one, at one friction and with one open parameter."""
    return dataclasses.replace(
        ItuStudy.quick(),
        grid=Grid((0.6, 1.4), (SMALL, LARGE), (SHOWN.friction,)),
        open_parameters={'double_support': (0.1,)},
    )


@pytest.fixture(scope='module')
def results(study, folder):
    """All pictures, made quickly: a walk is simulated once, Algorithm 1 is timed once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, 'run_trial', cache(runs.run_trial))
        patch.setattr(runs, '_TIMED', 1)
        return publish(page(study), study, folder)


@pytest.fixture(scope='module')
def load(results, folder):
    """Load a run that has been done."""
    return lambda run: perform(run, Store(folder / 'runs'))


@pytest.fixture(scope='module')
def scores(study, load):
    return {key: load(run) for key, run in falls.scores(study).items()}


def test_at_fast_steps_the_ranking_reverses(scores, study):
    finished = {
        method: sum(scores[method, each].finishes for each in study.grid if each.step_time == 0.6)
        for method in METHODS
    }
    assert finished['converging'] < finished['constant'] <= finished['filtered']


def test_the_dynamics_filter_makes_fast_steps_possible_too(scores, study):
    for setting in study.grid:
        filtered = scores['filtered', setting]
        assert filtered.finishes
        assert filtered.mean <= 5e-3


def test_the_plans_zmp_tells_which_walks_with_ccg_are_finished(scores, study):
    """The largest gap grows with faster steps; beyond the edge of the sole the robot falls."""
    for setting in study.grid:
        score = scores['converging', setting]
        inside = all(
            gap < 0.5 * edge for gap, edge in zip(score.zmp_gap, setting.foot, strict=True)
        )
        assert score.finishes == inside


def test_every_claim_holds_and_those_of_the_issue_are_made(results):
    claims = {f'{picture.name}.{fact.key}': fact.holds for picture, fact in results.claims}
    assert all(claims.values()), claims
    assert claims.keys() >= {
        'fig7.completed', 'fig7.falls_in', 'fig11.mean_10', 'fig11.mean_14', 'fig11.largest_10',
        'fig11.largest_14', 'fig11.ratio_10', 'fig11.ratio_14', 'falls.small_ccg',
        'falls.small_constant', 'open.ccg', 'iterations.paper_2', 'iterations.exact_most',
    }  # fmt: skip


def test_three_iterations_hold_for_dense_trajectories_only(study, load):
    count = load(study.iterations(1.0))
    paper, exact = count['mean'].T
    assert (np.diff(paper) > 0.0).all()
    assert paper[0] <= 3.0 < paper[-1]
    assert exact[0] <= 3.0
    assert count['most'][:, 1].max() <= 10
    assert (count['residual'].max(axis=0) <= [1e-3, 1e-9]).all()


def test_tracks_are_those_of_the_scored_walk(study, load):
    for method in ('converging', 'constant'):
        tracks = load(study.tracks(method, SHOWN))
        score = load(study.score(method, SHOWN))
        error = np.linalg.norm(tracks.com - tracks.wanted_com[: len(tracks.com)], axis=1)
        assert np.allclose(error, tracks.error)
        assert tracks.error.max() == pytest.approx(score.largest, rel=0.05)
        low, high = tracks.support[:, 0::2], tracks.support[:, 1::2]
        assert (tracks.wanted_zmp[:, :2] >= low - 1e-9).all()
        assert (tracks.wanted_zmp[:, :2] <= high + 1e-9).all()


def test_the_first_pose_stands_on_the_first_footholds(study, load):
    tracks = load(study.tracks('converging', SHOWN))
    pelvis, *places = tracks.poses[0]
    assert pelvis[2] == pytest.approx(0.683, abs=1e-3)
    for leg in (places[:5], places[5:]):
        heel, toe = leg[3], leg[4]
        assert np.linalg.norm(toe - heel) == pytest.approx(SMALL[0])
        assert np.abs([heel[2], toe[2]]).max() < 1e-3
    assert len(tracks.soles) == 8
    assert np.ptp(tracks.soles, axis=1) == pytest.approx(np.tile(SMALL, (8, 1)))


def test_open_parameters_are_attributes_of_a_trial():
    names = {field.name for field in dataclasses.fields(ItuTrial)}
    assert open_parameters.PARAMETERS.keys() <= names


def test_the_page_is_complete_and_states_what_is_open(folder, results):
    assert_complete(results, folder, FIGURES, {'open', 'literal'}, rows_at_least=3)
    page = (folder / 'index.html').read_text(encoding='utf-8')
    assert all(row[0] in page for row in open_parameters.TAKEN)
