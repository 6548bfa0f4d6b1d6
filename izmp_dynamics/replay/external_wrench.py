"""The external wrench of an evaluated span, where the feet measure enough to know it."""

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.external_wrench import external_wrench
from izmp_dynamics.pipeline.evaluator import Evaluated
from izmp_dynamics.pipeline.rig import Rig


def external_of(results: Evaluated, rig: Rig) -> Array | None:
    """Return what acted on the robot besides the ground.

    Args:
        results: of a span.
        rig: the robot.

    Returns:
        (K, 6) about the root origin in root axes, NaN where it is not known; None unless every
        foot measures its whole wrench.
    """
    if 'cop' not in results.wrenches or any(foot.normal_only for foot in rig.feet):
        return None
    moved, measured = (
        ContactWrench.from_array(results.wrenches[name]) for name in ('mr_ad', 'cop')
    )
    return external_wrench(moved, measured).as_array()
