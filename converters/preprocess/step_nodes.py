"""The steps of a pipeline as ONNX nodes: for images of static size, or of a size known at run time only.

OpenVINO's Interpolate of a PrePostProcessor comes first: a Resize that computes the same, or its taps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import InexactError, SpecError
from ir_interp.pipelines.rules import NUMPY, ByRatio, SizeRounding, SizeRule
from ir_interp.pipelines.steps import (
    CentreCrop,
    ImageStep,
    Interpolate,
    Normalise,
    PadTo,
    Place,
    Rescale,
    Resize,
    ReverseChannels,
    Scale,
    check_single,
)

from ..decompose.tensor import Functions, Tensor
from ..onnx.operators import NodeTensor, node
from ..onnx.resize_form import resized
from .any_size_resize import Size, lengths_of, resized_in_float32, resized_in_float64
from .extended_precision import TRIPLES, Triple
from .fixed_size_resize import tabled

_CHANNELS = 3


def interpolated(
    step: Interpolate, x: NodeTensor, size: tuple[int, int] | None, *, is_batch: bool, for_openvino: bool
) -> NodeTensor:
    """Return an image [height, width, channels], or a batch [height, width, batch, channels], resized by a step.

    ``size`` is its height and width, None if known only at run time. Raises InexactError for sums of uint8, and for an
    IR, which keeps the layer itself.
    """
    if for_openvino:
        reason = "an IR holds the layer itself: use the model with its PrePostProcessor"
        raise InexactError(step.text, "nodes for OpenVINO", reason=reason)
    if not step.is_float and step.mode != "nearest":
        reason = "OpenVINO rounds sums of uint8 in a way of its own; expected a Convert to f32 before the resize"
        raise InexactError(step.text, "ONNX nodes", reason=reason)
    y = x.cast("float32") if step.is_float else x
    y = y.transposed(2, 0, 1, 3) if is_batch else y.unsqueeze(0)
    shape: tuple[int | None, ...] = (None if is_batch else 1, *(size or (None, None)), _CHANNELS)
    if step.layout == "nchw":
        y, shape = y.transposed(0, 3, 1, 2), (shape[0], shape[3], shape[1], shape[2])
    y = y.like(resized(y.ops.graph, step.op(shape, y.dtype), str(y.value), "")[0])
    y = y.transposed(0, 2, 3, 1) if step.layout == "nchw" else y
    return y.transposed(1, 2, 0, 3) if is_batch else y.take(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageTensor:
    """An image under construction, [height, width, channels]; a batch of images is [height, width, batch, channels].

    ``size`` is its height and width, None if known only at run time; both are at least ``least``. ``is_integral``
    means that its values are still those of uint8. ``wide`` allows float64, which OpenVINO computes in float32.
    """

    tensor: NodeTensor
    size: tuple[int, int] | None
    least: int = 1
    is_integral: bool = True
    is_batch: bool = False
    wide: bool = True

    @property
    def real(self) -> str:
        """The widest type of floats."""
        return "float64" if self.wide else "float32"

    @property
    def channel_axis(self) -> int:
        """The axis of the channels, the last one."""
        return 3 if self.is_batch else 2


def written(steps: Sequence[ImageStep], image: ImageTensor) -> ImageTensor:
    """Return the image after steps. Raises InexactError for a step without an exact form in nodes."""
    place = 0
    while place < len(steps):
        affine = _affine_run(steps, place)
        image = _scaled(affine, image) if affine else after(steps[place], image)
        place += max(len(affine), 1)
    return image


def after(step: ImageStep, image: ImageTensor) -> ImageTensor:
    """Return the image after one step."""
    match step:
        case Resize():
            return _resized(step, image)
        case CentreCrop():
            return _cropped(step, image)
        case PadTo():
            return _padded_to(step, image)
        case ReverseChannels():
            return replace(image, tensor=image.tensor.take([2, 1, 0], image.channel_axis))
        case Interpolate():
            y = interpolated(step, image.tensor, image.size, is_batch=image.is_batch, for_openvino=not image.wide)
            size, is_integral = (step.height, step.width), image.is_integral and not step.is_float
            return replace(image, tensor=y, size=size, least=min(size), is_integral=is_integral)
        case Rescale() | Normalise() | Scale():
            return _scaled([step], image)
        case _:
            assert_never(step)


def _resized(step: Resize, image: ImageTensor) -> ImageTensor:
    if not image.is_integral:
        raise InexactError(
            step.like,
            "an ONNX subgraph",
            reason="it resizes floats; expected the resize before any step that returns floats",
        )
    op, x = step.op("uint8"), image.tensor
    x = x if x.dtype == "uint8" else x.cast("uint8")
    planes = node("Reshape", x, x.of([0, 0, -1], "int64")) if image.is_batch else x
    if image.size is not None:
        sizes: tuple[int, int] | None = _size_of(step.size, image.size)
        assert sizes is not None
        y = tabled(op, planes, image.size, sizes, wide=image.wide, is_batch=image.is_batch)
    else:
        sizes = step.size.fixed
        if sizes is not None:
            height, width = (Size.of(x, length, image.real) for length in sizes)
        else:
            height, width = (Size.at_run_time(length, image.real) for length in _run_time_size(step.size, image))
        y = (resized_in_float64 if image.wide else resized_in_float32)(op, planes, (height, width))
    # States the size, or at least the rank, which onnxruntime does not infer from shapes computed at run time.
    y = node("Reshape", y, y.of([*(sizes or (0, 0)), -1, *([_CHANNELS] if image.is_batch else [])], "int64"))
    return replace(image, tensor=y, size=sizes, least=step.size.least)


def _cropped(step: CentreCrop, image: ImageTensor) -> ImageTensor:
    if image.size is not None:
        return _cropped_known(step, image, image.size)
    crop = _crop_size(step.size, image)  # of the image before it is enlarged
    x = image.tensor
    if step.size.fixed is None or max(step.size.fixed) > image.least:
        missing = [(size - length).maximum(0) for length, size in zip(lengths_of(x), crop, strict=True)]
        before = [_halved(count, step.padding, image) for count in missing]
        x = _padded(image, x, before, _differences(missing, before), step.colour)
    surplus = _differences(lengths_of(x), crop)
    begin = [_halved(count, step.start, image) for count in surplus]
    last = [start + length for start, length in zip(begin, crop, strict=True)]
    bounds = [node("Concat", *places, axis=0) for places in (begin, last)]
    return replace(image, tensor=node("Slice", x, *bounds, x.of([0, 1], "int64")), size=step.size.fixed)


def _cropped_known(step: CentreCrop, image: ImageTensor, size: tuple[int, int]) -> ImageTensor:
    """Return the crop of an image of known size."""
    x, crop = image.tensor, _size_of(step.size, size)
    missing = [max(length, 0) for length in _differences(crop, size)]
    if any(missing):
        before = [int(step.padding.apply(np.float64(count) / 2, NUMPY)) for count in missing]
        x = _padded(image, x, before, _differences(missing, before), step.colour)
    surplus = [max(length, 0) for length in _differences(size, crop)]
    if any(surplus):
        begin = [int(step.start.apply(np.float64(count) / 2, NUMPY)) for count in surplus]
        last = [start + length for start, length in zip(begin, crop, strict=True)]
        x = node("Slice", x, x.of(begin, "int64"), x.of(last, "int64"), x.of([0, 1], "int64"))
    return replace(image, tensor=x, size=crop)


def _differences(of: Sequence[object], less: Sequence[Any]) -> list[Any]:
    return [one - other for one, other in zip(of, less, strict=True)]


def _crop_size(rule: SizeRule, image: ImageTensor) -> list[NodeTensor]:
    """Return height and width of a crop, int64 of one element each."""
    if rule.fixed is not None:
        return [image.tensor.of([length], "int64") for length in rule.fixed]
    return _run_time_size(rule, image)


def _halved(count: NodeTensor, rounding: SizeRounding, image: ImageTensor) -> NodeTensor:
    half: NodeTensor = rounding.apply(count.cast(image.real) / 2.0, Functions(count.ops))
    return half.cast("int64")


def _padded_to(step: PadTo, image: ImageTensor) -> ImageTensor:
    x, is_centred = image.tensor, step.place is Place.CENTRE
    if image.size is not None:
        sizes = _size_of(step.size, image.size)
        rest = _differences(sizes, image.size)
        if min(rest) < 0:
            raise SpecError(f"an image of {image.size[0]}x{image.size[1]} cannot be padded to {sizes[0]}x{sizes[1]}")
        before = [count // 2 if is_centred else 0 for count in rest]
        return replace(image, tensor=_padded(image, x, before, _differences(rest, before), step.colour), size=sizes)
    rest = _differences(_crop_size(step.size, image), lengths_of(x))
    before = [count / 2 if is_centred else count.of([0]) for count in rest]
    y = _padded(image, x, before, _differences(rest, before), step.colour)
    return replace(image, tensor=y, size=step.size.fixed, least=max(image.least, step.size.least))


def _padded(
    image: ImageTensor, x: NodeTensor, before: Sequence[Any], rest: Sequence[Any], colour: Sequence[float]
) -> NodeTensor:
    """Return an image with a coloured border: Pad takes one number, so each channel is padded separately."""
    if isinstance(before[0], Tensor):
        none = before[0].of([0] * (image.channel_axis - 1))
        pads = node("Concat", *before, none, *rest, none, axis=0)
    else:
        zeros = [0] * (image.channel_axis - 1)
        pads = x.of([*before, *zeros, *rest, *zeros], "int64")
    if len(set(colour)) == 1:
        return node("Pad", x, pads, x.of(colour[0]))
    axis = image.channel_axis
    planes = [node("Pad", x.take([channel], axis), pads, x.of(value)) for channel, value in enumerate(colour)]
    return node("Concat", *planes, axis=axis)


def _size_of(rule: SizeRule, size: tuple[int, int]) -> tuple[int, int]:
    """Return the size that a rule gives images of a known size. Raises SpecError for one without pixels."""
    height, width = (int(length) for length in rule.of(np.float64(size[0]), np.float64(size[1]), NUMPY))
    if min(height, width) < 1:
        raise SpecError(f"an image of {size[0]}x{size[1]} has no pixels left when resized {rule.text}")
    return height, width


def _run_time_size(rule: SizeRule, image: ImageTensor) -> list[NodeTensor]:
    """Return the height and width of a rule as nodes, int64 of one element each.

    Raises InexactError if float64 is not allowed, and float32 would round a size differently.
    """
    lengths = lengths_of(image.tensor)
    if image.wide:
        height, width = (length.cast("float64") for length in lengths)
        return [length.cast("int64") for length in rule.of(height, width, Functions(height.ops))]
    if isinstance(rule, ByRatio):
        reason = "its sizes are quotients of float64 numbers, which have no form in nodes; use --image-size 240,320"
        raise InexactError(f"a resize {rule.text}", "an IR of any image size", reason=reason)
    tall, wide = map(Triple.of, lengths)
    return [tall.like(size).integer for size in rule.of(tall, wide, TRIPLES)]


def _affine_run(steps: Sequence[ImageStep], start: int) -> list[Rescale | Normalise | Scale]:
    """Return the steps from ``start`` on that only scale and shift values."""
    run: list[Rescale | Normalise | Scale] = []
    for step in steps[start:]:
        if not isinstance(step, Rescale | Normalise | Scale):
            break
        run.append(step)
    return run


def affine(steps: Sequence[ImageStep]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``mean`` and ``scale`` in float64 such that (x - mean) / scale is the result of the scaling steps."""
    factor, offset = np.ones(1), np.zeros(1)
    for step in steps:
        if isinstance(step, Rescale):
            factor, offset = factor * step.factor, offset * step.factor + step.offset
        elif isinstance(step, Scale):
            factor, offset = factor * np.array(step.factors), offset * np.array(step.factors)
        elif isinstance(step, Normalise):
            deviation = np.array(step.deviation)
            factor, offset = factor / deviation, (offset - np.array(step.mean)) / deviation
    return -offset / factor, 1 / factor


def _scaled(steps: Sequence[Rescale | Normalise | Scale], image: ImageTensor) -> ImageTensor:
    """Return an image after steps that scale and shift: one difference and one quotient in float32.

    With mean and scale rounded to float32 and u = 2**-24, the result is off by at most
    u * (|mean| + 3 * |x - mean|) / scale from the real number.
    """
    mean, scale = affine(steps)
    y = image.tensor.cast("float32")
    check_single((*mean, *scale))
    if np.any(mean.astype(np.float32)):
        y = y - mean
    if np.any(scale != 1):
        y = y / scale
    return replace(image, tensor=y, is_integral=False)
