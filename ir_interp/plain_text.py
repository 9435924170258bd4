"""Text from files and for files: numbers, names, quoting, names of options, and lines of notebooks.

Names, messages and paths come from untrusted files; quoted by these functions, they remain text in generated files.
``json.dumps`` writes JSON in ASCII, and ``converters.pages.frame`` builds HTML from elements. Messages name options as
the command line spells them; callers of Python read the keywords instead (``name_keywords``).
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from inspect import Parameter
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from ir_interp.errors import leaves

Tone = Literal["good", "doubt", "bad", "plain"]
"""How a mark is coloured; its word and its sign say the same."""

SIGNS: dict[Tone, str] = {"good": "✓", "doubt": "!", "bad": "✗", "plain": "·"}
SIGNS_IN_ASCII: dict[Tone, str] = {"good": "+", "doubt": "!", "bad": "x", "plain": "-"}

_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_REAL = re.compile(r"\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)\s*", re.IGNORECASE)


def decimal_integer(text: str) -> int:
    """Return an integer of 64 bits. Raises ValueError for any other text."""
    if not _INTEGER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"{text!r} is not an integer")
    return int(text)


def decimal_real(text: str) -> float:
    """Return a number. Raises ValueError for any other text."""
    if not _REAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text)


_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters: they move the cursor, set colours or end lines
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # invisible, or changing the direction of writing
    "\ud800-\udfff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"  # surrogates, annotations, tags
)


def printable(text: str, but: str = "") -> str:
    r"""Return a text on one line, with escapes such as ``\n`` and ``\x1b`` for invisible and control characters.

    The characters in ``but`` are kept.
    """
    return _UNSEEN.sub(lambda match: match[0] if match[0] in but else match[0].encode("unicode_escape").decode(), text)


def labels(files: Iterable[str | Path]) -> dict[str, str]:
    """Return a label for each file: its name, or its path from the current folder if several share the name."""
    paths = {str(file): Path(file) for file in files}
    times = Counter(path.name for path in paths.values())
    return {text: path.name if times[path.name] == 1 else _from_here(path) for text, path in paths.items()}


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


_MARKUP = re.compile(
    r"[\\`*\[\]<>&|~$#!@]"  # characters that start an inline element, a cell, a formula or a mention
    r"|(?<![^\W_])_|_(?![^\W_])"  # an underscore that is not inside a word
    r"|:(?=//)|(?<=www)\."  # texts that GitHub turns into links
)


def quote_python(value: object) -> str:
    """Return a Python literal in ASCII."""
    return ascii(value)


def quote_docstring(text: str) -> str:
    """Return a text as the docstring of a Python module; line breaks are kept."""
    return ast.unparse(ast.Module([ast.Expr(ast.Constant(text))], []))


def quote_markdown(text: str) -> str:
    """Return a text as one line of Markdown, with escapes for invisible characters."""
    return _MARKUP.sub(r"\\\g<0>", printable(text))


def quote_shell(*words: str) -> str:
    """Return words as one line of a POSIX shell."""
    return shlex.join(words)


def quote_uri(path: str | Path) -> str:
    """Return a path as a relative URI reference (RFC 3986), whatever bytes its name has."""
    return quote(os.fsencode(Path(path).as_posix()))


def workflow_message(text: str) -> str:
    """Return a text as the message of a GitHub workflow command, with escapes for invisible characters."""
    return printable(text).replace("%", "%25")


def workflow_property(text: str) -> str:
    """Return a text as a property of a GitHub workflow command."""
    return workflow_message(text).replace(":", "%3A").replace(",", "%2C")


_OTHERWISE = {
    "bgr": ("images",),
    "input": ("x", "name"),
    "layout": ("images",),
    "mean": ("images",),
    "range": ("pixel_range", "images"),
    "std": ("scale", "images"),
}
"""Keywords that have another name than their flag, or hold it: those of ``Images``."""
_FLAGS_STAY: ContextVar[bool] = ContextVar("flags stay", default=False)
# A quoted text is a name or a value of the caller, whatever it holds. A word behind a flag is its value where it is a
# placeholder (NAME), or holds more than letters (1,3,20,30); "--shape static" is a flag in the middle of a sentence.
_WORD = r"[\w./][\w.,:/=@-]*\w|\w"
_VALUE = rf"=(?:{_WORD})|[ ](?:(?=[\w:/@-]*[\d,=@:])(?:{_WORD})|[A-Z]{{2,}}\b|'[^']*')"
_FLAG = re.compile(rf"(?<!\w)'[^']*'|\"[^\"]*\"|(?<![\w-])--(?P<flag>[a-z][a-z0-9-]*)(?P<value>{_VALUE})?")
_NUMBERS = re.compile(r"[-\d.]+(,[-\d.]+)+|\d[\d.]*")


@contextmanager
def flags_stay() -> Iterator[None]:
    """Leave messages as the command line spells them, while the program runs."""
    token = _FLAGS_STAY.set(True)
    try:
        yield
    finally:
        _FLAGS_STAY.reset(token)


def name_keywords(error: BaseException, parameters: Mapping[str, Parameter]) -> None:
    """Name keywords of a function in the messages of an error, or of all in a group, in place of flags."""
    if _FLAGS_STAY.get():
        return
    for leaf in leaves(error):
        texts = {name: getattr(leaf, name) for name in ("problem", "reason") if isinstance(vars(leaf).get(name), str)}
        for name, text in texts.items():
            setattr(leaf, name, in_python(text, parameters))
        messages = set(texts.values()) or {text for text in leaf.args if isinstance(text, str)}
        leaf.args = tuple(
            in_python(text, parameters) if isinstance(text, str) and text in messages else text for text in leaf.args
        )


def in_python(message: str, parameters: Mapping[str, Parameter]) -> str:
    """Return a message with keywords in place of flags: ``--shape x:1,3`` becomes ``shapes={'x': (1, 3)}``."""

    def spelled(match: re.Match[str]) -> str:
        name = keyword(match["flag"], parameters) if match["flag"] else ""
        return _spelled(name, match["flag"], match["value"] or "", parameters) if name else match[0]

    return _FLAG.sub(spelled, message)


def keyword(flag: str, parameters: Mapping[str, Parameter]) -> str:
    """Return the keyword of a flag: its own name, or the plural where several values are one; nothing without one."""
    name = flag.replace("-", "_")
    candidates = (name, f"{name}s", name.removeprefix("no_"), *_OTHERWISE.get(name, ()))
    return next((candidate for candidate in candidates if candidate in parameters), "")


def _spelled(name: str, flag: str, value: str, parameters: Mapping[str, Parameter]) -> str:
    if isinstance(parameters[name].default, bool):
        return f"{name}={not flag.startswith('no-')}{value}"
    return f"{name}={_code(value[1:], is_mapping=name != flag)}" if value else name


def _code(text: str, *, is_mapping: bool) -> str:
    """Return the text of a value as Python: lists of numbers as tuples, ``x:1,3`` and ``x=a.png`` as mappings."""
    (text,) = shlex.split(text)
    named = re.fullmatch(r"(.+?)([:=])(.+)", text)
    if named and is_mapping:
        return f"{{{named[1]!r}: {_code(named[3], is_mapping=False)}}}"
    if _NUMBERS.fullmatch(text):
        return f"({', '.join(text.split(','))})" if "," in text else text
    return text if text.isupper() else repr(text)


_LONGEST = 300  # characters of a line in a shell
_ROWS = 20  # of a table in a notebook


def notebook_line(kind: str, text: str) -> str:
    """Return a result in one line, as in ``<Audit: 1 resize in 1 file, 0 findings>``."""
    whole = f"<{kind}: {printable(text)}>"
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 4]}...>"


def notebook_table(rows: Mapping[str, str]) -> str:
    """Return an HTML table with a row for every name and its text."""
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows.items())
    return f"<table>{''.join(cells)}</table>"


def notebook_columns(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table under a title, with a column for every name; of many rows the first."""
    left = iter(rows)
    cells = [_row("td", row) for row in islice(left, _ROWS)]
    more = sum(1 for _ in left)
    note = f"<p>and {more} more</p>" if more else ""
    head = f"<caption>{escape(title)}</caption><thead>{_row('th', names)}</thead>"
    return f"<table>{head}<tbody>{''.join(cells)}</tbody></table>{note}"


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"
