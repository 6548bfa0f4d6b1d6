import errno
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import izmp_dynamics
from izmp_dynamics.base.errors import IzmpError, MissingDependencyError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.report.page import render
from izmp_dynamics.report.plots import plots_of
from izmp_dynamics.report.writer import ReportError, write_report
from izmp_dynamics.results.evaluation import SignalHealth
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise

from .raising import raising
from .report_scenarios import (
    blank,
    bump,
    falling,
    part,
    standing,
    walking,
    with_tracks,
    without,
)  # fmt: skip

EVIL = '<script>alert(1)</script>"&\'$x_1$'


VOID = {'meta', 'br', 'link', 'img'}


class Page(HTMLParser):
    """The tags, attributes and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value) for key, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if 'style' not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r'\s+', ' ', ' '.join(self.words).replace('\u00a0', ' '))

    def values(self, name):
        return [value for _, key, value in self.attributes if key == name]


def written(evaluation, folder):
    """The page without what plays."""
    paths = write_report(evaluation, folder)
    report = json.loads(paths.json.read_text(encoding='utf-8'), parse_constant=refuse)
    html = render(report)
    return Page(html), report, html


def refuse(token):
    raise AssertionError(f'{token} is not JSON')


def brief():
    """A walk of a few steps."""
    return walking(duration=4.0)


SCENARIOS = {
    'walk': walking,  # twelve seconds; the others are shorter
    'push': lambda: standing(offset=bump(4.0, 0.35, 0.25)),
    'fall': falling,
    'noisy': lambda: walking(noise={'mr_ad': 0.2, 'ir_md': 3.0}),
    'no world': lambda: replace(brief(), world_p_root=None, world_R_root=None),
    'no cop': lambda: without(brief(), 'cop'),
    'only cop': lambda: without(brief(), 'mr_ad', 'ir_md'),
    'no track': lambda: replace(brief(), tracks={}),
    'blank mr_ad': lambda: blank(brief(), 'mr_ad'),
    'all blank': lambda: blank(blank(blank(brief(), 'mr_ad'), 'ir_md'), 'cop'),
    'no feet': lambda: replace(brief(), feet=()),
    'single instant': lambda: part(brief(), slice(0, 1)),
    'no instant': lambda: part(brief(), slice(0, 0)),
    'world unknown': lambda: replace(
        brief(), world_p_root=np.full_like(brief().world_p_root, np.nan)
    ),
    'every second': lambda: with_tracks(brief(), every_second),
    'unknown method': lambda: replace(
        brief(), tracks={**brief().tracks, EVIL: replace(brief().tracks['mr_ad'], name=EVIL)}
    ),
}


def every_second(values):
    """The values, of which every second one is missing."""
    known = np.arange(len(values)) % 2 == 1
    return np.where(known.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)


@pytest.fixture(scope='module')
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp('reports')
    return {name: written(make(), folder / name) for name, make in SCENARIOS.items()}


@pytest.mark.parametrize('name', SCENARIOS)
def test_the_page_needs_nothing_else(reports, name):
    page, _, html = reports[name]
    assert not {'script', 'link', 'img', 'iframe', 'object', 'embed'} & set(page.tags)
    assert page.values('src') == []
    assert set(page.values('href')) == {'https://doi.org/10.1007/s10514-023-10092-x'}
    assert 'url(' not in html
    assert '@import' not in html


@pytest.mark.parametrize('name', SCENARIOS)
def test_page_and_json_say_the_same(reports, name):
    page, report, _ = reports[name]
    verdict = report['verdict']
    assert verdict['headline'] in page.text
    assert verdict['sentence'][1:] in page.text
    assert verdict['text'] == f'{verdict["headline"]}: {verdict["sentence"]}'
    assert all(remark in page.text for remark in report['remarks'])
    assert 'nan' not in page.text.lower().split()
    assert 'None' not in page.text
    assert set(report['tracks']) == set(SCENARIOS[name]().tracks)


def test_numbers_of_the_page_are_those_of_the_json(reports):
    page, report, _ = reports['walk']
    pair = next(p for p in report['pairs'] if (p['first'], p['second']) == ('mr_ad', 'cop'))
    assert f'{1000 * pair["mean"]:.2f} mm' in page.text
    assert f'{1000 * report["tracks"]["mr_ad"]["smallest_margin"]:.0f} mm' in page.text
    assert f'{report["weight"]:.1f} N' in page.text


def test_a_full_report_has_every_section_and_plot(reports):
    page, report, _ = reports['walk']
    for title in ('Signal health', 'How to read this', 'Parameters and inputs'):
        assert title in page.text
    assert set(report['out_of_view']) == {'margin', 'x', 'y', 'force', 'gap'}


def test_tilt_and_fall_probability_are_cards_and_rows(tmp_path):
    """A robot that leans by 0.1 rad to one side during a quarter of the time."""
    whole = standing(offset=bump(4.0, 0.35, 0.25))
    angle = np.where(np.abs(whole.time - 5.0) < 1.0, 0.1, 0.0)
    up = np.stack([np.zeros_like(angle), np.sin(angle), np.cos(angle)], axis=1)
    risk = np.linspace(0.0, 0.4, len(angle))
    page, report, html = written(replace(whole, up=up, fall_probability=risk), tmp_path)
    assert report['largest_tilt'] == pytest.approx(0.1)
    assert report['largest_tilt_time'] == pytest.approx(4.0, abs=0.02)
    assert 'Largest tilt 5.7°' in page.text
    assert {'tilt', 'fall'} <= set(report['out_of_view'])
    assert re.search(r'class="tone">−\d', html)
    assert '<div class="bad"><dt>Smallest margin' in html
    calm, report, html = written(walking(duration=4.0), tmp_path / 'calm')
    assert '<div class="good"><dt>Smallest margin' in html
    assert 'Largest tilt – the orientation is not known' in calm.text
    assert 'tilt' not in report['out_of_view']


def test_title_and_foot_say_where_the_page_comes_from(reports):
    command = 'izmp replay a&b --robot robot.yaml -o out'
    page = Page(render(reports['walk'][1], bag='a&b', command=command))
    assert 'a&b: Stable' in page.text
    assert f'izmp_dynamics {izmp_dynamics.__version__} from a&b by {command}' in page.text


def test_of_a_single_instant_nothing_is_drawn_over_time(reports):
    page, report, _ = reports['single instant']
    assert report['out_of_view'] == {}
    assert 'recording 0.00 s, 1 instant' in page.text
    assert '1 instants' not in page.text


def plotted(scene, summary):
    return {plot.name: plot for plot in plots_of(scene, summary)}


def test_the_smallest_margin_is_in_view_and_wild_signals_are_faint():
    scene = Scene(standing(offset=bump(4.0, 1.5, 0.6)))
    summary = summarise(scene)
    low, _ = plotted(scene, summary)['margin'].limits
    assert low < 1e3 * summary.judged.averaged_margin < -3e3 * summary.verdict.room
    scene = Scene(walking(noise={'mr_ad': 0.2, 'ir_md': 3.0}))
    summary = summarise(scene)
    for name in ('margin', 'x'):
        styles = {trace.label: trace.style for trace in plotted(scene, summary)[name].traces}
        assert (styles['MR-AD'].opacity, styles['CoP'].opacity) == (0.45, 0.55)


def test_health_parameters_and_hashes_are_shown(reports):
    page, report, _ = reports['walk']
    assert '11 × l_knee: outlier, interpolated' in page.text
    assert report['health'][1]['gated'] == {'stamp_twice': 2, 'joint_repaired[l_knee]': 11}
    for name, value in (*report['parameters'].items(), *report['hashes'].items()):
        assert name in page.text
        assert value in page.text


def test_what_lies_outside_the_view_is_said(reports):
    assert reports['noisy'][1]['out_of_view']['x']['ir_md'] > 0.5
    calm = reports['walk'][1]['out_of_view']
    assert all(share < 0.01 for shares in calm.values() for share in shares.values())


def test_names_from_outside_are_escaped(tmp_path):
    evaluation = walking(duration=3.0)
    foot = evaluation.feet[0]
    evaluation = replace(
        evaluation,
        robot=EVIL,
        root=EVIL,
        feet=(replace(foot, name=EVIL), evaluation.feet[1]),
        missing=(EVIL,),
        health=(SignalHealth(EVIL, EVIL, EVIL, 1, 0.0, 0.0, {Fault(Reason.UNREADABLE, EVIL): 3}),),
        parameters={EVIL: EVIL},
        hashes={EVIL: EVIL},
    )
    page, report, html = written(evaluation, tmp_path)
    assert '<script' not in html
    assert 'script' not in page.tags
    assert page.text.count('alert(1)') >= 9
    assert report['robot'] == EVIL


def test_a_long_log_makes_a_small_page(tmp_path):
    long = walking(duration=240.0, noise={'mr_ad': 0.02, 'ir_md': 0.5})
    assert len(long.stamps) == 30_001
    paths = write_report(long, tmp_path)
    assert paths.html.stat().st_size < 3_000_000
    report = json.loads(paths.json.read_text())
    steps = report.pop('events')
    assert len(json.dumps(report, indent=2)) < 50_000
    assert len(json.dumps(steps, indent=2)) < 500 * len(steps)


def test_the_folder_is_made_and_old_reports_are_replaced(tmp_path):
    folder = tmp_path / 'a' / 'b'
    first = write_report(walking(duration=3.0), folder)
    old = first.html.read_text()
    second = write_report(standing(duration=3.0), folder)
    assert second.html == first.html
    assert second.html.read_text() != old
    assert sorted(path.name for path in folder.iterdir()) == ['report.html', 'report.json']


def test_a_folder_that_is_a_file_is_a_sentence(tmp_path):
    place = tmp_path / 'file'
    place.write_text('')
    with raising(ReportError, 'cannot_write', path=place, errno=errno.EEXIST):
        write_report(walking(duration=1.0), place)
    assert issubclass(ReportError, IzmpError)


def test_a_missing_library_is_named_with_its_remedy(tmp_path, monkeypatch):
    for module in ('izmp_dynamics.report.page', 'izmp_dynamics.pages.templates'):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, 'jinja2', None)
    with raising(MissingDependencyError, 'missing_dependency') as caught:
        write_report(walking(duration=1.0), tmp_path)
    assert caught.value.library == 'jinja2'
    assert caught.value.remedy.startswith('pip install')
    assert list(tmp_path.iterdir()) == []
