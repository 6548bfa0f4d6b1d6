"""Numbers and flags among the arguments of launch files; without launch itself."""

import pytest

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.launching.checked import free_place, read_argument


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


NUMBER, WHOLE, FLAG = 'a number is', 'a whole number is', 'true or false is'


@pytest.mark.parametrize(
    ('kind', 'text', 'expected'),
    [
        (float, '0.3', 0.3),
        (float, 'fast', NUMBER),
        (float, '', NUMBER),
        (int, '20', 20),
        (int, '2.5', WHOLE),
        *((bool, text, True) for text in ('true', 'True', '1')),
        *((bool, text, False) for text in ('false', '0')),
        *((bool, text, FLAG) for text in ('maybe', '')),
        (str, 'fast', 'fast'),
    ],
)
def test_an_argument_is_read_or_refused_with_its_name(kind, text, expected):
    if expected not in (NUMBER, WHOLE, FLAG):
        assert read_argument('speed', text, kind) == expected
        return
    with pytest.raises(RuntimeError) as refused:
        read_argument('speed', text, kind)
    assert str(refused.value) == f"The argument speed is '{text}'; {expected} needed."
