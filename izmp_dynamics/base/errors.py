"""The hierarchy of errors that this package raises.

Every message states what is wrong, where, and what would be valid. The command line prints it and
exits with a non-zero status; nodes report it and keep running.
"""

import difflib
from collections.abc import Iterable

_MOST_LISTED = 20
"""Valid names that a message lists."""


class IzmpError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        message: a sentence for a person; its wording may change.
        kind: identifies what is wrong, e.g. 'cutoff_above_nyquist'; programs may rely on it.
        data: the numbers and names that the sentence is about, by name.

    Attributes:
        kind: as above; empty if the class says it all.
        data: as above.
    """

    def __init__(self, message: str = '', *, kind: str = '', **data: object) -> None:
        super().__init__(message)
        self.kind = kind
        self.data = data

    def __reduce__(self) -> tuple[object, ...]:
        """As it is in the process that raised it, whatever its class takes."""
        return _remade, (type(self), self.args), vars(self)


def _remade(kind: type[IzmpError], arguments: tuple[object, ...]) -> IzmpError:
    return kind.__new__(kind, *arguments)


class ModelError(IzmpError):
    """The robot model cannot be used (URDF, tree, inertia, frames)."""


class UnknownNameError(IzmpError):
    """A name was asked for that does not exist.

    Args:
        kind: what the name stands for, e.g. 'link'.
        name: the name that was asked for.
        valid: the names that exist.
        where: continues the name, e.g. "in robot 'r'".
        hint: a sentence that leads to the right name.

    Attributes:
        denotes: what the name stands for, e.g. 'link'.
        name: the name that was asked for.
        valid: the names that exist.
    """

    def __init__(
        self, kind: str, name: str, valid: Iterable[str], where: str = '', hint: str = ''
    ) -> None:
        self.name = name
        self.valid = tuple(valid)
        place = f' {where}' if where else ''
        choices = _choices(name, self.valid, listed=not hint)
        message = f"There is no {kind} '{name}'{place}; {choices}. {hint}"
        super().__init__(message.rstrip(), kind='unknown_name')
        self.denotes = kind


def _choices(name: str, valid: tuple[str, ...], listed: bool) -> str:
    """List the valid names; of many, those that look like the wrong one, or the first."""
    if len(valid) <= _MOST_LISTED:
        return f'valid: {", ".join(valid) or "none"}'
    begun = sorted((v for v in valid if v and name.startswith(v)), key=len)[-1:]
    near = begun or difflib.get_close_matches(name, valid, n=3, cutoff=0.5)
    if near:
        return f'did you mean {" or ".join(map(repr, near))}? ({len(valid)} are valid)'
    if not listed:
        return f'none of the {len(valid)} has a similar name'
    return f'valid: {", ".join(valid[:_MOST_LISTED])} and {len(valid) - _MOST_LISTED} more'


class RobotFileError(IzmpError):
    """The robot file (YAML) has an unknown key, a wrong type or an impossible value."""


class ShapeError(IzmpError):
    """An array does not have the shape that the function states.

    Attributes:
        name: the argument.
        expected: the shape as the documentation writes it, e.g. '(T, 31)'.
        got: the shape that came.
    """

    def __init__(self, name: str, expected: str, got: tuple[int, ...]) -> None:
        self.name = name
        self.expected = expected
        self.got = got
        super().__init__(f'Expected {name} to have shape {expected} but got {got}.', kind='shape')


class SensingError(IzmpError):
    """Sensor data or a sensor layout that cannot give the wanted quantity."""


class BagError(IzmpError):
    """A recording cannot be read or written."""


class ReplayError(IzmpError):
    """A recording can be read but not evaluated with this robot."""


class ProcessError(IzmpError):
    """Work cannot be handed to processes."""


class FleetError(IzmpError):
    """Many recordings cannot be evaluated together (places, robot files, folder)."""


class MotionError(IzmpError):
    """A motion cannot be planned (unreachable pose, joint limit, unsuitable leg)."""


class SimulationError(IzmpError):
    """The simulation cannot run or the robot fell."""


class MissingDependencyError(IzmpError):
    """An optional library is needed for what was asked; raised `from` the error of its import.

    Attributes:
        library: its import name.
        remedy: the command that installs it.
    """

    def __init__(self, library: str, purpose: str, remedy: str) -> None:
        self.library = library
        self.remedy = remedy
        message = f"{purpose} needs the library '{library}'; install it with: {remedy}"
        super().__init__(message, kind='missing_dependency')

    def __str__(self) -> str:
        cause = self.__cause__
        if not isinstance(cause, ImportError) or isinstance(cause, ModuleNotFoundError):
            return super().__str__()
        return f'{super().__str__()} (it is there, but cannot be imported: {cause})'
