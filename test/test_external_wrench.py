"""The external force: what neither the ground nor the weight explains, and when it pushed."""

import dataclasses
import json
import re

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.estimation.push import LEAST_PART, points_on_lines
from izmp_dynamics.estimation.push import find_forces as found_with_level
from izmp_dynamics.evaluate import evaluate_bag, replay
from izmp_dynamics.model.method import Fusion
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.verdict.events.event import STEPS
from izmp_dynamics.verdict.pushes import PushStatistics, push_remarks
from izmp_dynamics.verdict.summary import summary_of
from izmp_lab.simulation.noisy_signals import sensor_noise
from izmp_lab.simulation.physics import Shove
from izmp_lab.simulation.scenarios import simulate_walk
from izmp_lab.walking.walk_parameters import WalkParameters

from .bag_columns import received, wrenches
from .lab.walking import ROBOT_FILE

FILE = dataclasses.replace(load_robot_file(ROBOT_FILE), fusion=Fusion('trunk'))
NOISY_FILE = load_robot_file(ROBOT_FILE.with_name('robot_noisy.yaml'))
SECOND = 10**9
WEIGHT = 270.0
WALK = WalkParameters(steps=6, stand=1.0)
PUSHES = {
    'none': (),
    'back and right': (Shove(40.0, 'back', 1.503), Shove(25.0, 'right', 3.1, 0.2)),
    'left and forward': (Shove(40.0, 'left', 2.0), Shove(40.0, 'forward', 3.203)),
}


FROM = {
    'left': 'from the right', 'right': 'from the left',
    'forward': 'from behind', 'back': 'from the front',
}  # fmt: skip


@pytest.fixture(scope='module', params=PUSHES)
def walked(request, tmp_path_factory):
    """The pushes, the bag, its results, and summaries by two robot files: ideal, noisy."""
    folder = tmp_path_factory.mktemp('walk')
    pushes = PUSHES[request.param]
    walk = simulate_walk(
        FILE, folder / 'bag', parameters=WALK, pushes=pushes, noise=sensor_noise('xsens_mti20')
    )
    walk.run.require_standing()
    result = replay(folder / 'bag', FILE, folder / 'ideal')
    noisy = summary_of(evaluate_bag(folder / 'bag', NOISY_FILE))
    return pushes, folder / 'bag', result, {'ideal': result.summary, 'noisy': noisy}


def test_the_topic_holds_the_wrench_that_was_applied(walked):
    """Force within 0.5 N, moment within 0.5 N·m at every instant."""
    pushes, bag, result, _ = walked
    stamps, external = wrenches(result.bag, '/external_wrench')
    applied = np.zeros_like(external)
    if pushes:
        true_stamps, truth = wrenches(bag, '/ground_truth/applied_wrench')
        common, rows, true_rows = np.intersect1d(stamps, true_stamps, return_indices=True)
        assert np.array_equal(common, stamps)
        applied[rows] = truth[true_rows]
    assert np.abs(external - applied).max() < 0.5


def test_the_report_names_what_pushed(walked):
    pushes, _, result, _ = walked
    page = ' '.join(result.html.read_text().split())  # its spaces do not break
    assert len(set(re.findall('An external force pushed[^<]*', page))) == len(pushes)
    for shove in pushes:
        assert f'pushed the robot {FROM[shove.direction]} with' in page
    for push in result.summary.pushes:
        assert f' at {push.start:.2f} s, ' in page
        assert push.significance > 10.0


def contact_changes(bag, foot, first):
    """Time [s] and whether it lands, of each true change of contact but bounces of 10 ms."""
    found = received(bag, f'/ground_truth/{foot}/loaded')
    truth = [(stamp / SECOND - first, m.data) for stamp, m in found]
    changes = [
        now for now, before in zip(truth[1:], truth, strict=False)
        if now[1] != before[1] and now[0] > 0.05
    ]  # fmt: skip
    kept = []
    for change in changes:
        if kept and change[0] - kept[-1][0] < 0.01:
            kept.pop()
        else:
            kept.append(change)
    return kept


@pytest.mark.parametrize('sensors', ['ideal', 'noisy'])
def test_events_of_a_walk_are_its_pushes_and_steps(walked, sensors):
    """Touchdowns and lift-offs within two instants of the truth; no foot slips, nothing falls."""
    pushes, bag, _, summaries = walked
    summary = summaries[sensors]
    kinds = {event.kind for event in summary.events}
    assert not kinds & {'slip', 'flight', 'fall', 'sensor fault'}
    found = [event for event in summary.events if event.kind == 'push']
    assert len(found) == len(pushes)
    first = summary.start_stamp / SECOND
    for event, shove in zip(found, pushes, strict=True):
        assert first - 1.0 + event.begin == pytest.approx(shove.start, abs=0.010)
        assert event.end - event.begin == pytest.approx(shove.duration, abs=0.010)
        assert (event.size, event.unit) == (pytest.approx(shove.force, rel=0.10), 'N')
        assert event.significance > 5.0
        assert event.sentence.startswith(f'Pushed {FROM[shove.direction]} with ')
    for foot in ('l_foot', 'r_foot'):
        expected = contact_changes(bag, foot, first)
        steps = [e for e in summary.events if e.subject == foot and e.kind in STEPS]
        assert [e.kind == 'touchdown' for e in steps] == [lands for _, lands in expected]
        np.testing.assert_allclose(
            [e.begin for e in steps], [at for at, _ in expected], atol=0.016
        )


