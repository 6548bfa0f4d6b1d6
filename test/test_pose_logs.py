"""Recordings with a pose of the robot and no IMU: drafted, filtered and calibrated from."""

import dataclasses

import numpy as np
import pytest
import scipy.signal
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import GRAVITY, NANOSECONDS
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.calibration.calibrate import estimate_corrections
from izmp_dynamics.calibration.result import sentences
from izmp_dynamics.check import check
from izmp_dynamics.draft.write import write_draft
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.sensors import Imu
from izmp_dynamics.pipeline.noise_propagation import pose_gain
from izmp_dynamics.pipeline.pose_imu import imu_of_poses
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.world import WorldStage
from izmp_dynamics.signals.matched_filter import matched_means
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Streams
from izmp_dynamics.signals.stream import SampleStream

from .bag_surgery import JOINTS, LEFT, RIGHT, Draft, Part
from .command_line import REPOSITORY
from .raising import raising

URDF = REPOSITORY / 'robots' / 'biped31' / 'biped31.urdf'
PLACE, TURN = 'pose.pose.position', 'pose.pose.orientation'
POSE = '/mocap/pose'
LATE = 0.02  # [s]


@pytest.fixture(scope='module')
def posed(sway):
    """The sway with the true pose as the one of a motion capture, and no IMU."""
    draft = Draft.of_bag(sway[1], (JOINTS, LEFT, RIGHT, '/ground_truth/odom'), 0.0, 8.0)
    draft['/ground_truth/odom'].topic = POSE
    return draft


@pytest.fixture
def drafted(posed, tmp_path):
    """Writes what a function makes of it; the bag, its drafted robot file, what was guessed."""

    def make(change=lambda draft: None):
        draft = posed.copy()
        change(draft)
        bag, file = draft.write(tmp_path / 'bag'), tmp_path / 'robot.yaml'
        guesses = write_draft(bag, URDF, file)
        return bag, load_robot_file(file), ' '.join(guesses)

    return make


def as_transforms(draft):
    pose = draft[POSE]
    like = {'header.frame_id': 'world', 'child_frame_id': 'mocap_body'}
    values = {'header.stamp': pose.stamps, 'transform.translation': pose[PLACE],
              'transform.rotation': pose[TURN]}  # fmt: skip
    kind = 'geometry_msgs/msg/TransformStamped'
    draft.replace(POSE, Part(POSE, kind, like, pose.received, values))


@pytest.mark.parametrize('change', [lambda draft: None, as_transforms])
def test_without_an_imu_the_draft_derives_it_from_the_pose(drafted, biped31, change):
    bag, robot, guesses = drafted(change)
    assert robot.imu.from_position
    assert (robot.root, robot.position.topic) == (biped31.root, 'mocap/pose')
    assert [foot.sole for foot in robot.feet] == [foot.sole for foot in biped31.feet]
    assert 'no IMU is recorded' in guesses
    evaluation = evaluate_bag(bag, robot)
    gap = evaluation.tracks['mr_ad'].point - evaluation.tracks['cop'].point
    assert np.nanmax(np.abs(gap)) < 0.01
    assert evaluation.parameters['filter.chosen'].startswith('No filter is needed')
    assert any('derived from' in sentence for sentence in evaluation.missing)
    assert 'derived from' in findings(bag, robot)['imu_derived']


def findings(bag, robot):
    return {found.kind: found.sentence for found in check(bag, robot).findings}


def test_ir_md_needs_no_imu_where_there_is_a_pose(drafted):
    bag, robot, _ = drafted()
    robot = dataclasses.replace(robot, imu=Imu())
    found, evaluation = findings(bag, robot), evaluate_bag(bag, robot)
    assert 'imu.from_position: true' in found['no_imu']
    assert 'No filter was chosen: without an IMU' in found['filter']
    assert list(evaluation.tracks) == ['ir_md', 'cop']
    error = evaluation.tracks['ir_md'].point - evaluation.tracks['cop'].point
    assert np.nanmax(np.abs(error)) < 0.01


