"""The package as a whole: layers, versions, what is installed, links of the documentation."""

import ast
import functools
import graphlib
import importlib
import re
import runpy
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace

import pytest

import izmp_dynamics
from izmp_dynamics.base.errors import MissingDependencyError, UnknownNameError
from izmp_dynamics.base.resources import find_resource, resource_folders
from izmp_dynamics.cli.main import _parser

from . import requiring
from .command_line import loaded_by

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, LABORATORY = ROOT / 'izmp_dynamics', ROOT / 'izmp_lab'
FLOORS = (  # from the ground up; a room may import from those on floors below it
    'izmp_dynamics.base',
    'izmp_dynamics.files',
    'izmp_dynamics.model izmp_dynamics.bags izmp_dynamics.pages',
    'izmp_dynamics.signals',
    'izmp_dynamics.sensing',
    'izmp_dynamics.dynamics',
    'izmp_dynamics.stability',
    'izmp_dynamics.estimation',
    'izmp_dynamics.pipeline',
    'izmp_dynamics.results',
    'izmp_dynamics.engine',
    'izmp_dynamics.recording',
    'izmp_dynamics.diagnosis',
    'izmp_dynamics.verdict',
    'izmp_dynamics.report',
    'izmp_dynamics.check izmp_dynamics.evaluate',
    'izmp_dynamics.compare',
    'izmp_dynamics.calibration izmp_dynamics.draft izmp_dynamics.bodies',
    'izmp_dynamics.nodes',
    'izmp_dynamics.fleet',
    'izmp_dynamics.launching',
    'izmp_dynamics.cli',
    'izmp_dynamics.__main__',
    'izmp_lab.walking',
    'izmp_lab.simulation',
    'izmp_lab.nodes',
    'izmp_lab.studies',
    'izmp_lab.seesaw',
    'izmp_lab.cli',
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms.split()}
CORE = ('base', 'model', 'signals', 'sensing', 'dynamics', 'stability', 'estimation')
FORBIDDEN_IN_CORE = {'rclpy', 'rosbags', 'mcap', 'mujoco', 'matplotlib'}
CODE = sorted([*PACKAGE.rglob('*.py'), *LABORATORY.rglob('*.py')])
IN_ROS = {  # packages without a telling suffix, and their dependency where it has another name
    'ament_index_python': 'ament_index_python',
    'launch': 'launch',
    'launch_ros': 'launch_ros',
    'rclpy': 'rclpy',
    'tf2_ros': 'tf2_ros_py',
    'webots_ros2_driver': 'webots_ros2_driver',
    'xacro': 'xacro',
}
DOCUMENTS = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix('').parts
    return '.'.join(parts).removesuffix('.__init__')


def room_of(module: str) -> str:
    return '.'.join(module.split('.')[:2])


MODULES = {module_of(path): path for path in CODE}


@functools.cache
def parsed(path: Path) -> tuple[list[ast.Import | ast.ImportFrom], set[str]]:
    """Return the imports of a file, also those inside functions, and what its strings name."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding='utf-8'))))
    texts = {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)], texts


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports, also inside functions."""
    found = set()
    for node in parsed(path)[0]:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            names = {f'{node.module}.{alias.name}' for alias in node.names}
            found |= names & MODULES.keys() or {node.module}
    return (found & MODULES.keys()) - {module_of(path)}


def named(path: Path) -> set[str]:
    """Return the modules that a file names in strings, as importlib wants them."""
    return {text.partition(':')[0] for text in parsed(path)[1]} & set(MODULES)


@functools.cache
def graph() -> dict[str, set[str]]:
    """Return what every module imports."""
    return {module: imports(path) for module, path in MODULES.items()}


def closure(module: str) -> set[str]:
    """Return all modules that a module imports, directly or through others."""
    found, waiting = {module}, [module]
    while waiting:
        new = graph()[waiting.pop()] - found
        found |= new
        waiting += new
    return found


