"""What the nodes that take the sensors of the root have in common."""

from collections.abc import Sequence

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.nodes.health import WARN, Health, Input
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.signals.imu import rotations, with_gravity


def remark_on_method(health: Health, stage: RootStage, accelerometers: Sequence[Input]) -> None:
    """State the method, and remark where the gyroscope stands in for silent accelerometers.

    Args:
        health: takes the remark.
        stage: of the root.
        accelerometers: inputs of the further accelerometers, in the order of the robot file.
    """
    health.values['method'] = stage.method
    for entry in accelerometers:
        entry.required = stage.method == 'accelerometers'
    if stage.fell_back:
        names = ', '.join(accelerometers[k].topic for k in stage.without_messages)
        health.remark(
            'fallen back',
            WARN,
            f'No message on {names} so far: the angular acceleration is the difference quotient '
            'of the gyroscope.',
        )
    else:
        health.clear('fallen back')


def add_gravity(values: Array, orientation: Array, gravity: float) -> None:
    """Make the specific force of an IMU that has removed gravity, in place.

    Args:
        values: (6,) angular velocity [rad/s] and acceleration [m/s²] in sensor axes.
        orientation: (4,) world_q_sensor, x y z w.
        gravity: [m/s²].
    """
    world_R_imu, _ = rotations(orientation[None])
    values[3:] = with_gravity(values[None, 3:], world_R_imu, gravity)[0]
