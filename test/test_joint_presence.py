"""Joints that are published for a part of a recording only are named, with when."""

from types import SimpleNamespace

import numpy as np

from izmp_dynamics.recording.joint_watch import JointPresence

from .bag_surgery import JOINTS, with_joints
from .command_line import assert_whole


def read(begin, end, present):
    """Messages from `begin` to `end` [s] at 10 Hz with some of three joints."""
    stamps = np.arange(begin, end, 0.1) * 1e9
    there = np.tile(np.array(present, bool), (len(stamps), 1))
    return SimpleNamespace(stamps=stamps.astype(np.int64), present=there)


def test_joints_that_start_late_or_stop_are_named_in_pieces_as_well():
    watch = JointPresence(('hip', 'knee', 'ankle', 'absent'), (0, 1, 2))
    for piece in (
        read(5.0, 7.0, [1, 1, 0, 0]), read(7.0, 7.0, [0, 0, 0, 0]), read(7.0, 9.05, [1, 0, 1, 0]),
    ):  # fmt: skip
        watch.watch(piece)
    knee, ankle = sorted(watch.findings('/js', 5_000_000_000), key=lambda f: 'ankle' in f.sentence)
    assert knee.sentence.startswith('/js (knee): no value after 1.90 s, for 2.10 s.')
    assert ankle.sentence.startswith('/js (ankle): no value before 2.00 s, for 2.00 s.')


def test_a_recording_without_joints_has_no_findings():
    watch = JointPresence(('hip',), ())
    watch.watch(read(0.0, 1.0, [0]))
    assert not list(watch.findings('/js', 0))


def test_a_joint_that_stops_is_a_fault_of_the_report_and_found_by_check(corrupted):
    def stop_joint(draft, robot):
        part = draft[JOINTS]
        others = list(range(1, len(part.like['name'])))
        early = part.between(0.0, 1.2)
        draft.replace(JOINTS, part.rows(early), with_joints(part.rows(~early), others))

    desk = corrupted(stop_joint)
    assert_whole(desk, desk.replay())
    report = desk.report()
    (event,) = (each for each in report['events'] if each['kind'] == 'sensor fault')
    assert 'has no value for 0.8' in event['sentence']
    assert any('no value after 1.' in note for note in report['notes'])
    assert 'no value after 1.' in desk.check().out
