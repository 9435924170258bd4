"""All library calls that can turn one image into another, grouped by what they compute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ir_interp.errors import ReadError, SpecError, spelled
from ir_interp.library_registry import get, names
from ir_interp.origins.layouts import Box, Layout, channels
from ir_interp.plan.libraries.pillow_reduce import reduced
from ir_interp.shapes import Shape
from ir_interp.spec import Reduce, ResizeSpec, Sizes, Step
from ir_interp.translation.dialect import Context
from ir_interp.translation.library_dialect import Library


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCall:
    """A library resize, its calls, and the reason if some of its bytes are unknown."""

    spec: ResizeSpec
    calls: tuple[str, ...]
    reason: str = ""


_MODES = {1: ("L",), 2: ("LA", "L"), 3: ("RGB",), 4: ("RGBA", "RGB")}  # by the number of channels
_DEEP_MODES = {"uint16": ("I;16",), "int32": ("I",), "float32": ("F",)}


def known_calls(layouts: Sequence[Layout]) -> list[KnownCall]:
    """Return every library resize for such images, with its calls; by factors or of a box, those that accept them."""
    x = layouts[0].x
    shapes = [(layout.x.shape, layout.sizes, layout.box) for layout in layouts]
    merged: dict[ResizeSpec, tuple[tuple[str, ...], str]] = {}
    for call in _every(x.dtype.name, channels(x)):
        if _needed(layouts) <= get(call.calls[0].split("@")[0]).dialect.numbers.keys():
            spec = effective(call.spec, shapes)
            spec = replace(spec, step=Step.RATIO) if layouts[0].scales is None else spec  # by sizes all steps are
            calls, _ = merged.get(spec, ((), ""))
            merged[spec] = ((*calls, *call.calls), call.reason)
    return [KnownCall(spec=spec, calls=tuple(_brief(calls)), reason=why) for spec, (calls, why) in merged.items()]


def _needed(layouts: Sequence[Layout]) -> set[str]:
    """Return the names of the arguments that a library must have for such layouts."""
    return {name for name in ("scales", "box") if any(getattr(layout, name) is not None for layout in layouts)}


@lru_cache(maxsize=8)
def _every(dtype: str, depth: int) -> tuple[KnownCall, ...]:
    """Return every call of each library version for images of an element type and a number of channels."""
    return tuple(
        call for name in names() for version in get(name).dialect.versions for call in _of(name, version, dtype, depth)
    )


def _of(name: str, version: int, dtype: str, depth: int) -> Iterator[KnownCall]:
    library, context = get(name), Context(version=version, dtype=dtype)
    numbers: tuple[Mapping[str, Any], ...] = ({}, *library.usual)
    for attributes in (
        attribute_set for target in numbers for attribute_set in library.dialect.attribute_sets(version, target)
    ):
        if _suits(library, attributes, dtype, depth):
            with suppress(SpecError, ReadError):
                spec = library.dialect.read(attributes, context)
                if len(spec.axes or ()) == 2:
                    calls = (_text(library, version, attributes),)
                    yield KnownCall(spec=spec, calls=calls, reason=library.approximate(attributes, context))


def effective(spec: ResizeSpec, shapes: Sequence[tuple[Shape, tuple[int, int], Box | None]]) -> ResizeSpec:
    """Return a resize without what has no effect for ``shapes``: the images that it accepts, and its block averages.

    These are the shapes of images, the sizes that they are resized to, and the box that is resized, if not all.
    """
    spec = replace(spec, images=None)
    if not isinstance(spec.before, Reduce):
        return spec
    targets = [(shape, replace(spec, target=Sizes(sizes), box=box)) for shape, sizes, box in shapes]
    return spec if any(reduced(target, shape) for shape, target in targets) else replace(spec, before=None)


def without_version(call: str) -> str:
    """Return a call as people write it: without its version and without arguments about the installation."""
    name, _, words = re.sub(r"@\d+", "", call).partition(":")
    first, *rest = words.split(",")
    stated = [part for part in rest if part.partition("=")[0] not in get(name).installation]
    return f"{name}:{','.join((first, *stated))}"


def versions(calls: Sequence[str], name: str) -> tuple[int, ...]:
    """Return the versions of a library in which some of ``calls`` are the call ``name``, the newest first."""
    known = get(name.partition(":")[0]).dialect.versions
    those = [re.search(r"@(\d+)", call) for call in calls if without_version(call) == name]
    return tuple(version for version in known if any(match is None or int(match[1]) == version for match in those))


def _suits(library: Library, attributes: dict[str, Any], dtype: str, depth: int) -> bool:
    """Return whether a call applies to images of an element type and a number of channels."""
    if "mode" in library.dialect.vocabulary and library.first != "mode":
        return attributes["mode"] in (_DEEP_MODES.get(dtype) or _MODES.get(depth, ()))
    is_pillow = attributes.get("backend") == "pil"
    return not is_pillow and not attributes.get("recompute_scale_factor") and attributes.get("rank", 4) == 4


def _text(library: Library, version: int, attributes: dict[str, Any]) -> str:
    """Return a call as text, without arguments that have their default value."""
    defaults = {name: value for name, (value, _) in library.dialect.defaults.items()}
    rest = [
        f",{name}={spelled(value)}"
        for name, value in attributes.items()
        if name != library.first and value != defaults.get(name)
    ]
    return f"{library.name}@{version}:{attributes[library.first]}{''.join(rest)}"


def _brief(calls: Sequence[str]) -> Iterator[str]:
    """Yield the shortest call of each library and word; without its version if every version computes the same."""
    shortest: dict[tuple[str, str], str] = {}
    for call in sorted(calls, key=len):
        library, words = call.split("@")[0], call.partition(":")[2]
        shortest.setdefault((library, words.split(",")[0]), words)
    for (library, _), words in shortest.items():
        every = get(library).dialect.versions
        those = [version for version in every if f"{library}@{version}:{words}" in calls]
        if len(those) == len(every):
            yield f"{library}:{words}"
        else:
            yield from (f"{library}@{version}:{words}" for version in those)
