"""Angular acceleration and proper acceleration of the root from accelerometers (eqs. 23-29).

A rigid body that carries accelerometers at the points p_i, with the sensitive axes u, gives one
linear equation per axis (eq. 23, with the specific force φ in place of a):

    u · (φ + ω̇ × p_i + ω × (ω × p_i)) = reading

The unknowns are φ of the root origin and ω̇, six numbers. Any number of tri- or uniaxial sensors
is stacked, weighed by 1 / σ², and solved by least squares. The paper's layout, an IMU and three
accelerometers on orthogonal arms, is the special case with six axes, for which the solution is
eqs. 27-29.

The gyroscope enters only in the small term ω × (ω × p); its noise is not part of the weights.

A layout observes φ and ω̇ completely unless there is a direction that no reading depends on, a null
vector of the matrix whose rows are [u, (p - c) × u / L]. Lengths are measured from the centre c of
the sensors in units of their spread L, so the verdict depends on the shape of the layout alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices, Stamps, frozen
from izmp_dynamics.base.errors import SensingError, ShapeError, UnknownNameError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import dot, rotate, store, vector
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER
from izmp_dynamics.sensing.root_state import RootState


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
        return np.asarray(self.axes @ self.root_R_sensor.T)

    def readings(self, vectors: Array) -> Array:
        """Return the (T, k) components along the sensitive axes of vectors (T, 3) [m/s²]."""
        return np.asarray(np.einsum('kj,...j->...k', self.axes, np.asarray(vectors, np.float64)))


_TOLERANCE = 1e-6

_REMEDIES = {
    'blind_axis': 'turn one of them or use a triaxial one',
    'one_point': 'move them apart, not all on one line',
    'one_line': 'move one sensor off that line',
    'dependent_axes': 'turn one of them or use a triaxial one',
}


def lever_matrix(points: Array, axes: Array) -> tuple[Array, float, Array]:
    """Matrix that maps φ of the centre and ω̇ · scale to the readings at ω = 0 (eq. 23).

    Args:
        points: (M, 3) positions of the axes' sensors in the root frame [m].
        axes: (M, 3) sensitive axes in the root frame.

    Returns:
        centre (3,) [m], scale [m], matrix (M, 6).
    """
    centre = points.mean(axis=0)
    arms = points - centre
    scale = _extent(arms) or 1.0
    return centre, scale, np.hstack([axes, np.cross(arms / scale, axes)])


def check_layout(names: Sequence[str], points: Array, axes: Array) -> None:
    """Refuse a layout that leaves a component of φ or ω̇ unobservable.

    Raises:
        SensingError: names the component, the reason and a remedy.
    """
    listed = ', '.join(names) or 'none'
    if len(axes) < 6:
        raise SensingError(
            f'Angular acceleration from accelerometers needs at least 6 sensitive axes, but '
            f'{listed} have {len(axes)} together; add an accelerometer.',
            kind='too_few_axes',
            accelerometers=tuple(names),
            axes=len(axes),
        )
    hidden = _null_space(lever_matrix(points, axes)[2])
    if not len(hidden):
        return
    layout = _layout(points, axes)
    raise SensingError(
        f'The accelerometers {listed} {_reason(layout, points, axes)}: '
        f'{_component(hidden)} is not observable; {_REMEDIES[layout]}.',
        kind='not_observable',
        accelerometers=tuple(names),
        layout=layout,
        component=_component(hidden),
    )


def _component(hidden: Array) -> str:
    """Name what the null vectors (d, 6) stand for."""
    angular = _row_space(hidden[:, 3:])
    if len(angular):
        return f'angular acceleration about {_directions(angular)}'
    return f'acceleration along {_directions(_row_space(hidden[:, :3]))}'


def _layout(points: Array, axes: Array) -> str:
    """Why the layout leaves a component unobservable: a key of `_REMEDIES`."""
    if len(_null_space(axes)):
        return 'blind_axis'
    return {0: 'one_point', 1: 'one_line'}.get(len(_spread(points)), 'dependent_axes')


def _reason(layout: str, points: Array, axes: Array) -> str:
    return {
        'blind_axis': f'all sense at right angles to {_directions(_null_space(axes))}',
        'one_point': 'sit at one point',
        'one_line': f'lie on one line along {_directions(_spread(points))}',
        'dependent_axes': 'have sensitive axes that do not complement each other',
    }[layout]


def _spread(points: Array) -> Array:
    """Directions (d, 3) in which the points extend."""
    arms = points - points.mean(axis=0)
    scale = _extent(arms)
    return _row_space(arms / scale) if scale else np.empty((0, 3))


def _extent(arms: Array) -> float:
    """Largest distance from the centre [m]; 0 if it is below a micrometre."""
    extent = float(np.linalg.norm(arms, axis=1).max())
    return extent if extent > 1e-6 else 0.0


def _row_space(matrix: Array) -> Array:
    _, values, rows = np.linalg.svd(matrix, full_matrices=False)
    return rows[values > _TOLERANCE]


def _null_space(matrix: Array) -> Array:
    _, values, rows = np.linalg.svd(matrix)
    return rows[np.count_nonzero(values > _TOLERANCE * values[0]) :]


def _directions(vectors: Array) -> str:
    if len(vectors) == 3:
        return 'any axis'
    return ' and '.join(_direction(vector) for vector in vectors)


def _direction(vector: Array) -> str:
    """Write a direction: 'y', or '(0.71 0.71 0)' in root axes, up to sign."""
    unit = vector / np.linalg.norm(vector)
    largest = int(np.argmax(np.abs(unit)))
    if abs(unit[largest]) > 1.0 - _TOLERANCE:
        return 'xyz'[largest]
    unit *= np.sign(unit[np.flatnonzero(np.abs(unit) > _TOLERANCE)[0]])
    return f'({" ".join(f"{value + 0.0:.3g}" for value in np.round(unit, 3))})'


LARGE_AMPLIFICATION = 100.0
"""Error amplification from which on a layout is remarked on [(rad/s²) / (m/s²)].

