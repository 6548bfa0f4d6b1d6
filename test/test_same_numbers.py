"""The same messages give the same numbers, in whatever pieces and however late they come."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.model.feet import FootImu, Ground
from izmp_dynamics.model.method import Acd, Filter, IrMd
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.rig import make_rig

from .pipeline_signals import FEEDINGS, MS, columns, evaluate, ticks, walk, whole

SECOND = 10**9
TOLERANCE = 1e-9


@dataclasses.dataclass
class Case:
    """What is fed, and to what.

    Attributes:
        robot: changes of the robot file of biped31.
        corrupt: corrupts the messages.
        duration: of the recording [s].
        rhythms: signal → (period, phase) [s] where it is not 10 ms.
        options: of the evaluator.
        learned: whether groups and periods are learned from the messages.
        punctual: whether no message may be late: after an outage that was longer than instants
            wait, those that come late find their instants evaluated without them.
    """

    robot: dict = dataclasses.field(default_factory=dict)
    corrupt: object = lambda log: None
    duration: float = 1.2
    rhythms: dict = dataclasses.field(default_factory=dict)
    options: dict = dataclasses.field(default_factory=dict)
    learned: bool = False
    punctual: bool = False


def matched(half_width, robot=None, **changes):
    return Case({'filter': Filter(half_width=half_width)} | (robot or {}), **changes)


def wild_value(log):
    log['joints'].values[50, 3] += 1.0
    log['joints'].values[80, 4] = np.inf


def lasting_fault(log):
    log['joints'].values[50:54, 3] += 1.0


def absent_joint(log):
    log['joints'].values[:, 30] = np.nan
    log['joints'].values[60, 2] = np.nan


def lost_foot_sample(log):
    foot = log['feet[l_foot]']
    foot.keep(~np.isin(np.arange(len(foot.stamps)), [40, *range(60, 75)]))


def no_rotation(log):
    part = log['orientation']
    part.values[40] = np.nan
    part.values[55] = 0.0
    part.values[56:] *= -1.0  # the other sign of the same rotations


def no_numbers(log):
    for signal, part in log.items():
        if signal not in ('joints', 'orientation'):
            part.values[30 + 3 * len(signal)] = np.nan
            part.values[31 + 3 * len(signal), 0] = 1e12


def two_publishers(log):
    """The left half of the joints, and the right half at a third of the rate."""
    joints = log['joints']
    slow = np.arange(len(joints.stamps)) % 3 == 1
    first, second = joints.values.copy(), joints.values[slow].copy()
    first[:, 20:], second[:, :20] = np.nan, np.nan
    later = 4 * MS
    times = np.concatenate([joints.stamps, joints.stamps[slow] + later])
    order = np.argsort(times, kind='stable')
    joints.stamps, joints.received = times[order], times[order]
    joints.values = np.concatenate([first, second])[order]


def bursts(log):
    """Messages that waited arrive together; each bears the time at which it was sent on."""
    for k, part in enumerate(log.values()):
        for row in range(20 + 5 * k, len(part.stamps) - 4, 31):
            end = part.stamps[row + 3]
            part.stamps[row : row + 3] = part.received[row : row + 3] = (
                end - np.array([3, 2, 1]) * MS // 5
            )


def hangs(log):
    """Sensors that repeat one value for a while, and a position that is slower than its topic."""
    for k, (signal, part) in enumerate(log.items()):
        if signal in ('imu', 'feet[l_foot]', 'position'):
            part.values[40 + 3 * k : 60 + 4 * k] = part.values[39 + 3 * k]
    later = log['position'].values[75:]
    later[1::2] = later[: 2 * (len(later) // 2) : 2]


def stragglers(log):
    """Single messages overtaken by the next one, stamps of long ago, of far ahead, and of 0."""
    for k, part in enumerate(log.values()):
        for row in range(15 + 3 * k, len(part.stamps) - 1, 23):
            rows, swapped = [row, row + 1], [row + 1, row]
            part.stamps[rows], part.values[rows] = part.stamps[swapped], part.values[swapped]
        part.stamps[61 + k] -= 3600 * SECOND
        part.stamps[83 + k] += 3600 * SECOND
        part.stamps[100 - k] = 0


def seconds_ahead(log):
    """Single stamps that are ahead by less than a clock that is set would be."""
    for k, part in enumerate(log.values()):
        part.stamps[[40 + 3 * k, 90 - k]] += 4 * SECOND


def outages(log):
    """Each signal but the first joints pauses for longer than it is waited for."""
    for k, (signal, part) in enumerate(log.items()):
        if signal != 'joints':
            begin = part.stamps[60 + 7 * k]
            part.keep((part.stamps <= begin) | (part.stamps > begin + 3 * SECOND // 4))


def outage_of_the_second_publisher(log):
    two_publishers(log)
    joints = log['joints']
    second = np.isnan(joints.values[:, 0])
    begin = joints.stamps[second][20]
    inside = (joints.stamps > begin) & (joints.stamps <= begin + 3 * SECOND // 4)
    joints.keep(~(second & inside))


def clock_set_back(log):
    for part in log.values():
        later = part.received > START_AGAIN
        part.stamps[later] -= 5 * SECOND


START_AGAIN = ticks(1.2)[60]


def slow_position(log):
    """A receiver at 10 Hz that begins late."""
    log['position'].keep(log['position'].between(0.25, 9.0))


FEET_IMUS = {
    'ground': Ground(source='feet_imus'),
    'imus': True,
}

CASES = {
    'nothing': Case(),
    'Savitzky and Golay': Case({'acd': Acd(method='savitzky_golay')}, corrupt=stragglers),
    'quotients of the paper': Case({'acd': Acd(method='paper')}, corrupt=stragglers),
    'actuator steps': Case({'ir_md': IrMd(step='actuator')}),
    'paper steps': Case({'ir_md': IrMd(difference='paper')}),
    'matched': matched(0.03),
    'matched, live': matched(0.03, options={'live': True}),
    'matched, corrupted': matched(0.025, corrupt=lambda log: (wild_value(log), no_numbers(log))),
    'matched, stragglers': matched(0.03, corrupt=stragglers),
    'matched, two publishers': matched(0.03, corrupt=two_publishers),
    'matched, outages': matched(0.03, duration=2.6, corrupt=outages, punctual=True),
    'matched, gyroscope': matched(
        0.03, {'accelerometers': ()}, rhythms={'imu': (0.007, 0.0013)}, duration=2.6,
        corrupt=outages, punctual=True,
    ),
    'matched, IMUs in the feet': matched(0.03, FEET_IMUS, corrupt=no_numbers),
    'matched, slow position': matched(0.08, duration=2.6, rhythms={'position': (0.05, 0.013)}),
    'one wild value': Case(corrupt=wild_value),
    'lasting fault': Case(corrupt=lasting_fault),
    'absent joint': Case(corrupt=absent_joint),
    'lost foot sample': Case(corrupt=lost_foot_sample),
    'no rotation': Case(corrupt=no_rotation),
    'no numbers': Case(corrupt=no_numbers),
    'two publishers': Case(corrupt=two_publishers),
    'IMU on its own clock': Case(
        rhythms={'imu': (0.007, 0.0013), 'orientation': (0.007, 0.0013)}
    ),
    'slow position': Case(corrupt=slow_position, rhythms={'position': (0.1, 0.03)}),
    'bursts': Case(corrupt=bursts),
    'hangs': Case(corrupt=hangs),
    'hangs, gyroscope': Case({'accelerometers': ()}, corrupt=hangs),
    'fast position': Case(
        {'ir_md': IrMd(step='actuator')}, rhythms={'position': (0.004, 0.0017)}, corrupt=no_numbers
    ),
    'orientation of the position': Case(options={'orientation': 'position'}, corrupt=no_rotation),
    'no orientation': Case(
        options={'orientation': None}, corrupt=lambda log: log.pop('orientation')
    ),
    'stragglers': Case(corrupt=stragglers),
    'seconds ahead': Case(corrupt=seconds_ahead),
    'clock set back': Case(corrupt=clock_set_back),
    'outages': Case(corrupt=outages, duration=2.6, punctual=True),
    'outages, gyroscope': Case(
        {'accelerometers': ()}, rhythms={'imu': (0.007, 0.0013)}, duration=2.6, corrupt=outages,
        punctual=True,
    ),
    'outages, own clocks': Case(
        rhythms={'imu': (0.007, 0.0013), 'orientation': (0.007, 0.0013), 'position': (0.02, 0.003),
                 'feet[l_foot]': (0.009, 0.002)},
        duration=2.6, corrupt=outages, punctual=True,
    ),
    'outages, IMUs in the feet': Case(FEET_IMUS, duration=2.6, corrupt=outages, punctual=True),
    'outage of the second publisher': Case(
        corrupt=outage_of_the_second_publisher, duration=2.6, punctual=True
    ),
    'gyroscope': Case({'accelerometers': ()}, corrupt=stragglers),
    'gyroscope on its own clock': Case(
        {'accelerometers': ()}, rhythms={'imu': (0.007, 0.0013)}, corrupt=no_numbers
    ),
    'IMUs in the feet': Case(FEET_IMUS, corrupt=no_numbers),
    'moving ground': Case({'ground': Ground('frame', 'board', 'board')}, corrupt=no_numbers),
    'learned': Case(learned=True),
    'learned, two publishers': Case(learned=True, corrupt=two_publishers, duration=1.6),
    'learned, slow position': Case(
        learned=True, corrupt=slow_position, rhythms={'position': (0.1, 0.03)}, duration=2.4
    ),
    'learned, clock set back': Case(learned=True, corrupt=clock_set_back, duration=1.6),
}  # fmt: skip


def robot_of(biped31, changes):
    """The robot file with changes; every second instant of the joints reaches the bus."""
    changes = dict(changes)
    robot = dataclasses.replace(biped31, rates=dataclasses.replace(biped31.rates, bus=50.0))
    if changes.pop('imus', False):
        changes['feet'] = tuple(
            dataclasses.replace(foot, imu=FootImu(f'{foot.name}/imu', foot.name))
            for foot in robot.feet
        )
    return dataclasses.replace(robot, **changes)


def evaluator_of(rig, case, log):
    """A fresh evaluator; it knows groups and periods unless they are to be learned."""
    if case.learned:
        return Evaluator(rig, **case.options)
    present = ~np.isnan(log['joints'].values)
    patterns = np.unique(present, axis=0)
    groups = tuple(
        JointGroup(
            tuple(np.flatnonzero(pattern).tolist()), period_of(log['joints'], present, pattern)
        )
        for pattern in sorted(patterns, key=lambda pattern: -pattern.sum())
    )
    periods = {s: float(np.median(np.diff(p.stamps))) * 1e-9 for s, p in log.items()}
    return Evaluator(rig, disjoint(groups), periods, **case.options)


def disjoint(groups):
    """Without joints that an earlier group has, nor groups of single messages."""
    found, taken = [], set()
    for group in groups:
        columns = tuple(column for column in group.columns if column not in taken)
        taken |= set(columns)
        if columns:
            found.append(JointGroup(columns, group.period))
    return tuple(found)


def period_of(joints, present, pattern):
    stamps = joints.stamps[(present == pattern).all(axis=1)]
    return float(np.median(np.diff(stamps))) * 1e-9 if len(stamps) > 1 else 0.01


@pytest.fixture(scope='module')
def reference(biped31):
    """Case → rig, log, results and faults of the whole log at once."""
    known = {}

    def make(name):
        if name not in known:
            case = CASES[name]
            rig = make_rig(robot_of(biped31, case.robot))
            log = walk(rig, case.duration, case.rhythms)
            case.corrupt(log)
            evaluator = evaluator_of(rig, case, log)
            known[name] = rig, log, evaluate(evaluator, whole(log)), evaluator.faults
        return known[name]

    return make


@pytest.mark.parametrize(
    ('name', 'feeding'),
    [
        (name, feeding)
        for name, case in CASES.items()
        for feeding in FEEDINGS
        if feeding != 'whole' and not (case.punctual and feeding == 'late')
    ],
)
def test_the_same_numbers_however_they_come(reference, name, feeding):
    case = CASES[name]
    rig, log, expected, faults = reference(name)
    evaluator = evaluator_of(rig, case, log)
    results = evaluate(evaluator, FEEDINGS[feeding](log))
    assert len(expected.stamps) > 30
    np.testing.assert_array_equal(results.stamps, expected.stamps)
    found, known = columns(results), columns(expected)
    assert set(found) == set(known)
    for name_of, values in known.items():
        np.testing.assert_allclose(found[name_of], values, rtol=0, atol=TOLERANCE, err_msg=name_of)
    assert evaluator.faults == faults
