"""How the methods look and what they are called in all figures of the ITU Biped."""

from typing import Any

from izmp_dynamics.pages.look import Entry, Look, line
from izmp_lab.studies.itu_biped.study import Setting

PAPER_METHODS = ('converging', 'constant')
METHODS = (*PAPER_METHODS, 'filtered')

LABELS = {
    'converging': 'CCG',
    'constant': 'constant vector',
    'filtered': 'CCG and dynamics filter',
}

_COLOURS = {'converging': 'mr-ad', 'constant': 'ir-md', 'filtered': 'cop'}
_DASHES: dict[str, Any] = {'converging': '-', 'constant': (0, (4, 1.6)), 'filtered': (0, (1, 1))}
_WIDTHS = {'converging': 1.4, 'constant': 1.4, 'filtered': 1.8}
MARKERS = {'converging': 'o', 'constant': 's', 'filtered': '^'}

_WANTED = {'wanted CoG': ('ink', (0, (1.2, 1.4)), 1.1), 'wanted ZMP': ('muted', '-', 0.9)}


def style(look: Look, method: str, **others: Any) -> dict[str, Any]:
    """Arguments of matplotlib's `plot` for a method."""
    own = {
        'color': look[_COLOURS[method]],
        'linestyle': _DASHES[method],
        'linewidth': _WIDTHS[method],
    }
    return own | others


def wanted(look: Look, name: str) -> dict[str, Any]:
    """Arguments of matplotlib's `plot` for 'wanted CoG' or 'wanted ZMP'."""
    colour, dashes, width = _WANTED[name]
    return {'color': look[colour], 'linestyle': dashes, 'linewidth': width}


def entry(look: Look, method: str, text: str = '', **others: Any) -> Entry:
    """Legend entry of a method."""
    keywords = style(look, method, **others)
    return Entry(text or LABELS[method], line(look, _COLOURS[method], **_without_colour(keywords)))


def wanted_entry(look: Look, name: str) -> Entry:
    """Legend entry of 'wanted CoG' or 'wanted ZMP'."""
    return Entry(name, line(look, _WANTED[name][0], **_without_colour(wanted(look, name))))


def _without_colour(keywords: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if name != 'color'}


def foot_text(foot: tuple[float, float]) -> str:
    """Write the size of a foot."""
    return f'{foot[0]:.2f} × {foot[1]:.2f} m'


def setting_text(setting: Setting) -> str:
    """Write a setting."""
    return (
        f'feet of {foot_text(setting.foot)}, steps of {setting.step_time:.1f} s, '
        f'friction {setting.friction:.1f}'
    )
