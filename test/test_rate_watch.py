"""When a node takes another rate of a sensor for a new one."""

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from izmp_dynamics.nodes.health import Input
from izmp_dynamics.nodes.sensor_watch import LOOKS, RateWatch


class Sensor:
    """A sensor, and the node that looks at it."""

    def __init__(self, learned=0.01):
        self.entry, self.watch, self.learned = (
            Input('/imu', '', signal='imu'),
            RateWatch(),
            learned,
        )

    def look(self, period, count=50):
        """Let messages come, and look; return what has changed."""
        for _ in range(count):
            self.entry.received(self.entry.newest + round(period * 1e9))
        return self.watch.changed([self.entry], {'imu': self.learned})


@pytest.mark.parametrize('period', [0.002, 0.02, 0.1])
def test_a_new_rate_is_noticed_when_it_lasts(period):
    sensor = Sensor()
    assert not any(sensor.look(0.01) for _ in range(5))
    looks = [sensor.look(period) for _ in range(LOOKS)]
    assert not any(looks[:-1])
    assert looks[-1] == {'imu': pytest.approx(period)}


@pytest.mark.parametrize('period', [0.008, 0.0125])
def test_small_differences_are_no_new_rate(period):
    sensor = Sensor()
    assert not any(sensor.look(period) for _ in range(20))


def test_a_short_time_of_another_rate_is_no_new_rate():
    sensor = Sensor()
    assert not any(sensor.look(0.01 if k % LOOKS else 0.05) for k in range(20))


def test_a_computer_that_is_too_slow_shows_no_rate():
    sensor = Sensor()
    for _ in range(20):
        sensor.entry.missed += 100
        assert not sensor.look(0.05)


def test_a_clock_that_is_set_back_shows_no_rate():
    sensor = Sensor()
    for _ in range(20):
        sensor.entry.newest -= 10**12
        assert not sensor.look(0.01)
