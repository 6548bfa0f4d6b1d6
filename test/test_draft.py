"""`izmp draft`: a robot file to begin with, from a recording and a URDF."""

import shutil
from itertools import product

import numpy as np
import pytest

from izmp_dynamics.base.errors import BagError, IzmpError, ReplayError, RobotFileError
from izmp_dynamics.draft.feet import _fitted_ball
from izmp_dynamics.draft.links import matching, mirrored
from izmp_dynamics.draft.write import write_draft
from izmp_dynamics.model.robot_file import load_robot_file

from .bag_surgery import ARRAY, GPS, IMU, JOINTS, LEFT, RIGHT, SECOND
from .command_line import REPOSITORY, izmp
from .sample_bags import SHARED, START, raw_of, write_bag

URDF = REPOSITORY / 'robots' / 'biped31' / 'biped31.urdf'


@pytest.fixture
def drafted(sound, tmp_path):
    """Drafts from two seconds of biped31, changed by a function; the robot file, and guesses."""

    def make(change=lambda recording: None):
        recording = sound.copy()
        change(recording)
        shutil.rmtree(tmp_path / 'bag', ignore_errors=True)
        recording.write(tmp_path / 'bag')
        file = tmp_path / 'drafted.yaml'
        guesses = write_draft(tmp_path / 'bag', URDF, file, overwrite=True)
        return load_robot_file(file), ' '.join(guesses)

    return make


def test_the_draft_of_biped31_is_its_robot_file(drafted, biped31):
    robot, guesses = drafted()
    assert robot.urdf_path.resolve() == URDF
    for key in ('root', 'joints', 'imu', 'position'):
        assert getattr(robot, key) == getattr(biped31, key), key
    assert set(robot.accelerometers) == set(biped31.accelerometers)
    for foot, stated in zip(robot.feet, biped31.feet, strict=True):
        assert (foot.sole, foot.wrench) == (stated.sole, stated.wrench)
        assert set(foot.polygon) == set(stated.polygon)
    assert 'gps_link' in guesses
    assert 'ground_truth' not in robot.path.read_text().partition('left out')[0]
    assert 'l_foot' in guesses  # below the sensor: by the weight
    assert guesses.count('. ') < 5, guesses


def test_what_is_below_the_force_sensors_follows_from_the_weight(drafted, biped31):
    def heavier(recording):
        for topic in (LEFT, RIGHT):
            recording[topic]['wrench.force'] *= 271.0 / 253.0

    robot, _ = drafted(heavier)
    assert [foot.wrench.below for foot in robot.feet] == [None, None]


@pytest.mark.parametrize(
    ('topic', 'factor', 'signs'), [(LEFT, -1.0, [-1, 1]), (RIGHT, -0.02, [1, 1])]
)
def test_a_force_sensor_of_the_other_sign_is_recognised(drafted, topic, factor, signs):
    """An unloaded foot shows nothing about the sign."""

    def turned(recording):
        recording[topic]['wrench.force'] *= factor

    robot, _ = drafted(turned)
    assert [foot.wrench.sign for foot in robot.feet] == signs


def test_sensors_whose_messages_name_no_link_are_guesses(drafted):
    def anonymous(recording):
        for topic in (IMU, LEFT, RIGHT):
            recording[topic].like['header.frame_id'] = 'unknown'
        for topic in ARRAY:
            recording.drop(topic)

    robot, guesses = drafted(anonymous)
    assert robot.imu.frame == 'imu_link'  # the only link with that name
    assert not robot.accelerometers
    topics = [foot.wrench.topic for foot in robot.feet]
    assert topics == ['l_foot/wrench', 'r_foot/wrench']
    assert guesses.count("'unknown', not a link of the URDF") == 3


def test_prefixes_of_frames_are_left_out(drafted):
    def prefixed(recording):
        recording[IMU].like['header.frame_id'] = 'robot1/imu_link'

    robot, guesses = drafted(prefixed)
    assert robot.imu.frame == 'imu_link'
    assert '/imu ' not in guesses


