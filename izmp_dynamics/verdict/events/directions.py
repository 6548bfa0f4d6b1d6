"""Directions in words, seen from the robot: x forward, y to the left, z up."""

import numpy as np

from izmp_dynamics.base.conventions import Array

_DIAGONAL = np.tan(np.radians(22.5))

_FROM = (('behind', 'the front'), ('the right', 'the left'), ('below', 'above'))
_TO = (('forward', 'back'), ('to the left', 'to the right'), ('up', 'down'))
_EDGES = (('front', 'rear'), ('left', 'right'))


def from_where(force: Array) -> str:
    """Say where a force (3,) comes from: 'from behind', 'from the left', 'from below'."""
    return f'from {_in_words(force, _FROM)}'


def where_to(way: Array) -> str:
    """Say where a way (2,) or (3,) leads: 'forward', 'to the left', 'back and to the right'."""
    return _in_words(way, _TO)


def edge_towards(way: Array) -> str:
    """Name the edge of the support polygon that lies in the direction (2,), e.g. 'left'."""
    axis = int(np.argmax(np.abs(way[:2])))
    return _EDGES[axis][0 if way[axis] > 0 else 1]


def _in_words(vector: Array, words: tuple[tuple[str, str], ...]) -> str:
    """The largest component, and the other horizontal one unless it is much smaller."""
    size = np.abs(vector)
    axis = int(np.argmax(size))
    named = [axis]
    if axis < 2 and size[1 - axis] > _DIAGONAL * size[axis]:
        named = [0, 1]
    return ' and '.join(words[k][0 if vector[k] > 0 else 1] for k in named)
