"""Which feet carry load and how much, where no sensor measures it."""

import numpy as np
import pytest
from scipy.optimize import nnls

from izmp_dynamics.bags.cdr_layout import serialized
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.conventions import frozen
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.diagnosis.signals import _NO_TORQUES
from izmp_dynamics.estimation.contact import LEAST_NORM, carrying, landing_speed
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.results.topics import OF_EACH_FOOT, TOPICS
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.stability.ground_plane import SAME_HEIGHT

from .pipeline_signals import evaluate
from .quadruped import BARE_FEET, FOUR, LEGS, SLOPE, THREE, TROT, rig_of, stand

SQUARE = np.array([[0.1, 0.05, 0.0], [-0.1, 0.05, 0.0], [-0.1, -0.05, 0.0], [0.1, -0.05, 0.0]])
FEET = frozen(np.repeat([0, 1], 4), np.int64)  # as a rig's: no other kernel is compiled
WEIGHT = 300.0


def estimate(point, heights=(0.0, 0.0), speeds=(0.0, 0.0), slope=None, force=WEIGHT, ahead=0.05,
             stated=(np.nan, np.nan), probable=False, pulls=None, half_width=None):  # fmt: skip
    """Loaded feet, shares and the foot that carries most, of two feet 0.2 m apart."""
    R = np.eye(3) if slope is None else slope
    middles = np.array([[0.0, 0.1, heights[0]], [ahead, -0.1, heights[1]]])
    corners = np.concatenate([SQUARE + middle for middle in middles])
    velocities = np.tile([0.3, 0.1, 0.0], (8, 1))
    velocities[:, 0] += np.repeat(speeds, 4)
    up = np.array([0.0, 0.0, 1.0])
    at, root = R @ [*point, 0.0], R @ [0.0, 0.0, 0.8]
    wrench = np.concatenate([force * up, np.cross(at - root, force * up)])
    loaded, shares, chances = np.empty(2, dtype=bool), np.empty(2), np.empty(2)
    most = carrying(
        wrench, up, corners @ R.T - root, velocities @ R.T, FEET, 15.0,
        landing_speed(half_width), np.array(stated),
        np.full((2, 2), np.nan) if pulls is None else np.array(pulls), loaded, shares, chances,
    )  # fmt: skip
    return loaded.tolist(), shares, (chances if probable else most)


@pytest.mark.parametrize('slope', [None, SLOPE], ids=['level', 'slope'])
@pytest.mark.parametrize(
    ('point', 'moves', 'expected'),
    [
        ((0.0, 0.02), {}, [True, True]),
        ((0.0, 0.1), {}, [True, True]),  # both rest: the second one may carry a little
        ((0.0, 0.1), {'speeds': (0.0, 0.05)}, [True, False]),
        ((0.02, -0.02), {'speeds': (0.0, 0.05)}, [True, True]),  # it lands and takes the load
        ((0.0, 0.06), {'speeds': (0.0, 0.15)}, [True, False]),
        ((0.0, 0.06), {'speeds': (0.0, 0.15), 'half_width': 0.04}, [True, True]),  # smeared
        ((0.05, -0.1), {'speeds': (0.4, 0.0), 'heights': (0.005, 0.0)}, [False, True]),
        ((0.05, -0.1), {'heights': (SAME_HEIGHT + 1e-3, 0.0)}, [False, True]),
        ((0.0, 0.1), {'heights': (0.0, 0.04)}, [True, False]),
        ((0.0, 0.14), {'speeds': (0.0, 0.5), 'heights': (0.0, 0.003)}, [True, False]),
    ],
)
def test_a_foot_carries_if_it_touches_rests_and_the_wrench_leans_on_it(
    point, moves, expected, slope
):
    loaded, shares, most = estimate(point, slope=slope, **moves)
    assert loaded == expected
    assert shares.sum() == pytest.approx(1.0)
    assert most == shares.argmax()
    assert (shares[np.logical_not(loaded)] == 0.0).all()


def test_no_foot_carries_in_flight_and_nothing_is_said_of_what_is_unknown():
    loaded, shares, most = estimate((0.0, 0.1), force=10.0, heights=(0.0, -0.01))
    assert (loaded, shares.tolist(), most) == ([False, False], [0.0, 0.0], 1)
    assert estimate((np.nan, 0.1))[2] == -1


