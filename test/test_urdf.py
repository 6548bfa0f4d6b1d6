"""Files that are no valid URDF end in a ModelError that says what is wrong and where."""

import sys
from pathlib import Path
from types import SimpleNamespace
from xml.dom import minidom

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import ModelError
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import parse_urdf, read_urdf
from izmp_dynamics.model.urdf_grammar import MOST_LISTED

from .raising import raising
from .requiring import need
from .small_robot import SMALL_ROBOT, corrupted, extended

LAUGHS = (
    '<!DOCTYPE robot [<!ENTITY a0 "ha">'
    + ''.join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12))
    + ']>'
)
XACRO = 'http://www.ros.org/wiki/xacro'


def at(name, line):
    """Where a link or joint of the small robot or an added one is, in words."""
    kind = 'joint' if name in ('hip', 'ankle') else 'link'
    return f"{kind} '{name}' (line {line})"


NOT_A_URDF = {
    'empty': (b'', 'empty'),
    'binary': (bytes(range(256)) * 4, 'binary'),
    'plain text': (b'robot: small', 'invalid_xml'),
    'truncated': (SMALL_ROBOT[:400].encode(), 'invalid_xml'),
    'unclosed element': (corrupted(('</inertial>', '')).encode(), 'invalid_xml'),
    'undefined entity': (extended('&degree;').encode(), 'invalid_xml'),
    'latin-1 without saying so': (corrupted(('"sole"', '"fuß"')).encode('latin-1'), 'invalid_xml'),
    'unknown encoding': (b'<?xml version="1.0" encoding="klingon"?><robot/>', 'invalid_xml'),
    'web page': (b'<!DOCTYPE html>\n<html><body><br>404</body></html>', 'web_page'),
    'web page, well-formed': (b'<html><body/></html>', 'other_format'),
    'SDF': (b'<sdf version="1.7"><model/></sdf>', 'other_format'),
    'xacro element': (
        f'<robot name="r" xmlns:xacro="{XACRO}"><xacro:include filename="x"/></robot>'.encode(),
        'xacro',
    ),
    'xacro element, newer address': (
        b'<robot xmlns:x="http://wiki.ros.org/xacro"><x:property name="m" value="1"/></robot>',
        'xacro',
    ),
    'xacro without namespace': (b'<robot><xacro:leg side="l"/></robot>', 'xacro'),
    'xacro expression': (corrupted(('value="2"', 'value="${mass}"')).encode(), 'xacro'),
    'entity bomb in a text': ((LAUGHS + '<robot name="r">&a11;</robot>').encode(),
                              'document_type'),
    'entity bomb in an attribute': ((LAUGHS + '<robot name="&a11;"/>').encode(), 'document_type'),
    'external entity': (
        b'<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot>&x;</robot>',
        'document_type',
    ),
    'external document type': (b'<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd"><robot/>',
                               'document_type'),
    'attributes by document type': (
        b'<!DOCTYPE robot [<!ATTLIST mass value CDATA "3">]><robot><link name="a"/></robot>',
        'document_type',
    ),
    'nested too deeply': (('<robot>' * 5000 + '</robot>' * 5000).encode(), 'invalid_xml'),
}  # fmt: skip

