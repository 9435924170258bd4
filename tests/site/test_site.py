"""The site: it builds without a warning, and a browser shows every page of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Browser, tab as tab
from tests.support.places import ROOT

axe_playwright_python = pytest.importorskip("axe_playwright_python")
DOCS = ROOT / "docs"
THEME = {  # rules of axe that the theme breaks on every page
    "landmark-unique": "each copy button of a code block stands in a nav without a name",
    "scrollable-region-focusable": "wide tables scroll in a div without a tabindex; browsers focus it themselves",
}
ONCE = ("color-contrast", "link-in-text-block", "region")  # rules on what the theme decides; they take longest
ALL_KINDS = {"index.html": "body", "cookbook.html": "body", "api-results.html": ".doc-object"}
"""Pages that have every kind of text between them, and the part that these rules check."""


class Quiet(SimpleHTTPRequestHandler):
    """A server that logs nothing."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site."""
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)  # through a link it would write where the link leads
    for name in ("ir_interp", "converters"):
        (folder / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Return where a server shows the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def pages() -> list[str]:
    """Return the pages that the site has to have."""
    return sorted(f"{page.stem}.html" for page in DOCS.glob("*.md"))


SHOWN = """({fits: document.documentElement.scrollWidth <= innerWidth, titles: document.querySelectorAll("h1").length,
    pictures: Array.from(document.images).every(each => each.complete && each.naturalWidth > 0)})"""


def test_a_browser_shows_every_page(site: Path, address: str, tab: Browser) -> None:
    """On a desktop and on a phone: no complaint, nothing from elsewhere, nothing beside the screen, accessible."""
    assert sorted(page.name for page in site.glob("*.html") if page.name != "404.html") == pages()
    faults: list[tuple[object, ...]] = []
    for page in pages():  # each is loaded once, which takes longer than everything else
        tab.open(address + page, width=1280)
        faults += [(page, *fault) for fault in violations(tab, "body", *THEME, *ONCE)]
        for width in (1280, 390):
            tab.show(width=width)
            shown = tab.value(SHOWN)
            elsewhere = [request for request in tab.requests if not request.startswith((address, "data:"))]
            if tab.complaints or elsewhere or shown != {"fits": True, "titles": 1, "pictures": True}:
                faults.append((page, width, tab.complaints[:], elsewhere, shown))
    assert faults == []


def test_the_theme_is_accessible(address: str, tab: Browser) -> None:
    faults = []
    for page, part in ALL_KINDS.items():
        tab.open(address + page)
        for dark in (False, True):
            tab.show(dark=dark)
            faults += [(page, dark, *fault) for fault in violations(tab, part, only=ONCE)]
    assert faults == []


def violations(tab: Browser, part: str, *without: str, only: Sequence[str] = ()) -> list[list[str]]:
    """Return the rules of axe that the first such part of a page breaks, each with an element."""
    axe = Path(axe_playwright_python.__path__[0], "axe.min.js").read_text(encoding="utf-8")
    rules = {name: {"enabled": False} for name in without}
    options = json.dumps({"resultTypes": ["violations"], "rules": rules} | ({"runOnly": only} if only else {}))
    tab.value(axe)
    broken: list[list[str]] = tab.value(f"""axe.run(document.querySelector("{part}"), {options})
        .then(result => result.violations.map(each => [each.id, each.nodes[0].html]))""")
    return broken


def test_faults_would_be_noticed(address: str, tab: Browser) -> None:
    """What the tests above hold to be absent is seen where it is there."""
    tab.open(address + "index.html", width=390)
    tab.value("""document.querySelector("article").innerHTML +=
        "<p><img src='absent.png'> <span style='color: #ccc'>pale</span> <code style='padding: 2000px'></code></p>" """)
    assert {"image-alt", "color-contrast"} <= {name for name, _ in violations(tab, "article")}
    assert tab.value(SHOWN) == {"fits": False, "titles": 1, "pictures": False}
    assert len(tab.complaints) == 1
