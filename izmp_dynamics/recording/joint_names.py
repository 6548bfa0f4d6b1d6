"""Joints that the bag publishes and the URDF lacks, and the other way round."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping

from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.stability.held_joints import REMEDY


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
        self.absent = [name for k, name in enumerate(model.joint_names) if k not in published]
        tied = {segment.joint for segment in model.tree.segments}
        self.unknown = [name for name in others if name not in tied]
        self.same: dict[str, str] = {}
        for name in self.unknown:
            for near in difflib.get_close_matches(name, self.absent, n=1):
                self.same[name] = near

    def findings(self, held: Mapping[str, tuple[str, ...]]) -> Iterator[Finding]:
        """Remark on unknown joints and on feet whose position is not known.

        Args:
            held: foot → its joints, see `held_joints`.
        """
        if self.unknown:
            yield Finding(
                'joints_unknown',
                'warning' if held or self.same else 'note',
                'The bag publishes joints that the URDF does not have: '
                f'{list_names(self.unknown)}.',
                self._guess(),
            )
        for foot, names in held.items():
            yield Finding(
                'leg_joints_absent',
                'warning',
                f"The position of foot '{foot}' is not known, so there is no verdict: there "
                f'is no publisher of {list_names(names)}.',
                REMEDY,
            )

    def _guess(self) -> str:
        """Which of the absent joints the unknown ones may be; empty if none has such a name."""
        if not self.same:
            return ''
        names = (f'{name} may be {absent} of the URDF' for name, absent in self.same.items())
        return f'Different names for the same joints? By the spelling {list_names(names)}.'
