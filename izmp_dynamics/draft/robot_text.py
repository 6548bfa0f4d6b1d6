"""A robot file to begin with: which topics and links are what, each with the reason."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import yaml

from izmp_dynamics.bags.messages import ImuBatch, JointStateBatch, PoseBatch
from izmp_dynamics.base.conventions import GRAVITY, NANOSECONDS, Array
from izmp_dynamics.base.errors import ReplayError, SensingError
from izmp_dynamics.draft.feet import DraftedFoot, Outline, Posture, find_feet, finite_mean
from izmp_dynamics.draft.links import heaviest_link, link_of, matching
from izmp_dynamics.draft.recorded import Recorded
from izmp_dynamics.model.body_layout import DRIVER, MASS, PARENT
from izmp_dynamics.model.robot_model import RobotModel, load_model
from izmp_dynamics.model.settings import stated
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.recording.survey import beyond_limits
from izmp_dynamics.sensing.accelerometer_array import check_layout
from izmp_dynamics.signals.imu import rotations

CHECK = 'CHECK'
"""Marks what was guessed."""

IN_PLANE = 0.005
"""How far a sole may lie off the origin of its link [m]."""

LIGHT = 0.1
"""Part of the mass of the robot up to which a body is light."""

BUS_RATE = 125.0
"""The default of rates.bus [Hz]."""

UPRIGHT = 45.0
"""Angle from which on the root does not stand upright [°]."""

UNIT_G = 3.0
"""An accelerometer that reads less than this on average may read in units of g [m/s²]."""

NO_GRAVITY = 0.5
"""An accelerometer that reads less than this on average does not feel gravity [m/s²]."""

_MOST_LISTED = 8

T = TypeVar('T')


class Draft:
    """A robot file as text.

    Args:
        recorded: what the recording has.
        urdf: of the robot.

    Attributes:
        lines: of the file, without its head.
        guesses: what should be looked at, sentences.

    Raises:
        ReplayError: no joint states name joints of the robot.
        ModelError: the URDF cannot be used.
    """

    def __init__(self, recorded: Recorded, urdf: Urdf) -> None:
        self.recorded, self.urdf = recorded, urdf
        self.lines: list[str] = []
        self.guesses: list[str] = []
        model = load_model(urdf)
        self.joints_topic, self.joints = _best_joints(recorded.joints, model)
        poses = recorded.poses
        best = _best_imu(recorded.imus, model) if recorded.imus else _best_pose(poses, model)
        self.imu_topic, self.imu_link, doubt = best
        self.imu = recorded.imus.get(self.imu_topic)
        self.specific_force = (
            _felt_at_rest(poses[self.imu_topic])
            if self.imu is None
            else finite_mean(self.imu.linear_acceleration)
        )
        self.model = load_model(urdf, heaviest_link(model, self.imu_link))
        self.posture = self._posture()
        self._doubt_urdf()
        self._add(
            f'root: {_flow(self.model.root)}',
            'carries the IMU, or the pose in its place',
            self._leans(),
        )
        self.lines.append('')
        self._add_joints()
        self._add_imu(doubt)
        self._add_accelerometers()
        self._add_position()
        self._add_feet()
        self._add_rate()
        if recorded.late:
            self._add('', guess=f'left out, as they begin late: {_listed(recorded.late)}.')
        if recorded.truth:
            self._add(
                '',
                'left out, by their names truth of a simulation: '
                f'{_listed(recorded.truth)}. If a pose is measured, state position: {{topic: …}}.',
            )

    def text(self, bag: str, urdf: str) -> str:
        """The file.

        Args:
            bag: what it was drafted from.
            urdf: path of the URDF, as the file is to state it.
        """
        head = [
            f'# {_line(self.model.name)}: drafted by izmp draft from {_line(bag)}.',
            f'# What is marked {CHECK} was guessed. The documented example of izmp_dynamics, '
            'config/robot_example.yaml,',
            '# explains every key.',
            f'urdf: {_flow(urdf)}',
        ]
        return '\n'.join([*head, *self.lines, ''])

    def _add(self, line: str, why: str = '', guess: str = '') -> None:
        if guess:
            self.guesses.append(guess)
            why = f'{CHECK}: {guess}'
        comment = f'# {_line(why)}' if why else ''
        self.lines.append(f'{line}    {comment}' if line and comment else line or comment)

    def _doubt_urdf(self) -> None:
        """Ask whose URDF it is if it knows few of the recorded joints, and no frame of an IMU."""
        known = {segment.joint for segment in self.model.tree.segments}
        unknown = [name for name in self.joints.names if name not in known]
        imus = self.recorded.imus.values()
        at_home = any(link_of(imu, self.model.frame_names) is not None for imu in imus)
        if imus and not at_home and 2 * len(unknown) > len(self.joints.names):
            self._add(
                '',
                guess=f'{len(unknown)} of the {len(self.joints.names)} joints on '
                f"'{self.joints_topic}' are not in the URDF ({_listed(unknown)}), nor is the "
                'frame of an IMU. Is this the URDF of the recorded robot?',
            )

    def _add_joints(self) -> None:
        moving = self.model.joint_names
        absent = [name for name in moving if name not in self.joints.names]
        why = f'{len(moving) - len(absent)} of the {len(moving)} joints'
        if absent:
            why += f'; at zero for want of a publisher: {_listed(absent)}'
        joints = self._mapping(self.joints_topic, 'joints') | {'topic': _bare(self.joints_topic)}
        published = np.isin(moving, self.joints.names)
        beyond, why_beyond = beyond_limits(self.model, np.where(published, self.posture.q, np.nan))
        guess = f'{beyond} {why_beyond} What follows of the feet is wrong then.' if beyond else ''
        self._add(f'joints: {_flow(joints)}', why, guess)

    def _mapping(self, topic: str, key: str) -> dict[str, Any]:
        """What the robot file states of the fields of a maker's messages; nothing of others."""
        file = self.recorded.mapped.get(topic)
        return {} if file is None else stated(getattr(file, key))

    def _add_imu(self, doubt: str) -> None:
        if self.imu is None:
            guess = (
                'no IMU is recorded, so its signals are derived from the pose on '
                f'{self.imu_topic}, which must be measured: its noise is differentiated twice.'
            )
            self._add('imu: {from_position: true}', guess=guess)
            return
        imu = self._mapping(self.imu_topic, 'imu')
        imu |= {'topic': _bare(self.imu_topic), 'frame': self.imu_link}
        guesses = [doubt] if doubt else []
        read = np.linalg.norm(self.specific_force)
        if read < NO_GRAVITY:
            imu['gravity_removed'] = True
            guesses.append(
                f'{self.imu_topic} reads {read:.2f} m/s² on average, so its driver seems to '
                'subtract gravity.'
            )
        elif read < UNIT_G:
            guesses.append(f'{self.imu_topic} reads {read:.2f} m/s² on average: is its unit g?')
        others = [topic for topic in self.recorded.imus if topic != self.imu_topic]
        why = f'others: {_listed(others)}' if others else ''
        self._add(f'imu: {_flow(imu)}', why, ' '.join([*guesses, why]) if guesses else '')

    def _leans(self) -> str:
        """What is odd where the accelerometer says that the robot does not stand; else empty."""
        angle = np.degrees(np.arccos(np.clip(self.posture.up[2], -1.0, 1.0)))
        if angle < UPRIGHT:
            return ''
        return (
            f"by {self.imu_topic} the z axis of '{self.model.root}' is {angle:.0f}° off the "
            f"vertical. If the robot stands, '{self.imu_link}' has not the axes of the IMU."
        )

    def _add_accelerometers(self) -> None:
        """Add the other IMUs on the root, if together they measure its angular acceleration."""
        if self.imu is None:
            return
        sensors = {self.imu_link: self.imu_topic}
        for topic, imu in self.recorded.imus.items():
            link = link_of(imu, self.model.frame_names)
            if link is not None and self.model.mounted_on_root(link):
                sensors.setdefault(link, topic)
        places = [self.model.mount(link).p_frame_in_body for link in sensors]
        axes = np.tile(np.eye(3), (len(places), 1))
        try:
            check_layout(list(sensors.values()), np.repeat(places, 3, axis=0), axes)
        except SensingError:
            return
        self.lines.append('accelerometers:')
        for link, topic in sensors.items():
            if link != self.imu_link:
                self._add(f'  - {_flow({"topic": _bare(topic), "frame": link})}')

    def _add_position(self) -> None:
        """Add the pose of the root in the world, if it is clear which one it is."""
        root = list(filter(self.model.mounted_on_root, self.model.frame_names))
        poses = self.recorded.poses
        named = [topic for topic, pose in poses.items() if set(root) & set(pose.child_frame_ids)]
        topics = [self.imu_topic] if self.imu is None else named or list(poses)
        if len(topics) > 1:
            self._add('#position: {topic: …}', f'for IR-MD: perhaps {" or ".join(topics)}')
        if len(topics) != 1:
            return
        position, guess = {'topic': _bare(topics[0])}, ''
        if topics[0] not in named:
            position['frame'] = matching(topics[0], root) or self.model.root
            guess = f"{topics[0]} is taken for the pose of '{position['frame']}' in the world."
        others = [topic for topic in poses if topic != topics[0]]
        if self.imu is None and others:
            guess += f' Others: {_listed(others)}.'
        self._add(f'position: {_flow(position)}', 'for IR-MD', guess.strip())

    def _add_feet(self) -> None:
        wrenches = self.recorded.wrenches
        feet = find_feet(self.posture, self.urdf, wrenches)
        if not feet:
            self._add('', guess='the URDF has no legs; without feet there is no margin.')
            return
        self.lines += ['', 'feet:']
        for foot in feet:
            self._add_foot(foot)
        used = {foot.sensor.topic for foot in feet if foot.sensor is not None}
        if free := sorted(set(wrenches) - used):
            self._add('', guess=f'no foot takes the force sensors {_listed(free)}.')
        if not all(foot.sensor for foot in feet):
            for arrays in self.recorded.arrays:
                self._add('', f'perhaps the force or contact of feet: {arrays}')
        self._doubt_feet(feet)
        points = [foot.outline for foot in feet if foot.outline.is_point]
        if len(points) == len(feet) and not all(outline.ball for outline in points):
            guess = '' if self.imu is None or self.imu.has_orientation.any() else (
                'the feet are points, so the ground must be known from gravity, but the messages '
                f'on {self.imu_topic} have no orientation. Let its driver publish one.'
            )  # fmt: skip
            self.lines.append('')
            self._add('ground: {source: gravity}', 'feet that are points', guess)

    def _doubt_feet(self, feet: Sequence[DraftedFoot]) -> None:
        """Say what is odd about the feet together."""
        if len(feet) == 1:
            self._add('', guess='only one foot was found.')
        high = [foot.sole.link for foot in feet if foot.sole.height > 0.0]
        if high:
            self._add('', guess=f"above '{self.model.root}': {_listed(high)}. Are these feet?")
        legs = {body for foot in feet for body in self.model.chain(foot.sole.link)}
        joints = {self.model.joint_names[int(self.model.joints[body, DRIVER])] for body in legs}
        if absent := sorted(joints - set(self.joints.names)):
            self._add('', guess=f'joints of legs that nothing publishes: {_listed(absent)}.')

    def _posture(self) -> Posture:
        """Median joint positions, zero of joints that are not recorded, and what the IMU feels."""
        known = dict(zip(self.joints.names, self.joints.positions.T, strict=True))
        positions = [known.get(name, np.zeros(0)) for name in self.model.joint_names]
        finite = [column[np.isfinite(column)] for column in positions]
        q = np.array([np.median(column) if len(column) else 0.0 for column in finite])
        up: Array = np.array([0.0, 0.0, 1.0])
        if np.linalg.norm(self.specific_force) >= NO_GRAVITY:
            R, _ = self.model.frame_pose(self.imu_link, q)
            up = R @ self.specific_force / np.linalg.norm(self.specific_force)
        return Posture(self.model, q, up)

    def _add_foot(self, foot: DraftedFoot) -> None:
        sole, outline = foot.sole.link, foot.outline
        self.lines.append(f'  - name: {_flow(sole)}')
        place: dict[str, Any] = {'link': sole, 'xyz': [0.0, 0.0, round(outline.z, 3)]}
        if outline.ball is not None and any(outline.ball[:3]):
            place['xyz'] = list(outline.ball[:3])
            self._add(f'    sole: {_flow(place)}', f'[m], {outline.origin}', _doubt(foot))
        elif foot.sole.is_upright and not outline.is_point and abs(outline.z) > IN_PLANE:
            self._add(f'    sole: {_flow(place)}', f'[m], {outline.origin}', _doubt(foot))
        else:
            self._add(f'    sole: {_flow(sole)}', '', _doubt(foot))
        if outline.ball is not None:
            self._add(f'    radius: {outline.ball[-1]:g}', f'[m], {outline.origin}')
        else:
            self._add_polygon(sole, outline, foot.is_known)
        self._add_wrench(foot)

    def _add_polygon(self, sole: str, outline: Outline, is_known: bool) -> None:
        known = outline.origin or (
            'not known: the URDF has no shapes of that link, or the files of its meshes are not '
            'there'
        )
        guess = '' if is_known else (
            f"the polygon of '{sole}' is {known}. Measure its corners, and whether the origin of "
            'the link lies in the plane of the sole.'
        )  # fmt: skip
        corners = (outline.corners.round(3) + 0.0).tolist()  # no −0.0
        self._add(f'    polygon: {_flow(corners)}', f'[m], {outline.origin}', guess)

    def _add_wrench(self, foot: DraftedFoot) -> None:
        sensor = foot.sensor
        if sensor is None:
            self._add_scalar(foot.sole.link)
            return
        wrench: dict[str, Any] = {'topic': _bare(sensor.topic), 'frame': sensor.link}
        guesses = []
        if not sensor.is_named:
            frames = self.recorded.wrenches[sensor.topic].frame_ids
            guesses.append(_no_link(sensor.topic, frames, sensor.link))
        if sensor.upward < 0.0:
            wrench['sign'] = -1
        if sensor.is_normal_only:
            wrench['normal_only'] = True
        if foot.below is not None:
            wrench['below'] = foot.below
            guesses.append(
                f"'{foot.below}' is taken to be below the force sensor, which then does not feel "
                'its weight.'
            )
        self._add(f'    wrench: {_flow(wrench)}', '', ' '.join(guesses))

    def _add_scalar(self, sole: str) -> None:
        """Add what a maker's messages say of the load of a foot."""
        file = self.recorded.mapped.get(self.joints_topic)
        for foot in () if file is None else file.feet:
            for key in foot.sensors if foot.sole == sole else ():
                scalar = stated(getattr(foot, key)) | {'topic': _bare(self.joints_topic)}
                guess = (
                    'loaded_above is what others use: look at the counts of your feet in the air.'
                )
                self._add(f'    {key}: {_flow(scalar)}', '', guess)

    def _add_rate(self) -> None:
        steps = np.diff(np.unique(self.joints.stamps))
        rate = NANOSECONDS / float(np.median(steps)) if len(steps) else np.inf
        if rate < BUS_RATE:
            self.lines.append('')
            self._add(
                f'rates: {{bus: {max(np.floor(rate), 1.0):.1f}}}', '[Hz], that of the joints'
            )


