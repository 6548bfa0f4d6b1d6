"""Converging centre of gravity: the joint positions that put feet and CoG where they are wanted.

Algorithm 1 of Şanlıtürk & Kocabaş (2024) moves the hips, and with them the pelvis, until the CoG
of the whole robot is where the pattern generator wants it; the legs follow by closed-form inverse
kinematics. In their paper a step is β along the unit vector of the error (eqs. 20–22). The exact
form makes the step that the errors seen so far promise to be the right one (Broyden's rule), down
to 1e-9 m. The paper alternates between the legs, starting each step from the hip of one of them;
for a rigid pelvis of given orientation both hips move alike, so there is nothing to alternate.

The upper body keeps its posture. Orientation of the pelvis and poses of the soles are given.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError, ShapeError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.model.body_layout import POSE
from izmp_dynamics.model.kinematics import body_poses, center_of_mass
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.leg_ik import packed_leg, solve_leg
from izmp_lab.walking.limits import first_outside
from izmp_lab.walking.plan import PlannedFoot

PAPER_STEP = 1e-3
"""β of the paper's table 4 [m]."""

PAPER_TOLERANCE = 1e-3
"""ε of the paper's table 4 [m]."""

EXACT_TOLERANCE = 1e-9
"""Distance from the wanted CoG at which the exact form is content [m]."""

_MOST_ITERATIONS = 2000


@dataclass(frozen=True)
class Convergence:
    """How the pelvis approaches the place where the CoG is right.

    Attributes:
        step: length β of a step [m]; None for the exact form.
        tolerance: largest distance ε of the CoG from the wanted one [m].
    """

    step: float | None = None
    tolerance: float = EXACT_TOLERANCE

    @classmethod
    def as_in_paper(cls) -> 'Convergence':
        """Return the form and the numbers of the paper.

        Its CoG stays where it is until it is 1 mm away and then jumps: a sequence of poses, not a
        motion that could be differentiated.
        """
        return cls(PAPER_STEP, PAPER_TOLERANCE)


@dataclass(frozen=True)
class WholeBodyPoses:
    """What the algorithm found.

    Attributes:
        q: (T, n) joint positions [rad] or [m].
        root: (T, 3) position of the root in the world [m].
        iterations: (T,) steps that it took.
        residual: (T,) distance of the CoG from the wanted one [m].
        reach: (T, 2) distance from hip to ankle of the left and the right leg [m]; negative where
            a sole faces upwards.
    """

    q: Array
    root: Array
    iterations: npt.NDArray[np.int64]
    residual: Array
    reach: Array

    def unreachable(self, biped: Biped) -> tuple[int, int] | None:
        """Return (instant, foot) of the first pose that a leg cannot reach; None if all can."""
        return first_outside(self.reach, np.zeros(2), biped.longest)


def converge_cog(
    biped: Biped,
    com: Array,
    feet: tuple[PlannedFoot, PlannedFoot],
    world_R_root: Array,
    *,
    start: Array,
    convergence: Convergence | None = None,
) -> WholeBodyPoses:
    """Find joint positions and root positions for wanted CoG and feet.

    A leg that is too short is stretched towards its foot; see `WholeBodyPoses.unreachable`.

    Args:
        biped: the robot.
        com: (T, 3) wanted CoG in the world [m].
        feet: where the left and the right sole are to be.
        world_R_root: (T, 3, 3) orientation of the pelvis.
        start: (3,) guess of the first root position [m]; every other point starts from the one
            before it.
        convergence: paper or exact form; exact if None.

    Raises:
        MotionError: if the CoG cannot be brought to where it is wanted.
        ShapeError: if the arrays do not have the same length.
    """
    convergence = convergence or Convergence()
    rows = len(com)
    for name, array, shape in (
        ('world_R_root', world_R_root, (rows, 3, 3)),
        *((foot.sole, foot.position, (rows, 3)) for foot in feet),
    ):
        if array.shape != shape:
            raise ShapeError(name, str(shape), array.shape)
    robot = _Robot(
        biped.model.joints,
        biped.model.bodies,
        np.stack([packed_leg(leg) for leg in biped.legs]),
        np.array([leg.columns for leg in biped.legs], dtype=np.int64),
    )
    wanted = _Wanted(
        np.array(com, order='C'),  # copies, of one type: the kernels are compiled once
        np.array(world_R_root, order='C'),
        np.stack([foot.position for foot in feet], axis=1),
        np.stack([foot.rotation for foot in feet], axis=1),
    )
    found = _Found(
        np.tile(biped.posture, (rows, 1)),
        np.tile(np.asarray(start, dtype=np.float64), (rows, 1)),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows),
        np.zeros((rows, 2)),
    )
    _converge(robot, wanted, convergence.step or 0.0, convergence.tolerance, found)
    poses = WholeBodyPoses(*found)
    _check(poses, biped, convergence)
    return poses


