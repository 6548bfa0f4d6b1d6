"""The interactive report: its data without a browser."""

import base64
import gzip
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import parse_urdf, read_urdf
from izmp_dynamics.model.visuals import (
    find_mesh,
    load_mesh,
    simplified,
    solid,
    visuals_of,
)
from izmp_dynamics.report.player import packing
from izmp_dynamics.report.player.packing import Block, json_for_script
from izmp_dynamics.report.player.playback import play_back
from izmp_dynamics.report.player.shapes import _bone, robot_shapes
from izmp_dynamics.report.writer import write_report
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise

from .report_scenarios import blank, part, standing, walking
from .requiring import need

EVIL = '</script><script>alert(1)</script>"&\''
URDF = Path(__file__).parents[1] / 'robots' / 'biped31' / 'biped31.urdf'
TYPES = {'f4': '<f4', 'i2': '<i2', 'u4': '<u4'}


def moving(evaluation, text=None):
    """The evaluation with biped31 bending its knees."""
    urdf = read_urdf(URDF) if text is None else parse_urdf(text)
    model = load_model(urdf, 'pelvis')
    stamps = evaluation.stamps[::3]
    q = 0.2 * np.sin(1e-9 * (stamps - stamps[0]))[:, None] * np.ones(model.dof)
    return replace(evaluation, motion=Motion(model, urdf, stamps, q))


class Content:
    """The document of a page and its arrays."""

    def __init__(self, html):
        self.document = json.loads(self._script(html, 'player-document'))
        self.numbers = gzip.decompress(base64.b64decode(self._script(html, 'player-numbers')))

    @staticmethod
    def _script(html, name):
        return re.search(rf'<script [^>]*id="{name}">(.*?)</script>', html, re.S)[1]

    def array(self, entry):
        return unpacked(self.numbers, entry)


def unpacked(numbers, entry):
    """An array of a block, as load.js reads it."""
    kind, shape = np.dtype(TYPES[entry['kind']]), entry['shape']
    size = kind.itemsize * math.prod(shape)
    stored = np.frombuffer(numbers, 'u1', size, entry['offset']).reshape(kind.itemsize, -1)
    bits = stored.T.copy().view(f'<u{kind.itemsize}').reshape(math.prod(shape[1:]), shape[0])
    return np.cumsum(bits, axis=1, dtype=bits.dtype).T.copy().view(kind).reshape(shape)


def require_libraries():
    """Skip where what draws in the page is not installed."""
    for library in (packing.THREE, packing.UPLOT):
        library.read()


@pytest.fixture(scope='module')
def page(tmp_path_factory):
    """A walk with biped31's shapes: the evaluation, the HTML and its content."""
    require_libraries()
    evaluation = moving(walking(duration=6.0))
    html = write_report(evaluation, tmp_path_factory.mktemp('page')).html.read_text('utf-8')
    return evaluation, html, Content(html)


def test_arrays_come_back_from_the_block():
    block, rng = Block(), np.random.default_rng(2)
    sent = [(rng.normal(size=(3, 5)), 'f4'), (np.array([-32768, 7, 1]), 'i2'), ([[1, 2]], 'u4')]
    sent += [(np.empty((0, 7)), 'f4'), (np.empty((4, 0, 7)), 'i2')]
    entries = [block.add(values, kind) for values, kind in sent]
    data = gzip.decompress(base64.b64decode(block.text))
    for (values, _), entry in zip(sent, entries, strict=True):
        assert entry['offset'] % 4 == 0
        np.testing.assert_allclose(unpacked(data, entry), values, rtol=1e-6)


def test_json_cannot_end_its_script():
    text = json_for_script({'name': EVIL + '<!--\u2028'})
    assert not set('<>&\u2028') & set(text)
    assert json.loads(text) == {'name': EVIL + '<!--\u2028'}


