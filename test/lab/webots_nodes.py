"""What Webots R2025a knows of the nodes that worlds are made of: fields and their types.

From the node definitions that come with Webots (resources/nodes/*.wrl). A file with another node,
another field or a value of another type would be refused by Webots, or silently cut short.
"""

import re

from izmp_lab.simulation.webots.vrml import Is, Node

POSE = {'translation': 'SFVec3f', 'rotation': 'SFRotation', 'children': 'MFNode'}
SOLID = POSE | {
    'name': 'SFString', 'contactMaterial': 'SFString', 'boundingObject': 'SFNode',
    'physics': 'SFNode',
}  # fmt: skip
MOTOR = {
    'name': 'SFString', 'controlPID': 'SFVec3f', 'maxVelocity': 'SFFloat',
    'minPosition': 'SFFloat', 'maxPosition': 'SFFloat', 'sound': 'SFString',
}  # fmt: skip
JOINT = {'device': 'MFNode', 'endPoint': 'SFNode', 'jointParameters': 'SFNode'}
JOINT_PARAMETERS = {
    'position': 'SFFloat', 'axis': 'SFVec3f', 'dampingConstant': 'SFFloat',
    'staticFriction': 'SFFloat',
}  # fmt: skip
NODES = {
    'Robot': SOLID | {
        'controller': 'SFString', 'controllerArgs': 'MFString', 'customData': 'SFString',
        'supervisor': 'SFBool', 'synchronization': 'SFBool', 'selfCollision': 'SFBool',
    },
    'Solid': SOLID,
    'Accelerometer': SOLID,
    'Gyro': SOLID,
    'GPS': SOLID,
    'InertialUnit': SOLID,
    'TouchSensor': SOLID | {'type': 'SFString', 'lookupTable': 'MFVec3f'},
    'Pose': POSE,
    'Group': {'children': 'MFNode'},
    'HingeJoint': JOINT,
    'SliderJoint': JOINT,
    'HingeJointParameters': JOINT_PARAMETERS | {'anchor': 'SFVec3f'},
    'JointParameters': JOINT_PARAMETERS,
    'RotationalMotor': MOTOR | {'maxTorque': 'SFFloat'},
    'LinearMotor': MOTOR | {'maxForce': 'SFFloat'},
    'PositionSensor': {'name': 'SFString'},
    'Physics': {
        'density': 'SFFloat', 'mass': 'SFFloat', 'centerOfMass': 'MFVec3f',
        'inertiaMatrix': 'MFVec3f',
    },
    'Shape': {'appearance': 'SFNode', 'geometry': 'SFNode'},
    'PBRAppearance': {
        'baseColor': 'SFColor', 'roughness': 'SFFloat', 'metalness': 'SFFloat',
        'transparency': 'SFFloat', 'emissiveColor': 'SFColor',
    },
    'Box': {'size': 'SFVec3f'},
    'Cylinder': {'radius': 'SFFloat', 'height': 'SFFloat'},
    'Sphere': {'radius': 'SFFloat'},
    'Plane': {'size': 'SFVec2f'},
    'Mesh': {'url': 'MFString', 'ccw': 'SFBool'},
    'CadShape': {'url': 'MFString', 'ccw': 'SFBool'},
    'Transform': POSE | {'scale': 'SFVec3f'},
    'WorldInfo': {
        'info': 'MFString', 'title': 'SFString', 'gravity': 'SFFloat', 'basicTimeStep': 'SFFloat',
        'physicsDisableTime': 'SFFloat', 'coordinateSystem': 'SFString',
        'gpsCoordinateSystem': 'SFString', 'contactProperties': 'MFNode',
    },
    'ContactProperties': {
        'material1': 'SFString', 'material2': 'SFString', 'coulombFriction': 'MFFloat',
        'bounce': 'SFFloat', 'softCFM': 'SFFloat', 'bumpSound': 'SFString',
        'rollSound': 'SFString', 'slideSound': 'SFString',
    },
    'Viewpoint': {
        'orientation': 'SFRotation', 'position': 'SFVec3f', 'follow': 'SFString',
        'followType': 'SFString',
    },
    'Background': {'skyColor': 'MFColor'},
    'DirectionalLight': {
        'ambientIntensity': 'SFFloat', 'direction': 'SFVec3f', 'intensity': 'SFFloat',
        'castShadows': 'SFBool',
    },
}  # fmt: skip

NUMBERS = {
    'SFFloat': 1, 'SFVec2f': 2, 'SFVec3f': 3, 'SFColor': 3, 'SFRotation': 4,
    'MFFloat': 1, 'MFVec3f': 3, 'MFColor': 3,
}  # fmt: skip


def check(node, interface=None):
    """Assert that Webots would take a node and all below it.

    Args:
        node: of a world, or the one of a PROTO.
        interface: of the PROTO.
    """
    names = [item.name for item in node.nodes() if item.name]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', name) for name in names), names
    for item in node.nodes():
        assert item.type in NODES, item.type
        for field, value in item.fields.items():
            kind = NODES[item.type].get(field)
            assert kind, f'{item.type} has no field {field}'
            if isinstance(value, Is):
                assert interface.fields[value.field][0] == kind
            else:
                assert fits(kind, value), f'{item.type}.{field} {value}'


def fits(kind, value):
    """Whether a value is of a type; a USE must come after its DEF."""
    if kind in ('SFNode', 'MFNode'):
        items = value if kind == 'MFNode' else [value]
        return all(item is None or isinstance(item, Node) for item in items)
    if kind == 'SFString':
        return isinstance(value, str)
    if kind == 'MFString':
        return all(isinstance(item, str) for item in value)
    if kind == 'SFBool':
        return isinstance(value, bool)
    if kind.startswith('MF'):
        return isinstance(value, list) and len(value) % NUMBERS[kind] == 0
    return isinstance(value, tuple) and len(value) == NUMBERS[kind]
