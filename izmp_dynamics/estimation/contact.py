"""Contact without foot sensors: which feet carry load, from the contact wrench and the joints.

Three pieces of evidence, none of which needs a memory:

* The facet: the robot rests on the plane under its soles that carries the ZMP. Of all planes
  through three corners of soles whose triangle holds the ZMP it is the lowest, so that all soles
  are above it, however the ground slopes. A foot that is higher above it does not touch it.
* The rest: feet that stand on the ground do not move against each other. The velocity of each
  corner follows from q̇ and the gyroscope, but for that of the root, which is common to all.
* The load: the contact wrench of MR-AD is shared among the feet that rest.

For more than one foot the shares are not determined by the wrench alone. Taken are those that
leave the centres of pressure of the soles nearest to the middles of these, and of equally good
ones those of the least norm: minimum of

    (z − Σ s_f c_f)ᵀ C⁻¹ (z − Σ s_f c_f) + LEAST_NORM Σ s_f²,    Σ s_f = 1,  s_f ≥ 0

with the ZMP z, the middles c_f of the soles and the covariance C of the corners about the middle
of the one that carries most. Without ankle moments, and on balls, that is the law of the lever.
Torques of the joints, where there are any and they can be true, decide the shares instead (see
`torques`). The force on each foot is parallel to that on the robot: it is inside the friction
cone of its foot where that is inside the one of the ground, whatever the coefficient of friction.

How probable it is that a foot carries 5 % of the weight is a logistic function of its height,
the logarithm of its speed and its share. It judges by the same evidence without thresholds.
"""

import math

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, Indices
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import add, cross, dot, scale, store, vector
from izmp_dynamics.stability.ground_plane import SAME_HEIGHT
from izmp_dynamics.stability.support_polygon import level_axes

SHORTEST_PHASE = 0.1
"""No foot stands or swings for less [s]."""

RESTING = 0.1
"""A foot on which the wrench does not lean carries only if it rests: it is slower than this part
of the `landing_speed` [-]."""

SLOW = RESTING * SAME_HEIGHT / SHORTEST_PHASE
"""That speed where nothing is filtered [m/s]."""

LEANING = 0.05
"""The wrench leans on a foot with this share, that of the weight with which a foot is loaded."""

LEAST_NORM = 0.0625
"""Weight of the shares beside the moments [-]: where the ZMP is by a quarter of the size of a
sole beside where equal shares would have it, both count alike."""

SMALLEST = 0.005
"""The centre of pressure of a ball is this near to its lowest point (standard deviation) [m]."""

VAGUE = 0.2
"""Standard deviation of a share above which torques do not determine it [-]."""

CHANCE = (0.21, -0.30, -1.27, 8.57)
"""Log-odds that a foot carries: constant; per `SAME_HEIGHT` that it is higher than the facet; per
e-fold of its speed above `SLOW`; per share. Of the least logarithmic loss on walks of
biped31 (level, slope, bumps, pushes, noise), a trot and a crawl of Go2 and steps of iCub, each
counting alike."""

FLAT = 1e-6
"""Corners that span less are on a line [m²]."""


def landing_speed(half_width: float | None) -> float:
    """How fast a foot on which the wrench leans moves at most [m/s].

    A faster one would not stay within the height that counts as contact for the shortest phase, of
    which a filter of this half-width [s] shows so much less.
    """
    return SAME_HEIGHT / max(SHORTEST_PHASE - (half_width or 0.0), 1e-6)


