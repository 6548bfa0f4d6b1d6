"""Numbers and flags among the arguments of launch files; without launch itself."""

import pytest

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.launching.checked import flag, free_place, number


def test_a_second_recording_is_refused_unless_it_may_replace_the_first(tmp_path):
    place = tmp_path / 'bag'
    with BagWriter(place):
        pass
    before = [*place.iterdir()]
    with pytest.raises(RuntimeError, match=r'bag. exists; .*overwrite:=true'):
        free_place(str(place), overwrite=False)
    free_place(str(place), overwrite=True)
    free_place(str(tmp_path / 'another'), overwrite=False)
    assert [*tmp_path.iterdir()] == [place]
    assert [*place.iterdir()] == before


def test_a_number_is_read():
    assert number('speed', '0.3', float) == 0.3
    assert number('steps', '20', int) == 20


@pytest.mark.parametrize(
    ('name', 'text', 'kind', 'needed'),
    [
        ('speed', 'fast', float, 'a number'),
        ('steps', '2.5', int, 'a whole number'),
        ('rate', '', float, 'a number'),
    ],
)
def test_what_is_no_number_is_refused_with_the_name_of_the_argument(name, text, kind, needed):
    with pytest.raises(RuntimeError) as refused:
        number(name, text, kind)
    assert str(refused.value) == f"The argument {name} is '{text}'; {needed} is needed."


@pytest.mark.parametrize(
    ('text', 'value'),
    [('true', True), ('True', True), ('1', True), ('false', False), ('0', False)],
)
def test_a_flag_is_read(text, value):
    assert flag('composed', text) is value


@pytest.mark.parametrize('text', ['maybe', ''])
def test_what_is_no_flag_is_refused_with_the_name_of_the_argument(text):
    with pytest.raises(RuntimeError) as refused:
        flag('composed', text)
    assert str(refused.value) == f"The argument composed is '{text}'; true or false is needed."
