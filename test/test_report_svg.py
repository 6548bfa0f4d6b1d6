import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.pages.styles import LineStyle
from izmp_dynamics.report import svg
from izmp_dynamics.report.ticks import apart, ticks

SOLID = LineStyle('mr-ad', 1.5)


def axes(x=(0.0, 10.0), y=(0.0, 100.0)):
    """Axes of 1000 × 500 with the origin at (100, 600)."""
    return svg.Axes(100, 100, 1000, 500, x, y)


def path(shape):
    return re.search(r' d="([^"]*)"', shape)[1]


def corners(text):
    """Points of a path of M and l."""
    found, place = [], np.zeros(2)
    for command, x, y in re.findall(r'([Ml])(-?\d+) (-?\d+)', text):
        step = np.array([int(x), int(y)])
        place = step if command == 'M' else place + step
        found.append(tuple(place.tolist()))
    return found


def test_points_are_where_the_axes_say():
    plot = axes()
    plot.line(np.array([0.0, 5.0, 10.0]), np.array([0.0, 100.0, 50.0]), SOLID)
    (shape,) = plot.shapes
    assert corners(path(shape)) == [(100, 600), (600, 100), (1100, 350)]
    assert 'stroke="var(--mr-ad)" stroke-width="15"' in shape


def test_a_line_is_broken_where_there_is_no_value():
    plot = axes()
    y = np.array([0.0, 10.0, np.nan, 30.0, 40.0, np.nan, 60.0])
    plot.line(np.arange(7.0), y, SOLID, dots=4.0)
    line, dots = plot.shapes
    assert [command for command in path(line) if command in 'Ml'] == ['M', 'l', 'M', 'l', 'M']
    assert path(dots) == 'M700 300h0'
    assert 'stroke-width="40"' in dots


def test_points_on_those_before_are_left_out():
    plot = axes()
    plot.line(np.array([0.0, 0.001, 5.0, 5.0]), np.array([0.0, 0.0, 10.0, 10.0]), SOLID)
    assert corners(path(plot.shapes[0])) == [(100, 600), (600, 550)]


def test_nothing_known_draws_nothing_that_is_not_valid():
    plot = axes()
    plot.line(np.full(3, np.nan), np.arange(3.0), SOLID, dots=4.0)
    plot.dots(np.empty((0, 2)), 'cop', 2.0, 1.0)
    plot.polygons([], 'sole', 0.1, 0.2)
    plot.spans([], 'outside')
    plot.ring(np.nan, 1.0)
    assert [path(shape) for shape in plot.shapes] == ['', '', '']


def test_values_far_outside_remain_finite():
    plot = axes()
    plot.line(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1e300, -1e300]), SOLID)
    assert np.abs(corners(path(plot.shapes[0]))).max() <= 1e6


def test_areas_and_marks():
    plot = axes()
    plot.polygons([np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 20.0]])], 'sole', 0.1, 0.2)
    plot.spans([(2.0, 3.0)], 'outside', share=0.1)
    plot.ring(5.0, 50.0)
    filled, framed, span, ring = plot.shapes
    assert path(filled) == path(framed) == 'M100 600l100 0l0 -100Z'
    assert 'x="300" y="550" width="100" height="50"' in span
    assert 'cx="600" cy="350"' in ring


def test_a_drawing_is_well_formed_and_clips_each_pair_of_axes():
    stacked = svg.stacked(5.0, 4.0, (0.0, 60.0), [(-1.0, 1.0), (0.0, 2e5)])
    text = svg.to_svg('one', 'a < b', (5.0, 4.0), stacked, ['x [mm]', 'F & G [N]'], 'time [s]')
    root = ElementTree.fromstring(text)
    assert root.get('viewBox') == '0 0 3600 2880'
    assert root.get('aria-label') == 'a < b'
    words = [element.text for element in root.iter('text')]
    assert words.count('60') == 1
    assert {'x [mm]', 'F & G [N]', 'time [s]', '−1.0', '200000'} <= set(words)
    ids = [element.get('id') for element in root.iter('clipPath')]
    assert ids == ['one-0', 'one-1']
    assert stacked[0].top + stacked[0].height < stacked[1].top
    assert stacked[1].top + stacked[1].height == round((4.0 - svg.BOTTOM) * svg.INCH)


@pytest.mark.parametrize(
    ('limits', 'most', 'texts'),
    [
        ((0.0, 10.0), 5, ['0', '2', '4', '6', '8', '10']),
        ((-0.6, 0.6), 5, ['−0.50', '−0.25', '0.00', '0.25', '0.50']),
        ((0.0, 90.0), 9, ['0', '10', '20', '30', '40', '50', '60', '70', '80', '90']),
        ((0.9983, 1.0017), 4, ['0.999', '1.000', '1.001']),
        ((0.0, 4e8), 2, ['0', '2e+08', '4e+08']),
    ],
)
def test_ticks_are_round(limits, most, texts):
    assert [text for _, text in ticks(limits, most)] == texts


@given(st.floats(-1e12, 1e12), st.floats(0.0, 1e12), st.integers(1, 12))
def test_ticks_lie_between_the_limits_and_are_not_more_than_wanted(low, extent, most):
    limits = apart((low, low + extent))
    found = ticks(limits, most)
    numbers, texts = [number for number, _ in found], {text for _, text in found}
    assert len(numbers) <= most + 1
    assert len(texts) == len(numbers)
    slack = 1e-9 * (abs(low) + extent)
    assert all(limits[0] - slack <= number <= limits[1] + slack for number in numbers)
