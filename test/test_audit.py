"""What a well-formed URDF can get wrong: errors refuse the model, warnings come with it."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import ModelError, UnknownNameError
from izmp_dynamics.diagnosis.model import model_findings
from izmp_dynamics.model.audit import audit, floating_root_joint
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import parse_urdf, read_urdf

from .pinocchio_twin import ROBOTS, robot_path
from .raising import raising
from .small_robot import SMALL_ROBOT, corrupted, extended


def at(name, line):
    """Where a link or joint of the small robot or an added one is, in words."""
    kind = 'joint' if name in ('hip', 'ankle', 'strut', 'free', 'x', 'y', 'j2') else 'link'
    return f"{kind} '{name}' (line {line})"


INERTIA = 'ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.04"'


def joint(name, parent, child, kind='fixed', inside=''):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'{inside}</joint>'
    )


def mimic(leader):
    return f'<mimic joint="{leader}"/>'


def chain(count, kind, inside=''):
    """A robot of `count` links in a row; `inside` takes the number of each joint."""
    inertial = (
        '<inertial><mass value="0.1"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial>'
    )
    links = ''.join(f'<link name="l{k}">{inertial}</link>' for k in range(count))
    joints = ''.join(
        joint(f'j{k}', f'l{k}', f'l{k + 1}', kind, inside.format(k - 1) if k else '')
        for k in range(count - 1)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


ERRORS = {
    'no links': ('<robot name="nothing"/>', 'no_links', ''),
    'unknown parent': (corrupted(('parent link="thigh"', 'parent link="tigh"')), 'unknown_link',
                       at('ankle', 25)),
    'unknown child': (corrupted(('child link="sole"', 'child link="nobody"')), 'unknown_link',
                      at('ankle', 25)),
    'two roots': (extended('<link name="lost"/>'), 'several_roots', at('lost', 29)),
    'very many roots': (extended(''.join(f'<link name="l{k}"/>' for k in range(5000))),
                        'several_roots', at('l0', 29)),
    'cycle': (extended(joint('back', 'sole', 'base')), 'cycle', at('base', 3)),
    'cycle beside the robot': (
        extended('<link name="a"/><link name="b"/>' + joint('x', 'a', 'b') + joint('y', 'b', 'a')),
        'cycle',
        at('a', 29),
    ),
    'self-loop': (extended('<link name="a"/>' + joint('x', 'a', 'a')), 'cycle', at('a', 29)),
    'closed chain': (extended(joint('strut', 'base', 'sole')), 'second_parent', at('strut', 29)),
    'floating joint inside': (corrupted(('"revolute"', '"floating"')), 'unsupported_joint_type',
                              at('hip', 18)),
    'planar joint': (corrupted(('"revolute"', '"planar"')), 'unsupported_joint_type',
                     at('hip', 18)),
    'zero axis': (corrupted(('"0 1 0"', '"0 0 0"')), 'axis_without_direction', at('hip', 18)),
    'tiny axis': (corrupted(('"0 1 0"', '"0 1e-200 0"')), 'axis_without_direction', at('hip', 18)),
    'negative mass': (corrupted(('value="2"', 'value="-2"')), 'negative_mass', at('base', 3)),
    'negative moment': (corrupted(('ixx="0.02"', 'ixx="-0.02"')), 'negative_moment',
                        at('base', 3)),
    'zero total mass': (corrupted(('value="2"', 'value="0"'), ('value="1"', 'value="0"')),
                        'massless_robot', ''),
    'vanishing total mass': (corrupted(('value="2"', 'value="1e-300"'),
                                       ('value="1"', 'value="0"')), 'massless_robot', ''),
    'mimic of an unknown joint': (corrupted(('<limit', f'{mimic("hop")}<limit')),
                                  'mimic_of_no_movable_joint', at('hip', 18)),
    'mimic of a fixed joint': (corrupted(('<limit', f'{mimic("ankle")}<limit')),
                               'mimic_of_no_movable_joint', at('hip', 18)),
    'mimic of itself': (corrupted(('<limit', f'{mimic("hip")}<limit')), 'mimic_circle',
                        at('hip', 18)),
    'mimic circle': (
        extended(
            '<link name="a"/><link name="b"/><link name="c"/>'
            + joint('x', 'sole', 'a', 'continuous', mimic('y'))
            + joint('y', 'sole', 'b', 'continuous', mimic('z'))
            + joint('z', 'sole', 'c', 'continuous', mimic('y'))
        ),
        'mimic_circle',
        at('y', 29),
    ),
    'mimic of the joint that is left out': (
        extended(
            '<link name="world"/>'
            + joint('free', 'world', 'base', 'floating')
            + '<link name="a"/>'
            + joint('x', 'sole', 'a', 'continuous', mimic('free'))
        ),
        'mimic_of_no_movable_joint',
        at('x', 29),
    ),
    'multipliers without bound': (chain(60, 'continuous', '<mimic joint="j{}" multiplier="1e6"/>'),
                                  'mimic_gain_too_large', at('j2', 1)),
}  # fmt: skip

WARNINGS = {
    'no inertial on a moving link': (
        extended('<link name="toe"/>' + joint('bend', 'sole', 'toe', 'continuous')),
        'moving_without_mass',
        at('toe', 29),
    ),
    'mass without inertia': (corrupted((f'<inertia {INERTIA}/>', '')), 'mass_without_inertia',
                             at('base', 3)),
    'zero inertia': (corrupted((INERTIA, 'ixx="0" iyy="0" izz="0"')), 'zero_inertia',
                     at('base', 3)),
    'inertia without mass': (corrupted(('value="2"', 'value="0"')), 'inertia_without_mass',
                             at('base', 3)),
    'broken triangle inequality': (corrupted(('izz="0.04"', 'izz="0.4"')), 'triangle_inequality',
                                   at('base', 3)),
    'negative principal moment': (corrupted(('ixy="0.001"', 'ixy="0.1"')),
                                  'negative_principal_moment', at('base', 3)),
    'inertia in g·mm²': (corrupted((INERTIA, 'ixx="2e7" iyy="3e7" izz="4e7"')),
                         'inertia_in_other_units', at('base', 3)),
    'masses in grams': (corrupted(('value="2"', 'value="2000"'), ('value="1"', 'value="1000"')),
                        'mass_in_other_units', ''),
    'lengths in millimetres': (corrupted(('xyz="0 0 -0.1"', 'xyz="0 0 -100"')), 'far_origin',
                               at('hip', 18)),
    'axis of another length': (corrupted(('"0 1 0"', '"0 2 0"')), 'axis_not_normalised',
                               at('hip', 18)),
    'limits reversed': (corrupted(('lower="-1" upper="1"', 'lower="1" upper="-1"')),
                        'reversed_limits', at('hip', 18)),
    'limits in degrees': (corrupted(('lower="-1" upper="1"', 'lower="-60" upper="90"')),
                          'limits_in_degrees', at('hip', 18)),
    'negative effort': (corrupted(('effort="10"', 'effort="-10"')), 'limit_not_positive',
                        at('hip', 18)),
    'world with a floating joint': (
        extended('<link name="world"/>' + joint('free', 'world', 'base', 'floating')),
        'root_joint_left_out',
        at('free', 29),
    ),
    'world with a fixed joint': (extended('<link name="world"/>' + joint('bolt', 'world', 'base')),
                                 'tied_to_world', at('world', 29)),
}  # fmt: skip


@pytest.mark.parametrize(('text', 'kind', 'where'), ERRORS.values(), ids=ERRORS)
def test_what_makes_a_model_unusable_is_refused_with_its_place(text, kind, where):
    with raising(ModelError, 'invalid_model') as refusal:
        load_model(text)
    problems = refusal.value.data['problems']
    assert {(problem.severity, problem.kind) for problem in problems} == {('error', kind)}
    assert problems[0].where == where
    assert len(str(refusal.value)) < 8000


@pytest.mark.parametrize(('text', 'kind', 'where'), WARNINGS.values(), ids=WARNINGS)
def test_an_anomaly_is_a_warning_and_the_model_works(text, kind, where):
    model = load_model(text)
    (problem,) = model.problems
    assert (problem.severity, problem.kind, problem.where) == ('warning', kind, where)
    assert np.isfinite(model.bodies).all()
    assert np.isfinite(model.com(np.zeros(model.dof))).all()


SHAPE = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
HEAD = f'<link name="head"><inertial><mass value="1"/><inertia {INERTIA}/></inertial>'


@pytest.mark.parametrize(
    ('shape', 'further', 'found'),
    [
        # a head fixed to it has a mass, so that it is not one of the links that move without any
        (SHAPE, f'{HEAD}{SHAPE}</link>{joint("neck", "torso", "head")}', True),
        (SHAPE.replace('visual', 'collision'), '', True),
        ('', '', False),  # a frame
        (SHAPE, f'{HEAD}</link>{joint("mass", "torso", "head")}', False),  # as KDL wants it
    ],
)
def test_a_body_without_inertial_is_named(shape, further, found):
    text = extended(
        f'<link name="torso">{shape}</link>{joint("waist", "torso", "base", "continuous")}'
        f'{further}'
    )
    kinds = [(problem.kind, problem.where) for problem in audit(parse_urdf(text))]
    assert kinds == [('no_inertial', "link 'torso' (line 29)")] * found


@pytest.mark.parametrize('kind', ['fixed', 'continuous'])
def test_a_leaf_or_a_mount_without_inertial_is_no_body(kind):
    """A camera's mount that is fixed to a body, and what is fixed to it."""
    text = extended(
        f'<link name="mount">{SHAPE}</link>{joint("at", "base", "mount")}'
        f'{HEAD}</link>{joint("pan", "mount", "head", kind)}'
    )
    assert audit(parse_urdf(text)) == []


