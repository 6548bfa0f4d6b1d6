"""`izmp export`: results of a replay as a recording for Rerun."""

import json
import os
import re
import resource
import subprocess
import sys
import warnings
from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import MissingDependencyError, ReplayError
from izmp_dynamics.export.log import TIMELINE, shown_at
from izmp_dynamics.export.rerun_file import write_rerun
from izmp_dynamics.export.robot import soles_at
from izmp_dynamics.results import replayed
from izmp_dynamics.results.replayed import Replayed

from .command_line import Desk, assert_refused, izmp
from .raising import raising


@pytest.fixture(scope='module')
def result(sound, robot_content, sound_points, tmp_path_factory):
    """Two seconds of the sway, evaluated."""
    desk = Desk(tmp_path_factory.mktemp('result'), sound, robot_content)
    assert desk.replay().status == 0
    return desk.results


def test_what_has_no_value_disappears():
    instants = np.array([10, 20, 30, 40, 50, 60])
    at, counts = shown_at(instants, np.array([20, 30, 60]))
    assert at.tolist() == [10, 20, 30, 40, 60]  # 10: what a span before has shown
    assert counts.tolist() == [0, 1, 1, 0, 1]
    assert shown_at(instants, np.array([], int))[0].tolist() == [10]


def test_the_ground_is_where_the_soles_are():
    turned = Rotation.from_euler('xyz', [[0.1, -0.2, 0.5], [0.0, 0.3, 1.0]])
    places = np.array([[1.0, 2.0, 0.9], [1.1, 2.0, 0.8]])
    on_ground = np.array([[0.9, 1.9, 0.05], [1.1, 1.9, 0.05], [1.0, 2.1, 0.05]])
    polygons = [turned[k].inv().apply(on_ground - places[k]) for k in range(2)]
    poses = np.hstack([places, turned.as_quat()])
    stamps, heights = soles_at(
        (np.array([1, 3]), poses), (np.array([1, 2, 3]), [polygons[0], polygons[0], polygons[1]])
    )
    assert stamps.tolist() == [1, 3]
    np.testing.assert_allclose(heights, 0.05)


def test_points_and_frames_are_those_of_the_bag(result, sound_points):
    (span,) = Replayed.spans(result)
    stamps, points = span.values('/mr_ad/izmp')
    assert dict(zip(stamps.tolist(), points.tolist(), strict=True)) == {
        stamp: list(point) for stamp, point in sound_points['/mr_ad/izmp'].items()
    }
    at, level = span.level_frame
    to_world, poses = span.values('/odom')
    shared, rows, others = np.intersect1d(at, to_world, return_indices=True)
    assert len(shared) > 50
    vertical = Rotation.from_quat(poses[others, 3:7]) * Rotation.from_quat(level[rows])
    np.testing.assert_allclose(vertical.as_matrix()[:, :, 2], [[0, 0, 1]] * len(rows), atol=0.01)
    assert {frame for frame, _ in span.soles.values()} == {'l_sole', 'r_sole'}
    _, polygons = span.polygons
    assert all(len(corners) >= 4 for corners in polygons)


def test_a_place_that_is_taken_is_left_alone(result, tmp_path):
    file = tmp_path / 'run.rrd'
    file.write_text('mine')
    outcome = izmp('export', result, '--rerun', file)
    assert_refused(outcome, f"'{file}' exists; choose another name or add --overwrite.")
    assert file.read_text() == 'mine'
    with raising(ReplayError, 'place_taken', path=tmp_path):
        write_rerun(result, tmp_path, overwrite=True)