@pytest.fixture
def setup_arguments(monkeypatch):
    """Return what setup.py hands to setuptools."""
    arguments = {}
    monkeypatch.setattr('setuptools.setup', lambda **given: arguments.update(given))
    monkeypatch.chdir(ROOT)
    runpy.run_path('setup.py')
    return arguments


def test_every_room_has_a_floor():
    assert {room_of(module) for module in MODULES} - {PACKAGE.name, LABORATORY.name} == set(FLOOR)


def test_imports_point_downwards():
    upward = {
        f'{module} must not import {name}'
        for module, path in MODULES.items()
        for name in graph()[module] | named(path)
        if room_of(name) != room_of(module) and name not in (PACKAGE.name, LABORATORY.name)
        and FLOOR[room_of(name)] >= FLOOR.get(room_of(module), 0)
    }  # fmt: skip
    assert not upward


def test_nodes_do_not_use_the_replay():
    nodes = [module for module in MODULES if room_of(module) == 'izmp_dynamics.nodes']
    used = {name for module in nodes for name in closure(module)}
    assert not used & {'izmp_dynamics.check', 'izmp_dynamics.evaluate'}


def test_no_modules_import_each_other_in_a_circle():
    try:
        graphlib.TopologicalSorter(graph()).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f'each of these imports the next: {", ".join(reversed(error.args[1]))}')


CORE_MODULES = [m for m in MODULES if room_of(m) in {f'{PACKAGE.name}.{room}' for room in CORE}]
WITHOUT = {
    'from izmp_dynamics.cli import main; main._parser()': {
        'numpy', 'scipy', 'numba', 'shapely', 'rich', 'yaml', 'matplotlib'},
    f'import {", ".join(CORE_MODULES)}': FORBIDDEN_IN_CORE,
    'import izmp_lab.walking.sway': {'mujoco', 'rosbags', 'rclpy', 'matplotlib'},
    'import izmp_dynamics.evaluate': {'shapely'},
    'import izmp_dynamics.report.writer, izmp_dynamics.verdict.summary': {'jinja2'},
    'import izmp_dynamics.report.page, izmp_dynamics.report.player.assemble': {'matplotlib'},
}  # fmt: skip
"""What is imported or done, one after the other, and the libraries that all so far do without."""


def test_no_library_is_loaded_that_is_not_needed():
    loaded = loaded_by('; print(*sys.modules); '.join(WITHOUT))
    for (program, left_out), modules in zip(WITHOUT.items(), loaded, strict=True):
        libraries = {module.partition('.')[0] for module in modules}
        assert 'izmp_dynamics' in libraries
        assert not libraries & left_out, program


def test_one_version_everywhere(setup_arguments):
    package = ElementTree.parse(ROOT / 'package.xml').getroot()
    assert package.findtext('version') == izmp_dynamics.__version__
    assert setup_arguments['version'] == izmp_dynamics.__version__


def test_package_xml_is_what_colcon_takes_for_ament_python(setup_arguments):
    package = ElementTree.parse(ROOT / 'package.xml').getroot()
    maintainer = package.find('maintainer')
    assert package.get('format') == '3'
    assert package.findtext('name') == setup_arguments['name'] == PACKAGE.name
    assert package.findtext('export/build_type') == 'ament_python'
    assert package.findtext('license') == setup_arguments['license']
    # catkin_pkg rejects an address that does not match, and colcon then ignores package.xml.
    assert re.fullmatch(
        r'[\w.%+-]+@[a-zA-Z0-9%-]+(\.[a-zA-Z0-9%-]+)*\.[a-zA-Z]{2,}', maintainer.get('email')
    )
    assert maintainer.get('email') == setup_arguments['maintainer_email']


def declared_dependencies(variables=()):
    """Names of the dependencies that package.xml declares where these variables are 'yes'."""
    root = ElementTree.parse(ROOT / 'package.xml').getroot()
    return {
        element.text
        for element in root.iter('exec_depend')
        if element.get('condition', '') in {'', *(f'${name} == yes' for name in variables)}
    }


