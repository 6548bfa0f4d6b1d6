import subprocess
import sys

from .test_package import ROOT

WITHOUT_PYKDL = """
import sys
sys.modules['PyKDL'] = None
from izmp_dynamics.cli.main import main
sys.exit(main(['model', 'robots/biped31/biped31.urdf']))
"""


def test_without_pykdl_a_sentence_says_how_to_get_it():
    done = subprocess.run(
        [sys.executable, '-c', WITHOUT_PYKDL], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert 'apt install python3-pykdl' in done.stderr
    assert 'Traceback' not in done.stderr
