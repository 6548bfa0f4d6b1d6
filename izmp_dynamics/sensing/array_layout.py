"""Whether a layout of accelerometers observes φ and ω̇ completely; if not, what and why.

A direction that no reading depends on is a null vector of the matrix whose rows are
[u, (p - c) × u / L]. Lengths are measured from the centre c of the sensors in units of their
spread L, so the verdict depends on the shape of the layout alone, not on its size or place.
"""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SensingError

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
    space: Array = rows[values > _TOLERANCE]
    return space


def _null_space(matrix: Array) -> Array:
    _, values, rows = np.linalg.svd(matrix)
    space: Array = rows[np.count_nonzero(values > _TOLERANCE * values[0]) :]
    return space


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
