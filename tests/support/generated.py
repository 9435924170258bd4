"""Files that a program left in a folder, read as its own language reads them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Set
from html.parser import HTMLParser
from pathlib import Path

from lxml import etree
from markdown_it import MarkdownIt

from ir_interp.converters.pages.frame import SCRIPT

_PWNED = "PWNED"
"""The file that attacks make."""


def problem(folder: Path, given: Set[str]) -> str:
    """Return what is wrong with the files in a folder that were not ``given``; nothing where all are in order."""
    new = [path for path in folder.rglob("*") if str(path.relative_to(folder)) not in given]
    for path in sorted(new):
        if path.name == _PWNED:
            return f"{path.name} is there: code of a model ran"
        check = _CHECKS.get(path.suffix)
        if check and path.is_file() and not path.is_symlink():
            try:
                check(path)
            except (ValueError, SyntaxError, AssertionError, etree.XMLSyntaxError) as error:
                return f"{path.relative_to(folder)}: {type(error).__name__}: {error}"
    return ""


def _python(path: Path) -> None:
    """Parse it, from its bytes; and run what reproduces a fault, which may end in an error of the runtime."""
    ast.parse(path.read_bytes())
    if path.name == "reproduce.py":
        subprocess.run(
            [sys.executable, "-B", path.name], cwd=path.parent, capture_output=True, check=False, timeout=120
        )
        assert not (path.parent / _PWNED).exists(), "it ran code of a model"


def _json(path: Path) -> None:
    text = path.read_bytes().decode("ascii")
    for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
        json.loads(line)


def _xml(path: Path) -> None:
    etree.parse(path, etree.XMLParser(resolve_entities=False))


class _Page(HTMLParser):
    _is_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Refuse what runs, loads or leads elsewhere, except the script of all pages."""
        self._is_script = tag == "script" and not attributes
        assert self._is_script or tag not in ("script", "iframe", "object", "link", "base", "form"), tag
        for name, value in attributes:
            assert not name.startswith("on"), name
            assert name not in ("src", "href") or str(value).startswith(("data:", "#")), value

    def handle_data(self, data: str) -> None:
        """Refuse another script."""
        assert not self._is_script or data == SCRIPT, data

    def handle_endtag(self, tag: str) -> None:
        """Leave a script."""
        self._is_script = False

    def handle_comment(self, data: str) -> None:
        """Refuse comments: a page has none."""
        raise AssertionError(data)


def _html(path: Path) -> None:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()


def _markdown(path: Path) -> None:
    kinds = {
        inner.type
        for token in MarkdownIt().enable("table").parse(path.read_text(encoding="utf-8"))
        for inner in (token, *(token.children or ()))
    }
    assert not kinds & {"html_inline", "html_block", "image", "link_open", "code_inline", "em_open"}, kinds


_CHECKS: dict[str, Callable[[Path], None]] = {
    ".py": _python,
    ".json": _json,
    ".jsonl": _json,
    ".sarif": _json,
    ".xml": _xml,
    ".svg": _xml,
    ".html": _html,
    ".md": _markdown,
}
