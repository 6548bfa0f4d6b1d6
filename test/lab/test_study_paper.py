"""`izmp experiments` and `izmp compare`: pictures, page, numbers, and what goes wrong."""

import csv
import dataclasses
import json
import shutil

import numpy as np
import pytest

from izmp_dynamics.base.errors import ReplayError, SimulationError, UnknownNameError
from izmp_dynamics.cli.main import main
from izmp_dynamics.compare import compare
from izmp_dynamics.compare.compare import compare_bag
from izmp_dynamics.compare.metrics import MetricsError
from izmp_dynamics.pages.picture import Fact, number
from izmp_lab.studies.paper.ideal_sensors import PowerLaw
from izmp_lab.studies.paper.noisy_sensors import PAPER_PERCENT
from izmp_lab.studies.paper.page import FIGURES, MISSING, TABLES, page
from izmp_lab.studies.paper.study import Experiment, PaperStudy
from izmp_lab.studies.paper.trial import WalkCase, simulate_trial
from izmp_lab.studies.publish import publish

from ..bag_surgery import TOPICS
from ..raising import raising
from ..requiring import need
from .pages import assert_complete
from .walking import FILE

NEED_THE_LONG_WALK = {'fig7.mr_ad_y', 'fig7.ir_md_y', 'fig9.B_printed', 'fig9.D_printed',
                      'fig10.E_printed'}  # fmt: skip


def make(folder, **options):
    study = PaperStudy.of(Experiment().quick())
    return publish(page(study), study, folder, **options)


@pytest.fixture(scope='module')
def paper(tmp_path_factory):
    """All pictures, made quickly."""
    folder = tmp_path_factory.mktemp('paper')
    return make(folder), folder


def test_the_page_is_complete(paper):
    results, folder = paper
    assert_complete(results, folder, FIGURES, {'fig9', 'fig10'})


def test_what_must_hold_holds_in_a_short_walk_too(paper):
    """All but exponents of y alone and what the paper prints, which need the long walk."""
    results, _ = paper
    failed = {f'{p.name}.{f.key}' for p, f in results.claims if not f.holds}
    assert failed <= NEED_THE_LONG_WALK


def test_the_page_begins_with_what_is_missing_and_the_exact_motion(paper):
    results, folder = paper
    text = (folder / 'index.html').read_text().replace('\u00a0', ' ')
    assert text.index('What is not reproduced') < text.index('What must hold')
    for missing in MISSING:
        assert missing.item.partition(':')[0] in text
    for title in TABLES:
        assert title in text
    assert results.claims[0][0].name == 'exact'
    assert all(fact.holds for picture, fact in results.claims if picture.name == 'exact')


def test_what_a_setup_prints_stands_beside_its_own_measure_alone(paper):
    """The paper's Δ is not compared with the Σ metric."""
    results, _ = paper
    facts = {fact.key: fact for p in results.pictures if p.name == 'fig9' for fact in p.facts}
    for name in 'ABCD':
        assert facts[name].paper == ''
        assert facts[f'{name}_paper'].paper.startswith(f'{PAPER_PERCENT[name]} %, ')
    assert facts['A_paper'].paper.endswith(', not reproduced')
    assert facts['C_paper'].paper.endswith(', not reproduced')


def test_with_coarse_physics_the_robot_falls():
    """Which is why fig. 7 has no point at 125 Hz of the physics."""
    with pytest.raises(SimulationError, match='fell'):
        simulate_trial(FILE, WalkCase(steps=6, physics_rate=125.0))


def test_numbers_of_captions_page_and_csv_are_the_same(paper):
    results, folder = paper
    page = (folder / 'index.html').read_text().replace('\u00a0', ' ')
    rows = list(csv.DictReader((folder / 'numbers.csv').open()))
    by_key = {(row['figure'], row['key']): row for row in rows}
    for picture in results.pictures:
        caption = ' '.join(text for _, text in picture.caption())
        for fact in picture.facts:
            row = by_key[picture.name, fact.key]
            assert row['value'] == fact.number
            assert str(fact) in page
            if f'{{{fact.key}}}' in picture.ours:
                assert str(fact) in caption
                assert row['value'] in caption


def test_a_claim_that_fails_is_an_exit_status_if_wanted(paper, tmp_path, monkeypatch, capsys):
    from izmp_lab.studies.paper import ideal_sensors

    shutil.copytree(paper[1] / 'runs', tmp_path / 'runs')
    monkeypatch.setattr(ideal_sensors, 'LARGEST_MEAN', 0.0)
    command = ['experiments', 'paper', '--quick', '--quiet', '--only', 'fig6', '--jobs', '1']
    assert main([*command, '-o', str(tmp_path)]) == 0
    assert not capsys.readouterr().out
    command.remove('--quiet')
    assert main([*command, '-o', str(tmp_path), '--strict']) == 1
    printed = capsys.readouterr().out
    assert '\nFAILS' in f'\n{printed}'
    assert 'a FAILS may come from that' in printed


