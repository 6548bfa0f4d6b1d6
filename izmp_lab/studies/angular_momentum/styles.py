"""How the four schemes look and what they are called in all figures."""

from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line

LABELS = {
    'E1': 'E1: point mass',
    'E2': 'E2: second iteration',
    'E3': 'E3: 16 uniform nodes',
    'E4': 'E4: 8 nodes, half early',
}
MARKERS = {'E1': 's', 'E2': 'D', 'E3': '^', 'E4': 'o'}

_COLOURS = {'E1': 'ir-md', 'E2': 'other', 'E3': 'cop', 'E4': 'mr-ad'}
_DASHES: dict[str, Any] = {'E1': (0, (4, 1.6)), 'E2': (0, (2, 1)), 'E3': (0, (1, 1)), 'E4': '-'}
_WIDTHS = {'E1': 1.3, 'E2': 1.3, 'E3': 2.2, 'E4': 1.2}


def style(look: Look, scheme: str, **others: Any) -> dict[str, Any]:
    """Arguments of matplotlib's `plot` for a scheme."""
    own = {
        'color': look[_COLOURS[scheme]],
        'linestyle': _DASHES[scheme],
        'linewidth': _WIDTHS[scheme],
    }
    return own | others


def entry(look: Look, scheme: str, **others: Any) -> Entry:
    """Legend entry of a scheme."""
    keywords = style(look, scheme, **others)
    del keywords['color']
    return Entry(LABELS[scheme], line(look, _COLOURS[scheme], **keywords))