@kernel
def carrying(
    wrench: Array,
    up: Array,
    corners: Array,
    velocities: Array,
    foot: Indices,
    minimum_force: float,
    landing: float,
    stated: Array,
    pulls: Array,
    loaded: Flags,
    shares: Array,
    chances: Array,
) -> int:
    """Write which feet (F,) carry load at an instant, and their shares (F,) of it.

    Args:
        wrench: (6,) contact wrench on the robot about the root origin [N], [N·m].
        up: (3,) unit vector against gravity.
        corners: (C, 3) of all soles [m].
        velocities: (C, 3) of what is there, but for that of the root [m/s].
        foot: (C,) which foot each belongs to.
        minimum_force: vertical force below which no foot carries [N].
        landing: see `landing_speed` [m/s].
        stated: (F,) which feet a sensor says carry load, see `as_stated`.
        pulls: (F, 2) what torques say of the forces on the feet, see `torques`; NaN where there
            are none, and out: where they contradict the contact wrench.
        loaded: (F,) out.
        shares: (F,) out; all 0 in flight.
        chances: (F,) out: probability that a foot carries; 0 in flight, NaN where nothing can be
            said.

    Returns:
        The foot that carries most; −1 if nothing can be said, as what is needed is not known or
        no three corners span an area.
    """
    n, feet = vector(up, 0), len(loaded)
    loaded[:] = False
    shares[:] = 0.0
    chances[:] = np.nan
    vertical = dot(n, vector(wrench, 0))
    if not np.isfinite(vertical + wrench[3:].sum() + corners.sum() + velocities.sum()):
        return -1
    axes, level = np.empty((2, 3)), np.empty((len(foot), 3))
    level_axes(n, axes)
    for c in range(len(foot)):
        at = vector(corners[c], 0)
        store(level[c], 0, (dot(vector(axes[0], 0), at), dot(vector(axes[1], 0), at), dot(n, at)))
    if not vertical >= max(minimum_force, 1e-9):
        chances[:] = 0.0
        return int(foot[level[:, 2].argmin()])
    low = level[:, 2].min()
    tipping = add(cross(n, vector(wrench, 3)), scale(low, vector(wrench, 0)))
    zmp = (
        dot(vector(axes[0], 0), tipping) / vertical,
        dot(vector(axes[1], 0), tipping) / vertical,
    )
    facet, parts = np.zeros(3, np.int64), np.zeros(3)
    if not _find_facet(level, foot, zmp, facet, parts):
        return -1
    for k in range(3):
        shares[foot[facet[k]]] += parts[k]
    most, leans, others = int(shares.argmax()), shares >= LEANING, False
    near, resting = np.ones(feet, np.bool_), RESTING * landing
    spans = foot[facet[0]] < foot[facet[1]] < foot[facet[2]]
    for f in range(feet):
        height, speed = _against(f, most, level, facet, velocities, foot)
        chances[f] = CHANCE[0] + CHANCE[1] * min(max(height / SAME_HEIGHT, 0.0), 5.0)
        chances[f] += CHANCE[2] * np.log(speed / SLOW + 0.1)
        near[f] = f == most or height <= SAME_HEIGHT
        loaded[f] = f == most or (near[f] and speed <= landing)
        others = others or (
            loaded[f] and f != foot[facet[0]] and f != foot[facet[1]] and f != foot[facet[2]]
        )
        leans[f] = leans[f] or (loaded[f] and speed <= resting)
    touches = loaded.copy()
    for f in range(feet):
        touches[f] = True
        _share(level, zmp, foot, most, touches, shares)
        touches[f] = loaded[f]
        chances[f] = 1.0 / (1.0 + np.exp(-chances[f] - CHANCE[3] * shares[f]))
    if spans and not others:  # a leg that carries nothing may be as high as it likes
        for k in range(3):
            loaded[foot[facet[k]]] = loaded[foot[facet[k]]] and parts[k] >= LEANING
    _share(level, zmp, foot, most, loaded, shares)
    for f in range(feet):
        loaded[f] = loaded[f] and (leans[f] or shares[f] >= LEANING)
    pulled = _pull(pulls, vertical, minimum_force, near, touches, shares, chances)
    if pulled:
        most = int(pulls[:, 0].argmax())
        for f in range(feet):
            loaded[f] = f == most or pulls[f, 0] >= minimum_force
    most = as_stated(stated, loaded, most)
    for f in range(feet):
        if np.isfinite(stated[f]) and loaded[f] == (stated[f] >= 0.5):
            chances[f] = 1.0 if loaded[f] else 0.0
    if pulled:
        shares[:] = np.where(loaded, np.maximum(pulls[:, 0], 1e-9), 0.0)
        shares /= shares.sum()
    else:
        _share(level, zmp, foot, most, loaded, shares)
    return int(shares.argmax())


