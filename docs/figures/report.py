"""Take the picture of a report for the README: report.png.

    make demo
    .venv/bin/python docs/figures/report.py demo/replay/report.html

needs Chromium, which is not part of the set-up (Debian: apt install chromium).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH, HEIGHT = 1180, 940  # [px] the verdict, the figures of merit and the first two figures


def main(page: Path) -> None:
    """Photograph the top of the page."""
    picture = Path(__file__).with_name('report.png')
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                'chromium', '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
                f'--user-data-dir={profile}', f'--window-size={WIDTH},{HEIGHT}',
                f'--screenshot={picture}', page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
    print(picture)


if __name__ == '__main__':
    main(Path(sys.argv[1]))
