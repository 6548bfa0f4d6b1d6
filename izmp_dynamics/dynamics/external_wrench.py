"""The external wrench: the contact wrench of the motion (MR-AD) less the measured one.

MR-AD gives the sum of all contacts, the feet's sensors those with the ground. The difference is a
push, a wall, a hand, or an error of model and sensors, which is always present.
"""

from izmp_dynamics.dynamics.contact_wrench import ContactWrench


def external_wrench(moved: ContactWrench, measured: ContactWrench) -> ContactWrench:
    """Return the external wrench.

    Args:
        moved: (T,) contact wrench that the motion needs, by MR-AD.
        measured: (T,) that of all feet, with the mass below their sensors accounted for; about
            the same point in the same axes.
    """
    return ContactWrench(moved.force - measured.force, moved.moment - measured.moment)
