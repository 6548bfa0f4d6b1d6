"""The seesaw: which runs are simulated, and what is kept of them."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_lab.seesaw.mujoco_spec import robot_digest
from izmp_lab.studies.publish import Curve
from izmp_lab.studies.runs import Arrays, Run

CURVES = {
    'mixed': Curve('mixed momentum', 'ir-md', '-', 1.3, 'o'),  # the paper draws them red and blue
    'robot': Curve('robot momentum', 'mr-ad', (0, (4, 1.6)), 1.3, 's'),
}
CONTROLLERS = tuple(CURVES)
PLANTS = ('mujoco', 'kkt')
SINE = 'sine:0.025:0.25'
SETTLING = 8.0
"""Two periods of the sine, after which tracking is judged [s]."""

_DRIFT_EVERY = 10  # ticks


@dataclass(frozen=True)
class SeesawStudy:
    """The runs of the experiment.

    Attributes:
        robot: icub or biped31.
        duration: of the runs of the paper [s].
        push_time: when the robot is pushed [s].
        settled: how long after the push the board must be level again [s].
        forces: of the push-limit curve [N].
        other_forces: of the pushes in other directions than to the left [N].
        states: number of moving states in which the equations are tried.
    """

    robot: str = 'icub'
    duration: float = 60.0
    push_time: float = 20.0
    settled: float = 20.0
    forces: tuple[float, ...] = (100, 200, 300, 400, 500, 550, 600, 650, 700, 750, 800)
    other_forces: tuple[float, ...] = (200, 400, 600)
    states: int = 20

    @classmethod
    def quick(cls, robot: str = 'icub') -> 'SeesawStudy':
        """Prepare one that takes a minute and still shows all that the page describes."""
        forces, other = (100.0, 600.0, 1000.0), (200.0,)
        return cls(robot, 26.0, 2.0, 20.0, forces, other)

    def push(self, controller: str, plant: str = 'mujoco', **others: Any) -> Run:
        """Describe the run with the paper's push (sect. V-B)."""
        push = f'100:lateral:{self.push_time:g}:0.01'
        return self._run(controller, plant, push=push, duration=self.duration, **others)

    def sine(self, controller: str, plant: str = 'mujoco', **others: Any) -> Run:
        """Describe the run that tracks the paper's sine (sect. V-C)."""
        return self._run(controller, plant, reference=SINE, duration=self.duration, **others)

    def rest(self, controller: str) -> Run:
        """Describe a run in which nothing happens."""
        return self._run(controller, 'kkt', duration=self.duration)

    def shove(
        self, controller: str, force: float, gains: str = 'authors', direction: str = 'lateral'
    ) -> Run:
        """Describe a run with a push at 1 s that ends when the board must be level again."""
        push = f'{force:g}:{direction}:1:0.01'
        duration = 1.0 + self.settled
        return self._run(controller, 'mujoco', push=push, duration=duration, gains=gains)

    def equations(self) -> Run:
        """Describe the trial of the paper's equations in moving states."""
        given = {'robot': self.robot, 'states': self.states}
        return Run(equations, given, data=robot_digest(self.robot))

    def _run(self, controller: str, plant: str, *, com_gains_of: str = '', **others: Any) -> Run:
        given = {
            'robot': self.robot, 'controller': controller, 'plant': plant,
            'com_gains_of': com_gains_of or controller, **others,
        }  # fmt: skip
        return Run(balance, given, Track, data=robot_digest(self.robot), effort=others['duration'])


@dataclass(frozen=True)
class Track:
    """What is kept of a run; every row belongs to a tick.

    Attributes:
        times: (T,) [s].
        angle: (T,) of the board [°].
        com: (T,) lateral CoM of the robot [mm].
        reference: (T,) [mm].
        linear: (T,) norm of the error of the linear momentum [kg·m/s].
        angular: (T,) norm of the error of the angular momentum: of the whole system (mixed) or
            of the robot [kg·m²/s].
        unsolved: number of ticks without a solution.
        fell: whether the robot fell.
        deviation: largest distance of joints and board from the start [rad].
        drift: largest error of a constraint of the KKT plant [m], [rad]; NaN in MuJoCo.
        slip: how far a sole is at the end from its place on the board [mm]; NaN in the KKT plant.
    """

    times: Array
    angle: Array
    com: Array
    reference: Array
    linear: Array
    angular: Array
    unsolved: int
    fell: bool
    deviation: float
    drift: float
    slip: float

    @property
    def sound(self) -> bool:
        """Whether the robot stands at the end, and every tick had a solution."""
        return not self.fell and not self.unsolved

    def last_angle(self) -> float:
        """Largest |θ| in the last two seconds [°]."""
        return self.largest_angle(float(self.times[-1]) - 2.0)

    def largest_angle(self, since: float = 0.0) -> float:
        """Largest |θ| from a time on [°]."""
        return float(np.abs(self.angle[self.times >= since - 1e-9]).max())

    def rmse(self, since: float = SETTLING) -> float:
        """Root of the mean square of the lateral error of the CoM from a time on [mm]."""
        error = (self.com - self.reference)[self.times >= since - 1e-9]
        return float(np.sqrt(np.mean(error**2)))


Tracks = Mapping[tuple[str, str], Track]
"""(plant, controller) → track."""


def everywhere(describe: Callable[[str, str], Run]) -> dict[Any, Run]:
    """Describe the runs of all controllers in all plants, given both, by plant and controller."""
    return {(plant, name): describe(name, plant) for plant in PLANTS for name in CONTROLLERS}


