"""Draw conventions.svg and conventions.png beside this file; docs/conventions.md shows them.

Run it from anywhere: `python docs/figures/conventions.py`. It needs matplotlib and numpy.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Polygon

FOLDER = Path(__file__).resolve().parent
STYLE = {'font.family': 'DejaVu Sans', 'axes.titlesize': 12, 'svg.hashsalt': 'izmp_dynamics'}
INK, SOFT, OUTLINE, BODY, EARTH = '#1f2933', '#7b8794', '#b8c0c9', '#eef0f3', '#f0f2f5'
X_AXIS, Y_AXIS, Z_AXIS = '#d64545', '#3f9142', '#2f6fde'
FORCE, POINT, SENSED = '#c05621', '#6b2fb3', '#0b7285'
SLOPE, LEAN = np.radians(8.0), np.radians(-14.0)
ROOT, FOOT = np.array([0.62, 0.92]), np.array([0.60, 0.03])


def turned(angle: float) -> np.ndarray:
    """Return the (2, 2) rotation of the drawing plane by `angle` [rad]."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def arrow(ax: Axes, tail, span, colour: str, width: float = 2.0, head='-|>', **more) -> None:
    """Draw an arrow from `tail` over `span`, both in data coordinates."""
    tip = np.add(tail, span)
    look = {'lw': width, 'color': colour, 'shrinkA': 0, 'shrinkB': 0, 'joinstyle': 'miter'}
    patch = FancyArrowPatch(
        tail, tip, arrowstyle=head, mutation_scale=11, zorder=6, **look, **more
    )
    ax.add_patch(patch)


def label(ax: Axes, place, text: str, colour: str = INK, shift=(0.0, 0.0), **more) -> None:
    """Write `text` at `place` + `shift`, readable on top of lines."""
    more = {'ha': 'left', 'va': 'center', 'fontsize': 10, **more}
    box = {'facecolor': 'white', 'edgecolor': 'none', 'alpha': 0.75, 'pad': 0.8}
    ax.text(*np.add(place, shift), text, color=colour, bbox=box, zorder=8, **more)


def dot(ax: Axes, place, colour: str, marker: str = 'o') -> None:
    """Mark a point on the ground."""
    ax.plot(*place, marker, ms=9, mfc=colour, mec='white', mew=1.2, zorder=9)


def frame(ax: Axes, origin, angle: float, length: float, line: str = '-') -> np.ndarray:
    """Draw a frame seen from its right side; return its x and z arrows as columns."""
    axes = turned(angle) * length
    arrow(ax, origin, axes[:, 0], X_AXIS, linestyle=line)
    arrow(ax, origin, axes[:, 1], Z_AXIS, linestyle=line)
    ax.plot(*origin, 'o', ms=5, mfc='white', mec=Y_AXIS, mew=1.6, zorder=7)
    return axes


def limb(ax: Axes, a, b, width: float) -> None:
    """Draw a body segment from `a` to `b`."""
    for colour, extra, layer in ((OUTLINE, 3, 2), (BODY, 0, 3)):
        ends = np.transpose([a, b])
        ax.plot(*ends, color=colour, lw=width + extra, solid_capstyle='round', zorder=layer)


def draw_robot(ax: Axes) -> None:
    """Draw trunk, head, one leg and its foot on the slope."""
    shoulder, head = (ROOT + turned(LEAN) @ (x, z) for x, z in ((0.0, 0.46), (0.01, 0.62)))
    ankle, knee = FOOT + turned(SLOPE) @ (0.0, 0.10), (0.86, 0.51)
    limb(ax, ROOT, knee, 17)
    limb(ax, knee, ankle, 13)
    limb(ax, ROOT, shoulder, 28)
    ax.add_patch(Circle(head, 0.085, fc=BODY, ec=OUTLINE, lw=1.5, zorder=3))
    shoe = [(-0.10, 0.0), (0.19, 0.0), (0.19, 0.04), (0.03, 0.13), (-0.05, 0.13), (-0.10, 0.06)]
    corners = FOOT + shoe @ turned(SLOPE).T
    ax.add_patch(Polygon(corners, fc=BODY, ec=OUTLINE, lw=1.5, zorder=3))