def noisy(draft):
    """As a motion capture of 100 Hz."""
    rng = np.random.default_rng(1)
    pose = draft[POSE].rows(slice(None, None, 5))
    pose[PLACE] += 2e-4 * rng.standard_normal(pose[PLACE].shape)
    turned = pose[TURN] + 2e-4 * rng.standard_normal(pose[TURN].shape)
    sign = rng.choice([-1.0, 1.0], size=(len(pose), 1))  # both are the same orientation
    pose[TURN] = sign * turned / np.linalg.norm(turned, axis=1)[:, None]
    draft.replace(POSE, pose)


def swaying(draft):
    """As of markers on skin: a millimetre below 6 Hz, of which a sample says what the next is."""
    pose = draft[POSE].rows(slice(None, None, 5))
    swing = np.random.default_rng(1).standard_normal((len(pose), 3))
    swing = scipy.signal.lfilter(*scipy.signal.butter(2, 6.0, fs=100.0), swing, axis=0)
    pose[PLACE] += 1e-3 * swing / swing.std()
    draft.replace(POSE, pose)


@pytest.mark.parametrize(
    ('noise', 'most', 'like', 'share'), [(noisy, 0.006, 0.95, 0.6), (swaying, 0.01, 0.9, 0.3)]
)
def test_the_filter_of_a_pose_is_chosen_from_its_noise(drafted, noise, most, like, share):
    """What goes on from sample to sample is not seen unfiltered; the choice knows it at least."""
    bag, robot, _ = drafted(noise)
    scatters, followed = [], []
    for chosen in (Filter(method='none'), Filter()):
        evaluation = evaluate_bag(bag, dataclasses.replace(robot, filter=chosen))
        izmp, cop = (
            evaluation.in_nif(evaluation.tracks[name].point)[:, :2] for name in ('mr_ad', 'cop')
        )
        known = np.isfinite(izmp).all(axis=1) & np.isfinite(cop).all(axis=1)
        scatters.append(np.std((izmp - cop)[known], axis=0).max())
        pairs = zip(izmp[known].T, cop[known].T, strict=True)
        followed.append([np.corrcoef(*pair)[0, 1] for pair in pairs])
    said = evaluation.parameters['filter.chosen']
    predicted = float(said.partition(' mm without it')[0].rpartition(' ')[2])
    assert share * predicted < 1e3 * scatters[0] < predicted / share
    assert scatters[1] < most
    assert max(followed[0]) < 0.5
    assert min(followed[1]) > like


def test_nothing_is_derived_across_a_jump_of_a_pose(drafted):
    """A localizer that is 40 mm off for 0.3 s."""

    def changed(draft):
        pose = draft[POSE].rows(slice(None, None, 5))
        pose[PLACE][300:330] += 0.04
        draft.replace(POSE, pose)

    bag, robot, _ = drafted(changed)
    evaluation = evaluate_bag(bag, dataclasses.replace(robot, filter=Filter(half_width=0.06)))
    (health,) = (each for each in evaluation.health if each.topic == POSE)
    assert health.gated[Fault(Reason.POSE_JUMPS)] == 4
    gap = evaluation.tracks['mr_ad'].point - evaluation.tracks['cop'].point
    assert np.nanmax(np.abs(gap)) < 0.01
    assert np.isfinite(gap).all(axis=1).mean() > 0.9


@pytest.mark.parametrize('late', [-12_000_000, 9_000_000])
def test_a_pose_whose_stamp_is_not_its_instant_is_no_push(drafted, late):
    """A pose of 50 Hz, of which three have the stamp of some time before, or after."""

    def changed(draft):
        pose = draft[POSE].rows(slice(None, None, 10))
        pose['header.stamp'][[100, 180, 260]] += late
        draft.replace(POSE, pose)

    bag, robot, _ = drafted(changed)
    evaluation = evaluate_bag(bag, dataclasses.replace(robot, filter=Filter(half_width=0.06)))
    (health,) = (each for each in evaluation.health if each.topic == POSE)
    assert health.gated[Fault(Reason.STAMP_TOO_CLOSE)] == 3
    gap = evaluation.tracks['mr_ad'].point - evaluation.tracks['cop'].point
    assert np.nanmax(np.abs(gap)) < 0.005


