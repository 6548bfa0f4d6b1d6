"""Numbers and flags among the arguments of launch files; without launch itself."""

from functools import partial

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


NUMBER, WHOLE, FLAG = 'a number is', 'a whole number is', 'true or false is'


@pytest.mark.parametrize(
    ('read', 'text', 'expected'),
    [
        (partial(number, kind=float), '0.3', 0.3),
        (partial(number, kind=float), 'fast', NUMBER),
        (partial(number, kind=float), '', NUMBER),
        (partial(number, kind=int), '20', 20),
        (partial(number, kind=int), '2.5', WHOLE),
        *((flag, text, True) for text in ('true', 'True', '1')),
        *((flag, text, False) for text in ('false', '0')),
        *((flag, text, FLAG) for text in ('maybe', '')),
    ],
)
def test_an_argument_is_read_or_refused_with_its_name(read, text, expected):
    if not isinstance(expected, str):
        assert read('speed', text) == expected
        return
    with pytest.raises(RuntimeError) as refused:
        read('speed', text)
    assert str(refused.value) == f"The argument speed is '{text}'; {expected} needed."
