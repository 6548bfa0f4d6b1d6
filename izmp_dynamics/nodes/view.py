"""Node view: the running robot in a web browser, with margin, tilt, fall probability, events.

It takes the newest message of each topic 20 times a second, by best effort: nobody waits for it.
"""

import time
from collections import deque
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64
from visualization_msgs.msg import Marker, MarkerArray

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.browser import Browser, Picture
from izmp_dynamics.nodes.markers import force_length
from izmp_dynamics.nodes.messages import (
    JointReader,
    quaternion,
    stamp_of,
    vector,
)
from izmp_dynamics.nodes.parameters import fixed, result_topic, stated_robot
from izmp_dynamics.nodes.qos import EVENTS, NEWEST
from izmp_dynamics.nodes.receiving import Receiver, Reception
from izmp_dynamics.nodes.transforms import FrameNames
from izmp_dynamics.report.player.shapes import robot_shapes
from izmp_dynamics.signals.imu import rotations
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_dynamics.verdict.events.event import TOPIC

RATE = 20.0
"""Pictures a second [Hz]."""

PLOT_EVERY = 4
"""Pictures between two updates of plots and texts."""

FORGOTTEN = 1.0
"""Time without a message after which its values are not shown any more [s]."""

MOST_EVENTS = 12
"""Events that are listed."""

LEAST_AREA = 1e-4
"""Twice the area of a polygon that has a normal [m²]."""

STANDING = NANOSECONDS
"""Time on the feet at the beginning whose mean attitude is the standing pose [ns]."""

_SIGNS = {DiagnosticStatus.OK: '🟢', DiagnosticStatus.WARN: '🟡'}


