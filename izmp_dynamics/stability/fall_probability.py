"""How probable a fall is at an instant: the kernels behind `fall_alarm`, where the idea stands.

`look` projects what is known along gravity onto two level axes, ahead and to the left; `judge`
compares the capture point with what the feet can reach, standing or by the steps to come.

The capture point ξ = c + ċ/ω with ω = √(g/h) (Pratt et al., 2006; also called divergent component
of motion) is where a robot had to put its foot down to come to rest over it. While the centre of
pressure z stays in the support polygon S(t), ξ̇ = ω (ξ − z). So ξ can be brought to rest exactly if
it is a mean of the centres of pressure to come,

    ξ = ∫ ω e^(−ω t) z(t) dt with z(t) in S(t),   V = ⊕ w_p S_p,   w_p = e^(−ω t_p) − e^(−ω t_p+1),

a Minkowski sum of the support polygons of the phases p, with weights that add to 1 (N-step
capturability: Koolen et al., 2012, with the steps given). Convex sets are added by their support
functions: h(u) = max u·x over the set, for directions u all around.
"""

import math

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Indices, frozen
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.base.vectors import dot, vector
from izmp_dynamics.stability.alarm_rule import HORIZON
from izmp_dynamics.stability.gait import LANDING, PHASES, SCATTER, footing
from izmp_dynamics.stability.support_polygon import level_axes

LEAST_HEIGHT = 0.05
"""A centre of mass that is lower above the ground than this is not that of a robot on feet [m]."""


@inlined
def pendulum_rate(height: float, gravity: float) -> float:
    """Return ω of a pendulum of some height [m]; NaN where there is none [1/s]."""
    return np.sqrt(gravity / height) if height > LEAST_HEIGHT else np.nan


@inlined
def capture_point(com: float, velocity: float, rate: float) -> float:
    """Return the capture point along a level axis [m].

    Args:
        com: centre of mass along it [m].
        velocity: its velocity against the ground [m/s].
        rate: ω of the pendulum [1/s].
    """
    return com + velocity / rate


@inlined
def offset_of_fall(height: float, rate: float, tilt: float, time: float) -> float:
    """Return how far outside what the feet can reach ξ is if a fall is so near [m].

    Outside, the distance grows as e^(ω t) whatever the feet do, and the centre of mass follows at
    half of it: an inverted pendulum that tips reaches the angle θ when h θ = ½ d e^(ω t).

    Args:
        height: of the centre of mass above the ground [m].
        rate: ω [1/s].
        tilt: angle at which the robot counts as fallen [rad].
        time: until then [s].
    """
    return float(2.0 * tilt * height * np.exp(-rate * time))


DIRECTIONS = 32
"""Directions in which sets are described; a corner is then at most 0.5 % too far outside."""

_ANGLES = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
ALL_AROUND = frozen(np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1))
"""(U, 2) unit vectors."""


@kernel
def reach(corners: Array, along: Array) -> None:
    """Write the support function (U,) of the hull of corners (V, 2) [m]."""
    along[:] = -np.inf
    for u in range(DIRECTIONS):
        for v in range(len(corners)):
            x = corners[v, 0] * ALL_AROUND[u, 0] + corners[v, 1] * ALL_AROUND[u, 1]
            along[u] = _larger(along[u], x)


@kernel
def reach_of_feet(feet: Array, carries: npt.NDArray[np.bool_], moved: Array, hull: Array) -> None:
    """Write the support function (U,) of the hull of feet that carry, each moved; −∞ without any.

    Args:
        feet: (F, U) support functions of the soles where they are [m].
        carries: (F,) which feet carry.
        moved: (F, 2) where they are then, against where they are [m].
        hull: (U,) out [m].
    """
    hull[:] = -np.inf
    for f in range(len(feet)):
        if carries[f]:
            for u in range(DIRECTIONS):
                shift = moved[f, 0] * ALL_AROUND[u, 0] + moved[f, 1] * ALL_AROUND[u, 1]
                hull[u] = _larger(hull[u], feet[f, u] + shift)


@kernel
def weights(ends: Array, rate: float, shares: Array) -> None:
    """Write the weights (P,) of phases that end at `ends` (P − 1,) from now on [s], with ω [1/s].

    The last phase does not end.
    """
    left = 1.0
    for p in range(len(ends)):
        still = np.exp(-rate * ends[p])
        shares[p] = left - still
        left = still
    shares[len(ends)] = left


@inlined
def _larger(a: float, b: float) -> float:
    """The larger of two numbers; NaN if one of them is."""
    return b if b > a or np.isnan(b) else a


Flags = npt.NDArray[np.bool_]

FALLEN = np.pi / 4.0
"""Tilt of the trunk from which on a robot has fallen [rad]."""

LOW = 0.05
"""A foot that is no higher above the ground can be put down in time [m]."""

SWING = 0.5
"""So can one of more than two feet that was lifted later: a trot lifts two at once [s]."""

COM_ERROR = 0.01
"""Standard deviation of the centre of mass of the model, along each axis [m]."""

RATE_ERROR = 0.1
"""Relative standard deviation of ω: the robot is no pendulum with a point mass."""

