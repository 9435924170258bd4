"""Write docs/pipelines.md: which configurations become pipelines, from the tables that read them.

``python docs/make_pipelines.py``
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ir_interp.pipelines.huggingface_classes import PROCESSORS
from ir_interp.pipelines.output_size import RULES
from ir_interp.pipelines.steps import STEPS

PATH = Path(__file__).parent / "pipelines.md"
EFFECTS = Path(__file__).parents[1] / "tests" / "pipelines" / "effects.json"
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_OWN = ("crop_pct", "include_top", "rescale_offset", "size_divisor", "keep_aspect_ratio", "ensure_multiple_of")
_INTRODUCTION = """# Pipelines that are read

What happens to an image before it enters a model is a pipeline: an ordered list of steps, as data. \
[preprocessing.md](preprocessing.md) shows how to use one. This page is generated from the tables that read \
configurations.

## Steps and rules of sizes

| step | what it does |
|---|---|
"""
_CLASSES = """
## Image processors of Hugging Face

A class is named with or without `Fast`, `Pil` or `FeatureExtractor`. Keys that the file leaves out take these \
defaults. A key that is not in this table, and not about labels, texts or files, is refused by name; so is \
every other class. Both backends match transformers 5.23 bit for bit, floats included (`python -m \
tests.sweeps.pipelines`).

| class | order | size | resample | crop | pad | normalised | keys of its own | ignored |
|---|---|---|---|---|---|---|---|---|
"""


_EFFECTS = """
## What each key does

`python -m tests.sweeps.pipeline_effects` gives each class other values of each key, alone, beside a crop and beside \
padding, with both backends. Every result has the bits of transformers, or the configuration is refused by name. \
"Changes" says that some value changes the image; "refused" that some value is refused and none changes it.

| class | changes the image | refused | no effect |
|---|---|---|---|
"""


def text() -> str:
    """Return the page."""
    kinds = "".join(f"| `{kind.__name__}` | {_first_line(kind)} |\n" for kind in STEPS)
    rules = "".join(f"| `{kind.__name__}` | {_first_line(kind)} |\n" for kind in RULES)
    sizes = f"\n| rule | height and width |\n|---|---|\n{rules}"
    classes = "".join(_row(name) for name in PROCESSORS)
    effects = "".join(_effects(name, those) for name, those in json.loads(EFFECTS.read_text("utf-8")).items())
    return _INTRODUCTION + kinds + sizes + _CLASSES + classes + _EFFECTS + effects


def _effects(name: str, effects: dict[str, str]) -> str:
    by_kind = [[f"`{key}`" for key, kind in effects.items() if kind == each] for each in ("changes", "refused", "none")]
    return f"| {name} | {' | '.join(', '.join(those) or 'none' for those in by_kind)} |\n"


def _first_line(kind: type) -> str:
    line = (kind.__doc__ or "").partition("\n")[0].replace("``", "`")
    return line[0].lower() + line[1:].rstrip(".")


def _row(name: str) -> str:
    processor = PROCESSORS[name]
    keys = processor.defaults
    cells = (
        f"{name}ImageProcessor",
        processor.family.value,
        ", ".join(f"{key} {value}" for key, value in keys["size"].items()) or "of the image",
        _FILTERS[keys["resample"]],
        _size(keys["crop_size"]) if keys["do_center_crop"] else "no",
        "yes" if keys["do_pad"] else "no",
        "yes" if keys["do_normalize"] else "no",
        ", ".join(f"{key} {_shown(keys[key])}" for key in _OWN if key in keys) or "none",
        ", ".join(sorted(processor.ignores)) or "none",
    )
    return f"| {' | '.join(cells)} |\n"


def _size(size: dict[str, int]) -> str:
    return f"{size['height']}x{size['width']}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
