"""What a calibration may change, in one vector: groups, units, how far off each usually is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from izmp_dynamics.calibration.regressor import SIZE, LinkInertia
from izmp_dynamics.conventions import Array
from izmp_dynamics.errors import UnknownNameError
from izmp_dynamics.pipeline.rig import Rig

GROUPS = (
    'delays',
    'imu_rotation',
    'gyroscope_bias',
    'accelerometer_bias',
    'ft_offsets',
    'ft_rotation',
    'ft_scale',
    'ft_matrix',
    'payload',
    'inertias',
)
"""Names for `--only`, in this order."""

DEFAULT_GROUPS = tuple(
    name for name in GROUPS if name not in ('ft_scale', 'ft_matrix', 'inertias')
)
"""What is estimated unless stated otherwise."""

DEGREE = float(np.pi / 180.0)
MATRIX_PRIOR = ((0.2, 3.0), (0.02, 0.2))
"""How far a calibration matrix is off identity: force by force [-], by moment [1/m], moment by
force [m], by moment [-]."""

FORCES = ('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')


@dataclass(frozen=True)
class Parameter:
    """One number.

    Attributes:
        name: e.g. 'feet[left].offset.Fx'.
        group: one of GROUPS.
        unit: SI unit.
        prior: how far off it usually is, a standard deviation.
    """

    name: str
    group: str
    unit: str
    prior: float


@dataclass(frozen=True)
class Layout:
    """All numbers that are estimated, in the order of the vector x; zero: as the robot file says.

    Attributes:
        parameters: the N numbers.
        payload_link: link whose mass and centre of mass are corrected.
        inertias: links whose parameters are all estimated.
    """

    parameters: tuple[Parameter, ...]
    payload_link: LinkInertia
    inertias: tuple[LinkInertia, ...]

    @property
    def priors(self) -> Array:
        """(N,) standard deviations."""
        return np.array([parameter.prior for parameter in self.parameters])

    def columns(self, name: str) -> slice:
        """Columns of the numbers of that name, or with one more part; none if there are none."""
        return self._columns.get(name, slice(0, 0))

    @cached_property
    def _columns(self) -> dict[str, slice]:
        """Name, with and without what follows its last dot → columns."""
        found: dict[str, slice] = {}
        for k, parameter in enumerate(self.parameters):
            for name in (parameter.name, parameter.name.rpartition('.')[0]):
                first = found[name].start if name in found else k
                found[name] = slice(first, k + 1)
        return found

    def value(self, x: Array, name: str, size: int) -> Array:
        """(size,) the numbers of that name in x (N,); zeros if they are not estimated."""
        values = x[self.columns(name)]
        return values if len(values) else np.zeros(size)


def check_groups(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return groups in their usual order.

    Raises:
        UnknownNameError: if there is no such group.
    """
    for name in names:
        if name not in GROUPS:
            raise UnknownNameError('group of parameters', name, GROUPS)
    return tuple(name for name in GROUPS if name in names)


def make_layout(
    rig: Rig, links: tuple[LinkInertia, ...], payload_link: str, groups: tuple[str, ...]
) -> Layout:
    """Lay out the parameters of some groups.

    Args:
        rig: the robot.
        links: its links with mass.
        payload_link: link whose mass and centre of mass are corrected.
        groups: names of GROUPS.

    Raises:
        UnknownNameError: if the link has no mass or does not exist.
    """
    by_name = {link.link: link for link in links}
    if payload_link not in by_name:
        raise UnknownNameError('link with mass', payload_link, by_name)
    mass = float(sum(link.theta[0] for link in links))
    parameters: list[Parameter] = []

    def add(group: str, name: str, axes: tuple[str, ...], unit: str, prior: float) -> None:
        if group in groups:
            names = [f'{name}.{axis}' for axis in axes] or [name]
            parameters.extend(Parameter(full, group, unit, prior) for full in names)

    axes = ('x', 'y', 'z')
    six_axis = [foot for foot in rig.feet if foot.sensor and not foot.normal_only]
    add('delays', 'imu.delay', (), 's', 0.05)
    add('delays', 'gyroscope.delay', (), 's', 0.05)
    for foot in rig.feet:
        if foot.sensor is not None:
            add('delays', f'feet[{foot.name}].delay', (), 's', 0.05)
    add('imu_rotation', 'imu.rotation', axes, 'rad', 10.0 * DEGREE)
    add('gyroscope_bias', 'imu.gyroscope_bias', axes, 'rad/s', 1.0 * DEGREE)
    add('accelerometer_bias', 'imu.accelerometer_bias', axes, 'm/s²', 0.15)
    for foot in rig.feet:
        if foot.sensor is None:
            continue
        name = f'feet[{foot.name}].offset'
        add('ft_offsets', name, FORCES[2:3] if foot.normal_only else FORCES[:3], 'N', 30.0)
        if not foot.normal_only:
            add('ft_offsets', name, FORCES[3:], 'N·m', 3.0)
    for foot in six_axis:
        add('ft_rotation', f'feet[{foot.name}].rotation', axes, 'rad', 5.0 * DEGREE)
        add('ft_scale', f'feet[{foot.name}].scale', (), '', 0.05)
        for row, output in enumerate(FORCES):
            for column, cause in enumerate(FORCES):
                prior = MATRIX_PRIOR[row // 3][column // 3]
                add('ft_matrix', f'feet[{foot.name}].matrix.{output}{cause}', (), '', prior)
    if 'inertias' in groups:
        for link in links:
            parameters += [
                Parameter(f'inertia[{link.link}].{k}', 'inertias', '', np.inf) for k in range(SIZE)
            ]
    else:
        add('payload', 'payload.mass', (), 'kg', 0.1 * mass)
        if six_axis:
            add('payload', 'payload.com', axes, 'm', 0.03)
    if not six_axis:  # the sum of vertical forces does not separate these
        parameters = [p for p in parameters if p.group not in ('payload',)]
    return Layout(tuple(parameters), by_name[payload_link], links if 'inertias' in groups else ())
