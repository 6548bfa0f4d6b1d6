"""A sink for the plugin without ROS: keeps what it is given."""

from collections.abc import Mapping
from operator import attrgetter
from types import SimpleNamespace

import numpy as np

from izmp_lab.nodes.webots_driver import WebotsDriver
from izmp_lab.simulation.simulated_run import ImuSignals, SensorSignals


class Recorder:
    """Keeps samples and sentences.

    Attributes:
        samples: all that were published.
        logged: (level, sentence) of all that was logged.
        wanted: trajectory that will come next, if any; an exception is raised.
        listening: what `listened` answers.
        closed: whether it has been closed.
    """

    def __init__(self):
        self.samples, self.logged = [], []
        self.wanted, self.listening, self.closed = None, True, False

    def publish(self, sample):
        assert not self.closed
        self.samples.append(sample)

    def log(self, sentence, level='info'):
        self.logged.append((level, sentence))

    def trajectory(self):
        wanted, self.wanted = self.wanted, None
        if isinstance(wanted, Exception):
            raise wanted
        return wanted

    def listened(self):
        return self.listening

    def close(self):
        self.closed = True

    def sentences(self, *levels):
        return [sentence for level, sentence in self.logged if level in levels]

    @property
    def problems(self):
        """What was logged as a warning or an error."""
        return self.sentences('warning', 'error')

    def signals(self):
        """All samples as one; each has the sensors of the first."""
        samples = self.samples

        def column(of):
            values = [of(sample) for sample in samples]
            if isinstance(values[0], Mapping):
                return {key: np.concatenate([value[key] for value in values]) for key in values[0]}
            return None if values[0] is None else np.concatenate(values)

        imu = ('angular_velocity', 'specific_force', 'orientation_xyzw')
        rest = ('accelerometers', 'position', 'wrenches')
        return SensorSignals(
            samples[0].joint_names,
            column(attrgetter('stamps')),
            column(attrgetter('q')),
            None,
            ImuSignals(*(column(attrgetter(f'imu.{name}')) for name in imu)),
            *(column(attrgetter(name)) for name in rest),
            segments=column(attrgetter('segments')),
        )


def start(stand_in, properties):
    """Start the plugin as the driver does; return it and its sink."""
    sink = Recorder()
    driver = WebotsDriver(lambda options: (sink, 0))
    driver.init(SimpleNamespace(robot=stand_in.robot), properties)
    return driver, sink


def drive(stand_in, properties, steps=None):
    """Do what the driver does until the simulator ends, or for so many steps."""
    driver, sink = start(stand_in, properties)
    done = 0
    while done != steps and stand_in.step() != -1:
        driver.step()
        done += 1
    driver.stop()
    return sink
