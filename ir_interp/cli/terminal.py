"""A terminal that shows what files hold as text, whatever it is, in tables that fit its width."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import cells, console, markup
from rich.table import Table
from rich.text import Text

from ir_interp.plain_text import SIGNS, SIGNS_IN_ASCII, Tone, printable

_STYLES: dict[Tone, str] = {"good": "green", "doubt": "yellow", "bad": "red", "plain": ""}
_FRAME = 3  # characters that a column of a table costs beside its content; the table has one more
_TALLEST = 8  # lines of a row of a table; what is taller is easier to read as a list
_NARROWEST = 16  # characters beside a name
_INDENT = "  "
_WORDS = re.compile(r"(?<= )(?=[^ ])")
_PARTS = re.compile(r"(?<=[ =])(?=[^ ])|(?<=\w/)(?=[^\W\d])")  # of words: after "=", and the folders of a name


@dataclass(frozen=True, slots=True)
class Marked:
    """A word of a table for how well something went, with a sign and a colour for the same."""

    word: str
    tone: Tone


TableCell = str | tuple[str, ...] | Marked
"""A text, lines of a text, or a mark."""


class Console(console.Console):
    """Prints texts as lines, each without what would do something; tables fit the width."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print lines and tables; see Rich."""
        super().print(*(printable(item) if isinstance(item, str) else item for item in objects), **options)

    def say(self, text: str, style: str = "") -> None:
        """Print a text, wrapped between words where somebody looks at a terminal, else as one line."""
        self.print(text, markup=False, highlight=False, style=style, soft_wrap=not self.is_terminal)

    def mark(self, text: str, tone: Tone) -> None:
        """Print a text behind the sign of a tone."""
        self.say(f"{self._sign(tone)} {text}", _STYLES[tone])

    def _sign(self, tone: Tone) -> str:
        return (SIGNS_IN_ASCII if self.options.ascii_only else SIGNS)[tone]

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[TableCell]], *, title: str = "") -> None:
        """Print a table; where words would break in it, each row as a list under its first cell."""
        if title:
            self.say(title, "bold")
        texts = [[self._text(cell) for cell in row] for row in rows]
        widths = self._widths([list(map(printable, columns)), *([cell.plain for cell in row] for row in texts)])
        if widths is None:
            self._print_lists(columns, texts)
        elif rows:
            self.print(_grid(columns, texts, widths))

    def _text(self, cell: TableCell) -> Text:
        if not isinstance(cell, Marked):
            return Text("\n".join(map(printable, (cell,) if isinstance(cell, str) else cell)))
        return Text(f"{self._sign(cell.tone)}\u00a0{printable(cell.word)}", _STYLES[cell.tone])

    def _widths(self, rows: Sequence[Sequence[str]]) -> list[int] | None:
        """Return the width of each column by its content; None where words would break, or a row be too tall."""
        columns = list(zip(*rows, strict=True))
        lines = [[line for cell in column for line in cell.split("\n")] for column in columns]
        least = [max(cells.cell_len(part.rstrip()) for line in texts for part in _PARTS.split(line)) for texts in lines]
        most = [max(map(cells.cell_len, texts)) for texts in lines]
        spare = self.width - sum(least) - _FRAME * len(columns) - 1
        if spare < 0:
            return None
        by_need = sorted(range(len(columns)), key=lambda place: most[place] - least[place])
        for left, place in zip(range(len(columns), 0, -1), by_need, strict=True):
            more = min(most[place] - least[place], spare // left)
            least[place] += more
            spare -= more
        tallest = max(len(_wrapped(cell, width)) for row in rows for cell, width in zip(row, least, strict=True))
        return least if tallest <= _TALLEST else None

    def _print_lists(self, columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> None:
        for title, *others in rows:
            self.print(*(Text(line, "bold") for line in _wrapped(title.plain, self.width)), sep="\n")
            self._print_list(list(zip(columns[1:], others, strict=True)), _INDENT)

    def pairs(self, rows: Sequence[tuple[str, str]], indent: str = "") -> None:
        """Print texts, each beside its name."""
        self._print_list([(name, self._text(text)) for name, text in rows], indent)

    def _print_list(self, rows: Sequence[tuple[str, Text]], indent: str) -> None:
        names = [printable(name) for name, _ in rows]
        label = len(indent) + max(map(cells.cell_len, names), default=0) + 2
        is_narrow = self.width < label + _NARROWEST  # then names stand above their texts
        label = 2 * len(_INDENT) if is_narrow else label
        for name, (_, text) in zip(names, rows, strict=True):
            above = _wrapped(name, max(self.width - len(indent), 1)) if is_narrow else []
            starts = [indent + name] if not is_narrow and name else []
            for line in above:
                self.print(Text(indent + line), soft_wrap=True)
            for line in _wrapped(text.plain, max(self.width - label, 1)):
                start = starts.pop() if starts else ""
                space = " " * (label - cells.cell_len(start))
                self.print(Text.assemble(start, space, (line, text.style)), soft_wrap=True)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[Text]], widths: Sequence[int]) -> Table:
    table = Table()
    for column, width in zip(columns, widths, strict=True):
        table.add_column(Text("\n".join(_wrapped(printable(column), width))), width=width)
    for row in rows:
        folded = zip(row, widths, strict=True)
        table.add_row(*(Text("\n".join(_wrapped(cell.plain, width)), cell.style) for cell, width in folded))
    return table


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, broken between words, and in those longer than a line after "=" and "/"."""
    return [line for paragraph in text.split("\n") for line in _lines(paragraph, width)]


def _lines(paragraph: str, width: int) -> Iterator[str]:
    words = _WORDS.split(paragraph)
    long = {word for word in words if cells.cell_len(word.rstrip()) > width}
    line = ""
    for part in (part for word in words for part in (_PARTS.split(word) if word in long else [word])):
        if line and cells.cell_len(line + part.rstrip()) > width:
            yield line.rstrip()
            line = ""
        *full, rest = cells.chop_cells(part, width) if cells.cell_len(part.rstrip()) > width else [part]
        yield from full
        line += rest
    yield line.rstrip()


def escape(text: str) -> str:
    """Return a text for a table: neither markup nor a control character has a meaning in it."""
    return markup.escape(printable(text))