def balance(
    robot: str,
    controller: str,
    plant: str,
    com_gains_of: str,
    duration: float,
    reference: str = 'constant',
    push: str = '',
    gains: str = 'authors',
    integral: bool = True,
    literal: bool = False,
) -> Track:
    """Simulate a run.

    Args:
        robot: icub or biped31.
        controller: mixed or robot.
        plant: mujoco or kkt.
        com_gains_of: the controller whose gains of the CoM are used.
        duration: [s].
        reference: of the CoM, as on the command line.
        push: likewise; none if ''.
        gains: authors or tuned.
        integral: whether the integral of the robot's angular momentum is fed back.
        literal: whether eq. 12 is read literally, see `Gains.literal_posture`.
    """
    from izmp_lab.seesaw.balancing_robot import load_balancing_robot
    from izmp_lab.seesaw.board import Seesaw
    from izmp_lab.seesaw.closed_loop import balance_on_seesaw
    from izmp_lab.seesaw.controller import MomentumController
    from izmp_lab.seesaw.gains import ComReference
    from izmp_lab.seesaw.gains import gains as gains_of
    from izmp_lab.simulation.physics import Shove

    balancing, seesaw = load_balancing_robot(robot), Seesaw()
    names = balancing.model.joint_names
    own, other = gains_of(controller, names, gains), gains_of(com_gains_of, names, gains)
    own = dataclasses.replace(
        own,
        com_stiffness=other.com_stiffness,
        com_damping=other.com_damping,
        angular_stiffness=own.angular_stiffness * integral,
        literal_posture=literal,
    )
    control = MomentumController(balancing, seesaw, controller, own, ComReference.parse(reference))
    engine = _engine(plant, control)
    run = balance_on_seesaw(engine, control, duration, [Shove.parse(push)] if push else [])
    states = getattr(engine, 'states', ())[::_DRIFT_EVERY]
    drift = [np.abs(engine.constraint_error(state)).max() for state in states]
    return Track(
        times=run.times,
        angle=np.degrees(run.angle),
        com=1e3 * run.com[:, 1],
        reference=1e3 * run.com_reference[:, 1],
        linear=np.linalg.norm(run.momentum_error[:, :3], axis=1),
        angular=np.linalg.norm(run.momentum_error[:, 3:], axis=1),
        unsolved=run.unsolved,
        fell=bool(run.fall),
        deviation=float(max(np.abs(run.q - run.q[0]).max(), np.abs(run.angle).max())),
        drift=float(max(drift, default=np.nan)),
        slip=1e3 * foot_slip(engine) if plant == 'mujoco' else np.nan,
    )


def foot_slip(plant: Any) -> float:
    """How far a sole is from its first place on the board, the farther one [m]."""
    state, model = plant.state, plant.robot.model
    farthest = 0.0
    for side, sole in zip((1, -1), plant.robot.soles, strict=True):
        _, p = model.frame_pose(sole, state.q)
        place = state.root.position + state.root.rotation @ p - state.board.position
        away = state.board.rotation.T @ place - plant.seesaw.sole_in_board(side)
        farthest = max(farthest, float(np.linalg.norm(away)))
    return farthest


def equations(robot: str, states: int) -> Arrays:
    """Put motions of the KKT plant, which knows only the constraints, into eqs. 9, 30 and 31.

    Args:
        robot: icub or biped31.
        states: how many are drawn, with torques of 10 N·m (standard deviation).

    Returns:
        For each state: `rate` of the board [rad/s]; `eq30`, and `printed` for its h̄_s without
        Γ⁻¹: error of the angular acceleration of the board [rad/s²]; `eq9` and `eq31`: error of
        the rate of change of the momentum [N], [N·m].
    """
    from izmp_lab.seesaw.balancing_robot import load_balancing_robot
    from izmp_lab.seesaw.board import Seesaw
    from izmp_lab.seesaw.kkt_plant import KktPlant, moving_state, rate, terms_of

    plant = KktPlant(load_balancing_robot(robot), Seesaw())
    rows = []
    for seed in range(states):
        state = moving_state(plant, seed)
        torques = 10.0 * np.random.default_rng(seed).normal(size=len(state.q))
        motion = plant.motion(state, torques)
        terms, f = terms_of(plant, state), motion.foot_wrenches.ravel()
        board = terms.board
        angular = state.board.rotation.T @ motion.board[3:]
        h_printed = terms.h_board - (terms.ground_on_board - board.J_ground.T) @ (
            board.J_ground_dot_nu
        )
        of_board = [
            np.abs((terms.A_board @ f - h)[3:] / np.diag(board.M)[3:] - angular).max()
            for h in (terms.h_board, h_printed)
        ]
        weight = np.array([0.0, 0.0, terms.body.mass * plant.gravity, 0.0, 0.0, 0.0])
        own = rate(lambda at: terms_of(plant, at).body.momentum, state, motion)
        total = rate(lambda at: terms_of(plant, at).total_momentum, state, motion)
        of_momentum = [
            np.abs(terms.A_robot @ f - weight - own).max(),
            np.abs(terms.A_total @ f + terms.bias_total - total).max(),
        ]
        rows.append([abs(state.angle_rate), *of_board, *of_momentum])
    names = ('rate', 'eq30', 'printed', 'eq9', 'eq31')
    return dict(zip(names, np.array(rows).T, strict=True))


def _engine(plant: str, control: Any) -> Any:
    if plant == 'kkt':
        from izmp_lab.seesaw.scenario import StatesOfTicks

        return StatesOfTicks(control)
    from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw

    return MujocoSeesaw(control.robot, control.seesaw)
