"""`izmp replay --expect`: limits, their answers, JUnit, exit status."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.verdict import findings
from izmp_dynamics.verdict.expect import (
    Limits,
    ValueLimit,
    check_limits,
    junit_xml,
    load_limits,
)
from izmp_dynamics.verdict.summary import summary_of

from .raising import raising
from .report_scenarios import bump, known_until, standing, walking

EXAMPLE = Path(__file__).parents[1] / 'config' / 'limits_example.yaml'


@pytest.fixture(scope='module')
def disturbed():
    """A robot that is pushed to the left for 0.35 s."""
    return summary_of(standing(duration=6.0, offset=bump(4.0, 0.35, 0.25)))


def limits(tmp_path, text):
    path = tmp_path / 'limits.yaml'
    path.write_text(text)
    return load_limits(path)


def answers(tmp_path, summary, text):
    """Name → whether it is met."""
    return {e.name: e.met for e in check_limits(summary, limits(tmp_path, text))}


def test_the_example_states_every_key_and_is_checked(disturbed):
    stated = load_limits(EXAMPLE)
    assert all(vars(stated).values())
    found = {e.name: e for e in check_limits(disturbed, stated)}
    assert len(found) == 1 + 1 + 5 + 4 + 2
    assert not found['verdict: stable or marginal'].met
    assert not found['margin ≥ 0.02'].met
    assert found['number of push ≤ 0'].met
    assert found['number of excursion (size ≥ 0.01) ≤ 1'].met
    assert found['flight_time ≤ 0'].met
    assert not found['fall_alarm.count ≤ 0'].met  # it is not evaluated here
    assert not found['feet.0.loaded_share ≥ 0.3, ≤ 0.9'].met  # both feet carry all the time


def test_no_limit_is_met_by_what_is_not_known(tmp_path):
    evaluation = standing(duration=6.0)
    left, right = evaluation.feet
    feet = replace(left, held_joints=('l_knee',)), right
    text = 'margin: {most: 9.0}\nevents: [{kind: push, most: 0}, {kind: fall, most: 0}]'
    assert all(answers(tmp_path, summary_of(evaluation), text).values())
    found = check_limits(summary_of(replace(evaluation, feet=feet)), limits(tmp_path, text))
    assert [expectation.met for expectation in found] == [False] * 3
    assert 'l_knee' in found[1].sentence


def test_what_may_have_come_at_an_unknown_end_keeps_a_limit_from_being_met(tmp_path):
    text = """
    verdict: [stable]
    margin: {least: 0.001}
    events: [{kind: push, most: 0}, {kind: touchdown, least: 1}]
    """
    whole = summary_of(walking())
    assert all(answers(tmp_path, whole, text).values())
    found = check_limits(summary_of(known_until(walking(), 7.0)), limits(tmp_path, text))
    assert [answer.met for answer in found] == [False, False, False, True]
    for answer in found[1:3]:
        assert answer.sentence.endswith('But from 7.00 s to the end nothing is known.')
    (most,) = check_limits(
        summary_of(known_until(walking(), 7.0)), limits(tmp_path, 'margin: {most: 9.0}')
    )
    assert most.met  # what came then could only lower it


@pytest.mark.parametrize('noise', [None, {'mr_ad': 0.15, 'ir_md': 0.15}])
@pytest.mark.parametrize('known', [0.0, 7.0])
def test_whatever_the_verdict_an_unknown_end_meets_no_limit(tmp_path, noise, known):
    text = 'margin: {least: -9.0}\nevents: [{kind: push, most: 99}, {kind: excursion, most: 999}]'
    whole = walking(noise=noise) if noise else walking()
    assert all(answers(tmp_path, summary_of(whole), text).values())
    found = answers(tmp_path, summary_of(known_until(whole, known)), text)
    assert not any(found.values())


def test_events_that_are_small_or_short_do_not_count(tmp_path, disturbed):
    text = """
    events:
      - {kind: excursion, most: 0}
      - {kind: excursion, most: 0, size: 0.5}
      - {kind: excursion, most: 0, duration: 1.0}
      - {kind: touchdown, least: 1}
    """
    assert list(answers(tmp_path, disturbed, text).values()) == [False, True, True, False]
    (first, *_) = check_limits(disturbed, limits(tmp_path, text))
    assert first.sentence.startswith('1 found: 3.9')
    assert 'outside the left edge' in first.sentence


def test_a_margin_must_hold_with_its_uncertainty_where_that_is_asked(tmp_path, disturbed):
    calm = summary_of(standing(duration=4.0))
    margin, uncertainty = calm.judged.averaged_margin, calm.verdict.uncertainty
    least = margin - 0.5 * uncertainty
    assert answers(tmp_path, calm, f'margin: {{least: {least}}}') == {f'margin ≥ {least:g}': True}
    most = margin + 0.5 * uncertainty
    assert answers(tmp_path, calm, f'margin: {{most: {most}}}') == {f'margin ≤ {most:g}': True}
    text = f'margin: {{least: {least}, most: {most}, surely: true}}'
    assert list(answers(tmp_path, calm, text).values()) == [False, False]
    text = f'margin: {{least: {margin - 2 * uncertainty}, most: {margin + 2 * uncertainty}, '
    assert all(answers(tmp_path, calm, text + 'surely: true}').values())


def test_numbers_are_looked_up_by_place_number_and_name(tmp_path, disturbed):
    text = """
    values:
      - {name: feet.left_foot.mean_force, least: 1}
      - {name: pairs.0.count, least: 1}
      - {name: verdict.state, most: 1}
      - {name: tracks.mr_add.error.scatter, most: 1}
      - {name: events.0.significance, most: 1}
      - {name: notes.0, most: 1}
      - {name: notes.1, most: 1}
    """
    found = check_limits(replace(disturbed, notes=('a note',)), limits(tmp_path, text))
    assert [e.met for e in found] == [True, True, *[False] * 5]
    assert 'is not a number' in found[2].sentence
    assert "There is no 'mr_add' in tracks; valid: mr_ad, ir_md, cop." in found[3].sentence
    assert found[5].sentence == "'a note' is not a number."
    assert found[6].sentence == "There is no '1' in notes; valid: 0."


@pytest.mark.parametrize(
    ('text', 'kind', 'sentence'),
    [('', 'empty', 'is empty'),
     ('{}', 'no_limit', 'valid keys: verdict, margin, events'),
     ('margins: {least: 1}', 'unknown_key', "did you mean 'margin'|valid: verdict, margin"),
     ('margin: {min: 1}', 'unknown_key', 'least'),
     ('margin: {}', 'no_limit', 'neither least nor most'),
     ('margin: {least: 2, most: 1}', 'empty_range', 'more than most'),
     ('margin: 20 mm', 'wrong_type', 'least'),
     ('events: [{kind: pushes, most: 0}]', 'invalid_choice', 'valid: excursion, push, slip'),
     ('events: [{kind: push, most: -1}]', 'out_of_range', 'valid: 0 to'),
     ('no_findings: [noisey]', 'invalid_choice', "Did you mean 'noisy'"),
     ('no_findings: [noisy, "flight[mr_ad]"]', 'invalid_choice', "no finding 'flight"),
     ('no_findings: ["noisy[mr-ad]"]', 'invalid_choice', r'[mr_ad], [ir_md], [cop] after noisy'),
     ('events: {push: 0}', 'wrong_type', 'must be a list'),
     ('verdict: [good]', 'invalid_choice', 'valid: stable, marginal')],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_what_is_valid(tmp_path, text, kind, sentence):
    with raising(RobotFileError, kind) as caught:
        limits(tmp_path, text)
    assert any(part in str(caught.value) for part in sentence.split('|')), str(caught.value)


def test_every_key_of_a_finding_may_be_asked_for():
    source = Path(findings.__file__).read_text()
    made = set(re.findall(r"(?:Finding|warning)\(\s*'(\w+)", source))
    made |= {
        'imu_contradicts_joints',
        'mean_force',
        'soles_overlap',
        *findings.FORBIDDING,
        *findings.ABSENT,
    }
    assert made == set(findings.KINDS)
    described = (EXAMPLE.parents[1] / 'docs' / 'report_json.md').read_text()
    assert [kind for kind in findings.KINDS if not re.search(rf'`{kind}\W', described)] == []
    assert findings.is_key('imu_contradicts_joints[/imu]')
    assert findings.is_key('no_value[ir_md]')


def fields(report):
    """Names of all fields of a report, but for those of the maps whose names are not fixed."""
    for name, value in report.items() if isinstance(report, dict) else ():
        yield name
        if name == 'tracks':
            value = [*value.values()]
        if name not in ('parameters', 'hashes', 'gated', 'out_of_view'):
            for part in value if isinstance(value, list | tuple) else [value]:
                yield from fields(part)


def test_every_field_of_the_report_is_described(disturbed):
    described = (EXAMPLE.parents[1] / 'docs' / 'report_json.md').read_text()
    names = {name.removesuffix('_time') for name in fields(disturbed.as_dict())}
    assert len(names) > 80
    assert {name for name in names if not re.search(rf'[`.]{name}[`.\[_]', described)} == set()


def test_junit_holds_any_text(disturbed):
    given = Limits(
        values=(ValueLimit('evil\0<&\ud800', most=1.0), ValueLimit('duration', most=9.0))
    )
    text = junit_xml('bag <1>', check_limits(disturbed, given), disturbed.verdict.text)
    root = ElementTree.fromstring(text.encode())
    assert (root.get('tests'), root.get('failures'), root.get('errors')) == ('2', '1', '0')
    cases = root.findall('testsuite/testcase')
    assert [case.find('failure') is not None for case in cases] == [True, False]
    assert root.find('testsuite/system-out').text == disturbed.verdict.text


def test_the_command_writes_results_and_returns_3_if_a_limit_is_not_met(corrupted):
    desk = corrupted()
    stated = desk.folder / 'limits.yaml'
    stated.write_text('verdict: [stable]\nmargin: {least: 10.0}')
    outcome = desk.replay('--expect', stated)
    assert outcome.status == 3
    assert outcome.err.startswith('Not met: margin ≥ 10. The smallest margin is')
    assert ' 1 of 2 limits met ' in outcome.out
    written = (desk.results / 'expect.xml').read_text()
    assert ElementTree.fromstring(written).get('failures') == '1'
    assert (desk.results / 'report.html').exists()
    stated.write_text('verdict: [stable]')
    assert desk.replay('--expect', stated, '--overwrite').status == 0
