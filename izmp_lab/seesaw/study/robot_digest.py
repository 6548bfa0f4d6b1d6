"""The files of a robot that balances, as part of the key of its runs."""

import hashlib
from functools import cache

from izmp_dynamics.base.errors import MissingDependencyError


@cache
def robot_digest(name: str) -> str:
    """Digest of URDF and robot file; empty without the library that has them, or without MuJoCo.

    The runs then say what is missing.
    """
    try:
        from izmp_lab.seesaw.balancing_robot import load_balancing_robot
        from izmp_lab.seesaw.board import Seesaw
        from izmp_lab.seesaw.sensed_robot import sensed_robot

        files = sensed_robot(load_balancing_robot(name), Seesaw()).files()
    except MissingDependencyError:
        return ''
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
