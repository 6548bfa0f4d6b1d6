"""What the node izmp publishes: points, margin, polygon, fall alarm, events, the frame nif."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from rclpy.time import Time
from std_msgs.msg import Bool, Float64

from izmp_dynamics.base.conventions import Array, all_finite, frozen
from izmp_dynamics.base.errors import MissingDependencyError, RobotFileError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.nodes.health import SILENT
from izmp_dynamics.nodes.markers import Markers
from izmp_dynamics.nodes.messages import (
    message_class,
    polygon_stamped,
    quaternion,
    rotation_matrix,
    transform_stamped,
    vector,
)
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.parameters import common
from izmp_dynamics.nodes.qos import EVENTS, RESULT
from izmp_dynamics.nodes.recent_findings import EventTopic, RecentFindings
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.transforms import TransformBroadcaster
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.results.topics import LIVE, OF_EACH_FOOT, POINTS, pose_with_covariance
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.stability.fall_alarm import FallRisk
from izmp_dynamics.stability.support_polygon import from_edge, plane_axes
from izmp_dynamics.verdict.events.event import TOPIC
from izmp_dynamics.verdict.recent import Recent

PATIENCE = 1.0
"""An instant that is so much older than the newest one no longer waits for its pose [s]."""

Pose = tuple[Array, Array]
"""frame_R_root (3, 3), and the root's origin in the frame (3,) [m]."""

_SAME: Pose = (frozen(np.eye(3)), frozen(np.zeros(3)))

Send = Callable[[Array, Array], None]
"""Publishes, given a pose."""


class EvaluationFrame:
    """Gives the pose of the root in the frame, as soon as it is known.

    What happens in the world or by TF is often known a little later than the IZMP, so what is to
    be published waits for it.

    Attributes:
        name: of the frame; of a link without the prefix.
        label: its name in messages.
        in_world: whether it is the frame in which the position of the robot is known.

    Raises:
        MissingDependencyError: the frame is known to TF only, and tf2_ros is not installed.
        RobotFileError: the world, but the position of the robot is not known.
    """

    def __init__(self, node: TopicNode, name: str) -> None:
        names, link = node.frame_names, node.frame_names.link(name)
        self.model = node.model
        self._root = node.root
        of_robot = link in (*self.model.frame_names, names.nif)
        self.in_world = not of_robot and name == names.world
        self.name = link if of_robot else name
        self.label = names.of(link) if of_robot else name
        self._health, self._node = node.health, node
        self._waiting: deque[tuple[int, Array, Array, Send, bool]] = deque()
        self._newest = 0
        if self.in_world and node.robot.position is None:
            raise RobotFileError(
                f'evaluation_frame is {name}, but the robot file names no position; choose a link '
                'or nif.',
                kind='world_without_position',
            )
        self._poses: dict[int, Pose] = {}
        self._buffer: Any = None
        if not (of_robot or self.in_world):
            self._buffer = _tf_buffer(node, name)

    def take_pose(self, stamp: int, pose: Pose) -> None:
        """Keep the pose of the root in the world at an instant [ns]."""
        if self.in_world:
            self._poses[stamp] = pose
            while next(iter(self._poses)) < stamp - nanoseconds(2.0 * PATIENCE):
                del self._poses[next(iter(self._poses))]
            self.retry()

    def reset(self) -> None:
        """Give up what waits, and forget all poses."""
        if self._waiting:
            self._health.count(self.name, Reason.NO_FRAME, number=len(self._waiting))
        self._waiting.clear()
        self._poses.clear()
        self._newest = 0

    def when_known(self, stamp: int, q: Array, normal: Array, send: Send) -> None:
        """Publish something of an instant [ns] as soon as its pose is known; see `pose`."""
        self._newest = max(self._newest, stamp)
        if not self._waiting:
            pose = self.pose(stamp, q, normal)
            if pose is not None:
                send(*pose)
                return
        self._waiting.append((stamp, q, normal, send, self._health.ahead))
        self.retry()

    def retry(self) -> None:
        """Publish what is known by now."""
        oldest = self._newest - nanoseconds(PATIENCE)
        while self._waiting:
            stamp, q, normal, send, ahead = self._waiting[0]
            pose = self.pose(stamp, q, normal)
            if pose is None and stamp > oldest:
                return
            self._waiting.popleft()
            if pose is None:
                self._health.count(self.name, Reason.NO_FRAME)
                continue
            with self._health.ahead_of_time() if ahead else nullcontext():
                send(*pose)

    def pose(self, stamp: int, q: Array, normal: Array) -> Pose | None:
        """Find the pose at an instant; None if it is not known.

        Args:
            stamp: [ns].
            q: (n,) joint positions.
            normal: (3,) ground normal in the root frame.
        """
        if self.name == self.model.root:
            return _SAME
        if self.in_world:
            return self._poses.get(stamp)
        if self.name == self._node.frame_names.nif:
            return np.vstack([plane_axes(normal), normal]), np.zeros(3)
        if self._buffer is None:
            R, p = self.model.frame_pose(self.name, q)
            return R.T, -R.T @ p
        when = Time(nanoseconds=stamp)
        if not self._buffer.can_transform(self.name, self._root, when):
            return None
        found = self._buffer.lookup_transform(self.name, self._root, when).transform
        return rotation_matrix(quaternion(found.rotation)), vector(found.translation)