def draw_ground(ax: Axes) -> None:
    """Draw level ground that turns into a slope, its normal, and gravity."""
    along, normal = turned(SLOPE).T
    edge, end = FOOT - 0.30 * along, FOOT + 0.98 * along
    line = np.array([[-0.62, edge[1]], edge, end])
    ax.fill_between(line[:, 0], line[:, 1], -0.22, color=EARTH, zorder=0)
    ax.plot(*line.T, color=SOFT, lw=1.6, zorder=1)
    start = FOOT + 0.60 * along
    arrow(ax, start, 0.22 * normal, INK)
    label(ax, start + 0.25 * normal, 'n', fontsize=12, va='bottom', ha='center')
    label(ax, start, 'ground plane\nn·(x − p₀) = 0', shift=(0.05, 0.11))
    arrow(ax, (-0.40, 1.02), (0.0, -0.28), SOFT, 2.4)
    label(ax, (-0.36, 0.88), 'g', SOFT, fontsize=12)


def draw_frames(ax: Axes) -> None:
    """Draw world, sole, root, nif and a sensor's frame, and what the sensor measures."""
    frame(ax, (-0.40, -0.012), 0.0, 0.24)
    label(ax, (-0.46, 0.29), 'world: z up, against g')
    frame(ax, FOOT, SLOPE, 0.17)
    label(ax, FOOT, 'sole: z out of the ground', shift=(0.06, -0.10))
    tip = ROOT + frame(ax, ROOT, LEAN, 0.29)[:, 0]
    label(ax, tip, 'root, a link of the URDF:\nx forward, z up', shift=(0.03, -0.03))
    tip = ROOT + frame(ax, ROOT, SLOPE, 0.29, '--')[:, 0]
    label(ax, tip, 'nif (dashed): z along n,\nx in the root’s x–z plane', shift=(0.03, 0.04))
    imu = ROOT + turned(LEAN) @ (-0.13, 0.40)
    frame(ax, imu, LEAN + np.pi / 2, 0.12)
    label(ax, imu, 'sensor, as it is\nmounted in the URDF', shift=(-0.15, -0.03), ha='right')
    arrow(ax, imu, (0.0, 0.30), SENSED, 2.6)
    label(ax, imu, 'φ = a − g,\nat rest |g| upwards', SENSED, shift=(-0.03, 0.26), ha='right')


def draw_wrench(ax: Axes) -> None:
    """Draw the contact wrench about the root's origin and the point it has on the ground."""
    arrow(ax, ROOT, (0.17, 0.47), FORCE, 3.2)
    label(ax, ROOT, '$F_c$: what the environment\nexerts on the robot', FORCE, shift=(0.20, 0.40))
    bow = 'arc3,rad=-0.7'
    arrow(ax, np.add(ROOT, (0.13, -0.16)), (-0.28, 0.06), FORCE, 2.6, connectionstyle=bow)
    text = '$M_c$: about the origin\nof the same frame'
    label(ax, ROOT, text, FORCE, shift=(-0.19, -0.17), ha='right')
    izmp = FOOT + turned(SLOPE) @ (0.09, 0.0)
    dot(ax, izmp, POINT)
    arrow(ax, (0.37, 0.235), izmp - (0.39, 0.215), POINT, 1.2, '->')
    label(ax, (0.37, 0.25), 'IZMP', POINT, ha='right', fontweight='bold')


def draw_side_view(ax: Axes) -> None:
    """Frames and wrench in the sagittal plane, on a slope."""
    for draw in (draw_ground, draw_robot, draw_frames, draw_wrench):
        draw(ax)
    label(ax, (-0.60, -0.16), 'x red, z blue, y (green ring) away from you', SOFT, fontsize=9)
    ax.set(xlim=(-0.64, 1.62), ylim=(-0.23, 1.68), aspect='equal')
    ax.set_title('From the right: frames, specific force, contact wrench', loc='left')


def draw_margin(ax: Axes, point, edge, text: str, shift) -> None:
    """Draw a point on the ground and its distance from the nearest edge."""
    along = np.subtract(edge[1], edge[0]) / np.linalg.norm(edge[1] - edge[0])
    nearest = edge[0] + along * (along @ (point - edge[0]))
    arrow(ax, point, nearest - point, INK, 1.2, '<->')
    label(ax, point, text, shift=shift, fontsize=9)
    dot(ax, point, POINT)


