"""fleet.html, fleet.json and the table: of thousands of bags, and of hostile ones."""

import json
import re
import statistics
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from izmp_dynamics.cli.progress import progress_line, time_left
from izmp_dynamics.fleet import page
from izmp_dynamics.fleet.page import fleet_statistics
from izmp_dynamics.fleet.row import COLUMNS, STATES, badness, of_report
from izmp_dynamics.verdict.summary import summary_of

from .chromium import chromium
from .fleet_rows import EVIL, rows_of_many
from .report_scenarios import bump, standing
from .requiring import need

BAGS = 3_000


@pytest.fixture(scope='module')
def rows():
    """Rows of that many bags, the worst of which has hostile names."""
    page.libraries()
    found = rows_of_many(BAGS)
    evil = dict.fromkeys(('name', 'robot', 'unit', 'software', 'verdict', 'bag', 'report'), EVIL)
    found[0] |= evil | {'sentences': [EVIL]}
    return found


@pytest.fixture(scope='module')
def tab(rows, tmp_path_factory):
    """A tab with the page."""
    path = tmp_path_factory.mktemp('fleet') / 'fleet.html'
    path.write_text(page.fleet_page(rows, fleet_statistics(rows, BAGS)), encoding='utf-8')
    with chromium() as tab:
        open_page(tab, path.as_uri())
        yield tab


def open_page(tab, url):
    tab.open(url)
    tab.until('document.body.dataset.ready === "yes"')
    tab.run('window.fleet.then((parts) => { window.parts = parts; })')


def test_verdict_and_findings_are_sentences(tab, rows):
    """Not keys; and in the row of a real report."""
    assert column(tab, 'In words')[1].startswith(rows[1]['verdict'])
    listed = next(k for k, row in enumerate(rows[:25]) if row['sentences'])
    assert f'{len(rows[listed]["sentences"])} finding' in column(tab, 'In words')[listed]
    summary = summary_of(standing(offset=bump(4.0, 0.35, 0.25)))
    row = of_report(summary.as_dict())
    assert row['sentences'] == list(summary.remarks) != []
    assert row['verdict'] == summary.verdict.text


def test_in_the_dark_the_table_is_light_on_dark(tab):
    dark = [{'name': 'prefers-color-scheme', 'value': 'dark'}]
    tab.call('Emulation.setEmulatedMedia', media='', features=dark)
    ground = 'getComputedStyle(document.querySelector("#bags_wrapper")).backgroundColor'
    assert tab.run(ground) == 'rgba(0, 0, 0, 0)'
    text = tab.run('getComputedStyle(document.querySelector("#bags td")).color')
    assert min(map(int, re.findall(r'\d+', text)[:3])) > 180
    tab.call('Emulation.setEmulatedMedia', media='', features=[])


def test_one_bag_far_away_does_not_flatten_the_plots(tab):
    tab.run('window.near = [...Array(40).keys()].map((k) => ({ margin: 10 + k / 4 }))')
    limits = tab.run('robustLimits([...near, { margin: -837 }, { margin: null }])')
    assert -20.0 < limits[0] < 10.0
    assert limits[1] == 19.75
    assert tab.run('robustLimits(near)') == [10.0, 19.75]


def test_dates_are_utc_wherever_the_reader_is(tab):
    tab.call('Emulation.setTimezoneOverride', timezoneId='Asia/Tokyo')
    assert tab.run('dates.values(0, [1767225600], 0, 0, 3600)') == ['01-01 00:00']
    assert tab.run('dates.values(0, [1767225600], 0, 0, 86400)') == ['2026-01-01']
    tab.call('Emulation.setTimezoneOverride', timezoneId='')


def test_a_fleet_of_three_bags(rows, tab):
    """In place of the large one: units that suit it, no empty columns, a median of alike bags."""
    few = [dict(row) for row in rows if row['margin'] is not None][:3]
    for row, robot, margin in zip(few, ('a', 'b', 'b'), (-1e-4, 0.02, 0.03), strict=True):
        row |= {'unit': None, 'software': None, 'robot': robot, 'margin': margin}
        row |= {'duration': 10.0, 'size': 2_000_000, 'start': 1_000_000_000}
    html = page.fleet_page(few, fleet_statistics(few, 3))
    assert '30\u00a0s recorded, 6.0 MB' in html
    before = tab.run('location.href')
    other = Path(unquote(urlsplit(before).path)).with_name('few.html')
    other.write_text(html, encoding='utf-8')
    open_page(tab, other.as_uri())
    shown = tab.run('[...document.querySelectorAll("#bags th")].map((e) => e.innerText)')
    assert not {'Unit', 'Software'} & set(shown)
    assert column(tab, 'Margin') == ['−0.1', '20.0', '30.0']
    assert set(column(tab, 'Recorded')) == {''}
    assert tab.run('parts.charts[0].axes[1]._values') == ['0', '1']
    open_page(tab, before)