BAD_ELEMENT = {
    'URDF of the future': (corrupted(('name="small"', 'name="small" version="2.0"')),
                           'unknown_urdf_version', ''),
    'unnamed link': (corrupted(('<link name="sole"/>', '<link/>')), 'missing_attribute',
                     'a <link> (line 17)'),
    'blank name': (corrupted(('"thigh"', '" "')), 'missing_attribute', 'a <link> (line 11)'),
    'unnamed joint': (corrupted(('<joint name="hip"', '<joint')), 'missing_attribute',
                      'a <joint> (line 18)'),
    'duplicate link': (extended('<link name="thigh"/>'), 'repeated_name', at('thigh', 29)),
    'duplicate joint': (
        extended('<joint name="hip" type="fixed"><parent link="sole"/><child link="x"/></joint>'),
        'repeated_name',
        at('hip', 29),
    ),
    'missing parent': (corrupted(('<parent link="base"/>', '')), 'missing_element', at('hip', 18)),
    'parent without link': (corrupted(('<parent link="base"/>', '<parent/>')), 'missing_attribute',
                            at('hip', 20)),
    'two parents in a joint': (
        corrupted(('<parent link="base"/>', '<parent link="base"/><parent link="sole"/>')),
        'repeated_element',
        at('hip', 18),
    ),
    'two inertials': (corrupted(('<visual>', '<inertial><mass value="1"/></inertial><visual>')),
                      'repeated_element', at('base', 3)),
    'no joint type': (corrupted((' type="fixed"', '')), 'missing_attribute', at('ankle', 25)),
    'unknown joint type': (corrupted(('"revolute"', '"ball"')), 'invalid_choice', at('hip', 18)),
    'inertial without mass': (corrupted(('<mass value="2"/>', '')), 'missing_element',
                              at('base', 4)),
    'mass as in SDF': (corrupted(('<mass value="2"/>', '<mass>2</mass>')), 'missing_attribute',
                       at('base', 6)),
    'mass in words': (corrupted(('value="2"', 'value="two"')), 'not_a_number', at('base', 6)),
    'infinite mass': (corrupted(('value="2"', 'value="inf"')), 'not_finite', at('base', 6)),
    'huge mass': (corrupted(('value="2"', 'value="1e300"')), 'number_too_large', at('base', 6)),
    'Python number': (corrupted(('value="2"', 'value="2_000"')), 'not_a_number', at('base', 6)),
    'empty number': (corrupted(('value="2"', 'value=""')), 'wrong_length', at('base', 6)),
    'missing moment': (corrupted((' izz="0.04"', '')), 'missing_attribute', at('base', 7)),
    'axis without xyz': (corrupted(('<axis xyz="0 1 0"/>', '<axis/>')), 'missing_attribute',
                         at('hip', 22)),
    'axis not a number': (corrupted(('"0 1 0"', '"0 nan 0"')), 'not_a_number', at('hip', 22)),
    'origin too long': (corrupted(('xyz="0 0 -0.1"', 'xyz="0 0 0 1"')), 'wrong_length',
                        at('hip', 19)),
    'mimic without joint': (corrupted(('<limit', '<mimic/><limit')), 'missing_attribute',
                            at('hip', 23)),
    'mimic in words': (corrupted(('<limit', '<mimic joint="ankle" multiplier="twice"/><limit')),
                       'not_a_number', at('hip', 23)),
    'quaternion in URDF 1.0': (corrupted(('rpy="0 0 0.2"', 'quat_xyzw="0 0 0 1"')),
                               'quaternion_in_urdf_1_0', at('hip', 19)),
}  # fmt: skip


@pytest.mark.parametrize(('data', 'kind'), NOT_A_URDF.values(), ids=NOT_A_URDF)
def test_what_is_no_urdf_is_refused_by_its_name(tmp_path, data, kind):
    path = tmp_path / 'robot.urdf'
    path.write_bytes(data)
    with raising(ModelError, kind) as refusal:
        load_model(path)
    assert str(refusal.value).startswith(f"'{path}' ")
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize(('text', 'kind', 'where'), BAD_ELEMENT.values(), ids=BAD_ELEMENT)
def test_a_bad_element_is_named_with_its_line(text, kind, where):
    with raising(ModelError, 'invalid_model') as refusal:
        load_model(text)
    (problem,) = refusal.value.data['problems']
    assert (problem.severity, problem.kind, problem.where) == ('error', kind, where)


def test_all_bad_elements_are_listed_at_once():
    text = corrupted(('value="2"', 'value="two"'), ('"0 1 0"', '"0 1"'), ('"fixed"', '"glued"'))
    with raising(ModelError, 'invalid_model') as refusal:
        load_model(text)
    found = [(problem.kind, problem.where) for problem in refusal.value.data['problems']]
    assert found == [
        ('not_a_number', at('base', 6)),
        ('wrong_length', at('hip', 22)),
        ('invalid_choice', at('ankle', 25)),
    ]
    assert str(refusal.value).splitlines()[1] == (
        """  link 'base' (line 6): 'two' is not a number, in <mass value="two">."""
    )
    many = extended('\n'.join(f'<link name="l{k}"><inertial/></link>' for k in range(100)))
    with raising(ModelError, 'invalid_model') as refusal:
        load_model(many)
    assert len(refusal.value.data['problems']) == 100
    assert str(refusal.value).count('\n') == MOST_LISTED + 1


def test_absent_files_directories_and_odd_paths_are_refused(tmp_path):
    with raising(ModelError, 'file_absent', path=tmp_path / 'absent.urdf'):
        read_urdf(tmp_path / 'absent.urdf')
    with raising(ModelError, 'file_unreadable', path=tmp_path):
        read_urdf(tmp_path)
    with raising(ModelError, 'file_unreadable'):
        read_urdf('robot\0.urdf')
    with raising(ModelError, 'file_unreadable'):
        read_urdf('x' * 5000)


