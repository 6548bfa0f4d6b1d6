"""What a well-formed URDF can get wrong: errors refuse the model, warnings come with it."""

import numpy as np
import pytest

from izmp_dynamics.errors import ModelError, UnknownNameError
from izmp_dynamics.model.audit import audit, floating_root_joint
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import parse_urdf

from .pinocchio_twin import ROBOTS, robot_path
from .small_robot import SMALL_ROBOT, extended, spoilt

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
    'no links': ('<robot name="nothing"/>', 'has no links'),
    'unknown parent': (
        spoilt(('parent link="thigh"', 'parent link="tigh"')),
        r"joint 'ankle' \(line 25\): its parent link 'tigh' does not exist. .*mean 'thigh'",
    ),
    'unknown child': (
        spoilt(('child link="sole"', 'child link="nobody"')),
        r"joint 'ankle' \(line 25\): its child link 'nobody' does not exist",
    ),
    'two roots': (
        extended('<link name="lost"/>'),
        r"link 'lost' \(line 29\): the links 'base', 'lost' have no parent",
    ),
    'very many roots': (
        extended(''.join(f'<link name="l{k}"/>' for k in range(5000))),
        r'… \(5001 in all\) have no parent',
    ),
    'cycle': (
        extended(joint('back', 'sole', 'base')),
        r"link 'base' \(line 3\): .*cycle through the links 'base', 'thigh', 'sole'",
    ),
    'cycle beside the robot': (
        extended('<link name="a"/><link name="b"/>' + joint('x', 'a', 'b') + joint('y', 'b', 'a')),
        "link 'a'.*cycle through the links 'a', 'b'",
    ),
    'self-loop': (
        extended('<link name="a"/>' + joint('x', 'a', 'a')),
        "link 'a'.*cycle through the links 'a'",
    ),
    'closed chain': (
        extended(joint('strut', 'base', 'sole')),
        r"joint 'strut' \(line 29\): link 'sole' is already the child of joint 'ankle'",
    ),
    'floating joint inside': (
        spoilt(('"revolute"', '"floating"')),
        r"joint 'hip' \(line 18\): floating joints inside the robot",
    ),
    'planar joint': (spoilt(('"revolute"', '"planar"')), "joint 'hip'.*planar joints"),
    'zero axis': (
        spoilt(('"0 1 0"', '"0 0 0"')),
        r"joint 'hip' \(line 18\): its axis \[0.0, 0.0, 0.0\] has no direction",
    ),
    'tiny axis': (spoilt(('"0 1 0"', '"0 1e-200 0"')), "joint 'hip'.*no direction"),
    'negative mass': (
        spoilt(('value="2"', 'value="-2"')),
        r"link 'base' \(line 3\): its mass is negative \(-2.0 kg\)",
    ),
    'negative moment': (
        spoilt(('ixx="0.02"', 'ixx="-0.02"')),
        r"link 'base' \(line 3\): it has a negative moment of inertia \(-0.02",
    ),
    'zero total mass': (
        spoilt(('value="2"', 'value="0"'), ('value="1"', 'value="0"')),
        'the robot has no mass',
    ),
    'vanishing total mass': (
        spoilt(('value="2"', 'value="1e-300"'), ('value="1"', 'value="0"')),
        'the robot has no mass.*1e-300 kg',
    ),
    'mimic of an unknown joint': (
        spoilt(('<limit', f'{mimic("hop")}<limit')),
        r"joint 'hip' \(line 18\): it mimics 'hop', which is no movable joint",
    ),
    'mimic of a fixed joint': (
        spoilt(('<limit', f'{mimic("ankle")}<limit')),
        "joint 'hip'.*mimics 'ankle', which is no movable",
    ),
    'mimic of itself': (
        spoilt(('<limit', f'{mimic("hip")}<limit')),
        r"joint 'hip' \(line 18\): the mimics form a circle: hip → hip",
    ),
    'mimic circle': (
        extended(
            '<link name="a"/><link name="b"/><link name="c"/>'
            + joint('x', 'sole', 'a', 'continuous', mimic('y'))
            + joint('y', 'sole', 'b', 'continuous', mimic('z'))
            + joint('z', 'sole', 'c', 'continuous', mimic('y'))
        ),
        r"joint 'y' \(line 29\): the mimics form a circle: y → z → y",
    ),
    'mimic of the joint that is left out': (
        extended(
            '<link name="world"/>'
            + joint('free', 'world', 'base', 'floating')
            + '<link name="a"/>'
            + joint('x', 'sole', 'a', 'continuous', mimic('free'))
        ),
        "joint 'x'.*mimics 'free', which is no movable joint",
    ),
    'multipliers without bound': (
        chain(60, 'continuous', '<mimic joint="j{}" multiplier="1e6"/>'),
        "joint 'j2'.*multipliers of its mimics make 1e",
    ),
}

