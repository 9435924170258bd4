"""Texts use the words of the field: pages, help, messages, docstrings and comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT

REPLACEMENTS = {
    r"mend(s|ed|ing)?": "fix, repair",
    r"verbs?": "command",
    r"(open|known) lengths?": "dynamic, static dimension",
    r"told|says|said": "reported, predicted, specified",
    r"forecasts?": "prediction",
    r"makes? of (a|each|every|the) (model|node|resize|layer)": "how a runtime computes",
    r"taps outside": "out-of-bounds samples",
    r"makes? the bytes of": "matches byte for byte",
    r"in the mean": "on average",
    r"(it|they) knows? no": "is not supported",
    r"made up": "random",
    r"(?<!not_larger, )(?<!aspect policy )stretch(es)?": "segment",  # but for the policy of ONNX
    r"(resizes?|images?) of bytes": "uint8 images",
    r"whole numbers?": "integers",
    r"one after the other": "sequentially",
    r"nothing is known of": "unknown, not covered by the rules",
    r"held by": "tested by",
    r"does not show": "makes no difference",
    r"nobody vouches": "untrusted",
    r"fails? nothing": "never causes a failure",
}
PATTERN = re.compile(rf"\b({'|'.join(f'(?:{words})' for words in REPLACEMENTS)})\b", re.IGNORECASE)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [path for folder in ("ir_interp", "converters") for path in sorted((ROOT / folder).rglob("*.py"))]


def prose(page: str) -> str:
    """Return a page without its code."""
    return re.sub(r"``[^`]*``|`[^`\n]*`", "", re.sub(r"```.*?```", "", page, flags=re.DOTALL))


def texts(source: str, *, messages: bool = True) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring, message and comment; a string without a space is a name."""
    for node in ast.walk(ast.parse(source)):
        text = node if messages else node.value if isinstance(node, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and " " in text.value.strip():
            yield text.lineno, text.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _violations(text: str) -> list[str]:
    return [found.group() for found in PATTERN.finditer(prose(text))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    assert _violations(page.read_text(encoding="utf-8")) == []


def test_code_uses_the_words_of_the_field() -> None:
    violations = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in MODULES
        for line, text in texts(path.read_text(encoding="utf-8"))
        for word in _violations(text)
    ]
    assert violations == []


@pytest.mark.parametrize("text", ["It mends files.", "Verbs", "a whole number", "the bytes\nof taps outside"])
def test_other_words_are_noticed(text: str) -> None:
    assert _violations(text)
