"""A common view of both kinds of models: inputs, and steps that compute tensors from tensors.

Then the resizes of a model, with the names of their input and output tensors; images as its inputs; and extreme
inputs of quantised models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.kinds import FileKind
from ir_interp.options.shared_options import IMAGE_RANK, Images
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, PartialShape
from ir_interp.views.image_arrays import opened, pillow, plain

from ..onnx import low_precision
from ..reports import FedImage
from ..sources.model_description import End

Value = Array | None

_CAPTURING = ("if", "loop", "scan")  # in ONNX, their bodies read tensors that are not among their inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """An input of a model: its shape, None where dynamic, and its element type as a NumPy name.

    ``symbols`` names the dimensions, empty for those without a name; ``most`` are the largest sizes
    allowed, if limited.
    """

    name: str
    lengths: PartialShape
    dtype: str
    symbols: tuple[str, ...] = ()
    most: PartialShape = ()

    @property
    def text(self) -> str:
        """The input as text, as in ``input 'x' is float32 of shape [1, 3, ?, ?]``."""
        return f"input {self.name!r} is {self.dtype} of shape {dimensions_text(self.lengths)}"


def of_ends(inputs: Iterable[End], outputs: Iterable[End]) -> Graph:
    """Return the graph of a model of which only the ends are known."""
    known = {end.name: end.shape for end in (*inputs, *outputs)}
    return Graph(
        inputs=tuple(ModelInput(name=end.name, lengths=end.shape or (), dtype=end.dtype) for end in inputs),
        outputs=tuple(end.name for end in outputs),
        steps=(),
        shape=known.get,
        value=lambda _: None,
        names=frozenset(known),
    )


def dimensions_text(shape: PartialShape) -> str:
    """Return a shape as messages show it, ``?`` where dynamic."""
    return f"[{', '.join('?' if length is None else str(length) for length in shape)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node or a layer: its type in lower case, and its tensors by name, empty for omitted ones."""

    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The main graph of a model. ``shape`` and ``value`` return the statically known properties of a tensor.

    ``names`` are all tensor names, of which an IR's tensor may have several; ``hints`` are image sizes recorded in the
    file: height and width, or nothing.
    """

    inputs: tuple[ModelInput, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]
    shape: Callable[[str], PartialShape | None]
    value: Callable[[str], Value]
    names: frozenset[str]
    hints: tuple[int, ...] = ()

    def readers(self) -> dict[str, list[tuple[Step, int]]]:
        """Return which steps read each tensor, and at which of their inputs."""
        readers: dict[str, list[tuple[Step, int]]] = {}
        for step in self.steps:
            for place, name in enumerate(step.inputs):
                readers.setdefault(name, []).append((step, place))
        return readers

    def starts(self, ends: Iterable[str], known: Set[str]) -> set[str]:
        """Return those of the ``known`` tensors from which steps compute ``ends``; known ends are computed as well."""
        if any(step.type in _CAPTURING for step in self.steps):
            return set(known)
        makers = {name: step for step in self.steps for name in step.outputs}
        starts = {name for name in known if name not in makers}  # another name of a tensor
        waiting, seen = list(ends), set[str]()
        while waiting:
            step = makers.get(waiting.pop())
            for name in step.inputs if step else ():
                if name in known:
                    starts.add(name)
                elif name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return starts


def read(path: Path) -> Graph:
    """Return the graph of a model (.onnx, .xml)."""
    if FileKind.of(path) is FileKind.ONNX:
        return _of_onnx(path)
    state = path.stat() if path.exists() else None
    return _of_ir(path, (state.st_ino, state.st_size, state.st_mtime_ns) if state else ())


def _of_onnx(path: Path) -> Graph:

    from ..onnx.onnx_files import read_outline
    from ..onnx.onnx_graph import attributes_of
    from ..onnx.resize_nodes import known_values

    values = known_values(path)
    graph = values.graph
    constants = {
        tensor.name for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer))
    }
    steps = tuple(
        Step(
            type=node.op_type.lower(),
            inputs=tuple(node.input),
            outputs=tuple(node.output),
            attributes=attributes_of(node),
        )
        for node in graph.node
    )
    return Graph(
        inputs=tuple(_onnx_input(value, path.name) for value in graph.input if value.name not in constants),
        outputs=tuple(value.name for value in graph.output),
        steps=steps,
        # Shape inference leaves out constants, whose values are there.
        shape=lambda name: values.shape(name) or _constant_shape(values.value(name)),
        value=values.value,
        names=frozenset(name for step in steps for name in step.outputs),
        hints=_hints({entry.key: entry.value for entry in read_outline(path).metadata_props}),
    )


def _constant_shape(value: Value) -> PartialShape | None:
    return None if value is None else value.shape


def _onnx_input(value: Any, where: str) -> ModelInput:
    from onnx import TensorProto, helper

    tensor = value.type.tensor_type
    dims = tensor.shape.dim
    if tensor.elem_type not in TensorProto.DataType.values():
        raise ReadError(f"input {value.name!r} has element type {tensor.elem_type}, which ONNX does not define", where)
    return ModelInput(
        name=value.name,
        # A negative value is not a size, so the dimension is dynamic.
        lengths=tuple(dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None for dim in dims),
        dtype=str(np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name) if tensor.elem_type else "",
        symbols=tuple(dim.dim_param for dim in dims),
    )


def _hints(metadata: Mapping[str, str]) -> tuple[int, ...]:
    """Return height and width of images, if an exporter recorded them: ``imgsz`` of Ultralytics."""
    numbers = [part.strip() for part in metadata.get("imgsz", "").strip("[]()").split(",")]  # "640" or "[480, 640]"
    image_size = tuple(int(number) for number in numbers if number.isdecimal())
    return image_size * 2 if len(image_size) == 1 else image_size


@lru_cache(maxsize=4)  # without weights; verification reads the same two files ten times
def _of_ir(path: Path, state: tuple[int, ...]) -> Graph:
    """Return the graph of an IR; ``state`` changes with the file."""
    from ir_interp.ir.ir_files import Layer, Net, nets, tensor_name

    net = next(nets(path))
    ports = {tensor_name(layer, port): (layer, port) for layer in net.layers.values() for port in layer.outputs}

    def value(name: str) -> Value:
        return _ir_value(net, *ports[name]) if name in ports else None

    def names(net: Net, layer: Layer) -> tuple[str, ...]:
        sources = (net.source(layer, place) for place in range(len(layer.inputs)))
        return tuple(tensor_name(*source) if source else "" for source in sources)

    layers = list(net.layers.values())
    return Graph(
        inputs=tuple(_ir_input(layer) for layer in layers if layer.type.lower() == "parameter" and layer.outputs),
        outputs=tuple(name for layer in layers if layer.type.lower() == "result" for name in names(net, layer)),
        steps=tuple(
            Step(
                type=layer.type.lower(),
                inputs=names(net, layer),
                outputs=tuple(tensor_name(layer, port) for port in layer.outputs),
                attributes=layer.attributes,
            )
            for layer in layers
        ),
        shape=lambda name: ports[name][1].shape if name in ports else None,
        value=value,
        names=frozenset(
            name for layer in layers for port in layer.outputs for name in (port.names or (tensor_name(layer, port),))
        ),
    )


def _ir_value(net: Any, layer: Any, port: Any) -> Value:
    """Return the value of a tensor, if the constants of a net determine it and it is small; else None."""
    from ir_interp.ir.interpolates import fold

    readers = net.readers(layer, port)  # fold() takes the input of a layer, so one reader has to stand for it
    places = [
        (reader, place)
        for reader in readers[:1]
        for place in range(len(reader.inputs))
        if net.source(reader, place) == (layer, port)
    ]
    try:
        return fold(net, *places[0]) if places else None
    except ReadError:
        return None


def _ir_input(layer: Any) -> ModelInput:
    from ir_interp.ir.ir_files import numpy_name, tensor_name

    port = layer.outputs[0]
    words = [part.strip() for part in layer.attributes.get("shape", "").split(",")]  # "1", "?" or "1..640"
    most = tuple(int(word.split("..")[-1]) if word.split("..")[-1].isdecimal() else None for word in words)
    shape = port.shape or ()
    return ModelInput(
        name=tensor_name(layer, port),
        lengths=shape,
        dtype=numpy_name(layer.attributes.get("element_type", "") or port.dtype or ""),
        symbols=("",) * len(shape),
        most=most if len(most) == len(shape) else (None,) * len(shape),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeTensors:
    """A resize of a model with the names of its tensors; ``inputs`` holds data, and sizes, scales, roi if present."""

    op: ResizeOp
    inputs: Mapping[str, str]
    output: str


def is_model(path: Path) -> bool:
    """Return whether a file is a model, not settings or a pasted layer."""
    if FileKind.of(path) is FileKind.IR:
        from ir_interp.ir.ir_files import parse

        return parse(path).tag == "net"
    return FileKind.of(path) is FileKind.ONNX


def resizes_with_tensors(model: Path) -> list[ResizeTensors]:
    """Return the resizes of the main graph of a model (.onnx, .xml), in the order of the file."""
    if FileKind.of(model) is FileKind.ONNX:
        from ..onnx import resize_nodes as of_onnx

        tensors = of_onnx.resizes_with_tensors(model)
    else:
        from ir_interp.ir import interpolates as of_ir

        tensors = of_ir.resizes_with_tensors(model)
    return [ResizeTensors(op=op, inputs=inputs, output=output) for op, inputs, output in tensors]


_DEPTHS = (1, 3)  # channels of images


def is_channel_last(shape: PartialShape) -> bool:
    """Return whether an input takes images with the channels last, as far as its shape shows."""
    return len(shape) >= 3 and shape[-1] in _DEPTHS and shape[-3] not in _DEPTHS


def read_image(path: Path, target: ModelInput, shape: Sequence[int] | None, images: Images) -> Array:
    """Return an image as an array for an input: of ``shape`` if specified, else of the shape that the input requires.

    Dynamic dimensions take the image's own size; it is resized to static ones.

    Raises ReadError for a file that is not an image, IrInterpError if the input takes none.
    """
    lengths, last = _layout(path, target, shape, images)
    height, width, depth = _dimensions(lengths, last)
    pixels: Array = _pixels(path, depth, height, width)
    pixels = pixels[:, :, ::-1] if images.bgr else pixels  # before means and scales, which are in the model's order
    pixels = pixels if last else pixels.transpose(2, 0, 1)
    pixels = pixels[None] if len(lengths) == 4 else pixels
    if np.dtype(target.dtype).kind == "f":
        pixels = images.normalised(pixels, pixels.ndim - 1 if last else pixels.ndim - 3)
    return np.ascontiguousarray(pixels.astype(target.dtype))


def fed(path: Path, target: ModelInput, shape: Sequence[int] | None, images: Images) -> FedImage:
    """Return the sizes at which ``read_image`` feeds an image; the file's header is enough."""
    height, width, _ = _dimensions(*_layout(path, target, shape, images))
    with opened(path) as image:
        columns, rows = image.size
    size = (rows if height is None else height, columns if width is None else width)
    return FedImage(input=target.name, file=str(path), size=size, file_size=(rows, columns))


