"""Steps around a resize: crops, scale factors, letterboxes, and an earlier resize, found from the images.

Registration places an image best whatever the call, by means over the areas of result pixels. The size of a centre crop
before or after the resize is found by trying every one. Factors are simple ones, and those that keep the aspect ratio.
Letterboxed images are resized to fit, and padded with one colour. An earlier resize is to a usual size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product

import numpy as np

from ir_interp.errors import SpecError
from ir_interp.libraries import load
from ir_interp.origins.layouts import (
    PLAIN,
    Box,
    Layout,
    Piece,
    Preparation,
    Steps,
    known_calls,
    operation,
    predicted,
    whole,
)
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.views.likeness import resized

_SIDE = 32  # of the compared piece: a corner, where other sizes move pixels most
Places = Callable[[Array, int, int], Array]
"""Returns the positions of outputs in input pixels, for an axis of one size resized to another."""
_CORNERS: dict[str, Places] = {
    "half pixel": lambda i, length, size: (i + 0.5) * length / size,
    "asymmetric": lambda i, length, size: i * length / size + 0.5,
    "corners": lambda i, length, size: i * (length - 1) / max(size - 1, 1) + 0.5,
}
_POINT = 0.01  # a copy, as the mean of a small area
_WAYS = (
    (None, "half pixel"),  # filters as wide as an output
    (1.0, "half pixel"),  # linear interpolation
    (1.0, "corners"),
    (_POINT, "half pixel"),
    (_POINT, "asymmetric"),
)
"""Widths of areas, in pixels of the image, and their positions: most calls resemble one of these."""


def likeliest(layouts: Sequence[Layout], before: Array, after: Array, count: int) -> list[Layout]:
    """Return the layouts nearest to a result, ``count`` by each way to compare them."""
    sums = _integral(before)
    chosen: dict[int, None] = {}
    for width, places in _WAYS:
        ranked = sorted(
            (_misfit(sums, layout, after, width, _CORNERS[places]), place) for place, layout in enumerate(layouts)
        )
        chosen |= dict.fromkeys(place for _, place in ranked[:count])
    return [layouts[place] for place in chosen]


def corner(target: Array) -> Piece:
    """Return the corner piece of an image with the most contrast."""
    rows, columns = ({(0, min(_SIDE, length)), (max(length - _SIDE, 0), length)} for length in target.shape[:2])
    pieces = [(slice(*down), slice(*across)) for down in sorted(rows) for across in sorted(columns)]
    return max(pieces, key=lambda piece: float(target[piece].std()))


def _misfit(sums: Array, layout: Layout, after: Array, width: float | None, places: Places) -> float:
    target = after[layout.place]
    piece = corner(target)
    edges = [_areas(layout, axis, part, width, places) for axis, part in enumerate(piece)]
    means = _means(sums, *edges)
    return float(np.abs(means - target[piece].reshape(means.shape)).mean())


def _areas(layout: Layout, axis: int, part: slice, width: float | None, places: Places) -> tuple[Array, Array]:
    """Return the starts and ends of the areas of some rows or columns of the result, in pixels of the image."""
    length, size = layout.x.shape[axis], layout.sizes[axis]
    half = max(length / size, 1.0) / 2 if width is None else width / 2
    middle = places(np.arange(part.start, part.stop) + layout.window[axis], length, size)
    # An area beyond the edge is moved inside, so that it covers as many pixels as the others.
    middle = np.clip(middle, half, length - half) + layout.origin[axis]
    return middle - half, middle + half


def _integral(x: Array) -> Array:
    """Return the sums of all pixels above and to the left of each, [height + 1, width + 1, channels]."""
    # float64 holds the sum of 2**53 / 255 bytes, more than any image has.
    deep = x.reshape(*x.shape[:2], -1).astype(np.float64)
    return np.pad(deep.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0), (0, 0)))


def _means(sums: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]) -> Array:
    """Return the means of areas whose edges may lie within pixels."""
    first, second = (np.concatenate(edges) for edges in (rows, columns))
    corners = _at(sums, first, second).reshape(2, rows[0].size, 2, columns[0].size, -1)
    totals = corners[1, :, 1] - corners[0, :, 1] - corners[1, :, 0] + corners[0, :, 0]
    size = (rows[1] - rows[0])[:, None] * (columns[1] - columns[0])
    return np.asarray(totals / size[:, :, None])


def _at(sums: Array, rows: Array, columns: Array) -> Array:
    """Return interpolated sums at fractional positions, which are exact since sums grow linearly within a pixel."""
    (top, below, down), (left, right, across) = (
        _around(places, length - 1) for places, length in zip((rows, columns), sums.shape[:2], strict=True)
    )
    upper, lower = (
        sums[row[:, None], left] * (1 - across) + sums[row[:, None], right] * across for row in (top, below)
    )
    return np.asarray(upper * (1 - down[:, None]) + lower * down[:, None])


def _around(places: Array, last: int) -> tuple[Array, Array, Array]:
    """Return the pixel edges before and after positions, and the distances from the first."""
    lower = np.clip(np.floor(places).astype(np.intp), 0, last)
    return lower, np.minimum(lower + 1, last), np.clip(places - lower, 0.0, 1.0)[:, None]


_LARGEST = 2.0  # largest ratio of an image to a result that is a centre crop of it
_SMALLEST = 0.4  # smallest centre crop, as a share of the image
_BEST = 2  # layouts by each way to compare them, then roundings of these
_OFFSETS: dict[str, Callable[[int], int]] = {
    "": lambda rest: round(rest / 2),  # torchvision, timm: half to even
    ", offset rounded down": lambda rest: rest // 2,
    ", offset rounded up": lambda rest: (rest + 1) // 2,
}
Lengths = Callable[[tuple[int, ...], int], tuple[int, int]]
"""Returns a height and a width with the aspect ratio of a shape, for the length of one side."""


def fitted(before: Array, after: Array) -> list[Steps]:
    """Return the crop of ``ImageOps.fit``: the largest box of the result's aspect ratio in the middle, not in pixels.

    The resize reads the pixels around it, too, so that its borders are not those of a crop; but nearest neighbours are
    those of a crop as well, by any library, so the crop of the nearest pixels follows.
    """
    box = _fitted_box(before, after)
    if box is None:
        return []
    side = max(1, round(min(stop - start for start, stop in box)))
    kind = "a square of {}" if after.shape[0] == after.shape[1] else "aspect ratio of the result, shorter side {}"
    crops = _rounded(_crop_of_image, _BOXES[kind], side, f"centre crop, {kind}")
    return [Steps(layout=_fit, text="ImageOps.fit"), *crops]


def _fit(before: Array, after: Array) -> Layout | None:
    """Return the layout of a box that is smaller than the image."""
    box = _fitted_box(before, after)
    sizes = after.shape[0], after.shape[1]
    return None if box is None else Layout(x=before, sizes=sizes, place=whole(after), box=box)


def _fitted_box(before: Array, after: Array) -> Box | None:
    """Return the box of ``ImageOps.fit``, its edges computed as Pillow does; None if it is the whole image."""
    (height, width), (rows, columns) = before.shape[:2], after.shape[:2]
    ratio, target = width / height, columns / rows
    if ratio == target:
        return None
    crop_width, crop_height = (target * height, height) if ratio >= target else (width, width / target)
    left, top = (width - crop_width) * 0.5, (height - crop_height) * 0.5
    return (top, top + crop_height), (left, left + crop_width)


def cropped(before: Array, after: Array) -> list[Steps]:
    """Return the likeliest ways in which a result is a centre crop of an image, taken after its resize or before it."""
    every = (_resized_then_cropped(before, after), _cropped_then_resized(before, after))
    return [steps for kind in every for steps in _nearest(kind, before, after)]


Rounded = Sequence[Steps]
"""The same crop with its offset rounded in each way; the first represents all of them."""


def _nearest(every: Iterable[Rounded], before: Array, after: Array) -> list[Steps]:
    """Return the crops nearest to the result: of each size the first rounding, then of the best sizes all roundings."""
    by_first = {those[0]: those for those in every}
    sizes = _chosen(by_first, before, after)
    return _chosen([steps for first in sizes for steps in by_first[first]], before, after)


def _chosen(every: Iterable[Steps], before: Array, after: Array) -> list[Steps]:
    """Return the steps whose layouts are nearest to the result, without duplicates."""
    laid_out = [(layout, steps) for steps in every if (layout := steps.layout(before, after)) is not None]
    different = {layout.key: (layout, steps) for layout, steps in reversed(laid_out)}
    chosen = likeliest([layout for layout, _ in different.values()], before, after, _BEST)
    return [steps for layout, steps in different.values() if layout in chosen]


def _rounded(lay_out: Callable[..., Layout | None], size: object, side: int, text: str) -> Rounded:
    return [
        Steps(layout=partial(lay_out, size, side, offset), text=f"{text.format(side)}{rounding}")
        for rounding, offset in _OFFSETS.items()
    ]


def _shorter_cut(shape: tuple[int, ...], side: int) -> tuple[int, int]:
    height, width = shape[:2]
    return (side, int(side * width / height)) if height <= width else (int(side * height / width), side)


def _shorter_rounded(shape: tuple[int, ...], side: int) -> tuple[int, int]:
    height, width = shape[:2]
    return (side, round(side * width / height)) if height <= width else (round(side * height / width), side)


def _square(shape: tuple[int, ...], side: int) -> tuple[int, int]:
    return side, side


_SIZES: dict[str, Lengths] = {
    "shorter side resized to {}": _shorter_cut,
    "shorter side resized to {}, the longer rounded": _shorter_rounded,
    "resized to {0}x{0}": _square,
}


def _resized_then_cropped(before: Array, after: Array) -> Iterator[Rounded]:
    for kind, lengths in _SIZES.items():
        for side in range(min(after.shape[:2]), int(max(after.shape[:2]) * _LARGEST) + 1):
            yield _rounded(_crop_of_result, lengths, side, f"{kind}, centre crop")


def _crop_of_result(
    lengths: Lengths, side: int, offset: Callable[[int], int], before: Array, after: Array
) -> Layout | None:
    """Return the layout of the centre of a resized image; None unless that is larger than the result."""
    sizes = lengths(before.shape, side)
    rest = [size - length for size, length in zip(sizes, after.shape[:2], strict=True)]
    if min(rest) < 0 or not any(rest):
        return None
    top, left = map(offset, rest)
    return Layout(x=before, sizes=sizes, window=(top, left), place=whole(after))


_BOXES: dict[str, Callable[[Array, Array, int], tuple[int, int]]] = {
    "a square of {}": lambda before, after, side: (side, side),
    "aspect ratio kept, shorter side {}": lambda before, after, side: _shorter_cut(before.shape, side),
    "aspect ratio of the result, shorter side {}": lambda before, after, side: _shorter_rounded(after.shape, side),
}


def _cropped_then_resized(before: Array, after: Array) -> Iterator[Rounded]:
    shortest = min(before.shape[:2])
    for kind, box in _BOXES.items():
        for side in range(max(1, int(shortest * _SMALLEST)), shortest + 1):
            yield _rounded(_crop_of_image, box, side, f"centre crop, {kind}")


def _crop_of_image(
    box: Callable[[Array, Array, int], tuple[int, int]],
    side: int,
    offset: Callable[[int], int],
    before: Array,
    after: Array,
) -> Layout | None:
    """Return the layout of the resized centre of an image; None unless it is smaller than the image."""
    height, width = box(before, after, side)
    rest = before.shape[0] - height, before.shape[1] - width
    if min(rest) < 0 or not any(rest):
        return None
    top, left = map(offset, rest)
    middle = before[top : top + height, left : left + width]
    return Layout(x=middle, origin=(top, left), sizes=(after.shape[0], after.shape[1]), place=whole(after))


_DIGITS = (1, 2, 3)
_EQUAL, _UNEQUAL = 6, 3  # simple factors that are tried for both axes at once, and for each axis


def factored(before: Array, after: Array) -> list[Steps]:
    """Return resizes by factors that give an image the size of the result, the simplest factors first."""
    lengths, sizes = before.shape[:2], after.shape[:2]
    written = [list(_decimals(length, size)) for length, size in zip(lengths, sizes, strict=True)]
    ratios = [size / length for length, size in zip(lengths, sizes, strict=True)]
    equal = [*[factor for factor in written[0] if factor in written[1]][:_EQUAL], *ratios]
    pairs = [(factor, factor) for factor in equal]
    first, second = ((factor, *those[:_UNEQUAL]) for factor, those in zip(ratios, written, strict=True))
    pairs += [(one, other) for one in first for other in second]
    exact = all(float(factor * length).is_integer() for factor, length in zip(ratios, lengths, strict=True))
    return [_by(pair) for pair in dict.fromkeys(pairs) if not (exact and pair == tuple(ratios))]


def _decimals(length: int, size: int) -> Iterator[float]:
    """Yield factors with few digits, and thirds, that give one size from another under any rounding."""
    yield from (third / 3 for third in range(1, 9) if third % 3 and abs(length * third / 3 - size) < 1)
    seen = set()
    for digits in _DIGITS:
        unit = 10**digits
        for count in range(math.floor((size - 1) / length * unit), math.ceil((size + 1) / length * unit) + 1):
            factor = count / unit
            if factor > 0 and factor not in seen and abs(length * factor - size) < 1:
                seen.add(factor)
                yield factor


def _by(scales: tuple[float, float]) -> Steps:
    def layout(before: Array, after: Array) -> Layout:
        return Layout(x=before, sizes=(after.shape[0], after.shape[1]), place=whole(after), scales=scales)

    return Steps(layout=layout, text=f"by factors fy={scales[0]:.6g}, fx={scales[1]:.6g}")


_ROUNDINGS: dict[str, Callable[[float], int]] = {"": round, ", sizes rounded down": int}
_PLACES: dict[str, Callable[[int], int]] = {
    "centred": lambda rest: rest // 2,
    "centred, the odd pixel before it": lambda rest: rest - rest // 2,
    "in the upper left corner": lambda rest: 0,
    "in the lower right corner": lambda rest: rest,
}
"""Offset of an image, from the number of pixels that remain."""
_BLOCK = 16  # pixels of a JPEG whose colours are stored together


def padded(tolerance: float) -> Iterator[Steps]:
    """Yield the possible positions of an image in a result; colours differ by ``tolerance`` at most."""
    for (place, start), (rounding, length) in product(_PLACES.items(), _ROUNDINGS.items()):
        yield Steps(layout=_fitted(start, length, tolerance), text=f"fitted, {place}, padded{rounding}")
    yield Steps(layout=_detected(tolerance), text="padded")


def content(after: Array, tolerance: float) -> Piece | None:
    """Return the position of an image within one colour, that of a corner; None if no edge has one colour."""
    flat = after.reshape(*after.shape[:2], -1).astype(np.float64)
    for corner in (flat[-1, -1], flat[0, 0]):
        other = (np.abs(flat - corner) > tolerance).any(axis=2)
        if other.any():
            rows, columns = (np.flatnonzero(other.any(axis=axis)) for axis in (1, 0))
            place = slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
            if place != whole(after):
                return place
    return None


def _fitted(
    start: Callable[[int], int], rounded: Callable[[float], int], tolerance: float
) -> Callable[[Array, Array], Layout | None]:
    def layout(before: Array, after: Array) -> Layout | None:
        scale = min(size / length for size, length in zip(after.shape[:2], before.shape[:2], strict=True))
        height, width = (max(1, rounded(length * scale)) for length in before.shape[:2])
        top, left = (start(size - length) for size, length in zip(after.shape[:2], (height, width), strict=True))
        return _placed(before, after, (slice(top, top + height), slice(left, left + width)), tolerance)

    return layout


def _detected(tolerance: float) -> Callable[[Array, Array], Layout | None]:
    """Return the layout of an image that begins where another colour than that of a corner begins."""

    def layout(before: Array, after: Array) -> Layout | None:
        place = content(after, tolerance)
        return None if place is None else _placed(before, after, place, tolerance)

    return layout


def _placed(before: Array, after: Array, place: Piece, tolerance: float) -> Layout | None:
    """Return the layout of an image at a position; None if the rest has several colours, or there is none."""
    if place == whole(after) or not _rest(after, place, tolerance):
        return None
    height, width = (part.stop - part.start for part in place)
    return Layout(x=before, sizes=(height, width), place=place)


def _rest(after: Array, place: Piece, tolerance: float) -> bool:
    """Return whether everything around a position has one colour, except in JPEG blocks on its border."""
    margin = _BLOCK if tolerance else 0
    rows, columns = (slice(max(part.start - margin, 0), part.stop + margin) for part in place)
    outside = np.ones(after.shape[:2], bool)
    outside[rows, columns] = False
    flat = after.reshape(*after.shape[:2], -1).astype(np.float64)[outside]
    return not flat.size or bool((np.ptp(flat, axis=0) <= 2 * tolerance).all())


# Sides of the inputs of common classifiers and detectors.
_SQUARES = (224, 256, 320, 384, 416, 448, 512, 640, 768, 1024)
_FACTORS = (2, 4)  # of an image that is shrunk in steps, and of the result
_MOST = 2**22  # values of an image; each call resizes all of a larger one first, for seconds
_MOST_SIZES, _CALLS = 2, 4  # earlier resizes after which every call is tried: sizes, and calls for each
_PROXIES = ("pillow:bilinear", "opencv:linear", "opencv:nearest")
"""Calls that represent all others when sizes are compared: filtered, not filtered, copied."""


def resized_before(prepared: Preparation, before: Array, after: Array) -> Iterator[Preparation]:
    """Yield earlier resizes by every call, to the sizes that the representative calls show to be likeliest."""
    x = prepared.of(before)
    if x.size > _MOST:
        return
    layout = Layout(x=x, sizes=(after.shape[0], after.shape[1]), place=whole(after))
    calls = [operation(call.spec, call.calls[0]) for call in known_calls([layout])]
    proxies = [operation(load(text, dtype=x.dtype.name).spec) for text in _PROXIES]
    rules = {name: rule for name, rule in _rules() if rule(x, after) not in (x.shape[:2], after.shape[:2])}
    sizes = {
        name: min(_distance_of_means(op, rule(x, after), proxies, x, after) for op in proxies)
        for name, rule in rules.items()
    }
    for name in sorted(sizes, key=lambda name: sizes[name])[:_MOST_SIZES]:
        distances = [_distance_of_means(op, rules[name](x, after), proxies, x, after) for op in calls]
        ranked = [calls[place] for place in np.argsort(distances, kind="stable")]
        firsts = (_first(prepared, op, name, rules[name], after) for op in ranked)
        yield from islice(_different(firsts, before), _CALLS)


Rule = Callable[[Array, Array], tuple[int, int]]


def _rules() -> Iterator[tuple[str, Rule]]:
    """Yield the usual first sizes of images, by name."""
    for side in _SQUARES:
        yield f"{side}x{side}", partial(_to_square, side)
        yield f"a shorter side of {side}", partial(_by_side, min, side)
        yield f"a longer side of {side}", partial(_by_side, max, side)
    for factor in _FACTORS:
        yield f"1/{factor}", partial(_scaled, 1 / factor, 0)
        yield f"{factor} times the result", partial(_scaled, factor, 1)


def _to_square(side: int, *images: Array) -> tuple[int, int]:
    return side, side


def _by_side(choose: Callable[..., int], side: int, *images: Array) -> tuple[int, int]:
    return _scaled(side / choose(images[0].shape[:2]), 0, *images)


def _scaled(factor: float, place: int, *images: Array) -> tuple[int, int]:
    """Return the size of the image before or after its resize, times a factor, rounded down."""
    height, width = (max(1, math.floor(length * factor + 1e-9)) for length in images[place].shape[:2])
    return height, width


def _distance_of_means(
    op: ResizeOp, sizes: tuple[int, int], proxies: Sequence[ResizeOp], x: Array, after: Array
) -> float:
    """Return the distance of a result from an image resized by a call, then by a proxy; infinity if neither can run."""
    distances, piece = [math.inf], corner(after)
    with suppress(SpecError):
        layout = PLAIN.layout(resized(op, x, sizes, None), after)
        images = (predicted(proxy.spec, layout, piece) for proxy in proxies) if layout is not None else ()
        distances += [float(np.abs(y.astype(np.float64) - after[piece]).mean()) for y in images if y is not None]
    return min(distances)


def _different(every: Iterable[Preparation], before: Array) -> Iterator[Preparation]:
    """Yield calls that produce another image than the previous ones, since versions of a library often agree."""
    seen = set()
    for candidate in every:
        with suppress(SpecError):
            image = candidate.of(before).tobytes()
            if image not in seen:
                seen.add(image)
                yield candidate


def _first(prepared: Preparation, op: ResizeOp, name: str, rule: Rule, after: Array) -> Preparation:
    """Return the preparation that resizes by a call."""

    def of(x: Array) -> Array:
        image = prepared.of(x)
        return resized(op, image, rule(image, after), None)

    text = f"after a resize to {name} by {op.name}"
    return Preparation(of=of, text=", ".join(filter(None, (prepared.text, text))), first=op)
