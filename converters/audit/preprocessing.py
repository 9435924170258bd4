"""The cost of preprocessing images by another resize than the training did, measured pixel by pixel.

Two pipelines differ on images of usual shapes; each step has a share of the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import numpy as np

from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.files.memory import check_bytes
from ir_interp.libraries import is_call
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import CHANNELS
from ir_interp.pipelines.steps import ImageStep, Normalise, Rescale, Scale
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp, shape_text
from ir_interp.shapes import Array, PartialShape
from ir_interp.views.image_arrays import opened, orientation, pixels
from ir_interp.views.likeness import Likeness, call_on_bytes, compared, difference

from ..sources.model_summary import pipeline_of_text
from ..verify.graphs import ModelInput, dimensions_text, is_channel_last, read
from .audited_resizes import Finding, chosen
from .auditing import noted

_SLACK = 1.001  # of one level of a pixel: below that, float32 rounding
_CACHED_PIPELINES = 16  # pipelines whose levels are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """A step of the training that the deployment does differently: how much it alone changes the training's result.

    ``problem`` is the reason why that cannot be measured, else empty.
    """

    trained: str
    deployed: str
    largest: float = 0.0
    mean: float = 0.0
    problem: str = ""

    @property
    def text(self) -> str:
        """The same as a line."""
        cost = self.problem or f"by up to {self.largest:.3g}, on average {self.mean:.3g}"
        return f"{self.deployed or 'nothing'} in place of {self.trained or 'nothing'}: {cost}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePair:
    """The deployed pipeline and the training's, by the names that the caller used."""

    deployed: Pipeline
    trained: Pipeline
    names: tuple[str, str]

    @property
    def is_same(self) -> bool:
        """Whether both have the same steps."""
        first, second = (replace(pipeline, name="") for pipeline in (self.deployed, self.trained))
        return first == second

    def check(self, size: tuple[int | None, ...], where: str) -> None:
        """Raise ReadError for a pipeline whose images do not fit an input's size, where None fits any."""
        for name, pipeline in zip(self.names, (self.deployed, self.trained), strict=True):
            image_size = pipeline.size or size
            if any(edge not in (None, image_edge) for edge, image_edge in zip(size, image_size, strict=True)):
                raise ReadError(f"takes {shape_text(size)}; {name} gives images of {shape_text(image_size)}", where)


def pair_of(deployed: str, trained: str) -> PipelinePair | None:
    """Return two pipelines, None for two calls of image libraries.

    Raises SpecError for a mixture of both, and the errors of reading a pipeline.
    """
    names = (deployed, trained)
    calls = [name for name in names if is_call(name)]
    if len(calls) == len(names):
        return None
    if calls:
        raise SpecError(f"{calls[0]} is a single resize, the other a pipeline; expected two pipelines, or two resizes")
    first, second = (pipeline_of_text(name) for name in names)
    return PipelinePair(deployed=first, trained=second, names=names)


@lru_cache(maxsize=_CACHED_PIPELINES)
def levels(pipeline: Pipeline) -> Array:
    """Return one level of a uint8 pixel after a pipeline: one number, or one for each channel."""
    level = np.ones(1)
    for step in pipeline.steps:
        if isinstance(step, Rescale):
            level = level * abs(step.factor)
        elif isinstance(step, Normalise):
            level = level / np.abs(step.deviation)
        elif isinstance(step, Scale):
            level = level * np.abs(step.factors)
    return level


def compared_pipelines(pair: PipelinePair, x: Array) -> tuple[Likeness, int, tuple[StepCost, ...]]:
    """Return the difference of pipelines on an image: the largest, the count beyond one level, and the steps at fault.

    Raises ShapeError if either has no result for this image, or their shapes differ.
    """
    deployed, trained = pair.deployed(x), pair.trained(x)
    if deployed.shape != trained.shape:
        shapes = f"{list(deployed.shape)} and {list(trained.shape)}"
        raise SpecError(f"{pair.names[0]} and {pair.names[1]} give different shapes: {shapes}")
    level = levels(pair.trained)
    level = level[:, None, None] if pair.trained.layout == "nchw" else level
    beyond = int(np.count_nonzero(_apart(deployed, trained) > level * _SLACK))
    return difference(pair.names, deployed, trained), beyond, tuple(_steps(pair, x, trained))


