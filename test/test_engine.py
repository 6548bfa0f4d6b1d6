"""Tasks in several processes, whatever happens to them."""

import asyncio
import logging
import os
import signal
import threading
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import distributed
import pytest

from izmp_dynamics.base.errors import ProcessError
from izmp_dynamics.engine.processes import SETTINGS, Processes, connected, outcomes

from .raising import raising

GROWS = 100
"""The task that takes more memory than there is for a worker, and keeps it."""


def _behave(number):
    """What a task may do to its worker; one that is tried again succeeds."""
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 2:
        raise ValueError('always')
    if number == GROWS:
        taken = bytearray(os.urandom(1_000_000)) * 1200
        while taken:
            time.sleep(0.01)
    mark = Path(os.environ['IZMP_TEST_MARK'])
    if number in (3, 30) and not mark.exists():
        mark.touch()
        if number == 30:
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError('only once')
    return 10 * number


def _interrupted():
    """As distributed.utils.sync, if Ctrl-C comes before the loop has begun a request."""
    raise NameError("cannot access free variable 'future'")


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """A client of two workers, and a folder that they know."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp('engine')
        patch.setenv('IZMP_TEST_MARK', str(folder / 'mark'))
        with connected(Processes(2), 5) as client:
            yield client


def test_the_engine_survives_what_tasks_do(tmp_path, monkeypatch, caplog):
    """Of two tasks for one worker the one that only waits there does not count as killed."""
    monkeypatch.setenv('IZMP_TEST_MARK', str(tmp_path / 'mark'))
    monkeypatch.setitem(SETTINGS, 'distributed.scheduler.allowed-failures', 0)
    environment = os.environ.copy()
    with connected(Processes(1, memory='1GB'), 4) as client:
        client.loop.add_callback(_interrupted)
        found = dict(outcomes(client, _behave, [4, 3, 2, 1, *range(5, 15)], retries=1))
        of_two = dict(outcomes(client, _behave, [GROWS, 5]))
    assert of_two.pop(GROWS).kind == 'process_lost'
    assert of_two == {5: 50}
    assert found.pop(1).kind == 'process_lost'
    assert str(found.pop(2)) == 'always'
    assert found == {number: 10 * number for number in range(3, 15)}
    assert 'free variable' not in caplog.text
    assert os.environ.copy() == environment


def test_who_has_no_credentials_is_refused(shared):
    """Any user of the computer may reach the scheduler and the workers on loopback."""
    info, stranger = shared.scheduler_info(), distributed.Security.temporary()
    stranger = stranger.get_connection_args('client')
    for address in (shared.scheduler.address, *info['workers']):
        for place, known in ((address.replace('tls', 'tcp'), {}), (address, stranger)):
            with pytest.raises(OSError, match=r'handshake|[Cc]losed|TLS|connect'):
                asyncio.run(distributed.core.connect(place, timeout=2, **known))
    ports = [*info['services'].values()]
    ports += [worker['services']['dashboard'] for worker in info['workers'].values()]
    for port in ports:
        with pytest.raises(HTTPError, match='404'):
            urlopen(f'http://127.0.0.1:{port}/json/identity.json')


def test_a_worker_comes_back_that_is_lost_with_what_restarts_it(tmp_path, monkeypatch):
    monkeypatch.setenv('IZMP_TEST_MARK', str(tmp_path / 'mark'))
    monkeypatch.setitem(SETTINGS, 'distributed.deploy.lost-worker-timeout', '0.1s')
    monkeypatch.setattr('izmp_dynamics.engine.processes.CHECKED', 0.5)
    with connected(Processes(1), 1) as client:
        assert dict(outcomes(client, _behave, [30, 5])) == {30: 300, 5: 50}


def _zero_alone(number):
    """Return 0; any other task never ends."""
    if number:
        threading.Event().wait()
    return number


def test_a_lost_connection_is_one_sentence():
    """As on a computer that is too busy; without what the libraries say of it."""
    with raising(ProcessError, 'scheduler_lost'), connected(Processes(1), 100) as client:
        connection = client.scheduler_comm.comm
        for _ in outcomes(client, _zero_alone, list(range(100))):
            client.loop.add_callback(connection.abort)
    loggers = (logging.getLogger(f'distributed{name}') for name in ('', '.client', '.scheduler'))
    assert not any(logger.isEnabledFor(logging.ERROR) for logger in loggers)


def test_processes_that_do_not_start_are_one_sentence(monkeypatch):
    def fail(**_):
        raise RuntimeError('Cluster failed to start: Nanny failed to start')

    monkeypatch.setattr('distributed.LocalCluster', fail)
    with raising(ProcessError, 'not_started'), connected(Processes(1), 1):
        pass


def _done_before(number):
    """Which tasks had ended when this one began."""
    folder = Path(os.environ['IZMP_TEST_MARK']).with_name('done')
    folder.mkdir(exist_ok=True)
    found = {int(path.name) for path in folder.iterdir()}
    (folder / str(number)).touch()
    return found


def test_a_task_begins_after_those_that_it_needs(shared):
    needs = {3: [9], 7: [1, 4], 9: [7]}
    tasks = [3, 7, 9, 1, 4]
    ended = dict(outcomes(shared, _done_before, tasks, needs=lambda k: needs.get(k, ())))
    assert list(ended)[2:] == [7, 9, 3]
    assert all(ended[task] >= set(needed) for task, needed in needs.items())