def column(tab, heading):
    """What the first page of the table shows in a column."""
    return tab.run(
        '(() => { const all = [...document.querySelectorAll("#bags th")].map((e) => e.innerText);'
        f' const k = all.findIndex((text) => text.startsWith({json.dumps(heading)}));'
        ' return [...document.querySelectorAll("#bags tbody tr")]'
        '.map((row) => row.cells[k].innerText); })()'
    )


def asked(tab, **values):
    """Fill in the form and return the number of bags that are left."""
    for name, value in values.items():
        tab.run(f'byId({json.dumps(name)}).value = {json.dumps(value)}')
    tab.run('byId("filters").dispatchEvent(new Event("input"))')
    return int(tab.run('byId("count").textContent').split()[0])


def reset(tab):
    tab.click('button[type=reset]')
    tab.until(f'byId("count").textContent === "{BAGS} of {BAGS} bags"')


def test_it_opens_offline_and_shows_the_worst_first(tab, rows):
    assert tab.messages == []
    assert [url for url in tab.requests if not url.startswith(('file:', 'blob:', 'data:'))] == []
    assert tab.run('byId("count").textContent') == f'{BAGS} of {BAGS} bags'
    assert tab.run('document.querySelectorAll(".charts canvas").length') == 2
    assert tab.run('document.querySelectorAll("#groups table").length') == 3
    assert column(tab, 'Bag') == [row['name'] for row in rows[:25]]
    assert set(column(tab, 'Verdict')) == {'Fell'}


@pytest.mark.parametrize(('width', 'is_wide'), [(1100, False), (1800, True)])
def test_the_table_fits_the_window(tab, width, is_wide):
    before = tab.run('innerWidth')
    tab.call('Emulation.setDeviceMetricsOverride', width=width, height=900, deviceScaleFactor=1,
             mobile=False)  # fmt: skip
    tab.until(f'innerWidth === {width}')
    assert tab.run('byId("bags").offsetWidth - byId("bags_wrapper").clientWidth') <= 0
    assert tab.run('document.body.scrollWidth') <= width
    # also before the charts are drawn for the new window
    tab.run('document.querySelectorAll(".u-wrap").forEach((e) => { e.style.width = "2000px"; })')
    assert tab.run('document.body.scrollWidth') <= width
    assert tab.run('document.querySelector("#bags th.wide").offsetWidth > 0') == is_wide
    assert tab.run('document.querySelector(".narrow").offsetWidth > 0') != is_wide
    tab.call('Emulation.clearDeviceMetricsOverride')
    tab.until(f'innerWidth === {before}')


def test_hostile_names_are_text(tab):
    assert tab.run('window.evil') is None
    assert EVIL in tab.run('document.querySelector("#groups").innerText')
    link = tab.run('document.querySelector("#bags td a").getAttribute("href")')
    assert link.startswith('%3Cimg')


def test_it_filters(tab, rows):
    reset(tab)
    assert asked(tab, robot='iCub', software='4.2') == sum(
        row['robot'] == 'iCub' and row['software'] == '4.2' for row in rows
    )
    reset(tab)
    low = [row for row in rows if row['margin'] is not None and row['margin'] < -0.03]
    assert asked(tab, below='-30') == len(low)
    tab.click('input[name=fell]')
    assert asked(tab) == sum(row['state'] != 'fell' for row in low)
    reset(tab)
    assert asked(tab, **{'from': '2026-03-01', 'to': '2026-03-07'}) == sum(
        row['start'] is not None and 59 <= (row['start'] - 1_767_225_600e9) / 86400e9 < 66
        for row in rows
    )
    reset(tab)
    assert asked(tab, text=rows[77]['name']) == 1
    assert column(tab, 'Bag') == [rows[77]['name']]
    reset(tab)
    assert asked(tab, text='onerror=') == 1
    reset(tab)


