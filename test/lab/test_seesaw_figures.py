"""The page of the seesaw: its numbers are those of the tracks, and its claims can fail."""

import dataclasses

import numpy as np
import pytest

from izmp_lab.seesaw.study.checks import LARGEST_EXACT, WRONG, izmp
from izmp_lab.seesaw.study.izmp import CASES, NAMES, REPLAYED, board_points, distances, share
from izmp_lab.seesaw.study.page import FIGURES
from izmp_lab.seesaw.study.tasks import SeesawStudy, Track
from izmp_lab.studies.publish import files_of

STUDY = SeesawStudy(
    duration=30.0,
    push_time=2.0,
    forces=(100.0, 600.0, 700.0),
    other_forces=(200.0,),
)
OWN = [name for name in FIGURES if name != 'izmp']  # the IZMP has a test of its own


def track(given, amplitude=3.0, error=4.0):
    """A made-up run: a decaying angle, a CoM that is off by a constant."""
    times = np.arange(0.0, given['duration'], 0.01)
    decay = np.exp(-np.clip(times - 2.0, 0.0, None)) * (times >= 2.0)
    return Track(
        times=times,
        angle=amplitude * decay,
        com=np.full(len(times), error),
        reference=np.zeros(len(times)),
        linear=2.0 * decay,
        angular=decay,
        unsolved=0,
        fell=given.get('push', '').startswith('700'),
        deviation=1e-12,
        drift=1e-8,
        slip=0.2,
    )


def result(run):
    if run.name == 'equations':
        small = np.full(2, 1e-12)
        moving = {'rate': np.array([0.1, 0.5]), 'printed': np.array([1e-3, 0.1])}
        return moving | dict.fromkeys(('eq30', 'eq9', 'eq31'), small)
    error = 20.0 if run.given['controller'] == 'robot' else 4.0
    return track(run.given, error=error / 20.0 if run.given.get('gains') == 'tuned' else error)


def picture(name, source=result):
    figure = FIGURES[name][0]
    return figure.picture(STUDY, {key: source(run) for key, run in figure.runs(STUDY).items()})


def changed_results(changed):
    """Results with other values, as long as those that they replace."""

    def bad(run):
        found = result(run)
        values = found if isinstance(found, dict) else vars(found)
        other = {
            key: np.full_like(values[key], value) if np.ndim(values[key]) else value
            for key, value in changed.items()
        }
        return found | other if isinstance(found, dict) else dataclasses.replace(found, **other)

    return bad


@pytest.mark.parametrize('name', OWN)
def test_each_picture_is_drawn_and_its_caption_filled_in(name):
    drawn = picture(name)
    files = files_of(drawn)
    assert files[f'{drawn.name}.png'].startswith(b'\x89PNG')
    assert all('{' not in text for _, text in drawn.caption())


@pytest.mark.parametrize('name', OWN)
def test_all_claims_hold_for_what_should_be(name):
    assert all(fact.holds is not False for fact in picture(name).facts)


def test_numbers_are_those_of_the_tracks():
    facts = {
        fact.key: fact for name in ('fig4', 'fig5', 'push_limit') for fact in picture(name).facts
    }
    assert facts['mujoco_mixed_rmse'].value == pytest.approx(4.0)
    assert facts['mixed_authors'].value == 600.0
    later = 3.0 * np.exp(-STUDY.settled)
    assert facts['kkt_robot_later'].value == pytest.approx(later, rel=0.02)


@pytest.mark.parametrize(
    ('name', 'changed'),
    [
        ('fig4', {'angle': 5.0}),
        ('fig5', {'com': 40.0}),
        ('gains', {'com': 40.0}),
        ('plants', {'drift': 1e-3}),
        ('equations', {'eq30': 1e-8}),
        ('equations', {'eq31': 1e-3}),
        ('push_limit', {'fell': True}),
        ('push_limit', {'slip': 6.0}),
        ('push_limit', {'angle': 2.0}),
    ],
)
def test_claims_fail_for_what_should_not_be(name, changed):
    assert any(fact.holds is False for fact in picture(name, changed_results(changed)).facts)


@pytest.mark.parametrize('name', ['fig4', 'fig5', 'gains', 'plants'])
@pytest.mark.parametrize('changed', [{'fell': True}, {'unsolved': 3}])
def test_no_claim_of_a_run_holds_if_the_robot_fell_or_a_tick_had_no_solution(name, changed):
    drawn = picture(name, changed_results(changed))
    assert not any(fact.holds and fact.unit for fact in drawn.facts)


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
