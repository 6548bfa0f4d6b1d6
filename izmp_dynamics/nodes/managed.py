"""Managed (lifecycle) nodes, which configure and activate themselves unless a manager is to do it.

| transition | what a node does |
|---|---|
| configure | reads parameters, robot file and URDF, compiles, advertises and subscribes |
| activate | takes messages and publishes |
| deactivate | leaves messages out, as if none came; keeps what it has learned |
| cleanup, shutdown | frees all that configure has made |
"""

import gc
import threading
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes.parameters import common, warn_of_unknown_parameters
from izmp_dynamics.nodes.receiving import Receiver

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class ManagedNode(LifecycleNode):
    """A node with the states unconfigured, inactive and active.

    A subclass makes everything in `set_up`; whatever attributes, publishers, subscriptions and
    services are new then, `cleanup` removes.

    Attributes:
        receiver: of its messages; `process.Running` lets it work.
        is_active: whether messages are taken.
        is_configured: whether it is active or inactive.
    """

    def __init__(self, name: str, overrides: Iterable[Parameter] = ()) -> None:
        super().__init__(name, parameter_overrides=list(overrides))
        self._answer_change = self._service_change_state.callback
        self._service_change_state.callback = self._change_state
        self.receiver = Receiver()
        self.is_active = self.is_configured = False
        self._lock = threading.RLock()
        self._failure: Exception | None = None
        self._autostart = common(self, 'autostart')

    def _change_state(self, request: Any, response: Any) -> Any:
        """Answer a request also if the state does not allow it, where rclpy raises an error."""
        try:
            return self._answer_change(request, response)
        except _rclpy.RCLError as error:
            self.get_logger().warning(f'The state is not changed: {error}')
            response.success = False
            return response

    def destroy_node(self) -> None:
        """Destroy the node and its state machine, which rclpy leaves.

        That holds the node, and with it the participant of the middleware: if other processes
        leave while this one ends, Fast DDS may wait for ever for one that is still there.
        """
        super().destroy_node()
        machine = getattr(self, '_state_machine', None)  # private, so not in every rclpy
        if machine is not None:
            machine.destroy_when_not_in_use()

    @abstractmethod
    def set_up(self) -> None:
        """Make everything.

        Raises:
            IzmpError: if that is not possible.
        """

    def tear_down(self) -> None:
        """Undo what is neither an attribute nor a publisher nor a subscription."""

    def serve(self, name: str, answer: Callable[[], tuple[bool, str]]) -> None:
        """Offer a service without arguments, std_srvs/Trigger.

        Args:
            name: relative name, remappable.
            answer: called while no message is worked on; returns whether it succeeded, and a
                sentence.
        """
        try:
            from std_srvs.srv import Trigger
        except ImportError:
            self.get_logger().warning(
                f"There is no service '{name}': std_srvs is not installed. It comes with ROS 2, "
                "or with pip install '.[ros]' in the folder of izmp_dynamics."
            )
            return

        def respond(request: Any, response: Any) -> Any:
            with self._lock:
                try:
                    response.success, response.message = (
                        answer() if self.is_active else (False, 'The node is not active.')
                    )
                except Exception as error:
                    response.message = f'unexpected error: {error!r}'
                    self.get_logger().error(f'{name}:\n{traceback.format_exc()}')
            return response

        self.create_service(Trigger, name, respond)

    def begin(self) -> None:
        """Configure and activate, unless a manager is to do it.

        Raises:
            Exception: as `set_up` does.
        """
        if not self._autostart:
            name = self.get_fully_qualified_name()
            self.get_logger().info(f'Unconfigured: ros2 lifecycle set {name} configure')
            return
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != _SUCCESS:
                raise self._failure or RuntimeError(f'{self.get_name()} could not be started')

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make everything; where that fails, the node stays unconfigured and the log says why."""
        with self._lock:
            self._entities = {*self.publishers, *self.subscriptions, *self.services}
            self._before = {*vars(self), '_before'}
            try:
                self.set_up()
                warn_of_unknown_parameters(self)
            except Exception as error:
                self._free()
                self._failure = error
                if not self._autostart:
                    known = isinstance(error, IzmpError)
                    self.get_logger().error(str(error) if known else traceback.format_exc())
                return _FAILURE
            self.is_configured = True
        return _SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take messages from now on."""
        with self._lock:
            self.is_active = True
        self.receiver.paused = False
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take no messages; nothing is published when this has returned."""
        self.receiver.paused = True
        with self._lock:
            self.is_active = False
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free everything."""
        with self._lock:
            self._free()
        gc.unfreeze()  # `Receiver.spin` has frozen what was there
        gc.collect()
        return _SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free everything that there is."""
        self.on_deactivate(state)
        return self.on_cleanup(state) if self.is_configured else _SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin again unconfigured."""
        return self.on_shutdown(state)

    def _free(self) -> None:
        self.is_configured = False
        self.tear_down()
        self.receiver.forget()
        for publisher in [each for each in self.publishers if each not in self._entities]:
            self.destroy_publisher(publisher)
        for subscription in [each for each in self.subscriptions if each not in self._entities]:
            self.destroy_subscription(subscription)
        for service in [each for each in self.services if each not in self._entities]:
            self.destroy_service(service)
        for name in set(vars(self)) - self._before:
            delattr(self, name)
