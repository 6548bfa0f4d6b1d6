"""`izmp compare-runs`: results aligned by time or by steps, differences with their intervals."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.compare.publish import caveats
from izmp_dynamics.compare.result import PHASES, Result, Series, align, load_results, sampled
from izmp_dynamics.compare.table import (
    HEADINGS,
    numbers,
    of_all,
    of_strides,
    over_time,
)
from izmp_dynamics.pages.rendering import StoreError, write_files

from .command_line import assert_refused, izmp
from .raising import raising

EVIL = '_<script>$1$</script>&%'


def walk(name, period=1.0, offset=0.0, steps=6, seed=1, still=0.0):
    """A result whose margin has the shape of a sine over each stride of the left foot."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, steps * period + 2.0, 0.01)
    touchdowns = [0.5 + still + k * period for k in range(steps)]
    phase = (time - touchdowns[0]) / period
    values = 50.0 + offset + 10.0 * np.sin(2 * np.pi * phase)
    values += 0.1 * rng.standard_normal(len(time))
    events = [{'kind': 'touchdown', 'subject': 'left', 'begin': at} for at in touchdowns]
    report = {'duration': float(time[-1]), 'events': events, 'feet': [{'name': 'left'}]}
    return Result(name, Path(name), report, {'margin': Series(time, values)})


def test_strides_of_different_length_are_one_gait_cycle():
    first, second = walk('a'), walk('b', period=1.3, offset=-5.0, seed=2)
    alignment = align([first, second])
    assert (alignment.by, alignment.foot) == ('steps', 'left')
    (aligned,) = alignment.quantities
    assert [rows.shape for rows in aligned.rows] == [(5, PHASES), (5, PHASES)]
    expected = 50.0 + 10.0 * np.sin(2 * np.pi * aligned.x / 100.0)
    np.testing.assert_allclose(aligned.rows[0].mean(axis=0), expected, atol=0.2)
    found = of_strides(*aligned.rows)
    np.testing.assert_allclose(found.mean, -5.0, atol=0.3)
    assert found.half.max() < 0.5
    _, row = numbers([first, second], alignment).rows
    of = dict(zip(HEADINGS, row, strict=True))
    assert of['difference to the first'] == pytest.approx(-5.0, abs=0.1)
    assert of['n'] == '5'


def test_a_foot_of_another_name_has_the_same_sole_or_sensor():
    """As that of a draft, beside a robot file that was written by hand."""
    first, second = walk('a'), walk('b', seed=2)
    events = [event | {'subject': 'l_sole'} for event in second.report['events']]
    report = second.report | {'events': events, 'feet': [{'name': 'l_sole'}]}
    second = replace(second, report=report)
    assert align([first, second]).by == 'time'
    report = first.report | {'parameters': {'feet[left].sole': 'l_sole'}}
    alignment = align([replace(first, report=report), second])
    assert (alignment.by, alignment.foot, alignment.strides) == ('steps', 'left', {'a': 5, 'b': 5})


def test_over_time_both_begin_with_their_first_instant():
    first, second = walk('a'), walk('b', offset=3.0, seed=2)
    alignment = align([first, second], by='time')
    (aligned,) = alignment.quantities
    assert alignment.foot == ''
    assert aligned.x[-1] == min(first.duration, second.duration)
    found = over_time(aligned.x, aligned.rows[1][0] - aligned.rows[0][0])
    np.testing.assert_allclose(found.mean, 3.0, atol=0.1)


def test_a_stride_with_a_pause_is_left_out():
    result = walk('a', steps=8)
    paused = [dict(event) for event in result.report['events']]
    for event in paused[5:]:
        event['begin'] += 2.0
    slow = replace(result, report={**result.report, 'events': paused})
    (aligned,) = align([walk('b'), slow], by='steps').quantities
    assert aligned.rows[1].shape[0] == 6


def test_a_time_without_values_is_not_bridged():
    series = Series(np.array([0.0, 0.01, 0.2, 0.21]), np.array([0.0, 1.0, 20.0, 21.0]))
    found = sampled(series, np.array([-0.1, 0.005, 0.01, 0.1, 0.2, 0.205, 0.3]))
    np.testing.assert_allclose(found, [np.nan, 0.5, 1.0, np.nan, 20.0, 20.5, np.nan])
    assert np.isnan(sampled(Series(np.empty(0), np.empty(0)), np.array([0.0]))).all()
    # At ten hertz only a gap is left out, and not all but what lies on a value.
    time = np.delete(0.1 * np.arange(40), np.arange(20, 25))
    found = sampled(Series(time, 2.0 * time), np.array([0.05, 1.033, 2.2, 3.01]))
    np.testing.assert_allclose(found, [0.1, 2.066, np.nan, 6.02])


