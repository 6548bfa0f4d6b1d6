"""A simulation that is advanced a few steps at a time, for running systems."""

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.plant import Execution, Sampling
from izmp_lab.simulation.mujoco.samples import Samples
from izmp_lab.simulation.mujoco.signals import simulated_run
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.walking.plan import MotionPlan


class Lockstep:
    """Executes a plan in pieces; together they are what `plant.simulate` returns.

    Args:
        plan: what the servos are to follow.
        plant: the robot.
        start: stamp of the first sample [ns].

    Attributes:
        duration: of the plan [s].
    """

    def __init__(self, plan: MotionPlan, plant: MujocoRobot, start: int = NANOSECONDS) -> None:
        self.plan = plan
        self.plant = plant
        self.start = start
        self.duration = plan.duration
        self._execution = Execution(plan, plant, Sampling(start=start), (), None)
        self._execution.begin()
        self._next = 0

    @property
    def is_over(self) -> bool:
        """Whether the plan has been executed, or the robot fell."""
        return self._next >= self._execution.steps or bool(self._execution.fall)

    def advance(self, steps: int) -> SimulatedRun:
        """Execute the next steps of the physics; return a sample of each.

        Args:
            steps: how many; fewer are executed at the end of the plan and at a fall.
        """
        execution = self._execution
        execution.samples = Samples.empty(self.plant, steps)
        first = self._next
        while self._next < first + steps and not self.is_over:
            execution.step(self._next)
            self._next += 1
        step = round(self.plant.physics.time_step * NANOSECONDS)
        stamps = execution.stamps() + step * first
        samples = execution.samples.filled()
        return simulated_run(samples, self.plant, self.plan.name, stamps, execution.fall)
