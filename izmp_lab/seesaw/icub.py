"""iCub with 23 joints, from the URDF of example-robot-data; what is changed is stated here.

1. Wrists and neck are locked at zero, as in Nava et al., sect. V: 32 joints become 23.
2. The links of the right leg have masses but no rotational inertia in that file: they get the
   left leg's, mirrored at the sagittal plane.
3. Shapes are left out, so no mesh is needed.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from lxml import etree

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.urdf import Urdf, parse_urdf, read_urdf

LOCKED = ('neck', 'wrist')
"""Parts of the names of joints that are locked at zero."""

RIGHT_LEG = ('hip_1', 'hip_2', 'upper_leg', 'lower_leg', 'ankle_1')
"""Links of a leg, without l_ or r_, whose inertia the right leg lacks."""

_FILE = Path('share/example-robot-data/robots/icub_description/robots/icub.urdf')


def icub_urdf() -> Urdf:
    """Return the URDF of iCub with 23 joints and the inertias of its right leg.

    Raises:
        MissingDependencyError: if example-robot-data is not installed.
    """
    original = read_urdf(_original())
    root = etree.fromstring(original.text.encode())
    _remove_shapes(root)
    for joint in _locked(root):
        joint.set('type', 'fixed')
    mend_right_leg(root, load_model(original))
    return parse_urdf(etree.tostring(root, encoding='unicode'))


def mend_right_leg(root: etree._Element, model: RobotModel) -> None:
    """Give the links of the right leg the left leg's inertias, mirrored, in place.

    At zero the legs are mirror images. With R the rotation of a link there and S the reflection
    at the sagittal plane, Θ_right = R_rᵀ S R_l Θ_left R_lᵀ S R_r.

    Args:
        root: the <robot> element.
        model: the same robot; its root's y axis is lateral.
    """
    zero = np.zeros(model.dof)
    mirror = np.diag([1.0, -1.0, 1.0])
    for part in RIGHT_LEG:
        root_R_left, _ = model.frame_pose(f'l_{part}', zero)
        root_R_right, _ = model.frame_pose(f'r_{part}', zero)
        change = root_R_right.T @ mirror @ root_R_left
        _set_tensor(root, f'r_{part}', change @ _tensor(root, f'l_{part}') @ change.T)


def _original() -> Path:
    for prefix in _prefixes():
        if (prefix / _FILE).is_file():
            return prefix / _FILE
    raise MissingDependencyError('example-robot-data', 'iCub', 'pip install example-robot-data')


def _prefixes() -> Iterator[Path]:
    """Where example-robot-data may be installed: by pip, in a ROS workspace, by the system."""
    for folder in sys.path:
        yield Path(folder, 'cmeel.prefix')
    for variable in ('AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH'):
        yield from map(Path, filter(None, os.environ.get(variable, '').split(os.pathsep)))
    yield Path(sys.prefix)


def _remove_shapes(root: etree._Element) -> None:
    for link in root.iter('link'):
        for shape in [*link.iter('visual', 'collision')]:
            link.remove(shape)


def _locked(root: etree._Element) -> Iterator[etree._Element]:
    for joint in root.iter('joint'):
        if joint.get('type') == 'revolute' and any(part in joint.get('name') for part in LOCKED):
            yield joint


def _inertial(root: etree._Element, link: str) -> etree._Element:
    return root.find(f"link[@name='{link}']/inertial")


def _tensor(root: etree._Element, link: str) -> Array:
    """Inertia (3, 3) of a link about its centre of mass, in the axes of the link [kg·m²]."""
    inertial = _inertial(root, link)
    values = inertial.find('inertia').attrib
    xx, xy, xz, yy, yz, zz = (float(values[f'i{k}']) for k in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz'))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R = _rotation(inertial)
    turned: Array = R @ tensor @ R.T
    return turned


def _rotation(inertial: etree._Element) -> Array:
    from scipy.spatial.transform import Rotation

    origin = inertial.find('origin')
    rpy = '0 0 0' if origin is None else origin.get('rpy', '0 0 0')
    matrix: Array = Rotation.from_euler('xyz', [float(angle) for angle in rpy.split()]).as_matrix()
    return matrix


def _set_tensor(root: etree._Element, link: str, tensor: Array) -> None:
    """Set the inertia of a link from that in the link's axes."""
    inertial = _inertial(root, link)
    R = _rotation(inertial)
    turned = R.T @ tensor @ R
    values = inertial.find('inertia').attrib
    for row, column in zip(*np.triu_indices(3), strict=True):
        values[f'i{"xyz"[row]}{"xyz"[column]}'] = repr(float(turned[row, column]))