def test_without_the_library_it_says_what_to_install(result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rerun', None)
    with pytest.raises(MissingDependencyError, match='pip install rerun-sdk'):
        write_rerun(result, tmp_path / 'run.rrd')
    assert not any(tmp_path.iterdir())


def test_what_is_no_result_is_refused(tmp_path):
    with raising(ReplayError, 'not_a_result', folder=tmp_path):
        next(Replayed.spans(tmp_path))


@pytest.fixture
def rerun():
    """The library, which wants numpy 2 and Python 3.11."""
    return pytest.importorskip(
        'rerun', reason='rerun-sdk is not installed (extra rerun): its recordings are not tried'
    )


@pytest.fixture(params=[0.3, 30.0])
def recorded(rerun, result, tmp_path, request, monkeypatch):
    """Entity → rows of a recording that the command wrote, span by span, in the order of time."""
    monkeypatch.setattr(replayed, 'SPAN', request.param)
    file = tmp_path / 'run.rrd'
    outcome = izmp('export', result, '--rerun', file)
    assert (outcome.status, outcome.out) == (0, f'Recording: {file}')
    assert os.listdir(tmp_path) == ['run.rrd']
    assert rerun.chunk.RrdReader(file).blueprints()
    found = defaultdict(list)
    for chunk in rerun.chunk.RrdReader(file).stream().to_chunks():
        found[chunk.entity_path] += chunk.to_record_batch().to_pylist()
    return found


def column(rows, name):
    """Stamps [ns] and values of a component, as far as it changes over time."""
    given = [row for row in rows if row.get(TIMELINE) is not None and row.get(name)]
    stamps = [row[TIMELINE].value if hasattr(row[TIMELINE], 'value') else row[TIMELINE]
              for row in given]  # fmt: skip
    return stamps, [row[name] for row in given]


def test_the_recording_has_what_the_bag_has(recorded, result, monkeypatch):
    monkeypatch.undo()
    (span,) = Replayed.spans(result)
    stamps, points = span.values('/mr_ad/izmp')
    at, positions = column(recorded['/points/mr_ad'], 'Points3D:positions')
    assert at == stamps.tolist()
    np.testing.assert_allclose(np.array(positions)[:, 0], points, atol=1e-6)
    at, margin = column(recorded['/series/margin/mr_ad'], 'Scalars:scalars')
    margin = np.ravel(margin)
    np.testing.assert_array_equal(margin[~np.isnan(margin)], span.values('/margin')[1])
    joints, _ = span.values('/joint_kinematics')
    at, frames = column(recorded['/frames/l_foot'], 'Transform3D:child_frame')
    assert at == joints.tolist()
    assert frames == [['l_foot']] * len(joints)
    origins = column(recorded['/forces/cop'], 'Arrows3D:origins')[1]
    np.testing.assert_allclose(np.array(origins)[:, 0], span.values('/cop')[1], atol=1e-6)
    assert {'/soles/l_foot', '/soles/r_foot', '/polygon', '/points/com'} <= set(recorded)
    assert any(name.startswith('/robot/pelvis/') for name in recorded)
    events = json.loads((result / 'report.json').read_text())['events']
    at, texts = column(recorded['/events'], 'TextLog:text')
    assert [text for (text,) in texts] == [f'{e["kind"]}: {e["sentence"]}' for e in events]
    assert at == [span.start + round(1e9 * event['begin']) for event in events]


def test_a_full_disk_leaves_nothing_behind(rerun, result, tmp_path):
    """The library itself only logs it, and now and then waits for ever: it does not meet it."""
    file, limits = tmp_path / 'run.rrd', resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with raising(ReplayError, 'cannot_write', path=file):
            write_rerun(result, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not any(tmp_path.iterdir())


def test_of_a_full_disk_the_terminal_has_one_sentence(rerun, result, tmp_path):
    command = [sys.executable, '-m', 'izmp_dynamics', 'export', result, '--rerun', 'run.rrd']
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (100_000, 100_000))
    environment = os.environ | {'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}
    environment.pop('RUST_LOG', None)  # what the library meets, it logs
    done = subprocess.run(command, cwd=tmp_path, env=environment, preexec_fn=limit,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert re.fullmatch('izmp: error: .*cannot be written: File too large\\.\n', done.stderr)


def test_a_foot_without_a_polygon_has_no_flat_sole(result):
    (span,) = Replayed.spans(result)
    left, right = span.soles
    parameters = span.report['parameters'] | {f'feet[{left}].polygon': '() m'}  # as of a ball
    balls = Replayed(span.report | {'parameters': parameters}, span.batch)
    assert set(balls.soles) == {right}


def test_a_span_without_a_value_of_a_topic_is_no_warning(rerun, result, tmp_path, monkeypatch):
    there = Replayed.values
    monkeypatch.setattr(Replayed, 'values', lambda span, topic: (
        (np.array([], np.int64), np.zeros((0, 7))) if topic == '/cop' else there(span, topic)
    ))  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        write_rerun(result, tmp_path / 'run.rrd')
