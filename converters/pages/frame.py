"""The parts that all pages share: the frame, tables and marks. A page is one file that loads nothing.

Without its script all of it can be read; the script sorts tables and filters resizes.

Elements are built, never written as text, so that whatever a model is called stays text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from lxml import etree
from lxml.builder import ElementMaker

from ir_interp.files.atomic import replacing
from ir_interp.text.names import printable
from ir_interp.views.marks import SIGNS, Tone

from .assets import POLICY, SCRIPT, STYLE

Element: TypeAlias = etree._Element
"""An element of a page."""

Content: TypeAlias = str | Element
"""Content of a page."""

Item = TypeVar("Item")
_FITS = 24  # characters of a word that fit one line of a phone
_FEW = 4  # sections that need no links to them


def clean(text: str) -> str:
    """Return a text with escapes for what no page can hold, or would not show; its lines stay."""
    return printable(text, but="\t\n\r")


def _add(element: Element, text: str) -> None:
    """Add text at the end of an element."""
    if len(element):
        element[-1].tail = (element[-1].tail or "") + clean(text)
    else:
        element.text = (element.text or "") + clean(text)


E = ElementMaker(typemap={str: _add})
"""Makes elements: ``E.p("text", {"class": "note"}, E.b("more"))``."""


def page(title: str, verdict: Sequence[Content], *content: Content) -> Element:
    """Return a whole page: the verdict, its title, links to its sections where these are many, and its content."""
    sections = [part for part in content if not isinstance(part, str) and part.tag == "section"]
    for number, part in enumerate(sections):
        part.set("id", f"s{number}")
    return E.html(
        {"lang": "en"},
        E.head(
            E.meta({"charset": "utf-8"}),
            E.meta({"http-equiv": "Content-Security-Policy", "content": POLICY}),
            E.meta({"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            E.title(title),
            E.style(STYLE),
        ),
        E.body(
            E.main(E.h1(*verdict), E.p({"class": "title"}, title), *_contents(sections), *content), E.script(SCRIPT)
        ),
    )


def save(whole: Element, path: Path) -> None:
    """Write a page. Raises IrInterpError where the file cannot be written; what was there remains then."""
    text = etree.tostring(whole, method="html", encoding="unicode", doctype="<!doctype html>")
    with replacing(path) as (temporary,):
        temporary.write_text(text + "\n", encoding="utf-8", newline="\n")


def _contents(sections: Sequence[Element]) -> list[Element]:
    """Return links to sections, where these do not fit a screen."""
    if len(sections) < _FEW:
        return []
    links = (E.li(E.a(part[0].text or "", href=f"#{part.get('id')}")) for part in sections)
    return [E.nav({"aria-label": "Contents"}, E.ul(*links))]


def prose(text: str) -> list[Content]:
    """Return a text in which what stands between backquotes is code."""
    return [code(part) if place % 2 else part for place, part in enumerate(text.split("`"))]


def code(text: str) -> Element:
    """Return a command; a word of it with hyphens, behind which lines would break, is one element."""
    words = re.split("( )", text)
    return E.code(*(E.span(word) if "-" in word and len(word) < _FITS else word for word in words))


def section(title: str, *content: Content) -> Element:
    """Return a part of a page under its own title."""
    return E.section(E.h2(title), *content)


def note(text: str) -> Element:
    """Return a remark."""
    return E.p({"class": "note"}, text)


def marked(word: str, tone: Tone, text: str) -> Element:
    """Return a remark behind a mark."""
    return E.p(mark(word, tone), f" {text}")


def details(title: Sequence[Content], *content: Content, is_open: bool = False, verdicts: str = "") -> Element:
    """Return a part that opens under its title; ``verdicts`` are the words that the filter finds it by."""
    heading = E.summary(E.h3(*title))
    return E.details({**_filtered(verdicts), **({"open": ""} if is_open else {})}, heading, *content)


def _filtered(verdicts: str) -> dict[str, str]:
    return {"data-verdicts": verdicts} if verdicts else {}


def folded(names: Sequence[str], shown: int = 1) -> list[Content]:
    """Return the first names, and the others in a part that opens."""
    first, others = names[:shown], names[shown:]
    if not others:
        return [", ".join(first)]
    more = E.details(E.summary(f"and {len(others)} more"), *(E.div(name) for name in others))
    return [", ".join(first), more]


def grouped(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """Return items of the same key together, in the order of the first of each."""
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    numbers: Sequence[str] = (),
    stacks: bool = True,
    sorts: bool = False,
    caption: str = "",
    verdicts: Sequence[str] = (),
) -> Element:
    """Return a table; ``numbers`` are the columns set to the right, ``verdicts`` the words that find each row.

    On a narrow screen each row becomes a list, unless the rows are so short that the table need not stack them.
    """
    styles = [{"class": "number"} if column in numbers else {} for column in columns]
    head = E.tr(*(E.th(style, column, scope="col") for style, column in zip(styles, columns, strict=True)))
    body = [
        E.tr(
            *(
                E.td(style, {"data-title": clean(column)}, cell)
                for style, column, cell in zip(styles, columns, row, strict=True)
            )
        )
        for row in rows
    ]
    for row, words in zip(body, verdicts, strict=False):
        row.attrib.update(_filtered(words))
    above = [E.caption(caption)] if caption else []
    classes = " ".join(name for name, holds in (("stacks", stacks), ("sorts", sorts and len(body) > 1)) if holds)
    return E.table({"class": classes} if classes else {}, *above, E.thead(head), E.tbody(*body))


def mark(word: str, tone: Tone) -> Element:
    """Return a word for how well something went, with a sign and a colour for the same."""
    return E.span({"class": f"mark {tone}"}, f"{SIGNS[tone]}\u00a0{word}")
