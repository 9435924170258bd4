"""TensorRT layers as they live in a network: read them, set them, write the Python that builds them.

``tensorrt`` is never imported: networks, layers and tensors are used by the names of its Python API.

A resize that no single layer computes comes first, as several: Python that adds them to a network. Names, ranks and
arguments are those of the Python API's ``INetworkDefinition`` (add_constant, add_gather, add_matrix_multiply,
add_elementwise, add_reduce, add_select, add_shuffle); TensorRT itself was not run. Layers of two inputs require them
to have one rank, and arrays must live as long as the network: they stand in the module.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from ir_interp.errors import InexactError, SpecError
from ir_interp.plain_text import quote_python
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import Array, PartialShape, static_shape
from ir_interp.translation.dialect import Attributes, Context
from ir_interp.translation.translate import Grade, Translation, write

from .decompose.decomposed_resize import Decomposed, decompose
from .dialects.tensorrt import DIALECT
from .reports import expressed
from .runtimes.execution import ANY_SIZE, LargestGather
from .runtimes.tensorrt import volume_refusal

_ELEMENTWISE = {"add": "SUM", "subtract": "SUB", "multiply": "PROD", "minimum": "MIN", "maximum": "MAX"}
_TYPE = "float32"  # of the summands; no page specifies how other types are rounded


@dataclass(frozen=True, slots=True)
class _Array:
    """A constant, which becomes a layer where it is used: by then its rank is known."""

    value: Array


@dataclass(slots=True)
class _Layers:
    """Lines of Python that add layers; ``ranks`` are those of the tensors by the names of variables."""

    prefix: str
    ranks: dict[str, int]
    lines: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=list)

    def constant(self, array: object) -> _Array:
        """Return a constant."""
        return _Array(np.asarray(array))

    def elementwise(self, name: str, *values: object) -> str:
        """Return an elementwise operation."""
        rank = max(self._rank(value) for value in values)
        operands = ", ".join(self._tensor(value, rank) for value in values)
        if name == "select":
            return self._added(f"add_select({operands})", rank)
        if name not in _ELEMENTWISE:
            raise SpecError(f"TensorRT layers for {name} are not supported")
        return self._added(f"add_elementwise({operands}, trt.ElementWiseOperation.{_ELEMENTWISE[name]})", rank)

    def gather(self, x: Any, indices: object, axis: int) -> str:
        """Return the entries of an axis at ``indices``."""
        assert isinstance(indices, _Array)
        places = self._tensor(_Array(indices.value.astype(np.int32)), indices.value.ndim)
        return self._added(f"add_gather({x}, {places}, {axis})", self.ranks[x] + indices.value.ndim - 1)

    def matmul(self, left: object, right: object) -> str:
        """Return a matrix product over the last two axes."""
        rank = max(self._rank(left), self._rank(right))
        plain = "trt.MatrixOperation.NONE"
        operands = f"{self._tensor(left, rank)}, {plain}, {self._tensor(right, rank)}, {plain}"
        return self._added(f"add_matrix_multiply({operands})", rank)

    def transpose(self, x: Any, order: Sequence[int]) -> str:
        """Return ``x`` with its axes in another order."""
        shuffle = self._name()
        self.lines += [f"{shuffle} = network.add_shuffle({x})", f"{shuffle}.first_transpose = {tuple(order)}"]
        return self._output(shuffle, self.ranks[x])

    def total(self, x: Any, axis: int, *, keep: bool) -> str:
        """Return the sum along an axis."""
        operands = f"{x}, trt.ReduceOperation.SUM, axes={1 << axis}, keep_dims={keep}"  # axes are a mask of bits
        return self._added(f"add_reduce({operands})", self.ranks[x] - (not keep))

    @property
    def largest_gather(self) -> LargestGather:
        """Return how many elements a gather may take from, or return."""
        return ANY_SIZE

    def __getattr__(self, name: str) -> Any:
        raise SpecError(f"TensorRT layers for {name} are not supported")

    def _rank(self, value: Any) -> int:
        return value.value.ndim if isinstance(value, _Array) else self.ranks[value]

    def _tensor(self, value: object, rank: int) -> str:
        """Return a variable with a tensor of a rank; a constant gets axes of size 1 in front."""
        if not isinstance(value, _Array):
            return str(value)
        array = value.value.reshape((1,) * (rank - value.value.ndim) + value.value.shape)
        name = f"ADD_{self.prefix.upper()}_{len(self.arrays)}"  # a function's name may begin with a digit
        # "unique" writes the shortest text that reads back as the same float.
        text = np.array2string(array, separator=", ", threshold=array.size + 1, floatmode="unique", max_line_width=100)
        self.arrays.append(f"{name} = np.array({text}, np.{array.dtype.name})")
        return self._added(f"add_constant({array.shape}, {name})", rank)

    def _added(self, call: str, rank: int) -> str:
        layer = self._name()
        self.lines.append(f"{layer} = network.{call}")
        return self._output(layer, rank)

    def _name(self) -> str:
        return f"layer_{len(self.ranks)}"

    def _output(self, layer: str, rank: int) -> str:
        tensor = layer.replace("layer", "tensor")
        self.lines.append(f"{tensor} = {layer}.get_output(0)")
        self.ranks[tensor] = rank
        return tensor


def several_layers(op: ResizeOp, identifier: str, refusal: InexactError) -> tuple[str, Decomposed]:
    """Return Python with a function that adds layers, and these layers. Raises InexactError if there are none."""
    known = static_shape(op.shape)
    if known is None or op.spec.waits:
        raise _refused(refusal, "several layers need a static shape")
    if (op.dtype or _TYPE) != _TYPE:
        raise _refused(refusal, f"several layers support {_TYPE} only, not {op.dtype}")
    ends = {"input": known, "output": plan(op.spec, known).out_shape}
    large = next(filter(None, (volume_refusal(shape, what) for what, shape in ends.items())), "")
    if large:
        raise refusal if refusal.reason == large else _refused(refusal, large)
    layers = _Layers(identifier, {"x": len(known)})
    try:
        decomposed = decompose(layers, "x", op)
    except SpecError as error:
        raise _refused(refusal, str(error)) from None
    head = f"def add_{identifier}(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:"
    body = [head, *(f"    {line}" for line in layers.lines), f"    return {decomposed.output}"]
    return "\n".join([*layers.arrays, "", "", *body] if layers.arrays else body), decomposed


def _refused(refusal: InexactError, reason: str) -> InexactError:
    return InexactError(refusal.name, refusal.target, reason=f"{refusal.reason}; and {reason}")


_ENUMS = {
    "resize_mode": "InterpolationMode",
    "coordinate_transformation": "ResizeCoordinateTransformation",
    "selector_for_single_pixel": "ResizeSelector",
    "nearest_rounding": "ResizeRoundMode",
}
DTYPES = {  # of tensorrt.DataType
    "FLOAT": "float32",
    "HALF": "float16",
    "BF16": "bfloat16",
    "INT8": "int8",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "BOOL": "bool",
}
"""NumPy's names of the element types."""


