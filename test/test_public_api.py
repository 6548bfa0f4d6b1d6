"""The public names: found lazily, documented with shapes and units, and used in the README."""

import inspect
import re
import runpy
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import izmp_dynamics as izmp
from izmp_dynamics.bags.messages import pose_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import MissingDependencyError, ReplayError
from izmp_dynamics.evaluate import replay
from izmp_dynamics.model.robot_model import RobotModel

from .bag_surgery import JOINTS
from .command_line import loaded_by
from .requiring import need

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / 'examples' / 'python_api.py'
PACKAGE = ROOT / 'izmp_dynamics'
NAMES = izmp.__all__
WITHOUT_UNIT = {
    'joints',
    'normal',
    'R',
    'valid',
    'loaded',
    'world_R_root',
    'root_R_sensor',
    'axes',
    'gain',
    'soles',
    'rows',
    'fall_alarm',
    'fall_assumed',
}  # fmt: skip; rotations, unit vectors, masks, indices


@pytest.fixture(scope='module')
def result(sound_bag):
    return izmp.evaluate_bag(str(sound_bag), ROOT / 'robots' / 'biped31' / 'robot.yaml')


def own(modules):
    return {name for name in modules if name.startswith(PACKAGE.name)}


def test_importing_the_package_imports_nothing_and_the_first_use_of_a_name_its_module_only():
    imported, used = loaded_by('print(*sys.modules); izmp_dynamics.ShapeError')
    assert own(imported) == {'izmp_dynamics'}
    assert not imported & {'numpy', 'ast', 'importlib.metadata', 'PyKDL', 'yaml'}
    assert own(used) - own(imported) == {'izmp_dynamics.base', 'izmp_dynamics.base.errors'}


def test_every_public_name_is_there():
    assert len(NAMES) > 30
    assert set(NAMES) <= set(dir(izmp))
    for name in NAMES:
        assert getattr(izmp, name).__name__ == name
    everything: dict = {}
    exec('from izmp_dynamics import *', everything)
    assert set(NAMES) <= set(everything)
    assert izmp.load_model is everything['load_model']
    with pytest.raises(AttributeError, match='no_such_name'):
        izmp.no_such_name  # noqa: B018


def test_no_public_name_is_also_a_module():
    assert not set(NAMES) & {path.stem for path in PACKAGE.iterdir()}


def members(name):
    """A public name and its public methods and properties."""
    public = getattr(izmp, name)
    yield name, public
    if inspect.isclass(public):
        for attribute, member in inspect.getmembers(public):
            theirs = any(attribute in vars(base) for base in public.__mro__[:-1])
            if (
                theirs
                and attribute[0] != '_'
                and (isinstance(member, property) or callable(member))
            ):
                yield f'{name}.{attribute}', member


def array_arguments(member):
    """Names of the arguments or attributes of a member that are arrays."""
    if isinstance(member, property):
        return []
    try:
        hints = typing.get_type_hints(member)
    except (NameError, TypeError):
        return []
    return [name for name, hint in hints.items() if name != 'return' and 'ndarray' in str(hint)]


@pytest.mark.parametrize('name', NAMES)
def test_what_is_public_says_what_it_is_and_its_arrays_their_shape_and_unit(name):
    for label, member in members(name):
        text = inspect.getdoc(member)
        assert text, f'{label} has no docstring'
        for argument in array_arguments(member):
            assert re.search(r'\((…|T|K|B|n|N|k|\d)[^)]*\)', line := said_of(argument, text)), (
                f'{label}: {argument} has no shape in {line!r}'
            )
            assert '[' in line or argument in WITHOUT_UNIT, f'{label}: {argument} has no unit'


def said_of(argument, text):
    """The entry of an argument in a docstring; the whole text if there are no entries."""
    entry = re.search(rf'^( +){argument}: (.*(\n\1 +.*)*)', text, re.MULTILINE)
    return entry[2] if entry else text


def test_the_readme_shows_lines_of_the_example():
    readme = (ROOT / 'README.md').read_text('utf-8')
    (shown,) = re.findall(r'```python\n(.*?)```', readme, re.DOTALL)
    assert set(shown.splitlines()) <= set(EXAMPLE.read_text('utf-8').splitlines())


def test_the_example_runs_on_a_recording(sound_bag, tmp_path, monkeypatch):
    (tmp_path / 'demo').mkdir()
    (tmp_path / 'demo' / 'walk').symlink_to(sound_bag)
    (tmp_path / 'robots').symlink_to(ROOT / 'robots')
    monkeypatch.chdir(tmp_path)
    done = runpy.run_path(str(EXAMPLE))
    assert isinstance(done['model'], RobotModel)
    np.testing.assert_allclose(done['point'][:, :2], done['com'][:, :2], atol=1e-12)
    assert done['walk'].valid.mean() > 0.9


def test_the_evaluation_has_the_numbers_of_the_replay(sound_bag, biped31, result, tmp_path):
    """And the progress reaches the end; frames and wrenches are those of the odd robot's test."""
    fractions = []
    replayed = replay(sound_bag, biped31, tmp_path / 'out', progress=fractions.append)
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1.0, abs=0.01)
    with BagReader(replayed.bag) as bag:
        (batch,) = bag.batches(['/mr_ad/izmp'], 1e9)
        written = pose_batch(batch['/mr_ad/izmp'])
        types = {name: topic.msgtype for name, topic in bag.topics.items()}
        assert bag.damage is None
    track = result.tracks['mr_ad']
    np.testing.assert_array_equal(result.stamps[track.valid], written.stamps)
    np.testing.assert_array_equal(track.point[track.valid], written.positions)
    assert result.missing + result.notes == (*replayed.summary.missing, *replayed.summary.notes)
    assert types['/tf'] == types['/tf_static'] == 'tf2_msgs/msg/TFMessage'
    assert types['/robot_description'] == 'std_msgs/msg/String'
    assert types['/joint_kinematics'] == 'trajectory_msgs/msg/JointTrajectory'
    assert types['/support_polygon'] == 'geometry_msgs/msg/PolygonStamped'
    assert types['/odom'] == 'nav_msgs/msg/Odometry'


def test_a_mask_says_where_there_is_a_point(result):
    for track in result.tracks.values():
        np.testing.assert_array_equal(track.valid, np.isfinite(track.point).all(axis=1))
    np.testing.assert_allclose(result.time, (result.stamps - result.stamps[0]) * 1e-9)


def test_the_table_has_the_arrays_as_columns(result):
    pd = need('pandas')
    table = result.to_dataframe()
    assert isinstance(table, pd.DataFrame)
    np.testing.assert_array_equal(table.index, result.stamps)
    for name, track in result.tracks.items():
        columns = [f'{name}.point.{axis}' for axis in 'xyz']
        np.testing.assert_array_equal(table[columns], track.point)
        np.testing.assert_array_equal(table[f'{name}.moment.y'], track.wrench[:, 4])
        np.testing.assert_array_equal(table[f'{name}.valid'], track.valid)
    for foot in result.feet:
        np.testing.assert_array_equal(table[f'{foot.name}.loaded'], foot.loaded)


def test_without_pandas_the_table_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pandas', None)
    with pytest.raises(MissingDependencyError) as raised:
        result.to_dataframe()
    assert raised.value.library == 'pandas'


def test_a_recording_from_which_nothing_comes_is_an_error(sound, biped31, tmp_path):
    draft = sound.copy()
    draft[JOINTS]['position'][:] = np.nan
    with pytest.raises(ReplayError):
        izmp.evaluate_bag(draft.write(tmp_path / 'bag'), biped31)
