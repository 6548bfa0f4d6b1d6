"""Joints that the bag publishes and the URDF lacks, and the other way round."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping

from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.report.verdict import JOINTS_REMEDY
from izmp_dynamics.sensing.finding import Finding, list_names


class JointNames:
    """Compares the names of the published joints with those of the model.

    Args:
        model: the robot's model.
        published: columns of q that are published.
        others: published joints that are not among `model.joint_names`.

    Attributes:
        absent: independent joints of the model without a publisher.
        unknown: published joints that the URDF does not have.
        same: unknown joint → absent joint with a similar name, which may be the same.
    """

    def __init__(
        self, model: RobotModel, published: Collection[int], others: Iterable[str]
    ) -> None:
        self._model = model
        self.absent = [name for k, name in enumerate(model.joint_names) if k not in published]
        tied = {segment.joint for segment in model.tree.segments}
        self.unknown = [name for name in others if name not in tied]
        self.same: dict[str, str] = {}
        for name in self.unknown:
            for near in difflib.get_close_matches(name, self.absent, n=1):
                self.same[name] = near

    def held_joints(self, soles: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Joints between the root and each sole that can move and have no publisher.

        Args:
            soles: foot → link of its sole.
        """
        limits = zip(
            self._model.joint_names,
            self._model.position_lower,
            self._model.position_upper,
            strict=True,
        )
        movable = {name for name, lower, upper in limits if lower < upper}
        absent = [name for name in self.absent if name in movable]
        parents = {segment.link: segment for segment in self._model.tree.segments}
        held = {}
        for foot, link in soles.items():
            above = set()
            while link in parents:
                above.add(parents[link].driver)
                link = parents[link].parent
            names = tuple(name for name in absent if name in above)
            if names:
                held[foot] = names
        return held

    def findings(self, held: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
        """Remark on unknown joints and on feet whose position is not known.

        Args:
            held: as of `held_joints`.
        """
        if self.unknown:
            yield Finding(
                'warning' if held or self.same else 'note',
                'joints_unknown',
                'The bag publishes joints that the URDF does not have: '
                f'{list_names(self.unknown)}.',
                self._guess(),
            )
        for foot, names in held.items():
            yield Finding(
                'warning',
                'leg_joints_absent',
                f"The position of foot '{foot}' is not known, so there is no verdict: there "
                f'is no publisher of {list_names(names)}.',
                JOINTS_REMEDY,
            )

    def _guess(self) -> str:
        """Which of the absent joints the unknown ones may be; empty if none has such a name."""
        if not self.same:
            return ''
        names = (f'{name} may be {absent} of the URDF' for name, absent in self.same.items())
        return f'Different names for the same joints? By the spelling {list_names(names)}.'
