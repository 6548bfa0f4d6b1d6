"""What the figures over time show: the signals of each pair of axes, and their limits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.store import Store
from izmp_dynamics.report.decimation import robust_limits
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import Summary

_FORCE_VIEW = (-0.25, 3.0)  # in multiples of the weight


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        label: label of the y axis, with its unit.
        signals: name → (K,) values in that unit; 'measured' is the force that the feet measure,
            'averaged' the margin of the averaged point.
        bounds: limits that outliers must not push the view beyond; None for none.
        include: values that are always in view.
        store: keeps the signals.
    """

    label: str
    signals: Mapping[str, Array]
    bounds: tuple[float, float] | None = None
    include: tuple[float, ...] = ()
    store: Store = field(default_factory=Store, repr=False, compare=False)

    @cached_property
    def limits(self) -> tuple[float, float]:
        """Lower and upper limit of the y axis."""
        low, high = robust_limits(self.signals.values(), self.bounds, self.store)
        return min(low, *self.include, high), max(high, *self.include, low)


def margin_panel(scene: Scene, summary: Summary) -> Panel | None:
    """Signed margin of every track, and of the judged one averaged; None without any margin."""
    tracks = scene.evaluation.tracks
    signals = {name: _mm(scene, tracks[name].margin) for name in _in_the_plane(scene)}
    if not _any_value(scene, signals) or summary.judged is None:
        return None
    signals['averaged'] = _mm(scene, scene.averaged(summary.judged.name).margin)
    room = 1000.0 * summary.verdict.room if np.isfinite(summary.verdict.room) else 50.0
    largest = float(np.fmax.reduce([scene.store.extremes(v)[1] for v in signals.values()]))
    bounds = (-3.0 * room, max(largest, room))
    smallest = 1000.0 * summary.judged.averaged_margin - 0.06 * room
    return Panel('margin [mm]', signals, bounds, (min(-0.06 * room, smallest),), scene.store)


def coordinate_panels(scene: Scene) -> Iterator[Panel]:
    """X and y of every track in nif; nothing without any point."""
    for axis, label in enumerate(('x forward [mm]', 'y to the left [mm]')):
        names = scene.names if axis == 1 else _in_the_plane(scene)
        signals = {name: _mm(scene, scene.points[name][:, axis]) for name in names}
        if axis == 0 and not _any_value(scene, signals):
            return
        yield Panel(label, signals, _sole_bounds(scene, axis), store=scene.store)


def force_panel(scene: Scene) -> Panel | None:
    """Force along the ground normal of every method, and as measured; None without any."""
    signals = {n: f for n, f in scene.normal_forces.items() if n != 'cop'}
    if scene.store.has_numbers(scene.measured_force):
        signals['measured'] = scene.measured_force
    if not _any_value(scene, signals):
        return None
    weight = scene.weight
    bounds = (_FORCE_VIEW[0] * weight, _FORCE_VIEW[1] * weight) if weight > 0 else None
    return Panel('force [N]', signals, bounds, (0.9 * weight, 1.1 * weight), scene.store)


def gap_reference(scene: Scene) -> str | None:
    """Track that the others are compared with: CoP, else the last; None with fewer than two."""
    names = _in_the_plane(scene)
    return 'cop' if 'cop' in names else names[-1] if len(names) > 1 else None


def gap_panel(scene: Scene, summary: Summary) -> Panel | None:
    """Distance of each IZMP from the CoP, else of the methods from each other; None without."""
    reference = gap_reference(scene)
    if reference is None:
        return None
    signals = {
        name: _mm(scene, scene.apart(name, reference))
        for name in _in_the_plane(scene)
        if name != reference
    }
    if not _any_value(scene, signals):
        return None
    bounds = (0.0, _gap_view(scene, summary, signals))
    return Panel('distance [mm]', signals, bounds, (0.0,), scene.store)


def _mm(scene: Scene, values: Array) -> Array:
    """Values (K,) [m] in mm."""
    scaled: Array = scene.by_rows(lambda rows: 1000.0 * values[rows])
    return scaled


def _in_the_plane(scene: Scene) -> list[str]:
    """Tracks whose points are known in both directions."""
    return [name for name in scene.names if name != 'cop' or scene.cop_is_whole]


def _sole_bounds(scene: Scene, axis: int) -> tuple[float, float] | None:
    """Bounds [mm] around the loaded soles, or around the calmest track without soles."""
    known: list[Array] = []
    samples = scene.sampled(scene.store.true(scene.loaded))
    for foot in scene.evaluation.feet:
        corners = scene.soles_in_nif(foot, samples[foot.loaded[samples]])[..., axis]
        known.append(corners[np.isfinite(corners)])
    corners = np.concatenate([np.empty(0), *known])
    if not corners.size:
        percentile = scene.store.percentile
        tracks = [points[:, axis] for points in scene.points.values()]
        tracks = [track for track in tracks if scene.store.has_numbers(track)]
        if tracks:
            calmest = min(tracks, key=lambda track: percentile(track, 95) - percentile(track, 5))
            corners = np.array([percentile(calmest, q) for q in (1, 99)])
    if not corners.size:
        return None
    low, high = 1000.0 * float(corners.min()), 1000.0 * float(corners.max())
    reach = 0.5 * max(high - low, 100.0)
    return low - reach, high + reach


def _gap_view(scene: Scene, summary: Summary, signals: Mapping[str, Array]) -> float:
    """Upper bound of the gap's view [mm]: the room, or what the calmest method needs."""
    needed = [scene.store.percentile(values, 99.5) for values in signals.values()]
    calmest = min(value for value in needed if np.isfinite(value))
    room = 1000.0 * summary.verdict.room
    return max(3.0 * calmest, room if np.isfinite(room) else 0.0, 0.1)


def _any_value(scene: Scene, signals: Mapping[str, Array]) -> bool:
    return any(scene.store.has_numbers(values) for values in signals.values())
