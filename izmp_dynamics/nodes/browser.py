"""A robot, its points and forces in a web browser, with running plots and texts (viser)."""

import html
import re
import socket
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from io import StringIO
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.errors import IzmpError, MissingDependencyError
from izmp_dynamics.base.rotations import quaternions_of_matrices
from izmp_dynamics.report.player.shapes import Shape

SHOWN = 20.0
"""Time that the plots show [s]."""

MOST_CORNERS = 32
"""Of a support polygon."""

LEAST_MOVE = 1e-5
"""What a quaternion, or a position [m], changes by less is not sent to the browsers."""

_MARKDOWN = re.compile(r'([\\`*_{}\[\]()#+.!|~$:-])')

_GREY, _RED, _BLUE, _ORANGE = (110, 110, 110), (214, 39, 40), (31, 119, 180), (255, 127, 14)
_POINTS = {'izmp': (_RED, 0.018), 'cop': (_BLUE, 0.016), 'com': (_GREY, 0.018)}  # radius [m]
_ARROWS = {'contact_force': _RED, 'external_force': _ORANGE}
_CAMERAS = {
    'robot': ((1.5, -1.7, 0.9), (0.0, 0.0, 0.6)),
    'feet': ((0.6, -0.6, 0.3), (0.0, 0.0, 0.0)),
    'above': ((-0.01, 0.0, 1.6), (0.0, 0.0, 0.0)),
}
"""Name → position and what is looked at [m]."""

_PLOTS = {
    'margin': ('margin of stability [mm]', 'rgb(214,39,40)', {}),
    'tilt': ('tilt from standing [°]', 'rgb(31,119,180)', {}),
    'fall': ('fall probability [%]', 'rgb(255,127,14)', {'y': {'auto': False, 'range': [0, 100]}}),
}


@dataclass
class Picture:
    """What is shown at one instant; a part that is not known is absent.

    Attributes:
        level_R_root: (3, 3) rotation into a frame with z up.
        height: of the root's origin over the ground [m].
        bodies: root_R_body (B, 3, 3) and origins (B, 3) [m] of the bodies.
        points: name of `_POINTS` → (3,) in the root frame [m].
        arrows: name of `_ARROWS` → begin and end, (2, 3) in the root frame [m].
        polygon: (C, 3) corners of the support polygon in the root frame [m].
        time: [s].
        numbers: name of `_PLOTS` → value at that time, in the unit of the plot.
    """

    level_R_root: Array = field(default_factory=lambda: np.eye(3))
    height: float = 0.0
    bodies: tuple[Array, Array] | None = None
    points: dict[str, Array] = field(default_factory=dict)
    arrows: dict[str, Array] = field(default_factory=dict)
    polygon: Array | None = None
    time: float = 0.0
    numbers: dict[str, float] = field(default_factory=dict)


def require_viser() -> None:
    """Do nothing if viser is installed.

    Raises:
        MissingDependencyError: if not.
    """
    if find_spec('viser') is None:
        raise MissingDependencyError('viser', 'The view in a browser', "pip install '.[view]'")


