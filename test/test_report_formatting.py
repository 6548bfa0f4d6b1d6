import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.verdict import formatting

WRITTEN = {
    'mm': {0.0123: '12 mm', 0.00123: '1.2 mm', -0.038: '−38 mm', -1e-9: '< 0.001 mm', 0.0: '0 mm',
           3.2e-6: '0.003 mm', 0.00052: '0.52 mm', 2.345: '2.35 m', 0.9999: '1.00 m'},
    'seconds': {0.008: '8.0 ms', 0.05: '50 ms', 0.42: '0.42 s', 3600.0: '3600.0 s', 0.0: '0.00 s'},
    'instant': {3.4051: '3.41 s'},
    'percent': {1.0: '100 %', 0.99999: '> 99.9 %', 0.998: '99.8 %', 0.95: '95.0 %', 0.0: '0 %',
                1e-5: '< 0.1 %'},
    'ratio': {1.0021: '100.2 %'},
    'newtons': {270.66: '270.7 N', 1270.66: '1271 N'},
    'hertz': {0.0: formatting.NOTHING},
    'plain': {0.876: '0.88'},
    'times': {1: 'once', 2: 'twice', 3: '3 times'},
}  # fmt: skip


@pytest.mark.parametrize('name', WRITTEN)
def test_quantities_are_written_with_sensible_digits(name):
    for value, text in WRITTEN[name].items():
        assert getattr(formatting, name)(value) == text


@pytest.mark.parametrize(
    'name', ['mm', 'seconds', 'instant', 'percent', 'ratio', 'newtons', 'hertz', 'plain']
)
def test_no_value_is_a_dash(name):
    for nothing in (None, float('nan'), float('inf'), float('-inf')):
        assert getattr(formatting, name)(nothing) == formatting.NOTHING


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