def test_every_ros_package_that_the_code_imports_is_declared():
    imported = set()
    for path in [*CODE, *(ROOT / 'launch').glob('*.py')]:
        for node in parsed(path)[0]:
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition('.')[0] for alias in node.names}
            elif not node.level:
                imported.add(node.module.partition('.')[0])
    packages = {
        name for name in imported
        if name.endswith(('_msgs', '_srvs', '_interfaces')) or name in IN_ROS
    }  # fmt: skip
    declared = declared_dependencies(('IZMP_WEBOTS',))
    assert {IN_ROS.get(name, name) for name in packages} <= declared


def test_what_the_launch_files_start_is_declared():
    files = [*(ROOT / 'launch').glob('*.py'), *(PACKAGE / 'launching').glob('*.py')]
    text = ''.join(path.read_text(encoding='utf-8') for path in files)
    started = set(re.findall(r"package='(\w+)'", text)) - {PACKAGE.name}
    assert {'rviz2', 'robot_state_publisher'} <= started
    assert started <= declared_dependencies(('IZMP_RVIZ',))


def test_no_dependency_that_only_pip_resolves_is_installed_unasked():
    assert not [name for name in declared_dependencies() if name.endswith('-pip')]
    assert 'python3-rosbags-pip' in declared_dependencies(('IZMP_PIP',))


def test_executables_land_where_ros2_run_looks_for_them():
    text = (ROOT / 'setup.cfg').read_text(encoding='utf-8')
    assert text.count('=$base/lib/izmp_dynamics') == 2


def test_entry_points_exist(setup_arguments):
    for lines in setup_arguments['entry_points'].values():
        for line in lines:
            module, name = re.fullmatch(r'\S+ = ([\w.]+)(?::(\w+))?', line).groups()
            if (
                '.nodes.' not in module or module == 'izmp_dynamics.nodes.main'
            ):  # else it needs ROS
                assert callable(getattr(importlib.import_module(module), name or 'add_parser'))
            assert module in MODULES


def test_every_folder_of_code_is_a_package(setup_arguments):
    folders = {'.'.join(path.parent.relative_to(ROOT).parts) for path in CODE}
    assert folders == set(setup_arguments['packages'])


def test_data_inside_the_package_is_installed(setup_arguments):
    patterns = setup_arguments['package_data']['']
    for path in [*PACKAGE.rglob('*'), *LABORATORY.rglob('*')]:
        if path.is_file() and path.suffix != '.py' and path.parent.name != '__pycache__':
            assert (path.parent / '__init__.py').exists(), f'{path} lies outside any package'
            assert any(path.match(pattern) for pattern in patterns), f'{path} is not installed'


def test_shared_folders_are_installed_as_they_are(setup_arguments):
    installed = {file: place for place, files in setup_arguments['data_files'] for file in files}
    assert installed['package.xml'] == 'share/izmp_dynamics'
    assert installed['resource/izmp_dynamics'] == 'share/ament_index/resource_index/packages'
    assert installed['robots/biped31/biped31.urdf'] == 'share/izmp_dynamics/robots/biped31'
    assert all((ROOT / file).is_file() for file in installed)


@pytest.mark.parametrize(
    'site', ['lib/python3.11/site-packages', 'local/lib/python3/dist-packages']
)
def test_a_resource_is_found_below_an_installed_prefix(tmp_path, site):
    package = tmp_path / site / 'izmp_dynamics'
    share = tmp_path / site.partition('lib')[0] / 'share' / 'izmp_dynamics'
    share.mkdir(parents=True)
    assert resource_folders(package) == [share]


def test_an_unknown_resource_names_those_that_exist():
    with pytest.raises(UnknownNameError, match=r'robots/biped32/.*robots/biped31/biped31\.urdf'):
        find_resource('robots/biped32/biped32.urdf')


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda path: path.name)
def test_links_point_to_files_that_exist(document):
    text = document.read_text(encoding='utf-8')
    targets = re.findall(r'\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"', text)
    for target in (markdown or html for markdown, html in targets):
        if not re.match(r'(https?|mailto):|#', target):
            assert (document.parent / target.partition('#')[0]).exists(), target


