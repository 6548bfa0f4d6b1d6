"""Pages: texts are escaped, names must be given, and all have one style."""

import re

import jinja2
import pytest

from izmp_dynamics.pages import templates
from izmp_dynamics.pages.picture import Picture, Table
from izmp_dynamics.pages.styles import DARK, LIGHT
from izmp_dynamics.pages.templates import template


@pytest.fixture
def page(monkeypatch):
    """Load a template from its text."""
    files = templates.text_file
    texts = {}
    monkeypatch.setattr(
        templates, 'text_file', lambda package, name: texts.get(name) or files(package, name)
    )

    def load(text, **filters):
        template.cache_clear()
        texts['page'] = text
        return template('izmp_dynamics.pages', 'page', **filters)

    return load


def test_texts_are_escaped_and_numbers_keep_their_units(page):
    text = page('{{ word|twice }} <b>{{ word }}</b>', twice=lambda word: f'{word}, {word}')
    assert text.render(word='<5 mm') == '&lt;5\u00a0mm, &lt;5\u00a0mm <b>&lt;5\u00a0mm</b>'
    assert page('{{ "<i>1 s</i>"|trusted }}').render() == '<i>1 s</i>'


def test_a_name_that_is_not_given_is_an_error(page):
    with pytest.raises(jinja2.UndefinedError):
        page('{{ word }}').render()


def test_every_colour_of_a_style_is_in_the_palette(page):
    text = page('{% extends "layout.html.j2" %}{% block title %}a{% endblock %}').render()
    assert set(LIGHT) == set(DARK)
    of_verdicts = {'tone', 'tint'}  # which the class of a verdict sets
    assert set(re.findall(r'var\(--([\w-]+)\)', text)) <= set(LIGHT) | of_verdicts
    assert of_verdicts <= set(re.findall(r'--([\w-]+): var', text))
    assert [text.count(colours['outside']) for colours in (LIGHT, DARK)] == [1, 1]


# ---- Drawings -----------------------------------------------------------------------------------


def drawn(name, label='time [s]'):
    from izmp_dynamics.pages.look import panels
    from izmp_dynamics.pages.rendering import inline_svg

    def draw(width):
        canvas, (ax,) = panels(width, 1)
        ax.plot([0.0, 1.0], [0.0, 2.0], color=LIGHT['mr-ad'])
        ax.set_xlabel(label)
        return canvas

    return inline_svg(Picture(name, 'a line', '', draw, (), '', '', '', Table((), [])), 4.0)


def test_colours_are_left_to_the_page_and_text_stays_text():
    """A colour is found by its value, so two names have one only if they always have."""
    assert len({*LIGHT.values()}) == len({*zip(LIGHT.values(), DARK.values(), strict=True)})
    svg = drawn('line')
    assert 'stroke: var(--mr-ad)' in svg
    assert not any(colour in svg for colour in LIGHT.values())
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
    import matplotlib

    before = dict(matplotlib.rcParams)
    drawn('line')
    assert dict(matplotlib.rcParams) == before
