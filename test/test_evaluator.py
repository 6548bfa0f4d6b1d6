"""Laws of the evaluation of signals: what depends on what, what is counted, what is kept."""

import dataclasses
import itertools
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import ShapeError, UnknownNameError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.buffer import HORIZON
from izmp_dynamics.signals.samples import Samples

from .pipeline_signals import START, chunks, evaluate, joined, singles, walk, whole
from .raising import raising
from .small_robot import SMALL_ROBOT

SECOND = NANOSECONDS
YEARS = 53 * 365 * 86400 * SECOND
NO_SAMPLE, INTERPOLATED = Fault(Reason.NO_SAMPLE), Fault(Reason.INTERPOLATED)


@pytest.fixture(scope='module')
def rig(biped31):
    return make_rig(biped31)


# ---- Counters -----------------------------------------------------------------------------------


@pytest.mark.parametrize('feeding', [whole, chunks, singles])
def test_counters_count_instants_and_not_how_often_they_were_asked_for(rig, feeding):
    """An IMU between the instants: each is interpolated once, however long it waited."""
    log = walk(rig, 1.2, {'imu': (0.01, 0.003), 'orientation': (0.01, 0.003)})
    log['feet[l_foot]'].keep(~log['feet[l_foot]'].between(0.5, 0.7))
    evaluator = Evaluator(rig)
    results = evaluate(evaluator, feeding(log))
    t = (results.stamps - START) * 1e-9
    first = np.count_nonzero(t < 0.013)
    expected = {NO_SAMPLE: first} if first else {}
    assert evaluator.faults['imu'] == {INTERPOLATED: len(results.stamps) - first} | expected
    lost = np.count_nonzero((t > 0.499) & (t < 0.699))
    assert evaluator.faults['feet[l_foot]'] == {NO_SAMPLE: lost}
    assert not evaluator.faults['feet[r_foot]']


def assert_same(one, other):
    """Results that do not differ in a bit."""
    np.testing.assert_array_equal(other.stamps, one.stamps)
    for quantity in ('wrenches', 'points', 'margins'):
        for name, values in getattr(one, quantity).items():
            np.testing.assert_array_equal(getattr(other, quantity)[name], values)


# ---- What may complete an instant ---------------------------------------------------------------


def test_no_instant_is_late_because_samples_are_collected(rig):
    """Samples that complete nothing may be taken later, together: the same instants come out."""
    periods = dict.fromkeys(walk(rig, 0.1), (0.008,)) | {'joints': (0.002,)}
    messages = list(singles(walk(rig, 0.8, periods)))
    evaluator, waiting, collected = Evaluator(rig, live=True), Evaluator(rig, live=True), {}
    idle = 0.0
    for k, message in enumerate(messages):
        results = evaluator.push(message)
        for signal, samples in message.items():
            before = collected.get(signal)
            collected[signal] = samples if before is None else Samples.joined([before, samples])
        newest = {signal: int(samples.stamps[-1]) for signal, samples in collected.items()}
        if not waiting.awaits(newest):
            assert not results, k
            continue
        together = waiting.push(collected)
        collected = {}
        for one, other in zip(results, together, strict=True):
            assert_same(one, other)
        if 'joints' in newest:
            idle = max(idle, waiting.idle_after(newest['joints']))
    assert 0.004 < idle < 0.01


def test_pose_and_ir_md_are_left_out_while_nobody_wants_them(rig):
    """The rest is the same, and so are they as soon as they are wanted again."""
    known, prompt = [], []
    messages = list(singles(walk(rig, 1.2)))  # the rates are known at 0.5 s
    whole_time = Evaluator(rig, live=True, prompt=known.append)
    sometimes = Evaluator(rig, live=True, prompt=prompt.append)
    everything, found = [], []
    for k, message in enumerate(messages):
        sometimes.locates = not 0.6 * len(messages) <= k < 0.8 * len(messages)
        everything += whole_time.push(message)
        found += sometimes.push(message)
    assert len(known) > 50
    for one, other in zip(known, prompt, strict=True):
        assert_same(one, other)
    everything, found = joined(everything), joined(found)
    t = (found.stamps - START) * 1e-9
    nowhere = np.isnan(found.points['ir_md'][:, 0])
    assert nowhere[(t > 0.73) & (t < 0.91)].all()
    assert not nowhere[(t > 1.0) & (t < 1.18) | ((t > 0.1) & (t < 0.67))].any()
    expected = dict(zip(everything.stamps.tolist(), everything.points['ir_md'], strict=True))
    for row in np.flatnonzero(~nowhere):
        np.testing.assert_array_equal(found.points['ir_md'][row], expected[int(found.stamps[row])])


