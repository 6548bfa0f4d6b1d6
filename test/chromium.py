"""A page in a headless Chromium, driven through its remote debugging protocol."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from .requiring import need

_PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome', 'chrome')
_PATIENCE = 300.0  # [s] of a wait; a computer may be busy


class Tab:
    """The one tab: what it logged, what it asked the network for, and a way to run code in it."""

    def __init__(self, socket):
        self.socket = socket
        self.messages, self.requests = [], []
        self._count = 0
        for domain in ('Runtime', 'Page', 'Network', 'Log'):
            self.call(f'{domain}.enable')

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        self._count += 1
        number = self._count
        self.socket.send(json.dumps({'id': number, 'method': method, 'params': parameters}))
        end = time.monotonic() + _PATIENCE
        while True:
            message = json.loads(self.socket.recv(timeout=max(0.0, end - time.monotonic())))
            if message.get('id') == number:
                assert 'error' not in message, message
                return message['result']
            self._note(message)

    def _note(self, message):
        method, parameters = message.get('method'), message.get('params', {})
        if method == 'Network.requestWillBeSent':
            self.requests.append(parameters['request']['url'])
        elif method == 'Runtime.exceptionThrown':
            self.messages.append(json.dumps(parameters['exceptionDetails']))
        elif method == 'Runtime.consoleAPICalled':
            self.messages.append(f'{parameters["type"]}: {json.dumps(parameters["args"])}')
        elif method == 'Log.entryAdded':
            self.messages.append(json.dumps(parameters['entry']))

    def run(self, code):
        """Evaluate JavaScript, wait for it if it is a promise, and return its value."""
        found = self.call(
            'Runtime.evaluate', expression=code, awaitPromise=True, returnByValue=True
        )
        assert 'exceptionDetails' not in found, found['exceptionDetails']
        return found['result'].get('value')

    def until(self, condition):
        """Wait until a JavaScript expression is true."""
        return self.run(
            'new Promise((resolve) => { const look = () => { const found = '
            f'({condition}); if (found) resolve(found); else setTimeout(look, 20); }}; look(); }})'
        )

    def open(self, url):
        """Open a page and wait until it is loaded."""
        self.call('Page.navigate', url=url)
        self.until(f'location.href.startsWith({json.dumps(url)}) && '
                   'document.readyState === "complete"')  # fmt: skip

    def key(self, key, code=''):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=code or key)

    def click(self, selector):
        """Click the first element that `selector` finds, where nothing covers its middle.

        Presses of the mouse may get lost where the window still changes its size.
        """
        hit = self.run(
            f'(() => {{ const e = document.querySelector({json.dumps(selector)}); '
            'e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); '
            'const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2); '
            'if (!e.contains(top)) return top && top.outerHTML; e.click(); return true; })()'
        )
        assert hit is True, f'{selector} is covered by {hit}'

    def picture(self, path=None, **clip):
        """Photograph the tab, or a part of it, as PNG."""
        options = {'clip': clip | {'scale': clip.get('scale', 1)}} if clip else {}
        shot = self.call('Page.captureScreenshot', format='png', **options)
        data = base64.b64decode(shot['data'])
        if path is not None:
            path.write_bytes(data)
        return data


@contextmanager
def chromium(width=1180, height=900):
    """Start Chromium and yield its tab; skip the test where there is none."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip('Chromium is not installed (Debian: apt install chromium)')
    client = need('websockets.sync.client')
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen(
            [
                program, '--headless=new', '--no-sandbox', '--disable-dev-shm-usage',
                '--remote-debugging-port=0', f'--user-data-dir={profile}', '--no-first-run',
                '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
                '--hide-scrollbars', '--allow-pre-commit-input', '--disable-background-networking',
                f'--window-size={width},{height}', 'about:blank',
            ],
            stderr=subprocess.DEVNULL,  # a pipe that nobody empties would stop it
        )  # fmt: skip
        try:
            yield from _tab(client, f'127.0.0.1:{_port(browser, Path(profile))}')
        finally:
            browser.kill()
            browser.wait(_PATIENCE)


def _port(browser, profile):
    """On which it listens, as soon as it has written that down."""
    file, end = profile / 'DevToolsActivePort', time.monotonic() + _PATIENCE
    while not (file.exists() and '\n' in file.read_text()):
        assert browser.poll() is None, 'Chromium ended before it listened'
        assert time.monotonic() < end, f'Chromium does not listen after {_PATIENCE:g} s'
        time.sleep(0.02)
    return file.read_text().partition('\n')[0]


def _tab(client, address):
    import urllib.request

    with urllib.request.urlopen(f'http://{address}/json/list', timeout=_PATIENCE) as answer:
        pages = [page for page in json.load(answer) if page['type'] == 'page']
    with client.connect(pages[0]['webSocketDebuggerUrl'], max_size=None) as socket:
        yield Tab(socket)
