"""Joints of a recording: what contradicts the URDF, other names, and which are absent when.

The model has no position of its own for a fixed joint, and that of a mimic joint follows from its
driver; recorded positions of either are not used. If they contradict the URDF, the evaluated
robot is not the recorded one.
"""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from izmp_dynamics.bags.messages import JointStateBatch
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Indices, Stamps
from izmp_dynamics.base.finding import Finding, list_names
from izmp_dynamics.model.kinematic_tree import TreeSegment
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.limits import LARGEST_JOINT_POSITION
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.stability.held_joints import REMEDY

MOVES = 0.01
"""A fixed joint that moves by more is remarked on [rad] or [m]. A driver may publish such a joint,
and an encoder may flicker by its resolution, which is finer."""

MIMIC_TOLERANCE = {'revolute': 0.05, 'prismatic': 0.005}
"""A mimic joint that is farther from where its driver puts it is remarked on [rad], [m]. The play
of gears (up to 1°) and the error of a straight line through the curve of a linkage are less; 0.05
rad displace a shank whose centre of mass is 0.2 m from the joint by 1 cm."""

SHARE = 0.01
"""Share of the messages in which a mimic joint may be elsewhere without a remark [-]."""


class JointWatch:
    """Compares recorded positions of fixed and mimic joints with the URDF, span by span.

    Args:
        model: the robot's model.
        published: columns of q that the recording has; the other joints are held at zero.

    Attributes:
        names: the model's joints, in its order, and then the fixed and the mimic ones.
    """

    def __init__(self, model: RobotModel, published: Collection[int]) -> None:
        self._dof = model.dof
        self._published = {model.joint_names[column] for column in published}
        self._tied = [link for link in model.tree.segments if link.joint not in model.joint_names]
        self.names = (*model.joint_names, *(link.joint for link in self._tied))
        self._ranges: dict[str, tuple[float, float]] = {}
        # of mimic joints: positions, those that are elsewhere, and how far at most
        self._deviations = dict.fromkeys((link.joint for link in self._tied), (0, 0, 0.0))

    def watch(self, read: JointStateBatch) -> None:
        """Take note of messages that were read with the joints `names`."""
        for column, link in enumerate(self._tied, self._dof):
            if not read.present[:, column].any():
                continue
            rows, positions = self._credible(read, column)
            if link.kind == 'fixed':
                self._extend_range(link.joint, positions)
            elif link.driver not in self._published:
                self._compare(link, positions, np.zeros(len(positions)))
            else:
                stamps, driver = self._driver(read, link)
                if len(driver):
                    followed = np.interp(read.stamps[rows], stamps, driver)
                    self._compare(link, positions, followed)

    def findings(self) -> Iterator[Finding]:
        """What contradicts the URDF."""
        moved = {name: highest - lowest for name, (lowest, highest) in self._ranges.items()}
        fixed = [f'{name} (by {size:.3g})' for name, size in moved.items() if size > MOVES]
        if fixed:
            yield Finding(
                'fixed_joint_moves',
                'warning',
                f'Joints that are fixed in the URDF move: {list_names(fixed)} rad or m.',
                'They are evaluated as fixed. Is this the URDF of the recorded robot? Give them '
                'their type (revolute, prismatic) in it.',
            )
        elsewhere = [
            f'{link.joint} (by up to {largest:.3g} from {_mimicry(link)})'
            for link, (count, beyond, largest) in zip(
                self._tied, self._deviations.values(), strict=True
            )
            if beyond > SHARE * count
        ]
        if elsewhere:
            yield Finding(
                'mimic_contradicted',
                'warning',
                f'Mimic joints are not where the URDF puts them: {list_names(elsewhere)}.',
                'They are evaluated as the URDF puts them. Correct multiplier and offset of '
                '<mimic>, or take it out, so that their own positions are used.',
            )

    def _extend_range(self, joint: str, positions: Array) -> None:
        """Note the smallest and largest position, single outliers left out."""
        if len(positions) >= 3:
            windows = np.lib.stride_tricks.sliding_window_view(positions, 3)
            middle = np.median(windows, axis=1)
            lowest, highest = self._ranges.get(joint, (np.inf, -np.inf))
            self._ranges[joint] = min(lowest, middle.min()), max(highest, middle.max())

    def _compare(self, link: TreeSegment, positions: Array, driver: Array) -> None:
        """Compare a mimic joint with its driver at the same instants, (T,) each."""
        off = np.abs(positions - (link.multiplier * driver + link.offset))
        count, beyond, largest = self._deviations[link.joint]
        beyond += int(np.count_nonzero(off > MIMIC_TOLERANCE[link.kind]))
        self._deviations[link.joint] = count + len(off), beyond, max(largest, off.max(initial=0))

    def _driver(self, read: JointStateBatch, link: TreeSegment) -> tuple[Stamps, Array]:
        """Stamps and positions of a mimic joint's driver, in the order of the stamps."""
        rows, positions = self._credible(read, self.names.index(link.driver))
        order = np.argsort(read.stamps[rows], kind='stable')
        return read.stamps[rows][order], positions[order]

    @staticmethod
    def _credible(read: JointStateBatch, column: int) -> tuple[Indices, Array]:
        """Rows and positions of a joint where it has one that may be true."""
        positions = read.positions[:, column]
        with np.errstate(invalid='ignore'):
            rows = np.flatnonzero(np.abs(positions) <= LARGEST_JOINT_POSITION)
        return rows, positions[rows]


