"""C3D files: force plates and, where a file has them, joint angles. Read by ezc3d."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.bodies.recording import Wrenches, up_to_z
from izmp_dynamics.bodies.table import FIRST_STAMP, not_readable
from izmp_dynamics.files.libraries import library

_SCALES = {'mm': 1e-3, 'cm': 1e-2, 'm': 1.0, 'Nmm': 1e-3, 'Nm': 1.0, 'N': 1.0}


@dataclass(frozen=True)
class C3d:
    """What a C3D file holds, in SI units and z up.

    Attributes:
        stamps: (T,) of the angles [ns].
        angles: name → (T,) [rad].
        plates: wrenches on the body.
        remarks: sentences.
    """

    stamps: Stamps
    angles: dict[str, Array]
    plates: tuple[Wrenches, ...]
    remarks: tuple[str, ...]


def read_c3d(path: Path) -> C3d:
    """Read a C3D file.

    Raises:
        BagError: it is none, or holds neither force plates nor angles.
        MissingDependencyError: ezc3d is not installed.
    """
    ezc3d = library('ezc3d', 'Reading C3D files')
    try:
        with path.open('rb'):
            file = ezc3d.c3d(str(path), extract_forceplat_data=True)
    except OSError as error:
        raise not_readable(path, error.strerror or str(error)) from error
    except Exception as error:  # of the C++ library, without a common base
        raise BagError(
            f"'{path}' cannot be read as C3D: {str(error).rstrip('.')}.", kind='c3d', path=path
        ) from error
    header, points = file['header'], file['data']['points'][:3]
    stamps, angles, remarks = _angles(file, header['points'], points)
    platforms = file['data']['platform']
    if not platforms and not angles:
        raise BagError(
            f"'{path}' holds neither force plates (FORCE_PLATFORM) nor angles (POINT:ANGLES).",
            kind='nothing_to_import', path=path,
        )  # fmt: skip
    plates = []
    for k, platform in enumerate(platforms, start=1):
        plate, down = _plate(f'plate{k}', platform, points, header)
        plates.append(plate)
        if down:
            remarks.append(f'{plate.name} measures what presses on it: all signs are turned.')
    return C3d(stamps, angles, tuple(plates), tuple(remarks))


def _plate(name: str, platform: Any, points: Array, header: Any) -> tuple[Wrenches, bool]:
    """A plate; whether its file has the force on the plate instead of that on the body."""
    length, newton, unit = (
        _scale(name, platform[f'unit_{what}']) for what in ('position', 'force', 'moment')
    )
    corners = np.asarray(platform['corners']).T  # (4, 3)
    centre = corners.mean(axis=0)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[1])
    if np.nansum(np.nanmean(points, axis=(1, 2)) * normal - centre * normal) < 0.0:
        normal = -normal  # to the side on which the body is
    turn = up_to_z(np.sign(normal) * (np.abs(normal) == np.abs(normal).max()))
    force = newton * np.asarray(platform['force']).T
    moment = unit * np.asarray(platform['moment']).T + np.cross(length * centre, force)
    values = np.hstack([force @ turn.T, moment @ turn.T])
    down = float(np.sum(values[:, 2])) < 0.0
    analog = header['analogs']
    stamps = _stamps(header['points'], len(values), analog['frame_rate'])
    return Wrenches(name, stamps, -values if down else values), down


def _scale(plate: str, unit: str) -> float:
    if unit not in _SCALES:
        raise BagError(
            f"{plate} has the unit '{unit}'; valid: {', '.join(_SCALES)}.",
            kind='unknown_unit', unit=unit, valid=tuple(_SCALES),
        )  # fmt: skip
    return _SCALES[unit]


def _angles(file: Any, header: Any, points: Array) -> tuple[Stamps, dict[str, Array], list[str]]:
    """Angles at the instants at which all are known."""
    parameters = file['parameters']['POINT']
    stamps = _stamps(header, points.shape[2], header['frame_rate'])
    if 'ANGLES' not in parameters:
        return stamps, {}, []
    labels = parameters['LABELS']['value']
    names = [name for name in parameters['ANGLES']['value'] if name in labels]
    values = points[:, [labels.index(name) for name in names]].reshape(3 * len(names), -1)
    unit = parameters.get('ANGLE_UNITS', {'value': ['deg']})['value'][0]
    if unit != 'rad':
        values = np.radians(values)
    known = np.isfinite(values).all(axis=0)
    remarks = [] if known.all() else [f'In {100 * (1 - known.mean()):.0f} % of the frames an '
                                      'angle is missing; these are left out.']  # fmt: skip
    columns = [f'{name}_{axis}' for axis in 'xyz' for name in names]
    return stamps[known], dict(zip(columns, values[:, known], strict=True)), remarks


def _stamps(header: Any, count: int, rate: float) -> Stamps:
    begin = header['first_frame'] / header['frame_rate']
    stamps: Stamps = np.round((begin + np.arange(count) / rate) * NANOSECONDS).astype(np.int64)
    return stamps + FIRST_STAMP
