"""The service `tare`, and the drift of the force sensors' offsets in the diagnostics."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.estimation.fusion import Swing
from izmp_dynamics.model.feet import Foot, FootWrench
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.parameters import result_topic
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.unloaded import LOADED, Stance, UnloadedFeet
from izmp_dynamics.signals.correction import offset_without
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES

HELD = 0.5
"""Time in the air from which on a foot can be tared [s]."""

DRIFTED = 0.03
"""Force without load, as part of the weight, from which on it is remarked on [-]."""

SHIFTED = 0.005
"""Likewise of the moment: how far it would shift the CoP of the weight [m]."""

DIGITS = 3
"""Decimals of offsets [N], [N·m]."""


class Tare:
    """Tares the feet in the air, on request.

    Args:
        node: evaluates the feet.
        adopt: is given the robot file with the new offsets.
    """

    def __init__(self, node: TopicNode, adopt: Callable[[RobotFile], None]) -> None:
        self._node, self._adopt = node, adopt
        self._feet: UnloadedFeet | None = None
        self._service = node.resolve_service_name(result_topic(node, 'tare'))
        node.serve(self._service, self.tare)

    def watch(self, rig: Rig) -> UnloadedFeet | None:
        """What is to be shown the feet of a stage; None if they cannot be tared."""
        for foot in rig.feet:
            finding, value = _keys(foot.name)
            self._node.health.clear(finding)
            self._node.health.values.pop(value, None)
        able = len(rig.feet) > 1 and all(foot.sensor for foot in rig.feet)
        self._feet = UnloadedFeet(rig) if able else None
        return self._feet

    def inspect(self) -> None:
        """State what the sensors read in the last swings."""
        if self._feet is None:
            return
        self._feet.update()
        health, weight = self._node.health, self._feet.weight
        for foot, swing in self._feet.swings.items():
            finding, value = _keys(foot)
            health.values[value] = f'{_listed(swing.excess)} in {swing.duration:.2f} s of swing'
            force, moment = (float(np.linalg.norm(part)) for part in np.split(swing.excess, 2))
            drifted = force >= DRIFTED * weight or moment >= SHIFTED * weight
            sentence = (
                f"In the air the force sensor of foot '{foot}' reads {force:.1f} N, "
                f'{force / weight:.0%} of the weight, and {moment:.2f} N·m, which shifts the CoP '
                f'by up to {1e3 * moment / weight:.0f} mm, without load: lift it and call the '
                f'service {self._service}, or set feet[{foot}].wrench.'
                f'{_key(self._offset(foot, swing))} in the robot file.'
            )
            health.remark(finding, 'warning', sentence if drifted else '')

    def tare(self) -> tuple[bool, str]:
        """Set the offsets of the feet in the air; return whether there is one, and a sentence."""
        if self._feet is None:
            return False, (
                'Nothing is tared: that takes two or more feet that all have force sensors, and '
                'a message of each sensor.'
            )
        self._feet.update()
        if not self._feet.stances:
            return False, (
                'Nothing is tared: no instant was evaluated in the last second. /diagnostics says '
                'which input is missing.'
            )
        offsets = {
            foot: self._offset(foot, swing)
            for foot, swing in self._feet.swings.items()
            if swing.lasts and swing.duration >= HELD
        }
        if not offsets:
            return False, self._refusal(self._feet)
        sentences = '. '.join(
            f"The offset of foot '{foot}' was {_listed(self._wrench(foot).offset)} and is "
            f'{_listed(offset)}'
            for foot, offset in offsets.items()
        )
        keys = '; '.join(f'feet[{foot}].wrench.{_key(o)}' for foot, o in offsets.items())
        self._adopt(_with_offsets(self._node.robot, offsets))
        return True, (
            f'{sentences}. This holds until the node ends; to keep it, state in the robot file '
            f'{keys}'
        )

    def _refusal(self, feet: UnloadedFeet) -> str:
        where = '; '.join(
            f"'{foot}' {_stands(at, feet.weight)}" for foot, at in feet.stances.items()
        )
        return (
            f'Nothing is tared, as no foot has been in the air for {HELD:g} s: {where}. Lift a '
            f'foot by more than {1e3 * CLEARANCE_WITH_FORCES:g} mm, hold it for {HELD:g} s and '
            'call again.'
        )

    def _wrench(self, foot: str) -> FootWrench:
        return next(f.wrench for f in self._node.robot.feet if f.name == foot and f.wrench)

    def _offset(self, foot: str, swing: Swing) -> Array:
        """(6,) the offset of a foot's sensor by a swing."""
        offset: Array = offset_without(self._wrench(foot), swing.excess).round(DIGITS) + 0.0
        return offset


def _keys(foot: str) -> tuple[str, str]:
    """Keys of the finding and of the value in the diagnostics."""
    return f'drift[feet[{foot}]]', f'drift of feet[{foot}]'


def _with_offsets(robot: RobotFile, offsets: Mapping[str, Array]) -> RobotFile:

    def changed(foot: Foot) -> Foot:
        if foot.wrench is None or foot.name not in offsets:
            return foot
        Fx, Fy, Fz, Mx, My, Mz = offsets[foot.name].tolist()
        wrench = dataclasses.replace(foot.wrench, offset=(Fx, Fy, Fz, Mx, My, Mz))
        return dataclasses.replace(foot, wrench=wrench)

    return dataclasses.replace(robot, feet=tuple(changed(foot) for foot in robot.feet))


def _stands(at: Stance, weight: float) -> str:
    """Where a foot is and what it carries, in words."""
    if not at.is_known:
        return 'cannot be judged, as joints, IMU or a force sensor have no value: see /diagnostics'
    if at.height <= CLEARANCE_WITH_FORCES:
        share = f'{at.reading / weight:.0%} of the weight'
        return f'is on the ground and reads {at.reading:.1f} N upwards ({share})'
    height = f'is {1e3 * at.height:.0f} mm above the other sole'
    if at.load < LOADED * weight:
        return f'{height} since a moment ago'
    share = f'{at.load / weight:.0%} of the weight'
    return f'{height} but the other feet leave {at.load:.1f} N to it ({share}): it stands'


def _listed(wrench: Sequence[float] | Array) -> str:
    """A wrench (6,) with names and units."""
    Fx, Fy, Fz, Mx, My, Mz = (float(value) + 0.0 for value in wrench)
    return f'Fx {Fx:.2f}, Fy {Fy:.2f}, Fz {Fz:.2f} N, Mx {Mx:.3f}, My {My:.3f}, Mz {Mz:.3f} N·m'


def _key(offset: Array) -> str:
    return f'offset: [{", ".join(f"{value:.{DIGITS}f}" for value in offset)}]'