def test_the_topic_events_and_the_report_hold_the_same(walked):
    """One latched message for each: stamped with its begin, received at its end."""
    _, _, result, _ = walked
    events = result.summary.events
    listed = json.loads(result.json.read_text())['events']
    assert [event['sentence'] for event in listed] == [event.sentence for event in events]
    start = result.summary.start_stamp
    found = received(result.bag, '/events')
    assert len(found) == len(events)
    by_end = sorted(events, key=lambda event: event.end)
    for event, (stamp, message) in zip(by_end, found, strict=True):
        assert stamp == pytest.approx(start + event.end * SECOND, abs=2)
        assert message.status[0].name == event.kind
        assert message.status[0].message == event.sentence
        values = {entry.key: entry.value for entry in message.status[0].values}
        begin = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
        assert begin == pytest.approx(start + event.begin * SECOND, abs=2)
        assert float(values['end']) >= float(values['begin'])
        assert (values.get('unit', '') == event.unit) or not np.isfinite(event.size)
    qos = yaml.safe_load((result.bag / 'metadata.yaml').read_text())
    topics = qos['rosbag2_bagfile_information']['topics_with_message_count']
    profile = next(t['topic_metadata'] for t in topics if t['topic_metadata']['name'] == '/events')
    assert 'durability: 1' in profile['offered_qos_profiles']  # transient local


def test_where_a_push_acts_on_the_named_link(walked):
    """At the centre of mass of the trunk: within 10 mm in the report, 3 σ in the topic."""
    pushes, _, result, _ = walked
    center = load_model(FILE.read_urdf()).center_of_link('trunk')
    for push in result.summary.pushes:
        assert push.link == 'trunk'
        assert np.linalg.norm(push.on_link - center) < min(0.01, 2.0 * push.on_link_sigma + 0.002)
        assert re.fullmatch(r', at x .* mm in the frame of trunk \(± .* mm\)', push.place)
    known = [shove for shove in pushes if shove.start > 2.5]  # the biases are
    found = received(result.bag, '/fusion/push_on_link') if known else []
    inside = [
        message for stamp, message in found for shove in known
        if 0.02 < stamp / SECOND - 1.0 - shove.start < shove.duration - 0.02
    ]  # fmt: skip
    assert len(inside) >= 6 * len(known)
    for message in inside:
        assert message.header.frame_id == 'trunk'
        place = message.pose.pose.position
        off = np.array([place.x, place.y, place.z]) - center
        sigma = np.sqrt(np.trace(np.reshape(message.pose.covariance, (6, 6))[:3, :3]))
        assert np.linalg.norm(off) < 3.0 * sigma < 0.3


@pytest.mark.parametrize('walked', ['back and right'], indirect=True)
def test_without_whole_wrenches_there_is_no_external_wrench(walked, tmp_path):
    """Where a foot measures its normal force only, the rest would look like a push."""
    _, bag, _, _ = walked
    feet = tuple(
        dataclasses.replace(foot, wrench=dataclasses.replace(foot.wrench, normal_only=True))
        for foot in FILE.feet
    )
    result = replay(bag, dataclasses.replace(FILE, feet=feet), tmp_path / 'out')
    assert result.summary.pushes == ()
    with BagReader(result.bag) as reader:
        assert '/external_wrench' not in reader.topics


# The pure part


def test_points_on_lines_of_action_and_their_covariances():
    """Their moment is that of the wrench across the force; covariances by differences."""
    random = np.random.default_rng(0)
    wrench, near = random.normal(size=(5, 6)), random.normal(size=(5, 3))
    root = random.normal(size=(5, 6, 6))
    points, covariance = points_on_lines(wrench, root @ np.swapaxes(root, 1, 2), near)
    force, square = wrench[:, :3], np.sum(wrench[:, :3] ** 2, axis=1)[:, None]
    along = np.sum(force * wrench[:, 3:], axis=1)[:, None] * force / square
    np.testing.assert_allclose(np.cross(points, force), wrench[:, 3:] - along, atol=1e-12)
    np.testing.assert_allclose(np.sum((points - near) * force, axis=1), 0.0, atol=1e-12)

    def moved(k, step):
        return points_on_lines(wrench + step * root[:, :, k], root, near)[0]

    J = np.stack([(moved(k, 1e-6) - moved(k, -1e-6)) / 2e-6 for k in range(6)], axis=2)
    np.testing.assert_allclose(covariance, J @ np.swapaxes(J, 1, 2), rtol=1e-5, atol=1e-6)