def test_make_targets_of_the_documents_exist():
    texts = '\n'.join(document.read_text('utf-8') for document in DOCUMENTS)
    targets = re.findall(r'(?:^    |`)make (\w+)', texts, re.MULTILINE)
    rules = re.findall(r'^(\w+):', (ROOT / 'Makefile').read_text('utf-8'), re.MULTILINE)
    assert set(targets) <= set(rules)


@pytest.mark.parametrize('document', DOCUMENTS, ids=lambda path: path.name)
def test_commands_of_the_documents_are_understood(document, capsys):
    text = document.read_text('utf-8')
    for line in re.findall(r'^ {4}(?:ros2 run \w+ )?izmp ([a-z].+)$', text, re.MULTILINE):
        command = re.sub(r'\s#.*|\[.*?\]', '', line)
        if not re.match(r'\w+ … ', command):  # else arguments are left out
            try:
                _parser().parse_args([word for word in shlex.split(command) if word != '…'])
            except SystemExit:
                pytest.fail(f'izmp {line}: {capsys.readouterr().err}')


def test_make_bench_runs_what_measures_without_arguments(tmp_path):
    if shutil.which('make') is None:
        pytest.skip('make is missing')
    python = tmp_path / 'bin' / 'python'
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "run: $1"\n')
    python.chmod(0o755)
    for name in ('pyvenv.cfg', '.ready'):
        (tmp_path / name).touch()
    command = ['make', 'bench', f'VENV={tmp_path}']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run = re.findall('^run: (.*)$', done.stdout, re.MULTILINE)
    assert run == sorted(f'benchmarks/{path.name}' for path in ROOT.glob('benchmarks/bench_*.py'))


def test_no_file_names_a_folder_of_somebodys_computer():
    folders = [PACKAGE, LABORATORY]
    folders += [ROOT / name for name in ('docs', 'config', 'launch', 'robots', 'examples')]
    files = [path for folder in [*folders, ROOT / 'benchmarks'] for path in folder.rglob('*')]
    named = [ROOT / name for name in ('README.md', 'CHANGELOG.rst', 'Makefile', 'setup.py')]
    kinds = {'.py', '.md', '.yaml', '.xml', '.urdf', '.j2', '.rst', '.toml', ''}
    for path in [*files, *named]:
        if path.is_file() and path.suffix in kinds:
            found = re.search(
                r'(?<![\w.])/(home|root|work|tmp|Users)/\w+', path.read_text('utf-8')
            )
            assert not found, f'{path}: {found.group()}'


@pytest.mark.parametrize(('require', 'outcome'), [('', 'skipped'), ('pin', 'failed')])
def test_a_test_without_its_library_is_skipped_or_fails(monkeypatch, require, outcome):
    monkeypatch.setenv('IZMP_REQUIRE', require)
    monkeypatch.setattr(requiring, 'is_absent', lambda library: library == 'pinocchio')

    def outcome_of(error):
        call = SimpleNamespace(excinfo=SimpleNamespace(value=error))
        report = SimpleNamespace(failed=True, outcome='failed')
        return requiring.skipped_if_missing(report, call, '').outcome

    missing = ModuleNotFoundError(name='pinocchio.visualize')
    wrapped = RuntimeError()
    wrapped.__cause__ = MissingDependencyError('pinocchio', 'it', 'pip install pin')
    assert (outcome_of(missing), outcome_of(wrapped)) == (outcome, outcome)
    for misspelt in ('izmp_dynamics.nowhere', 'mujoco.nowhere', 'geometri_msgs'):
        assert outcome_of(ModuleNotFoundError(name=misspelt)) == 'failed'


def test_a_required_library_that_is_missing_ends_the_run(monkeypatch):
    monkeypatch.setenv('IZMP_REQUIRE', 'numpy,no-such-library')
    with pytest.raises(pytest.exit.Exception, match=r'no_such_library$'):
        requiring.check_required()
