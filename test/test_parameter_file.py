"""config/parameters.yaml: what it shows exists, and its defaults are those of the nodes."""

import re
from collections import Counter

import pytest
import rclpy
import yaml
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter

from izmp_dynamics.launching.checked import stated
from izmp_dynamics.nodes.registry import node_class

from .node_processes import GRAPH, ROBOT, ROOT, free_domain

FILE = ROOT / 'config' / 'parameters.yaml'
OF_ROS = {'use_sim_time', 'start_type_description_service'}
ARGUMENTS = {'reliable_inputs'}
COMPOSED = 'izmp_dynamics'


def flat(values, prefix=''):
    """Nested values by name: {'acd': {'window': 7}} → {'acd.window': 7}."""
    for key, value in (values or {}).items():
        if isinstance(value, dict):
            yield from flat(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value


def switched_on():
    """The file with all that is commented out."""
    text = re.sub(r'^( +)#(?=\w|  )', r'\1', FILE.read_text(encoding='utf-8'), flags=re.M)
    return text.replace('    {}\n', '')


def read_by_ros(path):
    """Raise an error if ROS cannot read a parameter file."""
    context = Context()
    rclpy.init(args=['--ros-args', '--params-file', str(path)], context=context)
    context.shutdown()


@pytest.fixture(scope='module')
def shown():
    """Node, or '' for all, → name → value, with all that is commented out."""
    found = yaml.safe_load(switched_on())
    return {
        name.removeprefix('/**').strip('/'): dict(flat(part['ros__parameters']))
        for name, part in found.items()
    }


@pytest.fixture(scope='module')
def examples():
    """Names of what is shown with an example instead of its default."""
    lines = [line for line in FILE.read_text(encoding='utf-8').splitlines() if 'e.g.' in line]
    return {match[1] for line in lines if (match := re.match(r' +# *([\w/]+):', line))}


@pytest.fixture(scope='module')
def declared():
    """Node → parameter → default."""
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    found = {}
    for name in (*GRAPH, 'composed'):
        node = node_class(name)(overrides=[Parameter('robot', value=str(ROBOT))])
        parameters = {each.name: each.value for each in node.get_parameters_by_prefix('').values()}
        found[node.get_name()] = parameters
        node.destroy_node()
    rclpy.try_shutdown()
    return found


def test_it_is_a_parameter_file_as_it_is():
    sections = set(yaml.safe_load(FILE.read_text(encoding='utf-8')))
    assert '/**' in sections
    assert sections <= {'/**', *(f'/**/{name}' for name in (*GRAPH, COMPOSED))}
    read_by_ros(FILE)


def test_ros_reads_it_with_all_that_is_commented_out(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text(switched_on(), encoding='utf-8')
    read_by_ros(path)


def test_every_parameter_shown_is_one_of_that_node(shown, declared):
    for node, values in shown.items():
        names = {name for name in values if not name.startswith('qos_overrides')}
        having = [declared[node]] if node else list(declared.values())
        assert names <= set().union(*having), node


def test_every_default_shown_holds(shown, declared, examples):
    for node, values in shown.items():
        for name, value in values.items():
            if name.rpartition('.')[2] in examples or name.startswith('qos_overrides'):
                continue
            for having in [declared[node]] if node else declared.values():
                assert having.get(name, value) == value, name


def test_what_several_nodes_have_is_shown_for_all_of_them(shown, declared):
    names = [name for node in GRAPH for name in declared[node] if 'qos_overrides' not in name]
    shared = {name for name, number in Counter(names).items() if number > 1}
    assert 'pairing.max_gap' in shared
    assert shared - OF_ROS - ARGUMENTS <= set(shown[''])


def test_the_launch_files_find_the_robot_in_it(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text(
        '/**:\n  ros__parameters: {rates: {bus: 100.0}}\n'
        '/anna/**:\n  ros__parameters: {robot: my_robot.yaml}\n'
        'anna:\n  acd:\n    ros__parameters: {frame_prefix: a_}\n'
    )
    names = ('robot', 'frame_prefix')
    expected = {'robot': 'my_robot.yaml', 'frame_prefix': 'a_'}
    assert stated(str(path), 'anna', GRAPH, names) == expected
    assert not any(stated(str(path), 'bert', GRAPH, names).values())
    read_by_ros(path)


@pytest.fixture
def file(tmp_path):
    """Write sections, each with a value of robot, as a parameter file."""

    def write(sections):
        path = tmp_path / 'parameters.yaml'
        lines = [f'{name}: {{ros__parameters: {{robot: {sections[name]}}}}}' for name in sections]
        path.write_text('\n'.join(lines))
        return path

    return write


@pytest.mark.parametrize(
    'sections',
    [
        {'/anna/acd': 'a', '/bert/acd': 'b'},
        {'/**': 'a', 'bert/acd': 'b'},
        {'bert/acd': 'a', '/**': 'b'},
        {'/*/acd': 'a', '/*': 'b', '/acd': 'c'},
        {'/*/*': 'a', '/**/mr_ad': 'b'},
        {'/bert/**': 'a', '/bert/x/acd': 'b'},
        {'/**/bert/acd': 'a', '/ber/acd': 'b', '/bert': 'c'},
    ],
)
def test_a_section_is_for_the_nodes_that_ros_gives_it_to(file, sections):
    path = file(sections)
    context = Context()
    rclpy.init(args=['--ros-args', '--params-file', str(path)], context=context)
    node = Node('acd', namespace='bert', context=context)
    robot = node.declare_parameter('robot', '').value
    node.destroy_node()
    context.shutdown()
    assert robot
    for namespace in ('bert', '/bert', 'bert/'):
        assert stated(str(path), namespace, ['acd'], ['robot']) == {'robot': robot}


def test_different_values_for_the_nodes_are_refused(file):
    path = file({'/**': 'a.yaml', '/**/izmp': 'b.yaml', '/anna/mr_ad': 'c.yaml'})
    assert stated(str(path), '', [COMPOSED], ['robot']) == {'robot': 'a.yaml'}
    assert stated(str(path), 'bert', GRAPH, ['urdf']) == {'urdf': ''}
    with pytest.raises(
        RuntimeError, match=r"values of robot: 'a.yaml' for .*, 'b.yaml' for /bert/izmp"
    ):
        stated(str(path), 'bert', GRAPH, ['robot'])


@pytest.mark.parametrize(
    ('text', 'names'),
    [('/**: [', ['robot']), ('/**: &all {anna: *all}', []), ('[' * 2000, []), (None, ['robot'])],
)
def test_a_parameter_file_that_cannot_be_read_is_refused(tmp_path, text, names):
    path = tmp_path / 'parameters.yaml'
    if text is not None:
        path.write_text(text)
    with pytest.raises(RuntimeError, match=f"'{path}' cannot be read"):
        stated(str(path), '', GRAPH, names)
