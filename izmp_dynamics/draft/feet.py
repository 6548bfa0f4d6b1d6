"""The feet of a robot: soles, outlines, force sensors and what is below those."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import shapely.geometry

from izmp_dynamics.bags.messages import WrenchBatch
from izmp_dynamics.base.conventions import GRAVITY, Array
from izmp_dynamics.draft.links import Sole, find_soles, heaviest_link, link_of, matching
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.model.visuals import shapes_at, visuals_of
from izmp_dynamics.stability.clearance import is_point

_LOADED = 0.05  # part of the weight below which the sign of a force says nothing
_SOLE = np.array([[0.1, 0.05], [-0.1, 0.05], [-0.1, -0.05], [0.1, -0.05]])  # where unknown [m]

CONTACT = 0.01
"""What is no higher above the lowest point of a foot belongs to its sole [m]."""

POINT_FOOT = np.array([[0.005, 0.0], [-0.0025, 0.004], [-0.0025, -0.004]])
"""Corners of a foot that touches the ground with a point [m]."""

ROUND, LARGEST_BALL = 0.001, 0.1
"""So near to a sphere a mesh is a ball, root mean square [m]; its radius is no larger [m]."""

_OF_A_BALL = 20  # points at least
_COARSE = 0.002  # corners of a mesh are left out as long as the outline stays this close [m]
_LEAST_CORNERS = 3
_CARRIES = 0.2  # part of the weight from which a CoP counts


@dataclass(frozen=True)
class Outline:
    """Of a sole.

    Attributes:
        corners: (V, 2) in the frame of the sole [m].
        z: of the lowest points in that frame [m].
        is_point: whether the foot touches the ground with a point.
        origin: what it follows from, for a comment.
        ball: (4,) centre in the frame of the sole and radius of the ball that the foot is [m].
    """

    corners: Array
    z: float
    is_point: bool
    origin: str
    ball: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Posture:
    """How the robot stands.

    Attributes:
        model: of the robot.
        q: (n,) joint positions [rad] or [m].
        up: (3,) unit vector in the root frame.
    """

    model: RobotModel
    q: Array
    up: Array

    @property
    def weight(self) -> float:
        """Of the robot [N]."""
        return self.model.total_mass * GRAVITY


@dataclass(frozen=True)
class ForceSensor:
    """A force sensor of a foot.

    Attributes:
        topic: of its messages.
        link: whose axes it measures in.
        is_named: whether its messages name that link.
        wrenches: (T, 6) about the origin of the link in its axes [N, N·m].
        upward: mean force that it reads in the direction up [N]; zero where it hardly reads any.
    """

    topic: str
    link: str
    is_named: bool
    wrenches: Array
    upward: float

    @property
    def is_normal_only(self) -> bool:
        """Whether nothing but the force along z differs from zero."""
        return not np.nan_to_num(np.delete(self.wrenches, 2, axis=1)).any()


@dataclass(frozen=True)
class DraftedFoot:
    """A foot.

    Attributes:
        sole: its link.
        outline: of the sole.
        is_known: whether the outline follows from shapes.
        sensor: its force sensor; None if it has none.
        below: link that the sensor does not feel; None if there is none.
    """

    sole: Sole
    outline: Outline
    is_known: bool
    sensor: ForceSensor | None
    below: str | None


def find_feet(
    posture: Posture, urdf: Urdf, wrenches: Mapping[str, WrenchBatch]
) -> list[DraftedFoot]:
    """Find the feet, in the order of the URDF.

    Args:
        posture: how the robot stands.
        urdf: of the robot.
        wrenches: topic → messages of force sensors; of several of a foot the first one counts.
    """
    soles = find_soles(posture.model, posture.q, posture.up)
    sensors = _sensors(posture, [sole.link for sole in soles], wrenches)
    below = _below(posture, sensors, len(soles))
    feet = []
    for sole in soles:
        sensor = sensors.get(sole.link)
        outline = _outline_of_shapes(posture.model, urdf, sole.link)
        is_known = outline is not None
        if outline is None and sensor is not None and sole.is_upright:
            outline = _outline_of_forces(_at_sole(posture, sole.link, sensor), posture.weight)
        if outline is None:
            corners = _SOLE if sole.is_upright else POINT_FOOT
            outline = Outline(corners, 0.0, not sole.is_upright, '')
        feet.append(DraftedFoot(sole, outline, is_known, sensor, below.get(sole.link)))
    return feet


def _sensors(
    posture: Posture, soles: Sequence[str], wrenches: Mapping[str, WrenchBatch]
) -> dict[str, ForceSensor]:
    """Sole → its force sensor: by the link that the messages name, else by the topic's name."""
    model, found = posture.model, dict[str, ForceSensor]()
    chains = {sole: {model.mount(sole).body, *model.chain(sole)} for sole in soles}
    links = {topic: link_of(batch, model.frame_names) for topic, batch in wrenches.items()}
    for topic, link in sorted(links.items(), key=lambda item: item[1] is None):
        free = [sole for sole in soles if sole not in found]
        if link is None:
            sole = matching(topic, free)
        else:
            body = model.mount(link).body
            above = [sole for sole in free if body and body in chains[sole]]
            sole = above[0] if len(above) == 1 else None
        if sole is not None:
            values, frame = wrenches[topic].wrenches, link or sole
            R, _ = model.frame_pose(frame, posture.q)
            upward = float(posture.up @ R @ finite_mean(values[:, :3]))
            upward = upward if abs(upward) > _LOADED * posture.weight else 0.0
            found[sole] = ForceSensor(topic, frame, link is not None, values, upward)
    return found


