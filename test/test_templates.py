"""Pages from templates are the same whether their compiled form is kept or new."""

import marshal

import jinja2
import pytest

from izmp_dynamics.base import kept
from izmp_dynamics.pages import templates
from izmp_dynamics.pages.templates import template
from izmp_dynamics.report import page

MODULE = page.__name__


@pytest.fixture
def text(tmp_path, monkeypatch):
    """Write the template; what is compiled goes to a folder of its own."""
    monkeypatch.setattr(kept, 'cache_folder', lambda: tmp_path)
    texts = {}
    monkeypatch.setattr(templates, 'text_file', lambda package, name: texts[name])
    return texts


@pytest.fixture
def compiled(monkeypatch):
    """Names of the templates that were compiled."""
    names = []
    compiler = jinja2.Environment.compile

    def counting(self, source, name, filename):
        names.append(name)
        return compiler(self, source, name, filename)

    monkeypatch.setattr(jinja2.Environment, 'compile', counting)
    return names


def test_a_template_is_compiled_once_per_text(text, compiled):
    text['page'] = '<b>{{ word }}</b>\n'
    pages = [template(MODULE, 'page').render(word='a < b') for _ in range(3)]
    assert pages == ['<b>a &lt; b</b>'] * 3
    assert compiled == ['page']
    text['page'] = '{{ word }}'
    assert template(MODULE, 'page').render(word='new') == 'new'
    assert compiled == ['page'] * 2


def test_filters_and_finalize_hold_for_what_is_kept(text, compiled):
    text['page'] = '{{ word|twice }} {{ "b"|twice }}'
    for _ in range(2):
        loaded = template(MODULE, 'page', {'twice': lambda word: 2 * word}, str.upper)
        assert loaded.render(word='a') == 'AA BB'
    assert compiled == ['page']


def test_other_sources_of_the_filters_compile_anew(text, compiled, monkeypatch):
    text['page'] = '{{ word }}'
    for digest in ('one', 'one', 'two'):
        monkeypatch.setattr(templates, 'source_digest', lambda *_, found=digest: found)
        template(MODULE, 'page')
    assert compiled == ['page'] * 2


def test_a_name_that_is_not_given_is_an_error(text):
    text['page'] = '{{ word }}'
    for _ in range(2):
        with pytest.raises(jinja2.UndefinedError):
            template(MODULE, 'page').render()


def test_a_damaged_file_is_compiled_again(text, compiled, tmp_path):
    text['page'] = '{{ word }}'
    template(MODULE, 'page')
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-5] + marshal.dumps('code')[:5])
    assert template(MODULE, 'page').render(word='same') == 'same'
    assert compiled == ['page'] * 2


def test_without_sources_it_is_compiled_every_time(text, compiled, monkeypatch):
    def missing(*_):
        raise ImportError('no source')

    text['page'] = '{{ word }}'
    monkeypatch.setattr(templates, 'source_digest', missing)
    assert [template(MODULE, 'page').render(word='same') for _ in range(2)] == ['same'] * 2
    assert compiled == ['page'] * 2
