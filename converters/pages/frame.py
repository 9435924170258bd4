"""What all pages share: the frame, tables and marks. A page is one file that loads nothing and runs nothing.

Elements are built, never written as text, so that whatever a model is called stays text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from lxml import etree
from lxml.builder import ElementMaker

from ir_interp.files.atomic import replacing
from ir_interp.text.names import shown
from ir_interp.views.marks import SIGNS, Tone

Element: TypeAlias = etree._Element
"""An element of a page."""

Content: TypeAlias = str | Element
"""What stands in a page."""

_FEW = 4  # sections that need no links to them
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --line: #8888; --shade: #8882; --good: #176f2c; --doubt: #8a5300; --bad: #b3192b }
@media (prefers-color-scheme: dark) { :root { --good: #6fd388; --doubt: #f0b35a; --bad: #ff8a92 } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 84rem; margin: auto; padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.35rem; line-height: 1.3; margin: .3rem 0 } .title { margin: 0 0 1rem; opacity: .8 }
nav ul { padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none }
caption { text-align: left; font-size: .9rem; opacity: .8; padding-bottom: .2rem }
h2 { font-size: 1.25rem; margin-top: 2.2rem } h3 { font-size: 1rem }
.note, small { font-size: .85rem; opacity: .8 } small { display: block }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
thead th { background: var(--shade) } td:first-child { min-width: 8rem }
.number { text-align: right; white-space: nowrap }
.mark { font-weight: 600 } .mark, th { overflow-wrap: break-word }
.good { color: var(--good) } .doubt { color: var(--doubt) } .bad { color: var(--bad) }
.lane { width: min(40rem, 50vw) } .bar { border-top: .9rem solid; min-width: 2px; margin-top: .25rem; opacity: .7 }
figure { margin: .8rem 0; overflow-x: auto } figcaption { font-size: .9rem }
img { display: block; max-width: 100%; max-height: 36rem; background: white }
@media (max-width: 44rem) {
  img { max-width: none } .lane { width: 30vw } th, td { padding: .3rem .4rem } td:first-child { min-width: 5.5rem }
  .stacks td:first-child { min-width: 0 }
  .stacks thead, .stacks td:empty { display: none } .stacks, .stacks tbody, .stacks caption { display: block }
  .stacks tr { display: block; border: 1px solid var(--line); margin: .6rem 0 }
  .stacks td { display: flow-root; border: 0; padding-left: 8.5rem; text-align: left; white-space: normal }
  .stacks td::before { content: attr(data-title); float: left; width: 7.4rem; margin-left: -7.9rem; opacity: .8 }
}
@media print { body { max-width: none; font-size: 9pt } tr, figure { break-inside: avoid } h2 { break-after: avoid } }
"""


def clean(text: str) -> str:
    """Return a text with escapes for what no page can hold, or would not show; its lines stay."""
    return shown(text, but="\t\n\r")


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
            E.meta({"http-equiv": "Content-Security-Policy", "content": _POLICY}),
            E.meta({"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            E.title(title),
            E.style(_STYLE),
        ),
        E.body(E.h1(*verdict), E.p({"class": "title"}, title), *_contents(sections), *content),
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
    return [E.code(part) if place % 2 else part for place, part in enumerate(text.split("`"))]


def section(title: str, *content: Content) -> Element:
    """Return a part of a page under its own title."""
    return E.section(E.h2(title), *content)


def note(text: str) -> Element:
    """Return a remark."""
    return E.p({"class": "note"}, text)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    numbers: Sequence[str] = (),
    stacks: bool = True,
    caption: str = "",
) -> Element:
    """Return a table; ``numbers`` are the columns set to the right.

    On a narrow screen each row becomes a list, unless the rows are so short that the table need not stack them.
    """
    styles = [{"class": "number"} if column in numbers else {} for column in columns]
    head = E.tr(*(E.th(style, column, scope="col") for style, column in zip(styles, columns, strict=True)))
    body = (
        E.tr(
            *(
                E.td(style, {"data-title": clean(column)}, cell)
                for style, column, cell in zip(styles, columns, row, strict=True)
            )
        )
        for row in rows
    )
    above = [E.caption(caption)] if caption else []
    return E.table({"class": "stacks"} if stacks else {}, *above, E.thead(head), E.tbody(*body))


def mark(word: str, tone: Tone) -> Element:
    """Return a word that says how well something went, with a sign and a colour that say it too."""
    return E.span({"class": f"mark {tone}"}, f"{SIGNS[tone]}\u00a0{word}")
