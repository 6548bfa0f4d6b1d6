"""An IMU that is turned about the vertical, or force sensors that all are."""

from collections.abc import Iterator

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.finding import Finding, warning
from izmp_dynamics.base.rotations import rotated, rotated_back
from izmp_dynamics.diagnosis.legs import usual_step
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.stability.clearance import stays_point
from izmp_dynamics.stability.support_polygon import plane_axes

LEAST_SWAY = 0.002
"""Difference of horizontal forces, as part of the weight, from which on it means something [-]."""

TURNED = 45.0
"""Angle about the vertical between these from which on the mounting of a sensor is doubted [°]."""

EXPLAINED = 0.2
"""Share of the square of a difference that an explanation may leave [-]."""

RELATED = 2.0 / 3.0
"""Correlation with the motion over the feet from which on a turn is one, whatever its angle: late
force sensors show such a turn, too [-]."""

OVER, LONGEST = 0.05, int(60e9)
"""Half-width of the triangle over which they are averaged [s]; time that is looked at [ns]."""


def turn_findings(evaluation: Evaluation) -> Iterator[Finding]:
    """Find an IMU that is turned about the vertical, or force sensors that all are.

    Of the motion's force, what the specific force φ of the root has in it, m φ, is the rest after
    m c̈, by the joints. The feet measure the same force, and it carries the centre of mass over a
    foot that stands. So the turn between both, of an orthogonal Procrustes problem in the plane
    (Schönemann, 1966), is that of a sensor: in axes of the root that of the IMU, with gravity as
    the root tilts, in axes of the ground that of the feet. Their means are left out, as tilt and
    offsets make them; all are means over the same triangle.
    """
    if len(evaluation.stamps) < 2 or 'mr_ad' not in evaluation.tracks:
        return
    rows = slice(int(np.searchsorted(evaluation.stamps, evaluation.stamps[0] + LONGEST)))
    stamps, mass = evaluation.stamps[rows], evaluation.total_mass
    step = usual_step(evaluation)
    n = max(1, round(OVER / step))
    upright = evaluation.normal[rows][np.isfinite(evaluation.normal[rows]).all(axis=1)].sum(axis=0)
    if len(stamps) <= 2 * n or not upright.any():
        return
    window = np.convolve(np.ones(n), np.ones(n)) / n**2

    def mean(force: Array) -> Array:
        axes = [np.convolve(axis, window, 'valid') for axis in force[rows].T]
        return np.stack(axes, axis=1)[1:-1]

    even = np.abs((stamps[2 * n :] - stamps[: -2 * n]) / (2e9 * n * step) - 1.0) < 0.1
    weight, per_row = mass * evaluation.gravity, mass / (n * step) ** 2
    moved = mean(evaluation.tracks['mr_ad'].wrench[:, :3])
    carried = weight * mean(evaluation.normal) + per_row * _bend_over_feet(evaluation, rows, n)
    by_joints = per_row * _bend(evaluation.com[rows], n)
    of_root = np.tile(plane_axes(upright / np.linalg.norm(upright)), (len(moved), 1, 1))
    references = [('the motion over the feet that stand', carried, of_root)]
    if evaluation.external_force is not None:
        measured = moved - mean(evaluation.external_force)
        of_ground = evaluation.nif_R_root(slice(n, len(stamps) - n))[:, :2]
        references += [('the force sensors', measured, axes) for axes in (of_root, of_ground)]
    for name, force, axes in references:
        by_imu, wanted = (rotated(axes[even], (f - by_joints)[even]) for f in (moved, force))
        turn = _turn(by_imu, wanted, LEAST_SWAY * weight, force is carried)
        if abs(turn) >= TURNED:
            yield warning(
                'imu_turned',
                f'The horizontal specific force of the IMU agrees with {name} if it is turned by '
                f'{turn:.0f}° about the vertical.',
                'Is the IMU turned against imu.frame, or are all force sensors (wrench.frame, '
                'wrench.rotation)?',
            )
            return


def _turn(given: Array, wanted: Array, least: float, over_feet: bool) -> float:
    """Angle by which vectors (K, 2) are turned against others [°]; 0 if that explains little."""
    known = np.isfinite(given + wanted).all(axis=1)
    if not known.any():
        return 0.0
    x, y = (force[known] - force[known].mean(axis=0) for force in (given, wanted))
    along = float(np.sum(x * y))
    across = float(np.sum(x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]))
    both = float(np.sum(x * x + y * y))
    off, related = both - 2.0 * along, 2.0 * float(np.hypot(along, across))
    explains = both - related <= EXPLAINED * off or (over_feet and related >= RELATED * both)
    if off < len(x) * least**2 or not explains:
        return 0.0
    return float(np.degrees(np.arctan2(across, along)))


def _bend(places: Array, n: int) -> Array:
    """(K − 2n, 3) second differences over n rows each way."""
    return places[2 * n :] - 2.0 * places[n:-n] + places[: -2 * n]


def _bend_over_feet(evaluation: Evaluation, rows: slice, n: int) -> Array:
    """(K − 2n, 3) such differences of the centre of mass over the feet that stand meanwhile.

    In root axes; NaN where none does.
    """
    total = np.zeros((len(evaluation.com[rows]) - 2 * n, 3))
    count = np.zeros(len(total))
    for foot in evaluation.feet:
        if foot.axes is None or foot.sole.shape[1] == 1 or stays_point(foot.sole):
            continue
        R = foot.axes[rows]
        over = rotated_back(R, evaluation.com[rows] - foot.sole[rows].mean(axis=1))
        loaded = np.concatenate([[0], np.cumsum(foot.loaded[rows])])
        stands = loaded[2 * n + 1 :] - loaded[: -2 * n - 1] == 2 * n + 1
        bend = rotated(R[n : len(R) - n], _bend(over, n))
        total += np.where(stands[:, None], bend, 0.0)
        count += stands
    with np.errstate(invalid='ignore', divide='ignore'):
        return np.asarray(total / count[:, None])
