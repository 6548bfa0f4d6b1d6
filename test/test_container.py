"""The container files name what exists; images themselves are not built here."""

import ast
import os
import re
import subprocess

import pytest
import yaml

from izmp_dynamics.cli.main import _parser
from izmp_dynamics.nodes.registry import nodes

from .node_processes import ROOT

DOCKER = ROOT / 'docker'
COMPOSE = yaml.safe_load((DOCKER / 'compose.yaml').read_text(encoding='utf-8'))
DOCKERFILE = (DOCKER / 'Dockerfile').read_text(encoding='utf-8')
COMMANDS = [service['command'].split() for service in COMPOSE['services'].values()]
OURS = [command for command in COMMANDS if 'izmp_dynamics' in command]
SHARE = '/ws/install/izmp_dynamics/share/izmp_dynamics/'


def graph_arguments():
    """Names of the arguments of izmp.launch.py, read without launch."""
    path = ROOT / 'izmp_dynamics' / 'launching' / 'graph.py'
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.AnnAssign) and getattr(node.target, 'id', '') == 'GRAPH':
            return set(ast.literal_eval(node.value))
    raise AssertionError('There is no GRAPH.')


@pytest.mark.parametrize('command', OURS, ids=lambda command: command[3])
def test_commands_start_what_exists(command):
    if command[1] == 'launch':
        assert (ROOT / 'launch' / command[3]).is_file()
        assert {word.partition(':=')[0] for word in command[4:]} <= graph_arguments()
    else:
        assert command[3] in nodes()


def test_files_in_the_image_are_installed():
    paths = re.findall(rf'{SHARE}(\S+)', (DOCKER / 'compose.yaml').read_text('utf-8'))
    assert paths
    assert all((ROOT / path).is_file() for path in paths)


def test_targets_and_entry_point_exist():
    stages = re.findall(r'^FROM \S+ AS (\w+)', DOCKERFILE, re.MULTILINE)
    targets = {s['build']['target'] for s in COMPOSE['services'].values() if 'build' in s}
    assert targets == set(stages)
    entry = re.search(r'ENTRYPOINT \["/ws/src/izmp_dynamics/(\S+)"\]', DOCKERFILE)[1]
    assert os.access(ROOT / entry, os.X_OK)
    assert subprocess.run(['bash', '-n', ROOT / entry]).returncode == 0
    assert 'docker build -t izmp_dynamics -f docker/Dockerfile .' in DOCKERFILE
    assert stages[-1] == 'izmp'  # what is built without a target


def test_variables_that_choose_dependencies_are_those_of_package_xml():
    declared = re.findall(r'condition="\$(\w+) == yes"', (ROOT / 'package.xml').read_text('utf-8'))
    assert set(re.findall(r'(IZMP_\w+)=yes', DOCKERFILE)) <= set(declared)


def test_all_kernels_are_compiled_into_the_volume_that_every_service_has():
    lines = DOCKERFILE.splitlines()
    (row,) = [k for k, line in enumerate(lines) if re.match('RUN .*ros2 run izmp_dynamics', line)]
    command = lines[row].partition('izmp_dynamics izmp ')[2]
    assert _parser().parse_args([command]).run.__module__.endswith('.compile_kernels')
    (cache,) = re.findall(r'ENV NUMBA_CACHE_DIR=(\S+)', '\n'.join(lines[:row]))
    assert f'VOLUME {cache}' in lines[row:]
    ours = [s for s in COMPOSE['services'].values() if 'izmp_dynamics' in s['command'].split()]
    assert all(service['volumes'] == [f'cache:{cache}'] for service in ours)