def _tf_buffer(node: TopicNode, name: str) -> Any:
    try:
        from tf2_ros import Buffer, TransformListener
    except ImportError as error:
        raise MissingDependencyError(
            'tf2_ros',
            f"The evaluation frame '{name}', which is not a link of the robot,",
            'your ROS distribution (ros-$ROS_DISTRO-tf2-ros-py), or choose a link, world or nif',
        ) from error
    buffer = Buffer()
    buffer.listener = TransformListener(buffer, node)
    return buffer


class VerdictOutputs:
    """Publishes points, margin, gap, polygon, markers, fall alarm, events and the frame nif.

    Attributes:
        frame: in which the points are published.
        falls: the fall alarm.
        findings: judges the last seconds.
    """

    def __init__(
        self,
        node: TopicNode,
        made: dict[str, Output],
        send: Callable[[Iterable[str], Evaluated, Rig], None],
        broadcaster: TransformBroadcaster,
    ) -> None:
        self._health, self._root, self._made, self._send = node.health, node.root, made, send
        self._nif, self._broadcaster = node.frame_names.of(node.frame_names.nif), broadcaster
        self.frame = EvaluationFrame(node, common(node, 'evaluation_frame') or node.model.root)
        live = {
            name: node.advertise(name, message_class(kind), EVENTS if name == TOPIC else RESULT)
            for name, kind in LIVE.items()
        }
        self._point, self._margin, risk, self._polygon, markers, events = live.values()
        self._markers = Markers(markers, node.model, node.root)
        outages = partial(_outages, node)
        self.findings = RecentFindings(Recent(), node.health, EventTopic(events), outages)
        self.falls = FallOutputs(node, events, risk)

    @property
    def uncertain_wanted(self) -> bool:
        """Whether anybody subscribes to what has a covariance."""
        return self._point.wanted or self._margin.wanted

    def put(self, instant: Evaluated, known: bool, rig: Rig) -> bool:
        """Publish IZMP and CoP, if the ground and MR-AD's wrench are known; return whether."""
        if not instant.ground.is_known:
            self._health.count('ground', Reason.NO_GROUND)
            return False
        if known:
            self._put(instant, rig)
        return known

    def point(self, track: str, instant: Evaluated, rig: Rig) -> Array | None:
        """Publish a point in the evaluation frame; return it (3,) in the root frame."""
        point: Array = instant.points[track][0]
        stamp = int(instant.stamps[0])
        if not all_finite(point):
            self._health.count(track, Reason.IN_FLIGHT)
            return None
        name = POINTS[track]
        if instant.ground.frame is not None:
            self._send([f'{name}_in_ground'], instant, rig)

        def send(R: Array, p: Array) -> None:
            self._made[name].computed(stamp, self.frame.label, lambda: (R @ point + p,))

        self._when_known(instant, send)
        return point

    def put_uncertain(self, instant: Evaluated, covariance: Array) -> None:
        """Publish the IZMP of MR-AD with its covariance (3, 3), given in the root frame."""
        if not all_finite(covariance):
            return
        stamp, point = int(instant.stamps[0]), instant.points['mr_ad'][0]

        def send(R: Array, p: Array) -> None:
            values = pose_with_covariance(R @ point + p, R @ covariance @ R.T)
            self._point.numbers(stamp, self.frame.label, values)

        self._when_known(instant, send)
        margin = float(instant.margins['mr_ad'][0])
        outline = instant.ground.outline() if self._margin.wanted else None
        if math.isfinite(margin) and outline is not None:
            away = from_edge(outline, point)
            away /= max(float(np.linalg.norm(away)), 1e-12)
            variance = np.diag([away @ covariance @ away, 0.0, 0.0])
            values = pose_with_covariance(np.array([margin, 0.0, 0.0]), variance)
            self._margin.numbers(stamp, '', values)

    def put_fused(self, instant: Evaluated, rig: Rig) -> None:
        """Publish what motion and feet say together, its covariances where they change."""
        fused = instant.fused
        if fused is None or not all_finite(fused.contact[0]):
            return
        wrenches = ('fusion/contact_wrench', 'fusion/external_wrench')
        self._send(wrenches, instant, rig)
        if fused.changes[0]:
            self._send([f'{name}_covariance' for name in wrenches], instant, rig)
        if fused.pushed[0]:
            self._send(['fusion/push_on_link'], instant, rig)
        point, covariance = self.point('fusion', instant, rig), fused.point_covariance
        if point is None or covariance is None:
            return

        def send(R: Array, p: Array) -> None:
            values = pose_with_covariance(R @ point + p, R @ covariance[0] @ R.T)
            output = self._made['fusion/izmp_with_covariance']
            output.numbers(int(instant.stamps[0]), self.frame.label, values)

        self._when_known(instant, send)

    def _when_known(self, instant: Evaluated, send: Any) -> None:
        q, normal = instant.joints.positions[0], instant.ground.plane.normal[0]
        self.frame.when_known(int(instant.stamps[0]), q, normal, send)

    def _put(self, instant: Evaluated, rig: Rig) -> None:
        stamp, q, ground = int(instant.stamps[0]), instant.joints.positions[0], instant.ground
        self.findings.recent.see(instant, rig)
        izmp, cop = self.point('mr_ad', instant, rig), None
        feet = instant.wrenches.get('cop')
        if feet is not None and all_finite(feet):
            self._send(['feet/contact_wrench', 'external_wrench'], instant, rig)
            cop = self.point('cop', instant, rig)
        if all_finite(ground.feet.shares[0]):
            self._send(OF_EACH_FOOT, instant, rig)
        if math.isfinite(instant.margins['mr_ad'][0]):
            self._send(['margin'], instant, rig)
        draw = self._markers.due(stamp)
        outline = ground.outline() if draw or self._polygon.wanted else None

        def send(R: Array, p: Array) -> None:
            if cop is not None and izmp is not None:
                gap = izmp - cop
                self._made['gap'].computed(stamp, self.frame.label, lambda: (R @ gap,))
            if outline is not None:
                self._polygon(polygon_stamped, stamp, self.frame.label, outline @ R.T + p)

        self._when_known(instant, send)
        self._send_nif(stamp, ground.plane.normal[0])
        if draw:
            self._markers.show(stamp, q, izmp, cop, outline, instant.wrenches['mr_ad'][0])

    def _send_nif(self, stamp: int, normal: Array) -> None:
        if not self._broadcaster.wanted:
            return
        axes = plane_axes(normal)
        root_R_nif = np.stack([axes[0], axes[1], normal], axis=1)
        self._broadcaster.send(
            transform_stamped(stamp, self._root, self._nif, root_R_nif, np.zeros(3))
        )


