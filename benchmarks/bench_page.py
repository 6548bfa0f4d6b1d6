"""How fast a report of one minute opens in Chromium, and its size.

Run: ``python benchmarks/bench_page.py [REPORT.html] [--repeat 5]``

Without a report, that of a simulated walk of a minute is made. Each opening is the first one of a
Chromium that runs without a graphics card (SwiftShader), from the navigation to the first
picture, with the verdict, to the robot as a flat picture and to the robot in three dimensions. The
medians count.
"""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from long_log import ROBOT

sys.path.insert(0, str(Path(__file__).parents[1]))
from test.chromium import chromium

PAINTED = 'performance.getEntriesByName("first-contentful-paint")[0]?.startTime'
SEEN = 'document.querySelector("#scene")?.dataset.{} !== undefined && performance.now()'


def make(folder: Path) -> Path:
    """The report of a walk of 59 s."""
    from izmp_dynamics.cli.main import main

    bag, out = str(folder / 'walk'), folder / 'out'
    main(['simulate', 'walk', '--steps', '125', '-o', bag, '--quiet'])
    main(['replay', bag, '--robot', str(ROBOT), '-o', str(out), '--quiet'])
    return out / 'report.html'


def opened(page: Path) -> tuple[float, float, float]:
    """When the page shows the verdict, the robot and the scene [s]."""
    with chromium(1366, 768) as tab:
        tab.open('data:text/html,<p>The browser itself has started.')
        tab.until(PAINTED)
        tab.call('Page.navigate', url=page.resolve().as_uri())
        robot, scene = (tab.until(SEEN.format(what)) for what in ('sketched', 'frame'))
        return tab.until(PAINTED) / 1e3, robot / 1e3, scene / 1e3


def main() -> None:
    """Print size and times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('report', type=Path, nargs='?')
    parser.add_argument('--repeat', type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = options.report or make(Path(folder))
        verdict, robot, scene = zip(*(opened(page) for _ in range(options.repeat)), strict=True)
        print(f'{page.stat().st_size / 1e6:.2f} MB, load {os.getloadavg()[0]:.1f}')
    for what, times in (('verdict', verdict), ('robot', robot), ('scene', scene)):
        print(f'{what} {statistics.median(times):.2f} s')


if __name__ == '__main__':
    main()