class View(Node):
    """Shows a robot whose root stays in the middle of the picture, upright as it is.

    The IMU's orientation says where up is, else the support polygon.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('view', parameter_overrides=list(options.pop('overrides', ())))
        address = fixed(
            self,
            'address',
            '127.0.0.1',
            'address that the page is served at; 127.0.0.1: to this computer alone, 0.0.0.0: to '
            'everyone who reaches it',
        )
        port = fixed(self, 'port', 8080, 'port of the page, or the next free one', (1, 65535))
        robot = stated_robot(self)
        loaded = robot.read_urdf()
        self._model = model = load_model(loaded, robot.root)
        self._imu, self._names = robot.imu, FrameNames(self, model.frame_names)
        self._joints, self._q = JointReader(model.joint_names), np.zeros(model.dof)
        nowhere = Motion(model, loaded, np.empty(0, np.int64), np.empty((0, model.dof)))
        shapes, _ = robot_shapes(nowhere)
        parents = model.joints[:, PARENT].astype(np.int64)
        self.browser = Browser(shapes, parents, f'izmp: {model.name}', address, port)
        self.picture = Picture()
        self._force_length = force_length(model)
        self._is_level, self._stamp = False, 0
        self._standing, self._stands_until = np.zeros(3), 0
        self._received: dict[str, float] = {}
        self._events = deque[str](maxlen=MOST_EVENTS)
        self._status: dict[str, DiagnosticStatus] = {}
        self._turn = 0
        self._receiver, of = Receiver(), partial(result_topic, self)
        for topic, kind, take, qos in (
            (robot.joints.topic, JointState, self._take_joints, NEWEST),
            (robot.imu.topic, Imu, self._take_imu, NEWEST),
            (of('markers'), MarkerArray, self._take_markers, NEWEST),
            (of('external_wrench'), WrenchStamped, self._take_force, NEWEST),
            (of('margin'), Float64, partial(self._take_number, 'margin', 1e3), NEWEST),
            (of('fall_probability'), Float64, partial(self._take_number, 'fall', 1e2), NEWEST),
            (of(TOPIC), DiagnosticArray, self._take_events, EVENTS),
            ('/diagnostics', DiagnosticArray, self._take_diagnostics, QoSProfile(depth=10)),
        ):
            self._receiver.add(Reception(self, topic, kind, take, _lost, qos))
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0 / RATE, self.look, clock=steady)
        self.get_logger().info(f'The robot is shown at {self.browser.url}')

    def destroy_node(self) -> None:
        """Close the page."""
        self.browser.close()
        super().destroy_node()

    def look(self) -> None:
        """Take the newest messages and show what they say."""
        self._receiver.take_all()
        picture, now = self.picture, time.monotonic()
        for shown in (picture.numbers, picture.arrows):
            for name in [name for name in shown if now - self._received[name] > FORGOTTEN]:
                del shown[name]
        self.browser.show(picture)
        self._turn += 1
        if self._turn % PLOT_EVERY == 0:
            self.browser.plot()
            self.browser.write(self._state(), self._sentences())

    def _state(self) -> str:
        if not self._stamp:
            return 'Waiting for results: does the graph run, and does the robot publish?'
        numbers = self.picture.numbers
        parts = [f'stamp {self._stamp / NANOSECONDS:.2f} s']
        if 'margin' in numbers:
            margin = numbers['margin']
            parts.insert(0, f'**margin {margin:.0f} mm**{"" if margin > 0 else " (outside)"}')
        if 'tilt' in numbers:
            parts.append(f'tilt from standing {numbers["tilt"]:.1f}°')
        if 'fall' in numbers:
            parts.append(f'fall probability {numbers["fall"]:.1f} %')
        legend = 'Red: IZMP and contact force; blue: CoP; grey: centre of mass; orange: push.'
        return f'{" · ".join(parts)}\n\n{legend}'

    def _sentences(self) -> list[str]:
        found = [*reversed(self._events)]
        for name, status in sorted(self._status.items()):
            found.append(f'{_SIGNS.get(status.level, "🔴")} {name}: {status.message}')
        return found

    # ---- Messages -----------------------------------------------------------------------------

    def _take_joints(self, message: JointState) -> None:
        found = self._joints.read(tuple(message.name), np.array(message.position))
        if isinstance(found, np.ndarray):
            known = np.isfinite(found)  # a joint that nobody publishes stays at 0
            self._q = np.where(known, found, self._q)
            self.picture.bodies = self._model.body_poses(self._q)

    def _take_imu(self, message: Imu) -> None:
        """Level the picture by the orientation, if there is one."""
        frame = self._imu.frame or self._names.link(message.header.frame_id)
        (R,), (good,) = rotations(quaternion(message.orientation)[None])
        if message.orientation_covariance[0] == -1.0 or not good:
            return
        if frame not in self._model.frame_names or not self._model.mounted_on_root(frame):
            return
        root_R_imu = self._model.mount(frame).body_R_frame @ from_rpy(self._imu.rotation)
        self._is_level = True
        self._level(root_R_imu @ R[2])

    def _level(self, up: Array) -> None:
        """Take `up` (3,), a unit vector in the root frame, for the vertical."""
        self.picture.level_R_root = np.vstack([plane_axes(up), up])
        if self.picture.polygon is None and not self._stands_until:
            return  # it may hang: as in the report, the tilt is that from the standing pose
        self._stands_until = self._stands_until or self._stamp + STANDING
        if self._stamp <= self._stands_until:
            self._standing += up
        cosine = up @ self._standing / np.linalg.norm(self._standing)
        self._note('tilt', float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))))

    def _take_markers(self, message: MarkerArray) -> None:
        picture = self.picture
        picture.points.clear()
        picture.polygon = None
        picture.arrows.pop('contact_force', None)
        for mark in message.markers:
            self._stamp = stamp_of(mark)
            if mark.action == Marker.DELETE:
                continue
            corners = np.array([vector(corner) for corner in mark.points])
            if mark.ns == 'support_polygon':
                self._take_polygon(corners[:-1])
            elif mark.ns == 'contact_force':
                picture.arrows[mark.ns] = corners
                self._received[mark.ns] = time.monotonic()
            else:
                picture.points[mark.ns] = vector(mark.pose.position)
        picture.time = self._stamp / NANOSECONDS

    def _take_polygon(self, corners: Array) -> None:
        """Put the robot onto the plane of its support polygon (C, 3) [m]."""
        self.picture.polygon = corners
        normal = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
        area = float(np.linalg.norm(normal))  # twice
        if not self._is_level and area > LEAST_AREA:
            self._level(np.copysign(1.0 / area, normal[2]) * normal)
        self.picture.height = -float((corners @ self.picture.level_R_root[2]).min())

    def _take_force(self, message: WrenchStamped) -> None:
        com = self.picture.points.get('com')
        if com is not None:
            force = self._force_length * vector(message.wrench.force)
            self.picture.arrows['external_force'] = np.stack([com, com + force])
            self._received['external_force'] = time.monotonic()

    def _take_number(self, name: str, scale: float, message: Float64) -> None:
        self._note(name, scale * message.data)

    def _note(self, name: str, value: float) -> None:
        if np.isfinite(value):
            self.picture.numbers[name] = value
            self._received[name] = time.monotonic()

    def _take_events(self, message: DiagnosticArray) -> None:
        at = stamp_of(message) / NANOSECONDS
        self._events.extend(f'{at:.2f} s: {status.message}' for status in message.status)

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        self._status |= {status.name: status for status in message.status}


def _lost(reason: object, number: int) -> None:
    """That messages are lost is meant: the newest one is shown."""
