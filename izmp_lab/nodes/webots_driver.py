"""The plugin for webots_ros2_driver: a robot in Webots on the topics of its robot file.

    <webots>
      <plugin type="izmp_lab.nodes.webots_driver.WebotsDriver">
        <robot>/path/to/robot.yaml</robot>
      </plugin>
    </webots>

`izmp make-world` writes such a URDF; docs/webots.md lists all properties.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes.main import require_ros
from izmp_lab.simulation.webots.options import Options
from izmp_lab.simulation.webots.robot_loop import RobotLoop, Sink


class WebotsDriver:
    """What webots_ros2_driver calls: `init` once, `step` after each step, `stop` at the end.

    The driver prints exceptions and goes on. So nothing is raised here: errors are logged, and
    without a robot file that can be used the plugin does nothing. With the property `quit`, the
    simulation ends then.

    Args:
        make_sink: makes the sink and the origin of stamps [ns] from the options; ROS if None.
    """

    def __init__(self, make_sink: Callable[[Options], tuple[Sink, int]] | None = None) -> None:
        self._make_sink = make_sink or _ros_sink
        self._sink: Sink | None = None
        self._loop: RobotLoop | None = None
        self._robot: Any = None
        self._quit = False

    def init(self, webots_node: Any, properties: Mapping[str, str]) -> None:
        """Find the devices and plan the motion.

        Args:
            webots_node: its attribute `robot` is the Supervisor of Webots' controller library.
            properties: the elements inside <plugin>.
        """
        self._robot = webots_node.robot
        self._quit = properties.get('quit', '').strip().lower() == 'true'
        try:
            options = Options.read(properties)
            self._sink, origin = self._make_sink(options)
            self._loop = RobotLoop(self._robot, options, self._sink, origin)
        except IzmpError as error:
            self._fail(str(error))
        except Exception as error:
            self._fail(f'It cannot begin ({type(error).__name__}: {error}).')

    def step(self) -> None:
        """Publish a sample and set the next positions of the motors."""
        if self._loop is None:
            return
        try:
            self._loop.step()
        except Exception as error:  # the driver would print it again at every step
            self._loop = None
            self._fail(f'It stops here ({type(error).__name__}: {error}).')

    def stop(self) -> None:
        """Close everything; the simulation has ended."""
        if self._loop is not None:
            self._loop.stop()
        elif self._sink is not None:
            self._sink.close()
        self._loop = self._sink = None

    def _fail(self, sentence: str) -> None:
        """Log why the plugin stops; end the simulation if `quit` is set."""
        if self._sink is not None:
            self._sink.log(sentence, 'error')
        else:
            print(f'izmp_dynamics: error: {sentence}', file=sys.stderr, flush=True)
        if self._quit and self._robot is not None and self._robot.getSupervisor():
            self._robot.simulationQuit(1)


def _ros_sink(options: Options) -> tuple[Sink, int]:
    """Make the node; without ROS the driver can still say that ROS is missing."""
    require_ros()
    from izmp_lab.nodes.webots_sink import make_sink

    return make_sink(options)