@kernel
def _pull(
    pulls: Array,
    vertical: float,
    minimum_force: float,
    near: Flags,
    touches: Flags,
    shares: Array,
    chances: Array,
) -> bool:
    """Complete the forces by torques with what is known beside them, if they can be true.

    Of a force that the torques do not determine, the geometric share (F,) takes the place; what
    then lacks of the vertical force is the feet's in proportion to their variances. Torques that
    miss half of it, or do not determine a share to `VAGUE`, decide nothing.

    Args:
        pulls: (F, 2) see `carrying`; out: forces and variances, or NaN.
        vertical: contact force [N].
        minimum_force: with which a foot carries [N].
        near: (F,) which feet may carry by their height.
        touches: (F,) and by their speed; where the torques are sure, it may be an impact.
        shares: (F,) geometric.
        chances: (F,) changed where the torques decide.

    Returns:
        Whether they do.
    """
    for f in range(len(pulls)):
        pulls[f, 0] += shares[f] * pulls[f, 1] / vertical
        sure = pulls[f, 0] >= minimum_force + 2.0 * np.sqrt(pulls[f, 1])
        touches[f] = touches[f] or (near[f] and sure)
        pulls[f] *= touches[f]
    lacks, doubt = vertical - pulls[:, 0].sum(), pulls[:, 1].sum()
    decides = abs(lacks) <= 0.5 * vertical + 2.0 * np.sqrt(doubt)
    for f in range(len(pulls)):
        part = pulls[f, 1] / doubt
        pulls[f, 0] += part * lacks
        pulls[f, 1] *= 1.0 - part
        decides = decides and pulls[f, 1] <= (VAGUE * vertical) ** 2
    if not decides:
        pulls[:] = np.nan
        return False
    for f in range(len(pulls)):
        if touches[f]:
            off = (pulls[f, 0] - minimum_force) / np.sqrt(2.0 * pulls[f, 1] + 1e-12)
            chances[f] = 0.5 * (1.0 + math.erf(off))
    return True


@kernel
def as_stated(stated: Array, loaded: Flags, most: int) -> int:
    """Change which feet (F,) carry load into what sensors say, unless then none did.

    So where all sensors are dead, or their thresholds too high, the estimate stays as it is. One
    that is dead beside another that is loaded is believed, as a ZMP beyond the feet that carry may
    be a push.

    Args:
        stated: (F,) 1 where a foot carries load, 0 where it does not; NaN: not measured.
        loaded: (F,) estimated; changed.
        most: the foot that is thought to carry most.

    Returns:
        That foot, or one that carries load.
    """
    measured = np.where(np.isfinite(stated), stated >= 0.5, loaded)
    if not measured.any():
        return most
    loaded[:] = measured
    return most if loaded[most] else int(np.argmax(loaded))


@kernel
def _find_facet(
    level: Array, foot: Indices, zmp: tuple[float, float], facet: Indices, parts: Array
) -> bool:
    """Write the corners of the facet (3,) under the ZMP, and how it divides a load (3,) there.

    Outside all triangles the nearest point of theirs counts. Of equally low ones that of a single
    sole does.
    """
    nearest, lowest, found = np.inf, np.inf, False
    tried = np.empty(3)
    for i in range(len(level)):
        for j in range(i + 1, len(level)):
            for k in range(j + 1, len(level)):
                distance = _divide(level[i], level[j], level[k], zmp, tried)
                height = tried[0] * level[i, 2] + tried[1] * level[j, 2] + tried[2] * level[k, 2]
                height += 1e-6 * (foot[i] != foot[k])
                if distance < nearest - 1e-9 or (distance < nearest + 1e-9 and height < lowest):
                    nearest, lowest, found = distance, height, True
                    facet[0], facet[1], facet[2] = i, j, k
                    parts[:] = tried
    return found


