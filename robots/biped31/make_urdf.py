"""Write biped31.urdf, a stand-in for the humanoid robot Sweaty: 31 joints, 27.6 kg, 1.65 m.

Run `python robots/biped31/make_urdf.py` after a change here. The masses and the main lengths are
given; every inertia is that of homogeneous solids, which are also what is drawn. The left side is
described, the right side is its mirror image in the x-z plane.

Axes follow REP-103: x forward, y left, z up, and at zero joint positions all link frames are
parallel to the pelvis, the legs stretched and the arms hanging.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

Triple = tuple[float, float, float]
Matrix = list[list[float]]

ORIGIN: Triple = (0.0, 0.0, 0.0)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ALONG_X, ALONG_Y = (0.0, math.pi / 2, 0.0), (math.pi / 2, 0.0, 0.0)

COLOURS = {
    'steel': (0.62, 0.65, 0.70, 1.0),
    'shell': (0.93, 0.93, 0.90, 1.0),
    'signal': (0.85, 0.33, 0.10, 1.0),
    'dark': (0.18, 0.20, 0.23, 1.0),
}


@dataclass(frozen=True)
class Solid:
    """A homogeneous body: box (x, y, z), cylinder (radius, length along z) or sphere (radius,).

    Attributes:
        shape: 'box', 'cylinder' or 'sphere'.
        size: full lengths or radii [m].
        mass: [kg]; 0 for something that is only drawn.
        at: its centre in the link frame [m].
        rpy: its orientation in the link frame [rad].
        colour: a key of COLOURS.
    """

    shape: str
    size: tuple[float, ...]
    mass: float
    at: Triple = ORIGIN
    rpy: Triple = ORIGIN
    colour: str = 'steel'

    def moments(self) -> Triple:
        """Return its principal moments of inertia about its centre, in its own axes [kg·m²]."""
        m, size = self.mass, self.size
        if self.shape == 'box':
            x, y, z = (edge**2 for edge in size)
            return m / 12 * (y + z), m / 12 * (x + z), m / 12 * (x + y)
        if self.shape == 'cylinder':
            radius, length = size
            across = m / 12 * (3 * radius**2 + length**2)
            return across, across, m / 2 * radius**2
        return (2 / 5 * m * size[0] ** 2,) * 3

    def mirrored(self) -> 'Solid':
        """Return its mirror image in the x-z plane."""
        (x, y, z), (roll, pitch, yaw) = self.at, self.rpy
        return replace(self, at=(x, -y, z), rpy=(-roll, pitch, -yaw))


@dataclass(frozen=True)
class Link:
    """A link with the joint to its parent.

    Attributes:
        name: name of the link.
        parent: name of its parent link; empty for the root.
        joint: name of the joint; its type is fixed if there is no axis.
        at: origin of joint and link in the parent's frame [m].
        axis: axis of rotation, or None.
        degrees: lower and upper limit [°].
        speed: velocity limit [rad/s].
        torque: effort limit [N·m].
        solids: what it consists of; none for a mere frame.
        contact: the solid that touches the ground, if any.
    """

    name: str
    parent: str = ''
    joint: str = ''
    at: Triple = ORIGIN
    axis: Triple | None = None
    degrees: tuple[float, float] = (0.0, 0.0)
    speed: float = 0.0
    torque: float = 0.0
    solids: tuple[Solid, ...] = ()
    contact: Solid | None = None

    def mirrored(self) -> 'Link':
        """Return the right twin of a left link; a pitch keeps its sense, roll and yaw turn it."""
        lower, upper = self.degrees
        return replace(
            self,
            name=_right(self.name),
            parent=_right(self.parent),
            joint=_right(self.joint),
            at=(self.at[0], -self.at[1], self.at[2]),
            degrees=(lower, upper) if self.axis in (None, Y) else (-upper, -lower),
            solids=tuple(solid.mirrored() for solid in self.solids),
            contact=self.contact and self.contact.mirrored(),
        )


def _right(name: str) -> str:
    return 'r_' + name[2:] if name.startswith('l_') else name


def _frame(name: str, parent: str, at: Triple, *marks: Solid) -> Link:
    return Link(name, parent, f'{name}_mount', at, solids=marks)


def pelvis() -> Iterator[Link]:
    """The root with its sensors: accelerometers on three orthogonal arms from the IMU."""
    chip = Solid('box', (0.02, 0.02, 0.01), 0.0, colour='signal')
    yield Link(
        'pelvis',
        solids=(
            Solid('box', (0.12, 0.20, 0.12), 2.2, (0.0, 0.0, 0.01), colour='shell'),
            Solid('box', (0.07, 0.14, 0.09), 0.8, (-0.085, 0.0, 0.03), colour='dark'),
        ),
    )
    yield _frame('imu_link', 'pelvis', (-0.03, -0.04, 0.02), chip)
    yield _frame('accelerometer_1', 'pelvis', (0.07, -0.04, 0.02), chip)
    yield _frame('accelerometer_2', 'pelvis', (-0.03, 0.06, 0.02), chip)
    yield _frame('accelerometer_3', 'pelvis', (-0.03, -0.04, 0.12), chip)
    yield _frame('gps_link', 'pelvis', (-0.08, 0.0, 0.10), chip)


def left_leg() -> Iterator[Link]:
    """Hip axes that meet in one point, knee, ankle axes that meet in one point, foot."""
    yield Link(
        'l_hip_yaw_link', 'pelvis', 'l_hip_yaw', (0.0, 0.08, -0.05), Z, (-60, 60), 8.0, 80.0,
        (Solid('cylinder', (0.035, 0.05), 0.4, (0.0, 0.0, 0.025), colour='dark'),),
    )  # fmt: skip
    yield Link(
        'l_hip_roll_link', 'l_hip_yaw_link', 'l_hip_roll', ORIGIN, X, (-30, 45), 8.0, 150.0,
        (Solid('cylinder', (0.04, 0.11), 0.5, (-0.01, 0.0, 0.0), ALONG_X, 'dark'),),
    )  # fmt: skip
    yield Link(
        'l_thigh', 'l_hip_roll_link', 'l_hip_pitch', ORIGIN, Y, (-120, 45), 10.0, 200.0,
        (
            Solid('cylinder', (0.045, 0.12), 0.9, (0.0, 0.01, 0.0), ALONG_Y, 'dark'),
            Solid('cylinder', (0.055, 0.31), 1.7, (0.005, 0.005, -0.20), (0.03, 0.03, 0.0),
                  'shell'),
        ),
    )  # fmt: skip
    yield Link(
        'l_shank', 'l_thigh', 'l_knee', (0.0, 0.0, -0.39), Y, (0, 140), 12.0, 200.0,
        (
            Solid('cylinder', (0.05, 0.10), 0.6, ORIGIN, ALONG_Y, 'dark'),
            Solid('cylinder', (0.042, 0.30), 1.3, (0.01, 0.0, -0.20), (0.0, 0.05, 0.0), 'shell'),
        ),
    )  # fmt: skip
    yield Link(
        'l_ankle', 'l_shank', 'l_ankle_pitch', (0.0, 0.0, -0.39), Y, (-80, 60), 12.0, 150.0,
        (Solid('cylinder', (0.03, 0.07), 0.2, ORIGIN, ALONG_Y, 'dark'),),
    )  # fmt: skip
    sole = Solid('box', (0.24, 0.12, 0.02), 0.6, (0.03, 0.0, -0.07), colour='signal')
    instep = Solid('box', (0.14, 0.07, 0.04), 0.3, (0.0, 0.0, -0.04), (0.0, 0.1, 0.0), 'steel')
    yield Link(
        'l_foot', 'l_ankle', 'l_ankle_roll', ORIGIN, X, (-35, 35), 12.0, 100.0,
        (sole, instep), contact=sole,
    )  # fmt: skip
    yield _frame('l_foot_ft', 'l_foot', (0.0, 0.0, -0.02))
    yield _frame('l_sole', 'l_foot', (0.0, 0.0, -0.08))


def torso() -> Iterator[Link]:
    """Waist of three axes that meet in one point, trunk, neck of two axes, head."""
    yield Link(
        'waist_yaw_link', 'pelvis', 'waist_yaw', (0.0, 0.0, 0.10), Z, (-90, 90), 6.0, 80.0,
        (Solid('cylinder', (0.06, 0.03), 0.3, (0.0, 0.0, -0.02), colour='dark'),),
    )  # fmt: skip
    yield Link(
        'waist_roll_link', 'waist_yaw_link', 'waist_roll', ORIGIN, X, (-30, 30), 6.0, 120.0,
        (Solid('cylinder', (0.04, 0.10), 0.3, ORIGIN, ALONG_X, 'dark'),),
    )  # fmt: skip
    yield Link(
        'trunk', 'waist_roll_link', 'waist_pitch', ORIGIN, Y, (-20, 60), 6.0, 120.0,
        (
            Solid('box', (0.14, 0.24, 0.28), 3.4, (0.0, 0.0, 0.19), colour='shell'),
            Solid('box', (0.06, 0.20, 0.22), 1.2, (-0.10, 0.0, 0.19), (0.0, 0.08, 0.0), 'dark'),
        ),
    )  # fmt: skip
    yield Link(
        'neck', 'trunk', 'neck_yaw', (0.0, 0.0, 0.38), Z, (-90, 90), 6.0, 10.0,
        (Solid('cylinder', (0.03, 0.06), 0.2, (0.0, 0.0, -0.01), colour='dark'),),
    )  # fmt: skip
    yield Link(
        'head', 'neck', 'neck_pitch', (0.0, 0.0, 0.05), Y, (-40, 50), 6.0, 10.0,
        (
            Solid('sphere', (0.105,), 0.9, (0.0, 0.0, 0.105), colour='shell'),
            Solid('box', (0.05, 0.14, 0.04), 0.1, (0.09, 0.0, 0.12), colour='dark'),
        ),
    )  # fmt: skip


def left_arm() -> Iterator[Link]:
    """Shoulder of three axes, elbow, wrist of three axes."""
    yield Link(
        'l_shoulder_pitch_link', 'trunk', 'l_shoulder_pitch', (0.0, 0.17, 0.30), Y, (-180, 90),
        8.0, 60.0, (Solid('cylinder', (0.045, 0.07), 0.4, (0.0, -0.015, 0.0), ALONG_Y, 'dark'),),
    )  # fmt: skip
    yield Link(
        'l_shoulder_roll_link', 'l_shoulder_pitch_link', 'l_shoulder_roll', (0.0, 0.04, 0.0), X,
        (-20, 120), 8.0, 60.0, (Solid('sphere', (0.045,), 0.3, ORIGIN, colour='shell'),),
    )  # fmt: skip
    yield Link(
        'l_upper_arm', 'l_shoulder_roll_link', 'l_shoulder_yaw', (0.0, 0.0, -0.10), Z, (-90, 90),
        8.0, 40.0,
        (Solid('cylinder', (0.035, 0.20), 0.7, (0.0, 0.005, -0.05), (0.04, 0.0, 0.0), 'shell'),),
    )  # fmt: skip
    yield Link(
        'l_elbow_link', 'l_upper_arm', 'l_elbow', (0.0, 0.0, -0.17), Y, (-140, 0), 8.0, 40.0,
        (Solid('cylinder', (0.035, 0.08), 0.3, ORIGIN, ALONG_Y, 'dark'),),
    )  # fmt: skip
    yield Link(
        'l_forearm', 'l_elbow_link', 'l_wrist_yaw', (0.0, 0.0, -0.08), Z, (-90, 90), 8.0, 20.0,
        (Solid('cylinder', (0.03, 0.17), 0.5, (0.0, 0.0, -0.045), (0.0, 0.03, 0.0), 'shell'),),
    )  # fmt: skip
    yield Link(
        'l_wrist', 'l_forearm', 'l_wrist_pitch', (0.0, 0.0, -0.16), Y, (-60, 60), 8.0, 10.0,
        (Solid('sphere', (0.028,), 0.15, ORIGIN, colour='dark'),),
    )  # fmt: skip
    yield Link(
        'l_hand', 'l_wrist', 'l_wrist_roll', ORIGIN, X, (-45, 45), 8.0, 10.0,
        (Solid('box', (0.08, 0.035, 0.11), 0.25, (0.0, 0.0, -0.07), (0.0, 0.0, 0.2), 'steel'),),
    )  # fmt: skip


def robot() -> list[Link]:
    """All links, parents before children."""
    leg, arm = list(left_leg()), list(left_arm())
    return [
        *pelvis(),
        *leg, *(link.mirrored() for link in leg),
        *torso(),
        *arm, *(link.mirrored() for link in arm),
    ]  # fmt: skip


def inertial(solids: tuple[Solid, ...]) -> tuple[float, Triple, Triple, Matrix]:
    """Return mass, centre of mass, rpy and inertia about it of homogeneous solids together.

    One solid keeps its own axes (rpy is its orientation); several give a full tensor in link axes.
    """
    heavy = [solid for solid in solids if solid.mass > 0]
    if len(heavy) == 1:
        (solid,) = heavy
        return solid.mass, solid.at, solid.rpy, _diagonal(solid.moments())
    mass = sum(solid.mass for solid in heavy)
    com = tuple(sum(solid.mass * solid.at[i] for solid in heavy) / mass for i in range(3))
    total = _diagonal(ORIGIN)
    for solid in heavy:
        tensor = _rotated(solid.moments(), solid.rpy)
        r = [solid.at[i] - com[i] for i in range(3)]
        for i in range(3):
            for j in range(3):
                steiner = (sum(x * x for x in r) if i == j else 0.0) - r[i] * r[j]
                total[i][j] += tensor[i][j] + solid.mass * steiner
    return mass, com, ORIGIN, total


def _diagonal(moments: Triple) -> Matrix:
    return [[moments[i] if i == j else 0.0 for j in range(3)] for i in range(3)]


def _rotated(moments: Triple, rpy: Triple) -> Matrix:
    """Return R · diag(moments) · Rᵀ for the URDF rotation R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = map(math.sin, rpy), map(math.cos, rpy)
    R = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return [
        [sum(R[i][k] * moments[k] * R[j][k] for k in range(3)) for j in range(3)] for i in range(3)
    ]