WARNINGS = {
    'no inertial on a moving link': (
        extended('<link name="toe"/>' + joint('bend', 'sole', 'toe', 'continuous')),
        "link 'toe' (line 29): it moves but has no <inertial>",
    ),
    'mass without inertia': (
        spoilt((f'<inertia {INERTIA}/>', '')),
        "link 'base' (line 3): it has a mass but no <inertia>; taken as zero",
    ),
    'zero inertia': (
        spoilt((INERTIA, 'ixx="0" iyy="0" izz="0"')),
        "link 'base' (line 3): its inertia tensor is zero: a point mass",
    ),
    'inertia without mass': (
        spoilt(('value="2"', 'value="0"')),
        "link 'base' (line 3): it has an inertia tensor but no mass; both are ignored",
    ),
    'broken triangle inequality': (
        spoilt(('izz="0.04"', 'izz="0.4"')),
        'kg·m² break the triangle inequality: no body has this inertia',
    ),
    'negative principal moment': (
        spoilt(('ixy="0.001"', 'ixy="0.1"')),
        'kg·m² are not all positive: no body has this inertia; its products',
    ),
    'inertia in g·mm²': (
        spoilt((INERTIA, 'ixx="2e7" iyy="3e7" izz="4e7"')),
        'those of 2 kg at a distance of 4.47e+03 m; URDF has kg·m²',
    ),
    'masses in grams': (
        spoilt(('value="2"', 'value="2000"'), ('value="1"', 'value="1000"')),
        'the robot weighs 3000 kg; are the masses in grams?',
    ),
    'lengths in millimetres': (
        spoilt(('xyz="0 0 -0.1"', 'xyz="0 0 -100"')),
        "joint 'hip' (line 18): its origin is 100 m from the parent; URDF has metres",
    ),
    'axis of another length': (
        spoilt(('"0 1 0"', '"0 2 0"')),
        "joint 'hip' (line 18): its axis [0.0, 2.0, 0.0] is not a unit vector; normalised",
    ),
    'limits reversed': (
        spoilt(('lower="-1" upper="1"', 'lower="1" upper="-1"')),
        "joint 'hip' (line 18): its limits are reversed (1.0 > -1.0); exchanged",
    ),
    'limits in degrees': (
        spoilt(('lower="-1" upper="1"', 'lower="-60" upper="90"')),
        "joint 'hip' (line 18): it turns by up to 90 rad; URDF has radians",
    ),
    'negative effort': (
        spoilt(('effort="10"', 'effort="-10"')),
        "joint 'hip' (line 18): its velocity or effort limit is not positive",
    ),
    'world with a floating joint': (
        extended('<link name="world"/>' + joint('free', 'world', 'base', 'floating')),
        "joint 'free' (line 29): this floating joint and its parent 'world' are left out",
    ),
    'world with a fixed joint': (
        extended('<link name="world"/>' + joint('bolt', 'world', 'base')),
        "link 'world' (line 29): the robot is tied to a link 'world'; it is taken to float",
    ),
}


@pytest.mark.parametrize(('text', 'message'), ERRORS.values(), ids=ERRORS)
def test_what_makes_a_model_unusable_is_refused_with_its_place(text, message):
    with pytest.raises(ModelError, match=f'(?s)^The URDF cannot be used:.*{message}') as refusal:
        load_model(text)
    assert len(str(refusal.value)) < 8000


@pytest.mark.parametrize(('text', 'message'), WARNINGS.values(), ids=WARNINGS)
def test_what_is_odd_is_a_warning_and_the_model_works(text, message):
    model = load_model(text)
    assert [problem.severity for problem in model.problems] == ['warning']
    assert message in str(model.problems[0])
    assert np.isfinite(model.bodies).all()
    assert np.isfinite(model.com(np.zeros(model.dof))).all()


def test_a_sound_robot_has_no_problems():
    assert audit(parse_urdf(SMALL_ROBOT)) == []


@pytest.mark.parametrize('name', [*ROBOTS, 'biped31'])
def test_robots_in_use_have_no_errors(name):
    assert all(problem.severity == 'warning' for problem in load_model(robot_path(name)).problems)


def test_errors_come_first_and_one_cause_is_told_once():
    text = spoilt(('parent link="base"', 'parent link="trunk"'), ('"0 1 0"', '"0 3 0"'))
    problems = audit(parse_urdf(text))
    assert [problem.severity for problem in problems] == ['error', 'warning']
    circle = chain(500, 'continuous', '<mimic joint="j{}"/>').replace(
        joint('j0', 'l0', 'l1', 'continuous'),
        joint('j0', 'l0', 'l1', 'continuous', mimic('j498')),
    )
    problems = audit(parse_urdf(circle))
    assert len(problems) == 1
    assert 'circle' in problems[0].message
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
    with pytest.raises(UnknownNameError, match="no link 'world'"):
        load_model(text, root='world')


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


@pytest.mark.parametrize('kind', ['fixed', 'continuous', 'prismatic'])
def test_a_chain_of_3000_links_does_not_exhaust_the_stack(kind):
    model = load_model(chain(3000, kind))
    assert model.total_mass == pytest.approx(300.0)
    assert model.dof == (0 if kind == 'fixed' else 2999)
    tail = load_model(chain(3000, kind), root='l2999')
    assert tail.total_mass == pytest.approx(300.0)


def test_a_chain_of_3000_mimics_follows_its_leader():
    model = load_model(chain(3000, 'prismatic', '<mimic joint="j{}"/>'))
    assert model.joint_names == ('j0',)
    _, p = model.frame_pose('l2999', [0.001])
    np.testing.assert_allclose(p, [2.999, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize('parent', ['l{}', 'nobody'])
def test_thousands_of_errors_make_one_readable_message(parent):
    links = ''.join(f'<link name="l{k}"/>' for k in range(3000))
    joints = ''.join(joint(f'j{k}', parent.format(k), f'l{k}') for k in range(3000))
    with pytest.raises(ModelError, match='cannot be used') as refusal:
        load_model(f'<robot name="r">{links}{joints}</robot>')
    assert len(str(refusal.value)) < 8000


def test_a_robot_of_one_link():
    inertial = '<inertial><mass value="1"/></inertial>'
    text = f'<robot name="ball"><link name="ball">{inertial}</link></robot>'
    model = load_model(text)
    assert model.dof == 0
    np.testing.assert_array_equal(model.com(np.zeros(0)), np.zeros(3))
    np.testing.assert_array_equal(model.com(np.zeros((4, 0))), np.zeros((4, 3)))
