"""A headless browser, driven over two pipes with the DevTools protocol: what it makes of a page, and complains of."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --remote-debugging-pipe"
)
_ON_3_AND_4 = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null'  # where --remote-debugging-pipe looks for its pipes
_PATIENCE = 60.0  # seconds for one answer


def found() -> str | None:
    """Return the path of a browser; None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Browser:
    """One tab. ``events`` are what the browser told unasked since the last page was opened."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers = to, answers
        self._count, self._rest, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self._ask(f"{domain}.enable")

    def open(self, page: Path, *, width: int = 1400, dark: bool = False) -> None:
        """Load a page in a window of a width, and wait until all of it is there."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self._ask("Page.navigate", url=page.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._read()

    def value(self, expression: str) -> Any:
        """Return what an expression of JavaScript comes to in the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"]["value"]

    def screenshot(self, path: Path) -> None:
        """Save a picture of the whole page."""
        size = self._ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self._ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(answer["data"]))

    @property
    def complaints(self) -> list[str]:
        """What the console shows: violations of the policy, errors, warnings."""
        logged = [event["params"]["entry"]["text"] for event in self.events if event["method"] == "Log.entryAdded"]
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return logged + [str(event["params"]) for event in self.events if event["method"] in kinds]

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [str(each["request"]["url"]) for each in sent]

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        question = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            question["sessionId"] = self._session
        os.write(self._to, json.dumps(question).encode() + b"\0")
        while (answer := self._read()).get("id") != self._count:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            more = os.read(self._answers, 2**16) if ready else b""
            assert more, "the browser does not answer"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        said: dict[str, Any] = json.loads(message)
        if "method" in said:
            self.events.append(said)
        return said


@contextmanager
def opened(program: str) -> Iterator[Browser]:
    """Start a browser of its own, without a network, and end it."""
    theirs, to = os.pipe()
    answers, mine = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        arguments = [program, *_FLAGS.split(), f"--user-data-dir={folder}"]
        process = subprocess.Popen(
            ["/bin/sh", "-c", _ON_3_AND_4, *arguments], stdin=theirs, stdout=mine, stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(mine)
        try:
            yield Browser(to, answers)
        finally:
            os.close(to)  # it ends by itself then
            os.close(answers)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
