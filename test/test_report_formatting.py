import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.verdict import formatting


@pytest.mark.parametrize(
    ('function', 'value', 'text'),
    [
        (formatting.mm, 0.0123, '12 mm'),
        (formatting.mm, 0.00123, '1.2 mm'),
        (formatting.mm, -0.038, '−38 mm'),
        (formatting.mm, -1e-9, '< 0.001 mm'),
        (formatting.mm, 0.0, '0 mm'),
        (formatting.mm, 3.2e-6, '0.003 mm'),
        (formatting.mm, 0.00052, '0.52 mm'),
        (formatting.mm, 2.345, '2.35 m'),
        (formatting.mm, 0.9999, '1.00 m'),
        (formatting.seconds, 0.008, '8.0 ms'),
        (formatting.seconds, 0.05, '50 ms'),
        (formatting.seconds, 0.42, '0.42 s'),
        (formatting.seconds, 3600.0, '3600.0 s'),
        (formatting.seconds, 0.0, '0.00 s'),
        (formatting.instant, 3.4051, '3.41 s'),
        (formatting.percent, 1.0, '100 %'),
        (formatting.percent, 0.99999, '> 99.9 %'),
        (formatting.percent, 0.998, '99.8 %'),
        (formatting.percent, 0.95, '95.0 %'),
        (formatting.percent, 0.0, '0 %'),
        (formatting.percent, 1e-5, '< 0.1 %'),
        (formatting.ratio, 1.0021, '100.2 %'),
        (formatting.newtons, 270.66, '270.7 N'),
        (formatting.newtons, 1270.66, '1271 N'),
        (formatting.hertz, 0.0, formatting.NOTHING),
        (formatting.plain, 0.876, '0.88'),
        (formatting.times, 1, 'once'),
        (formatting.times, 2, 'twice'),
        (formatting.times, 3, '3 times'),
    ],
)
def test_quantities_are_written_with_sensible_digits(function, value, text):
    assert function(value) == text


@pytest.mark.parametrize(
    'function',
    [
        formatting.mm,
        formatting.seconds,
        formatting.instant,
        formatting.percent,
        formatting.ratio,
        formatting.newtons,
        formatting.hertz,
        formatting.plain,
    ],
)
def test_no_value_is_a_dash(function):
    for nothing in (None, float('nan'), float('inf'), float('-inf')):
        assert function(nothing) == formatting.NOTHING


@given(st.floats(1e-6, 1e4), st.sampled_from([1.0, -1.0]))
def test_a_length_can_be_read_back(length, sign):
    text = formatting.mm(sign * length)
    number, unit = re.fullmatch(r'(−?[\d.]+) (mm|m)', text).groups()
    value = float(number.replace('−', '-')) * {'mm': 1e-3, 'm': 1.0}[unit]
    assert value == pytest.approx(sign * length, rel=0.06, abs=5.1e-7)


@given(st.floats(0, 1))
def test_only_the_whole_is_one_hundred_percent(share):
    text = formatting.percent(share)
    assert (text == '100 %') == (share == 1)
    assert (text == '0 %') == (share == 0)
