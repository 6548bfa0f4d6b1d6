import numpy as np
import pytest

from izmp_dynamics.pages import styles


def test_calm_lines_are_layered_wide_to_thin_and_wild_ones_are_faint_behind():
    calm = styles.back_to_front({'mr_ad': 0.001, 'ir_md': 0.002, 'cop': 0.0})
    assert [name for name, _ in calm] == ['cop', 'ir_md', 'mr_ad']
    widths = [style.width for _, style in calm]
    assert widths == sorted(widths, reverse=True)
    wild = styles.back_to_front({'mr_ad': 0.1, 'ir_md': 2.0, 'cop': 0.0})
    assert [name for name, _ in wild] == ['ir_md', 'mr_ad', 'cop']
    assert wild[0][1].width < styles.STYLES['ir_md'].width
    assert wild[0][1].colour == 'ir-md'


def test_restlessness_is_scale_free_and_ignores_gaps():
    saw = np.tile([0.0, 1.0], 50)
    assert styles.restlessness(saw, 10.0) == pytest.approx(0.1)
    assert styles.restlessness(7 * saw, 70.0) == pytest.approx(0.1)
    assert styles.restlessness(np.full(5, np.nan), 1.0) == 0.0
    assert styles.restlessness(np.empty((0, 2)), 1.0) == 0.0
    assert styles.restlessness(np.stack([saw, 0 * saw], 1), 10.0) == pytest.approx(0.1)


def test_a_few_values_are_no_wild_line():
    assert styles.restlessness(np.array([0.0, 1.0, 0.0]), 1.0) == 0.0