def test_of_an_absent_file_the_folder_and_the_urdfs_in_it_are_named(tmp_path, monkeypatch):
    (tmp_path / 'robot.urdf').write_text('')
    (tmp_path / 'notes.txt').write_text('')
    monkeypatch.chdir(tmp_path)
    with raising(ModelError, 'file_absent') as refusal:
        read_urdf('icub.urdf')
    assert str(refusal.value) == (
        f"There is no URDF file 'icub.urdf' in '{tmp_path}'; URDFs there: robot.urdf."
    )
    with raising(ModelError, 'file_absent') as refusal:
        read_urdf('absent/icub.urdf')
    assert 'nor its folder' in str(refusal.value)


def test_a_xacro_file_is_refused_where_xacro_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'xacro', None)
    path = tmp_path / 'robot.urdf.XACRO'
    path.write_text(SMALL_ROBOT)
    with raising(ModelError, 'xacro', path=path):
        load_model(path)


@pytest.fixture
def xacro_file(tmp_path):
    """A xacro file that stands for the small robot with another mass."""
    text = corrupted(('value="2"', 'value="${2 * 1.5}"'))
    path = tmp_path / 'robot.urdf.xacro'
    path.write_text(text.replace('<robot ', f'<robot xmlns:xacro="{XACRO}" ', 1))
    return path


def test_a_xacro_file_is_expanded_by_xacro(xacro_file):
    need('xacro')
    expanded = load_model(corrupted(('value="2"', 'value="3"')))
    assert load_model(xacro_file).total_mass == expanded.total_mass


def test_what_xacro_makes_is_read_and_what_it_refuses_is_said(xacro_file, monkeypatch):
    def process_file(path):
        if Path(path) != xacro_file:
            raise ValueError('no such property')
        document = minidom.parse(path)
        for mass in document.getElementsByTagName('mass'):
            mass.setAttribute('value', mass.getAttribute('value').replace('${2 * 1.5}', '3'))
        return document

    monkeypatch.setitem(sys.modules, 'xacro', SimpleNamespace(process_file=process_file))
    expanded = load_model(corrupted(('value="2"', 'value="3"')))
    assert load_model(xacro_file).total_mass == expanded.total_mass
    other = xacro_file.rename(xacro_file.with_name('other.xacro'))
    with raising(ModelError, 'xacro_refuses', path=other):
        load_model(other)


def test_what_carries_no_dynamics_is_ignored():
    garbage = (
        '<material/><transmission><joint name="hip"/><joint name="hip"/></transmission>'
        '<gazebo reference="nowhere"><link name="base"/><mass value="x"/></gazebo>'
        '<link name="shell"><visual><origin xyz="a b"/><geometry><mesh filename="/absent.dae"/>'
        '</geometry></visual><collision><geometry><blob/></geometry></collision></link>'
        '<joint name="glue" type="fixed"><parent link="base"/><child link="shell"/>'
        '<dynamics damping="much"/><safety_controller k_velocity="?"/></joint>'
        '<!-- a comment --><?a processing="instruction"?>'
    )
    model, plain = load_model(extended(garbage)), load_model(SMALL_ROBOT)
    assert set(model.frame_names) == {*plain.frame_names, 'shell'}
    assert not model.problems
    np.testing.assert_array_equal(model.bodies, plain.bodies)


@pytest.mark.parametrize(
    ('text', 'kind', 'where'),
    [
        (corrupted(('<inertial>', '<inertail>'), ('</inertial>', '</inertail>')),
         'ignored_element', at('base', 3)),
        (extended('<Link name="x"/>'), 'ignored_element', '<Link> (line 29)'),
        (corrupted(('origin xyz="0 0 -0.1"', 'origin xzy="0 0 -0.1"')), 'ignored_attribute',
         at('hip', 19)),
        (corrupted(('value="2"', 'value="2" unit="kg"')), 'ignored_attribute', at('base', 6)),
    ],
    ids=['misspelt element', 'capital letter', 'misspelt attribute', 'foreign attribute'],
)  # fmt: skip
def test_what_looks_meant_but_is_ignored_is_remarked(text, kind, where):
    problem, *others = load_model(text).problems
    assert (problem.severity, problem.kind, problem.where) == ('warning', kind, where)
    assert [other.kind for other in others] == ['no_inertial'] * ('inertail' in text)


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'iso-8859-1'])
def test_encodings(tmp_path, encoding):
    declared = 'utf-8' if encoding == 'utf-8-sig' else encoding
    text = corrupted(('"1.0"?', f'"1.0" encoding="{declared}"?'), ('"small"', '"Füßler"'))
    path = tmp_path / 'robot.urdf'
    path.write_bytes(text.encode(encoding))
    urdf = read_urdf(path)
    assert urdf.robot.name == 'Füßler'
    assert 'package://absent/base.stl' in urdf.text
    assert parse_urdf(urdf.text).robot.name == 'Füßler'
    assert parse_urdf(text).robot.name == 'Füßler'  # whatever a str declares


