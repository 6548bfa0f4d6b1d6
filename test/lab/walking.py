"""What several tests of walking need: the robot, and the poses that a plan implies."""

from functools import cache
from pathlib import Path

import numpy as np

from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

ROBOT_FILE = Path(__file__).parents[2] / 'robots/biped31/robot.yaml'
FILE = load_robot_file(ROBOT_FILE)

SLOPE_10_DEG = float(np.radians(10.0))


@cache
def biped31() -> Biped:
    return Biped.of(FILE)


@cache
def planned(**parameters):
    """Plan a walk of biped31; the same one only once."""
    return plan_walk(biped31(), WalkParameters(**parameters))


def exact_wrench(run, model, file=FILE):
    """Contact wrench of the exact motion of a run by MR-AD, and the centre of mass in the root."""
    motion = *run.truth.root.felt(file.gravity), run.q, run.truth.qd, run.truth.qdd
    return MrAd(model).batch(*motion)


def sole_poses(biped, q, root, world_R_root, foot):
    """Where forward kinematics puts a sole in the world: (T, 3, 3) and (T, 3)."""
    root_R_sole, p_in_root = biped.model.frame_pose(biped.legs[foot].sole, q)
    p = root + np.einsum('tij,tj->ti', world_R_root, p_in_root)
    return world_R_root @ root_R_sole, p


def corners(foot, polygon):
    """Corners (T, V, 3) of a planned sole in the world."""
    flat = np.column_stack([polygon, np.zeros(len(polygon))])
    return foot.position[:, None] + np.einsum('tij,vj->tvi', foot.rotation, flat)
