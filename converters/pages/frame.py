"""The parts that all pages share: style, script, tables and marks. A page is one file that loads nothing.

Without its script all of it can be read; the script sorts tables and filters resizes, and a policy allows no other.
Elements are built, never written as text, so that whatever a model is called stays text. A page ends with how it was
made: when, by which command, of which files, on which inputs.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

from lxml import etree
from lxml.builder import ElementMaker

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import opened
from ir_interp.files.writing import replacing
from ir_interp.plain_text import SIGNS, Tone, printable
from ir_interp.resize_op import shape_text
from ir_interp.version import versions

from ..sources.model_description import Tensor
from ..sources.model_summary import brief, parts

STYLE = """
:root { color-scheme: light dark; --line: #8888; --shade: #8882; --good: #176f2c; --doubt: #8a5300; --bad: #b3192b;
  --quiet: #555; background: Canvas; color: CanvasText }
@media (prefers-color-scheme: dark) { :root { --good: #6fd388; --doubt: #f0b35a; --bad: #ff8a92; --quiet: #bbb } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 84rem; margin: auto; padding: 1rem; overflow-wrap: anywhere }
h1 { font-size: 1.35rem; line-height: 1.3; margin: .3rem 0 }
nav ul { padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none }
h2 { font-size: 1.25rem; margin-top: 2.2rem } h3 { display: inline; font-size: 1rem }
summary h2 { display: inline }
.title, .note, small, caption, figcaption { color: var(--quiet) } .title { margin: 0 0 1rem }
.note, small { font-size: .85rem } small { display: block }
caption { text-align: left; padding-bottom: .2rem } caption, figcaption { font-size: .9rem }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
thead th { background: var(--shade) } td:first-child { min-width: 8rem }
.number { text-align: right; white-space: nowrap }
code span { white-space: nowrap }
.mark { font-weight: 600 } .mark, th { overflow-wrap: break-word }
.good { color: var(--good) } .doubt { color: var(--doubt) } .bad { color: var(--bad) }
.lane { width: min(40rem, 50vw) } .bar { border-top: .9rem solid; min-width: 2px; margin-top: .25rem; opacity: .7 }
section > details { border-bottom: 1px solid var(--line); padding: .4rem 0 } summary { cursor: pointer }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: .3rem;
  padding: .1rem .6rem; cursor: pointer } button[aria-pressed=true] { background: var(--shade); font-weight: 600 }
th button { border: 0; padding: 0; font-weight: inherit; text-align: inherit }
th[aria-sort=ascending] button::after { content: " ▲" } th[aria-sort=descending] button::after { content: " ▼" }
.filter { display: flex; flex-wrap: wrap; gap: .4rem; margin: .8rem 0 } [hidden] { display: none !important }
figure { margin: .8rem 0; overflow-x: auto }
img { display: block; max-width: 100%; max-height: 36rem; background: white }
svg { display: block; max-width: 100%; height: auto; font: 13px system-ui, sans-serif }
svg text { fill: currentColor; text-anchor: middle } svg .about { font-size: 11px }
svg path, svg rect { fill: none; stroke: currentColor } svg .resize { fill: var(--shade); stroke-width: 2.5 }
@media (prefers-color-scheme: dark) { img.drawing { filter: invert(.87) } }
@media (max-width: 44rem) {
  img, svg.wide { max-width: none } .lane { width: 30vw }
  th, td { padding: .3rem .4rem } td:first-child { min-width: 5.5rem }
  .stacks td:first-child { min-width: 0 }
  .stacks thead, .stacks td:empty { display: none } .stacks, .stacks tbody, .stacks caption { display: block }
  .stacks tr { display: block; border: 1px solid var(--line); margin: .6rem 0 }
  .stacks td { display: flow-root; border: 0; padding-left: 8.5rem; text-align: left; white-space: normal }
  .list thead { display: none } .list tr { display: block; border-bottom: 1px solid var(--line); padding: .4rem 0 }
  .list td { display: block; border: 0; padding: 0 } .list td:first-child { font-weight: 600 }
  .stacks td::before { content: attr(data-title); float: left; width: 7.4rem; margin-left: -7.9rem;
    color: var(--quiet) }
}
@media print { body { max-width: none; font-size: 9pt } tr, figure { break-inside: avoid } h2 { break-after: avoid }
  .filter { display: none } }
"""

SCRIPT = """
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const button = (content, act) => {
  const made = document.createElement("button");
  made.type = "button"; made.append(...content); made.addEventListener("click", act);
  return made;
};
const value = (row, column) => row.cells[column].textContent.trim();
const compare = (a, b) => a - b || (isNaN(a - b) ? a.localeCompare(b, "en", { numeric: true }) : 0);
for (const table of all("table.sorts")) {
  const heads = all("thead th", table), body = table.tBodies[0];
  heads.forEach((head, column) => head.append(button([...head.childNodes], () => {
    const falls = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(each => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)));
    body.append(...(falls ? rows.reverse() : rows));
  })));
}
const marked = all("[data-verdicts]");
const words = [...new Set(marked.flatMap(each => each.dataset.verdicts.split(",")))];
if (words.length > 1 && marked.length > 1) {
  const group = document.createElement("div");
  group.className = "filter"; group.setAttribute("role", "group"); group.setAttribute("aria-label", "Show resizes");
  for (const word of ["all", ...words]) {
    group.append(button([word], event => {
      for (const each of marked) each.hidden = word !== "all" && !each.dataset.verdicts.split(",").includes(word);
      for (const each of group.children) each.setAttribute("aria-pressed", each === event.target);
    }));
  }
  group.firstChild.setAttribute("aria-pressed", "true");
  (marked[0].closest("table") ?? marked[0]).before(group);
}
addEventListener("beforeprint", () => all("details").forEach(each => { each.open = true; }));
"""

_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode("ascii")

POLICY = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'"
"""The policy of a page: it may show the pictures that it holds, and run the one script."""


Element: TypeAlias = etree._Element
"""An element of a page."""

Content: TypeAlias = str | Element
"""Content of a page."""

Item = TypeVar("Item")
_FITS = 24  # characters of a word that fit one line of a phone
_FEW = 4  # sections that need no links to them, and files that need no fold


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


def page(title: str, verdict: Sequence[Content], *content: Content, lead: Sequence[Element] = ()) -> Element:
    """Return a whole page: the verdict, its title, links to its sections where these are many, and its content.

    The ``lead`` stands before the links.
    """
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
            E.main(E.h1(*verdict), E.p({"class": "title"}, title), *lead, *_contents(sections), *content),
            E.script(SCRIPT),
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
    links = (E.li(E.a(part.findtext(".//h2") or "", href=f"#{part.get('id')}")) for part in sections)
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


def folded_section(part: Element) -> Element:
    """Return a section that opens under its title."""
    title, *content = part
    return E.section(E.details(E.summary(title), *content))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The making of a page.

    ``models`` are what was read; of the first, ``shapes`` are the lengths on which it ran, by name, ``inputs`` the
    files that were given, and ``seed`` is that of all other values; None where nothing was run.
    """

    command: str = ""
    models: Sequence[Path] = ()
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    inputs: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    seed: int | None = None
    image: Path | None = None


