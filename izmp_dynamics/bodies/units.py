"""Inertial units on a human: a table with gyroscopes and accelerometers → samples per body."""

import re
from collections.abc import Mapping

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import BagError, UnknownNameError
from izmp_dynamics.bodies.recording import Recording, Wrenches
from izmp_dynamics.bodies.table import Table
from izmp_dynamics.sensing.sensor_check import FASTEST_GYROSCOPE

_COLUMN = re.compile(r'(.+?)_?(acc|gyr)[a-z]*_?([xyz])', re.IGNORECASE)


def read_units(
    table: Table, bodies: Mapping[str, str], recording: Recording
) -> tuple[tuple[Wrenches, ...], tuple[str, ...]]:
    """Find units in columns such as trunk_Accel_X and trunk_Gyro_X.

    Args:
        table: of the file.
        bodies: name of a unit in its columns → body that carries it.
        recording: of the motion.

    Returns:
        By body angular velocity and specific force; how they are read, sentences.

    Raises:
        UnknownNameError: there is no such unit or body.
        BagError: an acceleration is neither in m/s² nor in g, or the times are others.
    """
    found: dict[str, dict[str, str]] = {}
    for column in table.names:
        if match := _COLUMN.fullmatch(column):
            unit, *what = match.groups()
            found.setdefault(unit, {})[''.join(what).lower()] = column
    wanted = [f'{kind}{axis}' for kind in ('gyr', 'acc') for axis in 'xyz']
    whole = {unit: [of[key] for key in wanted] for unit, of in found.items() if len(of) == 6}
    valid = [link.name for link in recording.links[1:] if link.mass]
    inside, units, remarks = recording.inside(table.stamps, 'units'), [], []
    for unit, body in bodies.items():
        if unit not in whole:
            raise UnknownNameError('unit', unit, tuple(whole), f"in '{table.path}'")
        if body not in valid:
            raise UnknownNameError('body beside the root', body, valid, 'in the model')
        values = table.columns(whole[unit])
        turns_in, size = 'rad/s', float(np.median(np.linalg.norm(values[:, 3:], axis=1)))
        moves_in = 'g' if 0.7 < size < 1.5 else 'm/s²'
        if not 0.7 < size < 1.5 and not 0.7 < size / GRAVITY < 1.5:
            raise BagError(
                f"'{table.path}' has accelerations of {size:.3g} in the median for '{unit}'; "
                f'specific force is 1 g or {GRAVITY:.2f} m/s² at rest.',
                kind='wrong_unit', path=table.path,
            )  # fmt: skip
        if np.abs(values[:, :3]).max() > FASTEST_GYROSCOPE:
            turns_in, values[:, :3] = '°/s', np.radians(values[:, :3])
        values[:, 3:] *= GRAVITY if moves_in == 'g' else 1.0
        units.append(Wrenches(body, table.stamps[inside], values[inside]))
        remarks.append(f"Unit '{unit}' on {body} is read in {turns_in} and {moves_in}.")
    return tuple(units), tuple(remarks)
