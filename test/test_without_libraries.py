"""Without PyKDL, matplotlib or MuJoCo: what needs one says how to install it."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from .command_line import REPOSITORY

PROGRAM = (
    'import sys; sys.modules |= dict.fromkeys(["PyKDL", "matplotlib", "mujoco"])\n'
    'from izmp_dynamics.cli.main import main\n'
    'for line in sys.stdin:\n'
    '    print(main(line.split()), flush=True)\n'
    '    if sys.modules.get("PyKDL") is None: sys.modules.pop("PyKDL", None)\n'
)
URDF = 'robots/biped31/biped31.urdf'


@pytest.fixture(scope='module')
def ran(tmp_path_factory):
    """Exit status and sentence of each of some commands, in a process of their own."""
    folder = tmp_path_factory.mktemp('pictures')
    commands = (
        f'model {URDF}',  # PyKDL is there from then on
        f'model {URDF}',
        f'compare-runs {folder} {folder} -o {folder}/page',
        f'experiments paper -o {folder}/paper',
        f'simulate walk --speed 30 -o {folder}/walk',
        f'simulate quadruped --robot mule -o {folder}/walk',
        f'simulate sway -o {folder}/sway',
    )
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        input='\n'.join(commands), capture_output=True, text=True, cwd=REPOSITORY, check=True,
    )  # fmt: skip
    statuses = [line for line in done.stdout.splitlines() if line in ('0', '1')]
    return statuses, done.stderr, list(folder.iterdir())


def test_a_sentence_says_what_is_missing_and_how_to_get_it(ran):
    statuses, said, left = ran
    assert statuses == ['1', '0', *['1'] * 5]
    assert 'Traceback' not in said
    sentences = [line for line in said.splitlines() if line.startswith('izmp: error: ')]
    kinematics, *pictures, speed, robot, simulation = sentences
    assert 'apt install python3-pykdl' in kinematics
    assert 'pip install mujoco' in simulation
    assert len(pictures) == 2
    assert 'speed of a walk is 30 m/s' in speed  # before MuJoCo, which is not there either
    assert "no simulated quadruped 'mule'" in robot
    for sentence in pictures:
        assert "needs the library 'matplotlib'" in sentence
        assert sentence.endswith('pip install matplotlib')
    assert left == []


def test_it_is_installed_where_it_is_asked_for():
    depends = ElementTree.parse(REPOSITORY / 'package.xml').getroot().iter('exec_depend')
    (condition,) = (d.get('condition') for d in depends if d.text == 'python3-matplotlib')
    assert condition == '$IZMP_PLOTS == yes'
