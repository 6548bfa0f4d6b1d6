"""What a node of the graph publishes: its part of the table of results, and more of izmp."""

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PolygonStamped, PoseWithCovarianceStamped
from visualization_msgs.msg import MarkerArray

from izmp_dynamics.base.conventions import Array, all_finite
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.evaluation_frame import EvaluationFrame
from izmp_dynamics.nodes.event_topic import QOS, EventTopic
from izmp_dynamics.nodes.fall_outputs import FallOutputs
from izmp_dynamics.nodes.force_watch import force_findings
from izmp_dynamics.nodes.markers import Markers
from izmp_dynamics.nodes.messages import (
    WorldInstant,
    message_class,
    odometry_numbers,
    polygon_stamped,
    pose_and_twist,
    pose_with_covariance,
    transform_stamped,
)
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.recent_findings import RecentFindings
from izmp_dynamics.nodes.template import JointTemplate
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.transforms import TransformBroadcaster
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.results.topics import POINTS, TOPICS, Topic
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.verdict.events.event import TOPIC
from izmp_dynamics.verdict.recent import Instant, Recent

ROOT = ('root_twist', 'root_acceleration')
MR_AD, RATE = ('mr_ad/contact_wrench', 'com'), 'mr_ad/momentum_rate'
IR_MD = ('ir_md/contact_wrench', 'ir_md/momentum_rate')

PUBLISHED = {
    'joints': ('joint_kinematics',),
    'root': ROOT[::-1],
    'mr_ad': (*MR_AD, RATE),
    'world': ('odom',),
    'ir_md': IR_MD,
    'verdict': (*POINTS.values(), 'feet/contact_wrench', 'margin', 'gap'),
}
"""Of `stages.PARTS` what → results that are published by their table."""


class Outputs:
    """Publishes the results of instants.

    Args:
        node: publishes.

    Attributes:
        verdict: what follows from the contact wrenches; None where that is not computed.
        broadcaster: of TF; None where neither pose nor ground is computed.
    """

    def __init__(self, node: TopicNode) -> None:
        self._node, computes = node, node.task.computes
        self._made: dict[str, Output] = {}
        for part, topics in PUBLISHED.items():
            for name in topics if part in computes else ():
                self._advertise(TOPICS[name])
        self._template = JointTemplate(node.model.joint_names)
        self.broadcaster: TransformBroadcaster | None = None
        if computes & {'world', 'verdict'}:
            self.broadcaster = TransformBroadcaster(node, node.frame_names)
        self._sends_pose = 'world' in computes
        self.verdict: VerdictOutputs | None = None
        if 'verdict' in computes and self.broadcaster is not None:
            self.verdict = VerdictOutputs(node, self._made, self.broadcaster)
        self._frames = {'root': node.root, 'world': node.frame_names.world, '': ''}
        self._of_pose = [self._made[name] for name in (RATE, 'odom', *IR_MD) if name in self._made]

    def _advertise(self, topic: Topic) -> None:
        like: dict[str, Any] = {'child_frame_id': self._node.root} if topic.name == 'odom' else {}
        self._made[topic.name] = self._node.advertise(
            topic.name, message_class(topic.msgtype), **like
        )

    @property
    def world_wanted(self) -> bool:
        """Whether anybody subscribes to what needs the pose of the root in the world."""
        if self._sends_pose and self.broadcaster is not None and self.broadcaster.wanted:
            return True
        of_points = self.verdict is not None and self.verdict.world_wanted
        return of_points or any(output.wanted for output in self._of_pose)

    @property
    def judgement_wanted(self) -> bool:
        """Whether anybody subscribes to the fall alarm, or to the events."""
        return self.verdict is not None and self.verdict.falls.wanted

    @property
    def uncertain_wanted(self) -> bool:
        """Whether anybody subscribes to the covariance of the IZMP."""
        return self.verdict is not None and self.verdict.uncertain.wanted

    def reset(self) -> None:
        """Forget what belongs to the time before the clock was set back."""
        if self.verdict is not None:
            self.verdict.frame.reset()

    def put_first(self, instant: Evaluated, rig: Rig) -> bool:
        """Publish an instant, its IZMP first; return whether there is a verdict."""
        judged = False
        if instant.joints.valid[0]:
            known = 'mr_ad' in instant.wrenches and all_finite(instant.wrenches['mr_ad'])
            if self.verdict is not None:
                judged = self.verdict.put(instant, known, rig)
            if known:
                self._send(MR_AD, instant, rig)
            if instant.root.valid[0]:
                self._send(ROOT, instant, rig)
        if self.verdict is not None and instant.fall is not None:
            self.verdict.falls.put(int(instant.stamps[0]), instant.fall)
        if 'joint_kinematics' in self._made:
            write, stamp = self._template.write, int(instant.stamps[0])
            self._made['joint_kinematics'](write, stamp, instant.joints, 0)
        return judged

    def put_later(self, instant: Evaluated, evaluator: Evaluator) -> None:
        """Publish what needs the pose of the root, if it is known."""
        world = instant.world
        if not (instant.joints.valid[0] and all(map(all_finite, (world.R, world.p, world.v)))):
            return
        omega = instant.root.angular_velocity[0]
        if all_finite(omega):
            root = WorldInstant(world.R[0], world.p[0], world.v[0], omega)
            self._put_pose(instant, root, evaluator)
        if 'mr_ad' in instant.wrenches and all_finite(instant.wrenches['mr_ad']):
            self._send((RATE,), instant, evaluator.rig)
        if 'ir_md' in instant.wrenches and all_finite(instant.wrenches['ir_md']):
            self._send(IR_MD, instant, evaluator.rig)
            if self.verdict is not None and _has_ground(instant):
                self.verdict.point('ir_md', instant)

    def _put_pose(self, instant: Evaluated, root: WorldInstant, evaluator: Evaluator) -> None:
        stamp, rig = int(instant.stamps[0]), evaluator.rig
        if 'odom' in self._made and rig.position is not None:
            noise = evaluator.world.noise(evaluator.root.imu.period)
            self._made['odom'].computed(
                stamp, self._frames['world'], odometry_numbers, root, rig.position.p, noise
            )
        if self._sends_pose and self.broadcaster is not None:
            q = instant.joints.positions[0]
            self.broadcaster.send_root(self._node.model, stamp, root, q)
        if self.verdict is not None and self.verdict.frame.in_world:
            self.verdict.frame.take_odometry(stamp, pose_and_twist(root))

    def _send(self, names: Iterable[str], instant: Evaluated, rig: Rig) -> None:
        """Publish results that are known."""
        for name in names:
            if name in self._made:
                topic = TOPICS[name]
                frame = self._frames[topic.frame]
                self._made[name].computed(
                    int(instant.stamps[0]), frame, _numbers, topic, instant, rig
                )