def _mimicry(link: TreeSegment) -> str:
    """E.g. '1.5 · elbow − 0.2'."""
    sign = '−' if link.offset < 0 else '+'
    offset = f' {sign} {abs(link.offset):.4g}' if link.offset else ''
    return f'{link.multiplier:.4g} · {link.driver}{offset}'


def name_findings(
    model: RobotModel,
    published: Collection[int],
    others: Iterable[str],
    held: Mapping[str, tuple[str, ...]],
) -> Iterator[Finding]:
    """Remark on unknown joints and on feet whose position is not known.

    Args:
        model: the robot's model.
        published: columns of q that the recording has.
        others: published joints that are not among `model.joint_names`.
        held: foot → its joints, see `held_joints`.
    """
    absent = [name for k, name in enumerate(model.joint_names) if k not in published]
    tied = {segment.joint for segment in model.tree.segments}
    unknown = [name for name in others if name not in tied]
    same = [
        f'{name} may be {near} of the URDF'
        for name in unknown
        for near in difflib.get_close_matches(name, absent, n=1)
    ]
    if unknown:
        guess = f'Different names for the same joints? By the spelling {list_names(same)}.'
        yield Finding(
            'joints_unknown',
            'warning' if held or same else 'note',
            f'The bag publishes joints that the URDF does not have: {", ".join(unknown)}.',
            guess if same else '',
        )
    for foot, names in held.items():
        yield Finding(
            'leg_joints_absent',
            'warning',
            f"The position of foot '{foot}' is not known, so there is no verdict: there "
            f'is no publisher of {list_names(names)}.',
            REMEDY,
        )


LONG_ENOUGH = 0.5
"""A joint without a value for less at the beginning or the end is not remarked on [s]."""


class JointPresence:
    """Notes when each published joint has its first and its last value.

    Args:
        published: columns of q that the recording has.
    """

    def __init__(self, names: Sequence[str], published: Collection[int]) -> None:
        self._columns = sorted(published)
        self._names = [names[column] for column in self._columns]
        self._seen = np.zeros(len(self._names), np.bool_)
        self._first = np.zeros(len(self._names), np.int64)
        self._last = np.zeros(len(self._names), np.int64)
        self._begin, self._end = 0, 0

    def watch(self, read: JointStateBatch) -> None:
        """Take note of messages."""
        if not len(read.stamps) or not self._columns:
            return
        present = read.present[:, self._columns]
        there = present.any(axis=0)
        if not self._seen.any():
            self._begin = int(read.stamps[0])
        self._end = max(self._end, int(read.stamps[-1]))
        first = read.stamps[present.argmax(axis=0)]
        last = read.stamps[len(present) - 1 - present[::-1].argmax(axis=0)]
        self._first = np.where(there & ~self._seen, first, self._first)
        self._last = np.where(there, last, self._last)
        self._seen |= there

    def outages(self, topic: str) -> Iterator[Outage]:
        """Name joints without a value from the beginning or to the end, those alike together."""
        alike: dict[tuple[int, int], list[str]] = {}
        for name, first, last in zip(self._names, self._first, self._last, strict=True):
            for begin, end in ((self._begin, int(first)), (int(last), self._end)):
                if end - begin > LONG_ENOUGH * NANOSECONDS:
                    alike.setdefault((begin, end), []).append(name)
        for (begin, end), names in alike.items():
            yield Outage(f'{topic} ({list_names(names)})', begin, end, 'lacks')

    def findings(self, topic: str, origin: int) -> Iterator[Finding]:
        """Say of which joints there is no value when; times count from `origin` [ns]."""
        for outage in self.outages(topic):
            begin, end = ((at - origin) / NANOSECONDS for at in (outage.begin, outage.end))
            when = f'before {end:.2f} s' if outage.begin == self._begin else f'after {begin:.2f} s'
            yield Finding(
                'joint_stops',
                'warning',
                f'{outage.topic}: no value {when}, for {end - begin:.2f} s. Nothing that rests on '
                'all joints is evaluated meanwhile.',
                'Does the driver of these joints start late or stop, or another publisher?',
            )