@pytest.mark.parametrize('half_width', [None, 0.05])
def test_what_noise_of_a_pose_does_to_the_derived_imu(half_width):
    """Of a pose at rest; ω and ω̇ stand for the orientation, which turns by little."""
    period, count, sigma = 0.01, 20_000, 1e-6
    rng = np.random.default_rng(0)
    stamps = np.arange(1, count + 1) * 10_000_000
    half_turns = 0.5 * sigma * rng.standard_normal((count, 3))
    poses = np.hstack([sigma * rng.standard_normal((count, 3)), half_turns, np.ones((count, 1))])
    imu = imu_of_poses(Samples(stamps, poses), 0.0)
    omega, force = imu.values[:, :3], imu.values[:, 3:]
    alpha = (omega[2:] - omega[:-2]) / (2.0 * period)
    if half_width is not None:
        means = matched_means(imu.stamps, imu.values, half_width, 0.1, second=False)
        omega, force = means.value[means.valid, :3], means.value[means.valid, 3:]
        alpha = means.first[means.valid, :3]
    expected = np.sqrt(pose_gain(half_width, period))
    found = [np.std(part) / sigma for part in (force, omega, alpha)]
    np.testing.assert_allclose(found, expected, rtol=0.05)


def late(draft):
    draft[POSE].values['header.stamp'] += round(LATE * 1e9)


def test_a_pose_that_is_late_is_calibrated(drafted):
    bag, robot, _ = drafted(late)
    calibration = estimate_corrections([bag], robot)
    assert calibration.result.accepted
    assert calibration.robot.position.delay == pytest.approx(LATE, abs=1e-3)
    assert calibration.robot.imu == robot.imu
    assert calibration.result.groups == ('delays', 'ft_offsets')
    assert not calibration.inertials
    assert any('stamps of the pose are' in e for e in sentences(calibration.result))


def test_without_an_imu_that_is_derived_the_calibration_says_so(drafted):
    bag, robot, _ = drafted()
    with raising(ReplayError, 'no_imu') as caught:
        estimate_corrections([bag], dataclasses.replace(robot, imu=Imu()))
    assert 'imu.from_position: true' in str(caught.value)


def with_repeats(draft):
    """About half of the poses repeat the one before: the bridge is faster than the cameras."""
    pose = draft[POSE].rows(slice(None, None, 5))
    newest = np.arange(len(pose)) * (np.random.default_rng(1).random(len(pose)) < 0.5)
    for part in (PLACE, TURN):
        pose[part][:] = pose[part][np.maximum.accumulate(newest)]
    draft.replace(POSE, pose)


def test_a_pose_that_repeats_is_calibrated_from_its_new_values(drafted):
    bag, robot, _ = drafted(with_repeats)
    result = estimate_corrections([bag], robot).result
    assert result.before.rest < 0.05


@pytest.mark.parametrize(('every', 'said'), [(5, 'off, as by a tilt of'), (1, 'half of the')])
def test_a_pose_that_is_too_noisy_to_calibrate_from_is_named(drafted, every, said):
    def noisier(draft):
        pose = draft[POSE].rows(slice(None, None, every))
        pose[PLACE] += 3e-3 * np.random.default_rng(1).standard_normal(pose[PLACE].shape)
        draft.replace(POSE, pose)

    bag, robot, _ = drafted(noisier)
    try:
        text = estimate_corrections([bag], robot).result.reason
    except ReplayError as error:
        text = str(error)
    assert 'too noisy' in text
    assert said in text
    assert 'Record an IMU' in text


# ---- The IMU that is derived from poses ---------------------------------------------------------


def test_a_lost_pose_costs_no_accuracy_of_the_angular_velocity():
    """As that of a parabola it is off by a sixth of the third derivative and of both steps."""
    ticks = np.delete(np.arange(600), np.arange(5, 600, 10))
    stamps = NANOSECONDS + 8_333_333 * ticks
    t = (stamps / NANOSECONDS)[:, None]
    axis = np.array([0.36, 0.48, 0.8])
    angle, rate = np.sin(12.0 * t) + 0.3 * t, 12.0 * np.cos(12.0 * t) + 0.3
    tilt = Rotation.from_euler('x', 0.4)
    orientation = tilt * Rotation.from_rotvec(angle * axis)
    poses = Samples(stamps, np.hstack([np.zeros((len(t), 3)), orientation.as_quat()]))
    found = imu_of_poses(poses, GRAVITY).values
    off = found[:, :3] - (rate * axis)[1:-1]
    assert np.abs(off).max() < 1.01 * 12.0**3 * 8.333333e-3 * 16.666667e-3 / 6.0
    gravity = orientation.inv().apply([0.0, 0.0, GRAVITY])[1:-1]
    np.testing.assert_allclose(found[:, 3:], gravity, atol=1e-9)