class Browser:
    """Serves a page to any number of browsers.

    Args:
        shapes: of the bodies.
        parents: (B,) the body that each one hangs on, which precedes it; the first is the root.
        address: of the computer's interface that is listened at; 127.0.0.1: this computer alone.

    Raises:
        MissingDependencyError: viser is not installed.
        IzmpError: nothing can be served at that address.
    """

    def __init__(
        self, shapes: Iterable[Shape], parents: Indices, title: str, address: str, port: int
    ) -> None:
        require_viser()
        import viser

        try:
            socket.create_server((address, 0)).close()  # viser would wait for ever
        except OSError as error:
            raise IzmpError(
                f"No page can be served at '{address}': {error}. Valid: an address of this "
                'computer, or 0.0.0.0 for all of them.',
                kind='address', address=address,
            ) from error  # fmt: skip
        with redirect_stdout(StringIO()):  # its banner
            server: Any = viser.ViserServer(address, port, label=title, verbose=False)
        server.request_share_url = lambda **options: None  # no visitor makes the page public
        self._server = server
        self.url = f'http://{address}:{server.get_port()}'
        scene, gui = server.scene, server.gui
        scene.set_up_direction('+z')
        camera = server.initial_camera
        camera.position, camera.look_at = _CAMERAS['robot']
        scene.add_grid(
            '/ground',
            width=4.0,
            height=4.0,
            cell_size=0.1,
            section_size=1.0,
            cell_color=(45, 45, 45),
            section_color=(80, 80, 80),
        )
        self._parents, places = parents[1:], ['/robot', '/robot/0']
        for body, parent in enumerate(self._parents.tolist(), start=1):
            places.append(f'{places[1 + parent]}/{body}')  # a joint moves all that is below it
        self._frames = [scene.add_frame(place, show_axes=False) for place in places]
        self._sent = np.full((len(places), 7), np.inf)
        for k, shape in enumerate(shapes):
            red, green, blue = (round(255 * part) for part in shape.colour or (0.7, 0.72, 0.75))
            scene.add_mesh_simple(
                f'{places[1 + shape.body]}/shape{k}',
                np.float32(shape.vertices),
                np.uint32(shape.faces),
                color=(red, green, blue),
                flat_shading=not shape.smooth,
                opacity=0.6,  # the points lie between the feet
            )
        self._points = {
            name: scene.add_icosphere(f'/robot/{name}', radius, colour, visible=False)
            for name, (colour, radius) in _POINTS.items()
        }
        self._arrows = {
            name: scene.add_arrows(
                f'/robot/{name}', np.zeros((1, 2, 3)), colour, shaft_radius=0.008,
                head_radius=0.02, head_length=0.05, visible=False,
            )
            for name, colour in _ARROWS.items()
        }  # fmt: skip
        self._polygon = scene.add_line_segments(
            '/robot/support_polygon',
            np.zeros((MOST_CORNERS, 2, 3)),
            _GREY,
            thickness=0.012,
            visible=False,
        )
        gui.configure_theme(
            dark_mode=True, control_width='large', show_logo=False, show_share_button=False
        )
        gui.add_button_group('camera', tuple(_CAMERAS)).on_click(_turn_camera)
        self._text = gui.add_markdown('')
        self._series: deque[tuple[float, dict[str, float]]] = deque()
        self._plots = {
            name: gui.add_uplot(
                (np.zeros(1), np.zeros(1)),
                ({'label': 's'}, {'label': label, 'stroke': colour, 'width': 2}),
                title=label,
                scales={'x': {'time': False}, **scale},
                legend={'show': False},
                height=170,
            )
            for name, (label, colour, scale) in _PLOTS.items()
        }
        self._events = gui.add_markdown('')

    def show(self, picture: Picture) -> None:
        """Show an instant."""
        with self._server.atomic():
            R, p = picture.level_R_root, np.array([0.0, 0.0, picture.height])
            self._place(slice(0, 1), R[None], p[None])
            if picture.bodies is not None:
                self._place(slice(1, None), *self._below_parents(*picture.bodies))
            for name, sphere in self._points.items():
                sphere.visible = name in picture.points
                if name in picture.points:
                    sphere.position = picture.points[name]
            for name, arrow in self._arrows.items():
                arrow.visible = name in picture.arrows
                if name in picture.arrows:
                    arrow.points = np.float32(picture.arrows[name][None])
            self._polygon.visible = picture.polygon is not None
            if picture.polygon is not None:
                self._polygon.points = np.float32(_edges(picture.polygon))
        if self._series and picture.time < self._series[-1][0]:
            self._series.clear()  # the clock was set back
        if not self._series or picture.time > self._series[-1][0]:
            self._series.append((picture.time, dict(picture.numbers)))
        while self._series[0][0] < picture.time - SHOWN:
            self._series.popleft()

    def _below_parents(self, R: Array, p: Array) -> tuple[Array, Array]:
        """Poses of bodies, (B, 3, 3) and (B, 3) [m], in the frames of their parents."""
        turned = np.swapaxes(R[self._parents], 1, 2)
        shifted = np.einsum('bij,bj->bi', turned, p[1:] - p[self._parents])
        return np.concatenate([R[:1], turned @ R[1:]]), np.concatenate([p[:1], shifted])

    def _place(self, rows: slice, R: Array, p: Array) -> None:
        """Place frames by rotations (F, 3, 3) and origins (F, 3) [m], if they moved."""
        poses = np.hstack([np.roll(quaternions_of_matrices(R), 1, axis=1), p])
        sent = self._sent[rows]
        for part, name in ((slice(0, 4), 'wxyz'), (slice(4, 7), 'position')):
            moved = (np.abs(poses[:, part] - sent[:, part]) > LEAST_MOVE).any(axis=1)
            for row in np.flatnonzero(moved):
                setattr(self._frames[rows][row], name, poses[row, part])
            sent[moved, part] = poses[moved, part]

    def plot(self) -> None:
        """Bring the plots up to date."""
        time = np.array([at for at, _ in self._series])
        for name, plot in self._plots.items():
            values = np.array([numbers.get(name, np.nan) for _, numbers in self._series])
            known = np.isfinite(values)
            plot.visible = bool(known.any())
            if known.any():
                plot.data = (time[known] - time[-1], values[known])

    def write(self, state: str, events: Sequence[str]) -> None:
        """Show texts.

        Args:
            state: Markdown over the plots.
            events: sentences below, the latest first.
        """
        self._text.content = state
        lines = (f'- {_plain(sentence)}' for sentence in events)
        self._events.content = '\n'.join(['**Events and diagnostics**', '', *lines])

    def close(self) -> None:
        """Serve no more."""
        with redirect_stdout(StringIO()):  # its farewell
            self._server.stop()


def _plain(text: str) -> str:
    """Text that comes from others as Markdown that shows it and does nothing else."""
    return _MARKDOWN.sub(r'\\\1', html.escape(' '.join(text.split())))


def _turn_camera(event: Any) -> None:
    event.client.camera.position, event.client.camera.look_at = _CAMERAS[event.target.value]


def _edges(corners: Array) -> Array:
    """The edges (MOST_CORNERS, 2, 3) of a polygon (C, 3), the last ones without length."""
    places = np.minimum(np.arange(MOST_CORNERS + 1), len(corners)) % len(corners)
    closed = corners[places]
    return np.stack([closed[:-1], closed[1:]], axis=1)