# ---- The direction up ---------------------------------------------------------------------------


def up_of(rig, log, orientation):
    """ "Up" (K, 3) where both feet lack their sensors."""
    results = evaluate(Evaluator(rig, orientation=orientation), whole(log))
    t = (results.stamps - START) * 1e-9
    rows = (t > 0.41) & (t < 0.89)
    assert rows.sum() > 40
    return results.up[rows]


def test_up_is_that_of_the_orientation_also_where_a_foot_was_not_measured(rig):
    logs = []
    for sideways in (0.0, 30.0):
        log = walk(rig)
        if sideways:
            log['imu'].values[:, 4] += sideways
            for k in range(3):
                log[f'accelerometers[{k}]'].values[:, 1] += sideways
        for name in ('feet[l_foot]', 'feet[r_foot]'):
            log[name].keep(~log[name].between(0.4, 0.9))
        logs.append(log)
    still, pushed = (up_of(rig, log, 'imu') for log in logs)
    assert np.isfinite(still).all()
    np.testing.assert_array_equal(pushed, still)
    for log in logs:
        del log['orientation']
    blind = [up_of(rig, log, None) for log in logs]
    assert not np.allclose(blind[0], blind[1])


# ---- Time ---------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def small(tmp_path_factory):
    """A robot of two links with an IMU."""
    folder = tmp_path_factory.mktemp('small')
    (folder / 'small.urdf').write_text(SMALL_ROBOT)
    (folder / 'small.yaml').write_text(
        'urdf: small.urdf\nimu: {frame: base}\n'
        'feet: [{name: foot, sole: sole, polygon: [[0.1, 0.1], [0.1, -0.1], [-0.1, 0]]}]\n'
    )
    return make_rig(load_robot_file(folder / 'small.yaml'))


