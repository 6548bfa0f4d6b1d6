"""What tests read from bags: the messages of a topic, as rosbags' own reader sees them."""

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore


def messages(bag, topic):
    """All messages of a topic in their order."""
    return [message for _, message in received(bag, topic)]


def received(bag, topic):
    """Stamp of reception [ns] and message of each message of a topic."""
    return received_by_topic(bag, [topic]).get(topic, [])


def received_by_topic(bag, topics=()):
    """Topic → the same, of these topics or of all."""
    found = {}
    with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
        connections = [c for c in reader.connections if not topics or c.topic in topics]
        for connection, stamp, raw in reader.messages(connections) if connections else ():
            message = reader.deserialize(raw, connection.msgtype)
            found.setdefault(connection.topic, []).append((stamp, message))
    return found


def xyz(vector):
    return [vector.x, vector.y, vector.z]


def stamps(found):
    """(T,) header stamps [ns]."""
    return np.array([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in found])


def points(bag, topic):
    """Stamps (T,) [ns] and points (T, 3) of a topic with PointStamped."""
    found = messages(bag, topic)
    return stamps(found), np.array([xyz(m.point) for m in found])


def wrenches(bag, topic):
    """Stamps (T,) [ns] and wrenches (T, 6) of a topic with WrenchStamped."""
    found = messages(bag, topic)
    values = [xyz(m.wrench.force) + xyz(m.wrench.torque) for m in found]
    return stamps(found), np.array(values)