def test_an_imu_without_gravity_is_stated(drafted):
    def removed(recording):
        recording[IMU]['linear_acceleration'] -= recording[IMU]['linear_acceleration'].mean(axis=0)

    robot, guesses = drafted(removed)
    assert robot.imu.gravity_removed
    assert 'subtract gravity' in guesses
    assert len(robot.feet) == 2


def test_without_forces_the_feet_are_the_lowest_ends(drafted, biped31):
    def blind(recording):
        for topic in (LEFT, RIGHT, GPS, *ARRAY):
            recording.drop(topic)

    robot, guesses = drafted(blind)
    assert [foot.sole for foot in robot.feet] == [foot.sole for foot in biped31.feet]
    assert not any(foot.wrench for foot in robot.feet)
    assert robot.position is None
    assert not guesses


def test_the_file_can_be_replayed(sound, tmp_path):
    sound.copy().write(tmp_path / 'bag')
    outcome = izmp('draft', tmp_path / 'bag', '--urdf', URDF, '-o', tmp_path / 'robot.yaml')
    assert (outcome.status, outcome.err) == (0, '')
    assert outcome.out.endswith(f'--robot {tmp_path / "robot.yaml"}')
    assert 'CHECK' in outcome.out
    outcome = izmp('check', tmp_path / 'bag', '--robot', tmp_path / 'robot.yaml')
    assert outcome.status == 0
    assert 'This recording can be replayed' in outcome.out


LEG = """
<link name="{name}_leg"><inertial><mass value="1"/>
  <inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/></inertial></link>
<link name="{name}_foot"><collision><geometry>{shape}</geometry></collision></link>
<joint name="{name}" type="revolute"><parent link="trunk"/><child link="{name}_leg"/>
  <origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="{name}_end" type="fixed"><parent link="{name}_leg"/><child link="{name}_foot"/>
  <origin xyz="0 0 -0.4"/></joint>"""

QUADRUPED = """<robot name="dog"><link name="trunk"><inertial><mass value="9"/>
<inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial></link>
<link name="imu_link"><inertial><mass value="0.001"/>
<inertia ixx="1e-6" ixy="0" ixz="0" iyy="1e-6" iyz="0" izz="1e-6"/></inertial></link>
<joint name="imu" type="fixed"><parent link="trunk"/><child link="imu_link"/></joint>{}</robot>"""

LEGS = {'FL': (0.2, 0.1), 'FR': (0.2, -0.1), 'RL': (-0.2, 0.1), 'RR': (-0.2, -0.1)}


