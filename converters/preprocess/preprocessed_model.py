"""A model that takes the raw image: resize, mean and scale of its training stand in front of it.

First, layers of an IR that OpenVINO computes in float32 on every processor. On processors with bfloat16, the CPU
plugin computes in it by default, and loses the lower bits of integers over 256. A layer with the mark ``precise``
keeps float32 unless the plugin replaces it by others, which lose the mark. So nodes for an IR contain no layer that is
replaced: sums instead of differences, and no Transpose in front of MatMul.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from lxml import etree
from onnx import helper

from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.files.memory import check_bytes
from ir_interp.pipelines import rules
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import AlphaRule
from ir_interp.pipelines.steps import Normalise, Rescale, Scale
from ir_interp.shapes import Array

from ..decompose.tensor import Tensor
from ..onnx.onnx_files import (
    default_opset,
    invalid,
    load_weights,
    read_file,
    with_inner,
)
from ..onnx.onnx_graph import LARGEST, Graph, Unsaved
from ..onnx.operators import NodeTensor, Primitives, tensor
from .step_nodes import ImageTensor, written


@dataclass(frozen=True, slots=True)
class SumPrimitives(Primitives):
    """Primitive operations, and -1 that depends on the image: OpenVINO turns a sum with x * -1 into a difference."""

    minus: str

    @staticmethod
    def of(graph: Graph, image: str, rank: int) -> SumPrimitives:
        """Return the operations of a graph; a pixel, which is not negative, clipped at 0 is 0."""
        x = tensor(graph, image, "uint8")
        for _ in range(rank):
            x = x.take(0, 0)
        return SumPrimitives(graph, (x.cast("float32").minimum(0.0) + -1.0).value)


@dataclass(frozen=True, slots=True, eq=False)
class SumTensor(Tensor[SumPrimitives]):
    """A tensor whose float32 differences are sums: a - b becomes a + b * -1, of the same bits."""

    def __sub__(self, other: Any) -> Tensor[SumPrimitives]:
        if self.dtype != "float32":
            return Tensor.__sub__(self, other)
        return self + (-other if isinstance(other, Tensor) else np.negative(other))

    def __rsub__(self, other: Any) -> Tensor[SumPrimitives]:
        return -self + other if self.dtype == "float32" else Tensor.__rsub__(self, other)

    def __neg__(self) -> Tensor[SumPrimitives]:
        return self * self.like(self.ops.minus) if self.dtype == "float32" else Tensor.__neg__(self)


_MARK = "precise"
_UNMARKED = ("Parameter", "Result")


def keep_single(path: Path, tensor: str, prefix: str) -> None:
    """Mark the layers that compute a tensor, or one whose name has a prefix, and all layers before them."""
    tree = etree.parse(path)
    layers = {str(layer.get("id")): layer for layer in tree.iterfind("./layers/layer")}
    names = {key: list(_layer_names(layer)) for key, layer in layers.items()}
    seeds = [key for key, those in names.items() if tensor in those or any(name.startswith(prefix) for name in those)]
    for key in _with_ancestors(seeds, tree):
        for layer in (layers[key], *layers[key].iterfind(".//layer")):
            if layer.get("type") not in _UNMARKED:
                _mark(layer)
    tree.write(path)


def _layer_names(layer: etree._Element) -> Iterator[str]:
    """Yield the names of a layer's outputs, which are joined by commas; commas in a name are escaped."""
    for port in layer.iterfind("./output/port"):
        joined = str(port.get("names", "")).replace("\\,", "\0")
        yield from (name.replace("\0", ",") for name in joined.split(","))


def _with_ancestors(seeds: Iterable[str], tree: etree._ElementTree) -> set[str]:
    sources: dict[str, list[str]] = {}
    for edge in tree.iterfind("./edges/edge"):
        sources.setdefault(str(edge.get("to-layer")), []).append(str(edge.get("from-layer")))
    reached, waiting = set[str](), list(seeds)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting += sources.get(key, [])
    return reached


