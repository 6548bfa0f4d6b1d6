"""The interactive report, in a headless Chromium: one page, opened once."""

from dataclasses import replace

import pytest

from izmp_dynamics.report.writer import write_report

from .chromium import chromium
from .report_scenarios import bump, standing
from .test_report_player import moving, require_libraries

EVIL = '<script>window.evil = 1</script></script>"&\''


@pytest.fixture(scope='module')
def tab(tmp_path_factory):
    """A tab with the report of a robot that is pushed and has hostile names."""
    require_libraries()
    evaluation = moving(standing(duration=6.0, offset=bump(4.0, 0.35, 0.25)))
    left, right = evaluation.feet
    hostile = replace(evaluation, robot=EVIL, feet=(replace(left, name=EVIL), right))
    tracks = {**hostile.tracks, EVIL: replace(hostile.tracks['mr_ad'], name=EVIL)}
    path = write_report(replace(hostile, tracks=tracks), tmp_path_factory.mktemp('page')).html
    with chromium() as tab:
        tab.open(path.as_uri())
        tab.run('window.player.then((parts) => { window.parts = parts; })')
        yield tab


def drawn(tab):
    """Wait until the scene shows the clock's time, and return its frame."""
    return int(tab.until('document.querySelector("#scene").dataset.frame === '
                         'String(before(parts.stage.times, parts.clock.time)) '
                         '&& document.querySelector("#scene").dataset.frame'))  # fmt: skip


def test_it_opens_without_errors_and_without_a_network(tab):
    drawn(tab)
    assert tab.messages == []
    assert [url for url in tab.requests if not url.startswith(('file:', 'blob:', 'data:'))] == []
    assert len([url for url in tab.requests if url.startswith('file:')]) == 1
    assert tab.run('document.querySelectorAll("#panels canvas").length') == 5
    assert tab.run('getComputedStyle(document.querySelector(".static")).display') == 'none'


def test_hostile_names_are_text(tab):
    assert tab.run('window.evil') is None
    assert EVIL in tab.run('document.body.innerText')
    assert EVIL in tab.run('document.querySelector("#layers").innerText')


def test_the_slider_moves_the_robot(tab):
    place = 'parts.stage.root.children[1].quaternion.toArray()'
    tab.run('parts.clock.seek(0)')
    assert drawn(tab) == 0
    first = tab.run(place)
    picture = tab.picture()
    tab.run('{ const slider = document.querySelector("#time"); slider.value = 1.6; '
            'slider.dispatchEvent(new Event("input")); }')  # fmt: skip
    assert drawn(tab) > 0
    assert tab.run(place) != first
    assert tab.picture() != picture
    assert tab.run('document.querySelector("#clock").textContent') == '1.60 s'
    marker = tab.run('document.querySelector(".marker").style.transform')
    tab.run('parts.clock.seek(3)')
    assert tab.run('document.querySelector(".marker").style.transform') != marker


def test_a_click_on_an_event_jumps_there(tab):
    tab.run('parts.clock.seek(0)')
    tab.click('#events button.excursion')
    begin = tab.run('JSON.parse(byId("player-document").textContent).events'
                    '.find((event) => event.kind === "excursion").begin')  # fmt: skip
    assert begin == pytest.approx(4.0, abs=0.1)
    assert tab.run('parts.clock.time') == begin
    assert tab.run('document.querySelector("#events .excursion").ariaCurrent') == 'true'


def test_the_series_zoom_together(tab):
    tab.run('parts.plots[3].setScale("x", { min: 1, max: 2 })')
    tab.until('parts.plots.every((plot) => plot.scales.x.min === 1 && plot.scales.x.max === 2)')
    tab.key('0')
    tab.until('parts.plots.every((plot) => plot.scales.x.min === 0 && plot.scales.x.max === 6)')


def test_keys_step_play_and_jump(tab):
    tab.run('document.activeElement.blur(); parts.clock.seek(0)')
    tab.key('ArrowRight')
    assert tab.run('parts.clock.time') == pytest.approx(0.024, abs=1e-6)
    tab.key('n')
    assert tab.run('parts.clock.time') > 0.1
    tab.run('parts.clock.seek(1)')
    tab.key(' ', 'Space')
    tab.until('parts.clock.time > 1.1')
    tab.key(' ', 'Space')
    assert tab.run('parts.clock.playing') is False


def test_printed_it_shows_the_plots_and_the_list_of_events(tab):
    def display(selector):
        return tab.run(f'getComputedStyle(document.querySelector("{selector}")).display')

    tab.call('Emulation.setEmulatedMedia', media='print')
    assert display('.stage') == display('.controls') == 'none'
    assert display('#panels') == display('section.static') == 'block'
    tab.call('Emulation.setEmulatedMedia', media='')
    assert tab.messages == []
