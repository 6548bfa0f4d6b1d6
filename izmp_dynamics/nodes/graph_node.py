"""The node of the graph: an evaluator between topics, with diagnostics."""

import copy
import time
import traceback
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import ROSClock
from rclpy.parameter import Parameter

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import (
    ERROR,
    OK,
    STARTUP,
    WAITING,
    WARN,
    WORKING,
    Input,
    diagnostic_array,
)
from izmp_dynamics.nodes.outputs import Outputs
from izmp_dynamics.nodes.pause import FLUSH_AFTER, PauseWatch, some_are_behind
from izmp_dynamics.nodes.receiving import REPLACED_AFTER
from izmp_dynamics.nodes.registry import refusal
from izmp_dynamics.nodes.sensors import Sensors
from izmp_dynamics.nodes.tare import Tare
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.fusing import FusionStage
from izmp_dynamics.pipeline.standstill import compile_stages
from izmp_dynamics.pipeline.uncertainty import JointSpeeds, izmp_covariance, joint_speeds
from izmp_dynamics.signals.matched_filter import check_half_width
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds

MOST_COLLECTED = 64
"""Samples that are collected before a stage takes them, whatever they are."""


def together(samples: list[tuple[int, Array]]) -> Samples:
    """Samples of one signal, to be taken at once."""
    stamps, values = zip(*samples, strict=True)
    return Samples(np.array(stamps), np.array(values))


LIVE = nanoseconds(0.1)
"""Samples of a robot that works now are not older [ns]."""

UNWANTED = 'no: nobody subscribes to the results, and none is computed'
"""Said by a node that waits until somebody does."""