def _text(*numbers: float) -> str:
    return ' '.join(f'{0.0 if abs(number) < 1e-15 else number:.12g}' for number in numbers)


def _add_inertial(parent: ElementTree.Element, solids: tuple[Solid, ...]) -> None:
    mass, com, rpy, tensor = inertial(solids)
    element = ElementTree.SubElement(parent, 'inertial')
    ElementTree.SubElement(element, 'origin', xyz=_text(*com), rpy=_text(*rpy))
    ElementTree.SubElement(element, 'mass', value=_text(mass))
    entries = {
        f'i{"xyz"[i]}{"xyz"[j]}': _text(tensor[i][j]) for i in range(3) for j in range(i, 3)
    }
    ElementTree.SubElement(element, 'inertia', entries)


def _add_shape(parent: ElementTree.Element, kind: str, solid: Solid) -> None:
    element = ElementTree.SubElement(parent, kind)
    ElementTree.SubElement(element, 'origin', xyz=_text(*solid.at), rpy=_text(*solid.rpy))
    geometry = ElementTree.SubElement(element, 'geometry')
    if solid.shape == 'box':
        ElementTree.SubElement(geometry, 'box', size=_text(*solid.size))
    else:
        lengths = dict(zip(('radius', 'length'), map(_text, solid.size), strict=False))
        ElementTree.SubElement(geometry, solid.shape, lengths)
    if kind == 'visual':
        ElementTree.SubElement(element, 'material', name=solid.colour)


