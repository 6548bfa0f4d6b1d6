"""Pages: texts are escaped, names must be given, and all have one style."""

import re

import jinja2
import pytest

from izmp_dynamics.pages import templates
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
