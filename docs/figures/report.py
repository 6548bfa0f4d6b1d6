"""Take the pictures of a report for README and docs: report.png and report_plays.png.

    make demo
    .venv/bin/python docs/figures/report.py demo/replay/report.html

needs Chromium, which is not part of the set-up (Debian: apt install chromium).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

INSTANT = 5.95  # [s] a step of the walk
PICTURES = {'report.png': (1366, 860), 'report_plays.png': (1366, 1180)}  # [px] from the top


def main(page: Path) -> None:
    """Photograph the top of the page, with the scene drawn by the processor."""
    for name, (width, height) in PICTURES.items():
        picture = Path(__file__).with_name(name)
        with tempfile.TemporaryDirectory() as profile:
            subprocess.run(
                [
                    'chromium', '--headless', '--no-sandbox', '--hide-scrollbars',
                    '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
                    '--virtual-time-budget=10000', f'--user-data-dir={profile}',
                    f'--window-size={width},{height}', f'--screenshot={picture}',
                    f'{page.resolve().as_uri()}#t={INSTANT}',
                ],
                check=True,
                capture_output=True,
            )  # fmt: skip
        print(picture)


if __name__ == '__main__':
    main(Path(sys.argv[1]))
