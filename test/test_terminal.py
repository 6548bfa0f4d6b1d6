"""Terminals of all kinds: other encodings, and names that would steer them."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.cli.terminal import printable
from izmp_dynamics.model.robot_file import load_robot_file

from .command_line import assert_refused, assert_whole, izmp
from .conftest import REPOSITORY
from .raising import raising
from .sample_bags import START, raw_of
from .test_bad_input import BIPED31

EVIL = '\x1b[31m\x9b2J\r\u202e'


def in_another_process(program, *arguments, **environment):
    """Run Python code that imports this package."""
    return subprocess.run(
        [sys.executable, '-c', program, *map(str, arguments)],
        env=os.environ | {'PYTHONPATH': str(REPOSITORY), 'COLUMNS': '200'} | environment,
        capture_output=True,
        check=False,
    )


MAIN = 'import sys; from izmp_dynamics.cli.main import main; sys.exit(main())'


def test_a_terminal_that_is_not_utf8_gets_the_exit_status(tmp_path):
    urdf = tmp_path / 'robot.urdf'
    urdf.write_text(BIPED31.read_text().replace('l_knee', 'колено'), encoding='utf-8')
    strict = {'PYTHONIOENCODING': 'ascii:strict'}
    done = in_another_process(MAIN, 'model', urdf, **strict)
    assert (done.returncode, done.stderr) == (0, b'')
    assert 'колено'.encode('ascii', 'backslashreplace') in done.stdout
    refused = in_another_process(MAIN, 'model', urdf, '--root', 'Ж', **strict)
    assert refused.returncode == 1
    assert refused.stderr.startswith(b'izmp: error: ')


def test_an_interrupt_has_its_status_wherever_it_comes(tmp_path):
    """Also inside a text that a library executes, after which `python -m` ends by the signal."""
    (tmp_path / 'interrupted.py').write_text(
        'import sys\n'
        'from izmp_dynamics.cli import main, model\n'
        "model.run = lambda options: exec('raise KeyboardInterrupt')\n"
        'sys.exit(main.main())\n'
    )
    done = subprocess.run(
        [sys.executable, '-m', 'interrupted', 'model', str(BIPED31)],
        env=os.environ | {'PYTHONPATH': f'{REPOSITORY}{os.pathsep}{tmp_path}'},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 130


def test_a_table_in_a_pipe_is_as_wide_as_its_names(tmp_path):
    name, urdf = 'l_foot_ft_' + 100 * 'x', tmp_path / 'robot.urdf'
    urdf.write_text(BIPED31.read_text().replace('"l_foot_ft"', f'"{name}"'), encoding='utf-8')
    done = in_another_process(MAIN, 'model', urdf, COLUMNS='80')
    rows = [line for line in done.stdout.decode().splitlines() if '│' in line]
    assert any(f'│ {name} ' in row and '+x' in row for row in rows)


@given(st.text())
def test_printable_text_steers_nothing_and_is_not_changed_twice(text):
    shown = printable(text)
    assert printable(shown) == shown
    assert not set(shown) & {chr(c) for c in (*range(9), *range(11, 32), *range(127, 160))}
    shown.encode()
    if text.isascii() and text.isprintable():
        assert shown == text


@given(st.text(min_size=1), st.integers(1, 10_000))
def test_long_lines_are_shortened(name, times):
    text = f"'{name * times}' is not a name. Choose another one."
    shown = printable(text)
    assert max(map(len, shown.split('\n'))) <= 2000
    assert printable(shown) == shown
    assert shown.startswith("'")
    assert shown.endswith(' Choose another one.')
    if len(text) > 2000 and '\n' not in name:
        assert re.search(r' … \(\d+ characters\) … ', shown)


def assert_harmless(text):
    """No character of `EVIL` is in what a terminal gets."""
    assert not set(EVIL) - set('[31m2J') & set(text)


def odd_topics(draft, robot):
    draft.raw_topics.append(
        ('/odd' + EVIL, 'std_msgs/msg/String', [START], [raw_of('std_msgs/msg/String')])
    )


def test_check_shows_odd_topics_escaped(corrupted):
    outcome = corrupted(odd_topics).check()
    assert outcome.status == 0
    assert r'/odd\x1b[31m\x9b2J\r\u202e' in outcome.out
    assert_harmless(outcome.out + outcome.err)


def test_check_shows_brackets_as_they_are(corrupted):
    def markup(draft, robot):
        draft.parts = draft.parts[:1]
        draft.parts[0].topic = '/[bold]x[/bold][/red]'

    checked = corrupted(markup).check()
    assert checked.status == 1
    assert '[bold]x[/bold][/red]' in checked.out


def test_names_in_errors_are_escaped(tmp_path):
    outcome = izmp('model', tmp_path / f'x{EVIL}.urdf')
    assert_refused(outcome, r'\\x1b')
    assert_harmless(outcome.err)


def test_a_name_with_a_line_break_cannot_pretend_to_be_a_message(tmp_path):
    robot = tmp_path / 'robot.yaml'
    robot.write_text('"a\\nizmp: error: b": 1\n')
    outcome = izmp('check', tmp_path, '--robot', robot)
    assert_refused(outcome, r"unknown key 'a\\nizmp: error: b'")
    assert [line[:11] for line in outcome.err.splitlines()].count('izmp: error') == 1


def test_a_name_with_half_a_character_is_refused(corrupted):
    desk = corrupted()
    text = desk.robot.read_text().replace('name: l_foot', 'name: "l_\\ud800"')
    desk.robot.write_text(text)
    line = text[: text.index('ud800')].count('\n') + 1
    with raising(RobotFileError, 'half_character', path=desk.robot, line=line):
        load_robot_file(desk.robot)
    assert_refused(desk.replay(), 'd800')


def test_a_bag_whose_name_is_not_utf8_is_evaluated(corrupted):
    desk = corrupted()
    file = next(desk.bag.glob('*.mcap'))
    odd = file.with_name(os.fsdecode(b'\xff.mcap'))
    file.rename(odd)
    (desk.bag / 'metadata.yaml').unlink()
    outcome = desk.replay()
    assert_whole(desk, outcome)
    assert odd.name in desk.report()['hashes']


# ---- Without PyKDL, matplotlib or MuJoCo --------------------------------------------------------


PROGRAM = (
    'import sys; sys.modules |= dict.fromkeys(["PyKDL", "matplotlib", "mujoco"])\n'
    'from izmp_dynamics.cli.main import main\n'
    'for line in sys.stdin:\n'
    '    print(main(line.split()), flush=True)\n'
    '    if sys.modules.get("PyKDL") is None: sys.modules.pop("PyKDL", None)\n'
)
URDF = 'robots/biped31/biped31.urdf'


def test_a_sentence_says_what_is_missing_and_how_to_get_it(tmp_path):
    """Of some commands in a process of their own."""
    commands = (
        f'model {URDF}',  # PyKDL is there from then on
        f'model {URDF}',
        f'compare-runs {tmp_path} {tmp_path} -o {tmp_path}/page',
        f'experiments paper -o {tmp_path}/paper',
        f'simulate walk --speed 30 -o {tmp_path}/walk',
        f'simulate quadruped --robot mule -o {tmp_path}/walk',
        f'simulate sway -o {tmp_path}/sway',
    )
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        input='\n'.join(commands), capture_output=True, text=True, cwd=REPOSITORY, check=True,
    )  # fmt: skip
    statuses = [line for line in done.stdout.splitlines() if line in ('0', '1')]
    assert statuses == ['1', '0', *['1'] * 5]
    assert 'Traceback' not in done.stderr
    sentences = [line for line in done.stderr.splitlines() if line.startswith('izmp: error: ')]
    kinematics, *pictures, speed, robot, simulation = sentences
    assert 'apt install python3-pykdl' in kinematics
    assert 'pip install mujoco' in simulation
    assert len(pictures) == 2
    assert 'speed of a walk is 30 m/s' in speed  # before MuJoCo, which is not there either
    assert "no simulated quadruped 'mule'" in robot
    for sentence in pictures:
        assert "needs the library 'matplotlib'" in sentence
        assert sentence.endswith('pip install matplotlib')
    assert list(tmp_path.iterdir()) == []


def test_it_is_installed_where_it_is_asked_for():
    depends = ElementTree.parse(REPOSITORY / 'package.xml').getroot().iter('exec_depend')
    (condition,) = (d.get('condition') for d in depends if d.text == 'python3-matplotlib')
    assert condition == '$IZMP_PLOTS == yes'
