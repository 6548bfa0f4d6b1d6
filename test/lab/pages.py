"""What holds for the page of every study."""

import csv
import re
from xml.etree import ElementTree

from izmp_dynamics.pages.look import drawing
from izmp_dynamics.pages.styles import LIGHT, NARROW, WIDE


def assert_complete(results, folder, names, with_names, rows_at_least=4):
    """All figures are made, their axes have units and room, and the page needs nothing else.

    Those in `with_names` have an axis of names, or of a number.
    """
    _assert_every_figure_is_made(results, folder, names, rows_at_least)
    _assert_axes_have_units_and_room(results, with_names)
    _assert_the_page_needs_nothing_else(folder)


def _assert_every_figure_is_made(results, folder, names, rows_at_least):
    """Each has a picture, a drawing and a table without holes, and a caption without gaps."""
    assert [picture.name for picture in results.pictures] == list(names)
    for picture in results.pictures:
        name = picture.name
        assert (folder / f'{name}.png').read_bytes().startswith(b'\x89PNG')
        assert ElementTree.parse(folder / f'{name}.svg').getroot().tag.endswith('svg')
        rows = list(csv.reader((folder / f'{name}.csv').open(encoding='utf-8')))
        assert len(rows) >= rows_at_least
        assert len({len(row) for row in rows}) == 1
        assert all('{' not in text for _, text in picture.caption())


def _assert_axes_have_units_and_room(results, with_names):
    """On pictures of every width."""
    for width in (WIDE, NARROW):
        for picture in results.pictures:
            with drawing():
                canvas = picture.draw(width)
                box = canvas.get_tightbbox()
            for ax in canvas.axes:
                labels = ax.get_xlabel(), ax.get_ylabel()
                bare = [label for label in labels if not re.search(r'\[.+\]$', label)]
                assert not bare or (picture.name in with_names and len(bare) == 1), picture.name
            assert min(box.x0, box.y0) >= -0.02, picture.name
            assert (box.max <= canvas.get_size_inches() + 0.05).all(), picture.name


def _assert_the_page_needs_nothing_else(folder):
    """No script, nothing from elsewhere, no fixed colour; links lead to files, ids are unique."""
    page = (folder / 'index.html').read_text(encoding='utf-8')
    assert '<script' not in page
    assert not re.search(r'(src|href)="(https?:)?//', page)
    assert not any(colour in page.partition('</style>')[2] for colour in LIGHT.values())
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for link in re.findall(r'href="([^"#]+)"', page):
        assert (folder / link).is_file(), link