def dog_recording(path, described=True, shape='<sphere radius="0.02"/>'):
    stamps = [START + k * 10_000_000 for k in range(100)]

    def raws(msgtype, frame='', **values):
        stamped = ((stamp // SECOND, stamp % SECOND) for stamp in stamps)
        return [
            raw_of(msgtype, values | {'header.frame_id': frame, 'header.stamp.sec': seconds,
                                      'header.stamp.nanosec': rest})
            for seconds, rest in stamped
        ]  # fmt: skip

    imu = raws('sensor_msgs/msg/Imu', 'imu_link', **{'linear_acceleration.z': 9.81})
    joints = raws(
        'sensor_msgs/msg/JointState', name=list(LEGS), position=np.full(4, 0.6),
        velocity=np.zeros(0), effort=np.zeros(0),
    )  # fmt: skip
    legs = ''.join(LEG.format(name=name, x=x, y=y, shape=shape) for name, (x, y) in LEGS.items())
    text = raw_of('std_msgs/msg/String', {'data': QUADRUPED.format(legs)})
    write_bag(
        path,
        [
            ('/dog/joint_states', 'sensor_msgs/msg/JointState', stamps, joints),
            ('/dog/imu/data', 'sensor_msgs/msg/Imu', stamps, imu),
            *([('/dog/robot_description', 'std_msgs/msg/String', stamps[:1], [text])] * described),
        ],
    )


@pytest.mark.parametrize('shape', ['<sphere radius="0.02"/>', '<box size="0.02 0.02 0.02"/>'])
def test_a_quadruped_from_its_robot_description(tmp_path, shape):
    dog_recording(tmp_path / 'bag', shape=shape)
    write_draft(tmp_path / 'bag', None, tmp_path / 'dog.yaml')
    robot = load_robot_file(tmp_path / 'dog.yaml')
    assert robot.urdf_path == tmp_path / 'dog.urdf'
    assert (robot.root, robot.imu.frame) == ('trunk', 'imu_link')  # what is heavy on its body
    assert [foot.sole for foot in robot.feet] == [f'{name}_foot' for name in LEGS]
    is_ball = 'sphere' in shape
    assert {foot.radius for foot in robot.feet} == ({0.02} if is_ball else {None})
    assert np.abs([foot.corners for foot in robot.feet]).max() < 0.01
    assert robot.ground.source == ('sole' if is_ball else 'gravity')
    assert robot.rates.bus == 100.0


def test_a_mesh_that_is_a_ball_is_found_and_another_one_is_not():
    random = np.random.default_rng(1)
    sphere = random.normal(size=(2000, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    ball = (
        np.array([0.004, 0.0, -0.02]) + (0.022 + random.uniform(-8e-4, 8e-4, (2000, 1))) * sphere
    )
    assert _fitted_ball(ball) == pytest.approx((0.004, 0.0, -0.02, 0.022), abs=1.1e-3)
    assert _fitted_ball(ball * [1.0, 4.0, 1.0]) is None  # a roller
    assert _fitted_ball(0.02 * np.array(list(product((-1.0, 1.0), repeat=3)))) is None  # a box


def test_bad_input_is_refused_and_nothing_is_written(sound, tmp_path):
    dog_recording(tmp_path / 'dog', described=False)
    sound.copy().write(tmp_path / 'bag')
    broken = sound.copy()
    broken.raw_topics.append(('/robot_description', 'std_msgs/msg/String', [2 * SECOND], [b'\0']))
    broken.write(tmp_path / 'broken')

    no_imu = sound.copy()
    for topic in (IMU, *ARRAY):
        no_imu.drop(topic)
    no_imu.write(tmp_path / 'no_imu')
    here = set(tmp_path.iterdir())
    for bag, urdf, output, kind, error in (
        ('dog', None, 'a.yaml', 'no_urdf', RobotFileError),
        ('broken', None, 'a.yaml', 'no_urdf', RobotFileError),
        ('dog', URDF, 'a.yaml', 'no_joints', ReplayError),
        ('no_imu', URDF, 'a.yaml', 'not_in_bag', ReplayError),
        ('bag', URDF, 'a.txt', 'other_suffix', RobotFileError),
        ('bag', tmp_path / 'absent.urdf', 'a.yaml', 'file_absent', IzmpError),
        ('absent', URDF, 'a.yaml', 'no_bag', BagError),
    ):
        with pytest.raises(error) as caught:
            write_draft(tmp_path / bag, urdf, tmp_path / output)
        assert caught.value.kind == kind
    assert set(tmp_path.iterdir()) == here


def test_an_imu_in_units_of_g_or_upside_down_is_remarked_on(drafted):
    def in_g(recording):
        recording[IMU]['linear_acceleration'] /= 9.80665

    def turned(recording):
        recording[IMU]['linear_acceleration'] *= -1.0

    robot, guesses = drafted(in_g)
    assert not robot.imu.gravity_removed
    assert 'is its unit g?' in guesses
    assert '° off the vertical' in drafted(turned)[1]


def test_joints_in_degrees_are_remarked_on(drafted):
    def in_degrees(recording):
        recording[JOINTS]['position'] *= 180.0 / np.pi

    assert 'In degrees all would be within' in drafted(in_degrees)[1]

    def in_another_order(recording):
        recording[JOINTS]['position'] = np.roll(recording[JOINTS]['position'], 5, axis=1)

    guesses = drafted(in_another_order)[1]
    assert 'in another order than their names' in guesses
    assert 'degrees' not in guesses


def test_a_urdf_of_another_robot_is_the_first_thing_to_check(drafted):
    def foreign(recording):
        names = recording[JOINTS].like['name']
        recording[JOINTS].like['name'] = [*names[:9], *(f'other_{name}' for name in names[9:])]
        for topic in (IMU, *ARRAY):
            recording[topic].like['header.frame_id'] = 'other_imu'

    question = 'Is this the URDF of the recorded robot?'
    assert question in drafted(foreign)[1].partition(JOINTS)[2][:400]
    assert question not in drafted()[1]


@pytest.mark.filterwarnings('error')
def test_numbers_that_are_none_do_not_matter(drafted):
    def rubbish(recording):
        for topic, path in ((LEFT, 'wrench.force'), (IMU, 'linear_acceleration')):
            recording[topic][path][100:104] = 1e308

    (robot, _), (sound, _) = drafted(rubbish), drafted()
    assert robot.imu == sound.imu
    assert [foot.sole for foot in robot.feet] == [foot.sole for foot in sound.feet]
    assert [foot.wrench.topic for foot in robot.feet] == [f.wrench.topic for f in sound.feet]


def test_the_imu_of_a_foot_is_not_that_of_the_body(drafted):
    def on_the_foot(recording):
        recording.drop('/imu')
        for topic in ARRAY[1:]:
            recording.drop(topic)
        recording[ARRAY[0]].like['header.frame_id'] = 'l_sole'

    robot, guesses = drafted(on_the_foot)
    assert robot.imu.frame == 'l_sole'
    assert 'light part of the robot' in guesses
    assert 'only one foot' in guesses


def test_joints_of_legs_without_a_publisher_are_named(drafted):
    def without_knee(recording):
        names = recording[JOINTS].like['name']
        recording[JOINTS].like['name'] = [name.replace('l_knee', 'other') for name in names]

    assert 'nothing publishes: l_knee.' in drafted(without_knee)[1]


def test_a_leg_that_is_in_the_air_is_a_leg(drafted, biped31):
    def raised(recording):
        names = list(recording[JOINTS].like['name'])
        recording[JOINTS]['position'][:, names.index('l_knee')] = 1.2
        recording[JOINTS]['position'][:, names.index('l_hip_pitch')] = -1.2

    robot, _ = drafted(raised)
    assert [foot.sole for foot in robot.feet] == [foot.sole for foot in biped31.feet]


def test_soles_whose_legs_end_in_toes(sound, tmp_path):
    toes = ''.join(
        f"""<link name="{side}_toe"><inertial><mass value="0.1"/><inertia ixx="1e-4" ixy="0"
        ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
        <joint name="{side}_toe_joint" type="revolute"><parent link="{side}_sole"/>
        <child link="{side}_toe"/><origin xyz="0.15 0 0"/><axis xyz="0 1 0"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
        for side in 'lr'
    )
    toes += toes.replace('_toe', '_small_toe')  # a foot has several
    urdf = tmp_path / 'toes.urdf'
    urdf.write_text(URDF.read_text().replace('</robot>', f'{toes}</robot>'))
    sound.copy().write(tmp_path / 'bag')
    guesses = write_draft(tmp_path / 'bag', urdf, tmp_path / 'robot.yaml')
    robot = load_robot_file(tmp_path / 'robot.yaml')
    assert [foot.sole for foot in robot.feet] == ['l_sole', 'r_sole']
    assert "'l_toe' moves against 'l_sole'" in ' '.join(guesses)


@pytest.mark.parametrize(
    ('name', 'other'),
    [('l_sole', 'r_sole'), ('LEFT_FOOT', 'RIGHT_FOOT'), ('rightFoot', 'leftFoot'),
     ('FL_foot', 'FR_foot'), ('rr_foot', 'rl_foot'), ('LF_FOOT', 'RF_FOOT'), ('foot', 'foot')],
)  # fmt: skip
def test_the_name_on_the_other_side(name, other):
    assert mirrored(name) == other


def test_no_urdf_is_overwritten(tmp_path):
    dog_recording(tmp_path / 'bag')
    urdf = tmp_path / 'dog.urdf'
    shutil.copyfile(URDF, urdf)
    with pytest.raises(RobotFileError, match='differs from the robot_description'):
        write_draft(tmp_path / 'bag', None, tmp_path / 'dog.yaml', overwrite=True)
    with pytest.raises(ReplayError):
        write_draft(tmp_path / 'bag', urdf, tmp_path / 'dog.yaml')
    assert urdf.read_bytes() == URDF.read_bytes()
    urdf.unlink()
    for overwrite in (False, True):  # it is the same one the second time
        write_draft(tmp_path / 'bag', None, tmp_path / 'dog.yaml', overwrite)
    assert {path.name for path in tmp_path.iterdir()} == {'bag', 'dog.urdf', 'dog.yaml'}


def test_a_file_is_kept_a_link_replaced_and_a_folder_refused(sound, tmp_path):
    sound.copy().write(tmp_path / 'bag')
    link, target = tmp_path / 'link.yaml', tmp_path / 'there' / 'robot.yaml'
    link.symlink_to(target)
    mine = tmp_path / 'mine.yaml'
    mine.write_text('mine')
    for output in (link, mine):
        with pytest.raises(RobotFileError, match='--overwrite'):
            write_draft(tmp_path / 'bag', URDF, output)
    assert mine.read_text() == 'mine'
    write_draft(tmp_path / 'bag', URDF, link, overwrite=True)
    assert not link.is_symlink()
    assert not target.parent.exists()
    assert load_robot_file(link).urdf_path.resolve() == URDF
    (tmp_path / 'folder.yaml').mkdir()
    with pytest.raises(RobotFileError, match='is a folder'):
        write_draft(tmp_path / 'bag', URDF, tmp_path / 'folder.yaml', overwrite=True)


@pytest.mark.parametrize(
    ('topic', 'link'),
    [('/left_foot/wrench', 'l_sole'), ('/ft/FR', 'FR_FOOT'), ('/front_right/force', 'FR_FOOT'),
     ('/rear_left/force', 'HL_foot'), ('/force', None)],
)  # fmt: skip
def test_topics_and_links_are_matched_by_the_words_for_the_sides(topic, link):
    links = ['l_sole', 'r_sole', 'FL_FOOT', 'FR_FOOT', 'HL_foot', 'HR_foot']
    pair = links[:2] if link == 'l_sole' else links[2:]
    assert matching(topic, pair) == link


@pytest.mark.parametrize('name', ['human_bowing', 'icub_walking_wrench', 'icub_steps'])
def test_drafts_from_real_recordings(name, tmp_path):
    """The robot files that come with them state the same; but soles that no shape shows."""
    folder = SHARED / name
    if not (folder / 'robot.yaml').is_file():
        pytest.skip(f'the recording {name} is not here')
    stated = load_robot_file(folder / 'robot.yaml')
    write_draft(folder, folder / 'robot.urdf', tmp_path / 'robot.yaml')
    robot = load_robot_file(tmp_path / 'robot.yaml')
    assert (robot.root, robot.joints, robot.imu.topic) == (
        stated.root, stated.joints, stated.imu.topic
    )  # fmt: skip
    assert robot.rates == stated.rates
    feet = {foot.sole: foot.wrench.topic for foot in stated.feet}
    assert {foot.sole: foot.wrench.topic for foot in robot.feet} == feet