def times(begin, end, rate=20):
    """Stamps of a topic from `begin` to `end` [s] after START."""
    return START + np.arange(round(begin * rate), round(end * rate)) * (SECOND // rate)


def standing(stamps, imu=None):
    """Signals of a robot that stands still."""
    imu = stamps if imu is None else imu
    force = [0.0, 0.0, 0.0, 0.0, 0.0, 9.81]
    return {
        'joints': Samples(stamps, np.zeros((len(stamps), 1))),
        'imu': Samples(imu, np.tile(force, (len(imu), 1))),
    }


def instants(rig, signals, pieces=1):
    """Stamps of all instants with an IZMP, and the evaluator."""
    known = (JointGroup((0,), 0.05),), {'imu': 0.05}
    evaluator = Evaluator(rig, *known, orientation=None)
    ends = np.linspace(0, max(len(part) for part in signals.values()), pieces + 1).astype(int)
    cuts = [slice(begin, end) for begin, end in itertools.pairwise(ends)]
    parts = ({name: part.select(cut) for name, part in signals.items()} for cut in cuts)
    results = evaluate(evaluator, parts)
    known = np.isfinite(results.points['mr_ad']).all(axis=1)
    return results.stamps[known], evaluator


def inner(*stretches):
    """What has two neighbours in its stretch."""
    return np.concatenate([stretch[1:-1] for stretch in stretches])


@pytest.mark.parametrize('pieces', [1, 1000])
@pytest.mark.parametrize(
    ('before', 'after'),
    [
        *((times(0, 25), times(25 + pause, 50 + pause)) for pause in (30, 100_000_000)),
        (times(0, 22) - YEARS, times(22, 50)),
        (times(0, 2), times(2, 4) - 1800 * SECOND),
    ],
    ids=['30 s', 'years', 'set to the present', 'set back'],
)
def test_a_pause_and_a_clock_that_is_set_lose_nothing(small, before, after, pieces):
    pieces = min(pieces, 2 * len(before))
    found, _ = instants(small, standing(np.concatenate([before, after])), pieces)
    np.testing.assert_array_equal(found, inner(before, after))


@pytest.mark.parametrize('pieces', [1, 800])
def test_two_wrong_stamps_ahead_do_not_push_the_time(small, pieces):
    stamps = times(0, 40)
    stamps[[300, 301]] += 3000 * SECOND
    found, _ = instants(small, standing(stamps, times(0, 40)), pieces)
    np.testing.assert_array_equal(found, inner(times(0, 15), times(15.1, 40)))


def test_a_longer_wait_than_the_patience_ends(small):
    """Joints go on without an IMU that stopped publishing; its stretch has results."""
    joints, imu = times(0, 20), times(0, 10)
    evaluator = Evaluator(small, (JointGroup((0,), 0.05),), {'imu': 0.05}, orientation=None)
    newest = 0
    for k, stamp in enumerate(joints):
        rows = slice(k, k + 1)
        signals = standing(joints[rows], imu[rows])
        for part in evaluator.push(signals):
            newest = int(part.stamps[-1])
        if stamp > START + SECOND:
            assert stamp - newest < 1.2 * SECOND
    assert dataclasses.is_dataclass(evaluate(evaluator, []))


def test_the_example_of_the_documentation_runs(monkeypatch, capsys):
    root = Path(__file__).resolve().parents[1]
    monkeypatch.chdir(root)
    runpy.run_path('examples/feed_the_pipeline.py')
    printed = capsys.readouterr().out
    assert sum(int(count) for count in re.findall(r'(\d+) instants', printed)) == 98
    assert 'Fault(' not in printed


def test_unknown_signals_and_wrong_widths_are_named(biped31):
    evaluator = Evaluator(make_rig(biped31))
    with raising(UnknownNameError, 'unknown_name', name='feet[left]'):
        evaluator.push({'feet[left]': Samples(np.array([1]), np.zeros((1, 6)))})
    with raising(ShapeError, 'shape', name='imu'):
        evaluator.push({'imu': Samples(np.array([1]), np.zeros((1, 3)))})
    with raising(ShapeError, 'shape', name='joints'):
        evaluator.push({'joints': Samples(np.array([1]), np.zeros((1, 2)))})


def test_a_slow_position_does_not_hold_up_or_erase_the_other_method(biped31):
    """Instants wait for its next fix, for longer than samples are kept where none wait."""
    rig = make_rig(biped31)
    log = walk(rig, 40.0, {'position': (4.0, 0.5)})
    known = {signal: float(np.median(np.diff(p.stamps))) * 1e-9 for signal, p in log.items()}
    groups = (JointGroup(tuple(range(rig.model.dof)), 0.01),)
    evaluator = Evaluator(rig, groups, known)
    results = evaluate(evaluator, chunks(log))
    assert np.isfinite(results.points['mr_ad']).all(axis=1).mean() > 0.95


def test_joints_that_stop_do_not_fill_the_memory_with_what_waits_for_ir_md(rig):
    """An instant of IR-MD waits for the next one, while all other sensors go on for a minute."""
    log = walk(rig, 65.0)
    log['joints'].keep(~log['joints'].between(2.0, 66.0))
    evaluator = Evaluator(rig, live=True)
    for part in chunks(log):
        evaluator.push(part)
        evaluator.stages.trim()
    longest = (HORIZON + 5.0) / 0.01
    assert len(evaluator.world._fixes) < longest
    for stage in evaluator.stages.all:
        for source in (*stage.sources, *(stream.buffer for stream in stage.streams)):
            assert len(source.stamps) < longest


def test_the_clock_of_a_sensor_that_is_not_used_does_not_matter(biped31):
    rig = make_rig(biped31)
    log, evaluator = walk(rig), Evaluator(rig)
    stamps = log['imu'].stamps
    unused = np.where(stamps > START + SECOND // 2, stamps - 5 * SECOND, stamps)
    results = evaluate(evaluator, singles(log))
    with_unused = Evaluator(rig)
    found = []
    for part in singles(log):
        if 'imu' in part:
            row = int(np.flatnonzero(stamps == part['imu'].stamps[0])[0])
            part = part | {'foot_imus[l_foot]': Samples.one(int(unused[row]), np.zeros(6))}
        found += with_unused.push(part)
    found += with_unused.flush()
    np.testing.assert_array_equal(
        np.concatenate([piece.stamps for piece in found]), results.stamps
    )


def test_what_another_evaluator_has_learned_need_not_be_learned_again(small):
    """A setting was changed: instants are evaluated at once, and until the clock is set back."""
    former, after, fresh = (Evaluator(small, orientation=None, live=True) for _ in range(3))
    former.push(standing(times(0.0, 1.0, 100)))
    after.stages.assume(former.stages)
    assert dict(after.stages.periods()) == dict(former.stages.periods()) != {}
    begin = standing(times(1.0, 1.3, 100))
    assert not fresh.push(begin)
    (results,) = after.push(begin)
    assert np.isfinite(results.wrenches['mr_ad']).all(axis=1).sum() > 20
    after.push(standing(times(-50.0, -49.8, 100)))
    assert after.resets == 1
    assert 'joints' not in dict(after.stages.periods())
