"""Take the pictures of reports: report.png, report_plays.png and report_push.png.

    make demo
    izmp simulate walk --steps 6 --push 40:lateral:3.0 -o demo/push
    izmp replay demo/push --robot robots/biped31/robot.yaml -o demo/pushed
    .venv/bin/python docs/figures/report.py demo/replay/report.html demo/pushed/report.html

needs Chromium, which is not part of the set-up (Debian: apt install chromium).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = {  # page, instant [s], size from the top [px]
    'report.png': (0, 5.95, 1366, 860),
    'report_plays.png': (0, 5.95, 1366, 1180),
    'report_push.png': (1, 3.05, 1366, 860),
}


def main(pages: list[Path]) -> None:
    """Photograph the top of the pages, with the scene drawn by the processor."""
    for name, (page, instant, width, height) in PICTURES.items():
        picture = Path(__file__).with_name(name)
        with tempfile.TemporaryDirectory() as profile:
            subprocess.run(
                [
                    'chromium', '--headless', '--no-sandbox', '--hide-scrollbars',
                    '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
                    '--virtual-time-budget=10000', f'--user-data-dir={profile}',
                    f'--window-size={width},{height}', f'--screenshot={picture}',
                    f'{pages[page].resolve().as_uri()}#t={instant}',
                ],
                check=True,
                capture_output=True,
            )  # fmt: skip
        print(picture)


if __name__ == '__main__':
    main([Path(page) for page in sys.argv[1:]])