STEP_ERROR = 0.03
"""Standard deviation of V by steps, as a robot that is pushed does not land as it is used to [m];
chosen on walks that are not those of docs/experiments.md."""

HEIGHT, RATE, POINT, VELOCITY, NOISE, SEEN = 0, 1, 2, 4, 6, 10
"""What is seen at an instant: height of the centre of mass above the ground [m], ω [1/s], along
the two axes capture point [m], velocity [m/s] and the four covariances of its noise; its size."""


@kernel
def look(
    up: Array,
    com: Array,
    velocity: Array,
    corners: Array,
    foot: Indices,
    loaded: Flags,
    noise: Array,
    gravity: float,
    seen: Array,
    soles: Array,
    places: Array,
    low: Flags,
) -> None:
    """Project K instants along gravity.

    Args:
        up: (K, 3) unit vector against gravity.
        com: (K, 3) centre of mass [m].
        velocity: (K, 3) its velocity against the ground [m/s].
        corners: (K, C, 3) corners of all soles, foot by foot [m].
        foot: (C,) which of the F feet each corner belongs to.
        loaded: (K, F) which feet carry load.
        noise: (K, 3, 3) covariance of the noise of the velocity [m²/s²].
        gravity: [m/s²].
        seen: (K, 10) out: what is seen, see `SEEN`.
        soles: (K, C, 2) out: corners along the two axes [m].
        places: (K, F, 2) out: middles of the soles [m].
        low: (K, F) out: which feet carry load or soon do if they are put down.
    """
    feet = loaded.shape[1]
    axes, heights, counts = np.empty((2, 3)), np.empty(feet), np.empty(feet)
    places[:] = 0.0
    for t in range(len(up)):
        upwards = vector(up[t], 0)
        known = np.isfinite(up[t]).all()
        level_axes(upwards if known else (0.0, 0.0, 1.0), axes)
        heights[:] = np.inf
        counts[:] = 0.0
        for c in range(len(foot)):
            f, corner = foot[c], vector(corners[t, c], 0)
            heights[f] = _lower(heights[f], dot(upwards, corner))
            counts[f] += 1.0
            for i in range(2):
                soles[t, c, i] = dot(vector(axes[i], 0), corner)
                places[t, f, i] += soles[t, c, i]
        ground = np.inf
        for f in range(feet):
            for i in range(2):
                places[t, f, i] /= counts[f]
            if loaded[t, f]:
                ground = _lower(ground, heights[f])
        for f in range(feet):
            low[t, f] = loaded[t, f] or heights[f] <= ground + LOW
        height = dot(upwards, vector(com[t], 0)) - ground
        rate = pendulum_rate(height, gravity)
        seen[t, HEIGHT], seen[t, RATE] = height, rate
        for i in range(2):
            axis = vector(axes[i], 0)
            speed = dot(axis, vector(velocity[t], 0))
            seen[t, VELOCITY + i] = speed
            seen[t, POINT + i] = capture_point(dot(axis, vector(com[t], 0)), speed, rate)
            for j in range(2):
                covariance = 0.0
                for a in range(3):
                    for b in range(3):
                        covariance += axes[i, a] * noise[t, a, b] * axes[j, b]
                seen[t, NOISE + 2 * i + j] = covariance


@kernel
def judge(
    times: Array,
    seen: Array,
    soles: Array,
    places: Array,
    foot: Indices,
    loaded: Flags,
    low: Flags,
    gaits: Array,
    changed: Flags,
    carried: Array,
    probability: Array,
    margin: Array,
    deviation: Array,
    direction: Array,
    stepping: Flags,
) -> None:
    """Find how probable a fall is at K instants, and where.

    Args:
        times: (K,) [s].
        seen: (K, 10) as `look` gives it.
        soles: (K, C, 2) likewise [m].
        places: (K, F, 2) likewise [m].
        foot: (C,) which of the F feet each corner belongs to.
        loaded: (K, F) which feet carry load.
        low: (K, F) as `look` gives it; feet that swing are added.
        gaits: (S, 10) the gaits one after the other, see `gait.footing`; none: it is no biped.
        changed: (K,) the instants from which on the next one holds.
        carried: (F,) when each foot carried load for the last time before [s]; changed.
        probability: (K,) out, as all that follow: see `FallRisk`.
        margin: (K,) [m].
        deviation: (K,) [m].
        direction: (K, 2).
        stepping: (K,).
    """
    feet, gait = loaded.shape[1], 0
    sizes, still = np.empty((feet, DIRECTIONS)), np.zeros((feet, 2))
    hull, variance = np.empty(DIRECTIONS), np.empty(DIRECTIONS)
    ends, carries = np.empty(PHASES - 1), np.empty((PHASES, feet), np.bool_)
    moved = np.empty((PHASES, feet, 2))
    for t in range(len(times)):
        _reaches(soles[t], foot, sizes)
        if feet > 2:
            _keep_swinging(times[t], loaded[t], carried, low[t])
        offset = offset_of_fall(seen[t, HEIGHT], seen[t, RATE], FALLEN, HORIZON)
        _spread(seen[t], variance)
        reach_of_feet(sizes, low[t], still, hull)
        nearest = _nearest(hull, seen[t], variance, offset)
        stepping[t] = False
        if len(gaits):
            gait += changed[t]
            known = np.isfinite(places[t]).all()
            if known and footing(
                gaits[gait], loaded[t], times[t], places[t], ends, carries, moved
            ):
                _step(gaits[gait], sizes, ends, carries, moved, seen[t], hull, variance)
                other = _nearest(hull, seen[t], variance, offset)
                if other[0] < nearest[0]:
                    nearest, stepping[t] = other, True
        probability[t] = 0.5 * math.erfc(-nearest[0] / math.sqrt(2.0))
        margin[t], deviation[t] = nearest[1], nearest[2]
        direction[t] = ALL_AROUND[nearest[3]]


