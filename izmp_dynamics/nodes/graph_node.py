"""The node of the graph: an evaluator between topics."""

import time
from collections.abc import Collection, Iterable, Iterator

from izmp_dynamics.base.faults import Faults, Reason
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.collected import MOST_COLLECTED, together
from izmp_dynamics.nodes.health import STARTUP, WARN
from izmp_dynamics.nodes.outputs import Outputs
from izmp_dynamics.nodes.position_input import check_ground
from izmp_dynamics.nodes.sensors import Sensors
from izmp_dynamics.nodes.tare import Tare
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.standstill import compile_stages
from izmp_dynamics.pipeline.uncertainty import JointSpeeds, izmp_covariance, joint_speeds
from izmp_dynamics.signals.stamps import nanoseconds

LIVE = nanoseconds(0.1)
"""Samples of a robot that works now are not older [ns]."""

UNWANTED = 'no: nobody subscribes to the results, and none is computed'
"""Said by a node that waits until somebody does."""


class GraphNode(TopicNode):
    """Evaluates what it subscribes to, sensors and results of other nodes, message by message."""

    def prepare(self) -> None:
        """Make the evaluator, advertise and subscribe.

        Raises:
            IzmpError: if that is not possible.
        """
        self._faults_before: dict[str, Faults] = {}
        self._wanted_at = self._judged_at = time.monotonic()
        self._former: Evaluator | None = None
        self._unsure: frozenset[str] = frozenset()
        self._tare = Tare(self) if 'verdict' in self.task.computes else None
        self.sensors = Sensors(self)
        self.configure(self.robot)
        self.outputs = Outputs(self)
        self.sensors.subscribe(self.outputs)
        self.health.counters.append(self._faults)

    def configure(self, robot: RobotFile) -> None:
        """Make the evaluator, as soon as the frames of the sensors are known.

        Raises:
            IzmpError: if that is not possible with these settings.
        """
        self.sensors.configure(robot)
        self._faults_before = self._faults()
        self._former, self.evaluator = self.evaluator or self._former, None
        self.make_evaluator()
        if hasattr(self, 'outputs'):
            self.sensors.subscribe_to_feet(robot)
        self._remark_on_settings(robot)

    def make_evaluator(self) -> None:
        """Make it if the frames of the sensors are known, with the rates learned so far.

        Raises:
            IzmpError: if that is not possible.
        """
        rig, task = self.sensors.rig(), self.task
        if rig is None:
            return
        if 'verdict' in task.computes:
            check_ground(self.health, rig)
        given = task.given if rig.robot.position is not None else task.given - {'world', 'ir_md'}
        compile_stages(rig, given=given, computes=task.computes)
        self._faults_before = self._faults()
        self._former = self.evaluator or self._former
        self.evaluator = Evaluator(
            rig,
            orientation=self.sensors.source,
            live=True,
            patience=self.patience,
            prompt=self._put_first,
            given=given,
            computes=task.computes,
        )
        if self._tare is not None:
            self.evaluator.feet.unloaded = self._tare.watch(rig)
        if self._former is not None:
            self.evaluator.assume(self._former, self._unsure)
            self._former = None
        self._resets = 0
        self._speeds: JointSpeeds | None = None
        for key in ('frames', 'waiting for frames'):
            self.health.clear(key)
        if 'root' in task.computes:
            for k, warning in enumerate(self.evaluator.root.warnings):
                self.health.values[f'layout {k + 1}'] = warning
        self.sensors.follow(self.evaluator)

    def _remark_on_settings(self, robot: RobotFile) -> None:
        """State which settings take the composed node."""
        if self.task.is_whole:
            return
        source = robot.root_acceleration.source
        if 'root' in self.task.computes and source != 'imu':
            self.health.remark(
                'root_acceleration',
                WARN,
                f'root_acceleration.source: {source} takes '
                'composed:=true; as processes of their own the nodes use the IMU alone.',
            )
        if 'ir_md' in self.task.computes and robot.ir_md.step == 'actuator':
            self.health.remark(
                'step',
                WARN,
                'ir_md.step is actuator, but live the momentum is differenced at the bus rate, '
                'which is what reaches this node; set it to bus, or evaluate a recording.',
            )
        else:
            self.health.clear('step')

    def relearn(self, signals: Iterable[str]) -> None:
        """Learn the rates of some signals again."""
        self._unsure = frozenset(signals)
        self.configure(self.robot)
        self._unsure = frozenset()

    def flush(self) -> None:
        """Hand out what waits for a next sample, as there is none."""
        if self.evaluator is not None:
            for piece in self.evaluator.pause():
                self._put_later(piece)

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
        collected, evaluator = self.collected, self.evaluator
        if self.task.given or evaluator is None:
            self.evaluate()
        elif collected.count >= MOST_COLLECTED or evaluator.awaits(collected.newest):
            now, stamp = time.monotonic(), collected.newest.get('joints', 0)
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
        source = {'orientation': self.topics.get(self.sensors.source, '')}
        return {(source | self.topics).get(signal, '') for signal in signals}

    def evaluate(self) -> None:
        """Let the evaluator take what was collected, and publish what follows."""
        evaluator = self.evaluator
        if evaluator is None:
            return
        if self.task.given:
            evaluator.locates = self._locates
        for signal, samples in self.collected.take():
            try:
                evaluator.take({signal: together(samples)})
            except Exception as error:
                self.fail(signal, error)
        with self._guarded(self._leading):
            for piece in evaluator.advance():
                self._put_later(piece)
            if evaluator.resets != self._resets:
                self._follow_clock(evaluator)

    @property
    def _leading(self) -> str:
        """The signal whose stamps are the instants."""
        return 'joint_kinematics' if self.task.given else 'joints'

    @property
    def _locates(self) -> bool:
        """Whether anybody asks for what needs the pose, and it comes."""
        return self.sensors.is_placed and self.wants_pose()

    def wants_pose(self) -> bool:
        """Whether anybody asks for what needs the pose of the root in the world."""
        needed = self.evaluator is not None and self.evaluator.needs_world
        return needed or self.outputs.world_wanted

    def _follow_clock(self, evaluator: Evaluator) -> None:
        """Forget what belongs to the time before, if a clock was set back."""
        self._resets = evaluator.resets
        for signal in evaluator.set_back:
            self.health.count(signal, Reason.CLOCK_SET_BACK)
        names = ', '.join(evaluator.set_back)
        self.get_logger().warning(f'The stamps of {names} went back: resetting.')
        self.sensors.watch.reset()
        self.outputs.reset()

    def _put_first(self, piece: Evaluated) -> None:
        """Publish what is known first of instants: all but pose and IR-MD."""
        for instant in _each(piece):
            if 'verdict' in self.task.computes and instant.joints.valid[0]:
                stamp, q = int(instant.stamps[0]), instant.joints.positions[0]
                self.sensors.forces.steps.see('joints', stamp, q)
            if self.evaluator is not None and self.outputs.put_first(instant, self.evaluator.rig):
                self._put_uncertain(instant)

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
        if self.evaluator is not None:
            self.evaluator.trim()
        if self.task.is_lazy:
            self.health.values['wanted'] = 'yes' if self._locates else UNWANTED

    def _faults(self) -> dict[str, Faults]:
        """What could not be used, also by the evaluators before this one."""
        now = {} if self.evaluator is None else self.evaluator.faults
        before = self._faults_before
        return {
            signal: before.get(signal, Faults()) + now.get(signal, Faults())
            for signal in before | now
        }

    def look_who_asks(self) -> None:
        """Look who subscribes to pose, IR-MD and fall alarm."""
        evaluator, now = self.evaluator, time.monotonic()
        if evaluator is None:
            return
        if self.task.is_whole:
            if self.outputs.world_wanted:
                self._wanted_at = now
            evaluator.locates = now - self._wanted_at < STARTUP
        if self.outputs.judgement_wanted:
            self._judged_at = now
        evaluator.judges = now - self._judged_at < STARTUP


def _each(piece: Evaluated) -> Iterator[Evaluated]:
    """Each instant of a piece."""
    if len(piece.stamps) == 1:
        yield piece
        return
    for row in range(len(piece.stamps)):
        yield piece.select(slice(row, row + 1))
