"""Pipelines from any source: configuration files, Python objects, or a call with a size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError, SpecError
from ir_interp.files.kinds import FileKind
from ir_interp.files.paths import is_file, is_folder
from ir_interp.files.sources import json_object, text_of
from ir_interp.options.image_options import Images
from ir_interp.pipelines import huggingface, timm_config, torchvision_transforms
from ir_interp.pipelines.alpha import AlphaRule
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.output_size import Exactly
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import ImageStep, Normalise, Resize, ReverseChannels, letterbox

_LARGEST_TEXT = 2**20
_USUAL_NAMES = ("preprocessor_config.json", "processor_config.json")


def of_file(path: Path, backend: Backend | None) -> Pipeline:
    """Return the pipeline of a .json file (Hugging Face, timm, this program), or of printed torchvision transforms.

    Raises ReadError, which names the file, for content that is not supported.
    """
    if is_folder(path):
        usual = [path / name for name in _USUAL_NAMES if is_file(path / name)]
        raise ReadError(f"is a folder; {f'pass {usual[0]}' if usual else 'expected a file'}", str(path))
    try:
        if FileKind.of(path) is FileKind.JSON:
            return of_mapping(json_object(path, "an object, as a preprocessor_config.json is"), backend)
        return torchvision_transforms.read_text(text_of(path, _LARGEST_TEXT), backend)
    except (SpecError, ReadError) as error:
        text = str(error).removeprefix(f"{path}: ").removeprefix(f"{path.name}: ")
        raise ReadError(text, str(path)) from None  # the whole path, since many folders hold a file of that name


_KEYS = {
    "image_processor",
    "image_processor_type",
    "processor_class",
    "feature_extractor_type",
    "do_resize",
    "do_rescale",
    "pretrained_cfg",
    "crop_pct",
    "steps",
}
"""Keys of which every configuration has one, and no other supported JSON."""


def is_pipeline(path: Path) -> bool:
    """Return whether a file is a pipeline: .txt, or JSON with a key of a configuration. Raises ReadError otherwise."""
    if FileKind.of(path) is FileKind.TEXT:
        return True
    return FileKind.of(path) is FileKind.JSON and bool(_KEYS & json_object(path, "an object").keys())


def with_backend(text: str) -> tuple[str, Backend | None]:
    """Return the name of a configuration or class, and the backend behind its colon, if any."""
    name, _, word = text.rpartition(":")
    backend = Backend(word) if name and word in [member.value for member in Backend] else None
    return (name, backend) if backend else (text, None)


def of_mapping(document: Mapping[str, Any], backend: Backend | None) -> Pipeline:
    """Return the pipeline of a configuration. Raises ReadError for an unknown key, SpecError for a value."""
    if {"version", "steps"} <= document.keys() or timm_config.is_timm(document):
        _check_unused(backend)
        return Pipeline.of_json(document) if "steps" in document else timm_config.read(document)
    return huggingface.read(document, backend)


def of_object(source: Any, backend: Backend | None) -> Pipeline:
    """Return the pipeline of an image processor of transformers, or of transforms of torchvision.

    Raises ReadError for another object.
    """
    module = type(source).__module__.partition(".")[0]
    if module == "transformers":
        stated = getattr(source, "backend", None)
        return huggingface.read(source.to_dict(), Backend(stated) if stated in ("pil", "torchvision") else backend)
    if module in ("torchvision", "torch"):
        return torchvision_transforms.read_object(source, backend)
    expected = "expected a path, a mapping, an image processor of transformers or transforms of torchvision"
    raise ReadError(f"{type(source).__name__} holds no pipeline; {expected}")


def of_call(like: str, size: tuple[int, int], colour: int | None, images: Images) -> Pipeline:
    """Return the pipeline of a resize to ``size``, letterboxed if there is a ``colour``, and of ``images``."""
    steps = tuple(_steps(like, size, colour, images))
    return Pipeline(steps=steps, name=like, layout=images.layout or "nchw", alpha=AlphaRule.DROPPED)


def _steps(like: str, size: tuple[int, int], colour: int | None, images: Images) -> Iterator[ImageStep]:
    if colour is not None:
        yield from letterbox(like, *size, colour)
    else:
        yield Resize(like=like, size=Exactly(height=size[0], width=size[1]))
    if images.bgr:
        yield ReverseChannels()
    mean, scale = images.in_pixels
    if mean or scale:
        yield Normalise(mean=mean or (0.0,), deviation=scale or (1.0,))


def _check_unused(backend: Backend | None) -> None:
    if backend is not None:
        raise SpecError("--backend has no effect on this file, which specifies its resizes")
