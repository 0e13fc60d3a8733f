"""A headless Chromium that is told what to do through its DevTools protocol."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def executable():
    """Return the path of the first browser found, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def until(condition, seconds, what):
    """Wait for a true value and return it."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return value


class Browser:
    """One page of 1300 x 1000 pixels; a context manager that ends the browser it started.

    Parameters
    ----------
    folder : Path
        Empty; for the profile.
    """

    def __init__(self, folder: Path):
        import websocket

        options = [
            "--headless=new",
            "--disable-gpu",
            "--remote-debugging-port=0",
            "--window-size=1300,1000",
            "--no-first-run",
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # which it insists on for root
        command = [executable(), *options, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._number, self._socket = 0, None
        try:
            found = folder / "DevToolsActivePort"
            port = until(
                lambda: found.is_file() and found.read_text().split(), 30, "the browser's port"
            )[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
                (page,) = [target for target in json.load(answer) if target["type"] == "page"]
            self._socket = websocket.create_connection(
                page["webSocketDebuggerUrl"], timeout=60, suppress_origin=True
            )
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the browser."""
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        self._process.wait(30)

    def send(self, method, **parameters):
        """Send a command of the protocol and return its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def open(self, address):
        """Go to a page."""
        self.send("Page.navigate", url=address)

    def js(self, expression):
        """Return the value of a JavaScript expression; a promise is waited for."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def drag(self, selector, dx):
        """Press the mouse on the first element of a selector, once it is seen and stays, move it
        dx pixels to the right and let go.
        """
        x, y = self._place(selector)
        button = {"button": "left", "buttons": 1, "clickCount": 1}
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **button)
        for part in (0.25, 0.5, 0.75, 1.0):
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x + part * dx, y=y, **button)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=x + dx, y=y, **button)

    def _place(self, selector):
        center = """(element => {
            if (!element) return null;
            element.scrollIntoView({block: "nearest"});
            const box = element.getBoundingClientRect();
            const place = [box.x + box.width / 2, box.y + box.height / 2];
            return element.contains(document.elementFromPoint(...place)) ? place : null;
        })"""
        places = []

        def resting():
            places.append(self.js(f"{center}(document.querySelector({selector!r}))"))
            return places[-1] is not None and places[-5:] == 5 * places[-1:]

        until(resting, 30, f"{selector} at rest")
        return places[-1]

    def click(self, selector):
        """Press and release the mouse on the first element of a selector."""
        self.drag(selector, 0.0)

    def picture(self):
        """Return what is seen, as the text of a PNG in base 64."""
        return self.send("Page.captureScreenshot")["data"]
