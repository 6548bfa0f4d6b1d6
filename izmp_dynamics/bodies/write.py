"""A recording of a human → folder with bag, URDF, robot file and README, as every log here."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.examples import example
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.conventions import GRAVITY, NANOSECONDS, Array
from izmp_dynamics.base.rotations import quaternions_of_matrices, to_rpy
from izmp_dynamics.bodies.opensim import read_opensim
from izmp_dynamics.bodies.plates import foot_forces, read_plates
from izmp_dynamics.bodies.recording import Foot, Joint, Link, Recording, Wrenches
from izmp_dynamics.bodies.table import read_table

WORLD = 'world'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'
_POSE = 'geometry_msgs/msg/PoseStamped'


def import_opensim(
    model: Path,
    motion: Path,
    grf: Path | None,
    output: Path,
    *,
    feet: tuple[str, ...] = (),
    overwrite: bool = False,
    progress: Callable[[float], None] = lambda done: None,
) -> Recording:
    """Make a folder of OpenSim's files.

    Args:
        model: *.osim.
        motion: coordinates over time.
        grf: ground reaction forces over time; None without plates.
        output: folder to be made, a bag with further files.
        feet: bodies that are feet; default: those whose names say so.
        overwrite: replace a bag.
        progress: is called with the part that is done.

    Returns:
        What was written.

    Raises:
        IzmpError: a file cannot be used, or `output` is taken.
    """
    BagWriter(output, overwrite=overwrite)  # refuses a place that is taken
    recording = read_opensim(model, read_table(motion), feet, progress)
    plates: tuple[Wrenches, ...] = ()
    forces: tuple[Wrenches, ...] = ()
    remarks = recording.remarks
    if grf is not None:
        plates, more = read_plates(read_table(grf), recording.world_R_file)
        remarks += more
        if recording.feet:
            forces, more = foot_forces(recording, plates)
            remarks += more
    recording = replace(recording, remarks=remarks)
    sources = ', '.join(f'`{file.name}`' for file in (model, motion, grf) if file)
    write_recording(recording, plates, forces, sources, output, overwrite)
    return recording


def write_recording(
    recording: Recording,
    plates: tuple[Wrenches, ...],
    forces: tuple[Wrenches, ...],
    source: str,
    path: Path,
    overwrite: bool = False,
) -> None:
    """Write the folder: complete or not at all.

    Args:
        recording: joints and motion.
        plates: what force plates measured, in the world.
        forces: what they do to the feet.
        source: what it was made of, for README.md.
        path: of the folder, which is a bag.
        overwrite: replace a bag.

    Raises:
        BagError: the place is taken or cannot be written.
    """
    urdf = urdf_text(recording)
    with BagWriter(path, overwrite=overwrite) as bag:
        bag.add_file('robot.urdf', urdf)
        bag.add_file('robot.yaml', robot_text(recording, forces))
        bag.add_file('README.md', _readme(recording, plates, forces, source))
        start = int(recording.stamps[0])
        bag.add_topic('/robot_description', 'std_msgs/msg/String', {'data': urdf})
        text = example('std_msgs/msg/String', {'data': urdf})
        bag.write('/robot_description', start, text)
        names, q = list(recording.q), np.stack(list(recording.q.values()), axis=1)
        common = {'name': names, 'position': np.zeros(len(names))}
        bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState', common)
        bag.write_batch('/joint_states', recording.stamps, {'position': q})
        quaternions = quaternions_of_matrices(recording.R)
        for topic, p, r in (
            (_pose_topic(recording), recording.p, quaternions),
            ('/derived/ground', np.zeros_like(recording.p), np.tile([0.0, 0, 0, 1], (len(q), 1))),
        ):
            bag.add_topic(topic, _POSE, {'header.frame_id': WORLD})
            bag.write_batch(topic, recording.stamps, {'pose.position': p, 'pose.orientation': r})
        wrenches = [(_plate_topic(plate), WORLD, plate.stamps, plate.values) for plate in plates]
        wrenches += [
            (_foot_topic(foot.name), foot.name, foot.stamps, foot.values) for foot in forces
        ]
        for topic, frame, stamps, wrench in wrenches:
            bag.add_topic(topic, _WRENCH, {'header.frame_id': frame})
            bag.write_batch(topic, stamps, {'wrench': wrench})


def urdf_text(recording: Recording) -> str:
    """The model as URDF; it says nothing about limits of the joints."""
    parts = [*map(_link, recording.links), *map(_joint, recording.joints)]
    return f'<robot name="{escape(recording.name)}">\n{"".join(parts)}</robot>\n'


def robot_text(recording: Recording, forces: tuple[Wrenches, ...]) -> str:
    """The robot file."""
    rate = NANOSECONDS / float(np.median(np.diff(recording.stamps)))
    gravity = recording.gravity
    lines = [
        '# Written by izmp import; see README.md.',
        'urdf: robot.urdf',
        f'root: {recording.links[0].name}',
        *([f'gravity: {gravity:g}'] if abs(gravity - GRAVITY) > 1e-4 else []),
        'imu: {from_position: true}  # there is none; it is derived from the pose',
        f'position: {{topic: {_pose_topic(recording)[1:]}}}',
        'ground: {source: frame, frame: ground, topic: derived/ground}  # the floor of the world',
        f'rates: {{bus: {rate:.6g}}}  # [Hz]',
        f'acd: {{acceleration_limit: {_acceleration_limit(recording):.0f}}}  # [rad/s², m/s²]',
        *(['feet:'] if recording.feet else []),
    ]
    with_forces = {foot.name for foot in forces}
    for foot in recording.feet:
        lines += _foot_lines(foot, foot.link in with_forces)
    return '\n'.join(lines) + '\n'


def _acceleration_limit(recording: Recording) -> float:
    """What only outliers of the kinematics exceed: a multiple of what nearly all samples show."""
    accelerations = np.diff(np.stack(list(recording.q.values()), axis=1), n=2, axis=0)
    accelerations /= np.median(np.diff(recording.stamps) / NANOSECONDS) ** 2
    return max(1000.0, 6.0 * float(np.percentile(np.abs(accelerations), 99.0)))


def _foot_lines(foot: Foot, has_forces: bool) -> Iterator[str]:
    corners = ', '.join(f'[{x:.4f}, {y:.4f}]' for x, y in foot.corners.tolist())
    yield f'  - name: {foot.link}'
    yield f'    sole: {{link: {foot.link}, xyz: [0.0, 0.0, {foot.height:.4f}]}}'
    yield f'    polygon: [{corners}]  # [m]'
    if has_forces:
        topic = _foot_topic(foot.link)[1:]
        yield f'    wrench: {{topic: {topic}, frame: {foot.link}}}'


def _readme(
    recording: Recording, plates: tuple[Wrenches, ...], forces: tuple[Wrenches, ...], source: str
) -> str:
    rows = [
        ('/joint_states', 'motion', 'joint positions [rad], [m]'),
        (_pose_topic(recording), 'motion', f'pose of {recording.links[0].name} in the world'),
        ('/derived/ground', 'assumed', 'the floor, z = 0 of the world'),
        *(
            (
                _plate_topic(plate),
                'measured',
                'on the body, about the origin of the world [N, N·m]',
            )
            for plate in plates
        ),
        *(
            (_foot_topic(foot.name), 'derived', 'what the plates do to this foot, in its frame')
            for foot in forces
        ),
    ]
    table = '\n'.join(f'| `{topic}` | {kind} | {what} |' for topic, kind, what in rows)
    remarks = '\n'.join(f'* {remark}' for remark in recording.remarks)
    return (
        f'# {recording.name}\n\nMade by `izmp import` of {source}. SI units, z up; all frames are '
        'those of the model, turned alike. Time 0 of the files is 1 s.\n\n'
        f'{recording.mass:.2f} kg, {len(recording.q)} joints, {len(recording.stamps)} instants.'
        f'\n\n| topic | | what |\n|---|---|---|\n{table}\n\n{remarks}\n'
    )


def _pose_topic(recording: Recording) -> str:
    return f'/{recording.links[0].name}/pose'


def _plate_topic(plate: Wrenches) -> str:
    return f'/plates/{plate.name}/wrench'


def _foot_topic(link: str) -> str:
    return f'/derived/{link}/wrench'


def _link(link: Link) -> str:
    if not link.mass:
        return f'  <link name="{escape(link.name)}"/>\n'
    names, (i, j) = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), np.triu_indices(3)
    values = zip(names, link.inertia[i, j].tolist(), strict=True)
    tensor = ' '.join(f'{name}="{value + 0.0!r}"' for name, value in values)
    return (
        f'  <link name="{escape(link.name)}"><inertial><origin xyz="{_triple(link.com)}"/>'
        f'<mass value="{link.mass!r}"/><inertia {tensor}/></inertial></link>\n'
    )


def _joint(joint: Joint) -> str:
    moves = ''
    if joint.axis.any():
        moves = f'<axis xyz="{_triple(joint.axis)}"/>'
        moves += '<limit lower="-10" upper="10" effort="1e6" velocity="1e6"/>'
    place = f'xyz="{_triple(joint.p)}" rpy="{_triple(np.array(to_rpy(joint.R)))}"'
    return (
        f'  <joint name="{escape(joint.name)}" type="{joint.kind}"><origin {place}/>'
        f'<parent link="{escape(joint.parent)}"/><child link="{escape(joint.child)}"/>{moves}'
        '</joint>\n'
    )


def _triple(values: Array) -> str:
    return ' '.join(f'{value + 0.0:.12g}' for value in values.tolist())