def stamped(count, period_ms=8):
    return SECOND + period_ms * 10**6 * np.arange(count, dtype=np.int64)


def find_forces(stamps, force, weight):
    return found_with_level(stamps, force, weight)[0]


@given(
    size=st.floats(10.0, 200.0), start=st.integers(3, 60), rows=st.integers(3, 30),
    direction=st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda d: np.linalg.norm(d) > 0.1),
)  # fmt: skip
def test_a_rectangular_push_is_found_exactly(size, start, rows, direction):
    force = np.zeros((100, 3))
    pushed = size * np.array(direction) / np.linalg.norm(direction)
    force[start : start + rows] = pushed
    stamps = stamped(100)
    (found,) = find_forces(stamps, force, WEIGHT)
    assert found.force == pytest.approx(pushed, rel=1e-12)
    assert found.size == pytest.approx(size, rel=1e-12)
    assert (found.start, found.end) == (stamps[start], stamps[start + rows])
    assert found.duration == pytest.approx(0.008 * rows)


@given(st.integers(0, 1000), st.floats(0.1, 100.0))
def test_noise_of_any_size_is_no_push(seed, sigma):
    force = np.random.default_rng(seed).normal(0.0, sigma, (500, 3))
    assert find_forces(stamped(500), force, WEIGHT) == ()


def test_small_short_and_unknown_forces_are_no_pushes():
    force = np.zeros((100, 3))
    force[20:40, 0] = 0.99 * LEAST_PART * WEIGHT
    force[50:52, 1] = 500.0  # 16 ms
    assert find_forces(stamped(100), force, WEIGHT) == ()
    force[50:53, 1] = 500.0
    assert len(find_forces(stamped(100), force, WEIGHT)) == 1
    assert find_forces(stamped(100), np.full((100, 3), np.nan), WEIGHT) == ()
    assert find_forces(stamped(0), np.empty((0, 3)), WEIGHT) == ()
    force[51] = np.nan
    assert find_forces(stamped(100), force, WEIGHT) == ()


def test_no_force_acts_where_nothing_is_known():
    """Though one that grows up to a hole, seen through the kernel of a filter, fits one in it."""
    force, rows = np.random.default_rng(0).normal(0.0, 0.3, (1000, 3)), np.arange(400, 420)
    force[rows, 1] += 60.0 * ((rows - 400) / 20.0) ** 2
    force[420:450] = np.nan
    stamps = stamped(1000, 10)
    (found,), _ = found_with_level(stamps, force, WEIGHT, 0.2)
    assert np.isfinite(force[(stamps >= found.start) & (stamps < found.end)]).any()


def test_a_lasting_error_is_no_push_and_hides_none():
    force = np.tile([10.0, 0.0, 0.0], (200, 1))
    assert find_forces(stamped(200), force, WEIGHT) == ()
    force[50:70, 1] += 6.0
    (found,) = find_forces(stamped(200), force, WEIGHT)
    assert found.force == pytest.approx([0.0, 6.0, 0.0])


@pytest.mark.parametrize('size', [0.04, -0.3])
def test_a_long_push_is_not_taken_for_a_bias(size):
    """For 10 s of 25 s, in noise and beside an offset: force within 0.1 N, ends within 10 ms."""
    time, force = stamped(3125) / SECOND, np.random.default_rng(0).normal(0.0, 2.0, (3125, 3))
    force += [1.0, -2.0, 0.5]
    within = (time >= time[0] + 6.0) & (time < time[0] + 16.0)
    force[within, 1] += size * WEIGHT
    (found,) = find_forces(stamped(3125), force, WEIGHT)
    off = found.force - [0.0, size * WEIGHT, 0.0]
    assert np.abs(off).max() < 4.0 * 2.0 * np.sqrt(1 / 1250 + 1 / 1875 * np.pi / 2)
    assert abs(found.start / SECOND - time[0] - 6.0) < 0.05
    assert abs(found.end / SECOND - time[0] - 16.0) < 0.05


