"""The settings of the robot file as parameters of a node, at the start and while it runs."""

import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.parameters import setting_parameters, value_of, with_values


class NodeSettings:
    """Declares the settings; what holds in the end is in `robot`.

    Args:
        node: has the parameters.
        sections: of the robot file that become parameters.
        file: the robot file, whose values are the defaults.

    Attributes:
        robot: robot file with the parameters' values.

    Raises:
        RobotFileError: a value that cannot be.
    """

    def __init__(self, node: Node, sections: Iterable[str], file: RobotFile) -> None:
        self._node, self._log = node, node.get_logger()
        self._settings = {item.name: item for item in setting_parameters(sections)}
        try:
            self.robot = with_values(file, dict(self._declared(file)))
        except Exception:
            self.undeclare()
            raise

    def __contains__(self, name: str) -> bool:
        return name in self._settings

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def _declared(self, file: RobotFile) -> Iterator[tuple[str, Any]]:
        """Declare the parameters; yield their names and values."""
        for name, item in self._settings.items():
            default = value_of(file, name)
            given = self._node.declare_parameter(name, default, item.descriptor()).value
            yield name, item.checked(given)

    def undeclare(self) -> None:
        """Withdraw the parameters."""
        for name in filter(self._node.has_parameter, self):
            self._node.undeclare_parameter(name)

    def apply(
        self,
        parameters: list[Parameter],
        check: Callable[[RobotFile], None],
        configure: Callable[[RobotFile], None],
    ) -> SetParametersResult:
        """Apply new values if the node can be configured with them; the old ones again if not.

        Args:
            parameters: of which those that are settings are applied.
            check: refuses a robot file by an exception, and changes nothing.
            configure: likewise, but when it has begun to change the node.
        """
        begun = False
        wanted = {item.name: item.value for item in parameters if item.name in self}
        names = ', '.join(wanted)
        try:
            values = {name: self._settings[name].checked(value) for name, value in wanted.items()}
            robot = with_values(self.robot, values)
            check(robot)
            begun = True
            configure(robot)
        except Exception as error:
            reason = str(error)
            if not isinstance(error, IzmpError):
                self._log.error(f'{names}: refused.\n{traceback.format_exc()}')
                reason = f'unexpected error: {error!r}'
            if begun:
                self._restore(configure)
            return SetParametersResult(successful=False, reason=reason)
        self.robot = robot
        self._log.info(f'New values of {names}: resetting.')
        return SetParametersResult(successful=True)

    def _restore(self, configure: Callable[[RobotFile], None]) -> None:
        """Configure the node as before."""
        try:
            configure(self.robot)
        except Exception:
            self._log.error(f'The values of before do not work:\n{traceback.format_exc()}')
