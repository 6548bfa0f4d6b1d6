"""Arguments of launch files, and parameters of nodes from them."""

from collections.abc import Mapping

from launch.actions import DeclareLaunchArgument
from launch.launch_context import LaunchContext
from launch.substitutions import LaunchConfiguration
from launch_ros.parameter_descriptions import ParameterValue

from izmp_dynamics.launching.checked import NEEDED, flag, number

Arguments = Mapping[str, tuple[str | None, str]]
"""Name → default and description; None: the argument must be given."""


def declared(arguments: Arguments) -> list[DeclareLaunchArgument]:
    """Declare arguments."""
    return [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in arguments.items()
    ]


def given(context: LaunchContext, *names: str) -> dict[str, str]:
    """The values of arguments."""
    return {name: LaunchConfiguration(name).perform(context) for name in names}


def parameters(**kinds: type) -> dict[str, ParameterValue]:
    """Parameters from the arguments of the same name.

    Args:
        kinds: the name of each, with its type.
    """
    return {
        name: ParameterValue(
            _Checked(name, kind) if kind in NEEDED else LaunchConfiguration(name), value_type=kind
        )
        for name, kind in kinds.items()
    }


class _Checked(LaunchConfiguration):
    """An argument that must be a number or a flag."""

    def __init__(self, name: str, kind: type) -> None:
        super().__init__(name)
        self._name, self._kind = name, kind

    def perform(self, context: LaunchContext) -> str:
        """Return its text.

        Raises:
            RuntimeError: if it is none of this kind.
        """
        text: str = super().perform(context)
        if self._kind is bool:
            return str(flag(self._name, text)).lower()
        number(self._name, text, self._kind)
        return text
