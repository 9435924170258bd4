"""Pipelines of Ultralytics' models, from the metadata that its exporter writes into them.

Source: Ultralytics 8.4, ``engine/exporter.py`` (the metadata), ``engine/predictor.py`` (``pre_transform``),
``models/rtdetr/predict.py`` (``scale_fill``) and ``data/augment.py`` (``LetterBox``, ``classify_transforms``).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ir_interp.arguments import natural
from ir_interp.errors import ReadError, closest
from ir_interp.pipelines.alpha import AlphaRule
from ir_interp.pipelines.output_size import Exactly, ShorterSide, SizeRounding
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import CentreCrop, ImageStep, Product, Rescale, Resize, letterbox

_GREY = 114.0
_LETTERBOXED = ("detect", "segment", "pose", "obb")
_CLASSIFY = "classify"


def read(metadata: Mapping[str, str]) -> Pipeline:
    """Return the pipeline of a model: letterboxed, stretched for RT-DETR, or cropped for classification.

    Images have the fixed size ``imgsz``. Raises ReadError for a model without this metadata, for an export with
    ``dynamic``, whose images have the size that the caller chooses, and for an unsupported task.
    """
    if not {"task", "imgsz", "stride"} <= metadata.keys():
        raise ReadError("no Ultralytics metadata (task, imgsz, stride)")
    task, (height, width) = metadata["task"], _size(metadata["imgsz"])
    if _value(metadata.get("args", "{}"), dict, "args", "the arguments of the export").get("dynamic"):
        problem = "exported with dynamic=True, so that the caller chooses the size of the images"
        raise ReadError(f"{problem}; export with dynamic=False, or name a --size with --like and --letterbox")
    if metadata.get("channels", "3") != "3":
        raise ReadError(f"takes images of {metadata['channels']} channels; expected 3")
    steps: tuple[ImageStep, ...]
    if task in _LETTERBOXED:
        stretched = Resize(like="opencv:linear", size=Exactly(height=height, width=width))
        steps = (stretched,) if _is_stretched(metadata) else letterbox("opencv:linear", height, width, _GREY)
    elif task == _CLASSIFY:
        frame = Exactly(height=height, width=width)
        steps = (
            Resize(like="pillow:bilinear", size=ShorterSide(size=height) if height == width else frame),
            CentreCrop(size=frame, start=SizeRounding.HALF_EVEN, padding=SizeRounding.DOWN),
        )
    else:
        raise ReadError(f"the task {task!r} is not supported; {closest(task, (*_LETTERBOXED, _CLASSIFY))}")
    rescaled = Rescale(factor=1 / 255, product=Product.QUOTIENT)
    return Pipeline(steps=(*steps, rescaled), name=f"Ultralytics {task}", alpha=AlphaRule.DROPPED)


def _is_stretched(metadata: Mapping[str, str]) -> bool:
    """Return whether a model is an RT-DETR: by its head, which older exports name in the description only.

    Raises ReadError if neither names the kind of model.
    """
    if "head" in metadata:
        return metadata["head"] == "RTDETRDecoder"
    description = metadata.get("description", "").lower()
    if "rtdetr" not in description and "yolo" not in description:
        problem = "the metadata names no head, which decides between letterboxed and stretched images"
        raise ReadError(f"{problem}; export with a newer Ultralytics")
    return "rtdetr" in description


def _size(text: str) -> tuple[int, int]:
    size = _value(text, list, "imgsz", "height and width")
    if len(size) != 2:
        raise ReadError(f"imgsz is {text[:40]!r}; expected height and width")
    return natural(size[0], "the height of imgsz"), natural(size[1], "the width of imgsz")


def _value(text: str, kind: type, name: str, expected: str) -> Any:
    """Return an entry, which is written as a literal of Python. Raises ReadError for another type."""
    try:
        value: Any = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = None
    if not isinstance(value, kind):
        raise ReadError(f"{name} is {text[:40]!r}; expected {expected}")
    return value