def test_of_even_poses_it_is_the_central_difference():
    stamps = NANOSECONDS + 10_000_000 * np.arange(5)
    t = stamps / NANOSECONDS
    orientation = Rotation.from_rotvec(np.outer(0.5 * t + t**2, [0.0, 0.0, 1.0]))
    position = np.outer(3.0 * t**2, [1.0, 0.0, 0.0])
    found = imu_of_poses(Samples(stamps, np.hstack([position, orientation.as_quat()])), GRAVITY)
    np.testing.assert_array_equal(found.stamps, stamps[1:-1])
    assert found.values[:, 2] == pytest.approx(0.5 + 2.0 * t[1:-1])
    acceleration = np.tile([6.0, 0.0, GRAVITY], (3, 1))
    np.testing.assert_allclose(
        found.values[:, 3:], orientation.inv().apply(np.pad(acceleration, ((1, 1), (0, 0))))[1:-1],
        atol=1e-6,
    )  # fmt: skip


# ---- A pose that is stuck -----------------------------------------------------------------------


STAMPS = 10_000_000 * np.arange(1, 301)
STUCK = slice(100, 140)


@pytest.fixture(scope='module')
def rig(biped31):
    return make_rig(biped31)


def samples(width, stuck=False):
    """A signal at 100 Hz that repeats itself for 0.4 s, or does not."""
    values = np.random.default_rng(width).normal(scale=1e-3, size=(300, width))
    if width == 4:
        values[:, 3] = 1.0
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    if stuck:
        values[STUCK] = values[STUCK.start]
    return Samples(STAMPS, values)


def known(rig, source, stuck, moving=True):
    """Which instants have orientation, position and velocity."""
    imu = SampleStream('imu', 6, max_gap=0.05, period=0.01, may_be_stuck=True)
    imu.push(samples(6, 'imu' in stuck))
    stage = WorldStage(
        rig, Streams(rig.robot, periods={'position': 0.01, 'imu': 0.01}), source, imu
    )
    stage.orientation.stream.push(samples(4, 'orientation' in stuck))
    stage.push_position(samples(3, 'position' in stuck))
    stage.flush()
    instants = STAMPS[2:-2]
    assert stage.decided(instants, int(instants[-1])) == len(instants)
    state = stage.evaluate(instants, moving=np.full(len(instants), moving))
    parts = state.R.reshape(-1, 9), state.p, state.v
    return [np.flatnonzero(np.isnan(part).any(axis=1)) + 2 for part in parts]


def lost(rows):
    """First and last of some rows; nothing for none."""
    return (int(rows[0]), int(rows[-1])) if len(rows) else ()


INSIDE, AROUND = (101, 139), (100, 140)
"""Stuck values, and the quotients that take them in as well."""


@pytest.mark.parametrize(
    ('source', 'stuck', 'expected'),
    [
        ('imu', ['position'], [(), AROUND, AROUND]),
        ('imu', ['imu'], [INSIDE, AROUND, AROUND]),
        ('position', ['orientation'], [INSIDE, AROUND, AROUND]),
        ('position', ['position'], [AROUND, AROUND, AROUND]),
        ('position', ['imu'], [(), (), ()]),
        ('imu', [], [(), (), ()]),
    ],
)
def test_what_is_left_out(rig, source, stuck, expected):
    assert [lost(rows) for rows in known(rig, source, stuck)] == expected


def test_a_pose_that_rests_with_the_robot_is_not_stuck(rig):
    assert [len(rows) for rows in known(rig, 'position', ['position'], moving=False)] == [0, 0, 0]
