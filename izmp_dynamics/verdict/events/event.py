"""An event: when, what, how large, how sure."""

from dataclasses import dataclass

from izmp_dynamics.verdict.formatting import instant

KINDS = {
    'excursion': 'the averaged IZMP left the support polygon',
    'push': 'a force from outside acted on the robot',
    'slip': 'a sole that carried load slid',
    'touchdown': 'a foot began to carry load',
    'lift-off': 'a foot ceased to carry load',
    'flight': 'no foot carried load',
    'fall': 'the robot fell',
    'point of no return': 'the centre of mass left the support polygon for good',
    'fall alarm': 'the fall alarm was raised',
    'impact': 'the body hit the ground',
    'sensor fault': 'a signal could not be used, or was wrong',
    'lowest margin': 'the averaged IZMP was nearest to the edge',
}
"""Kind of an event → what it means."""

STEPS = ('touchdown', 'lift-off')
"""Kinds of which a walk has so many that a list of the rest is easier to read."""

NONE = float('nan')
"""Size or significance of an event that has none."""


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        begin: [s] after the first instant.
        end: [s]; the same for an instant.
        kind: a key of `KINDS`.
        sentence: what happened, without the time.
        subject: the foot, topic or track that it is about; '' for the robot.
        size: how large, in `unit`; NaN where there is no such number.
        unit: 'm', 'N', 's', 'm/s' or '' (a probability).
        significance: how far it stands out, in standard deviations of what is no event; NaN
            where nothing is compared.
    """

    begin: float
    end: float
    kind: str
    sentence: str
    subject: str = ''
    size: float = NONE
    unit: str = ''
    significance: float = NONE

    @property
    def line(self) -> str:
        """The time and what happened."""
        return f'{instant(self.begin)}: {self.sentence}'