def test_a_robot_needs_no_name_and_limits_may_be_infinite_or_missing():
    text = corrupted(
        (' name="small"', ''),
        ('effort="10" velocity="5"', ''),
        ('lower="-1" upper="1"', 'lower="-inf" upper="1.7976931348623157e308"'),
    )
    model = load_model(text)
    assert model.name == 'robot'
    assert model.position_lower[0] == -np.inf
    assert model.velocity_limit[0] == model.effort_limit[0] == np.inf


@pytest.mark.parametrize('version', ['1.1', '1.2'])
def test_quaternions_of_urdf_1_1(version):
    rotation = Rotation.from_euler('xyz', [0.3, -1.2, 2.0])
    x, y, z, w = rotation.as_quat()
    change = ('name="small"', f'name="small" version="{version}"')
    by_quaternion = load_model(
        corrupted(change, ('rpy="0 0 0.2"', f'quat_xyzw="{x} {y} {z} {w}"'))
    )
    by_angles = load_model(corrupted(change, ('rpy="0 0 0.2"', 'rpy="0.3 -1.2 2.0"')))
    q = [0.4]
    np.testing.assert_allclose(
        by_quaternion.frame_pose('sole', q)[0], by_angles.frame_pose('sole', q)[0], atol=1e-12
    )
    both = corrupted(change, ('rpy="0 0 0.2"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"'))
    long = corrupted(change, ('rpy="0 0 0.2"', 'quat_xyzw="0 0 0 2"'))
    for text, kind in ((both, 'two_orientations'), (long, 'quaternion_not_normalised')):
        with raising(ModelError, 'invalid_model') as refusal:
            load_model(text)
        assert [problem.kind for problem in refusal.value.data['problems']] == [kind]


def _mutations():
    """Strategies that corrupt an lxml tree in place."""
    words = st.one_of(
        st.sampled_from(
            ['', ' ', 'nan', 'inf', '-1', '0', '1e308', '1e-308', '0 0 0', '1 2', 'base', 'sole']
        ),
        st.floats(allow_nan=True, allow_infinity=True).map(repr),
        st.text(st.characters(codec='utf-8', exclude_categories=['Cc', 'Cs']), max_size=12),
    )
    actions = st.sampled_from(['delete', 'double', 'move', 'drop attribute', 'set', 'rename'])
    return st.lists(st.tuples(actions, st.integers(0, 99), st.integers(0, 99), words), max_size=4)


def _mutate(root, action, where, what, word):
    elements = [*root.iter()]
    element = elements[where % len(elements)]
    parent = element.getparent()
    keys = element.keys()
    if action == 'delete' and parent is not None:
        parent.remove(element)
    elif action == 'double' and parent is not None:
        parent.append(etree.fromstring(etree.tostring(element)))
    elif action == 'move' and parent is not None:
        target = elements[what % len(elements)]
        if element not in (target, *target.iterancestors()):
            target.append(element)
    elif action == 'drop attribute' and keys:
        del element.attrib[keys[what % len(keys)]]
    elif action == 'set' and keys:
        element.set(keys[what % len(keys)], word.replace('\uffff', '').replace('\ufffe', ''))
    elif action == 'rename':
        element.tag = elements[what % len(elements)].tag


@settings(max_examples=300, deadline=None)
@given(_mutations())
def test_a_mutated_urdf_loads_with_finite_numbers_or_is_refused(mutations):
    root = etree.fromstring(SMALL_ROBOT.encode())
    for action, where, what, word in mutations:
        _mutate(root, action, where, what, word)
    try:
        model = load_model(etree.tostring(root, encoding='unicode'))
    except ModelError as refusal:
        assert str(refusal).strip()  # noqa: PT017 (either outcome is right)
        return
    assert np.isfinite(model.bodies).all()
    q = np.full(model.dof, 0.3)
    assert np.isfinite(model.com(q)).all()
    for frame in model.frame_names:
        R, p = model.frame_pose(frame, q)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-9)
        assert np.isfinite(p).all()
    assert not np.isnan([*model.position_lower, *model.velocity_limit]).any()
    assert (model.position_lower <= model.position_upper).all()


def test_an_absent_file_in_a_deleted_working_folder_is_refused(tmp_path, monkeypatch):
    gone = tmp_path / 'gone'
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with raising(ModelError, 'file_absent'):
        read_urdf('icub.urdf')
    monkeypatch.chdir(tmp_path)


def test_a_text_that_is_no_unicode_is_refused():
    with raising(ModelError, 'invalid_xml'):
        load_model(corrupted(('"sole"', '"so\udc80le"')))
