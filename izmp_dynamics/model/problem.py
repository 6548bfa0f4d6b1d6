"""A finding about a robot's description, and the error that refuses a robot with errors."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from izmp_dynamics.base.errors import ModelError

MOST_LISTED = 20
"""Problems that one message lists; the rest are counted."""


@dataclass(frozen=True)
class Problem:
    """One finding.

    Attributes:
        severity: 'error' makes the model unusable, 'warning' does not.
        kind: identifies the finding, e.g. 'negative_mass'; programs may rely on it.
        where: the link or joint with its line.
        message: what is wrong and what would be right.
    """

    severity: Literal['error', 'warning']
    kind: str
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
        ModelError: the message lists the errors; `data['problems']` are all of them.
    """
    errors = tuple(problem for problem in problems if problem.severity == 'error')
    if not errors:
        return
    listed = [str(problem) for problem in errors[:MOST_LISTED]]
    if len(errors) > MOST_LISTED:
        listed.append(f'… and {len(errors) - MOST_LISTED} more.')
    message = '\n  '.join([f'{name} cannot be used:', *listed])
    raise ModelError(message, kind='invalid_model', problems=errors)
