"""The cost of preprocessing images by another resize than the training did, measured pixel by pixel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import ReadError, SpecError
from ir_interp.files.memory import check_bytes
from ir_interp.library_registry import is_call
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.views.image_arrays import opened, orientation, pixels
from ir_interp.views.likeness import Likeness, call_on_bytes, compared

from ..verify.graphs import ModelInput, read, shape_text
from ..verify.run.image_inputs import is_channel_last
from . import pipeline_costs
from .chosen_shapes import chosen
from .findings import Finding
from .mishaps import noted
from .pipeline_costs import PipelinePair, StepCost, pair_of

Size = tuple[int, int, int]
"""Height, width and channels of the images that an input takes."""
CODE = "IRI041"
_MODES = {1: "L", 3: "RGB"}  # of images, by channels
_RATIOS = (3.0, 0.5)  # of the dimensions of random images to those of the model
_SHAPES = ((480, 640), (640, 480), (1080, 1920), (2400, 1080), (500, 2000), (2000, 500))
"""Height and width of photos, a video frame, a phone screen, a banner and a page.

The order of Pillow's passes depends on both ratios, so images of the model's aspect alone would not show it.
"""
_USUAL = (224, 640)  # of a dynamic dimension: usual for classifiers, usual for detectors
_IMAGE_RANK = 4  # from this rank on, an input of unknown channels is assumed to take images
_BYTES_A_VALUE = 40  # of an image and two resizes of it at most, in float64
_CACHED = 16  # sizes of inputs: the models of a folder often share one


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """Two calls of image libraries, or two pipelines (deployed and trained), and an image to compare on.

    Raises SpecError for calls with properties that the model determines, ReadError for an invalid image or pipeline.
    """

    deployed: str
    trained: str
    image: Path | None = None
    pipelines: PipelinePair | None = None

    @staticmethod
    def of(deployed: str, trained: str, image: Path | None) -> Preprocessing:
        """Return a comparison of the two calls or pipelines that the texts name."""
        return Preprocessing(deployed=deployed, trained=trained, image=image, pipelines=pair_of(deployed, trained))

    def __post_init__(self) -> None:
        if self.pipelines is None:
            for text in (self.deployed, self.trained):
                _checked(text)
        if self.image is not None:
            pixels(self.image)

    @property
    def is_same(self) -> bool:
        """Whether both are the same, whatever the image."""
        if self.pipelines is not None:
            return self.pipelines.is_same
        return _checked(self.deployed).spec == _checked(self.trained).spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The difference of two resizes or pipelines where an image enters a model.

    ``beyond`` counts the values that differ by more than one level of a pixel. ``where`` is the model and its input,
    ``image`` the resized image. ``is_same``: both are the same. ``steps`` are those in which two pipelines differ.
    """

    file: str
    where: str
    image: str
    likeness: Likeness
    beyond: int
    is_same: bool = False
    steps: tuple[StepCost, ...] = ()

    @property
    def text(self) -> str:
        """The same as a line."""
        level = "one level of a pixel" if self.steps else "1"
        rounding = f"; {self.beyond} by more than {level}" if self.likeness.unequal else ""
        return "; ".join((f"{self.image}: {self.likeness.text}{rounding}", *(step.text for step in self.steps)))

    def record(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputCosts:
    """The cost of two resizes of one or several images at an input of a model."""

    costs: tuple[Cost, ...]

    @property
    def where(self) -> str:
        """The model and its input."""
        return self.costs[0].where

    @property
    def text(self) -> str:
        """The image that differs most, and how many images differ at all."""
        likeness = self.costs[0].likeness
        if self.costs[0].is_same:
            kind = "resize" if is_call(likeness.first) else "pipeline"
            return f"{likeness.first} and {likeness.second}: the same {kind}"
        if len(self.costs) == 1:
            return self.costs[0].text
        unequal = [cost for cost in self.costs if cost.likeness.unequal]
        if not unequal:
            images = ", ".join(cost.image for cost in self.costs)
            return f"{likeness.first} and {likeness.second}: the same on {images}"
        worst = max(unequal, key=lambda cost: (cost.beyond / cost.likeness.count, cost.likeness.mean))
        return f"{worst.text}; {len(unequal)} of {len(self.costs)} images differ"

    @property
    def finding(self) -> Finding | None:
        """The same as a finding: a note where values differ as by rounding, None where none differs."""
        if not any(cost.likeness.unequal for cost in self.costs):
            return None
        severity = Severity.WARNING if any(cost.beyond for cost in self.costs) else Severity.NOTE
        worst = self.costs[0]
        return Finding(
            code=CODE,
            message=self.text,
            file=worst.file,
            where=self.where,
            severity=severity,
            trained=worst.likeness.second,
        )


def by_input(costs: Iterable[Cost]) -> list[InputCosts]:
    """Return costs, in order, grouped by the input of a model."""
    return [InputCosts(costs=tuple(those)) for _, those in groupby(costs, key=lambda cost: (cost.file, cost.where))]


def costs(
    path: Path, label: str, preprocessing: Preprocessing, shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[Cost]:
    """Yield the cost at each input of a model that takes images.

    A dynamic height or width is tried at usual values. Raises ReadError for a model without such an input.
    """
    shapes_of_inputs, is_any = chosen(path, shapes), False
    for tensor in read(path).inputs:
        dimensions = shapes_of_inputs.get(tensor.name, tensor.lengths)
        sizes = _sizes(tensor, dimensions)
        if sizes and preprocessing.pipelines is not None:
            sizes = sizes[:1]  # a pipeline decides the size by itself
            _check_taken(preprocessing.pipelines, dimensions, f"{label}: input {tensor.name!r}")
        for size in sizes:
            is_any = True
            dynamic = f" of {shape_text(dimensions)}" if None in dimensions[-3:] else ""
            taken = "" if preprocessing.pipelines and dynamic else f", {size[0]}x{size[1]}"
            where = f"{label}: input {tensor.name!r}{taken}{dynamic}"
            for name, likeness, beyond, steps in _compared(preprocessing, size):
                yield Cost(
                    file=str(path),
                    where=where,
                    image=name,
                    likeness=likeness,
                    beyond=beyond,
                    is_same=preprocessing.is_same,
                    steps=steps,
                )
    if not is_any:
        raise ReadError("no input takes an image of 1 or 3 channels, so no resize can precede the model", path.name)


Difference = tuple[str, Likeness, int, tuple[StepCost, ...]]
"""An image by its name, the difference of two results, the count of values beyond one level, and the steps at fault."""


@lru_cache(maxsize=_CACHED)
def _compared(preprocessing: Preprocessing, size: Size) -> Sequence[Difference]:
    """Return the difference of the calls or pipelines on each image."""
    height, width, channels = size
    images = _images(preprocessing.image, (height, width), channels, keeps_alpha=preprocessing.pipelines is not None)
    if preprocessing.pipelines is not None:
        return [(name, *pipeline_costs.compared(preprocessing.pipelines, x)) for name, x in images]
    rows: list[Difference] = []
    for name, x in images:
        calls = (preprocessing.deployed, preprocessing.trained)
        likeness, (deployed, second) = compared(calls, x, _MODES[channels], (height, width), None)
        apart = np.abs(deployed.astype(np.float64) - second)
        rows.append((name, likeness, int(np.count_nonzero(apart > 1)), ()))
    return rows


def _checked(text: str) -> ResizeOp:
    """Return a call. Raises SpecError if it names a property that the image or the model determines."""
    if not is_call(text):
        expected = "expected a call of an image library, as in pillow:bilinear or opencv:linear"
        raise SpecError(f"{text!r} is not a resize that can precede a model; {expected}")
    op = call_on_bytes(text)
    if op.spec.target is not None:
        raise SpecError(f"{text} specifies sizes; leave them out, the model's input determines them")
    if op.attributes.get("mode") not in (None, "RGB", "L") and op.dialect == "pillow":
        raise SpecError(f"{text}: images of mode {op.attributes['mode']} are not supported; expected RGB or L")
    if len(op.spec.axes or ()) != 2:
        raise SpecError(f"{text} resizes {len(op.spec.axes or ())} axes; an image has two")
    return op


def _sizes(tensor: ModelInput, shape: PartialShape) -> list[Size]:
    """Return the sizes of the images that an input takes: none, one, or the usual ones for dynamic sizes."""
    if len(shape) not in (3, 4):
        return []
    places = _places(shape)
    height, width, channels = (shape[place] for place in places)
    if channels is None and len(shape) == _IMAGE_RANK:
        channels = 3
    if channels not in _MODES:
        return []
    tall, wide = (tensor.most[place] if tensor.most else None for place in places[:2])
    usual = ((_at_most(height, tall, size), _at_most(width, wide, size), channels) for size in _USUAL)
    return list(dict.fromkeys(usual))


def _places(shape: PartialShape) -> tuple[int, int, int]:
    """Return where height, width and channels stand in the shape of an input."""
    return (-3, -2, -1) if is_channel_last(shape) else (-2, -1, -3)


def _check_taken(pipelines: PipelinePair, shape: PartialShape, where: str) -> None:
    """Raise ReadError for an input that does not take the result of pipelines: 3 channels, of their size."""
    height, width, channels = (shape[place] for place in _places(shape))
    if channels not in (None, 3):
        raise ReadError(f"takes {channels} channels; pipelines give 3", where)
    pipelines.check((height, width), where)


def _at_most(size: int | None, most: int | None, usual: int) -> int:
    """Return a static dimension; for a dynamic one, the usual value unless it is too large."""
    return min(usual, most or usual) if size is None else size


def _images(
    path: Path | None, size: tuple[int, int], channels: int, *, keeps_alpha: bool
) -> Iterator[tuple[str, Array]]:
    """Yield the chosen image, or random ones: larger and smaller than the model takes, and of usual shapes."""
    mode = _MODES[channels]
    if path is not None:
        _check_upright(orientation(path), path)
        with opened(path) as image:
            has_alpha = "A" in image.getbands() or "transparency" in image.info
            x = np.asarray(image.convert("RGBA" if has_alpha and keeps_alpha else mode))
        check_bytes(x.size * _BYTES_A_VALUE, f"the resize of {path.name}")
        yield f"{path.name}, {x.shape[0]}x{x.shape[1]}", x
        return
    scaled = (tuple(max(1, round(edge * ratio)) for edge in size) for ratio in _RATIOS)
    for height, width in dict.fromkeys((*scaled, *_SHAPES)):
        check_bytes(height * width * channels * _BYTES_A_VALUE, f"a random image of {height}x{width}")
        shape = (height, width) if channels == 1 else (height, width, channels)
        yield f"random {height}x{width}", np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def _check_upright(exif: int, path: Path) -> None:
    """Raise ReadError for a photo that only some libraries rotate when they open it: their pixels would differ."""
    if exif != 1:
        turned = "OpenCV, transformers and Ultralytics rotate such a photo on opening, Pillow and torchvision do not"
        raise ReadError(f"its EXIF orientation is {exif}: {turned}; expected an upright one", path.name)


def measured(
    files: Mapping[Path, str], preprocessing: Preprocessing, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[list[Cost], list[ReadError]]:
    """Return the cost of two resizes at the inputs of labelled models, and errors where it cannot be measured."""
    measurements: list[Cost] = []
    errors: list[ReadError] = []
    for path, label in files.items():
        with noted(errors, path.name):
            measurements += costs(path, label, preprocessing, shapes)
    return measurements, errors
