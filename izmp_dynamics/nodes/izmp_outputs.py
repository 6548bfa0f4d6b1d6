"""What the node izmp publishes about an instant."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import (
    PointStamped,
    PolygonStamped,
    PoseWithCovarianceStamped,
    Vector3Stamped,
    WrenchStamped,
)
from std_msgs.msg import Float64
from visualization_msgs.msg import MarkerArray

from izmp_dynamics.base.conventions import Array, all_finite
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.external_wrench import external_wrench
from izmp_dynamics.nodes.evaluation_frame import EvaluationFrame
from izmp_dynamics.nodes.event_topic import QOS, EventTopic
from izmp_dynamics.nodes.force_watch import force_findings
from izmp_dynamics.nodes.markers import Markers
from izmp_dynamics.nodes.messages import (
    polygon_stamped,
    pose_with_covariance,
    transform_stamped,
)
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.recent_findings import RecentFindings
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.transforms import TransformBroadcaster
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.stability.fall_alarm import FallRisk
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.verdict.events.event import TOPIC
from izmp_dynamics.verdict.recent import Instant, Recent


class Placed(NamedTuple):
    """An instant whose ground is known.

    Attributes:
        ground: of one instant.
        q: (n,) joint positions.
        up: (3,) vertical in the root frame; NaN where it is not known.
    """

    ground: Ground
    q: Array
    up: Array


class IzmpOutputs:
    """Publishes points, margin, gap, polygon, markers and the frame nif.

    Args:
        node: publishes.

    Attributes:
        frame: in which the points are published.
        uncertain: the topic of the IZMP with its covariance.
        broadcaster: of TF.
    """

    def __init__(self, node: StageNode) -> None:
        self.health = node.health
        self.root = node.root
        self._nif = node.frame_names.of(node.frame_names.nif)
        name = fixed(
            node,
            'evaluation_frame',
            '',
            'frame of the points: a link, world, nif, or any frame that TF knows; the root link '
            'if not given',
        )
        self.frame = EvaluationFrame(node, name or node.model.root)
        self._points = {
            'mr_ad': node.advertise('mr_ad/izmp', PointStamped),
            'ir_md': node.advertise('ir_md/izmp', PointStamped),
            'cop': node.advertise('cop', PointStamped),
        }
        ground = node.robot.ground
        self._ground_frame = ground.frame or ''
        if not ground.moves:
            self._ground_frame = node.frame_names.of(self._ground_frame)
        self._in_ground = {}
        if ground.frame is not None:
            self._in_ground = {
                name: node.advertise(f'{topic}_in_ground', PointStamped)
                for name, topic in (
                    ('mr_ad', 'mr_ad/izmp'), ('ir_md', 'ir_md/izmp'), ('cop', 'cop'),
                )
            }  # fmt: skip
        self.uncertain = node.advertise('mr_ad/izmp_with_covariance', PoseWithCovarianceStamped)
        self._feet = node.advertise('feet/contact_wrench', WrenchStamped)
        self._external = None
        feet = node.robot.feet
        if feet and all(foot.wrench and not foot.wrench.normal_only for foot in feet):
            self._external = node.advertise('external_wrench', WrenchStamped)
        self._polygon = node.advertise('support_polygon', PolygonStamped)
        self._margin = node.advertise('margin', Float64)
        self._gap = node.advertise('gap', Vector3Stamped)
        self._markers = Markers(node.advertise('markers', MarkerArray), node.model, self.root)
        self.broadcaster = TransformBroadcaster(node, node.frame_names)
        recent = Recent(
            tuple(foot.name for foot in feet),
            tuple(bool(foot.wrench and foot.wrench.normal_only) for foot in feet),
            node.model.total_mass,
            node.robot.gravity,
            node.model.com,
            partial(force_findings, node.robot),
        )
        self.events = node.advertise(TOPIC, DiagnosticArray, QOS)
        events = EventTopic(self.events)
        self._recent = RecentFindings(recent, node.health, events, partial(_outages, node)).recent

    @property
    def world_wanted(self) -> bool:
        """Whether anybody subscribes to what needs the pose of the root in the world."""
        return self.frame.in_world or self.broadcaster.wanted or self.ir_md_wanted

    @property
    def ir_md_wanted(self) -> bool:
        """Whether anybody subscribes to the IZMP of IR-MD."""
        in_ground = self._in_ground.get('ir_md')
        return self._points['ir_md'].wanted or (in_ground is not None and in_ground.wanted)

    def point(self, name: str, stamp: int, placed: Placed, point: Array) -> Array | None:
        """Publish a point (3,) in the root frame [m]; return it, None if there is none."""
        ground, q = placed.ground, placed.q
        if not all_finite(point):
            self.health.count(name, Reason.IN_FLIGHT)
            return None
        if ground.frame is not None and name in self._in_ground:
            (seen,) = ground.frame.points(point[None])
            self._in_ground[name].numbers(stamp, self._ground_frame, seen)

        def send(R: Array, p: Array) -> None:
            self._points[name].computed(stamp, self.frame.label, _placed, R, p, point)

        self.frame.when_known(stamp, q, ground.plane.normal[0], send)
        return point

    def send_uncertain(self, stamp: int, placed: Placed, point: Array, covariance: Array) -> None:
        """Publish the IZMP of MR-AD (3,) with its covariance (3, 3), given in the root frame."""
        if not all_finite(covariance):
            return

        def send(R: Array, p: Array) -> None:
            values = pose_with_covariance(R @ point + p, R @ covariance @ R.T)
            self.uncertain.numbers(stamp, self.frame.label, values)

        self.frame.when_known(stamp, placed.q, placed.ground.plane.normal[0], send)

    def verdict(
        self,
        stamp: int,
        placed: Placed,
        wrench: Array,
        points: Mapping[str, Array],
        margin: float,
        fall: FallRisk | None,
    ) -> None:
        """Publish the IZMP of MR-AD, and how it compares with the feet.

        Args:
            stamp: of the instant [ns].
            placed: the instant.
            wrench: (6,) contact wrench of MR-AD about the root origin.
            points: 'mr_ad' and, where the feet measure it, 'cop' → (3,) [m].
            margin: distance of the IZMP from the edge of the support polygon [m].
            fall: whether the robot is about to fall; None where that is not evaluated.
        """
        ground, q, up = placed
        risk = None if fall is None else (float(fall.probability[0]), bool(fall.alarm[0]))
        self._recent.see(Instant(stamp, ground, wrench, q, up, risk))
        izmp = self.point('mr_ad', stamp, placed, points['mr_ad'])
        feet = None if ground.feet_wrench is None else ground.feet_wrench.as_array()[0]
        cop = None
        if feet is not None and all_finite(feet):
            self._feet.numbers(stamp, self.root, feet)
            self._send_external(stamp, wrench, feet)
            cop = self.point('cop', stamp, placed, points['cop'])
        if math.isfinite(margin):
            self._margin.numbers(stamp, '', np.array([margin]))
        draw = self._markers.due(stamp)
        outline = ground.outline() if draw or self._polygon.wanted else None

        def send(R: Array, p: Array) -> None:
            if cop is not None and izmp is not None:
                self._gap.computed(stamp, self.frame.label, _gap, R, izmp, cop)
            if outline is not None:
                corners = outline.corners @ R.T + p
                self._polygon(polygon_stamped, stamp, self.frame.label, corners)

        normal = ground.plane.normal[0]
        self.frame.when_known(stamp, q, normal, send)
        self._send_nif(stamp, normal)
        if draw:
            self._markers.show(stamp, q, izmp, cop, outline, wrench)

    def _send_external(self, stamp: int, moved: Array, measured: Array) -> None:
        """Publish what the ground does not explain, if the feet measure their whole wrench."""
        if self._external is not None:
            self._external.computed(stamp, self.root, _unexplained, moved, measured)

    def _send_nif(self, stamp: int, normal: Array) -> None:
        if not self.broadcaster.wanted:
            return
        axes = plane_axes(normal)
        root_R_nif = np.stack([axes[0], axes[1], normal], axis=1)
        self.broadcaster.send(
            transform_stamped(stamp, self.root, self._nif, root_R_nif, np.zeros(3))
        )


def _outages(node: StageNode) -> Iterator[Outage]:
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


def _unexplained(moved: Array, measured: Array) -> tuple[Array, Array]:
    """The contact wrench (6,) of the motion without the measured one."""
    rest = external_wrench(*map(ContactWrench.from_array, (moved, measured)))
    return rest.force, rest.moment