def test_it_sorts(tab, rows):
    shortest = sorted(row['duration'] for row in rows if row['duration'] is not None)
    tab.run('void parts.table.order([7, "asc"]).search("").page.len(500).draw()')
    shown = [float(text) for text in column(tab, 'Duration') if text]
    assert len(shown) > 100  # those without a duration come first
    tab.run('void parts.table.page.len(25).order([7, "desc"]).draw()')
    longest = float(column(tab, 'Duration')[0])
    assert longest == pytest.approx(max(r['duration'] for r in rows if r['duration']), abs=0.05)
    assert shown == pytest.approx(shortest[: len(shown)], abs=0.06)
    tab.run('void parts.table.order([]).draw()')


def test_a_median_is_that_of_the_numbers(tab):
    for values in ([3.0], [10.0, 1.0, 2.0], [10.0, 1.0, 2.0, 3.0]):
        assert tab.run(f'median({values})') == statistics.median(values)
    assert tab.run('median([])') is None


def test_a_group_is_a_filter(tab, rows):
    reset(tab)
    name = tab.run('document.querySelector("#groups button").textContent')
    tab.click('#groups button')
    assert asked(tab) == sum(row['robot'] == name for row in rows)
    reset(tab)


def test_the_page_without_a_browser(rows):
    few = rows[:3]
    html = page.fleet_page(few, fleet_statistics(few, 5))
    assert '2 of 5 bags are not evaluated yet' in html
    assert re.search(r'<(?:script|link|img)[^>]+(?:src|href)=', html) is None


@pytest.mark.usefixtures('rows')
def test_no_bag_at_all_is_a_page_too():
    numbers = fleet_statistics([], 4)
    assert '0 bags' in page.fleet_page([], numbers)
    assert numbers['median_margin'] is None


def test_the_numbers(rows):
    numbers = fleet_statistics(rows, BAGS)
    json.dumps(numbers, allow_nan=False)
    assert sum(numbers['states'].values()) == numbers['done'] == BAGS
    assert list(numbers['states']) == list(STATES)
    assert sum(group['size'] for group in numbers['by_software'].values()) == numbers['size']
    assert numbers['worst'][0]['bag'] == rows[0]['bag']
    assert len(numbers['errors']) == numbers['states']['error']


def test_the_worst_is_first():
    def row(state, margin, bag='x'):
        return dict.fromkeys(COLUMNS) | {'state': state, 'margin': margin, 'bag': bag}

    worst_first = [
        row('fell', None), row('unstable', -0.1), row('unstable', 0.0), row('error', None),
        row('stable', 0.01), row('stable', 0.02), row('stable', None),
    ]  # fmt: skip
    assert sorted([*worst_first[4:], *worst_first[:4]], key=badness) == worst_first


def test_the_table_holds_every_column(rows, tmp_path):
    parquet = need('pyarrow.parquet')
    from izmp_dynamics.fleet.row import parquet as written

    full = rows[1] | {
        'metadata': {'robot_id': 'a'}, 'transient': False, 'missing': ['x'],
        'events': [{'kind': 'push', 'begin': 1.0, 'end': 2.0}],
        'signals': [{'topic': '/imu', 'count': 3, 'gated': 1}], 'bag': '/logs/\udcff',
    }  # fmt: skip
    (tmp_path / 'fleet.parquet').write_bytes(written([full, *rows[2:5]]))
    table = parquet.read_table(tmp_path / 'fleet.parquet')
    assert table.column_names == list(COLUMNS)
    first = table.slice(0, 1).to_pylist()[0]
    assert first['events'][0]['kind'] == 'push'
    assert first['bag'] == '/logs/\\udcff'  # a name that is not Unicode
    assert first['metadata'] == [('robot_id', 'a')]
    assert table['start'][0].value == full['start']


def test_the_time_that_is_left_needs_some_bags():
    assert progress_line(1, 40, 10_000_000, 20.0) == '1 of 40 bags, 0.05 bags/s, 0.5 MB/s'
    assert time_left(1, 40, 20.0) == ''
    assert time_left(10, 40, 20.0) == ', at most 60 s left'