def _below(posture: Posture, sensors: Mapping[str, ForceSensor], count: int) -> dict[str, str]:
    """Sole → the link that its force sensor does not feel.

    By the tree, where a sensor's link carries one with mass. Else, if all feet have sensors, the
    heaviest link rigidly attached to each counts if the sum of the forces is then closer to the
    weight.
    """
    model = posture.model
    found = {}
    for sole, sensor in sensors.items():
        carried = _carried(model, sensor.link)
        if carried is not None:
            found[sole] = carried
    fixed = {sole: heaviest_link(model, sensor.link) for sole, sensor in sensors.items()}
    if found or len(sensors) < count or any(fixed[sole] == sensors[sole].link for sole in fixed):
        return found
    measured = sum(abs(sensor.upward) for sensor in sensors.values())
    unfelt = sum(model.part(foot).total_mass * GRAVITY for foot in fixed.values())
    fits_better = abs(measured + unfelt - posture.weight) < abs(measured - posture.weight)
    return fixed if fits_better else {}


def _carried(model: RobotModel, sensor: str) -> str | None:
    """The first link with mass that a sensor's link carries and that is fixed to it."""
    body, carried = model.mount(sensor).body, model.links_carried(sensor)
    for segment in model.tree.segments:  # parents before children
        link = segment.link
        is_fixed = link != sensor and link in carried and model.mount(link).body == body
        if is_fixed and segment.segment.getInertia().getMass() > 0.0:
            return link
    return None


def _at_sole(posture: Posture, sole: str, sensor: ForceSensor) -> Array:
    """(T, 6) wrenches about the origin of the sole in its axes [N, N·m]."""
    at_sensor, at_sole = (
        posture.model.frame_pose(link, posture.q) for link in (sensor.link, sole)
    )
    in_root = ContactWrench.from_array(sensor.wrenches).transformed(*at_sensor)
    return in_root.seen_from(*at_sole).as_array()


def finite_mean(vectors: Array) -> Array:
    """(k,) mean of the finite ones of (T, k); zero without any."""
    finite = vectors[np.isfinite(vectors).all(axis=1)]
    mean: Array = finite.mean(axis=0) if len(finite) else np.zeros(vectors.shape[1])
    return mean


