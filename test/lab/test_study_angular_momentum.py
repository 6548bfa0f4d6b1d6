"""`izmp experiments angular_momentum`: what must hold, the map, pictures and page."""

import pytest

from izmp_lab.studies.angular_momentum import page as grid
from izmp_lab.studies.angular_momentum.page import FIGURES, page
from izmp_lab.studies.angular_momentum.study import MomentumStudy, Trial, write_robot_file
from izmp_lab.studies.publish import publish
from izmp_lab.studies.runs import Store, perform

from .pages import assert_complete


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('momentum')


@pytest.fixture(scope='module')
def study(folder):
    return MomentumStudy.quick(folder)


@pytest.fixture(scope='module')
def results(study, folder):
    """All pictures, made quickly."""
    return publish(page(study), study, folder)


@pytest.fixture(scope='module')
def load(results, folder):
    """Load a run, done or not."""
    return lambda run: perform(run, Store(folder / 'runs'))


def test_every_claim_holds(results):
    claims = {f'{p.name}.{f.key}': f.holds for p, f in results.claims}
    assert all(claims.values())
    assert claims.keys() >= {
        'schemes.biped31_E3_rms_x', 'schemes.biped31_E4_largest_x', 'schemes.biped31_worse',
        'schemes.biped31_same', 'grid.usual', 'execution.biped31_mean_E4',
        'execution.biped31_ratio',
    }  # fmt: skip


def test_the_page_is_complete(results, folder):
    assert_complete(results, folder, FIGURES, {'schemes'}, rows_at_least=3)
    assert 'nan' not in results.page.read_text()


def test_fast_steps_are_beyond_what_the_splines_can_follow(study, load):
    cells = {
        (time, bool(changed)): load(
            study.score(study.biped31, Trial('E4', time, 0.25, changed=changed))
        )
        for time in (0.6, 0.8)
        for changed in ({}, grid.FINE)
    }
    assert grid.works(cells[0.8, False])
    assert not grid.works(cells[0.6, False])
    assert cells[0.6, True].rms[0] < 0.3 * cells[0.6, False].rms[0]


def test_on_short_soles_the_point_masss_walk_falls_and_e4s_does_not(study, load):
    walks = {
        scheme: load(study.executed(study.biped31, Trial(scheme, sole=0.08)))
        for scheme in ('E1', 'E4')
    }
    assert walks['E1'].falls_in
    assert not walks['E4'].falls_in
    assert walks['E4'].mean < 0.01


def test_a_step_that_cannot_be_made_is_kept_with_its_reason(study, load):
    run = study.score(study.biped31, Trial('E4', 0.8, 0.6))
    score = load(run)
    assert 'leg would have to reach' in score.refused
    assert not grid.works(score)


def test_taloss_robot_file_names_the_urdf_and_the_soles(tmp_path):
    from izmp_dynamics.model.robot_file import load_robot_file

    file = load_robot_file(write_robot_file(tmp_path))
    assert file.root == 'base_link'
    assert [foot.sole for foot in file.feet] == ['left_sole_link', 'right_sole_link']