It is that of arms of 1 cm: the noise of a good IMU (60 µg/√Hz) at 500 Hz becomes 1.3 rad/s².
"""


class AccelerometerArray:
    """Weighted least squares over all accelerometers of the root link (paper, eqs. 23 to 29).

    Args:
        accelerometers: at least six sensitive axes that observe all of φ and ω̇.

    Attributes:
        names: of the accelerometers.
        gain: (6, M) maps the readings, less ω × (ω × p), to φ and ω̇.
        warnings: what is bad, though not impossible, about the layout: one sentence each.

    Raises:
        SensingError: a component of φ or ω̇ is not observable; the message names it.
    """

    def __init__(self, accelerometers: Sequence[Accelerometer]) -> None:
        self.accelerometers = tuple(accelerometers)
        self.names = tuple(sensor.name for sensor in accelerometers)
        if len(set(self.names)) != len(self.names):
            raise SensingError(
                f'Two accelerometers have the same name: {", ".join(self.names)}.',
                kind='name_twice',
                accelerometers=self.names,
            )
        counts = [len(sensor.axes) for sensor in accelerometers]
        points = [sensor.p_sensor_in_root for sensor in accelerometers]
        self._points = np.repeat(np.reshape(points, (-1, 3)), counts, axis=0)
        self._axes = np.concatenate([np.empty((0, 3)), *(s.axes_in_root for s in accelerometers)])
        densities = np.repeat([sensor.noise_density for sensor in accelerometers], counts)
        self._sensitive = np.concatenate([np.empty((0, 3)), *(s.axes for s in accelerometers)])
        self._owners = np.repeat(np.arange(len(counts)), counts)
        check_layout(self.names, self._points, self._axes)
        self.gain = frozen(_gain(self._points, self._axes, densities))
        self.warnings = self._remarks()

    def __deepcopy__(self, memo: object) -> 'AccelerometerArray':
        """Nothing in it changes; copies of its arrays would be writable, of another type."""
        return self

    @property
    def amplification(self) -> float:
        """Standard deviation of ω̇ about the worst axis per unit noise [(rad/s²) / (m/s²)]."""
        return float(np.linalg.norm(self.gain[3:], ord=2))

    def batch(
        self, stamps: Stamps, angular_velocity: Array, readings: Mapping[str, Array]
    ) -> RootState:
        """Solve for the motion of the root.

        Args:
            stamps: (T,) common to all sensors [ns].
            angular_velocity: (T, 3) gyroscope in root axes [rad/s].
            readings: accelerometer → (T, k) along its sensitive axes [m/s²].

        Returns:
            ω, ω̇ and φ of the root origin at those instants, in root axes.

        Raises:
            ShapeError: if an argument has another shape.
            UnknownNameError: if an accelerometer has no reading.
        """
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        omega = np.ascontiguousarray(angular_velocity, dtype=np.float64)
        if omega.shape != (len(stamps), 3):
            raise ShapeError('angular_velocity', f'({len(stamps)}, 3)', omega.shape)
        columns = []
        for sensor in self.accelerometers:
            if sensor.name not in readings:
                raise UnknownNameError('reading of accelerometer', sensor.name, readings)
            column = np.asarray(readings[sensor.name], dtype=np.float64)
            expected = (len(stamps), len(sensor.axes))
            if column.shape != expected:
                raise ShapeError(f"readings of '{sensor.name}'", str(expected), column.shape)
            columns.append(column)
        along = np.hstack(columns)
        forces = np.zeros((*along.shape, 3))
        forces[..., 0] = along  # each by a sensor of its own, along its x
        ones = np.zeros_like(self._axes)
        ones[:, 0] = 1.0
        solved = self._solved(stamps, omega, np.eye(3), forces, ones, np.arange(len(ones)))
        return replace(solved, angular_velocity=omega)

    def solve(self, stamps: Stamps, gyroscope: Array, R: Array, forces: Array) -> RootState:
        """Do as `batch`, given what the sensors measure in their own axes.

        Args:
            stamps: (T,) common to all sensors [ns].
            gyroscope: (T, m) of which the first three are ω in the axes of the gyroscope [rad/s].
            R: (3, 3) root_R_gyroscope.
            forces: (T, S, 3) specific forces in the axes of the accelerometers [m/s²].
        """
        return self._solved(stamps, gyroscope, R, forces, self._sensitive, self._owners)

    def _solved(
        self, stamps: Stamps, gyroscope: Array, R: Array, forces: Array, sensitive: Array,
        owners: Indices,
    ) -> RootState:  # fmt: skip
        omega, alpha, phi = (np.empty((len(stamps), 3)) for _ in range(3))
        _solve(
            gyroscope, R, forces, sensitive, owners, self.gain, self._axes, self._points,
            omega, alpha, phi,
        )  # fmt: skip
        return RootState(stamps, omega, alpha, phi)

    def _remarks(self) -> tuple[str, ...]:
        if self.amplification <= LARGE_AMPLIFICATION:
            return ()
        return (
            f'The accelerometers {", ".join(self.names)} are so close to a layout that does not '
            f'observe the angular acceleration that 1 m/s² of noise makes '
            f'{self.amplification:.0f} rad/s² of error; mount them further apart.',
        )


def _gain(points: Array, axes: Array, densities: Array) -> Array:
    """(6, M) weighted pseudo-inverse, from a problem about the centre of the sensors."""
    centre, scale, A = lever_matrix(points, axes)
    inverse = np.linalg.pinv(A / densities[:, None]) / densities
    angular = inverse[3:] / scale
    return np.vstack([inverse[:3] - np.cross(angular.T, centre).T, angular])


@kernel
def _solve(
    gyroscope: Array,
    root_R_gyroscope: Array,
    forces: Array,
    sensitive: Array,
    owners: Indices,
    gain: Array,
    axes: Array,
    points: Array,
    omega: Array,
    alpha: Array,
    phi: Array,
) -> None:
    """Solve for the forces along the sensitive axes (M, 3), each of the sensor that owns it.

    φ and ω̇ are the gain times what the readings are without ω × (ω × p).
    """
    R, solution = root_R_gyroscope.ravel(), np.empty(6)
    for t in range(len(forces)):
        store(omega[t], 0, rotate(R, vector(gyroscope[t], 0)))
        solution[:] = 0.0
        for m in range(len(sensitive)):
            reading = dot(vector(sensitive[m], 0), vector(forces[t, owners[m]], 0))
            linear = reading - _centripetal(omega[t], axes[m], points[m])
            for i in range(6):
                solution[i] += gain[i, m] * linear
        store(phi[t], 0, vector(solution, 0))
        store(alpha[t], 0, vector(solution, 3))


@kernel
def _centripetal(w: Array, u: Array, p: Array) -> float:
    """Centripetal part of a reading: u · (ω × (ω × p)) = (u·ω)(p·ω) - (u·p) |ω|²."""
    u_w = u[0] * w[0] + u[1] * w[1] + u[2] * w[2]
    p_w = p[0] * w[0] + p[1] * w[1] + p[2] * w[2]
    u_p = u[0] * p[0] + u[1] * p[1] + u[2] * p[2]
    return float(u_w * p_w - u_p * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]))
