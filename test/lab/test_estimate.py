import math

import numpy as np
import pytest

from izmp_dynamics.compare.metrics import MetricsError
from izmp_lab.studies.paper.study import estimate


def test_the_confidence_interval_of_normal_repetitions_covers_the_mean():
    random = np.random.default_rng(3)
    found = [estimate(random.normal(5.0, 2.0, 20)) for _ in range(400)]
    covered = np.mean([abs(one.mean - 5.0) <= one.half_width for one in found])
    assert 0.91 < covered < 0.98  # 95 % of 400, three standard deviations


def test_one_repetition_has_no_interval():
    assert math.isnan(estimate(np.array([1.0])).half_width)
    with pytest.raises(MetricsError):
        estimate(np.array([]))


def test_a_range_has_95_percent_of_many_repetitions_and_all_of_few():
    few, many = estimate(np.arange(1.0, 11.0)), estimate(np.arange(1.0, 101.0))
    assert (few.range, few.median) == ((1.0, 10.0), 5.5)
    assert many.range == (3.0, 98.0)
    assert many.has(3.0)
    assert not many.has(2.0)
    assert estimate([4.0]).range == (4.0, 4.0)