def _outline_of_shapes(model: RobotModel, urdf: Urdf, sole: str) -> Outline | None:
    """What of a foot touches the ground, by its collision shapes, else by its visuals.

    None where the link of the sole and the heaviest one fixed to it have no shapes, or the files
    of their meshes are not there.
    """
    links = {sole, heaviest_link(model, sole)}
    for kind in ('collision', 'visual'):
        parts = [part for link, part in shapes_at(model, urdf, sole, kind) if link in links]
        points = np.concatenate([np.zeros((0, 3)), *parts])
        lowest = float(points[:, 2].min(initial=np.inf))
        hull = _hull(points[points[:, 2] < lowest + CONTACT, :2])
        if hull is not None:
            point = is_point(hull)
            corners = POINT_FOOT + hull.mean(axis=0) if point else hull
            own = [part for link, part in shapes_at(model, urdf, sole, kind) if link == sole]
            ball = _ball(urdf, sole, kind) or (
                _fitted_ball(np.concatenate(own)) if own and point else None
            )
            return Outline(corners, lowest, point, f'its {kind} shape', ball)
    return None


def _ball(urdf: Urdf, sole: str, kind: str) -> tuple[float, ...] | None:
    """Centre and radius [m] of the sphere that is the only shape of a link; None otherwise."""
    shapes = [shape for shape in visuals_of(urdf, kind) if shape.link == sole]
    if [shape.kind for shape in shapes] != ['sphere']:
        return None
    return (*np.round(shapes[0].p, 3).tolist(), *shapes[0].size)


def _fitted_ball(points: Array) -> tuple[float, ...] | None:
    """Centre and radius [m] of the ball that the lowest of (N, 3) points are on, or None."""
    low = np.unique(points[points[:, 2] < points[:, 2].min() + CONTACT].round(5), axis=0)
    if len(low) < _OF_A_BALL:
        return None
    A = np.column_stack([2.0 * low, np.ones(len(low))])
    x, _, rank, _ = np.linalg.lstsq(A, np.einsum('ni,ni->n', low, low), rcond=None)
    radius = float(np.sqrt(max(x[3] + x[:3] @ x[:3], 0.0)))
    off = np.linalg.norm(low - x[:3], axis=1) - radius
    if rank < 4 or radius > LARGEST_BALL or np.sqrt(np.mean(off**2)) > ROUND:
        return None
    return (*(np.round(x[:3], 3) + 0.0).tolist(), round(radius, 4))


def _outline_of_forces(wrenches: Array, weight: float) -> Outline | None:
    """The box around the CoP, which the sole is larger than.

    None where the foot hardly carries anything, or the CoP hardly moves.

    Args:
        wrenches: (T, 6) about the origin of the sole in its axes [N, N·m], of either sign.
        weight: of the robot [N].
    """
    force = wrenches[:, 2]
    loaded = wrenches[np.abs(force) > _CARRIES * weight]  # NaN compares as False
    if len(loaded) < _LEAST_CORNERS:
        return None
    cop = np.stack([-loaded[:, 4], loaded[:, 3]], axis=1) / loaded[:, 2:3]
    (x0, y0), (x1, y1) = np.percentile(cop, (1.0, 99.0), axis=0)
    if min(x1 - x0, y1 - y0) < CONTACT:
        return None
    corners = np.array([[x1, y1], [x0, y1], [x0, y0], [x1, y0]])
    return Outline(corners, 0.0, False, 'where the force acted, which is less than the sole')


def _hull(points: Array) -> Array | None:
    """(V, 2) corners, counter-clockwise; None of points on a line."""
    hull = shapely.geometry.MultiPoint(points).convex_hull
    if hull.geom_type != 'Polygon':
        return None
    simple = hull.simplify(_COARSE)
    ring = simple if simple.geom_type == 'Polygon' and simple.area > 0.0 else hull
    corners: Array = np.array(shapely.geometry.polygon.orient(ring).exterior.coords)[:-1]
    return corners
