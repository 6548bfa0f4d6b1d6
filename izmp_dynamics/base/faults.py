"""Why a sample or an instant was not used: values to count and compare, with their text beside.

A `Fault` is a reason and, where it concerns a part of the message, that part (a joint). Counters
of faults are kept by signal; their keys are the same in report.json and in /diagnostics. The
sentence is made where a person reads it.
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class Reason(Enum):
    """Why something was not used; the value is its key in files and diagnostics."""

    UNREADABLE = 'unreadable'
    NO_ORIENTATION = 'no_orientation'
    STAMP_UNSET = 'stamp_unset'
    STAMP_FAR = 'stamp_far'
    STAMP_TWICE = 'stamp_twice'
    STAMP_BACKWARDS = 'stamp_backwards'
    STAMP_AHEAD = 'stamp_ahead'
    STAMP_HELD_UP = 'stamp_held_up'
    STAMP_TOO_CLOSE = 'stamp_too_close'
    STAMP_RESTORED = 'stamp_restored'
    CLOCK_SET_BACK = 'clock_set_back'
    TIME_REPEATED = 'time_repeated'
    NOT_FINITE = 'not_finite'
    TOO_LARGE = 'too_large'
    NO_ROTATION = 'no_rotation'
    JOINT_APPEARED = 'joint_appeared'
    JOINT_REPAIRED = 'joint_repaired'
    JOINT_FAULTY = 'joint_faulty'
    NO_JOINT = 'no_joint'
    REPEATED = 'repeated'
    HANGS = 'hangs'
    NO_SAMPLE = 'no_sample'
    INTERPOLATED = 'interpolated'
    NO_GROUND = 'no_ground'
    IMU_CONTRADICTS = 'imu_contradicts_joints'
    NO_FRAME = 'no_frame'
    IN_FLIGHT = 'in_flight'
    LOST = 'lost'
    RAISED = 'raised'
    SKIPPED = 'skipped'

    @property
    def text(self) -> str:
        """The reason in words."""
        return _TEXTS[self]

    @property
    def per_instant(self) -> bool:
        """Whether it counts evaluated instants, not messages."""
        return self in _PER_INSTANT

    @property
    def leaves_out(self) -> bool:
        """Whether it counts samples that were not used: no repaired ones, nor missing ones."""
        return self not in _REPAIRED and (not self.per_instant or self is Reason.HANGS)


_PER_INSTANT = (
    Reason.TIME_REPEATED,
    Reason.HANGS,
    Reason.NO_SAMPLE,
    Reason.INTERPOLATED,
    Reason.NO_GROUND,
    Reason.IMU_CONTRADICTS,
    Reason.NO_FRAME,
    Reason.IN_FLIGHT,
)
_REPAIRED = (Reason.STAMP_RESTORED, Reason.JOINT_REPAIRED)
_TEXTS = {
    Reason.UNREADABLE: 'message cannot be read',
    Reason.NO_ORIENTATION: 'no orientation to add gravity back',
    Reason.STAMP_UNSET: 'stamp is zero or negative',
    Reason.STAMP_FAR: 'stamp is far from those of its neighbours',
    Reason.STAMP_TWICE: 'stamp occurs twice',
    Reason.STAMP_BACKWARDS: 'stamp is older than the sample before',
    Reason.STAMP_AHEAD: 'stamp is newer than the sample after',
    Reason.STAMP_HELD_UP: 'stamp is late: the next sample follows at once',
    Reason.STAMP_TOO_CLOSE: 'stamp is too close to its neighbour',
    Reason.STAMP_RESTORED: 'stamp came in a burst, put back onto the clock of its publisher',
    Reason.CLOCK_SET_BACK: 'clock was set back',
    Reason.TIME_REPEATED: 'the instant is not later than those before, as the clock was set back',
    Reason.NOT_FINITE: 'value is not finite',
    Reason.TOO_LARGE: 'value is larger than any such sensor can read',
    Reason.NO_ROTATION: 'orientation is no unit quaternion',
    Reason.JOINT_APPEARED: 'absent at the beginning, taken to be at zero throughout',
    Reason.JOINT_REPAIRED: 'outlier, interpolated',
    Reason.JOINT_FAULTY: 'no trustworthy value at this instant',
    Reason.NO_JOINT: 'message has no joint of the robot',
    Reason.REPEATED: 'repeats the value before, so it is no new measurement',
    Reason.HANGS: 'the signal hangs: it repeats one value while the robot moves',
    Reason.NO_SAMPLE: 'no sample at this instant',
    Reason.INTERPOLATED: 'interpolated to this instant',
    Reason.NO_GROUND: 'ground not known at this instant',
    Reason.IMU_CONTRADICTS: 'the IMU contradicts the joints, so the ground is not known',
    Reason.NO_FRAME: 'the frame is not known at this instant',
    Reason.IN_FLIGHT: 'no point, the normal force is too small (flight)',
    Reason.LOST: 'message lost, as network or computer is slow',
    Reason.RAISED: 'message caused an error, see the log',
    Reason.SKIPPED: 'message skipped, as the computer is too slow',
}


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
