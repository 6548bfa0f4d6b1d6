"""Results of `izmp replay` as a recording for the Rerun viewer."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.export.drawn import (
    PANELS,
    draw_forces,
    draw_points,
    write_events,
    write_series,
)
from izmp_dynamics.export.log import Log
from izmp_dynamics.export.robot import GROUND, Robot, height_of_ground, root_over_ground
from izmp_dynamics.files.libraries import library
from izmp_dynamics.files.place import write_whole
from izmp_dynamics.model.urdf import parse_urdf
from izmp_dynamics.results.replayed import Replayed, load_report

APPLICATION = 'izmp_dynamics'

_EYE = np.array([2.4, -2.4, 0.6])
_NEAR = 0.3
"""Where one looks from, in heights of the root above the ground, of which no less than so many m
are counted."""


def write_rerun(
    folder: Path, file: Path, *, urdf: Path | None = None, overwrite: bool = False
) -> None:
    """Write a recording for Rerun: robot, ground, points, forces, series and events.

    Args:
        folder: what `izmp replay -o` wrote.
        file: the recording, there as a whole or not at all.
        urdf: where the robot's URDF is, beside which meshes are looked for.
        overwrite: whether a file that is there may be replaced.

    Raises:
        ReplayError: the place is taken or cannot be written to, or `folder` is no result.
        BagError: the bag of the result cannot be read.
        ModelError: the URDF in it cannot be used.
        MissingDependencyError: rerun-sdk is not installed.
    """
    _check(file, overwrite)
    rerun = library('rerun', 'Writing a recording for Rerun', 'rerun-sdk')
    load_report(folder)
    try:
        write_whole(file, lambda new: _save(rerun, folder, new, urdf))
    except OSError as error:
        raise ReplayError(
            f"'{file}' cannot be written: {error.strerror or error}.",
            kind='cannot_write', path=file,
        ) from error  # fmt: skip


def _check(file: Path, overwrite: bool) -> None:
    if os.path.lexists(file) and not (overwrite and file.is_file()):
        advice = 'choose another name' + ('' if file.is_dir() else ' or add --overwrite')
        raise ReplayError(f"'{file}' exists; {advice}.", kind='place_taken', path=file)


def _save(rerun: Any, folder: Path, file: BinaryIO, urdf: Path | None) -> None:
    """Write through a pipe: the library may wait for ever where it cannot write into a file."""
    reads, writes = os.pipe()
    with ThreadPoolExecutor() as threads, rerun.RecordingStream(APPLICATION) as recording:
        copied = threads.submit(_copy, reads, file)
        try:
            recording.save(f'/dev/fd/{writes}')
        finally:
            os.close(writes)
        log, robot, height = Log(rerun, recording), None, 0.0
        for replayed in Replayed.spans(folder):
            if robot is None:
                recording.send_recording_name(str(replayed.report['robot']))
                log.still(['frames'], rerun.ViewCoordinates.RIGHT_HAND_Z_UP)
                height = height_of_ground(replayed)
                _, poses = root_over_ground(replayed, height)
                recording.send_blueprint(_blueprint(rerun, poses[:1, :3].sum(axis=0)))
                robot = Robot(log, replayed, parse_urdf(replayed.urdf, urdf))
                write_events(log, replayed)
            stamps, poses = root_over_ground(replayed, height)
            log.frame(GROUND, replayed.root, stamps, poses)
            robot.move(replayed)
            draw_points(log, replayed)
            draw_forces(log, replayed)
            write_series(log, replayed)
        recording.disconnect()
    copied.result()


def _copy(source: int, file: BinaryIO) -> None:
    """Copy what comes out of a pipe; read it to its end also if the file cannot be written."""
    with open(source, 'rb') as pipe:
        try:
            copyfileobj(pipe, file)
        finally:
            while pipe.read(1 << 16):
                pass


def _blueprint(rerun: Any, root: Array) -> Any:
    """The scene, seen from the right in front of the root (3,) [m], beside series and events."""
    views, away = rerun.blueprint, max(float(root[2]), _NEAR)
    scene = views.Spatial3DView(
        name='Robot', origin='/',
        contents=['+ /**', '- /series/**', '- /events'],
        spatial_information=views.SpatialInformation(target_frame=GROUND, show_axes=False),
        line_grid=views.LineGrid3D(visible=True),
        eye_controls=views.EyeControls3D(
            position=root + away * _EYE, look_target=root, eye_up=[0.0, 0.0, 1.0]
        ),
    )  # fmt: skip
    panels = [
        views.TimeSeriesView(
            name=title, origin=f'/series/{name}', axis_x=views.TimeAxis(link='LinkToGlobal')
        )
        for name, title in PANELS.items()
    ]
    events = views.TextLogView(name='Events', origin='/events')
    beside = views.Vertical(*panels, events)
    return views.Blueprint(views.Horizontal(scene, beside), collapse_panels=True)
