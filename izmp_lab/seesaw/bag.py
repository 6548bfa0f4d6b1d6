"""From steps on the seesaw to a recording that `izmp replay` evaluates in the board's frame."""

from collections.abc import Mapping
from os import PathLike

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw
from izmp_lab.simulation.mujoco.engine import diverged, mujoco
from izmp_lab.simulation.mujoco.plant import Sampling
from izmp_lab.simulation.mujoco.samples import Samples
from izmp_lab.simulation.mujoco.signals import simulated_run
from izmp_lab.simulation.recording import record
from izmp_lab.simulation.simulated_run import SimulatedRun

RATE = 500.0
"""Rate of the sensors [Hz]."""

_BLOCK = 1000


class SeesawRecorder:
    """Samples a plant while it is stepped; an observer of `MujocoSeesaw`.

    Args:
        rate: of the sensors [Hz].
        start: stamp of the first sample [ns].
    """

    def __init__(self, rate: float = RATE, start: int = NANOSECONDS) -> None:
        self.rate, self.start = rate, start
        self._blocks: list[Samples] = []
        self._step = 0

    def __call__(self, seesaw: MujocoSeesaw) -> None:
        """Make one step of the physics; take a sample if it is the turn of one."""
        if self._step % self._divisor(seesaw) == 0:
            if not self._blocks or self._blocks[-1].count == _BLOCK:
                self._blocks.append(Samples.empty(seesaw.plant, _BLOCK))
            block = self._blocks[-1]
            block.take(seesaw.plant, seesaw.data)
            if diverged(seesaw.data):
                block.count -= 1
        else:
            mujoco.mj_step(seesaw.plant.model, seesaw.data)
        self._step += 1

    def run(self, seesaw: MujocoSeesaw, motion: str, fall: str = '') -> SimulatedRun:
        """Return what was sampled since the last call, as sensors and truth.

        Args:
            seesaw: the plant.
            motion: name of the run.
            fall: how the robot fell; empty if it stands.

        Raises:
            SimulationError: if the rate of the sensors does not divide that of the physics.
        """
        samples = Samples.joined([block.filled() for block in self._blocks])
        period = round(self._divisor(seesaw) * seesaw.time_step * NANOSECONDS)
        stamps = self.start + period * np.arange(samples.count, dtype=np.int64)
        self.start, self._blocks = self.start + period * samples.count, []
        return simulated_run(samples, seesaw.plant, motion, stamps, fall)

    def _divisor(self, seesaw: MujocoSeesaw) -> int:
        return Sampling.at_rate(self.rate, seesaw.plant.physics).divisor


def record_seesaw(
    run: SimulatedRun,
    seesaw: MujocoSeesaw,
    bag: str | PathLike[str],
    *,
    files: Mapping[str, str] | None = None,
    storage: str = 'mcap',
    overwrite: bool = False,
) -> None:
    """Write a run as a bag, and in its folder robot.yaml and robot.urdf to evaluate it with.

    Args:
        run: the run.
        seesaw: the plant that it was made with.
        bag: folder that the bag will be.
        files: name → text of further files in it.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.

    Raises:
        BagError: if the bag exists or cannot be written.
    """
    sensed = seesaw.sensed
    record(
        run,
        sensed.file,
        bag,
        urdf=sensed.urdf,
        files={**sensed.files(), **(files or {})},
        storage=storage,
        overwrite=overwrite,
    )