def test_frames_follow_the_evaluation(page):
    evaluation, _, content = page
    scene = content.document['scene']
    time = content.array(scene['time'])
    rows = np.searchsorted(evaluation.time, time - 1e-4)
    np.testing.assert_allclose(evaluation.time[rows], time, atol=1e-5)
    assert scene['view'] == 'world'
    root = content.array(scene['root'])
    np.testing.assert_allclose(root[:, :3], evaluation.world_p_root[rows], atol=1e-6)
    R = matrices_from_quaternions(root[:, 3:].astype(float))
    np.testing.assert_allclose(R, evaluation.world_R_root[rows], atol=1e-6)
    for track in scene['tracks']:
        expected = evaluation.in_world(evaluation.tracks[track['name']].point)[rows]
        np.testing.assert_allclose(content.array(track['points']), expected, atol=1e-6)
        assert np.abs(content.array(track['points'])[:, 2]).max() < 1e-6
    polygon, loaded = content.array(scene['polygon']), content.array(scene['loaded']) > 0
    soles = np.stack([content.array(foot['sole']) for foot in scene['feet']], axis=1)
    carried = np.where(loaded[..., None, None], soles, np.nan).reshape(len(time), -1, 3)
    np.testing.assert_allclose(
        polygon.min(axis=1)[:, :2], np.nanmin(carried, axis=1)[:, :2], atol=1e-5
    )
    np.testing.assert_allclose(
        polygon.max(axis=1)[:, :2], np.nanmax(carried, axis=1)[:, :2], atol=1e-5
    )


def test_bodies_are_where_the_model_puts_them(page):
    evaluation, _, content = page
    scene, motion = content.document['scene'], evaluation.motion
    stored = content.array(scene['bodies'])
    row = len(stored) // 2
    R, p = motion.model.body_poses(motion.positions[row])
    drawn = sorted({motion.model.mount(v.link).body for v in visuals_of(motion.urdf)})
    assert stored.shape[1] == len(drawn) == 1 + max(shape['body'] for shape in scene['shapes'])
    poses = stored[row] / 32767
    np.testing.assert_allclose(poses[:, :3] * scene['reach'], p[drawn], atol=5e-5)
    np.testing.assert_allclose(
        matrices_from_quaternions(poses[:, 3:].astype(float)), R[drawn], atol=2e-4
    )


def test_series_are_those_of_the_evaluation(page):
    evaluation, _, content = page
    panels = {panel['name']: panel for panel in content.document['panels']}
    assert panels['x']['title'] == 'IZMP and CoP from pelvis (nif), x forward'
    assert list(panels) == ['margin', 'x', 'y', 'force', 'gap']
    trace = next(t for t in panels['margin']['traces'] if t['label'] == 'MR-AD')
    expected = 1000 * evaluation.tracks['mr_ad'].margin
    np.testing.assert_allclose(content.array(trace['values']), expected, rtol=1e-5)
    np.testing.assert_allclose(content.array(panels['margin']['time']), evaluation.time, rtol=1e-6)


def test_time_never_goes_back_or_is_unknown_at_a_gap(tmp_path):
    require_libraries()
    whole = walking(duration=2.0)
    rows = np.r_[0:100, 160:251]
    html = write_report(part(whole, rows), tmp_path).html.read_text('utf-8')
    content = Content(html)
    time = content.array(content.document['panels'][0]['time'])
    values = content.array(content.document['panels'][0]['traces'][0]['values'])
    assert (np.diff(time) >= 0).all()
    assert np.isnan(values[100])
    assert len(time) == 192


def test_a_push_has_an_arrow_while_it_lasts():
    evaluation = standing(duration=4.0)
    force = np.zeros((len(evaluation.stamps), 3))
    force[200:260, 1] = 60.0
    scene = Scene(replace(evaluation, external_force=force))
    events = summarise(scene).events
    push = next(event for event in events if event.kind == 'push')
    playback = play_back(scene, events)
    shown = np.isfinite(playback.push).all(axis=1)
    within = (playback.time >= push.begin) & (playback.time <= push.end)
    np.testing.assert_array_equal(shown, within)
    assert np.linalg.norm(playback.push[shown], axis=1).max() == pytest.approx(60.0, rel=0.01)
    assert push.sentence.startswith('Pushed from the right with')


@pytest.mark.parametrize('name', ['no world', 'no feet', 'blank'])
def test_what_is_not_known_is_not_shown(name):
    evaluation = {
        'no world': replace(walking(2.0), world_p_root=None, world_R_root=None),
        'no feet': replace(walking(2.0), feet=()),
        'blank': blank(walking(2.0), 'mr_ad'),
    }[name]
    playback = play_back(Scene(evaluation), [])
    frames = len(playback.time)
    assert playback.view == ('feet' if name == 'no world' else 'world')
    assert playback.root.shape == (frames, 7)
    assert playback.bodies.shape[1] == 0
    if name == 'no world':
        assert np.abs(playback.points['mr_ad'][:, 2]).max() < 1e-9  # the ground is at z = 0
        soles = playback.soles[0][:, :, :2]
        standing = evaluation.feet[0].loaded[np.searchsorted(evaluation.time, playback.time)]
        assert np.ptp(soles[standing & (playback.time < 1.0)], axis=0).max() < 1e-3
    if name == 'no feet':
        assert playback.polygon.shape == (frames, 0, 3)
        assert playback.loaded.shape == (frames, 0)
    if name == 'blank':
        assert np.isnan(playback.points['mr_ad']).all()


