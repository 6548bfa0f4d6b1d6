"""Does a force sensor measure more than the force along its z axis, or less: contact alone?"""

import numpy as np

from izmp_dynamics.base.conventions import Array

ENOUGH = 50
"""Loaded samples from which on it is judged."""

_SIDEWAYS = [0, 1, 3, 4, 5]

PROPOSAL = (
    'Set wrench.normal_only: true for this foot: otherwise they count as measured, and a push '
    'would be concluded from them.'
)


class NormalForceWatch:
    """Notes whether horizontal forces and torques are ever not zero, and the others not 0 or 1."""

    def __init__(self) -> None:
        self._sideways = False
        self._other = False
        self._loaded = 0

    def see(self, wrenches: Array) -> None:
        """Take readings (T, 6): force [N], moment [N·m] in sensor axes."""
        if not self._sideways:
            known = np.nan_to_num(wrenches)
            self._sideways = bool(known[:, _SIDEWAYS].any())
            self._loaded += int(np.count_nonzero(known[:, 2]))
            self._other |= not bool(np.isin(known[:, 2], (0.0, 1.0)).all())

    @property
    def only_normal(self) -> bool:
        """Whether nothing but the force along z was ever measured."""
        return not self._sideways and self._loaded >= ENOUGH

    @property
    def only_contact(self) -> bool:
        """Whether it was nothing but 0 and 1: flags, no forces."""
        return self.only_normal and not self._other