@pytest.mark.parametrize('name', [*ROBOTS, 'biped31'])
def test_robots_in_use_have_a_sound_form_and_no_errors(name):
    urdf = read_urdf(robot_path(name))
    assert not urdf.remarks
    assert all(problem.severity == 'warning' for problem in load_model(urdf).problems)


def test_errors_come_first_and_one_cause_is_listed_once():
    text = corrupted(('parent link="base"', 'parent link="trunk"'), ('"0 1 0"', '"0 3 0"'))
    problems = audit(parse_urdf(text))
    assert [problem.severity for problem in problems] == ['error', 'warning']
    circle = chain(500, 'continuous', '<mimic joint="j{}"/>').replace(
        joint('j0', 'l0', 'l1', 'continuous'), joint('j0', 'l0', 'l1', 'continuous', mimic('j498'))
    )
    problems = audit(parse_urdf(circle))
    assert [problem.kind for problem in problems] == ['mimic_circle']
    assert len(problems[0].message) < 200


def test_reversed_limits_are_exchanged():
    model = load_model(WARNINGS['limits reversed'][0])
    assert (model.position_lower[0], model.position_upper[0]) == (-1.0, 1.0)


def test_the_floating_joint_of_a_massless_root_is_left_out():
    text = WARNINGS['world with a floating joint'][0]
    model, plain = load_model(text), load_model(SMALL_ROBOT)
    assert floating_root_joint(parse_urdf(text)).name == 'free'
    assert model.root == 'base'
    assert model.frame_names == plain.frame_names
    np.testing.assert_array_equal(model.bodies, plain.bodies)
    with raising(UnknownNameError, 'unknown_name') as refusal:
        load_model(text, root='world')
    assert (refusal.value.denotes, refusal.value.name) == ('link', 'world')
    assert "The URDF's own root is 'base'" in str(refusal.value)


