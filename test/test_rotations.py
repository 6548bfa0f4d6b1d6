import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import frozen
from izmp_dynamics.rotations import from_matrices

MATRICES = frozen(Rotation.from_euler('xyz', [[0.1, -0.2, 0.3], [2.0, 1.0, -1.5]]).as_matrix())


@pytest.mark.parametrize('rows', [slice(None), slice(1), 1])
def test_frozen_matrices_give_the_rotations_that_they_hold(rows):
    rotations = from_matrices(MATRICES[rows])
    np.testing.assert_allclose(rotations.as_matrix(), MATRICES[rows], atol=1e-15)
