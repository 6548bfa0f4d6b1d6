"""What `izmp check` says of the robot itself: URDF and robot file."""

import pytest

from izmp_dynamics.diagnosis.model import model_findings
from izmp_dynamics.model.robot_model import load_model


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