def _mark(layer: etree._Element) -> None:
    notes = layer.find("rt_info")
    if notes is None:
        notes = etree.Element("rt_info")
        layer.insert(0 if layer.find("data") is None else 1, notes)
    if all(note.get("name") != _MARK for note in notes):
        etree.SubElement(notes, "attribute", name=_MARK, version="0")


LAYER = "preprocess"
"""The prefix of the names of all new nodes."""
_OLDEST = 11
_BATCH_RANK = 4
_UINT8 = 2  # TensorProto.UINT8
_TAKEN = ("float32", "float16", "float64", "uint8", "int8", "int16", "int32", "int64", "uint16")  # by inputs
_CHANNELS = {1: [0, 0, 0], 3: [0, 1, 2], 4: [0, 1, 2]}
"""Which channels of an image are red, green and blue, by its number of channels."""
_BYTES_A_PIXEL = 64.0  # of a row or a column: its place as constants of several types


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocess:
    """The pipeline in front of a model.

    ``image_size`` is height and width of all images, if static; ``layout`` is that of the model's input,
    by default inferred from its shape. With a ``batch`` the input holds so many images of one size, or any number of
    them for 0. Images have ``channels``: 3, 1 (grey, repeated) or 4 (the last one is alpha).
    """

    pipeline: Pipeline
    image_size: tuple[int, int] | None = None
    layout: str = ""
    batch: int | None = None
    channels: int = 3

    def __post_init__(self) -> None:
        if self.channels not in _CHANNELS:
            raise SpecError(f"--channels is {self.channels}; expected 1 (grey), 3 (RGB) or 4 (RGB and alpha)")
        if self.channels == rules.CHANNELS and self.pipeline.alpha is AlphaRule.REFUSED:
            name = self.pipeline.name or "the pipeline"
            raise SpecError(f"--channels is 4; {name} takes no images with alpha; expected 1 or 3")

    @property
    def shape(self) -> list[int | str]:
        """The shape of the image, with names for dynamic dimensions."""
        batch = [] if self.batch is None else [self.batch or "batch"]
        return [*batch, *(self.image_size or ("height", "width")), self.channels]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputForm:
    """The form in which a model takes the result of a pipeline at its input ``name``."""

    name: str
    request: Preprocess
    dtype: str
    rank: int
    is_channel_last: bool

    def of_pixels(self, images: Array) -> Array:
        """Return what the pipeline makes of images in NumPy, as the model takes it."""
        batch = images if self.request.batch is not None else images[None]
        values = [self._of_image(image) for image in batch]
        return np.stack(values) if self.rank == _BATCH_RANK else values[0]

    def _of_image(self, image: Array) -> Array:
        colours = image if image.shape[-1] > 1 else image[:, :, _CHANNELS[1]]
        values = self.request.pipeline(colours).astype(self.dtype)
        is_last = self.request.pipeline.layout == "nhwc"
        if is_last == self.is_channel_last:
            return values
        return values.transpose((2, 0, 1) if is_last else (1, 2, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInput:
    """The name of the image, the form of the model's own input, and the ``steps`` from one to the other as a model."""

    name: str
    form: InputForm
    steps: Unsaved


def write(source: Path, output: Path, request: Preprocess, name: str | None = None, *, wide: bool = True) -> NewInput:
    """Write a model whose input ``name`` is an image, uint8 [height, width, 3] of any size; return the new input.

    Numbers beyond float32 are in float64 only if the model may be ``wide``: not for OpenVINO.

    Raises ReadError for an input that is missing or takes no image, InexactError for a call without such a form.
    """
    model = _with_weights(source)
    opset = default_opset(model, source.name)
    if opset < _OLDEST:
        newer = f"expected {_OLDEST} or newer; `convert --target onnx:17` upgrades the model"
        raise ReadError(f"operator set {opset}; {newer}", source.name)
    model_input = _input(model, name, source.name, request.batch)
    _check_dtype(request.pipeline, model_input)
    form = _form(request, model_input)
    graph = Graph(opset=opset, layer=LAYER)
    for known in _names(model):
        graph.fresh(known)
    image = graph.fresh("image")
    rank = 3 if request.batch is None else 4
    x: NodeTensor = tensor(graph, image, "uint8")
    x = x if wide else SumTensor(SumPrimitives.of(graph, image, rank), image, "uint8")
    x = x if request.batch is None else x.transposed(1, 2, 0, 3)
    x = _in_colour(x, request)
    raw = ImageTensor(tensor=x, size=request.image_size, is_batch=request.batch is not None, wide=wide)
    y = _as_input(written(request.pipeline.steps, raw).tensor, form)
    graph.rename(y.value, model_input.name)
    graph.name_nodes(0)
    pixels = helper.make_tensor_value_info(image, _UINT8, request.shape)
    values = helper.make_tensor_value_info(model_input.name, model_input.type.tensor_type.elem_type, None)
    steps = graph.model(LAYER, [pixels], [values])
    nodes = [*steps.model.graph.node, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    place = [end.name for end in model.graph.input].index(model_input.name)
    model.graph.input[place].CopyFrom(pixels)
    model.graph.initializer.extend(steps.tensors())
    del model.graph.value_info[:]
    _check(model, source.name)
    output.write_bytes(model.SerializeToString(deterministic=True))
    return NewInput(name=image, form=form, steps=steps)


def _in_colour(x: NodeTensor, request: Preprocess) -> NodeTensor:
    """Return images of three channels, the last axis."""
    axis = 2 if request.batch is None else 3
    colours = x if request.channels == 3 else x.take(_CHANNELS[request.channels], axis)
    if request.channels != rules.CHANNELS or request.pipeline.alpha is not AlphaRule.OVER_WHITE:
        return colours
    # The products are below 2**23, so float32 nodes have the bits of Pillow's integers.
    whole: NodeTensor = rules.over_white(colours.cast("float32"), x.take([3], axis).cast("float32"))
    return (((whole / 2.0).floor() + whole * 128.0) / 2.0**15).floor().cast("uint8")


def _check_dtype(pipeline: Pipeline, model_input: onnx.ValueInfoProto) -> None:
    """Raise SpecError for an input of integers if the pipeline returns floats; and for tables beyond memory."""
    dtype = _dtype(model_input)
    for call in pipeline.calls:
        if call.op("uint8").dtype == "float32" and "float" not in dtype:
            raise SpecError(f"{call.like} returns floats; input {model_input.name!r} takes {dtype}")
        for length in call.size.fixed or ():
            check_bytes(_BYTES_A_PIXEL * length, f"a resize {call.size.text}")
    if "float" not in dtype and any(isinstance(step, Rescale | Normalise | Scale) for step in pipeline.steps):
        problem = f"input {model_input.name!r} takes {dtype}, but rescaling and normalisation return floats"
        raise SpecError(f"{problem}; leave out --mean and --std, or pass a model without preprocessing of its own")


def _with_weights(source: Path) -> onnx.ModelProto:
    """Return a model with its external data in it. Raises ReadError if these cannot be read, or are too large."""
    model = load_weights(read_file(source), source)
    if model.ByteSize() > LARGEST:
        raise ReadError("larger than 2 GiB with its external data, the limit of one ONNX file", source.name)
    return model


def _check(model: onnx.ModelProto, where: str) -> None:
    problem = invalid(model, full=False)
    if problem:
        raise ReadError(f"not valid ONNX: {problem}", where)


def _input(model: onnx.ModelProto, name: str | None, where: str, batch: int | None) -> onnx.ValueInfoProto:
    constants = {weight.name for weight in model.graph.initializer}
    inputs = [end for end in model.graph.input if end.name not in constants]
    chosen = [end for end in inputs if name in (None, end.name)]
    if len(chosen) != 1:
        several = (
            f"{len(inputs)} inputs; name that of the images (preprocess --input, convert --preprocess NAME=PIPELINE)"
        )
        problem = several if name is None else f"no input {name!r}"
        raise ReadError(f"{problem}; {closest(name or '', [end.name for end in inputs])}", where)
    model_input: onnx.ValueInfoProto = chosen[0]
    lengths, called = _lengths(model_input), f"{where}:input {model_input.name!r}"
    if len(lengths) not in (3, 4):
        raise ReadError("takes no image: expected 3 or 4 axes", called)
    if len(lengths) == 3 and batch is not None:
        raise ReadError("takes one image without an axis for a batch", called)
    if len(lengths) == 4 and lengths[0] not in (None, 1 if batch is None else batch):
        expected = "expected one; use batch for several" if batch is None else f"expected {batch or 'any number'}"
        raise ReadError(f"takes {lengths[0]} images at once; {expected}", called)
    if _dtype(model_input) not in _TAKEN:
        raise ReadError(f"takes {_dtype(model_input) or 'no numbers'}; expected one of {', '.join(_TAKEN)}", called)
    return model_input


def _lengths(model_input: onnx.ValueInfoProto) -> list[int | None]:
    """Return the shape of an input; None for dynamic dimensions, which some files write as -1."""
    return [
        dimension.dim_value if dimension.dim_value > 0 else None for dimension in model_input.type.tensor_type.shape.dim
    ]


def _dtype(model_input: onnx.ValueInfoProto) -> str:
    """Return the name of an element type; empty for those that ONNX does not have."""
    with suppress(KeyError):
        return np.dtype(helper.tensor_dtype_to_np_dtype(model_input.type.tensor_type.elem_type)).name
    return ""


def _names(model: onnx.ModelProto) -> set[str]:
    ends = {end for node in with_inner(model.graph.node) for end in (*node.input, *node.output)}
    values = (*model.graph.input, *model.graph.output, *model.graph.initializer)
    return ends | {value.name for value in values}


def _check_size(request: Preprocess, name: str, expected: Sequence[int | None]) -> None:
    """Raise SpecError if the pipeline gives images of another size than a model takes, or of any size."""
    size = request.pipeline.size
    if size is None and request.image_size is not None:
        last = request.pipeline(np.zeros((*request.image_size, 3), np.uint8)).shape
        size = (last[1], last[2]) if request.pipeline.layout == "nchw" else (last[0], last[1])
    if None in expected and size is None:
        return
    takes = f"input {name!r} takes images of {' x '.join('any' if side is None else str(side) for side in expected)}"
    if size is None:
        raise SpecError(f"{takes}; the size after the last step depends on the image: add a crop, or a fixed size")
    if any(side not in (None, other) for side, other in zip(expected, size, strict=True)):
        raise SpecError(f"{takes}; the pipeline gives {size[0]} x {size[1]}")


def _form(request: Preprocess, model_input: onnx.ValueInfoProto) -> InputForm:
    """Return the form of a model's input. Raises SpecError for one that does not take the pipeline's images."""
    lengths = _lengths(model_input)
    last = request.layout == "nhwc" if request.layout else _is_channel_last(lengths, request.pipeline)
    *expected, depth = lengths[-3:] if last else (*lengths[-2:], lengths[-3])
    if depth not in (None, 3):
        raise SpecError(f"input {model_input.name!r} takes {depth} channels; images have 3")
    _check_size(request, model_input.name, expected)
    return InputForm(
        name=model_input.name, request=request, dtype=_dtype(model_input), rank=len(lengths), is_channel_last=last
    )


def _as_input(y: NodeTensor, form: InputForm) -> NodeTensor:
    """Return an image [height, width, 3], or several along the third axis, as the input of the model."""
    y, last = y.cast(form.dtype), form.is_channel_last
    if form.request.batch is not None:
        return y.transposed(*((2, 0, 1, 3) if last else (2, 3, 0, 1)))
    y = y if last else y.transposed(2, 0, 1)
    return y.unsqueeze(0) if form.rank == _BATCH_RANK else y


def _is_channel_last(lengths: Sequence[int | None], pipeline: Pipeline) -> bool:
    """Return whether channels come last: as the shape of the input shows, else as in the pipeline."""
    places = [lengths[place] == 3 for place in (-3, -1)]
    return places[1] if any(places) and not all(places) else pipeline.layout == "nhwc"
