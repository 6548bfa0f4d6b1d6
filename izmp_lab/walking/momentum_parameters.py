"""What decides how the angular-momentum generator plans, with units."""

from dataclasses import dataclass, replace

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError

Nodes = tuple[float, ...]
"""Times within the window, multiples of half an interval [s]."""

_RANGES = {
    'interval': (0.01, 0.5), 'pieces': (4, 100), 'alpha': (0.0, 1e6), 'beta': (1e-9, 1e6),
    'gamma': (0.0, 1e6), 'friction': (0.0, 10.0), 'margin': (0.0, 0.1), 'stretch': (0.5, 1.0),
}  # fmt: skip

_END_ESTIMATES = ('hold', 'zero')


@dataclass(frozen=True)
class MomentumParameters:
    """Parameters of Mayr et al.; those that their poster leaves open are marked *.

    Attributes:
        interval: of planning, and between two knots of the splines [s].
        pieces: length of the sliding window in intervals.
        nodes: where in the window the angular momentum is estimated; several sets take turns.
            Without any, the robot is a point mass (3D-LIPM). They are kept in ascending order.
        second_iteration: whether the angular momentum of the whole walk as planned for a point
            mass is known beforehand; then no nodes are needed.
        alpha: weight of the acceleration of the centre of mass [s⁴/m²] *.
        beta: weight of the contact torque over the weight, that is of the ZMP [1/m²] *.
        gamma: weight of the distance of the centre of mass from the wanted ZMP [1/m²] *.
        friction: between soles and ground, for the cone of the contact force [-] *.
        margin: that the ZMP keeps from the edge of the soles [m] *.
        stretch: largest part of its length that a leg may reach [-] *.
        end_estimate: what is assumed after the last instant at which a node has been, as where
            the window grows: to 'hold' its value, or 'zero' *. Between two, it is interpolated.
    """

    interval: float = 0.1
    pieces: int = 16
    nodes: tuple[Nodes, ...] = ((0.15, 0.2, 0.25, 0.3, 0.7, 0.75, 1.5, 1.55),)
    second_iteration: bool = False
    alpha: float = 1e-6
    beta: float = 1.0
    gamma: float = 1e-6
    friction: float = 0.7
    margin: float = 0.005
    stretch: float = 0.999
    end_estimate: str = 'hold'

    def __post_init__(self) -> None:
        """Check that the numbers make sense.

        Raises:
            MotionError: if one does not.
        """
        for name, (lower, upper) in _RANGES.items():
            if not lower <= getattr(self, name) <= upper:
                raise MotionError(
                    f'{name} of the angular-momentum generator is {getattr(self, name):g}; valid '
                    f'are {lower:g} to {upper:g}.',
                    kind='out_of_range',
                    parameter=name,
                    value=getattr(self, name),
                    lower=lower,
                    upper=upper,
                )
        if self.pieces != int(self.pieces):
            raise MotionError(
                f'pieces of the angular-momentum generator are {self.pieces:g}; valid are whole '
                'numbers.',
                kind='not_whole',
                parameter='pieces',
                value=self.pieces,
            )
        if self.end_estimate not in _END_ESTIMATES:
            raise MotionError(
                f"end_estimate is '{self.end_estimate}'; valid: {', '.join(_END_ESTIMATES)}.",
                kind='unknown_choice',
                parameter='end_estimate',
                value=self.end_estimate,
                valid=_END_ESTIMATES,
            )
        object.__setattr__(self, 'pieces', int(self.pieces))
        object.__setattr__(self, 'nodes', tuple(tuple(sorted(nodes)) for nodes in self.nodes))
        for nodes in self.nodes:
            self._check_nodes(nodes)

    def _check_nodes(self, nodes: Nodes) -> None:
        halves = [2.0 * node / self.interval for node in nodes]
        for node, place in zip(nodes, halves, strict=True):
            within = 0.5 < place < 2 * self.pieces + 0.5
            if not within or abs(place - round(place)) > 1e-6:
                raise MotionError(
                    f'A node lies at {node:g} s; valid are multiples of {self.interval / 2:g} s '
                    f'up to {self.window:g} s.',
                    kind='node_off_grid',
                    node=node,
                    step=self.interval / 2,
                    last=self.window,
                )
        if len({round(place) for place in halves}) < len(nodes):
            raise MotionError(
                f'Two nodes of a cycle are at the same time: '
                f'{", ".join(f"{node:g}" for node in nodes)} s; every node needs its own.',
                kind='two_nodes_at_once',
                nodes=nodes,
            )

    @property
    def window(self) -> float:
        """Length of the sliding window [s]."""
        return self.pieces * self.interval

    @property
    def knots(self) -> Array:
        """(pieces + 1,) times of the control points of the angular momentum [s]."""
        times: Array = self.interval * np.arange(self.pieces + 1, dtype=np.float64)
        return times

    def nodes_in_cycle(self, cycle: int) -> Array:
        """(K,) times of the nodes in a cycle, since its beginning [s]."""
        return np.array(self.nodes[cycle % len(self.nodes)] if self.nodes else (), dtype=float)

    @classmethod
    def scheme(cls, name: str) -> 'MomentumParameters':
        """Return the parameters of an experiment of the poster, E1 to E4.

        Raises:
            MotionError: if there is none of that name.
        """
        if name not in SCHEMES:
            raise MotionError(
                f"There is no scheme '{name}'; valid: {', '.join(SCHEMES)}.",
                kind='unknown_choice',
                parameter='scheme',
                value=name,
                valid=tuple(SCHEMES),
            )
        return SCHEMES[name]


def _uniform(parameters: MomentumParameters) -> tuple[Nodes, Nodes]:
    """16 nodes at the knots, and in every other cycle between them."""
    knots = parameters.knots[1:]
    between = np.append(knots[:-1] + 0.5 * parameters.interval, knots[-1])
    return tuple(knots.tolist()), tuple(between.tolist())


_EARLY = MomentumParameters()

SCHEMES = {
    'E1': replace(_EARLY, nodes=()),
    'E2': replace(_EARLY, nodes=(), second_iteration=True),
    'E3': replace(_EARLY, nodes=_uniform(_EARLY)),
    'E4': _EARLY,
}
"""The experiments of the poster: a point mass, its second iteration, 16 uniform nodes, 8 of which
half are early."""
