"""Pipelines as Python code on tensors, channels first, that needs torch only, and torchvision if it resizes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

from ir_interp.errors import InexactError
from ir_interp.pipelines.openvino_steps import Interpolate, Scale
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.source_code import ROUNDED, module_text, sized
from ir_interp.pipelines.steps import CentreCrop, Normalise, PadTo, Place, Product, Rescale, Resize, ReverseChannels

_TARGET = "torch"
_TORCHVISION = """\
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional"""


def torch(pipeline: Pipeline) -> str:
    """Return a module with a function ``preprocess`` of an image, a uint8 tensor [3, height, width].

    Raises InexactError for a resize of another library.
    """
    body = [line for step in pipeline.steps for line in lines(step)]
    body.append("return x" if pipeline.layout == "nchw" else "return x.permute(1, 2, 0)")
    imports = ["import torch", *([_TORCHVISION] if pipeline.calls else [])]
    return module_text(pipeline, imports, "a uint8 RGB tensor [3, height, width]", body)


@singledispatch
def lines(step: Any) -> Iterator[str]:
    """Yield the lines of a step."""
    raise TypeError(f"no step: {step!r}")


@lines.register
def _(step: Resize) -> Iterator[str]:
    library, _, call = step.like.partition(":")
    mode, *arguments = call.split(",")
    if library.partition("@")[0] != "torchvision" or not {argument.partition("=")[0] for argument in arguments} <= {
        "antialias"
    }:
        raise InexactError(step.like, _TARGET, reason="expected resizes of torchvision")
    yield from sized(step.size, "x.shape[-2:]")
    yield f"mode = InterpolationMode.{mode.upper().replace('-', '_')}"
    antialias = "antialias=false" not in arguments
    yield f"x = functional.resize(x, [height, width], interpolation=mode, antialias={antialias})"


@lines.register
def _(step: CentreCrop) -> Iterator[str]:
    yield from sized(step.size, "x.shape[-2:]")
    yield "missing = [max(height - x.shape[-2], 0), max(width - x.shape[-1], 0)]"
    yield f"before = [{ROUNDED[step.padding].format('count / 2')} for count in missing]"
    yield from _padding("[count - first for count, first in zip(missing, before)]", step.colour)
    starts = ROUNDED[step.start].format("(length - size) / 2")
    yield f"top, left = ({starts} for length, size in zip(x.shape[-2:], (height, width)))"
    yield "x = x[:, top : top + height, left : left + width]"


@lines.register
def _(step: PadTo) -> Iterator[str]:
    yield from sized(step.size, "x.shape[-2:]")
    yield "rest = [height - x.shape[-2], width - x.shape[-1]]"
    yield f"before = [{'count // 2' if step.place is Place.CENTRE else '0'} for count in rest]"
    yield from _padding("[count - first for count, first in zip(rest, before)]", step.colour)


def _padding(after: str, colour: tuple[float, ...]) -> Iterator[str]:
    yield f"after = {after}"
    yield "shape = (3, x.shape[-2] + before[0] + after[0], x.shape[-1] + before[1] + after[1])"
    yield f"padded = torch.tensor({list(colour)}).to(x.dtype).view(-1, 1, 1).expand(shape).clone()"
    yield "padded[:, before[0] : before[0] + x.shape[-2], before[1] : before[1] + x.shape[-1]] = x"
    yield "x = padded"


@lines.register
def _(step: ReverseChannels) -> Iterator[str]:
    del step
    yield "x = x.flip(0)"


@lines.register
def _(step: Rescale) -> Iterator[str]:
    if step.product is Product.FLOAT64:
        yield f"x = (x.double() * {step.factor!r}).float()"
    elif step.product is Product.FLOAT32:
        yield f"x = x.float() * {step.factor!r}"
    else:
        yield f"x = x.float() / torch.tensor({1 / step.factor!r})"
    if step.offset:
        yield f"x = x + {step.offset!r}"


@lines.register
def _(step: Normalise) -> Iterator[str]:
    yield f"x = x.float() - torch.tensor({list(step.mean)}).view(-1, 1, 1)"
    yield f"x = x / torch.tensor({list(step.deviation)}).view(-1, 1, 1)"


@lines.register
def _(step: Scale) -> Iterator[str]:
    yield f"x = x.float() * torch.tensor({list(step.factors)}).view(-1, 1, 1)"


@lines.register
def _(step: Interpolate) -> Iterator[str]:
    raise InexactError(step.text, _TARGET, reason="only OpenVINO resizes this way")
