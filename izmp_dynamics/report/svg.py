"""Plots as SVG: axes, lines, areas and marks.

Lengths are tenths of a point, so that coordinates are integers. Colours are CSS variables, and
text is text in the page's font: the style sheet decides how both look (light, dark, print).
"""

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.pages.styles import LineStyle
from izmp_dynamics.report.ticks import Limits, apart, ticks

Points = npt.NDArray[np.int64]

INCH = 720
"""Of the lengths in a drawing."""

LEFT, RIGHT, BOTTOM, TOP = 0.66, 0.14, 0.46, 0.1
"""Margins around the axes [inch]."""

_BETWEEN = 0.09  # two axes [share of the height of one]
_TICK, _FONT, _DIGIT = 30, 90, 57  # length of a tick, size of its label, width of a digit
_PER_TICK = 27 * 10, 18 * 10  # least distance of ticks along x, y
_MOST_TICKS = 9
_FAR = 1e6  # a line ends there, far outside


class Axes:
    """A rectangle with two axes, and what is drawn in it from back to front.

    Args:
        left: left edge of the rectangle.
        top: upper edge.
        width: extent along x.
        height: extent along y.
        x: limits of the horizontal axis, in its unit.
        y: limits of the vertical axis.
    """

    def __init__(
        self, left: float, top: float, width: float, height: float, x: Limits, y: Limits
    ) -> None:
        self.left, self.top, self.width, self.height = map(round, (left, top, width, height))
        self.x, self.y = apart(x), apart(y)
        self.shapes: list[str] = []

    def line(self, x: Array, y: Array, style: LineStyle, dots: float = 0.0) -> None:
        """Draw a line through points (K,), (K,), interrupted where one is NaN.

        Args:
            x: along the horizontal axis, in its unit.
            y: along the vertical axis.
            style: how it is drawn.
            dots: diameter of points without a neighbour [pt]; 0 leaves them out.
        """
        known = np.isfinite(x) & np.isfinite(y)
        begins = known & ~np.append(False, known[:-1])
        points = self._points(x[known], y[known])
        path = _path(points, begins[known])
        dashes = ' '.join(f'{10 * style.width * length:g}' for length in style.dashes)
        pattern = f' stroke-dasharray="{dashes}"' if dashes else ''
        self._stroke(path, style.colour, style.width, style.opacity, pattern)
        if dots:
            lonely = begins & ~np.append(known[1:], False)
            self._dots(points[lonely[known]], style.colour, dots, style.opacity)

    def level(self, y: float, style: LineStyle) -> None:
        """Draw a line from the left to the right edge."""
        self.line(np.array(self.x), np.array([y, y]), style)

    def dots(self, points: Array, colour: str, diameter: float, opacity: float) -> None:
        """Draw points (K, 2) as dots of a diameter [pt]."""
        self._dots(self._points(*points.T), colour, diameter, opacity)

    def polygons(self, outlines: Iterable[Array], colour: str, fill: float, line: float) -> None:
        """Draw outlines, each (V, 2), filled and framed with these opacities."""
        paths = [_path(self._points(*outline.T)) + 'Z' for outline in outlines]
        if not paths:
            return
        path = ''.join(paths)
        self.shapes.append(f'<path d="{path}" fill="var(--{colour})" fill-opacity="{fill:g}"/>')
        self._stroke(path, colour, 0.8, line)

    def spans(
        self, spans: Iterable[Limits], colour: str, opacity: float = 1.0, share: float = 1.0
    ) -> None:
        """Fill stretches along x, each (begin, end), over a share of the height from below."""
        height = round(share * self.height)
        for span in spans:
            begin, end = self._points(np.array(span), np.zeros(2))[:, 0]
            self.shapes.append(
                f'<rect x="{begin}" y="{self.top + self.height - height}" width="{end - begin}" '
                f'height="{height}" fill="var(--{colour})" fill-opacity="{opacity:g}"/>'
            )

    def ring(self, x: float, y: float) -> None:
        """Draw a ring around a point, unless it is NaN."""
        if math.isfinite(x) and math.isfinite(y):
            ((across, down),) = self._points(np.array([x]), np.array([y]))
            self.shapes.append(
                f'<circle cx="{across}" cy="{down}" r="45" fill="none" stroke="var(--ink)" '
                'stroke-width="14"/>'
            )

    def frame(self, label: str, along_x: str | None) -> tuple[str, str]:
        """Draw grid and axes.

        Args:
            label: of the vertical axis.
            along_x: label of the horizontal axis; None leaves out its numbers as well.

        Returns:
            what is behind and what is before the shapes.
        """
        right, bottom = self.left + self.width, self.top + self.height
        x_ticks = ticks(self.x, min(_MOST_TICKS, self.width // _PER_TICK[0]))
        y_ticks = ticks(self.y, min(_MOST_TICKS, self.height // _PER_TICK[1]))
        across = self._points(np.array([v for v, _ in x_ticks]), np.zeros(len(x_ticks)))[:, 0]
        down = self._points(np.zeros(len(y_ticks)), np.array([v for v, _ in y_ticks]))[:, 1]
        grid = ''.join(f'M{at} {self.top}V{bottom}' for at in across)
        grid += ''.join(f'M{self.left} {at}H{right}' for at in down)
        marks = ''.join(f'M{at} {bottom}v{_TICK}' for at in across)
        marks += ''.join(f'M{self.left} {at}h{-_TICK}' for at in down)
        texts = [
            _text(self.left - _TICK - 35, at + 32, text, _FONT, 'end')
            for at, (_, text) in zip(down, y_ticks, strict=True)
        ]
        if along_x is not None:
            texts += [
                _text(at, bottom + 137, text, _FONT, 'middle')
                for at, (_, text) in zip(across, x_ticks, strict=True)
            ]
            texts.append(_text(self.left + self.width // 2, bottom + 275, along_x, 95, 'middle'))
        longest = max((len(text) for _, text in y_ticks), default=0)
        beside = max(90, self.left - _TICK - 35 - longest * _DIGIT - 60)
        turned = f'translate({beside} {self.top + self.height // 2}) rotate(-90)'
        texts.append(_text(0, 0, label, 95, 'middle', f' transform="{turned}"'))
        outline = f'M{self.left} {self.top}V{bottom}H{right}'
        return (
            f'<path d="{grid}" fill="none" stroke="var(--grid)" stroke-width="6"/>',
            f'<path d="{outline}{marks}" fill="none" stroke="var(--muted)" stroke-width="7"/>'
            + ''.join(texts),
        )

    def _points(self, x: Array, y: Array) -> Points:
        """Where points (K,), (K,) are in the drawing: (K, 2)."""
        across = self.left + self.width * (x - self.x[0]) / (self.x[1] - self.x[0])
        down = self.top + self.height * (self.y[1] - y) / (self.y[1] - self.y[0])
        return np.rint(np.clip(np.stack([across, down], 1), -_FAR, _FAR)).astype(np.int64)

    def _stroke(
        self, path: str, colour: str, width: float, opacity: float, more: str = ''
    ) -> None:
        self.shapes.append(
            f'<path d="{path}" fill="none" stroke="var(--{colour})" '
            f'stroke-width="{10 * width:g}" stroke-opacity="{opacity:g}"{more}/>'
        )

    def _dots(self, points: Points, colour: str, diameter: float, opacity: float) -> None:
        path = ''.join(f'M{x} {y}h0' for x, y in points.tolist())
        self._stroke(path, colour, diameter, opacity, ' stroke-linecap="round"')


def stacked(width: float, height: float, x: Limits, ys: Sequence[Limits]) -> list[Axes]:
    """Axes above each other, from top to bottom, in a drawing of `width` × `height` [inch].

    Args:
        width: of the drawing.
        height: of the drawing.
        x: limits that all axes share.
        ys: limits of the vertical axis of each.
    """
    inner = height - TOP - BOTTOM
    each = inner / (len(ys) + _BETWEEN * (len(ys) - 1))
    return [
        Axes(
            INCH * LEFT,
            INCH * (TOP + k * (1 + _BETWEEN) * each),
            INCH * (width - LEFT - RIGHT),
            INCH * each,
            x,
            y,
        )
        for k, y in enumerate(ys)
    ]


def to_svg(
    name: str,
    description: str,
    size: tuple[float, float],
    axes: Sequence[Axes],
    labels: Sequence[str],
    along_x: str,
) -> str:
    """Put axes into an SVG element for inlining.

    Args:
        name: prefix of every id, unique in the page.
        description: what is shown, for readers that do not see it.
        size: width and height [inch].
        axes: from top to bottom.
        labels: of the vertical axis of each.
        along_x: label of the horizontal axis.

    Returns:
        '<svg …>…</svg>'.
    """
    parts = []
    for k, (each, label) in enumerate(zip(axes, labels, strict=True)):
        behind, before = each.frame(label, along_x if k == len(axes) - 1 else None)
        clip = f'{name}-{k}'
        parts.append(
            f'<clipPath id="{clip}"><rect x="{each.left}" y="{each.top}" width="{each.width}" '
            f'height="{each.height}"/></clipPath>{behind}'
            f'<g clip-path="url(#{clip})">{"".join(each.shapes)}</g>{before}'
        )
    width, height = (round(INCH * length) for length in size)
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(description)}">'
        f'{"".join(parts)}</svg>'
    )


def _path(points: Points, begins: npt.NDArray[np.bool_] | None = None) -> str:
    """Lines from point to point (K, 2), anew at some; points on those before are left out."""
    new = np.zeros(len(points), np.bool_) if begins is None else begins.copy()
    new[:1] = True
    steps = np.diff(points, axis=0, prepend=points[:1])
    kept = new | steps.any(axis=1)
    steps[new] = points[new]
    pairs = zip(steps[kept].tolist(), new[kept].tolist(), strict=True)
    return ''.join(f'{"M" if first else "l"}{x} {y}' for (x, y), first in pairs)


def _text(x: int, y: int, text: str, size: int, anchor: str, more: str = '') -> str:
    place = f' x="{x}" y="{y}"' if x or y else ''
    return (
        f'<text{place} font-size="{size}" text-anchor="{anchor}" fill="var(--ink)"{more}>'
        f'{escape(text)}</text>'
    )
