"""Quoting of text for the files that this program writes: one function for each target language.

Names, messages and paths come from untrusted files. With these functions they remain text in generated files.
``json.dumps`` writes JSON in ASCII, and ``converters.pages.frame`` builds HTML from elements.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from pathlib import Path
from urllib.parse import quote

from ir_interp.text.names import printable

_MARKUP = re.compile(
    r"[\\`*\[\]<>&|~$#!@]"  # characters that start an inline element, a cell, a formula or a mention
    r"|(?<![^\W_])_|_(?![^\W_])"  # an underscore that is not inside a word
    r"|:(?=//)|(?<=www)\."  # texts that GitHub turns into links
)


def python(value: object) -> str:
    """Return a Python literal in ASCII."""
    return ascii(value)


def docstring(text: str) -> str:
    """Return a text as the docstring of a Python module; line breaks are kept."""
    return ast.unparse(ast.Module([ast.Expr(ast.Constant(text))], []))


def markdown(text: str) -> str:
    """Return a text as one line of Markdown, with escapes for invisible characters."""
    return _MARKUP.sub(r"\\\g<0>", printable(text))


def shell(*words: str) -> str:
    """Return words as one line of a POSIX shell."""
    return shlex.join(words)


def uri(path: str | Path) -> str:
    """Return a path as a relative URI reference (RFC 3986), whatever bytes its name has."""
    return quote(os.fsencode(Path(path).as_posix()))


def workflow_message(text: str) -> str:
    """Return a text as the message of a GitHub workflow command, with escapes for invisible characters."""
    return printable(text).replace("%", "%25")


def workflow_property(text: str) -> str:
    """Return a text as a property of a GitHub workflow command."""
    return workflow_message(text).replace(":", "%3A").replace(",", "%2C")
