"""The files of a calibration: robot file, URDF and report, all of them or none."""

import dataclasses
import os
from pathlib import Path

import yaml

from izmp_dynamics.calibration.calibrate import Calibration
from izmp_dynamics.calibration.corrected import with_inertials
from izmp_dynamics.calibration.report import render_html, render_json
from izmp_dynamics.calibration.result import CalibrationResult
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.settings import stated
from izmp_dynamics.replay.result_folder import result_folder

ROBOT, URDF = 'robot.calibrated.yaml', 'robot.calibrated.urdf'
HTML, JSON = 'report.html', 'report.json'
NAMES = (ROBOT, URDF, HTML, JSON)


def write_calibration(
    calibration: Calibration, folder: Path, overwrite: bool = False
) -> CalibrationResult:
    """Write the results of a calibration.

    Args:
        calibration: what was found.
        folder: where they go: robot.calibrated.yaml and, if inertials were corrected,
            robot.calibrated.urdf (neither if the calibration is refused); report.html,
            report.json.
        overwrite: replace an earlier result in `folder`.

    Returns:
        The result, with the places of its files.

    Raises:
        ReplayError: if the folder is taken or cannot be written to.
    """
    result = calibration.result
    texts: dict[str, str] = {}
    if result.accepted:
        urdf = os.path.relpath(calibration.robot.urdf_path, os.path.realpath(folder))
        if calibration.inertials:
            urdf = URDF
            texts[URDF] = with_inertials(calibration.urdf.text, calibration.inertials)
        robot = dataclasses.replace(calibration.robot, urdf=urdf)
        texts[ROBOT] = robot_text(robot, result)
    result = dataclasses.replace(
        result, files={name: folder / name for name in (*texts, HTML, JSON)}
    )
    texts[HTML], texts[JSON] = render_html(result), render_json(result)
    with result_folder(folder, overwrite, NAMES) as partial:
        for name, text in texts.items():
            (partial / name).write_text(text, encoding='utf-8', errors='backslashreplace')
    return result


def robot_text(robot: RobotFile, result: CalibrationResult) -> str:
    """The robot file as YAML, with comments that say where its numbers come from."""
    lines = [
        f'# {result.robot}, calibrated by izmp calibrate from:',
        *(f'#   {_one_line(bag)}' for bag in result.bags),
        '# What was added to the values of the robot file before, ± its standard deviation:',
    ]
    for estimate in result.estimates:
        if estimate.used and estimate.group != 'inertias':
            lines.append(
                f'#   {_one_line(estimate.name)}: {estimate.value:+.4g} ± {estimate.sigma:.2g} '
                f'{estimate.unit}'.rstrip()
            )
    if 'inertias' in result.groups:
        lines.append('#   inertials of all links: see the URDF')
    body = yaml.safe_dump(
        stated(robot), sort_keys=False, allow_unicode=True, default_flow_style=None, width=99
    )
    return '\n'.join([*lines, '', body])


def _one_line(text: str) -> str:
    return ' '.join(text.split())
