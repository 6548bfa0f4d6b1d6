"""Take the picture of the view of a running robot for the docs: view.png.

    make demo
    .venv/bin/python docs/figures/view.py demo/walk

needs Chromium, which is not part of the set-up (Debian: apt install chromium).
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from test.chromium import chromium  # noqa: E402

ROBOT = ROOT / 'robots' / 'biped31' / 'robot.yaml'
PAGE = 'http://127.0.0.1:8080'
SLOWER = 0.1
"""Rate of the playback: a processor draws the scene, some pictures a second."""

DRAWN = 10.0
"""Time until the scene is drawn [s]."""


def main(bag: Path) -> None:
    """Photograph the page while the recording is played."""
    picture = Path(__file__).with_suffix('.png')
    command = [sys.executable, '-m', 'izmp_dynamics', 'live', str(bag), '--robot', str(ROBOT)]
    options = ['--rate', str(SLOWER), '--view', '--quiet']
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as live:
        next(line for line in live.stderr or () if PAGE in line)
        with chromium(width=1366, height=800) as tab:
            tab.open(PAGE)
            tab.until('[...document.querySelectorAll("button")].some(b => b.innerText == "feet")')
            time.sleep(DRAWN)
            tab.run(
                '[...document.querySelectorAll("button")].find(b => b.innerText == "feet").click()'
            )
            time.sleep(DRAWN)
            tab.run('document.querySelector("[class*=Notification-closeButton]")?.click()')
            time.sleep(1.0)
            tab.picture(picture, x=0, y=0, width=1366, height=640)
        live.terminate()
    print(picture)


if __name__ == '__main__':
    main(Path(sys.argv[1]))