def test_a_push_seen_through_the_filter_has_its_true_size_and_ends():
    """40 N for 0.1 s from between two instants, after a triangle of half-width 24 ms."""
    stamps, width = stamped(1000), 0.024
    time = (stamps - stamps[0]) / SECOND
    begin, end = 4.0033, 4.1033
    fine = np.linspace(-width, width, 2001)[1:-1] + time[:, None]
    weights = width - np.abs(fine - time[:, None])
    seen = np.sum(weights * ((fine >= begin) & (fine < end)), axis=1) / weights.sum(axis=1)
    force = np.outer(seen, [0.0, 40.0, 0.0])
    force += np.random.default_rng(1).normal(0.0, 0.5, force.shape)
    ((found,), level) = found_with_level(stamps, force, WEIGHT, width)
    assert np.abs(level).max() < 0.1
    assert found.force == pytest.approx([0.0, 40.0, 0.0], abs=1.0)
    for stamp, true in ((found.start, begin), (found.end, end)):
        assert abs((stamp - stamps[0]) / SECOND - true) < 0.004
    assert 0.0 < found.time_sigma < 0.004
    plain = found_with_level(stamps, force, WEIGHT, 0.0)[0][0]
    assert plain.size < 38.0  # the mean counts the ends that the filter has smoothed


@pytest.mark.parametrize('width', [0.0, 0.02])
def test_a_push_ends_where_the_stamps_jump(width):
    stamps, force = stamped(1000), np.zeros((1000, 3))
    stamps[513:] += 5 * SECOND
    force[500:513] = [0.0, 40.0, 0.0]
    ((found,), _) = found_with_level(stamps, force, WEIGHT, width)
    assert (found.end - stamps[513] + 5 * SECOND) / SECOND == pytest.approx(0.0, abs=0.05)


def test_a_push_at_the_end_of_the_log_ends_there():
    force = np.zeros((50, 3))
    force[45:] = [0.0, 0.0, 30.0]
    (found,) = find_forces(stamped(50), force, WEIGHT)
    assert found.end == stamped(50)[-1]


def test_many_pushes_are_counted_and_the_largest_listed():
    pushes = tuple(
        PushStatistics(float(k), 0.1, 0.0, 0.0, -10.0 * k, 9.0, 1.0, 0.0) for k in range(1, 6)
    )
    remarks = push_remarks(pushes)
    assert len(remarks) == 4
    assert all('pushed the robot from above' in text for text in remarks[:3])
    assert 'with 30.0 N (± 1.0 N) for 0.10 s at 3.00 s, 9 times the standard' in remarks[0]
    assert '5 times' in remarks[3]


def test_noise_does_not_cut_pushes_into_recurring_errors():
    """Four pushes at the threshold: each is cut into pieces, of which none would stand out."""
    rng = np.random.default_rng(0)
    force = rng.normal(0.0, 6.0, (5000, 3))
    for start in range(500, 5000, 1200):
        force[start : start + 125, 1] += 10.0 * np.median(np.linalg.norm(force, axis=1))
        force[start + 40 : start + 48, 1] = force[start + 80 : start + 86, 1] = 0.0
    found = find_forces(stamped(5000), force, WEIGHT)
    assert [push.start for push in found] == [stamped(5000)[k] for k in range(500, 5000, 1200)]
    assert [push.duration for push in found] == pytest.approx([1.0] * 4, abs=0.03)


def test_a_push_of_short_pieces_is_one_and_outliers_are_none():
    """At 1 kHz: 15 ms of every 30 ms, then single samples 20 ms apart."""
    force = np.zeros((3000, 3))
    for start in range(1000, 1300, 30):
        force[start : start + 15, 1] = 40.0
    (found,) = find_forces(stamped(3000, 1), force, WEIGHT)
    assert (found.start, found.end) == (stamped(3000, 1)[1000], stamped(3000, 1)[1285])
    outliers = np.zeros((3000, 3))
    outliers[1000:2000:20, 1] = 500.0
    assert find_forces(stamped(3000, 1), outliers, WEIGHT) == ()
    outliers[2500:2515, 1] = 40.0  # a piece by itself is too short, as before
    assert find_forces(stamped(3000, 1), outliers, WEIGHT) == ()


def test_what_is_left_over_near_a_push_does_not_dilute_it():
    """A robot that falls slides on its soles before, at the ends of and after 64 N for 0.15 s."""
    force = np.zeros((500, 3))
    force[195:223] = [0.0, 20.0, 0.0]
    force[200:219] = [0.0, 64.0, 0.0]
    for first in (192, 225, 234, 245):
        force[first : first + 2] = [8.0, -8.0, 2.0]
    (found,) = find_forces(stamped(500), force, WEIGHT)
    assert found.force == pytest.approx([0.0, 64.0, 0.0])
    assert (found.start, found.end) == (stamped(500)[200], stamped(500)[219])


def test_an_outlier_within_a_force_does_not_stand_for_it():
    """Its mean over 8 ms would make what a fall leaves over as significant as the push before."""
    force = np.zeros((500, 3))
    force[200:210] = [0.0, 8.0, 0.0]
    force[205] = [0.0, 60.0, 0.0]
    (found,) = find_forces(stamped(500), force, WEIGHT)
    assert (found.start, found.end) == (stamped(500)[200], stamped(500)[210])
    assert found.size < 15.0