def load(network: Any) -> list[ResizeOp]:
    """Return every resize of a ``tensorrt.INetworkDefinition``, in the order of its layers; see ``read_layer``."""
    layers = (network.get_layer(index) for index in range(network.num_layers))
    return [read_layer(layer) for layer in layers if layer.type.name == "RESIZE"]


def read_layer(layer: Any, *, shape: PartialShape | None = None) -> ResizeOp:
    """Return the resize that a ``tensorrt.IResizeLayer`` computes.

    ``shape`` is the shape of its input, if not that of ``layer.get_input(0)``. The output shape is that of
    its second input if it has one, known at run time only, else that of its scales or its shape; a layer without
    any of them keeps every size. Raises ReadError for settings that TensorRT does not take.
    """
    return layer_settings(layer, shape=shape).op


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSettings:
    """The settings of a ``tensorrt.IResizeLayer`` as data, its name, and the shape and type of its input."""

    name: str
    attributes: Attributes
    context: Context

    @property
    def op(self) -> ResizeOp:
        """The resize that the layer computes. Raises ReadError for settings that TensorRT does not take."""
        return read(DIALECT, self.attributes, self.context, name=self.name, where=f'tensorrt:layer["{self.name}"]')


def layer_settings(layer: Any, *, shape: PartialShape | None = None) -> LayerSettings:
    """Return the settings of a ``tensorrt.IResizeLayer``; see ``read_layer``."""
    layer = _typed(layer)
    source = layer.get_input(0)
    known_shape = _open_shape(source.shape if shape is None else shape)
    enums: dict[str, object] = {name: getattr(layer, name).name for name in _ENUMS}
    settings = enums | {"exclude_outside": bool(layer.exclude_outside), "cubic_coeff": float(layer.cubic_coeff)}
    settings |= _target(layer)
    context = Context(version=DIALECT.versions[0], shape=known_shape, dtype=_dtype(source))
    return LayerSettings(name=layer.name, attributes=settings, context=context)


def apply(network: Any, at: Any, op: ResizeOp, *, lengths: object = None) -> Any:
    """Make a ``tensorrt.IResizeLayer`` compute ``op``, and return it.

    ``at`` is an ITensor of ``network``, to which a layer is added, or an IResizeLayer, which is set. ``lengths`` is
    the ITensor with the size of every output axis, for a resize whose sizes are known at run time only. Raises
    InexactError if no single layer computes the same on inputs of the tensor's shape and type, SpecError for lengths
    that are not integers; nothing is changed then.
    """
    layer = _typed(at) if hasattr(at, "get_input") else None
    source = layer.get_input(0) if layer is not None else at
    name = op.name or op.where
    translation = write(op.spec, DIALECT, shape=_open_shape(source.shape), dtype=_dtype(source), name=name)
    kind = _kind(translation.attributes)
    if kind is _Kind.INPUT and lengths is None:
        raise InexactError(
            name, DIALECT.name, reason="its sizes are known at run time only; pass their tensor as lengths"
        )
    if kind is _Kind.INPUT and _dtype(lengths) not in ("int32", "int64"):
        raise SpecError(f"{name}: lengths are {_dtype(lengths)}; IResizeLayer takes int32 or int64")
    if layer is None:
        layer = network.add_resize(source)
        layer.name = name
    elif _is_set(layer) and _kind(_target(layer)) is not kind:
        had = _kind(_target(layer)).value
        reason = f"the layer has {had}, and would be given {kind.value}; add a new one to its input"
        raise InexactError(name, DIALECT.name, reason=reason)
    set_attributes(layer, DIALECT.complete(translation.attributes, translation.version))
    if kind is _Kind.INPUT:
        layer.set_input(1, lengths)
    return layer


