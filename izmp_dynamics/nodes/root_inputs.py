"""Which sensors the angular acceleration of the root comes from, and whether that is as meant."""

from collections.abc import Sequence

from izmp_dynamics.nodes.health import WARN, Health, Input
from izmp_dynamics.pipeline.root import RootStage


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
