"""Texts use the words of the field: pages, help, messages, docstrings and comments."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

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
STRING_OR_COMMENT = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*""", re.DOTALL
)
"""A tenth of the time of ``tokenize``; before Python 3.12 no string contains its own quotes."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [path for folder in ("ir_interp", "converters") for path in sorted((ROOT / folder).rglob("*.py"))]


def prose(page: str) -> str:
    """Return a page without its code."""
    return re.sub(r"``[^`]*``|`[^`\n]*`", "", re.sub(r"```.*?```", "", page, flags=re.DOTALL))


class Text(NamedTuple):
    """A docstring, comment or message, and its line; a string without a space is a name, and no text."""

    line: int
    text: str
    is_message: bool = False


@functools.cache
def texts(path: Path) -> tuple[Text, ...]:
    """Return the docstrings, messages and comments of a file."""
    source = path.read_text(encoding="utf-8")
    found = []
    for node in ast.walk(ast.parse(source)):
        string = node.value if isinstance(node, ast.Expr) else node
        if isinstance(string, ast.Constant) and isinstance(string.value, str) and " " in string.value.strip():
            found.append(Text(string.lineno, string.value, string is node))
    comments = [match for match in STRING_OR_COMMENT.finditer(source) if match.group().startswith("#")]
    return (*found, *(Text(source.count("\n", 0, match.start()) + 1, match.group()) for match in comments))


def _violations(text: str) -> list[str]:
    return [found.group() for found in PATTERN.finditer(prose(text))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    assert _violations(page.read_text(encoding="utf-8")) == []


def test_code_uses_the_words_of_the_field() -> None:
    violations = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path in MODULES
        for line, text, _ in texts(path)
        for word in _violations(text)
    ]
    assert violations == []


@pytest.mark.parametrize("text", ["It mends files.", "Verbs", "a whole number", "the bytes\nof taps outside"])
def test_other_words_are_noticed(text: str) -> None:
    assert _violations(text)
