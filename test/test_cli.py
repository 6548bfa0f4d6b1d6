"""The command line on good input: what is printed, what is written, how it exits."""

import json
import os
import re
import runpy
import subprocess
import sys

import pytest
import yaml

import izmp_dynamics
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.check import check
from izmp_dynamics.cli.main import _parser, commands
from izmp_dynamics.cli.process import VARIABLES
from izmp_dynamics.model.robot_file import load_robot_file

from .bag_surgery import GPS, TOPICS
from .command_line import assert_nothing_else, assert_refused, assert_whole, izmp
from .requiring import need
from .test_bad_input import BIPED31, NOTED, REFUSED


@pytest.fixture
def desk(corrupted):
    """A sound recording and a robot file."""
    return corrupted()


# ---- Usage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'arguments', [(), ('dance',), ('replay',), ('check', 'bag'), ('simulate',)]
)
def test_wrong_usage_shows_the_usage(arguments):
    outcome = izmp(*arguments)
    assert (outcome.status, outcome.out) == (2, '')
    assert outcome.err.startswith('usage: izmp')
    assert re.search(r'^izmp.*: error: ', outcome.err, re.MULTILINE)


def test_help_names_every_command_and_its_options():
    outcome = izmp('--help')
    assert (outcome.status, outcome.err) == (0, '')
    (subcommands,) = _parser()._subparsers._group_actions
    assert len(subcommands.choices) == len(commands())
    for name in subcommands.choices:
        assert re.search(rf'\b{name}\b', outcome.out)
        assert izmp(name, '--help').status == 0
    for option in ('--robot', '--overwrite', '--storage', '--filter', '--quiet'):
        assert option in izmp('replay', '--help').out


@pytest.mark.parametrize(
    ('arguments', 'near'), [(('repaly',), 'replay'), (('simulate', 'wlak'), 'walk')]
)
def test_a_misspelt_command_is_answered_with_the_nearest(arguments, near):
    assert izmp(*arguments).err.endswith(f"; did you mean '{near}'?\n")


@pytest.mark.parametrize('given', [('--robt', 'y'), ('--robot', 'y', '-o', 'z', '--robt=w')])
def test_a_misspelt_option_is_answered_with_the_nearest(given):
    said = izmp('replay', 'x', *given)
    assert said.err.startswith('usage: izmp replay')
    assert said.err.endswith("; did you mean '--robot' in place of '--robt'?\n")


def test_a_missing_robot_file_is_answered_with_what_writes_one():
    assert 'izmp draft BAG' in izmp('replay', 'x', '-o', 'y').err


def test_a_urdf_is_no_robot_file():
    refused = izmp('check', 'bag', '--robot', BIPED31)
    assert_refused(refused, f"is a URDF, not a robot file; 'izmp draft BAG --urdf {BIPED31}")


def test_completion_is_a_script_of_bash():
    need('shtab')
    outcome = izmp('--print-completion', 'bash')
    assert outcome.status == 0
    assert 'compare-runs' in outcome.out


def test_json_of_a_model_is_what_the_table_shows():
    found = json.loads(izmp('model', BIPED31, '--json').out)
    assert found['usable']
    assert f'{found["mass"]:.3f} kg' in izmp('model', BIPED31).out
    assert len(found['joints']) == 31
    assert found['problems'] == []


def test_python_m_is_the_command(capsys, monkeypatch):
    monkeypatch.setattr('sys.argv', ['izmp', '--version'])
    with pytest.raises(SystemExit, match=r'^0$'):
        runpy.run_module('izmp_dynamics', run_name='__main__')
    assert capsys.readouterr().out == f'izmp_dynamics {izmp_dynamics.__version__}\n'


# ---- izmp model ---------------------------------------------------------------------------------


def test_model_shows_tree_masses_joints_and_mounts():
    outcome = izmp('model', BIPED31)
    assert (outcome.status, outcome.err) == (0, '')
    for fact in (
        "Robot 'biped31'",
        "root link 'pelvis', 31 independent joints",
        'mass 27.600 kg',
        'centre of mass at q = 0, in the frame of pelvis: x ',
        'l_shank 1.900 kg ← l_knee (revolute)',
        'Frames at q = 0, in the frame of pelvis',
        'Problems: none',
    ):
        assert fact in outcome.out
    for frame in ('imu_link', 'accelerometer_1', 'gps_link', 'l_foot_ft', 'r_sole'):
        assert re.search(rf'│ {frame} .*│ \+x +│ \+y +│ \+z', outcome.out), frame
    assert len(re.findall(r'rad, N·m', outcome.out)) == 31


def test_model_shows_the_sensors_of_a_robot_file(desk):
    robot = yaml.safe_load(desk.robot.read_text())
    robot['imu']['rotation'] = [0.0, 0.0, 1.5708]
    desk.robot.write_text(yaml.safe_dump(robot))
    outcome = izmp('model', desk.robot)
    assert (outcome.status, outcome.err) == (0, '')
    assert re.search(
        r'│ IMU: imu_link +│ pelvis +│ -0.0300 │ -0.0400 │ 0.0200 │ \+y +│ −x ', outcome.out
    )
    assert re.search(r'│ sole of l_foot: l_sole +│ l_foot ', outcome.out)


def test_model_hangs_the_tree_on_any_link():
    outcome = izmp('model', BIPED31, '--root', 'trunk')
    assert outcome.status == 0
    assert "root link 'trunk', 31 independent joints" in outcome.out
    assert 'mass 27.600 kg' in outcome.out
    unknown = izmp('model', BIPED31, '--root', 'tail')
    assert unknown.status == 1
    assert_refused(unknown, r"'tail'.*\bpelvis\b")


