"""A recording of a human → folder with bag, URDF and robot file, as every log here."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.conventions import GRAVITY, NANOSECONDS, Array, Stamps, seconds
from izmp_dynamics.base.errors import BagError, UnknownNameError
from izmp_dynamics.base.rotations import quaternions_of_matrices, to_rpy
from izmp_dynamics.bodies.c3d import C3d, read_c3d
from izmp_dynamics.bodies.opensim import read_opensim
from izmp_dynamics.bodies.plates import foot_forces, read_plates
from izmp_dynamics.bodies.recording import Foot, Joint, Link, Recording, Wrenches
from izmp_dynamics.bodies.registration import find_imbalance
from izmp_dynamics.bodies.table import Table, read_table
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import parse_urdf
from izmp_dynamics.sensing.sensor_check import FASTEST_GYROSCOPE

HEAVY = 0.25
"""Of the whole mass; no limb of a human is as heavy."""

WORLD = 'world'
PLATE_TOPIC, FOOT_TOPIC = '/plates/{}/wrench', '/derived/{}/wrench'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'
_IMU = 'sensor_msgs/msg/Imu'
_POSE = 'geometry_msgs/msg/PoseStamped'
_COLUMN = re.compile(r'(.+?)_?(acc|gyr)[a-z]*_?([xyz])', re.IGNORECASE)
"""Of an inertial unit, such as trunk_Accel_X."""


def import_opensim(
    model: Path,
    motion: Path,
    grf: Path | None,
    output: Path,
    *,
    imu: tuple[Path, Mapping[str, str]] | None = None,
    feet: tuple[str, ...] = (),
    upright: str | None = None,
    shift: tuple[float, float] = (0.0, 0.0),
    com: Mapping[str, tuple[float, float]] | None = None,
    overwrite: bool = False,
    progress: Callable[[float], None] = lambda done: None,
) -> Recording:
    """Make a folder of OpenSim's files.

    Args:
        model: *.osim.
        motion: coordinates over time.
        grf: ground reaction forces over time; None without plates.
        output: folder to be made, a bag with further files.
        imu: file of inertial units, and which body carries each.
        feet: bodies that are feet; default: those whose names say so.
        upright: body that is kept upright, see `Recording.upright`.
        shift: what plates are moved by in x and y of the world, z up [m].
        com: body → what its centre of mass is moved by in its x and y, z up [m].
        overwrite: replace a bag.
        progress: is called with the part that is done.

    Returns:
        What was written.

    Raises:
        IzmpError: a file cannot be used, or `output` is taken.
    """
    BagWriter(output, overwrite=overwrite)  # refuses a place that is taken
    recording = read_opensim(model, motion, feet, progress)
    if upright is not None:
        recording = recording.upright(upright)
    for body, (x, y) in (com or {}).items():
        recording = recording.with_com(body, np.array([x, y, 0.0]))
    plates: tuple[Wrenches, ...] = ()
    forces: tuple[Wrenches, ...] = ()
    remarks = (*recording.remarks, *_trunk(recording))
    if grf is not None:
        plates, more = _plates(grf, recording, np.array([*shift, 0.0]))
        remarks += more
        if recording.feet and plates:
            forces, more, way = foot_forces(recording, plates)
            remarks += (*more, *_imbalance(recording, [plate.moved(way) for plate in plates]))
    units, more = read_units(read_table(imu[0]), imu[1], recording) if imu else ((), ())
    recording = replace(recording, remarks=remarks + more)
    sources = ', '.join(file.name for file in (model, motion, grf, imu and imu[0]) if file)
    _write(recording, plates, forces, units, sources, output, overwrite)
    return recording


def _plates(
    path: Path, recording: Recording, way: Array
) -> tuple[tuple[Wrenches, ...], tuple[str, ...]]:
    """Read plates and move them by (3,) [m]; what is remarkable, sentences."""
    if path.suffix.lower() == '.c3d':
        file = read_c3d(path)
        plates, remarks = file.plates, file.remarks
    else:
        plates, remarks = read_plates(read_table(path), recording.world_R_file)
    if not way.any():
        return plates, remarks
    x, y, _ = 1e3 * way
    remarks += (f'The plates were moved by {x:.0f} mm in x and {y:.0f} mm in y.',)
    return tuple(plate.moved(way) for plate in plates), remarks


def read_units(
    table: Table, bodies: Mapping[str, str], recording: Recording
) -> tuple[tuple[Wrenches, ...], tuple[str, ...]]:
    """Find units in columns such as trunk_Accel_X and trunk_Gyro_X.

    Args:
        table: of the file.
        bodies: name of a unit in its columns → body that carries it.
        recording: of the motion.

    Returns:
        By body angular velocity and specific force; how they are read, sentences.

    Raises:
        UnknownNameError: there is no such unit or body.
        BagError: an acceleration is neither in m/s² nor in g, or the times are others.
    """
    found: dict[str, dict[str, str]] = {}
    for column in table.names:
        if match := _COLUMN.fullmatch(column):
            unit, *what = match.groups()
            found.setdefault(unit, {})[''.join(what).lower()] = column
    wanted = [f'{kind}{axis}' for kind in ('gyr', 'acc') for axis in 'xyz']
    whole = {unit: [of[key] for key in wanted] for unit, of in found.items() if len(of) == 6}
    valid = [link.name for link in recording.links[1:] if link.mass]
    inside, units, remarks = recording.inside(table.stamps, 'units'), [], []
    for unit, body in bodies.items():
        if unit not in whole:
            raise UnknownNameError('unit', unit, tuple(whole), f"in '{table.path}'")
        if body not in valid:
            raise UnknownNameError('body beside the root', body, valid, 'in the model')
        values = table.columns(whole[unit])
        turns_in, size = 'rad/s', float(np.median(np.linalg.norm(values[:, 3:], axis=1)))
        moves_in = 'g' if 0.7 < size < 1.5 else 'm/s²'
        if not 0.7 < size < 1.5 and not 0.7 < size / GRAVITY < 1.5:
            raise BagError(
                f"'{table.path}' has accelerations of {size:.3g} in the median for '{unit}'; "
                f'specific force is 1 g or {GRAVITY:.2f} m/s² at rest.',
                kind='wrong_unit', path=table.path,
            )  # fmt: skip
        if np.abs(values[:, :3]).max() > FASTEST_GYROSCOPE:
            turns_in, values[:, :3] = '°/s', np.radians(values[:, :3])
        values[:, 3:] *= GRAVITY if moves_in == 'g' else 1.0
        units.append(Wrenches(body, table.stamps[inside], values[inside]))
        remarks.append(f"Unit '{unit}' on {body} is read in {turns_in} and {moves_in}.")
    return tuple(units), tuple(remarks)


def _trunk(recording: Recording) -> Iterator[str]:
    """Which heavy body turns along with the root, in a sentence."""
    for link in recording.links:
        if link.mass > HEAVY * recording.mass and recording.still_axes(link.name):
            yield (
                f"'{link.name}' ({link.mass:.0f} kg) turns along with the root, as the motion has "
                'no angles between them. A trunk does not, which puts the ZMP of a walk off by '
                f'100 mm: --upright {link.name} keeps it upright.'
            )


def _imbalance(recording: Recording, plates: Sequence[Wrenches]) -> Iterator[str]:
    """Say by how much plates contradict where the model has its mass, in a sentence."""
    heavy = max(recording.links, key=lambda link: link.mass)
    model = load_model(parse_urdf(_urdf_text(recording)), recording.links[0].name)
    origin = int(recording.stamps[0])
    known = seconds(recording.stamps, origin)
    times = np.arange(0.0, known[-1], 0.01)
    row = np.searchsorted(known, times, side='right') - 1
    q = np.stack([recording.q[name][row] for name in model.joint_names], axis=1)
    com = np.einsum('tij,tj->ti', recording.R[row], model.com(q)) + recording.p[row]
    wrench = np.zeros((len(times), 6))
    for plate in plates:
        at = seconds(plate.stamps, origin)
        wrench += np.stack([np.interp(times, at, f, 0.0, 0.0) for f in plate.values.T], axis=1)
    turned = recording.R[row] @ model.frame_pose(heavy.name, q)[0]
    found = find_imbalance(times, com, turned, wrench, recording.mass, recording.gravity)
    if found is not None and found.clear.any():
        (x, y), (dx, dy) = 1e3 * np.abs(found.value), 1e3 * found.sigma
        along, aside = np.where(
            found.value < 0.0, ('too far back', 'on the right'), ('too far ahead', 'on the left')
        )
        way = np.where(found.clear, -found.value, 0.0) * recording.mass / heavy.mass
        yield (
            f'For {found.steps} s the plates carry all of the body. By that the centre of mass of '
            f'the model lies {x:.0f} ± {dx:.0f} mm {along} and {y:.0f} ± {dy:.0f} mm {aside}, and '
            f'the ZMP with it. --shift-com {heavy.name}={way[0]:.3f},{way[1]:.3f} moves that of '
            f"'{heavy.name}', in all recordings of the person with this model."
        )


def import_c3d(path: Path, output: Path, *, overwrite: bool = False) -> C3d:
    """Make a bag of a C3D file: force plates, and angles where it has them; it has no masses.

    Args:
        path: *.c3d.
        output: folder to be made, a bag.
        overwrite: replace a bag.

    Returns:
        What was written.

    Raises:
        IzmpError: the file cannot be used, or `output` is taken.
    """
    file = read_c3d(path)
    with BagWriter(output, overwrite=overwrite) as bag:
        if file.angles:
            _write_joints(bag, file.stamps, file.angles)
        _write_wrenches(bag, PLATE_TOPIC, file.plates, WORLD)
    return file


def _write(
    recording: Recording,
    plates: tuple[Wrenches, ...],
    forces: tuple[Wrenches, ...],
    units: tuple[Wrenches, ...],
    source: str,
    path: Path,
    overwrite: bool,
) -> None:
    urdf = _urdf_text(recording)
    with BagWriter(path, overwrite=overwrite) as bag:
        bag.add_file('robot.urdf', urdf)
        bag.add_file('robot.yaml', _robot_text(recording, forces, units, source))
        bag.add_topic('/robot_description', 'std_msgs/msg/String', {'data': urdf})
        bag.write_batch('/robot_description', recording.stamps[:1])
        _write_joints(bag, recording.stamps, recording.q)
        floor = {'pose.position': np.zeros_like(recording.p)}
        place = {
            'pose.position': recording.p,
            'pose.orientation': quaternions_of_matrices(recording.R),
        }
        for topic, poses in ((_pose_topic(recording), place), ('/derived/ground', floor)):
            bag.add_topic(topic, _POSE, {'header.frame_id': WORLD, 'pose.orientation.w': 1.0})
            bag.write_batch(topic, recording.stamps, poses)
        _write_wrenches(bag, PLATE_TOPIC, plates, WORLD)
        _write_wrenches(bag, FOOT_TOPIC, forces)
        for unit in units:
            topic, values = f'/{unit.name}/imu', unit.values
            bag.add_topic(topic, _IMU, {'header.frame_id': unit.name})
            read = {'angular_velocity': values[:, :3], 'linear_acceleration': values[:, 3:]}
            bag.write_batch(topic, unit.stamps, read)


def _write_joints(bag: BagWriter, stamps: Stamps, q: dict[str, Array]) -> None:
    common = {'name': list(q), 'position': np.zeros(len(q))}
    bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState', common)
    positions = np.stack(list(q.values()), axis=1)
    bag.write_batch('/joint_states', stamps, {'position': positions})


def _write_wrenches(
    bag: BagWriter, topics: str, given: Iterable[Wrenches], frame: str = ''
) -> None:
    """Each on the topic with its name, in a frame, or in the one of its name."""
    for wrenches in given:
        topic = topics.format(wrenches.name)
        bag.add_topic(topic, _WRENCH, {'header.frame_id': frame or wrenches.name})
        bag.write_batch(topic, wrenches.stamps, {'wrench': wrenches.values})


def _urdf_text(recording: Recording) -> str:
    """The model as URDF; it says nothing about limits of the joints."""
    parts = [*map(_link, recording.links), *map(_joint, recording.joints)]
    return f'<robot name="{escape(recording.name)}">\n{"".join(parts)}</robot>\n'


def _robot_text(
    recording: Recording,
    forces: tuple[Wrenches, ...],
    units: tuple[Wrenches, ...],
    source: str,
) -> str:
    rate = NANOSECONDS / float(np.median(np.diff(recording.stamps)))
    gravity = recording.gravity
    lines = [
        f'# Made by izmp import of {source}. SI units, z up; time 0 of the files is 1 s.',
        *(f'# * {remark}' for remark in recording.remarks),
        'urdf: robot.urdf',
        f'root: {recording.links[0].name}',
        *([f'gravity: {gravity:g}'] if abs(gravity - GRAVITY) > 1e-4 else []),
        'imu: {from_position: true}  # there is none; it is derived from the pose',
        f'position: {{topic: {_pose_topic(recording)[1:]}}}',
        'ground: {source: frame, frame: ground, topic: derived/ground}  # the floor of the world',
        f'rates: {{bus: {rate:.6g}}}  # [Hz]',
        f'acd: {{acceleration_limit: {_acceleration_limit(recording):.0f}}}  # [rad/s², m/s²]',
        *(['segments:  # not known: how they are mounted (izmp calibrate)'] if units else []),
        *(f'  {unit.name}: {{topic: {unit.name}/imu, frame: {unit.name}}}' for unit in units),
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
        topic = FOOT_TOPIC.format(foot.link)[1:]
        yield f'    wrench: {{topic: {topic}, frame: {foot.link}}}'


def _pose_topic(recording: Recording) -> str:
    return f'/{recording.links[0].name}/pose'


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
