"""Pipelines as Python code that needs its own libraries only: Pillow, OpenCV or torchvision, and NumPy.

It serves deployments with the preprocessing outside the model. The tests run it, and compare its bits with the
pipeline's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import singledispatch
from typing import Any

from ir_interp.errors import InexactError
from ir_interp.pipelines.openvino_steps import Interpolate, Scale
from ir_interp.pipelines.output_size import (
    ByRatio,
    Inside,
    Multiple,
    NearestMultiple,
    OutputSize,
    RoundedUp,
    ShareOfShorterSide,
    ShorterSide,
    SidesWithin,
    SizeRounding,
)
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import CentreCrop, Normalise, PadTo, Place, Product, Rescale, Resize, ReverseChannels

ROUNDED = {
    SizeRounding.DOWN: "math.floor({})",
    SizeRounding.UP: "math.ceil({})",
    SizeRounding.HALF_UP: "math.floor({} + 0.5)",
    SizeRounding.HALF_EVEN: "round({})",
}
OPENCV = {"nearest": "INTER_NEAREST", "linear": "INTER_LINEAR", "cubic": "INTER_CUBIC", "area": "INTER_AREA"}
_IMPORTS = {
    "pillow": "from PIL import Image",
    "opencv": "import cv2",
    "torchvision": "import torch\nfrom torchvision.transforms.v2 import InterpolationMode\n"
    "from torchvision.transforms.v2 import functional",
}


def numpy(pipeline: Pipeline) -> str:
    """Return a module with a function ``preprocess`` of an image, uint8 RGB [height, width, 3].

    Raises InexactError for a resize of another library.
    """
    return _of_libraries(pipeline, _IMPORTS)


def opencv(pipeline: Pipeline) -> str:
    """Return the same module with OpenCV as the only library beside NumPy."""
    return _of_libraries(pipeline, ("opencv",))


def _of_libraries(pipeline: Pipeline, known: Collection[str]) -> str:
    libraries = dict.fromkeys(call.like.partition(":")[0].partition("@")[0] for call in pipeline.calls)
    for library in libraries:
        if library not in known:
            raise InexactError(library, "Python", reason=f"expected resizes of {', '.join(known)}")
    body = [line for step in pipeline.steps for line in lines(step)]
    body.append("return np.ascontiguousarray(x.transpose(2, 0, 1))" if pipeline.layout == "nchw" else "return x")
    imports = ["import numpy as np", *(_IMPORTS[library] for library in libraries)]
    return module_text(pipeline, imports, "uint8 RGB [height, width, 3]", body)


def module_text(pipeline: Pipeline, imports: Sequence[str], image: str, body: Sequence[str]) -> str:
    """Return a module with the function ``preprocess`` of an ``image``, whose type and shape are in words."""
    standard = ["import math", ""] if any("math." in line for line in body) else []
    title = f'"""Return the input of a model for an image, {image}."""'
    origin = f"# {' '.join(pipeline.name.split()) or 'of a pipeline'}"  # a comment, since names are untrusted text
    function = ["def preprocess(x):", *(f"    {line}" for line in (title, origin, *body))]
    return "\n".join([*standard, *imports, "", "", *function, ""])


@singledispatch
def lines(step: Any) -> Iterator[str]:
    """Yield the lines of a step."""
    raise TypeError(f"no step: {step!r}")


@lines.register
def _(step: Resize) -> Iterator[str]:
    yield from sized(step.size)
    library, _, word = step.like.partition(":")
    word, *arguments = word.split(",")
    name = library.partition("@")[0]
    if name == "pillow" and not arguments:
        yield f"x = np.asarray(Image.fromarray(x).resize((width, height), Image.Resampling.{word.upper()}))"
    elif name == "opencv" and word in OPENCV and not arguments:
        yield f"x = cv2.resize(x, (width, height), interpolation=cv2.{OPENCV[word]})"
    elif name == "torchvision" and {argument.partition("=")[0] for argument in arguments} <= {"antialias"}:
        antialias = "antialias=false" not in arguments
        mode = word.upper().replace("-", "_")
        yield "planes = torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))"
        yield f"mode = InterpolationMode.{mode}"
        yield f"planes = functional.resize(planes, [height, width], interpolation=mode, antialias={antialias})"
        yield "x = planes.numpy().transpose(1, 2, 0)"
    else:
        raise InexactError(step.like, "Python", reason="no known call has these arguments")


@lines.register
def _(step: CentreCrop) -> Iterator[str]:
    yield from sized(step.size)
    yield "missing = [max(height - x.shape[0], 0), max(width - x.shape[1], 0)]"
    yield f"before = [{ROUNDED[step.padding].format('count / 2')} for count in missing]"
    yield from _padding("[count - first for count, first in zip(missing, before)]", step.colour)
    starts = ROUNDED[step.start].format("(length - size) / 2")
    yield f"top, left = ({starts} for length, size in zip(x.shape, (height, width)))"
    yield "x = x[top : top + height, left : left + width]"


@lines.register
def _(step: PadTo) -> Iterator[str]:
    yield from sized(step.size)
    yield "rest = [height - x.shape[0], width - x.shape[1]]"
    yield f"before = [{'count // 2' if step.place is Place.CENTRE else '0'} for count in rest]"
    yield from _padding("[count - first for count, first in zip(rest, before)]", step.colour)


def _padding(after: str, colour: tuple[float, ...]) -> Iterator[str]:
    yield f"after = {after}"
    yield "padded = np.empty((x.shape[0] + before[0] + after[0], x.shape[1] + before[1] + after[1], 3), x.dtype)"
    yield f"padded[:] = np.array({list(colour)}).astype(x.dtype)"
    yield "padded[before[0] : before[0] + x.shape[0], before[1] : before[1] + x.shape[1]] = x"
    yield "x = padded"


@lines.register
def _(step: ReverseChannels) -> Iterator[str]:
    del step
    yield "x = np.ascontiguousarray(x[:, :, ::-1])"


@lines.register
def _(step: Rescale) -> Iterator[str]:
    if step.product is Product.FLOAT64:
        yield f"x = (x.astype(np.float64) * {step.factor!r}).astype(np.float32)"
    elif step.product is Product.FLOAT32:
        yield f"x = x.astype(np.float32) * np.float32({step.factor!r})"
    else:
        yield f"x = x.astype(np.float32) / np.float32({1 / step.factor!r})"
    if step.offset:
        yield f"x = x + np.float32({step.offset!r})"


@lines.register
def _(step: Normalise) -> Iterator[str]:
    yield f"x = x.astype(np.float32) - np.array({list(step.mean)}, np.float32)"
    yield f"x = x / np.array({list(step.deviation)}, np.float32)"


@lines.register
def _(step: Scale) -> Iterator[str]:
    yield f"x = x.astype(np.float32) * np.array({list(step.factors)}, np.float32)"


@lines.register
def _(step: Interpolate) -> Iterator[str]:
    raise InexactError(step.text, "Python", reason="only OpenVINO resizes this way")


def sized(rule: OutputSize, shape: str = "x.shape[:2]") -> Iterator[str]:
    """Yield lines that set ``height`` and ``width`` by a rule, from the variable ``shape``."""
    if rule.fixed is not None:
        yield "height, width = {}, {}".format(*rule.fixed)
        return
    yield f"height, width = {shape}"
    yield from _formula(rule)


def _formula(rule: OutputSize) -> Iterator[str]:
    match rule:
        case ShorterSide(size=size, longest=longest):
            yield f"short, long = {size}, int({size} * max(height, width) / min(height, width))"
            if longest is not None:
                yield f"if long > {longest}:"
                yield f"    short, long = int({longest} * short / long), {longest}"
            yield "height, width = (long, short) if width <= height else (short, long)"
        case SidesWithin(shortest=shortest, longest=longest):
            yield "shorter, longer = min(height, width), max(height, width)"
            yield f"is_limited = longer / shorter * {shortest} > {longest}"
            yield f"side = {longest} * shorter / longer if is_limited else {shortest}"
            yield "short = round(side)"
            yield "long = longer if short == shorter else int(side * longer / shorter)"
            yield "height, width = (long, short) if width < height else (short, long)"
        case Inside(height=height, width=width, rounding=rounding):
            yield f"scale = min({height} / height, {width} / width)"
            rounded = ROUNDED[rounding].format("size * scale")
            yield f"height, width = (max({rounded}, 1) for size in (height, width))"
        case ByRatio(height=height, width=width, covers=covers):
            yield f"ratio = {'min' if covers else 'max'}(height / {height}, width / {width})"
            yield "height, width = round(height / ratio), round(width / ratio)"
        case Multiple(of_size=multiple, rounding=rounding):
            rounded = ROUNDED[rounding].format(f"size / {multiple}")
            yield f"height, width = ({rounded} * {multiple} for size in (height, width))"
        case NearestMultiple(height=height, width=width, of_size=multiple, keeps_ratio=keeps_ratio):
            yield f"tall, wide = {height} / height, {width} / width"
            if keeps_ratio:
                yield "tall = wide = wide if abs(1 - wide) < abs(1 - tall) else tall"
            pairs = "((height, tall), (width, wide))"
            yield f"height, width = (round(size * scale / {multiple}) * {multiple} for size, scale in {pairs})"
        case ShareOfShorterSide(height=tall, width=wide):
            yield f"height, width = (int(share * min(height, width)) for share in ({tall!r}, {wide!r}))"
        case RoundedUp(size=size, of_size=multiple):
            yield from _formula(size)
            yield from _formula(Multiple(of_size=multiple, rounding=SizeRounding.UP))
        case _:
            raise TypeError(f"no rule: {rule!r}")