def test_model_lists_all_problems_of_a_urdf(tmp_path):
    text = BIPED31.read_text()
    text = re.sub('<mass value="', '<mass value="-', text, count=2)
    (tmp_path / 'robot.urdf').write_text(text)
    outcome = izmp('model', tmp_path / 'robot.urdf')
    assert outcome.status == 1
    assert "Robot 'biped31' cannot be used" in outcome.out
    assert 'Problems: 2' in outcome.out
    assert (
        len(re.findall(r"error: link '\w+' \(line \d+\): its mass is negative", outcome.out)) == 2
    )


# ---- izmp check ---------------------------------------------------------------------------------


def test_check_of_a_sound_recording(desk):
    outcome = desk.check()
    assert (outcome.status, outcome.err) == (0, '')
    assert outcome.out.endswith('This recording can be replayed; no warnings.')
    assert re.search(
        r'/imu +angular velocity and specific force of the root +1000 +500\.0 +2\.0 +0',
        outcome.out,
    )
    assert 'gap [ms]' in outcome.out
    assert_nothing_else(desk)
    assert not desk.results.exists()


def test_check_names_the_topics_that_are_not_used(corrupted):
    def with_a_camera(draft, robot):
        other = draft[GPS].rows(slice(None))
        other.topic = '/camera/pose'
        draft.parts.append(other)

    assert 'Not used: /camera/pose' in corrupted(with_a_camera).check().out


@pytest.mark.parametrize(
    ('damage', 'severity', 'kind'),
    [
        (REFUSED['no_joint_states'][0], 'error', 'not_in_bag'),
        (NOTED['a_tilted_imu'][0], 'warning', 'tilted_force'),
    ],
)
def test_check_prints_every_finding_with_its_remedy(corrupted, damage, severity, kind):
    desk = corrupted(damage)
    outcome, result = desk.check(), check(desk.bag, load_robot_file(desk.robot))
    assert (severity, kind) in [(found.level, found.kind) for found in result.findings]
    for found in result.findings:
        assert f'{found.level}: {found}' in outcome.out
    assert outcome.status == int(severity == 'error')
    if severity == 'error':
        assert re.search(r'Topics in the bag.*/imu +sensor_msgs/msg/Imu +1000', outcome.out)
        assert outcome.out.endswith('This recording cannot be replayed with this robot file.')
    else:
        assert re.search(r'(\d|no) warnings?\.$', outcome.out)


# ---- izmp simulate ------------------------------------------------------------------------------


def test_simulate_sway_records_a_bag(tmp_path):
    need('mujoco')
    outcome = izmp('simulate', 'sway', '-o', tmp_path / 'bag', '--storage', 'sqlite3')
    assert outcome.status == 0
    assert f'Bag: {tmp_path / "bag"} Next: izmp replay ' in outcome.out
    with BagReader(tmp_path / 'bag') as bag:
        assert bag.storage == 'sqlite3'
        assert set(TOPICS) < set(bag.topics)
    again = izmp('simulate', 'sway', '-o', tmp_path / 'bag')
    assert again.status == 1
    assert_refused(again, rf"'{tmp_path / 'bag'}'.*--overwrite")


# ---- izmp replay --------------------------------------------------------------------------------


def test_replay_says_what_the_figures_show_and_where_they_are(desk):
    outcome = desk.replay()
    assert_whole(desk, outcome)
    assert outcome.out.startswith('Stable: the IZMP (MR-AD) stayed inside the support polygon')
    assert re.search(r'Agreement: MR-AD – IR-MD 0\.0\d+ mm on average', outcome.out)
    assert 'weight 270.7 N' in outcome.out
    assert outcome.out.endswith(f'Report: {desk.results}/report.html Bag: {desk.results}/bag')
    assert 'Note' not in outcome.out


def test_replay_can_be_quiet_and_replace_its_results(desk):
    assert desk.replay('--quiet').out == ''
    (desk.results / 'report.html').write_text('old')
    again = desk.replay('--overwrite', '--storage', 'sqlite3')
    assert_whole(desk, again)
    assert_nothing_else(desk)
    assert (desk.results / 'report.html').read_text() != 'old'
    with BagReader(desk.results / 'bag') as bag:
        assert bag.storage == 'sqlite3'


def test_options_of_replay_are_reported(desk):
    robot = desk.folder / 'other'
    robot.mkdir()
    urdf = robot / 'light.urdf'
    urdf.write_text(BIPED31.read_text().replace('name="biped31"', 'name="another"', 1))
    outcome = desk.replay('--filter', '0.04', '--urdf', urdf)
    assert outcome.status == 0
    report = json.loads((desk.results / 'report.json').read_text())
    assert report['robot'] == 'another'
    assert report['parameters']['filter.half_width'] == '0.04 s'
    assert report['hashes'].keys() >= {'bag.mcap', 'robot.yaml'}


def test_blas_has_one_thread_or_as_many_as_the_user_set():
    assert blas_in_a_process({'MKL_NUM_THREADS': '3'})[:2] == ('1', '1')
    assert blas_in_a_process({'OPENBLAS_NUM_THREADS': '3'})[1:] == ('3', '1')


def blas_in_a_process(given):
    """How many threads there are once a command has imported numpy; two variables."""
    code = (
        'import os, sys\n'
        'from izmp_dynamics.cli.main import main\n'
        'assert "numpy" not in sys.modules\n'
        f'main(["model", {str(BIPED31)!r}])\n'
        'assert "numpy" in sys.modules\n'
        'print(len(os.listdir("/proc/self/task")))\n'
        'for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):\n'
        '    print(os.environ.get(name, ""))\n'
    )
    environment = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    ran = subprocess.run(
        [sys.executable, '-c', code], env=environment | given, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return tuple(ran.stdout.split('\n')[-4:-1])
