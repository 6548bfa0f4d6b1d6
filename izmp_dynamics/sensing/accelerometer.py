"""An accelerometer on the root link: where it is mounted and what it senses."""

from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER


@dataclass(frozen=True)
class Accelerometer:
    """An accelerometer mounted on the root link.

    Attributes:
        name: e.g. its topic or frame.
        root_R_sensor: (3, 3) orientation of the sensor frame in the root frame.
        p_sensor_in_root: (3,) position in the root frame [m].
        axes: (k, 3) sensitive axes, unit vectors in the sensor frame; default: x, y and z.
        noise_density: [m/s²/√Hz]; weighs the sensor against the others.

    Raises:
        SensingError: a rotation, position, axis or density that cannot be.
    """

    name: str
    root_R_sensor: Array
    p_sensor_in_root: Array
    axes: Array = field(default_factory=lambda: np.eye(3))
    noise_density: float = XSENS_ACCELEROMETER

    def __post_init__(self) -> None:
        for name, shape in (('root_R_sensor', (3, 3)), ('p_sensor_in_root', (3,))):
            value = frozen(getattr(self, name))
            if value.shape != shape:
                raise ShapeError(f"{name} of accelerometer '{self.name}'", str(shape), value.shape)
            object.__setattr__(self, name, value)
        object.__setattr__(self, 'axes', frozen(np.atleast_2d(self.axes)))
        self._check()

    def _check(self) -> None:
        R = self.root_R_sensor
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
            raise SensingError(
                f"The mounting of accelerometer '{self.name}' is not a rotation.",
                kind='not_a_rotation',
                accelerometer=self.name,
            )
        if not np.isfinite(self.p_sensor_in_root).all():
            raise SensingError(
                f"The position of accelerometer '{self.name}' is not finite.",
                kind='position_not_finite',
                accelerometer=self.name,
            )
        if self.axes.ndim != 2 or self.axes.shape[1] != 3 or not len(self.axes):
            raise ShapeError(f"axes of accelerometer '{self.name}'", '(k, 3)', self.axes.shape)
        if not np.allclose(np.linalg.norm(self.axes, axis=1), 1.0, atol=1e-6):
            raise SensingError(
                f"The axes of accelerometer '{self.name}' are not unit vectors.",
                kind='not_unit_vectors',
                accelerometer=self.name,
            )
        if not 0.0 < self.noise_density < np.inf:
            raise SensingError(
                f"The noise density of accelerometer '{self.name}' must be positive, "
                f'not {self.noise_density}.',
                kind='noise_density',
                accelerometer=self.name,
                noise_density=self.noise_density,
            )

    @property
    def axes_in_root(self) -> Array:
        """(k, 3) sensitive axes in the root frame."""
        axes: Array = self.axes @ self.root_R_sensor.T
        return axes

    def readings(self, vectors: Array) -> Array:
        """Return the (T, k) components along the sensitive axes of vectors (T, 3) [m/s²]."""
        readings: Array = np.einsum('kj,...j->...k', self.axes, np.asarray(vectors, np.float64))
        return readings