def _add_link(root: ElementTree.Element, link: Link) -> None:
    element = ElementTree.SubElement(root, 'link', name=link.name)
    if any(solid.mass > 0 for solid in link.solids):
        _add_inertial(element, link.solids)
    for solid in link.solids:
        _add_shape(element, 'visual', solid)
    if link.contact:
        _add_shape(element, 'collision', link.contact)


def _add_joint(root: ElementTree.Element, link: Link) -> None:
    kind = 'revolute' if link.axis else 'fixed'
    element = ElementTree.SubElement(root, 'joint', name=link.joint, type=kind)
    ElementTree.SubElement(element, 'origin', xyz=_text(*link.at), rpy=_text(*ORIGIN))
    ElementTree.SubElement(element, 'parent', link=link.parent)
    ElementTree.SubElement(element, 'child', link=link.name)
    if link.axis:
        lower, upper = map(math.radians, link.degrees)
        ElementTree.SubElement(element, 'axis', xyz=_text(*link.axis))
        ElementTree.SubElement(
            element, 'limit', lower=_text(lower), upper=_text(upper),
            velocity=_text(link.speed), effort=_text(link.torque),
        )  # fmt: skip


def urdf() -> str:
    """Return the text of the URDF."""
    root = ElementTree.Element('robot', name='biped31')
    root.append(ElementTree.Comment(' Written by make_urdf.py, which is the place to change it. '))
    for name, rgba in COLOURS.items():
        material = ElementTree.SubElement(root, 'material', name=name)
        ElementTree.SubElement(material, 'color', rgba=_text(*rgba))
    links = robot()
    for link in links:
        _add_link(root, link)
    for link in links:
        if link.parent:
            _add_joint(root, link)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding='unicode')
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


if __name__ == '__main__':
    Path(__file__).with_name('biped31.urdf').write_text(urdf(), encoding='utf-8')
