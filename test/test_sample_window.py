"""The window of a running stream: what was handed out stays as it is."""

import numpy as np
import pytest

from izmp_dynamics.signals.sample_window import SampleWindow

MS = 1_000_000


@pytest.mark.parametrize('pieces', [1, 4, 50, 400])
def test_rows_that_were_handed_out_are_not_overwritten(pieces):
    stamps, values = 10 * MS * np.arange(1, 401), np.arange(800.0).reshape(400, 2)
    window, given = SampleWindow(2, behind=5, min_spacing=0.005), []
    for k in range(0, 400, pieces):
        window.extend(stamps[k : k + pieces], values[k : k + pieces])
        rows = window.hand_out(len(window.stamps))
        given.append((window.stamps[rows], window.values[rows]))
        assert len(window.stamps) <= 5 + pieces
    window.close()
    rows = window.hand_out(len(window.stamps))
    given.append((window.stamps[rows], window.values[rows]))
    np.testing.assert_array_equal(np.concatenate([part for part, _ in given]), stamps)
    np.testing.assert_array_equal(np.concatenate([part for _, part in given]), values)


def test_a_window_goes_on_after_it_was_cleared():
    window = SampleWindow(1, behind=2, min_spacing=0.0)
    window.extend(np.array([10, 20, 30]) * MS, np.array([[1.0], [2.0], [3.0]]))
    window.close()
    window.clear()
    assert (len(window.stamps), window.dropped, window.next_row) == (0, 3, 0)
    window.extend(np.array([40, 50, 60]) * MS, np.array([[4.0], [5.0], [6.0]]))
    np.testing.assert_array_equal(window.stamps, np.array([40, 50]) * MS)
    np.testing.assert_array_equal(window.values, [[4.0], [5.0]])