@pytest.mark.parametrize('point', [(0.0, 0.0), (0.03, 0.05), (-0.05, -0.08), (0.05, 0.13)])
def test_the_shares_are_those_of_least_moments_and_norm(point):
    """As non-negative least squares find them, with the sum as a heavy row."""
    middles = np.array([[0.0, 0.1], [0.05, -0.1]])
    sides = np.sqrt(np.array([0.1, 0.05]) ** 2 + 0.005**2)
    rows = [1e5 * np.ones((1, 2)), (middles / sides).T, np.sqrt(LEAST_NORM) * np.eye(2)]
    right = np.concatenate([[1e5], point / sides, np.zeros(2)])
    expected, _ = nnls(np.concatenate(rows), right)
    np.testing.assert_allclose(estimate(point)[1], expected, atol=1e-6)


@pytest.mark.parametrize(
    ('pulls', 'moves', 'share'),
    [
        ([[240.0, 4.0], [60.0, 4.0]], {}, 0.2),
        ([[240.0, 4.0], [0.0, WEIGHT**2]], {}, 0.2),  # one knee is straight: the rest is its
        (
            [[240.0, 4.0], [60.0, 4.0]],
            {'point': (0.0, 0.1), 'heights': (0.0, 0.04)},
            0.0,
        ),  # too high
        ([[300.0, 4.0], [2.0, 4.0]], {}, 0.0),
        ([[240.0, 4.0], [60.0, 4.0]], {'speeds': (0.0, 0.3)}, 0.2),  # an impact
        ([[0.0, WEIGHT**2], [0.0, WEIGHT**2]], {}, 0.5),  # both are straight
        ([[20.0, 4.0], [5.0, 4.0]], {}, 0.5),  # as of motors before the gears
        ([[-240.0, 4.0], [-60.0, 4.0]], {}, 0.5),
    ],
)
def test_torques_share_the_one_contact_wrench_if_they_can_be_true(pulls, moves, share):
    loaded, shares, _ = estimate(**{'point': (0.025, 0.0), 'pulls': pulls} | moves)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[1] == pytest.approx(share, abs=0.01)
    assert loaded == [True, share > 0.0]


@pytest.fixture(scope='module')
def rig(tmp_path_factory):
    """The quadruped, whose feet measure nothing."""
    return rig_of(tmp_path_factory.mktemp('quadruped'), feet=[*BARE_FEET])


def results(rig, stance):
    """What the pipeline makes of a stance, where MR-AD is known."""
    found = evaluate(Evaluator(rig), [stance.signals()])
    return found.select(np.isfinite(found.wrenches['mr_ad'][:, 0]))


@pytest.mark.parametrize('slope', [np.eye(3), SLOPE], ids=['level', 'slope'])
@pytest.mark.parametrize(
    ('carries', 'com'),
    [(FOUR, (0.03, -0.02)), (THREE, (0.05, 0.03)), (TROT, (0.04, 0.026))],
    ids=['stand', 'crawl', 'trot'],
)
def test_the_legs_of_a_quadruped_are_found_while_all_of_it_stands_still(rig, carries, com, slope):
    """A lifted foot rests as the others do: it is known by the facet."""
    found = results(rig, stand(rig, np.array(com), np.tile(carries, (40, 1)), slope=slope))
    assert len(found.stamps) > 20
    np.testing.assert_array_equal(
        found.ground.feet.loaded, np.tile(carries, (len(found.stamps), 1))
    )
    assert np.isfinite(found.margins['mr_ad']).all()


def test_the_loads_of_a_crawl_are_those_of_statics(rig):
    """Three legs determine theirs, but for the slope under the balls: r · sin(slope) is 5 mm."""
    true, found = [], []
    for leg in range(4):
        carries = np.ones(4, dtype=bool)
        carries[leg] = False
        away = -np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])[leg] * [0.05, 0.035]
        stance = stand(rig, away, np.tile(carries, (40, 1)), slope=SLOPE)
        shares = results(rig, stance).ground.feet.shares
        load = stance.forces[0] @ stance.normal
        true.append(load / load.sum())
        found.append(shares[10])
    np.testing.assert_allclose(found, true, atol=0.03)
    assert np.corrcoef(np.ravel(true), np.ravel(found))[0, 1] > 0.99


