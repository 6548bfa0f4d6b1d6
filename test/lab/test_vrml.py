"""Writing Webots' files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import SimulationError
from izmp_lab.simulation.webots.vrml import Document, Node, write

from ..raising import raising
from .vrml_reader import parse

WORLD = """#VRML_SIM R2025a utf8
# a remark
EXTERNPROTO "Robot.proto"

WorldInfo { basicTimeStep 2, title "a \\"quoted\\" } title" info [ "one" "two" ] }
DEF BOX Solid {
  translation 0.5 -1e-3 +2.
  children [
    Shape { appearance PBRAppearance { baseColor 1 0 0 } geometry Box {size 1 2 3} }
    Shape { geometry NULL }
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


@pytest.mark.parametrize('name', ['trunk.1', '1trunk', 'my trunk', 'USE', 'a"b'])
def test_names_that_webots_does_not_take_are_not_written(name):
    with raising(SimulationError, 'vrml_name', name=name):
        write(Document([Node('Solid', name=name)]))