def _layout(path: Path, target: ModelInput, shape: Sequence[int] | None, images: Images) -> tuple[PartialShape, bool]:
    """Return the shape of an input as far as it is settled, and whether its channels come last."""
    lengths: PartialShape = tuple(shape) if shape is not None else target.lengths
    # A file holds one image, so that the batch must be 1.
    if len(lengths) not in (3, 4) or (len(lengths) == 4 and lengths[0] not in (None, 1)):
        raise IrInterpError(f"{path.name}: an image does not fit this input; {target.text}")
    return lengths, images.layout == "nhwc" if images.layout else is_channel_last(lengths)


def _dimensions(lengths: PartialShape, is_last: bool) -> tuple[int | None, int | None, int | None]:
    """Return height, width and channels of a shape."""
    height, width, depth = lengths[-3:] if is_last else (lengths[-2], lengths[-1], lengths[-3])
    return height, width, depth


def _pixels(path: Path, depth: int | None, height: int | None, width: int | None) -> NDArray[np.uint8]:
    """Return an image as uint8 of height, width and channels, resized by Pillow to the input's static sizes."""
    if depth not in (None, *_DEPTHS):
        raise IrInterpError(f"{path.name}: an image has 1 or 3 channels, not {depth}")
    grey = depth == 1
    with opened(path) as image:
        opaque = plain(image, path).convert("L" if grey else "RGB")
        sizes = opaque.width if width is None else width, opaque.height if height is None else height
        resized = opaque if opaque.size == sizes else opaque.resize(sizes, pillow().Resampling.BILINEAR)
        pixels = np.asarray(resized, np.uint8)
    return pixels[:, :, None] if grey else pixels


