import pytest

pytest.importorskip('matplotlib')

from izmp_dynamics.pages import look


def drawn(name, colour='mr-ad', label='time [s]'):
    with look.PAGE.applied():
        canvas, (ax,) = look.panels(4.0, 1)
        ax.plot([0.0, 1.0], [0.0, 2.0], color=look.PAGE[colour])
        ax.set_xlabel(label)
        return look.to_svg(canvas, name, 'a line')


def test_colours_are_left_to_the_page_and_text_stays_text():
    svg = drawn('line')
    assert 'stroke: var(--mr-ad)' in svg
    assert not any(colour in svg for colour in look.PLACEHOLDERS.values())
    assert '>time [s]</text>' in svg
    assert 'aria-label="a line"' in svg
    assert '<style' not in svg
    assert '<metadata' not in svg


def test_numbers_in_a_text_keep_their_digits():
    """Coordinates are shortened, texts are not."""
    assert '>0.065 and 1.2345</text>' in drawn('line', label='0.065 and 1.2345')


def test_the_same_drawing_gives_the_same_text_and_another_name_other_ids():
    assert drawn('one') == drawn('one')
    assert 'id="one-' in drawn('one')
    assert 'id="one-' not in drawn('two')


def test_drawing_leaves_the_settings_of_others_alone():
    matplotlib = pytest.importorskip('matplotlib')
    before = dict(matplotlib.rcParams)
    drawn('line')
    assert dict(matplotlib.rcParams) == before
