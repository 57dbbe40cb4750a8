# SPDX-License-Identifier: BSD-2-Clause
"""Drives a headless Chromium by the DevTools protocol, over a pipe: no port is opened."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome')


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, path):
        self.home = tempfile.mkdtemp()
        from_us, to_us = os.pipe(), os.pipe()

        def fds():  # the browser reads 3 and writes 4
            low, high = os.dup(from_us[0]), os.dup(to_us[1])
            low, high = [os.dup2(fd, at, inheritable=True) for fd, at in ((low, 30), (high, 31))]
            os.dup2(low, 3, inheritable=True)
            os.dup2(high, 4, inheritable=True)

        flags = ['--headless', '--disable-gpu', '--remote-debugging-pipe', '--no-first-run',
                 '--user-data-dir=' + self.home, '--disable-dev-shm-usage']
        if os.geteuid() == 0:
            flags.append('--no-sandbox')
        self.log = open(os.path.join(self.home, 'log'), 'wb')
        self.process = subprocess.Popen([path, *flags], preexec_fn=fds, close_fds=False,
                                        stdout=self.log, stderr=self.log)
        os.close(from_us[0])
        os.close(to_us[1])
        self.to, self.fro = from_us[1], to_us[0]
        self.buffer, self.number, self.events, self.session = b'', 0, [], None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def receive(self):
        """Waits without a timeout: the watchdog of the tests ends a browser that hangs."""
        while b'\0' not in self.buffer:
            piece = os.read(self.fro, 1 << 16)
            if not piece:
                raise RuntimeError('the browser has ended: ' + open(self.log.name).read()[-800:])
            self.buffer += piece
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError('%s: %s' % (method, answer['error']))
                return answer['result']
            self.events.append(answer)

    def open(self, url, width=1320, height=1200):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call('Page.navigate', url=url)
        while self.js('document.readyState') != 'complete':
            time.sleep(0.1)

    def js(self, text):
        answer = self.call('Runtime.evaluate', expression=text, returnByValue=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError('%s: %s' % (text, answer['exceptionDetails']))
        return answer['result'].get('value')

    def scheme(self, name):
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': name}])

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def save(self, button, directory):
        """Presses a button that saves a file; returns the file's path."""
        session, self.session = self.session, None
        self.call('Browser.setDownloadBehavior', behavior='allow', downloadPath=directory,
                  eventsEnabled=True)
        self.session = session
        x, y = self.js("(() => { const b = document.querySelector('%s').getBoundingClientRect();"
                       " return [b.x + b.width / 2, b.y + b.height / 2]; })()" % button)
        seen, name = len(self.events), None
        for kind in ('mousePressed', 'mouseReleased'):
            self.mouse(kind, x, y, button='left', buttons=1, clickCount=1)
        while True:
            for event in self.events[seen:]:
                seen += 1
                if event.get('method') == 'Browser.downloadWillBegin':
                    name = event['params']['suggestedFilename']
                elif event.get('method') == 'Browser.downloadProgress':
                    if event['params']['state'] == 'canceled':
                        raise RuntimeError('%s was not saved' % name)
                    if event['params']['state'] == 'completed':
                        return os.path.join(directory, name)
            self.events.append(self.receive())

    def shot(self, path):
        with open(path, 'wb') as out:
            out.write(base64.b64decode(self.call('Page.captureScreenshot')['data']))

    def errors(self):
        """Exceptions, error messages, and every request other than the page itself."""
        found = []
        for e in self.events:
            p = e.get('params', {})
            if e.get('method') == 'Runtime.exceptionThrown':
                found.append(p['exceptionDetails'].get('exception', {}).get('description', str(p)))
            elif e.get('method') == 'Log.entryAdded' and p['entry']['level'] == 'error':
                found.append(p['entry']['text'])
            elif e.get('method') == 'Runtime.consoleAPICalled' and p['type'] == 'error':
                found.append(str(p['args']))
            elif e.get('method') == 'Network.requestWillBeSent' and p['type'] != 'Document':
                found.append('loads ' + p['request']['url'])
        return found

    def close(self):
        try:
            self.session = None
            self.call('Browser.close')
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)