class _Robot(NamedTuple):
    """What the kernels know about the robot: see `RobotModel` and `leg_kernel`."""

    joints: npt.NDArray[np.int64]
    bodies: Array
    legs: Array
    columns: npt.NDArray[np.int64]


class _Wanted(NamedTuple):
    """CoG (T, 3), orientation of the pelvis (T, 3, 3), soles (T, 2, 3) and (T, 2, 3, 3)."""

    com: Array
    world_R_root: Array
    p_soles: Array
    world_R_soles: Array


class _Found(NamedTuple):
    """Arrays of `WholeBodyPoses`, to be filled in."""

    q: Array
    root: Array
    iterations: npt.NDArray[np.int64]
    residual: Array
    reach: Array


def keep_cog_offset(
    biped: Biped,
    com: Array,
    feet: tuple[PlannedFoot, PlannedFoot],
    world_R_root: Array,
    *,
    start: Array,
) -> WholeBodyPoses:
    """Move the pelvis as the CoG is to move, as if the vector between them were constant.

    What the paper compares with. The vector is right for the first point; `residual` is the
    distance of the CoG from the wanted one at the others. Arguments and errors as of
    `converge_cog`.
    """
    first = (feet[0][:1], feet[1][:1])
    root = converge_cog(biped, com[:1], first, world_R_root[:1], start=start).root
    content = Convergence(tolerance=np.inf)
    return converge_cog(biped, com, feet, world_R_root, start=root[0], convergence=content)


def _check(found: WholeBodyPoses, biped: Biped, convergence: Convergence) -> None:
    """Refuse points that did not converge, unless because a leg is too short."""
    far = ~(found.residual <= convergence.tolerance)
    if not far.any():
        return
    row = int(np.argmax(far))
    bad = found.unreachable(biped)
    if bad is not None and bad[0] <= row:
        return
    raise MotionError(
        f'The centre of gravity of sample {row} cannot be brought closer to where it is wanted '
        f'than {1e3 * found.residual[row]:.4f} mm (wanted: {1e3 * convergence.tolerance:.2g} mm).',
        kind='cog_not_reached',
        row=row,
        residual=float(found.residual[row]),
        tolerance=convergence.tolerance,
    )


@kernel
def _converge(
    robot: _Robot, wanted: _Wanted, step: float, tolerance: float, found: _Found
) -> None:
    """Run Algorithm 1 for every point; found.root[0] is a guess, `step` is β, 0 if exact."""
    poses = np.empty((len(robot.joints), POSE))
    shift_per_error = np.eye(3)  # of the root, to remove an error of the CoG
    shift, error_before = np.zeros(3), np.zeros(3)
    root = found.root
    for t in range(len(root)):
        if t > 0:
            root[t] = root[t - 1]
            if step == 0.0:
                root[t] += wanted.com[t] - wanted.com[t - 1]
        while True:
            error = wanted.com[t] - _com(robot, wanted, t, found, poses)
            length = np.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
            if not length > tolerance or found.iterations[t] == _MOST_ITERATIONS:
                break
            if step > 0.0:
                shift = step / length * error
            else:
                if found.iterations[t] > 0:
                    _learn(shift_per_error, shift, error_before - error)
                shift = shift_per_error @ error
                error_before = error
            root[t] += shift
            found.iterations[t] += 1
        found.residual[t] = length


@kernel
def _learn(shift_per_error: Array, shift: Array, removed: Array) -> None:
    promised = shift_per_error @ removed
    row = shift @ shift_per_error
    scale = row @ removed
    if abs(scale) > 1e-30:
        for i in range(3):
            for j in range(3):
                shift_per_error[i, j] += (shift[i] - promised[i]) * row[j] / scale


@kernel
def _com(robot: _Robot, wanted: _Wanted, t: int, found: _Found, poses: Array) -> Array:
    """Bring the legs to the soles, and return the CoG (3,) in the world that results."""
    world_R_root, root, q = wanted.world_R_root[t], found.root[t], found.q[t]
    root_R_world = world_R_root.T.copy()
    angles = np.empty(6)
    for foot in range(2):
        found.reach[t, foot] = solve_leg(
            robot.legs[foot],
            root_R_world @ wanted.world_R_soles[t, foot],
            root_R_world @ (wanted.p_soles[t, foot] - root),
            angles,
        )
        for k in range(6):
            q[robot.columns[foot, k]] = angles[k]
    body_poses(robot.joints, robot.bodies, q, poses)
    com_in_root = np.empty(3)
    center_of_mass(robot.bodies, poses, com_in_root)
    com: Array = root + world_R_root @ com_in_root
    return com
