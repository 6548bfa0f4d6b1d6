"""Faults: how many samples were not used."""

from izmp_dynamics.base.faults import Fault, Reason, left_out
from izmp_dynamics.fleet.row import of_health


def test_repaired_samples_and_instants_between_samples_are_not_left_out():
    faults = {
        Fault(Reason.REPEATED): 2327,
        Fault(Reason.HANGS): 472,
        Fault(Reason.INTERPOLATED): 2158,
        Fault(Reason.NO_SAMPLE): 1,
        Fault(Reason.STAMP_RESTORED): 32,
        Fault(Reason.JOINT_REPAIRED, 'l_knee'): 3,
        Fault(Reason.STAMP_TWICE): 4,
    }
    assert left_out(faults) == 2327 + 472 + 4
    health = {'topic': '/imu', 'gated': {fault.key: n for fault, n in faults.items()}}
    assert of_health(health)['gated'] == left_out(faults)
