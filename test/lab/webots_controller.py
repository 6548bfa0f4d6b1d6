"""What webots_ros2_driver does with the plugin, in a process with the real controller library.

Called as: python -m test.lab.webots_controller RESULT.npz NAME=VALUE …
"""

import json
import sys
from types import SimpleNamespace

import numpy as np
from controller import Supervisor

from .webots_recorder import start


def main(result, *properties):
    robot = Supervisor()
    stand_in = SimpleNamespace(robot=robot)
    driver, sink = start(stand_in, dict(text.split('=', 1) for text in properties))
    step = int(robot.getBasicTimeStep())
    unknown = robot.getDevice('no such device')
    while robot.step(step) != -1:
        driver.step()
    driver.stop()
    signals = sink.signals()
    np.savez(
        result, logged=json.dumps(sink.logged), unknown=unknown is None, stamps=signals.stamps,
        q=signals.q, imu=np.hstack([
            signals.imu.angular_velocity, signals.imu.specific_force,
            signals.imu.orientation_xyzw,
        ]),
        position=signals.position,
        others=np.hstack([*signals.accelerometers.values(), *signals.wrenches.values()]),
    )  # fmt: skip


if __name__ == '__main__':
    main(*sys.argv[1:])
