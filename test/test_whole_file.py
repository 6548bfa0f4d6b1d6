"""A file is written as a whole or not at all; folders are in test_result_folder, test_writer."""

import signal
import subprocess
import sys

import pytest

from izmp_dynamics.files.place import write_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path):
    def fail(file):
        file.write(b'half')
        raise KeyboardInterrupt

    write_whole(tmp_path / 'new' / 'a', b'first')
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / 'new' / 'a', fail)
    assert (tmp_path / 'new' / 'a').read_bytes() == b'first'
    assert names(tmp_path / 'new') == ['a']


def test_two_may_write_one_file(tmp_path):
    def meanwhile(file):
        write_whole(tmp_path / 'a', b'second')
        file.write(b'first')

    write_whole(tmp_path / 'a', meanwhile)
    assert (tmp_path / 'a').read_bytes() == b'first'
    assert names(tmp_path) == ['a']


def test_others_may_read_it_as_any_file(tmp_path):
    write_whole(tmp_path / 'a', b'')
    (tmp_path / 'b').touch()
    assert (tmp_path / 'a').stat().st_mode == (tmp_path / 'b').stat().st_mode


def test_a_killed_process_leaves_the_file_as_it_was(tmp_path):
    write_whole(tmp_path / 'a.png', b'first')
    program = (
        'import os, signal, sys\n'
        'from pathlib import Path\n'
        'from izmp_dynamics.files.place import write_whole\n'
        'def die(file):\n'
        '    file.write(b"half"); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n'
        'write_whole(Path(sys.argv[1]), die)\n'
    )
    done = subprocess.run([sys.executable, '-c', program, tmp_path / 'a.png'], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / 'a.png').read_bytes() == b'first'
    write_whole(tmp_path / 'a.png', b'second')
    assert (tmp_path / 'a.png').read_bytes() == b'second'
