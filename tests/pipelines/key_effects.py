"""What each key of each image processor of Hugging Face does: other values of the keys, and what comes of them here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ir_interp import Backend, IrInterpError, Pipeline
from ir_interp.pipelines.huggingface_classes import PROCESSORS
from ir_interp.pipelines.pipeline_source import of_mapping

Config = dict[str, Any]
CHANGES, NOTHING, REFUSED = "changes", "none", "refused"
_SIDES: Mapping[tuple[str, ...], Config] = {
    ("height", "width"): {"height": 20, "width": 26},
    ("shortest_edge",): {"shortest_edge": 20},
    ("shortest_edge", "longest_edge"): {"shortest_edge": 20, "longest_edge": 28},
    ("longest_edge",): {"longest_edge": 24},
    ("max_height", "max_width"): {"max_height": 24, "max_width": 22},
}
_OTHER_SIDES: Mapping[tuple[str, ...], Config] = {
    ("height", "width"): {"height": 23, "width": 18},
    ("shortest_edge",): {"shortest_edge": 17},
    ("shortest_edge", "longest_edge"): {"shortest_edge": 17, "longest_edge": 40},
    ("longest_edge",): {"longest_edge": 19},
    ("max_height", "max_width"): {"max_height": 40, "max_width": 18},
}
CONTEXTS: tuple[Config, ...] = (
    {},
    {"do_center_crop": True, "crop_size": {"height": 16, "width": 18}},
    {"do_pad": True, "pad_size": {"height": 64, "width": 72}},
)
"""Keys beside which others are tried: some act only where images are cropped or padded."""
_SWITCHES = (
    "do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_pad", "do_convert_rgb", "do_flip_channel_order",
    "include_top", "rescale_offset", "keep_aspect_ratio", "do_reduce_labels", "do_convert_annotations", "apply_ocr",
    "default_to_square", "disable_grouping", "do_thumbnail", "do_align_long_axis", "do_crop_margin",
    "do_image_splitting", "do_resize_and_center_crop", "do_pan_and_scan",
)  # fmt: skip
_VALUES: Mapping[str, tuple[Any, ...]] = {
    "resample": (0, 2, 3),
    "crop_size": ({"height": 14, "width": 21}, 15),
    "pad_size": ({"height": 80, "width": 70},),
    "rescale_factor": (1 / 127.5, 2),
    "image_mean": ([0.1, 0.2, 0.3], 0.5),
    "image_std": ([0.4, 0.5, 0.6], 0.5),
    "crop_pct": (0.7, 0),
    "size_divisor": (8, 0),
    "ensure_multiple_of": (4, 0),
    "mask_size": ({"longest_edge": 64},),
    "mask_pad_size": ({"height": 64, "width": 64},),
    "size": (19,),
    "max_size": (24,),
    "data_format": ("channels_first",),
}
_BESIDE: Mapping[str, Config] = {"max_size": {"size": 19}}
"""Other keys without which a key has no effect."""


def base(name: str) -> Config:
    """Return a small configuration of a class: without text recognition, which needs a program."""
    sides = _SIDES.get(tuple(PROCESSORS[name].defaults["size"]))
    size = {"size": sides} if sides else {}
    return {**size, **({"apply_ocr": False} if name.startswith("LayoutLM") else {})}


def keys() -> list[str]:
    """Return the keys that are tried: all that any class has."""
    every = {key for processor in PROCESSORS.values() for key in processor.defaults}
    return sorted(every | set(_SWITCHES) | set(_VALUES))


def keys_of(name: str) -> list[str]:
    """Return the keys that are tried for a class: these, and all that it ignores or refuses by itself."""
    return sorted({*keys(), *PROCESSORS[name].ignores, *PROCESSORS[name].refuses})


def values(name: str, key: str) -> tuple[Any, ...]:
    """Return other values of a key, null among them."""
    if key == "size":
        sides = _OTHER_SIDES.get(tuple(PROCESSORS[name].defaults["size"]))
        return (*([sides] if sides else []), *_VALUES["size"], None)
    return *_VALUES.get(key, (True, False) if key in _SWITCHES else (1,)), None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A configuration with another value of a key, and the one without."""

    name: str
    key: str
    before: Config
    after: Config


def trials(name: str) -> Iterator[Trial]:
    """Yield the trials of a class."""
    for key in keys_of(name):
        for context in CONTEXTS:
            before = {**base(name), **context, **_BESIDE.get(key, {})}
            for value in values(name, key):
                yield Trial(name=name, key=key, before=before, after={**before, key: value})


def title(name: str, backend: Backend) -> str:
    """Return the name of a class of transformers 5."""
    return f"{name}ImageProcessor{'Pil' if backend is Backend.PIL else ''}"


def read(name: str, config: Config, backend: Backend) -> Pipeline | None:
    """Return the pipeline of a configuration, None where it is refused."""
    try:
        return of_mapping({"image_processor_type": title(name, backend), **config}, backend)
    except IrInterpError:
        return None


def effect(before: Pipeline | None, after: Pipeline | None) -> str:
    """Return what another value of a key comes to: other steps, the same, or a refusal."""
    if after is None:
        return REFUSED
    return NOTHING if before is not None and before.steps == after.steps else CHANGES


def effects(name: str) -> dict[str, str]:
    """Return what each key of a class does: whatever it does for some value, in any context, with either backend."""
    kinds: dict[str, set[str]] = {}

    @cache
    def pipeline(text: str, backend: Backend) -> Pipeline | None:
        return read(name, json.loads(text), backend)

    for trial in trials(name):
        before, after = (json.dumps(config) for config in (trial.before, trial.after))
        for backend in Backend:
            kinds.setdefault(trial.key, set()).add(effect(pipeline(before, backend), pipeline(after, backend)))
    order = (CHANGES, REFUSED, NOTHING)
    return {key: next(kind for kind in order if kind in those) for key, those in kinds.items()}