def _outages(node: TopicNode) -> Iterator[Outage]:
    """Times in which the signals of a node hung."""
    topics = {entry.signal: entry.topic for entry in node.health.inputs}
    found = {} if node.evaluator is None else node.evaluator.stages.stuck_times
    for signal, spans in found.items():
        for begin, end in list(spans):
            yield Outage(topics.get(signal, signal), begin, end, 'hangs')


class FallOutputs:
    """Publishes alarm, probability and both with a stamp, and states the reason in diagnostics."""

    def __init__(self, node: TopicNode, events: Output, risk: Output) -> None:
        self._health, self._log = node.health, node.get_logger()
        self._alarm = node.advertise('fall_alarm', Bool)
        self._probability = node.advertise('fall_probability', Float64)
        self._risk = risk
        self._outputs = (self._alarm, self._probability, risk, events)
        self._latest: FallRisk | None = None
        self._put_at = time.monotonic()
        self._reason = ''

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return any(output.wanted for output in self._outputs)

    def put(self, stamp: int, risk: FallRisk) -> None:
        """Publish what is known of an instant [ns]; while nothing is, an alarm and its end."""
        probability, alarm = float(risk.probability[0]), bool(risk.alarm[0])
        known = math.isfinite(probability)
        if known:
            self._probability.numbers(stamp, '', np.array([probability]))
            self._risk.numbers(stamp, '', np.array([probability, float(alarm), 0.0]))
        ends = not alarm and self._latest is not None and bool(self._latest.alarm[0])
        if known or alarm or ends:
            self._alarm(lambda _: Bool(data=alarm), stamp)
        if alarm and not self._reason:
            self._reason = f'Fall alarm: {risk.sentence()}'
            self._health.logged = self._reason
            self._log.error(self._reason, throttle_duration_sec=1.0)
        elif not alarm:
            self._reason = ''
        self._latest, self._put_at = risk, time.monotonic()

    def inspect(self) -> None:
        """State what is known of a fall."""
        if self._latest is not None and not self.wanted:  # nothing is evaluated any more
            self._latest, self._reason = None, ''
            self._health.values.pop('fall probability', None)
            self._health.values.pop('fall', None)
            self._health.clear('fall_alarm')
        if self._latest is None:
            return
        if self._latest.alarm[0] and time.monotonic() - self._put_at >= SILENT:
            self._run_out()
        probability = float(self._latest.probability[0])
        known = math.isfinite(probability)
        self._health.values['fall probability'] = f'{probability:.4f}' if known else 'unknown'
        self._health.values['fall'] = self._latest.sentence()
        self._health.remark('fall_alarm', 'error', self._reason)

    def _run_out(self) -> None:
        """End an alarm that no instant has confirmed for so long that it says nothing any more."""
        silent = self._health.silent
        why = f'no messages on {list_names(silent)}' if silent else 'no instant is evaluated'
        self._latest, self._reason = FallRisk.nothing(1, f'{why} any more'), ''
        if self._alarm.wanted:  # at no new stamp, so not as a result
            self._alarm.publish(Bool(data=False))
