"""Write itu_biped.urdf, the biped of Şanlıtürk & Kocabaş (2024).

Run `python robots/itu_biped/make_urdf.py` after a change. Lengths, masses and centres of gravity
are the tables in `izmp_lab.walking.itu_biped`. The paper states no inertias and no limits:
every part has the inertia of a homogeneous box of a plausible size about its centre of gravity.

Link frames are parallel to the pelvis (x ahead, y left, z up) while the legs are stretched.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from izmp_lab.walking import itu_biped as itu

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)

JOINTS = (
    ('hip_yaw', Z, -0.8, 0.8), ('hip_roll', X, -0.6, 0.6), ('hip_pitch', Y, -2.2, 1.0),
    ('knee', Y, 0.0, 2.6), ('ankle_pitch', Y, -1.5, 1.0), ('ankle_roll', X, -0.6, 0.6),
)  # fmt: skip
"""Name, axis, lower and upper limit [rad]."""

EFFORT, VELOCITY = 400, 20
"""Limits of every joint [N·m], [rad/s]; wide, since the paper's joints follow perfectly."""

SIZES = {
    'torso': (0.12, 0.26, 0.25), 'hip_roll_body': (0.12, 0.10, 0.12),
    'hip_yaw_body': (0.08, 0.08, 0.08), 'upper_leg': (0.10, 0.10, 0.40),
    'lower_leg': (0.08, 0.08, 0.38), 'ankle_roll_body': (0.03, 0.03, 0.03),
    'foot': (0.23, 0.10, 0.05),
}  # fmt: skip
"""Edges of the boxes along x, y and z [m]."""


def urdf() -> str:
    """Return the text of the URDF."""
    robot = ElementTree.Element('robot', name='itu_biped')
    robot.append(
        ElementTree.Comment(' Written by make_urdf.py, which is the place to change it. ')
    )
    torso = itu.FRAME_0 @ itu.TORSO.cog
    _add_link(robot, 'pelvis', itu.TORSO, torso)
    _add_joint(robot, 'imu_link_mount', 'pelvis', 'imu_link', (0, 0, 0))
    ElementTree.SubElement(robot, 'link', name='imu_link')
    for prefix, side in (('l', itu.LEFT_SIDE), ('r', itu.RIGHT_SIDE)):
        _add_leg(robot, prefix, side)
    ElementTree.indent(robot)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(robot, 'unicode') + '\n'
    )


def _add_leg(robot: ElementTree.Element, prefix: str, side: int) -> None:
    parent = 'pelvis'
    axes = itu.FRAME_0 @ itu.link_frames(itu.STRETCHED)[:, :3, :3]
    rows = zip(JOINTS, itu.leg_parts(side), _origins(side), axes[1:], strict=True)
    for (joint, axis, lower, upper), part, origin, pelvis_R_part in rows:
        link = f'{prefix}_{part.name}'
        if joint.endswith('roll') and side == itu.RIGHT_SIDE:
            lower, upper = -upper, -lower
        _add_joint(robot, f'{prefix}_{joint}', parent, link, origin, axis, (lower, upper))
        _add_link(robot, link, part, pelvis_R_part @ part.cog)
        parent = link
    for frame in ('foot_ft', 'sole'):
        below = -itu.ANKLE_HEIGHT if frame == 'sole' else 0
        _add_joint(robot, f'{prefix}_{frame}_mount', parent, f'{prefix}_{frame}', (0, 0, below))
        ElementTree.SubElement(robot, 'link', name=f'{prefix}_{frame}')


def _origins(side: int) -> Iterator[tuple[float, float, float]]:
    """Where the joints sit in the link before."""
    yield 0, side * itu.HIP_ASIDE, -itu.HIP_BELOW
    for below in (0, 0, itu.THIGH, itu.SHANK, 0):
        yield 0, 0, -below


def _add_link(robot: ElementTree.Element, name: str, part: itu.Part, cog: itu.Array) -> None:
    link = ElementTree.SubElement(robot, 'link', name=name)
    x, y, z = SIZES[part.name]
    inertial = ElementTree.SubElement(link, 'inertial')
    ElementTree.SubElement(inertial, 'origin', xyz=_text(*cog), rpy='0 0 0')
    ElementTree.SubElement(inertial, 'mass', value=_text(part.mass))
    moments = {'ixx': y * y + z * z, 'iyy': x * x + z * z, 'izz': x * x + y * y}
    entries = {name: _text(part.mass / 12 * square) for name, square in moments.items()}
    ElementTree.SubElement(inertial, 'inertia', entries, ixy='0', ixz='0', iyz='0')
    visual = ElementTree.SubElement(link, 'visual')
    ElementTree.SubElement(visual, 'origin', xyz=_text(*cog), rpy='0 0 0')
    geometry = ElementTree.SubElement(visual, 'geometry')
    ElementTree.SubElement(geometry, 'box', size=_text(x, y, z))


def _add_joint(
    robot: ElementTree.Element,
    name: str,
    parent: str,
    child: str,
    origin: tuple[float, float, float],
    axis: tuple[int, int, int] | None = None,
    limits: tuple[float, float] = (0, 0),
) -> None:
    kind = 'revolute' if axis else 'fixed'
    joint = ElementTree.SubElement(robot, 'joint', name=name, type=kind)
    ElementTree.SubElement(joint, 'origin', xyz=_text(*origin), rpy='0 0 0')
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    if axis:
        ElementTree.SubElement(joint, 'axis', xyz=_text(*axis))
        lower, upper = map(_text, limits)
        ElementTree.SubElement(
            joint, 'limit', lower=lower, upper=upper, velocity=_text(VELOCITY),
            effort=_text(EFFORT),
        )  # fmt: skip


def _text(*numbers: float) -> str:
    return ' '.join(f'{0.0 if abs(number) < 1e-15 else number:.12g}' for number in numbers)


if __name__ == '__main__':
    Path(__file__).with_name('itu_biped.urdf').write_text(urdf(), encoding='utf-8')