def making(provenance: Provenance) -> Element:
    """Return the part of a page that tells how it was made."""
    files = [path for model in provenance.models for path in _parts(model)]
    files += [
        *(path for paths in provenance.inputs.values() for path in paths),
        *([provenance.image] if provenance.image else []),
    ]
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts = [
        ("date", when),
        *([("command", provenance.command)] if provenance.command else []),
        ("versions", versions()),
    ]
    facts += [(f"input {name}", text) for name, text in _inputs(provenance)]
    hashes = [row for path in dict.fromkeys(files) for row in _file(path)]
    return section(
        "How this page was made",
        table(("what", "value"), facts, stacks=False),
        *_hashes(hashes),
    )


def _hashes(rows: Sequence[Sequence[str]]) -> Iterator[Element]:
    """Yield the table of what was read, which opens if it is long."""
    files = table(("file", "bytes", "SHA-256"), rows, numbers=("bytes",))
    if len(rows) > _FEW:
        yield E.details(E.summary(f"{len(rows)} files"), files)
    elif rows:
        yield files


def examples(provenance: Provenance) -> Iterator[Element]:
    """Yield a remark on the sizes that dynamic dimensions of inputs had, if there are any."""
    sizes = (
        f"{tensor.name} {_example(tensor, provenance)}"
        for tensor in _tensors(provenance)
        if _example(tensor, provenance)
    )
    text = ", ".join(sizes)
    if text:
        yield note(f"Dynamic dimensions have example sizes here: {text}")


def _inputs(provenance: Provenance) -> Iterator[tuple[str, str]]:
    """Yield what each input of the first model was, where that was run."""
    for tensor in _tensors(provenance):
        yield tensor.name, f"{_shape(tensor, provenance)}, {_values(tensor, provenance)}"


def _tensors(provenance: Provenance) -> tuple[Tensor, ...]:
    """Return the inputs of the first model, where that was run and can be read again."""
    with suppress(IrInterpError):
        model = brief(provenance.models[0]) if provenance.seed is not None and provenance.models else None
        return model.inputs if model else ()
    return ()


def _shape(tensor: Tensor, provenance: Provenance) -> str:
    """Return the element type and shape of an input, and where dimensions are dynamic, the sizes that they had."""
    declared, example = str(tensor).removeprefix(f"{tensor.name}: "), _example(tensor, provenance)
    return f"{declared}, for example {example}" if example else declared


def _example(tensor: Tensor, provenance: Provenance) -> str:
    """Return the shape that an input had, if the model leaves it open; nothing otherwise."""
    ran = provenance.shapes.get(
        tensor.name, provenance.shapes.get("")
    )  # of an only input, options need not say the name
    return shape_text(tuple(ran)) if ran is not None and tuple(ran) != tensor.shape else ""


def _values(tensor: Tensor, provenance: Provenance) -> str:
    paths = provenance.inputs.get(tensor.name)
    return f"of {', '.join(path.name for path in paths)}" if paths else f"random, seed {provenance.seed}"


def _parts(model: Path) -> list[Path]:
    try:
        return parts(model)
    except IrInterpError:  # what cannot be read has a hash, too
        return [model]


def _file(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the size and the hash of a file, if it is there."""
    with suppress(OSError):
        with opened(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        yield str(path), f"{path.stat().st_size:,}", digest
