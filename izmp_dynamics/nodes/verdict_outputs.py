"""What the node izmp publishes: points, margin, polygon, fall alarm, events, the frame nif."""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, all_finite
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.evaluation_frame import EvaluationFrame
from izmp_dynamics.nodes.event_topic import QOS, EventTopic
from izmp_dynamics.nodes.fall_outputs import FallOutputs
from izmp_dynamics.nodes.markers import Markers
from izmp_dynamics.nodes.messages import (
    message_class,
    polygon_stamped,
    pose_with_covariance,
    transform_stamped,
)
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.recent_findings import RecentFindings
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.transforms import TransformBroadcaster
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.results.topics import LIVE, OF_EACH_FOOT, POINTS
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.verdict.events.event import TOPIC
from izmp_dynamics.verdict.recent import Instant, Recent


class VerdictOutputs:
    """Publishes points, margin, gap, polygon, markers, fall alarm, events and the frame nif.

    Args:
        node: publishes.
        made: topics of the table of results.
        send: publishes results that need no pose, by that table.
        broadcaster: of TF.

    Attributes:
        frame: in which the points are published.
        falls: the fall alarm.
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
        name = fixed(
            node,
            'evaluation_frame',
            '',
            'frame of the points: a link, world, nif, or any frame that TF knows; the root link '
            'if not given',
        )
        self.frame = EvaluationFrame(node, name or node.model.root)
        live = {
            name: node.advertise(name, message_class(kind), QOS if name == TOPIC else RESULT)
            for name, kind in LIVE.items()
        }
        self._point, self._margin, risk, self._polygon, markers, events = live.values()
        self._markers = Markers(markers, node.model, node.root)
        recent = Recent(node.robot, node.model.total_mass, node.model.com)
        self._recent = RecentFindings(
            recent, node.health, EventTopic(events), partial(_outages, node)
        ).recent
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
        if instant.frame is not None:
            self._send([f'{name}_in_ground'], instant, rig)

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
            self._point.numbers(stamp, self.frame.label, values)

        self._when_known(instant, send)
        margin = float(instant.margins['mr_ad'][0])
        outline = instant.ground.outline() if self._margin.wanted else None
        if math.isfinite(margin) and outline is not None:
            away = _from_edge(point, outline.corners)
            variance = np.diag([away @ covariance @ away, 0.0, 0.0])
            values = pose_with_covariance(np.array([margin, 0.0, 0.0]), variance)
            self._margin.numbers(stamp, '', values)

    def _when_known(self, instant: Evaluated, send: Any) -> None:
        """Publish as soon as the pose of the evaluation frame is known."""
        q, normal = instant.joints.positions[0], instant.plane.normal[0]
        self.frame.when_known(int(instant.stamps[0]), q, normal, send)

    def _put(self, instant: Evaluated, rig: Rig) -> None:
        stamp, q, ground = int(instant.stamps[0]), instant.joints.positions[0], instant.ground
        wrench, fall = instant.wrenches['mr_ad'][0], instant.fall
        risk = None if fall is None else (float(fall.probability[0]), bool(fall.alarm[0]))
        self._recent.see(Instant(stamp, ground, wrench, q, instant.world.R[0, 2], risk))
        izmp, cop = self.point('mr_ad', instant, rig), None
        feet = instant.wrenches.get('cop')
        if feet is not None and all_finite(feet):
            self._send(['feet/contact_wrench', 'external_wrench'], instant, rig)
            cop = self.point('cop', instant, rig)
        if all_finite(ground.shares[0]):
            self._send(OF_EACH_FOOT, instant, rig)
        if math.isfinite(instant.margins['mr_ad'][0]):
            self._send(['margin'], instant, rig)
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


def _outages(node: TopicNode) -> Iterator[Outage]:
    """Times in which the signals of a node hung."""
    topics = {entry.signal: entry.topic for entry in node.health.inputs}
    for signal, spans in node.hung().items():
        for begin, end in list(spans):
            yield Outage(topics.get(signal, signal), begin, end, 'hangs')


def _from_edge(point: Array, corners: Array) -> Array:
    """Unit vector (3,) to a point from the nearest one on the edge with corners (C, 3)."""
    side = np.roll(corners, -1, axis=0) - corners
    along = np.sum((point - corners) * side, axis=1) / np.maximum(np.sum(side**2, axis=1), 1e-12)
    way = point - corners - np.clip(along, 0.0, 1.0)[:, None] * side
    nearest: Array = way[np.argmin(np.linalg.norm(way, axis=1))]
    return nearest / max(float(np.linalg.norm(nearest)), 1e-12)


def _placed(R: Array, p: Array, point: Array) -> tuple[Array]:
    """A point (3,) in another frame."""
    return (R @ point + p,)


def _gap(R: Array, izmp: Array, cop: Array) -> tuple[Array]:
    """From the CoP to the IZMP (3,), in other axes."""
    return (R @ (izmp - cop),)
