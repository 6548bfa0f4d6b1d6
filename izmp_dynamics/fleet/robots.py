"""Which robot file belongs to which bag."""

import hashlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from izmp_dynamics.base.errors import FleetError, IzmpError
from izmp_dynamics.fleet.sources import BagSource
from izmp_dynamics.model.robot_file import load_robot_file, robot_file_path
from izmp_dynamics.model.urdf import read_urdf
from izmp_dynamics.results.files import file_hash

_BAG = '{bag}'
"""Stands for the folder of the bag in the path of a robot file."""


class RobotFiles:
    """Rules: FILE for every bag, or PATTERN=FILE for those whose path or name matches.

    The first pattern that matches counts, then the FILE without a pattern.

    Args:
        given: the rules; `{bag}` in a FILE is the folder of the bag.

    Raises:
        FleetError: a rule is incomplete, or there are two without a pattern.
        IzmpError: a robot file cannot be used that does not depend on the bag.
    """

    def __init__(self, given: Sequence[str]) -> None:
        self.digest = cache(digest_if_usable)  # of a robot file, as it is when first asked for
        self._rules: list[tuple[str, str]] = []
        self._default = ''
        for text in given:
            pattern, sign, file = text.rpartition('=')
            if not sign or Path(text).is_file():
                if self._default:
                    raise FleetError(
                        f"'{self._default}' and '{text}' are both robot files for every bag; "
                        'write PATTERN=FILE to state which bags have which.',
                        kind='two_defaults',
                    )
                self._default = file = text
            elif not pattern or not file:
                raise FleetError(
                    f"'{text}' is not a rule for robot files; write FILE, or PATTERN=FILE with a "
                    "pattern as in 'icub_*=icub/robot.yaml'.",
                    kind='bad_rule',
                )
            else:
                self._rules.append((pattern, file))
            if _BAG not in file:
                robot_digest(robot_file_path(file).absolute())

    def file_for(self, bag: BagSource) -> Path:
        """Return the robot file of a bag, absolute.

        Raises:
            FleetError: no rule matches.
        """
        for pattern, file in self._rules:
            if fnmatchcase(bag.path, pattern) or fnmatchcase(bag.name, pattern):
                return _path(file, bag)
        if self._default:
            return _path(self._default, bag)
        patterns = ', '.join(pattern for pattern, _ in self._rules)
        raise FleetError(
            f"No robot file is stated for '{bag.path}': it matches none of {patterns}; add "
            '--robot FILE for all other bags.',
            kind='no_robot', bag=bag.path,
        )  # fmt: skip


def _path(file: str, bag: BagSource) -> Path:
    place = Path(bag.path)
    folder = place.parent if place.is_file() else place
    return robot_file_path(file.replace(_BAG, str(folder))).absolute()


def robot_digest(file: Path) -> str:
    """Digest of a robot file and its URDF, which decide the results.

    Raises:
        IzmpError: one of them cannot be used.
    """
    urdf = read_urdf(load_robot_file(file).urdf_path)
    return hashlib.sha256(f'{file_hash(file)} {urdf.sha256}'.encode()).hexdigest()[:16]


def digest_if_usable(file: Path) -> str:
    """`robot_digest`; '' where one of them cannot be used, which evaluating the bag will say."""
    try:
        return robot_digest(file)
    except IzmpError:
        return ''
