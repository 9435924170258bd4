"""Every call of an image library that can make one image of another, by what it computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import ReadError, SpecError, spelled
from ir_interp.library_registry import get, names
from ir_interp.plan.libraries.pillow_reduce import reduced
from ir_interp.spec import Reduce, ResizeSpec, Sizes
from ir_interp.translation.dialect import Context
from ir_interp.translation.library_dialect import Library

Array = NDArray[Any]
Pair = tuple[Array, Array]
"""An image before, and after it was resized; channels last."""

Known = dict[ResizeSpec, tuple[tuple[str, ...], str]]
"""Resizes, each with its calls, and why not all of its bytes are known."""

_MODES = {1: ("L",), 2: ("LA", "L"), 3: ("RGB",), 4: ("RGBA", "RGB")}  # by the number of channels
_DEEP_MODES = {"uint16": ("I;16",), "int32": ("I",), "float32": ("F",)}


def known_calls(pairs: Sequence[Pair]) -> Known:
    """Return every resize of libraries for such images, with its calls, and why its bytes are not all known."""
    found: Known = {}
    x = pairs[0][0]
    for name in names():
        library = get(name)
        for version in library.dialect.versions:
            context = Context(version=version, dtype=x.dtype.name)
            numbers: tuple[Mapping[str, Any], ...] = ({}, *library.usual)
            for attributes in (each for given in numbers for each in library.dialect.attribute_sets(version, given)):
                if _suits(library, attributes, x):
                    with suppress(SpecError, ReadError):
                        spec = effective(library.dialect.read(attributes, context), pairs)
                        calls, _ = found.get(spec, ((), ""))
                        reason = library.approximate(attributes, context)
                        found[spec] = ((*calls, _text(library, version, attributes)), reason)
    return {spec: (tuple(_brief(calls)), reason) for spec, (calls, reason) in found.items()}


def effective(spec: ResizeSpec, pairs: Sequence[Pair]) -> ResizeSpec:
    """Return a resize without blocks that are averaged before, where that happens to none of the images."""
    if not isinstance(spec.before, Reduce):
        return spec
    shapes = [(before.shape, replace(spec, target=Sizes(after.shape[:2]))) for before, after in pairs]
    return spec if any(reduced(each, shape) for shape, each in shapes) else replace(spec, before=None)


def _suits(library: Library, attributes: dict[str, Any], x: Array) -> bool:
    """Say whether a call is one for images like ``x``."""
    if "mode" in library.dialect.vocabulary and library.first != "mode":
        channels = x.shape[2] if x.ndim == 3 else 1
        modes = _DEEP_MODES.get(x.dtype.name) or _MODES.get(channels, ())
        return attributes["mode"] in modes
    is_pillow = attributes.get("backend") == "pil"
    return not is_pillow and not attributes.get("recompute_scale_factor") and attributes.get("rank", 4) == 4


def _text(library: Library, version: int, attributes: dict[str, Any]) -> str:
    """Return a call as text, without what has its default."""
    defaults = {name: value for name, (value, _) in library.dialect.defaults.items()}
    rest = [
        f",{name}={spelled(value)}"
        for name, value in attributes.items()
        if name != library.first and value != defaults.get(name)
    ]
    return f"{library.name}@{version}:{attributes[library.first]}{''.join(rest)}"


def _brief(calls: Sequence[str]) -> Iterator[str]:
    """Yield calls, the shortest of each library and word; without its version where every one computes so."""
    shortest: dict[tuple[str, str], str] = {}
    for call in sorted(calls, key=len):
        library, words = call.split("@")[0], call.partition(":")[2]
        shortest.setdefault((library, words.split(",")[0]), words)
    for (library, _), words in shortest.items():
        versions = [version for version in get(library).dialect.versions if f"{library}@{version}:{words}" in calls]
        every = len(versions) == len(get(library).dialect.versions)
        yield f"{library}:{words}" if every else f"{library}@{versions[0]}:{words}"
