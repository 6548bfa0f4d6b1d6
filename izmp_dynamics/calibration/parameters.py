"""What a calibration may change, in one vector: groups, units, how far off each usually is."""

import dataclasses
import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.calibration.inertias import LinkInertia
from izmp_dynamics.pipeline.rig import Rig

GROUPS = ('delays', 'imu_rotation', 'gyroscope_bias', 'accelerometer_bias', 'ft_offsets',
          'ft_rotation', 'ft_scale', 'ft_matrix', 'units', 'unit_places', 'payload')  # fmt: skip
"""Names for `--only`, in this order."""

DEFAULT_GROUPS = tuple(
    name for name in GROUPS if name not in ('ft_scale', 'ft_matrix', 'unit_places')
)
"""What is estimated unless stated otherwise."""

IMU_GROUPS = ('imu_rotation', 'gyroscope_bias', 'accelerometer_bias')
"""Groups about a measured IMU."""

LEVEL = 'level'
"""Group of what is not corrected: how far from level each sole is while it rests, and the biases
and lags of the gyroscopes of the units on other links."""

POSE_DELAY = 'position.delay'
"""Name of the delay of a pose that an IMU is derived from."""

LAG = 'imu.gyroscope_delay'
"""Name of how much later than the accelerometer the gyroscope is."""

LEAST_LAG = 2e-3
"""A gyroscope that lags its accelerometer by less is left as it is; the same is the prior of what
units may see of it, and of the lag of their own gyroscopes [s]."""

DELAYS = 'delays'
"""Item of those of the IMU, its gyroscope and the force sensors: what matters is how late they are
against each other, so none of them is corrected alone."""

DEGREE = float(np.pi / 180.0)
LEVEL_PRIOR = 0.5 * DEGREE
"""What floor, sole and zeros of the leg's joints leave open while a sole rests [rad]."""

MATRIX_WIDTHS = (0.02, 0.05, 0.1, 0.2)
"""How far a calibration matrix is off identity, as part of full scale; held-out motion chooses."""

FORCES = ('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')


@dataclass(frozen=True)
class Parameter:
    """One number.

    Attributes:
        name: e.g. 'feet[left].wrench.offset.Fx'.
        group: one of GROUPS.
        unit: SI unit.
        prior: how far off it usually is, a standard deviation.
        item: what is corrected together with it or not at all.
    """

    name: str
    group: str
    unit: str
    prior: float
    item: str

    @property
    def foot(self) -> str:
        """Name of the foot that it is about; empty if there is none."""
        return self._of('feet[')

    @property
    def segment(self) -> str:
        """Link of the unit that it is about; empty if there is none."""
        return self._of('segments[')

    def _of(self, kind: str) -> str:
        begin, bracket, _ = self.name.partition('].')
        return begin.removeprefix(kind) if bracket and begin.startswith(kind) else ''


@dataclass(frozen=True)
class Layout:
    """All numbers that are estimated, in the order of the vector x; zero: as the robot file says.

    Attributes:
        parameters: the N numbers.
        payload_link: link whose mass and centre of mass are corrected.
    """

    parameters: tuple[Parameter, ...]
    payload_link: LinkInertia

    @property
    def priors(self) -> Array:
        """(N,) standard deviations."""
        return np.array([parameter.prior for parameter in self.parameters])

    def of_group(self, *groups: str) -> Flags:
        """(N,) whether a parameter belongs to one of these groups."""
        return np.array([p.group in groups for p in self.parameters], dtype=np.bool_)

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

    def with_matrix_width(self, width: float) -> 'Layout':
        """The layout with calibration matrices that far off identity, of `MATRIX_WIDTHS`."""
        ratio = width / MATRIX_WIDTHS[-1]
        parameters = tuple(
            dataclasses.replace(p, prior=ratio * p.prior) if p.group == 'ft_matrix' else p
            for p in self.parameters
        )
        return dataclasses.replace(self, parameters=parameters)