class GraphNode(TopicNode):
    """Evaluates what it subscribes to, sensors and results of other nodes, message by message."""

    def set_up(self) -> None:
        """Load robot and model, make the evaluator, advertise and subscribe."""
        super().set_up()
        self.receiver.handed_out = self.handed_out
        self._asked_at = defaultdict[str, float](time.monotonic)
        self._fuses = True
        self._former: Evaluator | None = None
        self._pause = PauseWatch()
        self._tare = Tare(self, self.adopt) if 'verdict' in self.task.computes else None
        self.sensors = Sensors(self, self.make_evaluator)
        self.configure(self.robot)
        self.outputs = Outputs(self)
        self.sensors.subscribe(self.outputs)
        self.health.faults = lambda: {} if self.evaluator is None else self.evaluator.faults
        self.add_on_set_parameters_callback(self._changed)

    def _free(self) -> None:
        with suppress(ValueError):
            self.remove_on_set_parameters_callback(self._changed)
        super()._free()

    def configure(self, robot: RobotFile) -> None:
        """Make the evaluator, as soon as the frames of the sensors are known.

        Raises:
            IzmpError: if that is not possible with these settings.
        """
        self.sensors.configure(robot)
        self._retire()
        self.make_evaluator()
        if hasattr(self, 'outputs'):
            self.sensors.subscribe_to_sensors(robot)
        self._remark_on_settings(robot)

    def make_evaluator(self) -> None:
        """Make it if the frames of the sensors are known, with the rates learned so far."""
        rig, task = self.sensors.rig(), self.task
        if rig is None:
            return
        compile_stages(rig, given=self._given, computes=task.computes)
        made = Evaluator(
            rig,
            orientation=self.sensors.source,
            live=True,
            patience=self.patience,
            prompt=self._put_first,
            given=self._given,
            computes=task.computes,
        )
        self._retire()
        self.evaluator = made
        if self._tare is not None:
            self.evaluator.unloaded = self._tare.watch(rig)
        if self._former is not None:
            self.evaluator.stages.assume(self._former.stages)
            self._former = None
        fuses = 'fusion' in task.computes and FusionStage.suits(rig)
        self._fusion = FusionStage(rig) if fuses else None
        self._resets = 0
        self._speeds: JointSpeeds | None = None
        for key in ('frames', 'waiting for frames'):
            self.health.clear(key)
        if 'root' in task.computes:
            for k, warning in enumerate(self.evaluator.root.warnings):
                self.health.values[f'layout {k + 1}'] = warning
        self.sensors.follow(self.evaluator)

    def _retire(self) -> None:
        """Keep what the evaluator has counted and learned for the next one."""
        if self.evaluator is not None:
            for signal, faults in self.evaluator.faults.items():
                self.health.counts[signal].update(faults)
            self._former, self.evaluator = self.evaluator, None

    @property
    def _given(self) -> frozenset[str]:
        lost = {'world', 'ir_md'} if self.robot.position is None else set()
        return self.task.given - lost

    def _remark_on_settings(self, robot: RobotFile) -> None:
        if self.task.is_whole:
            return
        finer = (
            'ir_md.step is actuator, but live the momentum is differenced at the bus rate, which '
            'is what reaches this node; set it to bus, or evaluate a recording.'
        )
        is_finer = 'ir_md' in self.task.computes and robot.ir_md.step == 'actuator'
        self.health.remark('step', 'warning', finer if is_finer else '')

    def handed_out(self) -> None:
        """Go on after a series of messages that waited together."""
        with self._lock:
            if not self.is_active:
                return
            awaited: Collection[str] | None = None
            try:
                self.advance()
                awaited = self.awaited()
            except Exception as error:
                self.fail(self._leading, error)
            if awaited != self.receiver.awaited:
                self.receiver.awaited = awaited

    def advance(self) -> None:
        """Evaluate if an instant can be complete; of sensors, rest until the next one can be."""
        collected, evaluator = self._collected, self.evaluator
        if self.task.given or evaluator is None:
            self.evaluate()
            return
        newest = {signal: samples[-1][0] for signal, samples in collected.items()}
        count = sum(map(len, collected.values()))
        if count >= MOST_COLLECTED or evaluator.awaits(newest):
            now, stamp = time.monotonic(), newest.get('joints', 0)
            self.evaluate()
            if abs(time.time_ns() - stamp) < LIVE:  # the robot works now
                self.receiver.rest_until = now + evaluator.idle_after(stamp)

    def awaited(self) -> Collection[str] | None:
        """Topics whose next message may complete an instant; None: any may.

        Without any, messages are taken now and then, as nobody asks for results.
        """
        if self.evaluator is None or (self.task.is_lazy and not self._locates):
            return () if self.task.is_lazy else None
        signals = self.evaluator.awaited
        if signals is None:
            return None
        named, source = self.topics, self.sensors.source
        return {named.get(source if name == 'orientation' else name, '') for name in signals}

    def evaluate(self) -> None:
        """Let the evaluator take what was collected, and publish what follows."""
        evaluator = self.evaluator
        if evaluator is None:
            return
        if self.task.given:
            evaluator.locates = self._locates
        collected, self._collected = self._collected, defaultdict(list)
        for signal, samples in collected.items():
            try:
                evaluator.take({signal: together(samples)})
            except Exception as error:
                self.fail(signal, error)
        try:
            for piece in evaluator.advance():
                self._put_later(piece)
            if evaluator.resets != self._resets:
                self._follow_clock(evaluator)
        except Exception as error:
            self.fail(self._leading, error)

    @property
    def _leading(self) -> str:
        """The signal whose stamps are the instants."""
        return 'joint_kinematics' if self.task.given else 'joints'

    @property
    def _locates(self) -> bool:
        """Whether anybody asks for what needs the pose, and it comes."""
        return self.sensors.is_placed and self.outputs.world_wanted

    def _follow_clock(self, evaluator: Evaluator) -> None:
        self._resets = evaluator.resets
        for signal in evaluator.set_back:
            self.health.count(signal, Reason.CLOCK_SET_BACK)
        names = ', '.join(evaluator.set_back)
        self.get_logger().warning(f'The stamps of {names} went back: resetting.')
        self.sensors.watch.reset()
        self.outputs.reset()

    def _put_first(self, piece: Evaluated) -> None:
        """Publish what is known first of instants: all but pose and IR-MD."""
        if self.task.is_lazy:  # there is nothing else
            return
        for instant in _each(piece):
            if 'verdict' in self.task.computes and instant.joints.valid[0]:
                stamp, q = int(instant.stamps[0]), instant.joints.positions[0]
                self.sensors.forces.see('joints', stamp, q)
            if self.evaluator is not None and self.outputs.put_first(instant, self.evaluator.rig):
                self._put_uncertain(instant)
            fusion = self._fusion if self._fuses and not self.health.ahead else None
            if fusion and self.evaluator and self.outputs.verdict:
                fused = fusion.push(self.evaluator, instant)
                self.outputs.verdict.put_fused(fused, self.evaluator.rig)

    def _put_later(self, piece: Evaluated) -> None:
        """Publish what is known later than the IZMP: pose and IR-MD."""
        if self.robot.position is not None and self.evaluator is not None:
            for instant in _each(piece):
                self.outputs.put_later(instant, self.evaluator)

    def _put_uncertain(self, instant: Evaluated) -> None:
        """Publish the IZMP with its covariance, which costs more than the rest of an instant."""
        evaluator = self.evaluator
        if evaluator is None or self.outputs.verdict is None or not self.outputs.uncertain_wanted:
            return
        groups = evaluator.joints.groups
        if self._speeds is None and groups:
            self._speeds = joint_speeds(groups, self.robot.filter.half_width)
        covariance = izmp_covariance(evaluator, instant, speeds=self._speeds)
        self.outputs.verdict.put_uncertain(instant, covariance[0])

    def inspect(self) -> None:
        """Look, before each report, at what is worth a remark."""
        self.sensors.inspect(self.evaluator)
        if self._tare is not None:
            self._tare.inspect()
        if self.outputs.verdict is not None:
            self.outputs.verdict.falls.inspect()
        if self.evaluator is not None:
            self.evaluator.stages.trim()
        if self.task.is_lazy:
            self.health.values['wanted'] = 'yes' if self._locates else UNWANTED

    def look_who_asks(self) -> None:
        """Look who subscribes to pose, IR-MD, fall alarm and the fused estimate."""
        evaluator, outputs = self.evaluator, self.outputs
        if evaluator is None:
            return
        if self.task.is_whole:
            evaluator.locates = self._is_asked('world', outputs.world_wanted)
        evaluator.judges = self._is_asked('judgement', outputs.judgement_wanted)
        fuses = self._is_asked('fusion', outputs.fusion_wanted)
        if self._fusion and fuses and not self._fuses:
            self._fusion.reset()
        self._fuses = fuses

    def _is_asked(self, what: str, wanted: bool) -> bool:
        """Whether anybody wants something, or did a moment ago."""
        now = time.monotonic()
        if wanted:
            self._asked_at[what] = now
        return now - self._asked_at[what] < STARTUP

    def _changed(self, parameters: list[Parameter]) -> SetParametersResult:
        settings, names = self._settings, list[str]()
        try:
            names += [item.name for item in parameters if item.name in settings]
            reason = refusal(self.task.node, names)
            if reason or not names:
                return SetParametersResult(successful=not reason, reason=reason)
            rig = self.sensors.rig(settings.changed(parameters))
            if rig is not None:  # compile while messages are evaluated by the present ones
                compile_stages(rig, given=self._given, computes=self.task.computes)
            with self._lock:
                robot = settings.changed(parameters)
                if self.evaluator is not None:  # which may know them by now
                    for signal, period in self.evaluator.stages.periods():
                        check_half_width(robot.filter.half_width, signal, period)
                self.adopt(robot)
        except Exception as error:
            reason = str(error)
            if not isinstance(error, IzmpError):
                self.get_logger().error(f'{names}: refused.\n{traceback.format_exc()}')
                reason = f'unexpected error: {error!r}'
            return SetParametersResult(successful=False, reason=reason)
        self.get_logger().info(f'New values of {", ".join(names)}: resetting.')
        return SetParametersResult(successful=True)

    def adopt(self, robot: RobotFile) -> None:
        """Go on with another robot file, until `cleanup`; with the one before if that fails."""
        try:
            self.configure(robot)
        except Exception:
            self.configure(self.robot)
            raise
        self._settings.robot = robot

    def look_after(self, report: bool) -> None:
        """Do what is due four times a second, and once a second the diagnostics."""
        if not self.is_active:
            if report:
                self._report_inactive()
            return
        with self._guarded('diagnostics'):
            clock = self.get_clock()
            on_clock = isinstance(clock, ROSClock) and clock.ros_time_is_active
            with self._lock:
                self.health.see_clock(clock.now().nanoseconds if on_clock else 0)
                self.try_again()
                self._flush_after_pause()
                self.look_who_asks()
            if report:
                self._report()
                if (verdict := self.outputs.verdict) is not None:
                    for judge in (self.sensors.forces, verdict.findings):  # one, as it takes long
                        if judge.judge(self._lock, lambda: self.is_active):
                            break

    def _flush_after_pause(self) -> None:
        """Hand out what waits if no message comes, and go on from before if some come again."""
        inputs = self.health.inputs
        newest = max((entry.last for entry in inputs), default=0.0)
        repaired = self._reliable and some_are_behind(inputs, self.patience)
        longest = self.patience if repaired else FLUSH_AFTER
        if self._pause.begins(sum(entry.count for entry in inputs), newest, longest):
            with self._guarded('flush'):
                self.evaluate()
            with self.health.ahead_of_time(), self._guarded('flush'):
                self.flush()

    def flush(self) -> None:
        """Hand out what waits for a next sample, by a copy; the evaluator goes on as before."""
        evaluator = self.evaluator
        if evaluator is None:
            return
        self.evaluator = copy.deepcopy(evaluator, {id(self): self})
        try:
            for piece in self.evaluator.pause():
                self._put_later(piece)
        finally:
            self.evaluator = evaluator

    def _report(self) -> None:
        now = self.get_clock().now().nanoseconds
        with self._lock:
            with self._guarded('inspect'):
                self.inspect()
            for entry in self.health.inputs:
                self._replace_dead(entry)
            status = self.health.status()
        self._diagnostics.publish(diagnostic_array(now, status))
        log = self.get_logger()
        if status.message == self.health.logged:
            return
        if status.level == ERROR:
            log.error(status.message, throttle_duration_sec=10.0)
        elif status.level == WARN:
            log.warning(status.message, throttle_duration_sec=10.0)
        elif status.message not in (WORKING, WAITING):
            log.info(status.message, throttle_duration_sec=10.0)

    def _report_inactive(self) -> None:
        with self._lock:
            if self.is_configured:
                name, robot = self.health.name, self.model.name
                status = DiagnosticStatus(
                    level=OK, name=name, message='inactive', hardware_id=robot
                )
                now = self.get_clock().now().nanoseconds
                self._diagnostics.publish(diagnostic_array(now, status))

    def _replace_dead(self, entry: Input) -> None:
        dead = self.health.pause(entry) > REPLACED_AFTER
        if dead and self.count_publishers(entry.topic) and self.receiver.replace(entry.topic):
            entry.replaced += 1
            self.get_logger().info(f'No message on {entry.topic}: subscribing again.')


def _each(piece: Evaluated) -> Iterator[Evaluated]:
    if len(piece.stamps) == 1:
        yield piece
        return
    for row in range(len(piece.stamps)):
        yield piece.select(slice(row, row + 1))
