"""Reading and writing Webots' files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import SimulationError
from izmp_lab.simulation.webots.vrml import Document, Is, Node, Use, parse, write

from ..raising import raising

WORLD = """#VRML_SIM R2025a utf8
# a remark
EXTERNPROTO "Robot.proto"

WorldInfo { basicTimeStep 2, title "a \\"quoted\\" } title" info [ "one" "two" ] }
DEF BOX Solid {
  translation 0.5 -1e-3 +2.
  children [
    Shape { appearance DEF RED PBRAppearance { baseColor 1 0 0 } geometry Box {size 1 2 3} }
    Shape { appearance USE RED geometry NULL }
  ]  # a list
  locked TRUE
}
"""

PROTO = """#VRML_SIM R2025a utf8
PROTO Arm [
  field SFVec3f translation 0 0 0
  field MFString controllerArgs []   # none
]
{
  Robot { translation IS translation controllerArgs IS controllerArgs }
}
"""


def test_world_is_understood():
    document = parse(WORLD)
    info, box = document.nodes
    assert document.external == ['Robot.proto']
    assert info.fields == {
        'basicTimeStep': (2.0,), 'title': 'a "quoted" } title', 'info': ['one', 'two'],
    }  # fmt: skip
    assert (box.type, box.name) == ('Solid', 'BOX')
    assert box.fields['translation'] == (0.5, -0.001, 2.0)
    assert box.fields['locked'] is True
    first, second = box.fields['children']
    assert first.fields['geometry'].fields == {'size': (1.0, 2.0, 3.0)}
    assert second.fields == {'appearance': Use('RED'), 'geometry': None}
    assert [node.type for node in box.nodes()] == [
        'Solid', 'Shape', 'PBRAppearance', 'Box', 'Shape',
    ]  # fmt: skip


def test_proto_is_understood():
    document = parse(PROTO)
    assert document.interface.name == 'Arm'
    assert document.interface.fields == {
        'translation': ('SFVec3f', (0.0, 0.0, 0.0)), 'controllerArgs': ('MFString', []),
    }  # fmt: skip
    assert document.nodes[0].fields['translation'] == Is('translation')


@pytest.mark.parametrize('text', [WORLD, PROTO])
def test_what_is_written_is_read_as_the_same(text):
    document = parse(text)
    document.remarks = ['made by a test']
    again = parse(write(document))
    again.remarks = document.remarks
    assert again == document
    assert write(again) == write(document)


@given(st.floats(-1e6, 1e6), st.text())
def test_numbers_and_strings_survive(number, text):
    node = Node('Solid', {'mass': (number,), 'name': text, 'many': [number, 0.0]})
    (read,) = parse(write(Document([node]))).nodes
    assert read.fields['mass'] == pytest.approx((number,), rel=1e-11)
    assert read.fields['name'] == text
    assert write(Document([read])) == write(Document([node]))


@pytest.mark.parametrize(
    ('text', 'kind', 'data'),
    [
        ('Solid {}', 'not_vrml', {}),
        ('#VRML_SIM R2025a utf8\nSolid {\n  name "open\n}', 'vrml_string_open', {'line': 3}),
        ('#VRML_SIM R2025a utf8\nSolid {\n  children [\n', 'vrml_truncated', {'line': 4}),
        ('#VRML_SIM R2025a utf8\nSolid {\n size 1\n size 2 }', 'vrml_field_twice', {'line': 4}),
        ('#VRML_SIM R2025a utf8\nSolid ]', 'vrml_syntax', {'line': 2}),
        ('#VRML_SIM R2025a utf8\nSolid { "name" 1 }', 'vrml_syntax', {'line': 2}),
        (PROTO + 'Solid {}', 'vrml_trailing', {'line': 9}),
    ],
)
def test_a_mistake_is_reported_with_its_line(text, kind, data):
    with raising(SimulationError, kind, **data):
        parse(text)


@pytest.mark.parametrize('name', ['trunk.1', '1trunk', 'my trunk', 'USE', 'a"b'])
def test_names_that_webots_does_not_take_are_not_written(name):
    with raising(SimulationError, 'vrml_name', name=name):
        write(Document([Node('Solid', name=name)]))
