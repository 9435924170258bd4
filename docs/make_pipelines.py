"""Write docs/pipelines.md: which configurations become pipelines, from the tables that read them.

``python docs/make_pipelines.py``
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ir_interp.pipelines.huggingface_classes import BICUBIC, PROCESSORS, Family
from ir_interp.pipelines.rules import RULES
from ir_interp.pipelines.steps import STEPS

PATH = Path(__file__).parent / "pipelines.md"
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_OWN = (
    "crop_pct",
    "include_top",
    "rescale_offset",
    "size_divisor",
    "keep_aspect_ratio",
    "ensure_multiple_of",
)
_INTRODUCTION = f"""# Pipelines

A pipeline is the preprocessing of a model's images, as an ordered list of steps. \
[preprocessing.md](preprocessing.md) shows how to use one.

## Sources

- `preprocessor_config.json` of Hugging Face: {len(PROCESSORS)} classes of image processors (below). Name the \
`--backend`, unless the class ends in `Fast`, `Pil` or `FeatureExtractor`. transformers 4 resized with Pillow unless \
`use_fast` was set; transformers 5 resizes with torchvision. In Python, also the object.
- `config.json` or `pretrained_cfg` of timm: `crop_pct`, `crop_mode` (center, squash, border), `interpolation`, \
`mean`, `std`. The backend is Pillow. In Python, also the object of `create_transform`, for evaluation.
- printed torchvision transforms, as .txt: `Compose` of v1 and v2, presets of weights. Name the `--backend` if the \
text leaves open whether it resizes images or tensors.
- an ONNX model that Ultralytics exported: its metadata, for letterbox or the crop of a classifier
- an IR that takes uint8 images: the layers of OpenVINO's PrePostProcessor. ONNX needs its Convert before Interpolate, \
except for nearest
- JSON that `Pipeline.json()` wrote

Any other class or key that may change the image is refused by name; for a class of transformers, with the reason.

## Steps

"""
_RULES = """
## Rules of height and width

"""
_CLASSES = """
## Image processors of Hugging Face

Names end in `ImageProcessor`, `ImageProcessorFast`, `ImageProcessorPil` or `FeatureExtractor`. Each entry has the \
defaults of keys that a file omits. Both backends match transformers 5.24 bit for bit, floats included \
(`python -m tests.sweeps.pipelines`).

The steps are resize, crop, rescale, normalise. Unless an entry states it, the filter is bicubic, and images are \
normalised, neither cropped nor padded. *RGB* stands for `do_convert_rgb` true.

"""


def text() -> str:
    """Return the page."""
    steps = "".join(f"- `{kind.__name__}`: {_first_line(kind)}\n" for kind in STEPS)
    rules = "".join(f"- `{kind.__name__}`: {_first_line(kind)}\n" for kind in RULES)
    names: dict[str, list[str]] = {}
    for name in PROCESSORS:
        names.setdefault(_facts(name), []).append(name)
    classes = "".join(f"- {', '.join(those)}: {facts}\n" for facts, those in names.items())
    return _INTRODUCTION + steps + _RULES + rules + _CLASSES + classes


def _first_line(kind: type) -> str:
    line = (kind.__doc__ or "").partition("\n")[0].replace("``", "`")
    return line[0].lower() + line[1:].rstrip(".")


def _facts(name: str) -> str:
    processor = PROCESSORS[name]
    keys = processor.defaults
    facts = (
        "" if processor.family is Family.PLAIN else processor.family.value,
        _size(keys["size"]),
        "" if keys["resample"] == BICUBIC else _FILTERS[keys["resample"]],
        f"crop {_size(keys['crop_size'])}" if keys["do_center_crop"] else "",
        "padded" if keys["do_pad"] and "padded" not in processor.family.value else "",
        "" if keys["do_normalize"] else "not normalised",
        "RGB" if keys.get("do_convert_rgb") else "",
        *(f"{key} {_shown(keys[key])}" for key in _OWN if key in keys),
    )
    return "; ".join(filter(None, facts))


def _size(size: dict[str, int]) -> str:
    if {"height", "width"} <= size.keys():
        return f"{size['height']}x{size['width']}"
    return ", ".join(f"{key} {value}" for key, value in size.items()) or "size of the image"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