LOWEST, HIGHEST, ALTERNATING, RANGE = "lowest", "highest", "alternating", "range"
PATTERNS = (LOWEST, HIGHEST, ALTERNATING, RANGE)
"""All elements at the lower end of their range, at the upper one, at both in turn, and at random between them."""

Limits = Mapping[str, tuple[float, float]]
"""The range of inputs, by name."""

_ROUNDING = frozenset(("fakequantize", "quantizelinear", *(name.lower() for name in low_precision.OPERATORS)))
_MOVES = frozenset(("cast", "convert", "identity", "reshape", "squeeze", "transpose", "unsqueeze"))


def is_quantised(graph: Graph) -> bool:
    """Return whether a model rounds to levels whose scales are in its file."""
    return any(step.type in _ROUNDING for step in graph.steps)


def extreme_limits(graph: Graph) -> Limits:
    """Return the range of each input of a quantised model: of its type, or of the levels to which it is rounded.

    A float that is rounded elsewhere is as usual, from 0 to 1. Empty if the model is not quantised.
    """
    if not is_quantised(graph):
        return {}
    known = ((tensor.name, _limits(graph, tensor)) for tensor in graph.inputs)
    return {name: ends for name, ends in known if ends is not None}


def values(pattern: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], ends: tuple[float, float]) -> Array:
    """Return an array of a pattern between the ``ends`` of a range."""
    low, high = np.array(ends).astype(dtype)
    if pattern == LOWEST:
        return np.full(shape, low)
    if pattern == HIGHEST:
        return np.full(shape, high)
    parity = reduce(np.bitwise_xor, np.ogrid[tuple(slice(size) for size in shape)], np.zeros((), int)) & 1
    alternating: Array = np.where(np.broadcast_to(parity, shape) == 0, low, high)
    return alternating


