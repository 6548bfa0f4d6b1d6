import numpy as np
import pytest

pytest.importorskip('matplotlib')

from izmp_dynamics.report import drawing


def drawn(name, colour='mr-ad', label='time [s]'):
    with drawing.drawing_style():
        canvas = drawing.new_canvas(4.0, 2.0)
        (ax,) = drawing.place_axes(canvas, 1)
        ax.plot([0.0, 1.0], [0.0, 2.0], color=drawing.PLACEHOLDERS[colour])
        ax.set_xlabel(label)
        return drawing.to_svg(canvas, name, 'a line')


def test_colours_are_left_to_the_page_and_text_stays_text():
    svg = drawn('line')
    assert 'stroke: var(--mr-ad)' in svg
    assert not any(colour in svg for colour in drawing.PLACEHOLDERS.values())
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


def test_calm_lines_are_layered_wide_to_thin_and_wild_ones_are_faint_behind():
    calm = drawing.back_to_front({'mr_ad': 0.001, 'ir_md': 0.002, 'cop': 0.0})
    assert [name for name, _ in calm] == ['cop', 'ir_md', 'mr_ad']
    widths = [style.width for _, style in calm]
    assert widths == sorted(widths, reverse=True)
    wild = drawing.back_to_front({'mr_ad': 0.1, 'ir_md': 2.0, 'cop': 0.0})
    assert [name for name, _ in wild] == ['ir_md', 'mr_ad', 'cop']
    assert wild[0][1].width < drawing.STYLES['ir_md'].width
    assert wild[0][1].colour == 'ir-md'


def test_restlessness_is_scale_free_and_ignores_gaps():
    saw = np.tile([0.0, 1.0], 50)
    assert drawing.restlessness(saw, 10.0) == pytest.approx(0.1)
    assert drawing.restlessness(7 * saw, 70.0) == pytest.approx(0.1)
    assert drawing.restlessness(np.full(5, np.nan), 1.0) == 0.0
    assert drawing.restlessness(np.empty((0, 2)), 1.0) == 0.0
    assert drawing.restlessness(np.stack([saw, 0 * saw], 1), 10.0) == pytest.approx(0.1)