def test_the_scene_bridges_gaps_of_the_pose():
    """At the beginning, where a filter leaves no value, and where motion capture hangs."""
    evaluation = walking(2.0)
    whole = play_back(Scene(evaluation), [])
    R, p = evaluation.world_R_root.copy(), evaluation.world_p_root.copy()
    for rows in (slice(0, 5), slice(100, 110)):
        R[rows], p[rows] = np.nan, np.nan
    bridged = play_back(Scene(replace(evaluation, world_R_root=R, world_p_root=p)), [])
    assert bridged.view == 'world'
    np.testing.assert_allclose(bridged.root, whole.root, atol=0.02)
    np.testing.assert_allclose(np.linalg.norm(bridged.root[:, 3:], axis=1), 1.0)
    for seen, truth in zip(bridged.soles, whole.soles, strict=True):
        np.testing.assert_allclose(seen, truth, atol=0.03)


def test_a_missing_library_leaves_a_page_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, 'find_spec', lambda module: None)
    html = write_report(walking(duration=1.0), tmp_path).html.read_text('utf-8')
    assert '<script' not in html
    assert 'An interactive report needs the library' in html
    assert 'pip install k3d' in html


def test_sixty_seconds_are_less_than_eight_megabytes(tmp_path):
    require_libraries()
    evaluation = moving(walking(duration=60.0, rate=200.0, noise={'mr_ad': 0.02, 'ir_md': 0.5}))
    assert write_report(evaluation, tmp_path).html.stat().st_size < 8_000_000


BAD_VISUALS = """<robot name="r"><link name="pelvis">
  <inertial><mass value="2"/><inertia ixx="0.01" iyy="0.02" izz="0.02"/></inertial>
  <visual><geometry><box size="1 1"/></geometry></visual>
  <visual><geometry><sphere radius="nan"/></geometry></visual>
  <visual><geometry><capsule radius="1" length="1"/></geometry></visual>
  <visual/>
  <visual><origin xyz="0 0 1"/><geometry><mesh filename="package://no/such.stl"/></geometry>
    <material name="red"><color rgba="1 0 0 1"/></material></visual>
</link></robot>"""


def test_visuals_that_break_the_grammar_are_left_out():
    (visual,) = visuals_of(parse_urdf(BAD_VISUALS))
    assert (visual.kind, visual.file, visual.size) == ('mesh', 'package://no/such.stl', (1, 1, 1))
    assert visual.colour == (1, 0, 0)
    np.testing.assert_array_equal(visual.p, [0, 0, 1])


@pytest.mark.parametrize(
    ('mesh', 'volume', 'middle', 'extent'),
    [
        (solid('box', (1.0, 2.0, 3.0)), 6.0, (0, 0, 0), (1, 2, 3)),
        (solid('cylinder', (0.5, 2.0)), np.pi / 2, (0, 0, 0), (1, 1, 2)),
        (solid('sphere', (0.5,)), np.pi / 6, (0, 0, 0), (1, 1, 1)),
        (_bone(np.array([0.0, 3.0, 4.0])), 0.00072 * np.pi, (0, 1.5, 2), (0.024, 3.019, 4.014)),
    ],
    ids=['box', 'cylinder', 'sphere', 'bone'],
)
def test_primitives_are_closed_and_seen_from_outside(mesh, volume, middle, extent):
    """By the divergence theorem: their volume is positive, and that of the solid."""
    vertices, faces = mesh
    corners = vertices[faces]
    assert np.linalg.det(corners).sum() / 6 == pytest.approx(volume, rel=0.06)
    around = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    np.testing.assert_allclose(around.sum(axis=0), 0.0, atol=1e-12)  # no hole
    ends = vertices.min(axis=0), vertices.max(axis=0)
    np.testing.assert_allclose(np.mean(ends, axis=0), middle, atol=1e-12)
    np.testing.assert_allclose(ends[1] - ends[0], extent, rtol=0.02)


