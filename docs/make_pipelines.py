"""Write docs/pipelines.md: which configurations become pipelines, from the tables that read them.

``python docs/make_pipelines.py``
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ir_interp.pipelines.huggingface_classes import PROCESSORS, Family
from ir_interp.pipelines.output_size import RULES
from ir_interp.pipelines.steps import STEPS

PATH = Path(__file__).parent / "pipelines.md"
EFFECTS = Path(__file__).parents[1] / "tests" / "pipelines" / "effects.json"
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_EFFECT_TEXTS = {"changes": "changes", "refused": "refused", "none": "no effect"}
_OWN = ("crop_pct", "include_top", "rescale_offset", "size_divisor", "keep_aspect_ratio", "ensure_multiple_of")
_INTRODUCTION = """# Pipelines

A pipeline is what happens to an image before it enters a model: an ordered list of steps, as data. \
[preprocessing.md](preprocessing.md) shows how to use one. This page lists what configurations may contain; it is \
generated from the tables that read them.

## Sources

| source | what is read | backend |
|---|---|---|
| `preprocessor_config.json` of Hugging Face | 29 classes of image processors (below) | `--backend`, unless the class \
ends in `Fast`, `Pil` or `FeatureExtractor`. transformers 4 resized with Pillow unless `use_fast` was set; \
transformers 5 resizes with torchvision |
| `config.json` or `pretrained_cfg` of timm | `crop_pct`, `crop_mode` (center, squash, border), `interpolation`, \
`mean`, `std` | Pillow |
| printed torchvision transforms, as .txt | `Compose` of v1 and v2, presets of weights | `--backend`, if the text \
leaves open whether it resizes images or tensors |
| an ONNX model that Ultralytics exported | its metadata: letterbox, or the crop of a classifier | none |
| an IR that takes uint8 images | the layers of OpenVINO's PrePostProcessor: Convert, Subtract, Multiply, \
Transpose, Gather, Interpolate | none |
| JSON that `Pipeline.json()` wrote | all of it | none |

A class whose defaults are unknown is refused by name, and so is an unknown key that may change the image.

## Steps and rules of sizes

| step | what it does |
|---|---|
"""
_CLASSES = """
## Image processors of Hugging Face

A class may have the suffix `Fast`, `Pil` or `FeatureExtractor`. A key that the file omits has the default shown \
here. Any other class, and any other key that is not about labels, texts or files, is refused by name. Both backends \
match transformers 5.23 bit for bit, floats included (`python -m tests.sweeps.pipelines`).

The *standard* steps are resize, crop, rescale, normalise. Images are normalised, neither cropped nor padded, unless \
an entry states it.

"""


_EFFECTS = """
## What each key does

`python -m tests.sweeps.pipeline_effects` gives each class other values of each key: alone, beside a crop and beside \
padding, with both backends. Each result has the bits of transformers, or the configuration is refused by name. A key \
*changes* the image if some value does. It is *refused* if some value is refused and none changes the image.

| keys | in most classes | except |
|---|---|---|
"""


def text() -> str:
    """Return the page."""
    kinds = "".join(f"| `{kind.__name__}` | {_first_line(kind)} |\n" for kind in STEPS)
    rules = "".join(f"| `{kind.__name__}` | {_first_line(kind)} |\n" for kind in RULES)
    sizes = f"\n| rule | height and width |\n|---|---|\n{rules}"
    classes = "".join(_row(name) for name in PROCESSORS)
    return _INTRODUCTION + kinds + sizes + _CLASSES + classes + _EFFECTS + _effects()


def _effects() -> str:
    """Return a row for keys with the same effects: that in most classes, then the classes with another."""
    by_class: dict[str, dict[str, str]] = json.loads(EFFECTS.read_text("utf-8"))
    keys: dict[str, list[str]] = {}
    for key in sorted(set().union(*by_class.values())):
        effect = _effect({name: effects[key] for name, effects in by_class.items()})
        keys.setdefault(effect, []).append(f"`{key}`")
    return "".join(f"| {', '.join(those)} | {effect} |\n" for effect, those in keys.items())


def _effect(effects: dict[str, str]) -> str:
    ((usual, _),) = Counter(effects.values()).most_common(1)
    others = {
        effect: [name for name, kind in effects.items() if kind == effect]
        for effect in ("changes", "refused", "none")
        if effect != usual and effect in effects.values()
    }
    exceptions = "; ".join(f"{_EFFECT_TEXTS[effect]}: {', '.join(names)}" for effect, names in others.items())
    return f"{_EFFECT_TEXTS[usual]} | {exceptions}"


def _first_line(kind: type) -> str:
    line = (kind.__doc__ or "").partition("\n")[0].replace("``", "`")
    return line[0].lower() + line[1:].rstrip(".")


def _row(name: str) -> str:
    processor = PROCESSORS[name]
    keys = processor.defaults
    facts = (
        "standard" if processor.family is Family.PLAIN else processor.family.value,
        ", ".join(f"{key} {value}" for key, value in keys["size"].items()) or "size of the image",
        _FILTERS[keys["resample"]],
        f"crop {_size(keys['crop_size'])}" if keys["do_center_crop"] else "",
        "padded" if keys["do_pad"] else "",
        "" if keys["do_normalize"] else "not normalised",
        *(f"{key} {_shown(keys[key])}" for key in _OWN if key in keys),
    )
    return f"- {name}ImageProcessor: {'; '.join(filter(None, facts))}\n"


def _size(size: dict[str, int]) -> str:
    return f"{size['height']}x{size['width']}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