def _best_joints(
    batches: Mapping[str, JointStateBatch], model: RobotModel
) -> tuple[str, JointStateBatch]:
    """The topic that has most joints of the robot, then the most messages."""
    known = set(model.joint_names)
    topic, batch = max(
        batches.items(), key=lambda item: (len(known & set(item[1].names)), len(item[1]))
    )
    if not known & set(batch.names):
        raise ReplayError(
            f"No joint states name joints of the URDF: on '{topic}' are "
            f'{_listed(batch.names)}; the URDF has {_listed(model.joint_names)}. '
            'Is it the URDF of this robot?',
            kind='no_joints', topic=topic,
        )  # fmt: skip
    return topic, batch


def _best_imu(batches: Mapping[str, ImuBatch], model: RobotModel) -> tuple[str, str, str]:
    """The IMU on the root of the URDF, else on the heaviest body: topic, link, what is in doubt.

    The root does not count where only one joint begins at it: that may be a foot. An IMU without
    a gyroscope comes last, and one on a light body, such as a foot, after those that name no link.
    """
    links = {topic: link_of(imu, model.frame_names) for topic, imu in batches.items()}
    named = {topic: link for topic, link in links.items() if link is not None}
    branches = int(np.count_nonzero(model.joints[1:, PARENT] == 0))

    def mass(link: str) -> float:
        return float(model.bodies[model.mount(link).body, MASS])

    def rank(topic: str) -> tuple[bool, bool, float, int]:
        link, imu = named[topic], batches[topic]
        is_root = model.mounted_on_root(link) and branches > 1
        turns = bool(np.nan_to_num(imu.angular_velocity).any())
        return turns, is_root, mass(link), len(imu)

    heavy = [topic for topic, link in named.items() if mass(link) > LIGHT * model.total_mass]
    if heavy:
        topic = max(heavy, key=rank)
        return topic, named[topic], ''
    unnamed = [topic for topic in batches if topic not in named]
    if unnamed:
        topic = max(unnamed, key=lambda name: ('camera' not in name, len(batches[name])))
        alike = [link for link in model.frame_names if 'imu' in link.lower()]
        alike = [link for link in alike if mass(link) > LIGHT * model.total_mass]
        link = alike[0] if len(alike) == 1 else heaviest_link(model, model.root)
        return topic, link, _no_link(topic, batches[topic].frame_ids, link)
    topic = max(named, key=rank)
    doubt = f"'{named[topic]}' sits on a light part of the robot. The IMU of the body is better."
    return topic, named[topic], doubt