def test_a_mesh_that_is_not_here_becomes_an_ellipsoid_of_the_inertia():
    urdf = parse_urdf(BAD_VISUALS)
    shapes, remark = robot_shapes(Motion(load_model(urdf), urdf, np.empty(0, int), np.empty(0)))
    assert 'package://no/such.stl' in remark
    (shape,) = shapes
    # I = m/5·(b² + c²): 0.01 = 0.4·(b² + c²), 0.02 = 0.4·(a² + c²), and b = c
    np.testing.assert_allclose(
        np.sort(np.ptp(shape.vertices, axis=0) / 2),
        np.sqrt([0.0125, 0.0125, 0.0375]), rtol=0.01,
    )  # fmt: skip


TRIANGLE = 'solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n'
TRIANGLE += 'endloop\nendfacet\nendsolid\n'
COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimetre" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
  <source id="s"><float_array id="a" count="9">0 0 0 100 0 0 0 100 0</float_array>
    <technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
      <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
  </source>
  <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
  <triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node>
  <instance_geometry url="#g"/>
</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>"""


def test_meshes_are_found_where_packages_are(tmp_path, monkeypatch):
    monkeypatch.delenv('ROS_PACKAGE_PATH', raising=False)
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    urdf = tmp_path / 'robot_description' / 'urdf' / 'robot.urdf'
    mesh = tmp_path / 'robot_description' / 'meshes' / 'a b.stl'
    for file in (urdf, mesh):
        file.parent.mkdir(parents=True)
        file.write_text(TRIANGLE)
    name = 'package://robot_description/meshes/a%20b.stl'
    assert find_mesh(name, urdf) == mesh
    assert find_mesh('../meshes/a b.stl', urdf).samefile(mesh)
    assert find_mesh(mesh.as_uri(), None) == mesh
    assert find_mesh(str(mesh), None) == mesh
    assert find_mesh(name, None) is None
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path))
    assert find_mesh(name, None) == mesh
    beside = tmp_path / 'beside.stl'
    beside.write_text(TRIANGLE)
    leaving = ('robot_description/../beside.stl', 'robot_description/%2e%2e/beside.stl')
    leaving += ('../beside.stl', f'robot_description/{beside}', f'{beside}', './beside.stl')
    assert all(find_mesh(f'package://{each}', urdf) is None for each in leaving)
    for bad in ('package://other/a.stl', 'https://host/a.stl', 'a\0b', 'x' * 5000, ''):
        assert find_mesh(bad, urdf) is None


def test_only_meshes_are_read(tmp_path):
    need('trimesh')
    good = tmp_path / 'a.stl'
    good.write_text(TRIANGLE)
    vertices, faces = load_mesh(good)
    np.testing.assert_allclose(vertices[faces[0]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    for name, content in [('b.stl', 'x'), ('c.obj', 'v 0 0 0'), ('d.txt', TRIANGLE)]:
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=r'mesh|readable|none of'):
            load_mesh(tmp_path / name)


def test_a_mesh_that_a_library_would_unpack_is_refused(tmp_path):
    """Of 4 MB it could become 4 GB."""
    need('trimesh')
    with ZipFile(tmp_path / 'a.dae', 'w') as archive:
        archive.writestr('a.dae', COLLADA)
    with pytest.raises(ValueError, match='it is a zip archive'):
        load_mesh(tmp_path / 'a.dae')


def test_a_collada_mesh_is_in_metres_with_z_up(tmp_path):
    need('trimesh')
    need('collada')
    mesh = tmp_path / 'a.dae'
    mesh.write_text(COLLADA)
    vertices, faces = load_mesh(mesh)
    np.testing.assert_allclose(vertices[faces[0]], [[0, 0, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_too_many_faces_become_fewer():
    steps = np.linspace(0.0, 1.0, 60)
    vertices = np.array([(x, y, 0.1 * np.sin(9 * x)) for x in steps for y in steps])
    corner = np.arange(59)[:, None] * 60 + np.arange(59)
    faces = np.concatenate([
        np.stack([corner, corner + 60, corner + 1], axis=2).reshape(-1, 3),
        np.stack([corner + 1, corner + 60, corner + 61], axis=2).reshape(-1, 3),
    ])  # fmt: skip
    need('trimesh')
    ((fewer, kept),) = simplified([(vertices, faces)], 1000)
    assert 100 < len(kept) <= 1000
    assert kept.max() < len(fewer)
    np.testing.assert_allclose(np.ptp(fewer, axis=0), np.ptp(vertices, axis=0), atol=0.1)
    faces[::3] = faces[::3, ::-1]  # wound at random, as some vendors' are
    ((_, again),) = simplified([(vertices, faces)], 1000)
    assert len(again) == len(kept)
