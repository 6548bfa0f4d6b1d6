"""A picture of a simulated run: stick figures of the robot at some instants."""

from pathlib import Path

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.simulation.simulated_run import SimulatedRun

FRAMES = 7
"""Instants that are drawn."""


def save_strip(run: SimulatedRun, robot: RobotModel, path: Path) -> None:
    """Draw the robot from its right side, as lines between its links; its soles and the CoP.

    Args:
        run: what the robot did.
        robot: its model.
        path: of the picture, e.g. .png.

    Raises:
        IzmpError: if the picture cannot be written.
        MissingDependencyError: if matplotlib is not installed.
    """
    from izmp_dynamics.pages.look import Canvas, save

    rows = np.linspace(0, len(run) - 1, FRAMES).round().astype(int).tolist()
    figure = Canvas(figsize=(11.0, 3.6), layout='tight')
    axes = figure.add_subplot(aspect='equal', xlabel='x [m]', ylabel='z [m]')
    parents = robot.joints[:, PARENT]
    for k, (row, places) in enumerate(zip(rows, body_origins(run, robot, rows), strict=True)):
        colour = str(0.75 - 0.5 * k / len(rows))
        for body in range(1, len(places)):
            ends = places[[int(parents[body]), body]]
            axes.plot(ends[:, 0], ends[:, 2], color=colour, linewidth=1.6)
        for foot in run.truth.feet.values():
            sole = foot.corners[row][[*range(foot.corners.shape[1]), 0]]
            axes.plot(sole[:, 0], sole[:, 2], color='#1f5fa8', linewidth=2.0)
        axes.plot(*run.truth.cop[row, [0, 2]], 'o', color='#c81e1e', markersize=4)
    save(figure, path, 100)


def body_origins(run: SimulatedRun, robot: RobotModel, rows: list[int]) -> Array:
    """Origins (len(rows), B, 3) of all bodies in the world [m]."""
    root = run.truth.root
    in_root = np.stack([robot.body_poses(q)[1] for q in run.q[rows]])
    turned = np.einsum('tij,tbj->tbi', root.rotation[rows], in_root)
    origins: Array = root.position[rows][:, None] + turned
    return origins
