"""Take the pictures of reports.

    .venv/bin/python docs/figures/report.py OUT OUT_PUSHED OUT_FALL

takes the results of docs/your_robot.md and docs/verdict.md, made with robots/biped31/robot.yaml,
and needs Chromium, which is not part of the set-up (Debian: apt install chromium).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = {  # result, height from the top [px]
    'report.png': (0, 860),
    'report_plays.png': (0, 1180),
    'report_push.png': (1, 860),
    'report_fall.png': (2, 860),
}


def main(results: list[Path]) -> None:
    """Photograph the top of the pages, with the scene drawn by the processor."""
    for name, (result, height) in PICTURES.items():
        picture = Path(__file__).with_name(name)
        with tempfile.TemporaryDirectory() as profile:
            subprocess.run(
                [
                    'chromium', '--headless', '--no-sandbox', '--hide-scrollbars',
                    '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
                    '--virtual-time-budget=10000', f'--user-data-dir={profile}',
                    f'--window-size=1366,{height}', f'--screenshot={picture}',
                    (results[result] / 'report.html').resolve().as_uri(),
                ],
                check=True,
                capture_output=True,
            )  # fmt: skip
        print(picture)


if __name__ == '__main__':
    main([Path(result) for result in sys.argv[1:]])