def _limits(graph: Graph, tensor: ModelInput) -> tuple[float, float] | None:
    """Return the range of an input; None for one that is no image or signal of levels or floats."""
    try:
        dtype = np.dtype(tensor.dtype)
    except TypeError:
        return None
    if dtype.kind in "iu":
        is_levels = dtype.itemsize == 1 or (dtype.itemsize == 2 and len(tensor.lengths) >= IMAGE_RANK)
        return (float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)) if is_levels else None
    return _rounded(graph, tensor.name) or (0.0, 1.0) if dtype.kind == "f" else None


def _rounded(graph: Graph, name: str) -> tuple[float, float] | None:
    """Return the range of the levels to which an input is rounded; None if its first consumers do not round it."""
    readers, waiting = graph.readers(), [name]
    while waiting:
        for step, place in readers.get(waiting.pop(), ()):
            ends = _levels(graph, step) if place == 0 else None
            if ends is not None:
                return ends
            waiting += step.outputs if step.type in _MOVES and place == 0 else ()
    return None


def _levels(graph: Graph, step: Step) -> tuple[float, float] | None:
    """Return the range of the levels of a FakeQuantize or QuantizeLinear, the widest of its channels."""
    if step.type == "fakequantize":
        low, high = graph.value(step.inputs[1]), graph.value(step.inputs[2])
        return None if low is None or high is None else (float(low.min()), float(high.max()))
    if step.type != "quantizelinear":
        return None
    scale = graph.value(step.inputs[1])
    zero = graph.value(step.inputs[2]) if len(step.inputs) > 2 and step.inputs[2] else np.zeros((), np.uint8)
    if scale is None or zero is None or zero.dtype.kind not in "iu":
        return None
    ends = np.iinfo(zero.dtype)
    places = zero.astype(np.float64)
    return float(((ends.min - places) * scale).min()), float(((ends.max - places) * scale).max())
