"""A finding about a robot's description, and the error that the grave ones end in."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from izmp_dynamics.errors import ModelError

MOST_LISTED = 20
"""Problems that one message lists; of the rest it says how many there are."""


@dataclass(frozen=True)
class Problem:
    """One finding.

    Attributes:
        severity: 'error' makes the model unusable, 'warning' does not.
        where: the link or joint with its line.
        message: what is wrong and what would be right.
    """

    severity: Literal['error', 'warning']
    where: str
    message: str

    def __str__(self) -> str:
        return f'{self.where}: {self.message}' if self.where else self.message


def refuse_errors(problems: Iterable[Problem], name: str) -> None:
    """Raise if there are errors among the problems.

    Args:
        problems: errors and warnings.
        name: what they are about, as it begins the message, e.g. "'robot.urdf'".

    Raises:
        ModelError: the message lists the errors.
    """
    errors = [str(problem) for problem in problems if problem.severity == 'error']
    if not errors:
        return
    listed = errors[:MOST_LISTED]
    if len(errors) > MOST_LISTED:
        listed.append(f'… and {len(errors) - MOST_LISTED} more.')
    raise ModelError('\n  '.join([f'{name} cannot be used:', *listed]))