def test_a_force_sensor_that_falls_silent_is_replaced_at_once_live_as_in_replay(tmp_path):
    rig, many = rig_of(tmp_path), 150
    stance = stand(rig, np.array([0.05, 0.03]), np.tile(THREE, (many, 1)), slope=SLOPE)
    signals = stance.signals()
    signals['feet[FL]'] = signals['feet[FL]'].select(slice(50))
    whole = evaluate(Evaluator(rig), [signals])
    live = evaluate(Evaluator(rig, live=True), one_by_one(signals, many))
    load = stance.forces[0] @ stance.normal
    for found in (whole, live):
        feet, silent = found.ground.feet, found.stamps > signals['feet[FL]'].stamps[-1]
        known = silent & np.isfinite(found.wrenches['mr_ad'][:, 0])
        assert np.count_nonzero(known) > 60
        assert (feet.loaded[known] == THREE).all()
        np.testing.assert_allclose(feet.shares[known, 0], load[0] / load.sum(), atol=0.03)
    _, one, other = np.intersect1d(whole.stamps, live.stamps, return_indices=True)
    assert len(one) > 100
    shares = whole.ground.feet.shares[one], live.ground.feet.shares[other]
    np.testing.assert_allclose(*shares, atol=1e-9)


def one_by_one(signals, count):
    """So many messages of each signal, as they come."""
    for k in range(count):
        yield {name: x.select(slice(k, k + 1)) for name, x in signals.items() if k < len(x)}


def torques_of(stance):
    """(K, n) torques that hold the robot, by virtual work [N·m]; they waver by 1 µN·m."""
    model, step = stance.rig.model, 1e-6
    weight = model.total_mass * stance.rig.robot.gravity
    torques = np.empty_like(stance.q)
    for j in range(stance.q.shape[1]):
        later = stance.q + step * np.eye(stance.q.shape[1])[j]
        work = weight * (model.com(later) - model.com(stance.q)) @ stance.R[2]
        for k, leg in enumerate(LEGS):
            (R, p), (S, r) = (model.frame_pose(f'{leg}_foot', q) for q in (stance.q, later))
            on_foot = np.einsum('kji,kj->ki', R, stance.contacts[:, k] - p)
            moved = np.einsum('kij,kj->ki', S, on_foot) + r - stance.contacts[:, k]
            work -= (stance.forces[:, k] * moved).sum(axis=1)
        torques[:, j] = work / step
    return torques + 1e-6 * np.sin(np.arange(len(torques)))[:, None]


@pytest.fixture(scope='module')
def crossed(rig):
    """A stance on all legs of which two carry most, across; and its torques."""
    stance = stand(rig, np.array([0.03, -0.02]), np.tile(FOUR, (40, 1)), slope=SLOPE)
    stance.forces += np.outer([1, -1, -1, 1], 15.0 * stance.normal)
    return stance, torques_of(stance)


def test_torques_give_the_loads_that_statics_leave_open_live_as_in_replay(rig, crossed):
    stance, torques = crossed
    load = stance.forces[0] @ stance.normal
    joints = stance.signals()['joints']
    signals = stance.signals() | {'efforts': Samples(joints.stamps, torques)}
    for live, pieces in ((False, [signals]), (True, one_by_one(signals, 40))):
        shares = evaluate(Evaluator(rig, live=live), pieces).ground.feet.shares
        assert np.isfinite(shares[20:30]).all()
        np.testing.assert_allclose(shares[20:30], [load / load.sum()] * 10, atol=0.03)
    np.testing.assert_allclose(shares.sum(axis=1)[20:30], 1.0)
    assert np.abs(results(rig, stance).ground.feet.shares[10] - load / load.sum()).min() > 0.05


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda x: 0.0 * x, Reason.REPEATED),
        (lambda x: np.tile(x[:1], (len(x), 1)), Reason.REPEATED),
        (lambda x: -x, Reason.TORQUES_CONTRADICT),
        (lambda x: x / 6.0, Reason.TORQUES_CONTRADICT),
    ],
    ids=['zero', 'constant', 'other sign', 'before the gears'],
)
def test_torques_that_cannot_be_true_change_nothing_and_are_reported(
    rig, crossed, change, reason, tmp_path
):
    stance, torques = crossed
    with_them = evaluate_bag(stance.record(tmp_path / 'bag', change(torques)), rig.robot)
    without = evaluate_bag(stance.record(tmp_path / 'bare'), rig.robot)
    for one, other in zip(with_them.feet, without.feet, strict=True):
        np.testing.assert_array_equal(one.share, other.share)
    (note,) = (note for note in with_them.notes if 'efforts' in note)
    assert 'do not decide' in note
    assert not any('efforts' in note for note in without.notes)
    assert _NO_TORQUES[reason] in note