class VerdictOutputs:
    """Publishes points, margin, gap, polygon, markers, fall alarm, events and the frame nif.

    Args:
        node: publishes.
        made: topics of the table of results.
        broadcaster: of TF.

    Attributes:
        frame: in which the points are published.
        uncertain: the topic of the IZMP with its covariance.
        falls: the fall alarm.
    """

    def __init__(
        self, node: TopicNode, made: dict[str, Output], broadcaster: TransformBroadcaster
    ) -> None:
        self._health, self._root, self._made = node.health, node.root, made
        self._nif, self._broadcaster = node.frame_names.of(node.frame_names.nif), broadcaster
        name = fixed(
            node,
            'evaluation_frame',
            '',
            'frame of the points: a link, world, nif, or any frame that TF knows; the root link '
            'if not given',
        )
        self.frame = EvaluationFrame(node, name or node.model.root)
        ground, feet = node.robot.ground, node.robot.feet
        self._ground_frame = ground.frame or ''
        if not ground.moves:
            self._ground_frame = node.frame_names.of(self._ground_frame)
        more = [f'{name}_in_ground' for name in POINTS.values()] if ground.frame else []
        if feet and all(foot.wrench and not foot.wrench.normal_only for foot in feet):
            more.append('external_wrench')
        for name in more:
            made[name] = node.advertise(name, message_class(TOPICS[name].msgtype))
        self.uncertain = node.advertise('mr_ad/izmp_with_covariance', PoseWithCovarianceStamped)
        self._polygon = node.advertise('support_polygon', PolygonStamped)
        self._markers = Markers(node.advertise('markers', MarkerArray), node.model, node.root)
        recent = Recent(
            tuple(foot.name for foot in feet),
            tuple(bool(foot.wrench and foot.wrench.normal_only) for foot in feet),
            node.model.total_mass,
            node.robot.gravity,
            node.model.com,
            partial(force_findings, node.robot),
        )
        events = node.advertise(TOPIC, DiagnosticArray, QOS)
        self._recent = RecentFindings(
            recent, node.health, EventTopic(events), partial(_outages, node)
        ).recent
        self.falls = FallOutputs(node, events)

    @property
    def world_wanted(self) -> bool:
        """Whether anybody subscribes to what needs the pose of the root in the world."""
        names = (POINTS['ir_md'], f'{POINTS["ir_md"]}_in_ground')
        asked = any(name in self._made and self._made[name].wanted for name in names)
        return self.frame.in_world or asked

    def put(self, instant: Evaluated, known: bool, rig: Rig) -> bool:
        """Publish IZMP and CoP, if the ground and MR-AD's wrench are known; return whether."""
        if not _has_ground(instant):
            self._health.count('ground', Reason.NO_GROUND)
            return False
        if known:
            self._put(instant, rig)
        return known

    def point(self, track: str, instant: Evaluated) -> Array | None:
        """Publish a point in the evaluation frame; return it (3,) in the root frame."""
        point: Array = instant.points[track][0]
        stamp = int(instant.stamps[0])
        if not all_finite(point):
            self._health.count(track, Reason.IN_FLIGHT)
            return None
        name = POINTS[track]
        in_ground = self._made.get(f'{name}_in_ground')
        if instant.frame is not None and in_ground is not None:
            (seen,) = instant.frame.points(point[None])
            in_ground.numbers(stamp, self._ground_frame, seen)

        def send(R: Array, p: Array) -> None:
            self._made[name].computed(stamp, self.frame.label, _placed, R, p, point)

        self._when_known(instant, send)
        return point

    def put_uncertain(self, instant: Evaluated, covariance: Array) -> None:
        """Publish the IZMP of MR-AD with its covariance (3, 3), given in the root frame."""
        if not all_finite(covariance):
            return
        stamp, point = int(instant.stamps[0]), instant.points['mr_ad'][0]

        def send(R: Array, p: Array) -> None:
            values = pose_with_covariance(R @ point + p, R @ covariance @ R.T)
            self.uncertain.numbers(stamp, self.frame.label, values)

        self._when_known(instant, send)

    def _when_known(self, instant: Evaluated, send: Any) -> None:
        """Publish as soon as the pose of the evaluation frame is known."""
        q, normal = instant.joints.positions[0], instant.plane.normal[0]
        self.frame.when_known(int(instant.stamps[0]), q, normal, send)

    def _put(self, instant: Evaluated, rig: Rig) -> None:
        stamp, q, ground = int(instant.stamps[0]), instant.joints.positions[0], instant.ground
        wrench, fall = instant.wrenches['mr_ad'][0], instant.fall
        risk = None if fall is None else (float(fall.probability[0]), bool(fall.alarm[0]))
        self._recent.see(Instant(stamp, ground, wrench, q, instant.world.R[0, 2], risk))
        izmp, cop = self.point('mr_ad', instant), None
        feet = instant.wrenches.get('cop')
        if feet is not None and all_finite(feet):
            self._made['feet/contact_wrench'].numbers(stamp, self._root, feet[0])
            if 'external_wrench' in self._made:
                topic = TOPICS['external_wrench']
                external = self._made['external_wrench']
                external.computed(stamp, self._root, _numbers, topic, instant, rig)
            cop = self.point('cop', instant)
        margin = float(instant.margins['mr_ad'][0])
        if math.isfinite(margin):
            self._made['margin'].numbers(stamp, '', np.array([margin]))
        draw = self._markers.due(stamp)
        outline = ground.outline() if draw or self._polygon.wanted else None

        def send(R: Array, p: Array) -> None:
            if cop is not None and izmp is not None:
                self._made['gap'].computed(stamp, self.frame.label, _gap, R, izmp, cop)
            if outline is not None:
                corners = outline.corners @ R.T + p
                self._polygon(polygon_stamped, stamp, self.frame.label, corners)

        self._when_known(instant, send)
        self._send_nif(stamp, ground.plane.normal[0])
        if draw:
            self._markers.show(stamp, q, izmp, cop, outline, wrench)

    def _send_nif(self, stamp: int, normal: Array) -> None:
        if not self._broadcaster.wanted:
            return
        axes = plane_axes(normal)
        root_R_nif = np.stack([axes[0], axes[1], normal], axis=1)
        self._broadcaster.send(
            transform_stamped(stamp, self._root, self._nif, root_R_nif, np.zeros(3))
        )


def _numbers(topic: Topic, instant: Evaluated, rig: Rig) -> tuple[Array, ...]:
    """What a message of an instant holds."""
    return tuple(each[0] for each in topic.values(instant, rig) or ())


def _has_ground(instant: Evaluated) -> bool:
    return all_finite(instant.plane.normal) and all_finite(instant.plane.point)


def _outages(node: TopicNode) -> Iterator[Outage]:
    """Times in which the signals of a node hung."""
    topics = {entry.signal: entry.topic for entry in node.health.inputs}
    for signal, spans in node.hung().items():
        for begin, end in list(spans):
            yield Outage(topics.get(signal, signal), begin, end, 'hangs')


def _placed(R: Array, p: Array, point: Array) -> tuple[Array]:
    """A point (3,) in another frame."""
    return (R @ point + p,)


def _gap(R: Array, izmp: Array, cop: Array) -> tuple[Array]:
    """From the CoP to the IZMP (3,), in other axes."""
    return (R @ (izmp - cop),)