def check_groups(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return groups in their usual order.

    Raises:
        UnknownNameError: if there is no such group.
    """
    for name in names:
        if name not in GROUPS:
            raise UnknownNameError('group of parameters', name, GROUPS)
    return tuple(name for name in GROUPS if name in names)


LEAST_ARM = 0.01
"""Of a foot that touches with a point [m]."""


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
    parameters: list[Parameter] = []

    def add(
        group: str, name: str, axes: tuple[str, ...], unit: str, prior: float, item: str = ''
    ) -> None:
        if group in groups:
            names = [f'{name}.{axis}' for axis in axes] or [name]
            parameters.extend(Parameter(full, group, unit, prior, item or name) for full in names)

    axes = ('x', 'y', 'z')
    with_sensor = [foot for foot in rig.feet if foot.sensor is not None]
    six_axis = [foot for foot in with_sensor if not foot.normal_only]
    if rig.robot.imu.from_position:
        add('delays', POSE_DELAY, (), 's', 0.05, DELAYS)
    else:
        add('delays', 'imu.delay', (), 's', 0.05, DELAYS)
        add('delays', LAG, (), 's', 0.01, DELAYS)
    for foot in with_sensor:
        add('delays', f'feet[{foot.name}].wrench.delay', (), 's', 0.05, DELAYS)
    add('imu_rotation', 'imu.rotation', axes, 'rad', 10.0 * DEGREE)
    add('gyroscope_bias', 'imu.gyroscope_bias', axes, 'rad/s', 1.0 * DEGREE)
    # with the mounting, as most of a bias looks like a tilt: alone it would be given to that
    add('accelerometer_bias', 'imu.accelerometer_bias', axes, 'm/s²', 0.15, 'imu.rotation')
    for foot in with_sensor:
        name = f'feet[{foot.name}].wrench.offset'
        add('ft_offsets', name, FORCES[2:3] if foot.normal_only else FORCES[:3], 'N', 30.0)
        if not foot.normal_only:
            add('ft_offsets', name, FORCES[3:], 'N·m', 3.0, f'{name}.moment')
    for foot in six_axis:
        name = f'feet[{foot.name}].wrench'
        add('ft_rotation', f'{name}.rotation', axes, 'rad', 5.0 * DEGREE)
        add('ft_scale', f'{name}.scale', (), '', 0.05)
        # a force of full scale makes a moment of full scale at the edge of the sole, or ball
        arm = float(0.5 * np.ptp(foot.polygon, axis=0).max()) or foot.radius or LEAST_ARM
        for (row, output), (column, cause) in itertools.product(enumerate(FORCES), repeat=2):
            power = row // 3 - column // 3
            full, prior = f'{name}.matrix.{output}{cause}', MATRIX_WIDTHS[-1] * arm**power
            add('ft_matrix', full, (), ('', 'm', '1/m')[power], prior, f'{name}.matrix')
    if six_axis:  # the sum of vertical forces does not separate these
        add('payload', 'payload.mass', (), 'kg', 0.1 * float(sum(i.theta[0] for i in links)))
        add('payload', 'payload.com', axes, 'm', 0.03)
    if not {'imu_rotation', 'accelerometer_bias'}.isdisjoint(groups):
        for foot in rig.feet:
            parameters += [
                Parameter(f'feet[{foot.name}].tilt.{axis}', LEVEL, 'rad', LEVEL_PRIOR, LEVEL)
                for axis in 'xy'
            ]
    for unit in rig.units if {'units', 'unit_places'} & {*groups} else ():
        name = f'segments[{unit}]'
        add('units', f'{name}.delay', (), 's', 0.05)
        add('units', f'{name}.rotation', axes, 'rad', 10.0 * DEGREE)
        add('unit_places', f'{name}.xyz', axes, 'm', 0.1)
        parameters += [
            Parameter(f'{name}.{whose}_delay', LEVEL, 's', LEAST_LAG, LEVEL)
            for whose in ('gyroscope', 'root_gyroscope')
        ]
        for what, of, prior in (
            ('gyroscope_bias', 'rad/s', 1.0 * DEGREE),
            ('accelerometer_bias', 'm/s²', 0.15),
        ):
            full = f'{name}.{what}'
            parameters += [Parameter(f'{full}.{axis}', LEVEL, of, prior, LEVEL) for axis in axes]
    return Layout(tuple(parameters), by_name[payload_link])