@kernel
def changes(places: Array, loaded: Flags, before: Flags, changed: Flags) -> None:
    """Write at which of K instants (K,) another foot carries load, where the soles are known.

    Args:
        places: (K, F, 2) middles of the soles [m].
        loaded: (K, F) which feet carry load.
        before: (F,) which did at the last instant before.
        changed: (K,) out.
    """
    for t in range(len(places)):
        changed[t] = False
        if np.isfinite(places[t]).all():
            for f in range(len(before)):
                changed[t] |= loaded[t, f] != before[f]
            before = loaded[t]


@kernel
def _reaches(soles: Array, foot: Indices, sizes: Array) -> None:
    """Write the support functions (F, U) of soles with corners (C, 2) [m]."""
    begin = 0
    for f in range(len(sizes)):
        end = begin
        while end < len(foot) and foot[end] == f:
            end += 1
        reach(soles[begin:end], sizes[f])
        begin = end


@kernel
def _keep_swinging(time: float, loaded: Flags, carried: Array, low: Flags) -> None:
    """Count feet (F,) among the low ones that carried load not long ago, and note which do."""
    for f in range(len(loaded)):
        if loaded[f]:
            carried[f] = max(carried[f], time)
        low[f] |= time - carried[f] < SWING


@kernel
def _spread(seen: Array, variance: Array) -> None:
    """Write the variances (U,) of c + ċ/ω, by the errors of c and ω and the noise of ċ [m²]."""
    for u in range(DIRECTIONS):
        x, y = ALL_AROUND[u]
        along = seen[VELOCITY] * x + seen[VELOCITY + 1] * y
        noise = x * (seen[NOISE] * x + seen[NOISE + 1] * y)
        noise += y * (seen[NOISE + 2] * x + seen[NOISE + 3] * y)
        variance[u] = COM_ERROR**2 + (RATE_ERROR**2 * along**2 + noise) / seen[RATE] ** 2


@kernel
def _step(
    gait: Array,
    sizes: Array,
    ends: Array,
    carries: Flags,
    moved: Array,
    seen: Array,
    hull: Array,
    variance: Array,
) -> None:
    """Write the support function (U,) of V by walking on, and add its variance (U,) [m²]."""
    rate = seen[RATE]
    shares, each, later = np.empty(PHASES), np.empty(DIRECTIONS), 0.0
    weights(ends, rate, shares)
    hull[:] = 0.0
    for p in range(PHASES):
        reach_of_feet(sizes, carries[p], moved[p], each)
        for u in range(DIRECTIONS):
            hull[u] += shares[p] * each[u]
        if p >= 2:
            later += shares[p]
    comes = LANDING + (0 if carries[3, 0] else 2)
    for u in range(DIRECTIONS):
        landing = gait[comes] * ALL_AROUND[u, 0] + gait[comes + 1] * ALL_AROUND[u, 1]
        by_time = rate * gait[SCATTER + 1] * landing
        variance[u] += STEP_ERROR**2 + later**2 * (gait[SCATTER] ** 2 + by_time**2)


@kernel
def _nearest(
    hull: Array, seen: Array, variance: Array, offset: float
) -> tuple[float, float, float, int]:
    """Where the capture point leaves a set (U,) of variances (U,) most probably.

    The direction is that of the largest risk: where the variance is larger, a margin that is not
    the least one may be more probably overrun.

    Returns:
        How far it is beyond what is a fall, in standard deviations; margin and deviation [m];
        direction.
    """
    most, risk = 0, -np.inf
    for u in range(DIRECTIONS):
        found = (-_margin(hull, seen, u) - offset) / np.sqrt(variance[u])
        if np.isfinite(found) and found > risk:
            most, risk = u, found
    margin, deviation = _margin(hull, seen, most), np.sqrt(variance[most])
    return (-margin - offset) / deviation, margin, deviation, most


@kernel
def _margin(hull: Array, seen: Array, u: int) -> float:
    """By how much the capture point is inside a set (U,) in one direction [m]."""
    x, y = ALL_AROUND[u]
    return float(hull[u] - (seen[POINT] * x + seen[POINT + 1] * y))


@kernel
def _lower(a: float, b: float) -> float:
    """The lower of two heights; NaN if one of them is."""
    return b if b < a or np.isnan(b) else a