@pytest.mark.parametrize(
    ('doubt', 'worse'),
    [
        ({'speeds': (0.0, 0.02)}, {'speeds': (0.0, 0.08)}),
        (
            {'point': (0.0, 0.1), 'heights': (0.0, 0.0)},
            {'point': (0.0, 0.1), 'heights': (0.0, 0.009)},
        ),
        ({'point': (0.0, 0.06)}, {'point': (0.0, 0.1)}),
    ],
    ids=['speed', 'height', 'share'],
)
def test_contact_is_less_probable_the_more_speaks_against_it(doubt, worse):
    middle = {'point': (0.0, 0.03), 'speeds': (0.0, 0.03)}
    (sure, one), (_, other) = (
        estimate(**middle | each, probable=True)[2] for each in (doubt, worse)
    )
    assert 1.0 > one > other + 0.01 > 0.01
    assert sure > 0.9


def test_contact_is_certain_of_no_foot_in_flight_and_nothing_is_said_of_what_is_unknown():
    assert estimate((0.0, 0.1), force=10.0, probable=True)[2].tolist() == [0.0, 0.0]
    assert np.isnan(estimate((np.nan, 0.1), probable=True)[2]).all()
    stated = estimate((0.0, 0.04), stated=(np.nan, 0.0), probable=True)[2]
    assert stated[0] > 0.9
    assert stated[1] == 0.0
    dead = estimate((0.0, 0.1), stated=(0.0, 0.0), probable=True)[2]
    assert 0.9 < dead[0] < 1.0


def test_wrenches_and_probabilities_of_feet_without_sensors_are_published_live_as_in_replay(rig):
    """The wrenches add up to the contact wrench; they are on the legs that carry, at the balls."""
    stance = stand(rig, np.array([0.05, 0.03]), np.tile(THREE, (40, 1)), slope=SLOPE)
    whole = results(rig, stance)
    topics = [TOPICS[name] for name in OF_EACH_FOOT]
    pieces = evaluate(Evaluator(rig, live=True), one_by_one(stance.signals(), 40))
    for topic in topics:
        (values,) = topic.values(whole, rig)
        (live,) = topic.values(pieces, rig)
        known = topic.known(whole, (values,))
        assert np.count_nonzero(known) > 20
        _, one, other = np.intersect1d(
            whole.stamps[known], pieces.stamps[topic.known(pieces, (live,))], return_indices=True
        )
        assert len(one) > 20
        np.testing.assert_allclose(
            live[topic.known(pieces, (live,))][other], values[known][one], rtol=1e-9, atol=1e-9
        )
        serialized(standard_types(), topic.msgtype, topic.like(rig))  # it takes as many numbers
        assert len(topic.like(rig)['data']) == values.shape[1]
    wrenches = topics[1].values(whole, rig)[0].reshape(-1, 4, 6)
    np.testing.assert_allclose(wrenches.sum(axis=1), whole.wrenches['mr_ad'], atol=1e-9)
    np.testing.assert_array_equal(wrenches[:, 3], 0.0)
    for leg, sole in enumerate(whole.ground.soles[:3]):
        force, moment = wrenches[:, leg, :3], wrenches[:, leg, 3:]
        lever = moment - np.cross(sole.corners[:, 0], force)
        assert np.abs(lever).max() < 0.01 * np.linalg.norm(force, axis=1).max()
