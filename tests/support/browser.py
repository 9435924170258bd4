"""Chromium without a window, driven by Playwright: how it shows a page, and its complaints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")  # for containers


class Browser:
    """One tab. ``complaints`` and ``requests`` are those since the last page was opened."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.complaints: list[str] = []
        """Lines of the console: errors, warnings, violations of the page's policy."""
        self.requests: list[str] = []
        """The addresses that were asked for."""
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, page: Path | str, *, width: int = 1400, dark: bool = False) -> None:
        """Load a file or an address in a window of a width, and wait until all of it is there."""
        self.show(width=width, dark=dark)
        self.complaints.clear()
        self.requests.clear()
        self._page.goto(page.resolve().as_uri() if isinstance(page, Path) else page, wait_until="load")

    def show(self, *, width: int = 1400, dark: bool = False) -> None:
        """Change the window and its colours; the page stays."""
        self._page.set_viewport_size({"width": width, "height": 900})
        self._page.emulate_media(color_scheme="dark" if dark else "light")

    def value(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript in the page."""
        return self._page.evaluate(expression)

    def screenshot(self, path: Path) -> None:
        """Save a picture of the whole page."""
        self._page.screenshot(path=path, full_page=True)


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    """Start a browser for the tests of a module. Skips them where Playwright or Chromium is not installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=_FLAGS)
        try:
            yield Browser(chromium.new_page())
        finally:
            chromium.close()
