"""The documentation builds without warnings, has every public name, and rosdoc2 finds it."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import izmp_dynamics as izmp
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.results.topics import LIVE, TOPICS

from .requiring import need

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / 'docs'


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    """The pages as HTML, built as `make docs` does."""
    need('sphinx')
    need('myst_parser')
    folder = tmp_path_factory.mktemp('docs')
    done = subprocess.run(
        [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', 'docs', str(folder)],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_api_page_has_every_public_name():
    text = (DOCS / 'api.md').read_text('utf-8')
    named = re.findall(r'^\.\. auto\w+:: izmp_dynamics\.(\w+)$', text, re.MULTILINE)
    assert sorted(named) == izmp.__all__


def test_the_page_of_topics_lists_every_result_with_its_type():
    rows = (DOCS / 'topics.md').read_text('utf-8').partition('## Published')[2].splitlines()
    kinds = {topic.name: topic.msgtype for topic in TOPICS.values()} | LIVE
    for name, kind in kinds.items():
        listed = [row for row in rows if row.startswith('|') and f'`{name}`' in row]
        assert listed, name
        assert kind.rpartition('/')[2] in listed[0], name


def test_the_robot_file_beside_ros2_control_names_the_topics_of_the_broadcasters():
    folder = ROOT / 'examples' / 'ros2_control'
    stated = yaml.safe_load((folder / 'controllers.yaml').read_text('utf-8'))
    robot = load_robot_file(folder / 'robot.yaml')
    topics, frames = [], {}
    for name, value in stated['controller_manager']['ros__parameters'].items():
        kind = value['type'].rpartition('/')[2] if isinstance(value, dict) else ''
        private = {'IMUSensorBroadcaster': 'imu', 'ForceTorqueSensorBroadcaster': 'wrench'}
        if kind == 'JointStateBroadcaster':
            topics.append('joint_states')
        elif kind:
            topics.append(f'{name}/{private[kind]}')
            frames[topics[-1]] = stated[name]['ros__parameters']['frame_id']
    assert sorted(robot.topics()) == sorted(topics)
    model = load_model(robot.urdf_path, robot.root)
    make_rig(robot, model, frames)  # the sensors are links of the robot


def test_every_page_is_in_the_table_of_contents(built):
    index = (built / 'index.html').read_text('utf-8')
    for page in DOCS.glob('*.md'):
        assert f'href="{page.stem}.html"' in index
        assert (built / f'{page.stem}.html').exists()


def test_rosdoc2_finds_the_documentation():
    package = ElementTree.parse(ROOT / 'package.xml').getroot()
    kind, config = yaml.safe_load_all((ROOT / package.findtext('export/rosdoc2')).read_text())
    assert kind == {'type': 'rosdoc2 config', 'version': 1}
    (builder,) = config['builders']
    folder = ROOT / builder['sphinx']['sphinx_sourcedir']
    assert {'conf.py', 'index.rst'} <= {path.name for path in folder.iterdir()}
