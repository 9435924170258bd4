"""A picture of the graph around a resize: what it reads, and what reads it, as SVG in the colours of the page."""

from __future__ import annotations

from collections.abc import Sequence

from .frame import E, Element, clean
from .surroundings import Neighbour, Surroundings

_WIDTH, _HEIGHT = 178, 46  # of a box
_ACROSS, _DOWN = 16, 34  # between boxes, between rows
_EDGE = 3  # around all, so that no line is cut
_MOST = 4  # boxes of a row
_FITTING = 2  # boxes of a row that a telephone shows
_LETTERS = 27  # that fit a box
_ARROW = 4  # half the width of an arrow's head


def picture(around: Surroundings, name: str) -> Element:
    """Return a figure of a resize between what it reads and what reads it; long names are shortened in their middle."""
    rows = [row for row in (_few(around.inputs), (around.resize,), _few(around.readers)) if row]
    width = max(map(len, rows)) * (_WIDTH + _ACROSS) - _ACROSS + 2 * _EDGE
    height = len(rows) * (_HEIGHT + _DOWN) - _DOWN + 2 * _EDGE
    places = [_places(len(row), width) for row in rows]
    tops = [_EDGE + place * (_HEIGHT + _DOWN) for place in range(len(rows))]
    boxes = [
        _box(neighbour, left, top, is_resize=neighbour is around.resize)
        for row, lefts, top in zip(rows, places, tops, strict=True)
        for neighbour, left in zip(row, lefts, strict=True)
    ]
    lines = [
        _line(start + _WIDTH / 2, top + _HEIGHT, end + _WIDTH / 2, below)
        for starts, ends, top, below in zip(places, places[1:], tops, tops[1:], strict=False)
        for start in starts
        for end in ends
    ]
    what = f"{name}: reads {_listed(around.inputs)}; {_listed(around.readers)} reads it"
    size = {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height)}
    # Wider pictures scroll on a telephone, where letters would become too small.
    wide = {"class": "wide"} if max(map(len, rows)) > _FITTING else {}
    drawn = E.svg({**size, **wide, "role": "img", "aria-label": clean(what)}, *lines, *boxes)
    return E.figure(E.figcaption("The graph around it"), drawn)


def _few(row: Sequence[Neighbour]) -> Sequence[Neighbour]:
    left = len(row) - _MOST + 1
    return row if left <= 1 else (*row[: _MOST - 1], Neighbour(title=f"and {left} more"))


def _listed(row: Sequence[Neighbour]) -> str:
    return ", ".join(" ".join(filter(None, (neighbour.title, neighbour.name))) for neighbour in _few(row)) or "nothing"


def _places(count: int, width: int) -> list[float]:
    """Return the left ends of the boxes of a row, in the middle of the picture."""
    left = (width - count * (_WIDTH + _ACROSS) + _ACROSS) / 2
    return [left + place * (_WIDTH + _ACROSS) for place in range(count)]


def _box(neighbour: Neighbour, left: float, top: float, *, is_resize: bool) -> Element:
    middle = f"{left + _WIDTH / 2:g}"
    frame = E.rect(x=f"{left:g}", y=f"{top:g}", width=f"{_WIDTH}", height=f"{_HEIGHT}", rx="6")
    texts = [E.text(_short(neighbour.title), x=middle, y=f"{top + 19:g}")]
    if neighbour.name:
        texts.append(E.text({"class": "about"}, _short(neighbour.name), x=middle, y=f"{top + 36:g}"))
    if is_resize:
        frame.set("class", "resize")
    return E.g(E.title(f"{neighbour.title} {neighbour.name}".strip()), frame, *texts)


def _line(x: float, y: float, end: float, below: float) -> Element:
    """Return an arrow from the bottom of a box to the top of one below."""
    bend, tip = (y + below) / 2, below - 2 * _ARROW
    head = f"M{end - _ARROW:g} {tip:g}L{end:g} {below:g}L{end + _ARROW:g} {tip:g}"
    return E.path(d=f"M{x:g} {y:g}C{x:g} {bend:g} {end:g} {bend:g} {end:g} {below:g}{head}")


def _short(text: str) -> str:
    half = _LETTERS // 2
    # The end of a name tells layers of a network apart, its beginning the part of the network.
    return text if len(text) <= _LETTERS else f"{text[:half]}…{text[-half:]}"
