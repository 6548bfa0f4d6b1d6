"""`wrench.below`: is the link that it names really the one below the sensor of the foot?

What is below a sensor presses on the ground without being felt by it, so its mass is added to
what the sensor measures. A link on the wrong side of the sensor adds the mass of a leg, or of the
robot.
"""

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.model.robot_model import RobotModel

MEANING = (
    'below names the link under the sensor, usually the foot: it and all it carries press on the '
    'ground without being felt by the sensor, so their weight and inertia are added to its '
    'readings. Leave it out if nothing is below the sensor.'
)


def check_below(model: RobotModel, foot: str, sole: str, sensor: str, below: str) -> None:
    """Refuse a link that is not between the sensor of a foot and the ground.

    Args:
        model: of the robot.
        foot: name of the foot, for the message.
        sole: link of its sole.
        sensor: link of its sensor's frame.
        below: the link that is stated to be below the sensor.

    Raises:
        ReplayError: the message explains what `below` means.
    """
    carried = model.links_carried(below)
    if below == model.root:
        why = 'is the root link, and all of the robot would count'
    elif sole not in carried:
        why = f"does not carry the sole '{sole}'"
    elif _is_above(model, below, sensor):
        mass = model.part(below).total_mass
        why = f"is above the sensor '{sensor}': it carries it ({mass:.3g} kg would count)"
    else:
        return
    suggestion = ''
    link = link_at(model, sole)
    if link != below and link != model.root:
        suggestion = f" Is '{link}' meant?"
    raise ReplayError(
        f"feet[{foot}].wrench.below: '{below}' {why}. {MEANING}{suggestion}",
        kind='not_below',
        foot=foot,
        link=below,
    )


def link_at(model: RobotModel, frame: str) -> str:
    """The first link with mass from a frame upwards: of a sole, the foot."""
    parents = {segment.link: segment for segment in model.tree.segments}
    while frame in parents and not parents[frame].segment.getInertia().getMass():
        frame = parents[frame].parent
    return frame


def _is_above(model: RobotModel, link: str, sensor: str) -> bool:
    """Whether a joint lies between a link and the frame of a sensor further down."""
    chain = model.chain(sensor)
    body = model.mount(link).body
    return (
        body in (0, *chain)
        and body != model.mount(sensor).body
        and (sensor in model.links_carried(link))
    )
