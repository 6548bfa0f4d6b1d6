"""Running a node in a process: discover others, start, spin, stop without a traceback."""

import logging
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.nodes.parameters import warn_of_unknown_parameters
from izmp_dynamics.nodes.pause import LOOK_EVERY
from izmp_dynamics.nodes.registry import node_class
from izmp_dynamics.nodes.start_up import SIGNALS, ForwardedLog

SWITCH_INTERVAL = 5e-4
"""Time after which a thread that reports makes way for the one that receives [s]."""

REPORT_EVERY = 4
"""Looks between two diagnostics of a node."""

_OF_RCL = re.compile(r'failed to initialize rcl: |, at \S+:\d+')
"""What of an error of rcl is not for its users."""


class Running:
    """A node of `registry.nodes` in this process.

    Raises:
        IzmpError: if it cannot start; says why.
    """

    def __init__(self, name: str, overrides: Iterable[Parameter] = ()) -> None:
        self._threads: list[threading.Thread] = []
        self._over = threading.Event()
        self.node: Any = node_class(name)(overrides=overrides)  # a class by name

    def spin(self) -> None:
        """Work until the context is shut down.

        The messages of a node that evaluates are received in this thread; services and parameters
        are looked after by an executor in a thread beside it, which no timer wakes: for each it
        would gather all entities of the node. A third thread reports.
        """
        others = SingleThreadedExecutor()
        others.add_node(self.node)
        receiver = getattr(self.node, 'receiver', None)
        if receiver is None:
            warn_of_unknown_parameters(self.node)
            others.spin()
            return
        sys.setswitchinterval(SWITCH_INTERVAL)
        for target, given in ((spin_on, (others, self.node.get_logger())), (self._look, ())):
            thread = threading.Thread(target=target, args=given, daemon=True)
            self._threads.append(thread)
            thread.start()
        receiver.spin()

    def _look(self) -> None:
        """Look after the node until it is destroyed; an error is logged."""
        turn = 0
        while not self._over.wait(LOOK_EVERY) and rclpy.ok():
            turn += 1
            try:
                self.node.look_after(report=turn % REPORT_EVERY == 0)
            except Exception:
                if rclpy.ok():
                    self.node.get_logger().error(f'An error:\n{traceback.format_exc()}')

    def destroy(self) -> None:
        """Destroy the node, after the context was shut down."""
        self._over.set()
        for thread in self._threads:
            thread.join(5.0)
        self.node.destroy_node()


def spin_node(
    name: str,
    arguments: Sequence[str] | None = None,
    started: Callable[[], None] = lambda: None,
) -> int:
    """Run a node until SIGINT or SIGTERM; return the exit status.

    Args:
        name: of the node.
        arguments: those of ROS; of the command line if None.
        started: is called when the node is there.

    Raises:
        RobotFileError: if ROS cannot read an argument or a parameter file.
    """
    discover_quickly()
    try:
        rclpy.init(args=arguments if arguments is None else list(arguments))
    except RuntimeError as error:
        reason = _OF_RCL.sub('', str(error)).rstrip('.')
        if reason.startswith('['):  # a list, and no word about it
            reason = f'there are no arguments {reason}'
        raise RobotFileError(
            f'ROS does not start: {reason}. A parameter is set by --ros-args -p NAME:=VALUE.',
            kind='parameter',
        ) from error
    forwarded = ForwardedLog(rclpy.logging.get_logger(name))
    core = logging.getLogger('izmp_dynamics')
    core.addHandler(forwarded)
    core.setLevel(logging.INFO)
    running = None
    try:
        with until_shutdown():
            running = Running(name)
            started()
            running.spin()
    finally:
        core.removeHandler(forwarded)
        shut_down()
        for number in SIGNALS:  # a second one shall not spoil the end
            signal.signal(number, signal.SIG_IGN)
        if running is not None:
            running.destroy()
    return int(running is not None and getattr(running.node, 'failed', False))


def shut_down() -> None:
    """Shut ROS down, unless another thread or a signal is just doing so.

    rclpy looks whether that is still to be done and then does it: of two threads one may fail.
    """
    try:
        rclpy.try_shutdown()
    except RuntimeError:
        if rclpy.ok():
            raise


@contextmanager
def until_shutdown() -> Iterator[None]:
    """End the block without an error when ROS is shut down, between whatever calls that is."""
    try:
        yield
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():
            raise


def spin_on(executor: SingleThreadedExecutor, log: Any) -> None:
    """Spin until the context is shut down; an error in a timer or a service is logged."""
    while rclpy.ok():
        try:
            executor.spin()
        except ExternalShutdownException:
            return
        except Exception:
            if rclpy.ok():
                log.error(f'An error in a timer or a service:\n{traceback.format_exc()}')


_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
"""Environment variables of Fast DDS from 3.0 on, and before."""

_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_MIDDLEWARE = 'RMW_IMPLEMENTATION'


def discover_quickly() -> None:
    """Let Fast DDS use a profile of this package, unless the user has one.

    On this computer only (`ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`) it is the one whose sockets
    are bound to the loopback interface; the range is then left to the profile.
    """
    if any(name in os.environ for name in _PROFILES):
        return
    profile = 'config/fastdds_profiles.xml'
    fast_dds = 'fastrtps' in os.environ.get(_MIDDLEWARE, 'rmw_fastrtps_cpp')
    if fast_dds and os.environ.get(_RANGE) == 'LOCALHOST':
        profile = 'config/fastdds_loopback.xml'
        os.environ[_RANGE] = 'SYSTEM_DEFAULT'
    os.environ.update(dict.fromkeys(_PROFILES, str(find_resource(profile))))


def stay_on_this_computer() -> None:
    """Discover nodes of this computer only, unless the user says otherwise.

    To be called before `discover_quickly`.
    """
    os.environ.setdefault(_RANGE, 'LOCALHOST')