def test_a_fixed_world_changes_the_root_frame_only():
    text = extended(
        '<link name="world"/>' + joint('bolt', 'world', 'base', inside='<origin xyz="0 0 1"/>')
    )
    bolted, plain = load_model(text), load_model(SMALL_ROBOT)
    assert bolted.root == 'world'
    assert bolted.total_mass == plain.total_mass
    np.testing.assert_allclose(
        bolted.com([0.3]), plain.com([0.3]) + np.array([0, 0, 1]), atol=1e-15
    )
    np.testing.assert_allclose(load_model(text, root='base').com([0.3]), plain.com([0.3]))


def test_a_massless_link_that_carries_mass_is_no_problem():
    foot = (
        '<link name="gimbal"/><link name="foot"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    )
    text = extended(
        foot + joint('turn', 'sole', 'gimbal', 'continuous') + joint('glue', 'gimbal', 'foot')
    )
    assert audit(parse_urdf(text)) == []


@pytest.mark.parametrize('kind', ['fixed', 'continuous'])
def test_a_chain_of_1100_links_does_not_exhaust_the_stack(kind):
    model = load_model(chain(1100, kind))
    assert model.total_mass == pytest.approx(110.0)
    assert model.dof == (0 if kind == 'fixed' else 1099)
    tail = load_model(chain(1100, kind), root='l1099')
    assert tail.total_mass == pytest.approx(110.0)


def test_a_chain_of_1100_mimics_follows_its_leader():
    model = load_model(chain(1100, 'prismatic', '<mimic joint="j{}"/>'))
    assert model.joint_names == ('j0',)
    _, p = model.frame_pose('l1099', [0.001])
    np.testing.assert_allclose(p, [1.099, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize('parent', ['l{}', 'nobody'])
def test_thousands_of_errors_make_one_readable_message(parent):
    links = ''.join(f'<link name="l{k}"/>' for k in range(3000))
    joints = ''.join(joint(f'j{k}', parent.format(k), f'l{k}') for k in range(3000))
    with raising(ModelError, 'invalid_model') as refusal:
        load_model(f'<robot name="r">{links}{joints}</robot>')
    assert len(str(refusal.value)) < 8000


def test_a_robot_of_one_link():
    inertial = '<inertial><mass value="1"/></inertial>'
    text = f'<robot name="ball"><link name="ball">{inertial}</link></robot>'
    model = load_model(text)
    assert model.dof == 0
    np.testing.assert_array_equal(model.com(np.zeros(0)), np.zeros(3))
    np.testing.assert_array_equal(model.com(np.zeros((4, 0))), np.zeros((4, 3)))


# ---- What `izmp check` says of the robot itself -------------------------------------------------


def found(robot, text):
    model = load_model(text, robot.root)
    return [finding for finding in model_findings(model, robot) if finding.level == 'warning']


def test_a_trunk_without_inertial_is_a_warning(biped31):
    text = biped31.urdf_path.read_text('utf-8')
    assert found(biped31, text) == []
    begin = text.index('<inertial>', text.index('<link name="trunk">'))
    (finding,) = found(biped31, text[:begin] + text[text.index('</inertial>', begin) + 11 :])
    assert finding.kind == 'no_inertial'
    assert "link 'trunk'" in finding.sentence


@pytest.mark.parametrize(
    ('z', 'said'),
    [(-0.045, ['35 mm above the lowest point of the collision']), (-0.088, []),
     (-0.1, ['20 mm below the lowest point of the collision'])],
)  # fmt: skip
def test_a_sole_off_its_foot_is_a_warning(biped31, z, said):
    text = biped31.urdf_path.read_text('utf-8')
    sole = f'<origin xyz="0 0 {z}" rpy="0 0 0" />\n    <parent link="l_foot" />'
    text = text.replace(sole.replace(str(z), '-0.08'), sole)
    findings = found(biped31, text)
    assert [finding.key for finding in findings] == ['sole_off[l_foot]'] * len(said)
    for finding, words in zip(findings, said, strict=True):
        assert words in finding.sentence


def test_a_coarse_collision_shape_does_not_outweigh_the_visual(biped31):
    text = biped31.urdf_path.read_text('utf-8')
    begin = text.index('<collision>', text.index('<link name="l_foot">'))
    coarse = text[begin:].replace('xyz="0.03 0 -0.07"', 'xyz="0.03 0 -0.1"', 1)
    assert coarse != text[begin:]
    assert found(biped31, text[:begin] + coarse) == []
