"""How the controllers look and what they are called in all figures of the seesaw."""

from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line

LABELS = {'mixed': 'mixed momentum', 'robot': 'robot momentum'}
PLANT_LABELS = {'mujoco': 'MuJoCo', 'kkt': 'KKT'}

_COLOURS = {'mixed': 'ir-md', 'robot': 'mr-ad'}  # the paper draws them red and blue
_DASHES: dict[str, Any] = {'mixed': '-', 'robot': (0, (4, 1.6))}
MARKERS = {'mixed': 'o', 'robot': 's'}


def style(look: Look, controller: str, **others: Any) -> dict[str, Any]:
    """Arguments of matplotlib's `plot` for a controller."""
    own = {
        'color': look[_COLOURS[controller]],
        'linestyle': _DASHES[controller],
        'linewidth': 1.3,
    }
    return own | others


def entry(look: Look, controller: str, text: str = '', **others: Any) -> Entry:
    """Legend entry of a controller."""
    keywords = style(look, controller, **others)
    del keywords['color']
    return Entry(text or LABELS[controller], line(look, _COLOURS[controller], **keywords))
