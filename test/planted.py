"""A robot whose sensors and masses are wrong in ways that are known: simulated once, recorded."""

import dataclasses
from pathlib import Path

import numpy as np

from izmp_dynamics.calibration.files import with_inertials
from izmp_dynamics.calibration.inertias import link_inertias, moved
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.simulation.noisy_signals import SENSOR_NOISE, SensorErrors, WrenchErrors, with_errors
from izmp_lab.simulation.recording import record

PAYLOAD, SHIFT = 0.23, np.array([0.007, 0.007, 0.0])
"""What the URDF lacks: 5 % of the trunk's mass [kg], 10 mm of its centre of mass [m]."""

NOISE = {'imu_noise': SENSOR_NOISE['xsens_mti20'], 'encoder_bits': 16}

ERRORS = SensorErrors(
    imu_delay=0.008,
    gyroscope_delay=0.006,
    imu_rotation=(0.03, -0.035, 0.025),
    gyroscope_bias=(0.005, -0.005, 0.005),
    accelerometer_bias=(0.03, -0.03, 0.025),
    feet={
        'l_foot': WrenchErrors(offset=(3.0, -2.0, 1.5, 0.1, -0.2, 0.1), noise=0.3),
        'r_foot': WrenchErrors(offset=(-2.0, 3.0, -2.0, -0.1, 0.15, 0.2), noise=0.3),
    },
    **NOISE,
)


def nominal(biped31):
    """The robot file: the gyroscope is differenced, as only the IMU has errors."""
    return dataclasses.replace(biped31, accelerometers=(), position=None)


def true_robot(biped31, folder):
    """The robot as it is: with a payload that its URDF lacks."""
    robot = nominal(biped31)
    trunk = next(
        link for link in link_inertias(load_model(robot.urdf_path)) if link.link == 'trunk'
    )
    text = with_inertials(
        robot.urdf_path.read_text(encoding='utf-8'), {'trunk': moved(trunk.theta, PAYLOAD, SHIFT)}
    )
    path = Path(folder) / 'true.urdf'
    path.write_text(text, encoding='utf-8')
    return dataclasses.replace(robot, urdf=str(path))


def recorded(run, robot, folder, errors=ERRORS, seed=1):
    """Record a run with errors; return the bag."""
    record(with_errors(run, robot, errors, seed), robot, folder)
    return folder
