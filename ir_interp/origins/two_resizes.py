"""Images that were resized twice: to a usual size first, then to the size of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import SpecError
from ir_interp.library_registry import load
from ir_interp.origins.layouts import PLAIN, Layout, Preparation, operation, predicted, whole
from ir_interp.origins.library_calls import known_calls
from ir_interp.origins.registration import corner
from ir_interp.resize_op import ResizeOp
from ir_interp.views.likeness import resized

# Sides of the inputs of common classifiers and detectors.
_SQUARES = (224, 256, 320, 384, 416, 448, 512, 640, 768, 1024)
_FACTORS = (2, 4)  # of an image that is shrunk in steps, and of the result
_MOST = 2**22  # values of an image; each call resizes all of a larger one first, for seconds
_SIZES, _CALLS = 2, 4  # earlier resizes after which every call is tried: sizes, and calls for each
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
        name: min(_distance(op, rule(x, after), proxies, x, after) for op in proxies) for name, rule in rules.items()
    }
    for name in sorted(sizes, key=lambda name: sizes[name])[:_SIZES]:
        distances = [_distance(op, rules[name](x, after), proxies, x, after) for op in calls]
        ranked = [calls[place] for place in np.argsort(distances, kind="stable")]
        firsts = (_first(prepared, op, name, rules[name], after) for op in ranked)
        yield from islice(_different(firsts, before), _CALLS)


Rule = Callable[[Array, Array], tuple[int, int]]


def _rules() -> Iterator[tuple[str, Rule]]:
    """Yield the usual first sizes of images, by name."""
    for side in _SQUARES:
        yield f"{side}x{side}", partial(_square, side)
        yield f"a shorter side of {side}", partial(_by_side, min, side)
        yield f"a longer side of {side}", partial(_by_side, max, side)
    for factor in _FACTORS:
        yield f"1/{factor}", partial(_scaled, 1 / factor, 0)
        yield f"{factor} times the result", partial(_scaled, factor, 1)


def _square(side: int, *images: Array) -> tuple[int, int]:
    return side, side


def _by_side(choose: Callable[..., int], side: int, *images: Array) -> tuple[int, int]:
    return _scaled(side / choose(images[0].shape[:2]), 0, *images)


def _scaled(factor: float, place: int, *images: Array) -> tuple[int, int]:
    """Return the size of the image before or after its resize, times a factor, rounded down."""
    height, width = (max(1, math.floor(length * factor + 1e-9)) for length in images[place].shape[:2])
    return height, width


def _distance(op: ResizeOp, sizes: tuple[int, int], proxies: Sequence[ResizeOp], x: Array, after: Array) -> float:
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
