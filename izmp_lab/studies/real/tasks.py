"""What is kept of the evaluation of a recording, raw or filtered."""

import dataclasses
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import Array, seconds
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.recording.chunks import evaluate_recording, make_evaluator
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.stability.support_polygon import plane_axes
from izmp_lab.studies.runs import Load
from izmp_lab.studies.store import Arrays

FRAMES = 7
"""Instants at which the robot is drawn."""


def evaluation(load: Load, bag: str, robot: str, urdf: str | None, cutoff: float | None) -> Arrays:
    """Evaluate a recording as `izmp replay` does.

    Args:
        load: not used.
        bag: folder of the rosbag2.
        robot: robot file.
        urdf: instead of the one that it names; None to take that.
        cutoff: of a zero-phase low-pass on all signals [Hz]; None for none.

    Returns:
        times (K,) [s]; for each method M that the signals allow, M (K, 2) its point in nif [m] and
        M_margin (K,) [m]; force (K,) normal force of MR-AD over the weight [-]; shown (F,) rows;
        sticks (F, B, 3) origins of the bodies in nif [m]; parents (B,).
    """
    file = _filtered(load_robot_file(robot, urdf), cutoff)
    model = load_model(file.urdf_path, file.root)
    with BagReader(Path(bag)) as reader:
        recording = Recording(reader, file, model)
        parts = list(evaluate_recording(recording, make_evaluator(recording)))
    normal = np.concatenate([part.ground.plane.normal for part in parts])
    axes = plane_axes(normal)
    points = {name: _joined(parts, 'points', name) for name in parts[0].points}
    force = np.einsum('ti,ti->t', normal, _joined(parts, 'wrenches', 'mr_ad')[:, :3])
    known = np.flatnonzero(np.isfinite(points['mr_ad']).all(axis=1))
    shown = known[np.linspace(0, len(known) - 1, FRAMES).round().astype(int)]
    q = np.concatenate([part.joints.positions for part in parts])
    nif_R_root = np.concatenate([axes, normal[:, None]], axis=1)
    sticks = [nif_R_root[row] @ model.body_poses(q[row])[1].T for row in shown]
    return {
        'times': seconds(np.concatenate([part.stamps for part in parts])),
        'force': force / (model.total_mass * file.gravity),
        'shown': shown,
        'sticks': np.stack([stick.T for stick in sticks]),
        'parents': np.asarray(model.joints[:, PARENT]),
        **{name: np.einsum('tij,tj->ti', axes, point) for name, point in points.items()},
        **{f'{name}_margin': _joined(parts, 'margins', name) for name in parts[0].margins},
    }


def _filtered(file: RobotFile, cutoff: float | None) -> RobotFile:
    return dataclasses.replace(file, low_pass=dataclasses.replace(file.low_pass, cutoff=cutoff))


def _joined(parts: list[Evaluated], quantity: str, name: str) -> Array:
    return np.concatenate([getattr(part, quantity)[name] for part in parts])