def set_attributes(layer: Any, attributes: Attributes) -> None:
    """Set the settings of a ``tensorrt.IResizeLayer``, except those that are None."""
    for setting, value in attributes.items():
        if setting in _ENUMS:  # the enumeration is taken from the layer: its name differs among versions
            setattr(layer, setting, getattr(type(getattr(layer, setting)), value))
        elif value is not None:
            setattr(layer, setting, value)


class _Kind(Enum):
    """The source of a layer's output shape. If there are several, no page specifies which TensorRT uses."""

    INPUT = "a second input"
    SHAPE = "a shape"
    SCALES = "scales"


def _kind(settings: Attributes) -> _Kind:
    if "scales" in settings:
        return _Kind.SCALES
    return _Kind.INPUT if settings["shape"] is None else _Kind.SHAPE


def _typed(layer: object) -> Any:
    """Return a layer as its own class: a network returns plain ILayers, which have no settings."""
    if not hasattr(layer, "resize_mode"):
        layer.__class__ = sys.modules[type(layer).__module__].IResizeLayer
    return layer


def _is_set(layer: Any) -> bool:
    return layer.num_inputs > 1 or len(layer.scales) > 0 or len(layer.shape) > 0


def _target(layer: Any) -> dict[str, object]:
    """Return the source of a layer's output shape, and scales of 1 if there is none."""
    if layer.num_inputs > 1:
        return {"shape": None}
    if len(layer.scales) > 0:
        return {"scales": tuple(float(scale) for scale in layer.scales)}
    if len(layer.shape) > 0:
        return {"shape": tuple(int(size) for size in layer.shape)}
    return {"scales": (1.0,) * len(layer.get_input(0).shape)}


def _dtype(tensor: Any) -> str | None:
    return DTYPES.get(tensor.dtype.name)


def _open_shape(shape: Iterable[int | None]) -> PartialShape:
    """Return a shape with None for dynamic dimensions, which TensorRT marks by -1."""
    return tuple(None if size is None or size < 0 else int(size) for size in shape)


def python_script(ops: Sequence[ResizeOp]) -> tuple[str, list[tuple[str, Grade]]]:
    """Return Python with one function per resize, and the form and grade of each.

    A function takes the network, the input, and ``lengths``, the tensor of the output shape, if it is
    known at run time only; it returns the output. A resize that no single layer computes becomes several layers. Raises
    an ExceptionGroup of InexactError.
    """
    taken: set[str] = set()
    functions, forms, refusals = [], [], []
    for op in ops:
        name = op.name or op.where
        identifier = _identifier(op.name, taken)
        try:
            try:
                translation = write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype, name=name)
                functions.append(_function(op.name, translation, identifier))
                forms.append((expressed(translation), translation.grade))
            except InexactError as refusal:
                text, several = several_layers(op, identifier, refusal)
                functions.append(text)
                forms.append((f"{DIALECT.name} layers: {several.form}", several.grade))
        except InexactError as refusal:
            refusals.append(refusal)
    if refusals:
        raise ExceptionGroup(f"{len(refusals)} of {len(ops)} resizes have no exact form in {DIALECT.name}", refusals)
    numpy = ["import numpy as np"] if any("np.array" in function for function in functions) else []
    return "\n\n\n".join(["\n".join([*numpy, "import tensorrt as trt"]), *functions]) + "\n", forms


def _identifier(name: str, taken: set[str]) -> str:
    """Return a name for a function that is not in ``taken``, and add it there.

    Names are in ASCII, since Python normalises others, and differ in upper case, as their constants are named.
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "layer"
    candidates = itertools.chain([plain], (f"{plain}_{count}" for count in itertools.count(2)))
    chosen = next(candidate for candidate in candidates if candidate.upper() not in taken)
    taken.add(chosen.upper())
    return chosen


def _function(name: str, translation: Translation, identifier: str) -> str:
    more = ", lengths: trt.ITensor" if _kind(translation.attributes) is _Kind.INPUT else ""
    lines = [
        f"def add_{identifier}(network: trt.INetworkDefinition, x: trt.ITensor{more}) -> trt.ITensor:",
        "    layer = network.add_resize(x)",
        f"    layer.name = {quote_python(name)}",
    ]
    for setting, value in translation.attributes.items():
        spelled = f"trt.{_ENUMS[setting]}.{value}" if setting in _ENUMS else quote_python(value)
        lines.append(f"    layer.{setting} = {spelled}" if value is not None else "    layer.set_input(1, lengths)")
    return "\n".join([*lines, "    return layer.get_output(0)"])