def draw_top_view(ax: Axes) -> None:
    """Support polygon, margin and gap, looking down on the ground."""
    sole = np.array([[0.15, -0.06], [0.15, 0.06], [-0.09, 0.06], [-0.09, -0.06]])
    places = {'left': np.array([0.16, 0.11]), 'right': np.array([-0.02, -0.11])}
    left, right = (sole + place for place in places.values())
    hull = np.array([right[3], right[0], left[0], left[1], left[2], right[2]])
    ax.add_patch(Polygon(hull, fc='#e3f2e4', ec=Y_AXIS, lw=1.8, zorder=1))
    label(ax, (-0.12, 0.145), 'support polygon: convex\nhull of the loaded soles', Y_AXIS)
    for side, place in places.items():
        ax.add_patch(Polygon(sole + place, fc='white', ec=SOFT, lw=1.2, alpha=0.8, zorder=2))
        arrow(ax, place, (0.07, 0.0), X_AXIS)
        arrow(ax, place, (0.0, 0.05), Y_AXIS)
        ax.plot(*place, 'o', ms=5, mfc='white', mec=Z_AXIS, mew=1.6, zorder=7)
        label(ax, place, f'{side} sole', SOFT, shift=(-0.06, -0.03), fontsize=9)
    cop, izmp, beyond = np.array([[0.07, -0.025], [0.135, 0.02], [0.33, -0.055]])
    draw_margin(ax, izmp, hull[1:3], 'margin > 0', (-0.03, -0.045))
    draw_margin(ax, beyond, hull[1:3], 'margin < 0', (-0.04, -0.03))
    dot(ax, cop, SENSED, 's')
    arrow(ax, cop, izmp - cop, FORCE)
    label(ax, cop, 'CoP', SENSED, shift=(-0.012, 0.0), ha='right', fontweight='bold')
    label(ax, izmp, 'IZMP', POINT, shift=(0.012, 0.01), fontweight='bold')
    label(ax, (cop + izmp) / 2, 'gap', FORCE, shift=(-0.012, 0.02), ha='right')
    ax.set(xlim=(-0.13, 0.40), ylim=(-0.185, 0.185), aspect='equal')
    ax.set_title('From above: polygon, margin, gap (x right, y up)', loc='left')


def draw_stamps(ax: Axes) -> None:
    """Which instant a sample and its derivatives belong to."""
    ax.axvspan(0.87, 1.13, ymin=0.13, color='#fdf0e6', zorder=0)
    for time, name in enumerate(('k−1', 'k', 'k+1', 'k+2')):
        ax.axvline(time, ymin=0.16, ymax=0.85, color='#e4e7eb', lw=1.2, zorder=0)
        ax.text(time, 2.45, name, ha='center', va='bottom')
    rows = {'samples of q': 2.0, 'their q̇ and q̈': 1.0, 'IMU, accelerometers': 0.0}
    for name, height in rows.items():
        ax.text(-0.2, height, name, ha='right', va='center')
        if height != 1.0:
            ax.plot(range(4), [height] * 4, 'o', ms=8, color=INK, zorder=5)
    ax.plot([0, 2], [1.0, 1.0], color='#cbd2d9', lw=5, zorder=1)
    dot(ax, (1.0, 1.0), SENSED)
    label(ax, (2.12, 1.0), 'belong to k,\nknown at k+1', SENSED, fontsize=9)
    label(ax, (1.0, -0.65), 'equal stamps make one contact wrench', FORCE, ha='center')
    ax.set(xlim=(-1.4, 3.4), ylim=(-0.85, 2.9))
    ax.set_title('A stamp is the instant that the value belongs to', loc='left')


def main() -> None:
    """Draw the figure and write it beside this file."""
    mpl.rcParams.update(STYLE)
    figure = Figure(figsize=(13.5, 7.6), layout='constrained')
    grid = figure.add_gridspec(2, 2, width_ratios=(1.32, 1.0), height_ratios=(1.45, 1.0))
    draw_side_view(figure.add_subplot(grid[:, 0]))
    draw_top_view(figure.add_subplot(grid[0, 1]))
    draw_stamps(figure.add_subplot(grid[1, 1]))
    for ax in figure.axes:
        ax.set_axis_off()
    figure.savefig(FOLDER / 'conventions.svg', metadata={'Date': None})
    figure.savefig(FOLDER / 'conventions.png', dpi=110)


if __name__ == '__main__':
    main()
