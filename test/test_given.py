"""Results that are given: each at its instant, and not waited for too long; rates beside them."""

import numpy as np
import pytest

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.pipeline.given import CAPACITY, LONGEST_WAIT, GivenJoints, Result
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import PATIENCE

MS = 1_000_000
NO_SAMPLE = Fault(Reason.NO_SAMPLE)


def result():
    return Result('wrench', 2)


def test_an_instant_waits_for_the_result_of_its_stamp():
    wrench = result()
    assert not wrench.decided(np.array([8 * MS]), 16 * MS)
    wrench.push(Samples.one(8 * MS, np.array([1.0, 2.0])))
    assert wrench.decided(np.array([8 * MS, 16 * MS]), 16 * MS) == 1
    wrench.push(Samples.one(24 * MS, np.zeros(2)))
    assert wrench.decided(np.array([8 * MS, 16 * MS]), 16 * MS) == 2
    found = wrench.at(np.array([8 * MS, 16 * MS]))
    np.testing.assert_array_equal(found, [[1.0, 2.0], [np.nan, np.nan]])
    wrench.at(np.array([8 * MS, 16 * MS]))
    assert wrench.faults == {NO_SAMPLE: 1}  # not how often it is asked for


def test_a_result_that_is_not_finite_counts_as_none():
    wrench = result()
    wrench.push(Samples.one(8 * MS, np.array([1.0, np.inf])))
    assert np.isnan(wrench.at(np.array([8 * MS]))).all()
    assert wrench.faults == {NO_SAMPLE: 1}


def test_nothing_is_waited_for_at_the_end_nor_for_ever():
    wrench, end = result(), round(LONGEST_WAIT * NANOSECONDS)
    assert not wrench.decided(np.array([1 * MS]), end)
    assert wrench.decided(np.array([1 * MS]), 2 * MS + end)
    wrench.push(Samples.one(2 * MS, np.zeros(2)))
    wrench.flush()
    assert wrench.decided(np.array([9 * MS]), 9 * MS)
    wrench.push(Samples.one(3 * MS, np.zeros(2)))  # it was no end
    assert not wrench.decided(np.array([9 * MS]), 9 * MS)


@pytest.fixture(scope='module')
def rig(biped31):
    return make_rig(biped31)


@pytest.fixture
def joints(rig):
    return GivenJoints(rig.model, rig.robot, patience=PATIENCE, relearn=True)


def some(rig, first=0, last=None):
    """A message with some of the joints."""
    values = np.full(rig.model.dof, np.nan)
    values[first:last] = 0.0
    return values


def test_repeated_and_older_instants_are_left_out(joints, rig):
    """Two publishers of the same instants, whether they come together or one by one."""
    stamps = np.array([0, 0, 10, 10, 20, 5, 20, 30]) + 1
    kinematics = np.arange(3.0 * rig.model.dof)
    pieces = [slice(0, 5), slice(5, 8)]
    samples = Samples(stamps, np.tile(kinematics, (len(stamps), 1)))
    found = [joints.give(samples.select(rows)) for rows in pieces]
    seen = np.concatenate([part.stamps for part in found])
    np.testing.assert_array_equal(seen, [1, 11, 21, 31])
    np.testing.assert_array_equal(found[1].accelerations[0], kinematics[-rig.model.dof :])
    assert all(part.valid.all() for part in found)


@pytest.mark.parametrize('apart', [0, 100_000], ids=['equal stamps', 'stamps of their own'])
def test_joints_of_several_publishers_are_all_known(joints, rig, apart):
    """In simulated time publishers share their stamps; a message without one says nothing."""
    joints.push(Samples.one(0, some(rig)))
    for k in range(60):
        stamp = NANOSECONDS + 10 * MS * k
        assert not len(joints.push(Samples.one(stamp, some(rig, 0, 20))))
        joints.push(Samples.one(stamp + apart, some(rig, 20)))
    assert [(group.columns, group.period) for group in joints.groups] == [
        (tuple(range(20)), pytest.approx(0.01)),
        (tuple(range(20, rig.model.dof)), pytest.approx(0.01)),
    ]


def test_joints_that_appear_late_become_a_group(joints, rig):
    for k in range(60):
        joints.push(Samples.one(NANOSECONDS + 10 * MS * k, some(rig, 0, 20)))
    for k in range(60, 63):
        joints.push(Samples.one(NANOSECONDS + 10 * MS * k, some(rig, 20)))
    assert [group.columns for group in joints.groups] == [
        tuple(range(20)),
        tuple(range(20, rig.model.dof)),
    ]


def test_what_is_kept_is_bounded_although_nothing_takes_it():
    wrench = result()
    for k in range(1, CAPACITY + 101):
        wrench.push(Samples.one(k * MS, np.zeros(2)))
    assert len(wrench._values) == CAPACITY
    wrench.forget((CAPACITY + 100) * MS)
    assert len(wrench._values) == 1