def test_the_interval_of_strides_is_welchs():
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.0, 1.0, 8), rng.normal(1.0, 3.0, 5)
    found = of_strides(first, second)
    low, high = stats.ttest_ind(second, first, equal_var=False).confidence_interval()
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    alone = of_strides(first[:1], second)
    assert np.isnan(alone.half)


@pytest.mark.parametrize('white', [0.0, 1.0])
@pytest.mark.parametrize('rho', [0.0, 0.9, 0.99])
def test_intervals_over_time_hold_for_values_that_resemble_their_neighbours(rho, white):
    """Noise of first order, alone and with as much white noise, for a minute with a gap."""
    rng = np.random.default_rng(5)
    slow = lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.standard_normal((150, 7000)))[:, 1000:]
    noise = slow + white * rng.standard_normal(slow.shape)
    noise[:, 3000:3300] = np.nan
    time = 0.01 * np.arange(noise.shape[1])
    in_all, in_time = [], []
    for row in noise:
        whole, local = of_all(row), over_time(time, row)
        in_all.append(abs(whole.mean) < whole.half)
        known = np.isfinite(local.mean)
        in_time.append(np.mean(np.abs(local.mean[known]) < local.half[known]))
    assert 0.90 < np.mean(in_all) < 0.99
    assert 0.93 < np.mean(in_time) < 0.985


@pytest.mark.parametrize(('count', 'held'), [(1000, 0.83), (2000, 0.90), (6000, 0.94)])
def test_intervals_of_few_correlation_times_are_too_narrow_by_as_much_as_documented(count, held):
    rho, rng = 0.99, np.random.default_rng(6)
    white = rng.standard_normal((600, count + 1000))
    noise = lfilter([np.sqrt(1 - rho**2)], [1, -rho], white)[:, 1000:]
    whole = [each for each in map(of_all, noise) if np.isfinite(each.half)]
    assert np.mean([abs(each.mean) < each.half for each in whole]) == pytest.approx(held, abs=0.04)


def test_a_recording_too_short_for_its_fluctuation_has_no_interval():
    time = np.linspace(0.0, 2.0, 201)
    drift = np.sin(0.5 * np.pi * time)
    assert np.isnan(of_all(drift).half)
    assert np.isnan(over_time(time, drift).half).all()
    assert np.isnan(of_all(np.full(9, np.nan)).half)
    assert of_all(np.zeros(9)).half == 0.0


@pytest.mark.parametrize(
    ('results', 'options', 'kind'),
    [([walk('a'), walk('b', steps=2)], {'by': 'steps'}, 'too_few_strides'),
     ([walk('a'), walk('b')], {'foot': 'middle'}, 'unknown_foot'),
     ([walk('a'), replace(walk('b'), series={})], {}, 'nothing_in_common')],
)  # fmt: skip
def test_what_cannot_be_aligned_is_refused(results, options, kind):
    with raising(ReplayError, kind):
        align(results, **options)


def recorded(name, digest, state='stable', reason='inside'):
    """A result of a recording with this digest, and its verdict."""
    result = walk(name)
    verdict = {'state': state, 'reason': reason, 'sentence': f'so it is of {name}.'}
    hashes = {f'{name}.urdf': name, f'{name}.db3': digest}
    return replace(
        result, report={**result.report, 'robot': 'g1', 'verdict': verdict, 'hashes': hashes}
    )


def test_results_without_a_verdict_and_of_different_recordings_are_named():
    same = [recorded('a', '1'), recorded('b', '1')]
    assert list(caveats(same, align(same, by='time'))) == []
    unclear = [*same, recorded('c', '2', 'unclear', 'noise')]
    no_verdict, different = caveats(unclear, align(unclear, by='time'))
    assert no_verdict.startswith('c has no verdict: so it is of c.')
    assert different.startswith('c and a are different recordings')
    assert list(caveats(unclear, align(unclear, by='steps'))) == [no_verdict]
    other = replace(same[1], report={**same[1].report, 'robot': 'go2'})
    (robots,) = caveats([same[0], other], align(same, by='steps'))
    assert robots == 'These are different robots: g1, go2.'


@pytest.fixture
def result(sound_desk):
    """Two seconds of the sway, evaluated."""
    return sound_desk.results


