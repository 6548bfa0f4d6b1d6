"""The KKT plants that many tests use."""

import dataclasses

from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.kkt_plant import KktPlant


def plant_of(robot='icub', **changes):
    """Return the KKT plant of a robot, some of whose attributes are changed."""
    return KktPlant(dataclasses.replace(load_balancing_robot(robot), **changes), Seesaw(), 0.001)
