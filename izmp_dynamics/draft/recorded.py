"""The sensors in a recording: their topics, and what they say in its first minute."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.messages import (
    ImuBatch,
    JointStateBatch,
    PoseBatch,
    Stamped,
    WrenchBatch,
    imu_batch,
    joint_state_batch,
    pose_batch,
    wrench_batch,
)
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.model.signals import IMU, JOINT_STATE, POSES, POSITIONS, WRENCH
from izmp_dynamics.recording.survey import has_rotation

LENGTH = 60.0
"""Part of the recording that is looked at, from its first message on [s]."""

LARGEST = 1e9
"""A number that is larger is none of a sensor, in any unit."""

TEXT = 'std_msgs/msg/String'

Kind = TypeVar('Kind', bound=Stamped)


@dataclass(frozen=True)
class Recorded:
    """The sensors in a recording, by topic; their messages of the first `LENGTH` seconds.

    Attributes:
        joints: joint states.
        imus: IMUs.
        wrenches: force sensors.
        poses: what may be the pose or the position of the root; without an IMU only poses.
        late: topics of such types that begin after that minute.
        description: the URDF that robot_state_publisher published; None where it was not recorded.
    """

    joints: Mapping[str, JointStateBatch]
    imus: Mapping[str, ImuBatch]
    wrenches: Mapping[str, WrenchBatch]
    poses: Mapping[str, PoseBatch]
    late: tuple[str, ...] = ()
    description: str | None = None


def read_recorded(path: str | PathLike[str]) -> Recorded:
    """Read the sensors of a recording.

    Args:
        path: rosbag2, folder or file.

    Raises:
        BagError: if it cannot be read.
        ReplayError: if it has no joint states, or neither an IMU nor a pose.
    """
    with BagReader(path) as bag:
        types = {name: topic.msgtype for name, topic in bag.topics.items() if topic.count}
        readable = {JOINT_STATE, IMU, WRENCH, *POSITIONS}
        wanted = [name for name, msgtype in types.items() if msgtype in readable]
        begin = next(iter(bag.batches(wanted, LENGTH)), None) if wanted else None
        raws = begin.topics if begin is not None else {}

        def read(read_batch: Callable[[RawMessages], Kind], *of: str) -> dict[str, Kind]:
            batches = {
                name: _credible(read_batch(raws[name])) for name in raws if types[name] in of
            }
            return {name: batch for name, batch in batches.items() if len(batch)}

        found = Recorded(
            read(joint_state_batch, JOINT_STATE),
            read(imu_batch, IMU),
            read(wrench_batch, WRENCH),
            read(pose_batch, *POSITIONS),
            tuple(name for name in wanted if not len(raws[name])) if raws else (),
            _description(bag, types),
        )
    if not found.imus:
        posed = {name: pose for name, pose in found.poses.items() if has_rotation(pose)}
        found = dataclasses.replace(found, poses=posed)
    either = f'{IMU}, nor of a pose ({", ".join(POSES)}),'
    for batches, msgtype in ((found.joints, JOINT_STATE), (found.imus or found.poses, either)):
        if not batches:
            there = ', '.join(f'{name} ({msgtype})' for name, msgtype in types.items())
            raise ReplayError(
                f"'{path}' has no readable messages of the type {msgtype} in its first "
                f'{LENGTH:.0f} s, with which a draft begins. There are: {there or "none at all"}.',
                kind='not_in_bag', path=path, msgtype=msgtype,
            )  # fmt: skip
    return found


def _credible(batch: Any) -> Any:
    """A batch with NaN in place of numbers that no sensor reads."""
    arrays = {
        name: np.where(np.abs(value) < LARGEST, value, np.nan)
        for name, value in vars(batch).items()
        if isinstance(value, np.ndarray) and value.dtype == np.float64
    }
    return dataclasses.replace(batch, **arrays)


def _description(bag: BagReader, types: Mapping[str, str]) -> str | None:
    """The first robot_description in a bag."""
    for topic, msgtype in types.items():
        if msgtype == TEXT and topic.endswith('/robot_description'):
            message = next(iter(bag.messages([topic])), None)
            if message is not None:
                texts = bag.decoder(topic).decode([message.raw]).texts('data')
                return texts[0] if len(texts) else None  # none of a damaged message
    return None