def test_the_command_writes_page_tables_and_pictures(result, tmp_path):
    out = tmp_path / 'page'
    outcome = izmp('compare-runs', result, result, '-o', out, '--names', f'good,{EVIL}')
    assert (outcome.status, outcome.err) == (0, '')
    assert f'Page: {out / "index.html"}' in outcome.out
    assert 'good: Stable ' in outcome.out
    assert 'Mean ± standard deviation over ' in outcome.out
    page = (out / 'index.html').read_text()
    assert '<script' not in page
    assert '&lt;script&gt;' in page
    assert 'confidence interval' in page
    state = json.loads((result / 'report.json').read_text())['verdict']['state']
    assert f'tone {state}"' in page
    assert page.index('<svg') < page.index('<h2>Numbers</h2>')
    rows = list(csv.DictReader((out / 'numbers.csv').open()))
    assert {row['result'] for row in rows} == {'good', EVIL}
    names = {'margin', 'izmp_x', 'izmp_y', 'cop_x', 'cop_y', 'gap', 'force'}
    assert len(rows) == 2 * len(names)
    others = [row['difference to the first'] for row in rows if row['result'] == EVIL]
    assert set(map(float, others)) == {0.0}
    assert {path.stem for path in out.glob('*.png')} == names


def test_margins_of_a_foot_of_unknown_place_are_not_compared(result, tmp_path):
    unknown = shutil.copytree(result, tmp_path / 'unknown')
    report = json.loads((unknown / 'report.json').read_text())
    report['verdict'] |= {
        'state': 'unclear', 'reason': 'leg_joints_absent', 'sentence': 'there is no publisher.',
    }  # fmt: skip
    (unknown / 'report.json').write_text(json.dumps(report))
    outcome = izmp('compare-runs', result, unknown, '-o', tmp_path / 'page')
    note = 'unknown has no verdict: there is no publisher. Margins are not compared'
    assert outcome.out.startswith(f'Note: {note}')
    assert note in (tmp_path / 'page/index.html').read_text()
    assert 'margin' not in (tmp_path / 'page/numbers.csv').read_text()


def test_the_series_are_those_of_the_replay(result, sound_points):
    first, second = load_results([result, result])
    assert [first.name, second.name] == ['out (1)', 'out (2)']
    start = first.report['start_stamp']
    expected = [(stamp, point[1]) for stamp, point in sorted(sound_points['/mr_ad/izmp'].items())]
    series = first.series['izmp_y']
    np.testing.assert_allclose(series.time, [(stamp - start) / 1e9 for stamp, _ in expected])
    np.testing.assert_allclose(series.values, [1e3 * y for _, y in expected])


def test_where_one_file_cannot_be_written_there_is_none(tmp_path):
    (tmp_path / 'taken').write_text('a file, and no folder')
    with raising(StoreError, 'not_written'):
        write_files({'numbers.csv': b'', 'taken/index.html': b''}, tmp_path)
    with raising(StoreError, 'not_written'):
        write_files({'numbers.csv': b'', 300 * 'x': b''}, tmp_path / 'new')
    assert [path.name for path in tmp_path.iterdir()] == ['taken']


def test_what_is_no_result_is_refused(result, tmp_path):
    given = ('compare-runs', result)
    assert_refused(izmp(*given, '-o', tmp_path / 'out'), 'two results or more')
    assert_refused(izmp(*given, tmp_path, '-o', tmp_path / 'out'), 'not a result of izmp replay')
    alike = izmp(*given, result, '-o', tmp_path / 'out', '--names', 'a,a')
    assert_refused(alike, 'different names')
    (tmp_path / 'page').mkdir()
    (tmp_path / 'page/index.html').write_text('of another')
    assert_refused(izmp(*given, result, '-o', tmp_path / 'page'), 'add --overwrite')
    older = shutil.copytree(result, tmp_path / 'older')
    report = json.loads((older / 'report.json').read_text())
    del report['events']
    (older / 'report.json').write_text(json.dumps(report))
    assert_refused(izmp(*given, older, '-o', tmp_path / 'out'), 'run izmp replay again')
    sound = json.loads((result / 'report.json').read_text())
    for damage in (
        {'events': [{'begin': 0.0}]},
        {'feet': 7},
        {'verdict': {key: each for key, each in sound['verdict'].items() if key != 'margin_of'}},
        {'verdict': sound['verdict'] | {'margin': '56 mm'}},
        {'duration': None},
        {'start_stamp': 1e400},
    ):
        (older / 'report.json').write_text(json.dumps(sound | damage))
        assert_refused(izmp(*given, older, '-o', tmp_path / 'out'), 'is damaged')
    assert not (tmp_path / 'out').exists()
    assert_refused(izmp(*given, result, '-o', tmp_path / 'page.html'), 'the name of a page')
    assert not (tmp_path / 'page.html').exists()