@kernel
def _divide(a: Array, b: Array, c: Array, zmp: tuple[float, float], parts: Array) -> float:
    """Write the barycentric coordinates (3,) of the point of a triangle next to the ZMP.

    Returns:
        Its distance from there [m]; infinite where the triangle has no area.
    """
    x, y = zmp
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if not abs(area) > FLAT:
        return np.inf
    parts[0] = ((b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)) / area
    parts[1] = ((c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)) / area
    parts[2] = 1.0 - parts[0] - parts[1]
    if parts.min() >= 0.0:
        return 0.0
    nearest, ends = np.inf, (a, b, c)
    for k in range(3):
        start, end = ends[k], ends[(k + 1) % 3]
        along_x, along_y = end[0] - start[0], end[1] - start[1]
        size = along_x * along_x + along_y * along_y
        part = min(max(((x - start[0]) * along_x + (y - start[1]) * along_y) / size, 0.0), 1.0)
        off_x, off_y = x - start[0] - part * along_x, y - start[1] - part * along_y
        distance = np.sqrt(off_x * off_x + off_y * off_y)
        if distance < nearest:
            nearest = distance
            parts[:] = 0.0
            parts[k], parts[(k + 1) % 3] = 1.0 - part, part
    return float(nearest)


@kernel
def _against(
    f: int,
    most: int,
    level: Array,
    facet: Indices,
    velocities: Array,
    foot: Indices,
) -> tuple[float, float]:
    """Height of a foot above the facet [m], and its speed against another [m/s].

    The lowest corner counts, and the pair of corners that moves least: a sole may roll.
    """
    a, b, c = level[facet[0]], level[facet[1]], level[facet[2]]
    height, slowest = np.inf, np.inf
    ab, ac = vector(b - a, 0), vector(c - a, 0)
    normal = cross(ab, ac)
    for i in range(len(foot)):
        if foot[i] != f:
            continue
        height = min(height, dot(normal, vector(level[i] - a, 0)) / normal[2])
        for j in range(len(foot)):
            if foot[j] == most:
                speed = vector(velocities[i] - velocities[j], 0)
                slowest = min(slowest, np.sqrt(dot(speed, speed)))
    return height, slowest


@kernel
def _share(
    level: Array,
    zmp: tuple[float, float],
    foot: Indices,
    most: int,
    carries: Flags,
    shares: Array,
) -> None:
    """Write the shares (F,) of the feet that carry, as the module says.

    With the shares' sum of 1 they are proportional to 1 − d_f·k, (LEAST_NORM + Σ d dᵀ) k = Σ d,
    where d are the middles seen from the ZMP, in the axes that make C the identity; feet with a
    negative share are left out one after the other.
    """
    feet = len(carries)
    middles, corners = np.zeros((feet, 2)), np.zeros(feet)
    for c in range(len(foot)):
        corners[foot[c]] += 1.0
        middles[foot[c], 0] += level[c, 0]
        middles[foot[c], 1] += level[c, 1]
    for f in range(feet):
        middles[f] /= corners[f]
    xx = yy = SMALLEST**2
    xy = 0.0
    for c in range(len(foot)):
        if foot[c] == most:
            x, y = level[c, 0] - middles[most, 0], level[c, 1] - middles[most, 1]
            xx += x * x / corners[most]
            xy += x * y / corners[most]
            yy += y * y / corners[most]
    across = np.sqrt(yy - xy * xy / xx)
    for f in range(feet):
        x, y = middles[f, 0] - zmp[0], middles[f, 1] - zmp[1]
        middles[f, 0], middles[f, 1] = x / np.sqrt(xx), (y - xy / xx * x) / across
    left = carries.copy()
    for _ in range(feet):
        shares[:] = 0.0
        x = y = xy = 0.0
        xx = yy = LEAST_NORM
        for f in range(feet):
            if left[f]:
                x, y = x + middles[f, 0], y + middles[f, 1]
                xx, yy = xx + middles[f, 0] ** 2, yy + middles[f, 1] ** 2
                xy += middles[f, 0] * middles[f, 1]
        area = xx * yy - xy * xy
        x, y = (yy * x - xy * y) / area, (xx * y - xy * x) / area
        total, least = 0.0, most
        for f in range(feet):
            if left[f]:
                shares[f] = 1.0 - middles[f, 0] * x - middles[f, 1] * y
                total += shares[f]
                if shares[f] < shares[least] or not left[least]:
                    least = f
        if shares[least] >= 0.0:
            break
        left[least] = False
    for f in range(feet):
        shares[f] /= total