def test_a_power_law_is_found():
    steps = np.array([2.0, 4.0, 8.0, 16.0])
    law = PowerLaw.fit(steps, 0.3 * steps**1.5)
    assert law.slope == pytest.approx(1.5)
    assert law.factor == pytest.approx(0.3)
    assert law.r2 == pytest.approx(1.0)


@pytest.mark.parametrize(
    ('value', 'digits', 'text'),
    [(-0.001, 2, '0.00'), (-1.5, 1, '−1.5'), (float('nan'), 1, '–'), (float('inf'), 1, '∞')],
)
def test_numbers_are_written_for_people(value, digits, text):
    assert number(value, digits) == text


def test_a_fact_says_its_interval_and_unit():
    assert str(Fact('a', 'A', 2.634, '%', 2, 0.02)) == '2.63 ± 0.02 %'
    assert str(Fact('a', 'A', 0.99)) == '0.99'


def test_the_list_of_figures(capsys):
    need('mujoco')
    assert main(['experiments', 'list', 'paper']) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == list(FIGURES)
    assert main(['experiments', 'list']) == 0
    said = capsys.readouterr().out
    assert set(names) < {line.split()[0] for line in said.splitlines()}
    for experiment in ('paper', 'itu_biped', 'angular_momentum', 'seesaw'):
        assert f'izmp experiments {experiment}\n' in said


@pytest.mark.parametrize(
    ('arguments', 'sentence'),
    [
        (['--only', 'fig5'], "There is no figure 'fig5'"),
        (['--noise-density', '-3'], '--noise-density is -3; valid'),
        (['--file', 'nowhere.yaml'], 'nowhere.yaml'),
    ],
)
def test_wrong_options_are_sentences(tmp_path, capsys, arguments, sentence):
    assert main(['experiments', 'paper', '-o', str(tmp_path / 'out'), *arguments]) == 1
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_a_simulated_recording_against_its_truth(sway, biped31):
    _, bag = sway
    mr_ad, ir_md = compare_bag(bag, biped31, ['mr_ad', 'ir_md'], 'ground_truth')
    assert (mr_ad.method, ir_md.method) == ('mr_ad', 'ir_md')
    assert mr_ad.distance_mean < 1e-3
    assert mr_ad.y.rms <= mr_ad.distance_largest
    assert mr_ad.x.count > 100


def test_what_cannot_be_compared_is_a_sentence(sway, sound, biped31, tmp_path, monkeypatch):
    bag, blind = sway[1], dataclasses.replace(biped31, position=None)
    for methods, reference, denotes in (
        (['zmp'], 'cop', 'method'),
        (['mr_ad'], 'so', 'reference'),
    ):
        with raising(UnknownNameError, 'unknown_name', denotes=denotes):
            compare_bag(bag, biped31, methods, reference)
    with raising(MetricsError, 'not_evaluated', method='ir_md') as caught:
        compare_bag(bag, blind, ['ir_md'], 'cop')
    assert 'states no position' in str(caught.value)
    silent = dataclasses.replace(biped31.position, topic='nowhere')
    with raising(MetricsError, 'not_evaluated', method='ir_md') as caught:
        compare_bag(bag, dataclasses.replace(biped31, position=silent), ['ir_md'], 'cop')
    assert 'recording. position: ' in str(caught.value)
    short = sound.copy()
    for topic in TOPICS:
        short.keep(topic, slice(0, 2))
    with raising(ReplayError, 'too_short'):
        compare_bag(short.write(tmp_path / 'bag'), biped31, ['mr_ad'], 'cop')
    with monkeypatch.context() as patched:
        patched.setattr(compare, 'TRUTH_TOPIC', 'nobody/cop')
        with raising(MetricsError, 'no_ground_truth'):
            compare_bag(bag, biped31, ['mr_ad'], 'ground_truth')
    later = (np.array([10**18, 10**18 + 8_000_000]), np.zeros((2, 3)))
    monkeypatch.setattr(compare, '_true_cop', lambda bag, robot: later)
    with raising(MetricsError, 'nothing_in_common', method='mr_ad'):
        compare_bag(bag, biped31, ['mr_ad'], 'ground_truth')


def test_compare_on_the_command_line(sway, robot_yaml, tmp_path, capsys):
    robot = 'robots/biped31/robot.yaml'
    assert main(['compare', str(sway[1]), '--robot', robot, '--json', '--quiet']) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one['method'] for one in found['methods']] == ['mr_ad', 'ir_md']
    del robot_yaml['position']
    blind = tmp_path / 'robot.yaml'
    blind.write_text(json.dumps(robot_yaml))
    arguments = ['--robot', str(blind), '--reference', 'cop', '--quiet']
    assert main(['compare', str(sway[1]), *arguments]) == 0
    said = capsys.readouterr()
    assert 'mr_ad' in said.out
    assert 'position' in said.err
