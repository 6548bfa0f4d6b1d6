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
    with chromium(width=900, height=700) as tab:  # fewer pixels are drawn faster
        tab.open(path.as_uri())
        tab.run('window.player.then((parts) => { window.parts = parts; })')
        tab.run('window.opened = parts.clock.time')
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
    shown = 'parts.plots.every((plot) => plot.scales.x.min === {} && plot.scales.x.max === {})'
    assert tab.until(shown.format(1, 2))
    tab.key('0')
    assert tab.until(shown.format(0, 6))


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


def test_it_opens_at_the_worst_instant(tab):
    worst = tab.run('JSON.parse(byId("player-document").textContent).worst')
    assert worst == pytest.approx(4.2, abs=0.2)
    assert tab.run('opened') == worst


FLAT = """(async () => {
  const data = JSON.parse(byId("player-document").textContent).scene, host = byId("scene");
  sketch(data, unpacker(await inflated("player-numbers")), { time: %g });
  const canvas = host.lastChild, { width, height } = canvas;
  const seen = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  canvas.remove();
  const rows = [], columns = [];
  for (let k = 3; k < seen.length; k += 4) if (seen[k]) {
    rows.push(Math.floor((k >> 2) / width) / height);
    columns.push(((k >> 2) %% width) / width);
  }
  const range = (values) => values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [1, 0]);
  return [range(rows), range(columns), rows.length / (width * height)];
})()"""


def test_before_three_js_is_there_the_robot_is_drawn_flat_where_the_scene_shows_it(tab):
    assert tab.run('byId("scene").dataset.sketched') == ''
    (top, bottom), (left, right), share = tab.run(FLAT % 0.0)
    assert 0.02 < top < 0.3 < 0.7 < bottom < 1.0
    assert left < 0.5 < right
    assert 0.01 < share < 0.5
    assert tab.run(FLAT % 4.2) != [[top, bottom], [left, right], share]


def over(tab, plot, x, y, kind, buttons=0):
    """Move or press the mouse over a plot, at shares of its width and height."""
    tab.run(f'parts.plots[{plot}].over.scrollIntoView({{ block: "center" }})')
    box = tab.run(f'parts.plots[{plot}].over.getBoundingClientRect().toJSON()')
    place = box['left'] + x * box['width'], box['top'] + y * box['height']
    button = 'none' if kind == 'mouseMoved' and not buttons else 'left'
    tab.call('Input.dispatchMouseEvent', type=kind, x=place[0], y=place[1], buttons=buttons,
             button=button, clickCount=1)  # fmt: skip


def test_values_and_stamp_are_those_at_the_cursor(tab):
    tab.run('parts.clock.seek(1)')
    values = 'document.querySelector("#panels .panel .value").textContent'
    at_slider = tab.run(values)
    assert tab.run('byId("cursor").textContent').startswith('Slider at 1.000 s · ROS stamp ')
    over(tab, 0, 0.72, 0.5, 'mouseMoved')
    tab.until('parts.clock.cursor !== null')
    assert tab.run('parts.clock.cursor') == pytest.approx(0.72 * 6.0, abs=0.02)
    assert tab.run('byId("cursor").textContent').startswith('Cursor at 4.3')
    assert tab.run(values) != at_slider
    assert tab.run('parts.clock.time') == 1
    tab.call('Input.dispatchMouseEvent', type='mouseMoved', x=1, y=1)
    tab.until('parts.clock.cursor === null')
    assert tab.run(values) == at_slider


def test_a_plot_zooms_upwards_alone_and_names_hide_lines(tab):
    limits = tab.run('[parts.plots[0].scales.y.min, parts.plots[0].scales.y.max]')
    over(tab, 0, 0.5, 0.25, 'mousePressed', 1)
    over(tab, 0, 0.5, 0.5, 'mouseMoved', 1)
    over(tab, 0, 0.5, 0.75, 'mouseMoved', 1)
    over(tab, 0, 0.5, 0.75, 'mouseReleased')
    extent = limits[1] - limits[0]
    tab.until(f'parts.plots[0].scales.y.max - parts.plots[0].scales.y.min < {0.6 * extent}')
    assert tab.run('parts.plots[1].view') is None
    assert tab.run('parts.clock.range') == [0, 6]
    tab.key('0')
    tab.until(f'parts.plots[0].scales.y.max === {limits[1]}')
    tab.click('#panels .entry')
    assert tab.run('parts.plots[0].series[1].show') is False
    tab.click('#panels .entry')
    assert tab.run('parts.plots[0].series[1].show') is True
    assert tab.messages == []


def test_on_a_notebook_scene_slider_and_first_plot_are_seen_at_once(tab):
    tab.call('Emulation.setDeviceMetricsOverride', width=1366, height=768, deviceScaleFactor=1,
             mobile=False)  # fmt: skip
    tab.until('innerWidth === 1366')
    tab.run('scrollTo(0, 0)')
    ends = '#scene, #time, #panels .panel:first-child'
    seen = f'[...document.querySelectorAll("{ends}")].map((e) => e.getBoundingClientRect())'
    tab.until(f'{seen}.every((box) => box.top >= 0 && box.bottom <= 768)')
    assert tab.run('byId("scene").clientHeight') > 300
    tab.run('scrollTo(0, 600)')
    assert 0 <= tab.run('byId("time").getBoundingClientRect().bottom') <= 768
    tab.until('document.body.scrollWidth <= 1366')
    tab.click('#views [data-view=above]')
    tab.call('Emulation.clearDeviceMetricsOverride')
    assert tab.messages == []


def test_it_opens_in_a_browser_that_draws_no_frames(tab):
    """As Chromium does for a print from the command line."""
    url = tab.run('location.href')
    tab.call('Page.addScriptToEvaluateOnNewDocument', source='requestAnimationFrame = () => 0')
    tab.open('about:blank')
    tab.open(url)
    tab.until('document.querySelectorAll("#panels canvas").length === 5')
    assert tab.run('document.querySelector("#clock").textContent') != '0.00 s'
