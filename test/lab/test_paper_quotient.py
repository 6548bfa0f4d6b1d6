import numpy as np

from izmp_dynamics.signals.differences import backward_quotient
from izmp_lab.studies.paper.sensors import paper_quotient

from ..test_differences import uniform


def test_the_papers_pair_on_a_cube() -> None:
    """q̇ by the backward quotient, q̈ by the quotient of q̇, in the row of the middle sample."""
    stamps, h = uniform(50), 0.002
    times = (stamps - stamps[0])[:, None] * 1e-9
    pair = paper_quotient(stamps, times**3)
    t = times[1:-1]
    np.testing.assert_allclose(pair.first[1:-1], 3 * t**2 - 3 * t * h + h**2, atol=1e-12)
    np.testing.assert_allclose(pair.second[1:-1], 6 * t, atol=1e-9)
    twice, _ = backward_quotient(stamps, backward_quotient(stamps, times**3)[0])
    np.testing.assert_allclose(pair.second[1:-1], twice[2:], atol=1e-9)
    assert list(np.flatnonzero(~pair.valid)) == [0, 49]
