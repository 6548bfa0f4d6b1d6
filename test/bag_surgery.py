"""Recordings with something wrong in them: a sound one is read, changed and written again.

Usage::

    draft = Draft.of_bag(bag, topics, start=1.0, stop=3.0)
    draft['/imu']['linear_acceleration'][100] = np.nan
    draft.drop('/gps')
    draft.write(folder / 'bag')
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.signal

from izmp_dynamics.bags.cdr_layout import CdrLayout, serialized
from izmp_dynamics.bags.reader import BagReader

from .sample_bags import TYPES, write_bag

SECOND = 10**9  # [ns]

JOINTS, IMU, GPS = '/joint_states', '/imu', '/gps'
ARRAY = tuple(f'/accelerometers/accelerometer_{k}' for k in (1, 2, 3))
LEFT, RIGHT = '/l_foot/wrench', '/r_foot/wrench'
TOPICS = (JOINTS, IMU, GPS, *ARRAY, LEFT, RIGHT)


@dataclass
class Part:
    """Messages of one topic that differ only in their numbers.

    Attributes:
        topic: its name.
        msgtype: ROS type.
        like: what all messages have in common, as `serialized` takes it.
        received: (T,) receive stamps [ns].
        values: path → (T, …) numbers; 'header.stamp' [ns].
    """

    topic: str
    msgtype: str
    like: dict[str, Any]
    received: np.ndarray
    values: dict[str, np.ndarray]

    def __len__(self):
        return len(self.received)

    def __getitem__(self, path):
        return self.values[path]

    def __setitem__(self, path, values):
        self.values[path] = values

    @property
    def stamps(self):
        """(T,) stamps in the headers [ns]."""
        return self.values['header.stamp']

    @property
    def times(self):
        """(T,) receive times since the first one [s]."""
        return (self.received - self.received[0]) / SECOND

    def rows(self, rows):
        """A copy of some of the messages."""
        values = {path: value[rows].copy() for path, value in self.values.items()}
        return Part(self.topic, self.msgtype, dict(self.like), self.received[rows].copy(), values)

    def between(self, start, stop):
        """Mask of the messages from `start` to `stop` [s]."""
        return (self.times >= start) & (self.times < stop)

    def later(self, seconds):
        """A copy in which everything has happened later."""
        moved = self.rows(slice(None))
        moved.received += round(seconds * SECOND)
        moved.values['header.stamp'] += round(seconds * SECOND)
        return moved

    def raws(self):
        """The serialized messages."""
        raw = serialized(TYPES, self.msgtype, self.like)
        layout = CdrLayout(TYPES, self.msgtype, raw)
        return [row.tobytes() for row in layout.encode_rows(len(self), self.values)]


class Draft:
    """A recording that can be changed.

    Attributes:
        parts: the messages; several parts may have one topic.
        raw_topics: further topics as (name, type, receive stamps, serialized messages).
    """

    def __init__(self, parts):
        self.parts = list(parts)
        self.raw_topics = []

    @classmethod
    def of_bag(cls, bag, topics, start, stop):
        """What was recorded from `start` to `stop` [s] on topics with one layout each."""
        with BagReader(bag) as reader:
            batch = next(reader.batches(topics, stop + 1.0))
            parts = [_part(batch[topic]) for topic in topics]
        return cls(part.rows(part.between(start, stop)) for part in parts)

    def __getitem__(self, topic):
        """The first part of a topic."""
        return next(part for part in self.parts if part.topic == topic)

    def copy(self):
        """A draft that can be changed without changing this one."""
        return copy.deepcopy(self)

    def until(self, stop):
        """A copy of what was received until then [s]."""
        return Draft(part.rows(part.between(0.0, stop)) for part in self.parts)

    def every(self, step):
        """A copy of every `step`-th message of each topic."""
        return Draft(part.rows(slice(None, None, step)) for part in self.parts)

    def drop(self, topic):
        """Leave a topic out."""
        self.parts = [part for part in self.parts if part.topic != topic]

    def keep(self, topic, rows):
        """Keep only some messages of a topic."""
        self.replace(topic, self[topic].rows(rows))

    def lose(self, topic, start, stop):
        """Lose what was received from `start` to `stop` [s]."""
        self.keep(topic, ~self[topic].between(start, stop))

    def replace(self, topic, *parts):
        """Put other messages in the place of a topic's."""
        self.drop(topic)
        self.parts.extend(parts)

    def low_passed(self, topics, seconds):
        """A copy whose wrenches have passed a first-order low-pass, as some drivers' do."""
        late = self.copy()
        for topic in topics:
            step = np.median(np.diff(late[topic].stamps)) / SECOND
            kept = np.exp(-step / seconds)
            for path in ('wrench.force', 'wrench.torque'):
                values = late[topic][path]
                late[topic][path], _ = scipy.signal.lfilter(
                    [1.0 - kept], [1.0, -kept], values, axis=0, zi=kept * values[:1]
                )
        return late

    def write(self, path, storage='mcap', **options):
        """Write the bag; return its path."""
        logs = {}
        for part in self.parts:
            stamps, raws = logs.setdefault((part.topic, part.msgtype), ([], []))
            stamps.extend(part.received.tolist())
            raws.extend(part.raws())
        topics = [(*names, *log) for names, log in logs.items()]
        at_once = storage == 'mcap' and 'mode' not in options and any(map(len, self.parts))
        return write_bag(path, topics + self.raw_topics, storage, at_once=at_once, **options)


def _part(messages):
    (group,) = messages.decode().groups
    layout = group.layout
    like = dict(layout.strings)
    like |= {path: group[path][0] for path in layout.paths if group[path].ndim > 1}
    paths = dict.fromkeys(_vector(path) for path in layout.paths if 'header' not in path)
    values = {path: group[path].copy() for path in ('header.stamp', *paths)}
    return Part(messages.topic, messages.msgtype, like, messages.received.copy(), values)


def _vector(path):
    """'angular_velocity.x' → 'angular_velocity': vectors and quaternions as a whole."""
    parent, _, last = path.rpartition('.')
    return parent if parent and last in 'xyzw' else path


# ---- Joints -------------------------------------------------------------------------------------


def with_joints(part, columns):
    """JointState messages of some joints only."""
    chosen = part.rows(slice(None))
    chosen.like['name'] = [part.like['name'][column] for column in columns]
    for path in ('position', 'velocity', 'effort'):
        width = part[path].shape[1]
        chosen[path] = part[path][:, columns] if width else part[path]
        chosen.like[path] = np.zeros(chosen[path].shape[1])
    return chosen


def without(part, *paths):
    """JointState messages without some of their arrays."""
    bare = part.rows(slice(None))
    for path in paths:
        bare[path] = np.zeros((len(part), 0))
        bare.like[path] = np.zeros(0)
    return bare


def renamed(part, name):
    """JointState messages whose joints are called by a function of their names."""
    other = part.rows(slice(None))
    other.like['name'] = [name(joint) for joint in part.like['name']]
    return other


def in_frame(part, frame):
    """Messages with another frame_id."""
    other = part.rows(slice(None))
    other.like['header.frame_id'] = frame
    return other
