"""The study of sensor units on links: what helps most, and its page."""

import numpy as np
import pytest

from izmp_lab.studies import segment_units
from izmp_lab.studies.publish import publish
from izmp_lab.studies.segment_units import UnitStudy, added_one_by_one

from .pages import assert_complete


def test_the_unit_that_helps_most_is_added_first_by_truth_as_by_its_covariance():
    orders = [added_one_by_one(2, 'arrays', by, 1, ['trunk', 'l_hand']) for by in
              ('error', 'variance')]  # fmt: skip
    for found in orders:
        assert found['links'].tolist() == ['trunk']
        before, after = found['error']
        assert (after < 0.8 * before).all()  # of either axis, in truth and as predicted
    np.testing.assert_array_equal(orders[0]['error'], orders[1]['error'])


def test_figures_and_page(tmp_path, monkeypatch):
    """Of runs that are given: how errors are told, not what they are."""
    sizes = {'none': 7e-3, 'imus': 8e-4, 'arrays': 4e-4}

    def errors_with(steps, kind, rate, bits):
        return {'error': np.full((2, 2), sizes[kind] * (1 if rate == 125 else 2))}

    def added_one_by_one(steps, kind, by, most, links):
        falling = (4.0 if by == 'error' else 4.8) / np.arange(1, most + 2)
        return {
            'links': np.array([f'link_{k}' for k in range(most)]),
            'error': 1e-3 * np.tile(falling[:, None, None], (1, 2, 2)),
        }

    monkeypatch.setattr(segment_units, 'errors_with', errors_with)
    monkeypatch.setattr(segment_units, 'added_one_by_one', added_one_by_one)
    study = UnitStudy(most=3)
    results = publish(segment_units.page(study), study, tmp_path)
    assert_complete(results, tmp_path, segment_units.FIGURES, ('errors', 'number'))
    held = {fact.key: (fact.value, fact.holds) for _, fact in results.claims}
    assert held == {
        'arrays_125_16': (pytest.approx(0.4), True),
        'arrays_125_12': (pytest.approx(0.4), True),
        'arrays_500_16': (pytest.approx(0.8), False),
        'arrays_500_12': (pytest.approx(0.8), True),
        'ratio': (pytest.approx(1.2), True),
    }
