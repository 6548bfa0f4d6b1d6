"""Why a sample or an instant was not used: values to count and compare, with their text beside.

A `Fault` is a reason and, where it concerns a part of the message, that part (a joint). Counters
of faults are kept by signal; their keys are the same in report.json and in /diagnostics. The
sentence is made where a person reads it.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

_LEFT_OUT, _REPAIRED, _INSTANTS, _STUCK = range(4)
"""What is counted: samples that were left out, repaired ones, evaluated instants without a value,
instants at which a sample was there but stuck."""


class Reason(Enum):
    """Why something was not used; the value is its key in files and diagnostics.

    Attributes:
        text: the reason in words.
        per_instant: whether it counts evaluated instants, not messages.
        leaves_out: whether it counts samples that were not used: no repaired ones, nor missing
            ones.
    """

    _value_: str
    text: str
    per_instant: bool
    leaves_out: bool

    def __new__(cls, key: str, text: str = '', counts: int = _LEFT_OUT) -> 'Reason':
        """Make a member of its key, its text and what it counts."""
        reason = object.__new__(cls)
        reason._value_, reason.text = key, text
        reason.per_instant = counts in (_INSTANTS, _STUCK)
        reason.leaves_out = counts in (_LEFT_OUT, _STUCK)
        return reason

    UNREADABLE = 'unreadable', 'message cannot be read'
    NO_ORIENTATION = 'no_orientation', 'no orientation to add gravity back'
    STAMP_UNSET = 'stamp_unset', 'stamp is zero or negative'
    STAMP_FAR = 'stamp_far', 'stamp is far from those of its neighbours'
    STAMP_TWICE = 'stamp_twice', 'stamp occurs twice'
    STAMP_BACKWARDS = 'stamp_backwards', 'stamp is older than the sample before'
    STAMP_AHEAD = 'stamp_ahead', 'stamp is newer than the sample after'
    STAMP_HELD_UP = 'stamp_held_up', 'stamp is late: the next sample follows at once'
    STAMP_TOO_CLOSE = 'stamp_too_close', 'stamp is too close to its neighbour'
    STAMP_RESTORED = (
        'stamp_restored', 'stamp came in a burst, put back onto the clock of its publisher',
        _REPAIRED,
    )  # fmt: skip
    CLOCK_SET_BACK = 'clock_set_back', 'clock was set back'
    TIME_REPEATED = (
        'time_repeated', 'the instant is not later than those before, as the clock was set back',
        _INSTANTS,
    )  # fmt: skip
    NOT_FINITE = 'not_finite', 'value is not finite'
    TOO_LARGE = 'too_large', 'value is larger than any such sensor can read'
    POSE_JUMPS = 'pose_jumps', 'the pose jumps: no robot accelerates like that'
    NO_ROTATION = 'no_rotation', 'orientation is not a unit quaternion'
    JOINT_APPEARED = 'joint_appeared', 'absent at the beginning, taken to be at zero throughout'
    JOINT_REPAIRED = 'joint_repaired', 'outlier, interpolated', _REPAIRED
    JOINT_FAULTY = 'joint_faulty', 'no trustworthy value at this instant'
    NO_JOINT = 'no_joint', 'message has no joint of the robot'
    REPEATED = 'repeated', 'repeats the value before, so it is not a new measurement'
    HANGS = 'hangs', 'the signal is stuck: it repeats one value while the robot moves', _STUCK
    NO_SAMPLE = 'no_sample', 'no sample at this instant', _INSTANTS
    INTERPOLATED = 'interpolated', 'interpolated to this instant', _INSTANTS
    NO_GROUND = 'no_ground', 'ground not known at this instant', _INSTANTS
    IMU_CONTRADICTS = (
        'imu_contradicts_joints', 'the IMU contradicts the joints, so the ground is not known',
        _INSTANTS,
    )  # fmt: skip
    TORQUES_CONTRADICT = (
        'torques_contradict',
        'the torques of the legs do not add up to the contact force, so they decide nothing',
        _INSTANTS,
    )
    NO_FRAME = 'no_frame', 'the frame is not known at this instant', _INSTANTS
    IN_FLIGHT = 'in_flight', 'no point, the normal force is too small (flight)', _INSTANTS
    LOST = 'lost', 'message lost, as network or computer is slow'
    RAISED = 'raised', 'message caused an error, see the log'
    SKIPPED = 'skipped', 'message skipped, as the computer is too slow'


class Fault(NamedTuple):
    """A reason, and the part of the message that it concerns.

    Attributes:
        reason: why.
        part: a joint, or what of the message cannot be read; empty: the whole of it.
    """

    reason: Reason
    part: str = ''

    @property
    def key(self) -> str:
        """Name in report.json and diagnostics, e.g. 'joint_repaired[l_knee]'."""
        return f'{self.reason.value}[{self.part}]' if self.part else self.reason.value

    @classmethod
    def parse(cls, key: str) -> 'Fault':
        """The fault with this key."""
        reason, _, part = key.partition('[')
        return cls(Reason(reason), part.removesuffix(']'))

    @property
    def text(self) -> str:
        """Words for a person, e.g. 'l_knee: outlier, interpolated'."""
        if self.reason is Reason.UNREADABLE and self.part:
            return f'{self.reason.text}: {self.part}'
        return f'{self.part}: {self.reason.text}' if self.part else self.reason.text


Faults = Counter[Fault]
"""Fault → number."""


def left_out(faults: Mapping[Fault, int]) -> int:
    """Number of samples that were not used; of each joint that was not, where it is one."""
    return sum(number for fault, number in faults.items() if fault.reason.leaves_out)