def _apart(y: Array, trained: Array) -> Array:
    return np.abs(y.astype(np.float64) - trained)


def _steps(pair: PipelinePair, x: Array, trained: Array) -> Iterator[StepCost]:
    """Yield the cost of each differing run of steps, and of another rule for alpha, each put into the training."""
    rules = pair.trained.alpha, pair.deployed.alpha
    if x.shape[-1] == CHANNELS and rules[0] is not rules[1]:
        apart = _apart(replace(pair.trained, alpha=rules[1])(x), trained)
        alpha, other = (f"alpha {rule.value}" for rule in rules)
        yield StepCost(trained=alpha, deployed=other, largest=float(apart.max()), mean=float(apart.mean()))
    steps, others = pair.trained.steps, pair.deployed.steps
    for first, last, start, stop in _differing(steps, others):
        mixed = replace(pair.trained, steps=(*steps[:first], *others[start:stop], *steps[last:]))
        cost = StepCost(trained=_listed(steps[first:last]), deployed=_listed(others[start:stop]))
        try:
            y = mixed(x)
        except IrInterpError as error:
            yield replace(cost, problem=str(error))
            continue
        if y.shape != trained.shape:
            yield replace(cost, problem=f"the result has shape {list(y.shape)}")
            continue
        apart = _apart(y, trained)
        yield replace(cost, largest=float(apart.max()), mean=float(apart.mean()))


def _differing(steps: tuple[ImageStep, ...], others: tuple[ImageStep, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yield differing runs of steps, aligned by their kinds: where each begins and ends in either pipeline.

    Steps that scale pixels are one run: libraries write a product and a difference as one step or as two.
    """
    runs, other_runs = (list(_runs(those)) for those in (steps, others))
    kinds, other_kinds = ([kind for kind, _, _ in those] for those in (runs, other_runs))
    ends, other_ends = ([0, *(stop for _, _, stop in those)] for those in (runs, other_runs))
    for tag, first, last, start, stop in SequenceMatcher(None, kinds, other_kinds, autojunk=False).get_opcodes():
        pieces = zip(range(first, last), range(start, stop), strict=True) if tag == "equal" else ()
        bounds = [(place, place + 1, other, other + 1) for place, other in pieces] or [(first, last, start, stop)]
        for begin, end, other_begin, other_end in bounds:
            run = (ends[begin], ends[end], other_ends[other_begin], other_ends[other_end])
            if steps[run[0] : run[1]] != others[run[2] : run[3]]:
                yield run


def _runs(steps: tuple[ImageStep, ...]) -> Iterator[tuple[str, int, int]]:
    """Yield the kind of each run of steps, and where it begins and ends."""
    numbered = groupby(enumerate(steps), lambda item: "scale" if isinstance(item[1], _SCALING) else item[0])
    for _, those in numbered:
        run = list(those)
        kind = "scale" if isinstance(run[0][1], _SCALING) else type(run[0][1]).__name__
        yield kind, run[0][0], run[-1][0] + 1


_SCALING = (Rescale, Normalise, Scale)


def _listed(steps: tuple[ImageStep, ...]) -> str:
    return ", then ".join(step.text for step in steps)


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
class Cost(Record):
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
            meaning=f"{worst.likeness.first} for {worst.likeness.second}",
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
            dynamic = f" of {dimensions_text(dimensions)}" if None in dimensions[-3:] else ""
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
        return [(name, *compared_pipelines(preprocessing.pipelines, x)) for name, x in images]
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