def _best_pose(poses: Mapping[str, PoseBatch], model: RobotModel) -> tuple[str, str, str]:
    """The pose of a link of the URDF, else the one with most messages: topic, link, no doubt."""
    links = {
        topic: next((link for link in pose.child_frame_ids if link in model.frame_names), None)
        for topic, pose in poses.items()
    }
    topic = max(poses, key=lambda topic: (links[topic] is not None, len(poses[topic])))
    return topic, links[topic] or model.root, ''


def _felt_at_rest(pose: PoseBatch) -> Array:
    """(3,) mean specific force in the axes of a pose, the world's z axis pointing up [m/s²]."""
    assert pose.orientations is not None
    return GRAVITY * finite_mean(rotations(pose.orientations)[0][:, 2])


def _doubt(foot: DraftedFoot) -> str:
    """What is wrong with the link of a sole; empty if nothing is."""
    link = foot.sole.link
    if 'wheel' in link.lower():
        return f"'{link}' seems to be a wheel, which is not a foot."
    if foot.sole.toe is not None:
        return f"'{foot.sole.toe}' moves against '{link}', so it is not part of the sole here."
    if foot.outline.is_point:
        return ''
    if not foot.sole.is_upright:
        return (
            f"the z axis of '{link}' does not point up, so it cannot be the frame of a sole. "
            'Place one on it, in the plane of the sole, z up: sole: {link: …, xyz: …, rpy: …}.'
        )
    return ''


def _no_link(topic: str, frames: Sequence[str], guess: str) -> str:
    named = f"the frame '{', '.join(frames)}', not a link of the URDF" if frames else 'no frame'
    return (
        f'the messages on {topic} name {named}. '
        f"'{guess}' is a guess: state the link whose axes it measures in."
    )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    some = ', '.join(names[:_MOST_LISTED]) or 'none'
    return f'{some} and {more} more' if more > 0 else some


def _bare(topic: str) -> str:
    return topic.removeprefix('/')


def _flow(value: Any) -> str:
    """As YAML in one line."""
    text: str = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6
    )
    return text.removesuffix('...\n').strip()


def _line(text: str) -> str:
    """In one line, without what could end a comment."""
    return ' '.join(part for part in text.split() if part.isprintable())
