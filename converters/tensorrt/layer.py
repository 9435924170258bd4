"""TensorRT layers as they live in a network: read them, set them, write the Python that builds them.

``tensorrt`` is never imported: networks, layers and tensors are used by the names of its Python API.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from ir_interp.errors import InexactError, SpecError
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import PartialShape
from ir_interp.text.quoting import python
from ir_interp.translation.dialect import Attributes, Context
from ir_interp.translation.grades import Grade, Translation
from ir_interp.translation.translate import write

from ..dialects.tensorrt import DIALECT
from ..reports.conversion_report import expressed
from .several import function

_ENUMS = {
    "resize_mode": "InterpolationMode",
    "coordinate_transformation": "ResizeCoordinateTransformation",
    "selector_for_single_pixel": "ResizeSelector",
    "nearest_rounding": "ResizeRoundMode",
}
_DTYPES = {  # NumPy's name of a tensorrt.DataType
    "FLOAT": "float32",
    "HALF": "float16",
    "BF16": "bfloat16",
    "INT8": "int8",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "BOOL": "bool",
}


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
    layer = _typed(layer)
    source = layer.get_input(0)
    known_shape = _open_shape(source.shape if shape is None else shape)
    enums: dict[str, Any] = {name: getattr(layer, name).name for name in _ENUMS}
    settings = enums | {"exclude_outside": bool(layer.exclude_outside), "cubic_coeff": float(layer.cubic_coeff)}
    settings |= _target(layer)
    context = Context(version=DIALECT.versions[0], shape=known_shape, dtype=_dtype(source))
    return read(DIALECT, settings, context, name=layer.name, where=f'tensorrt:layer["{layer.name}"]')


def apply(network: Any, at: Any, op: ResizeOp, *, lengths: Any = None) -> Any:
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
    for setting, value in DIALECT.complete(translation.attributes, translation.version).items():
        if setting in _ENUMS:  # the enumeration is taken from the layer: its name differs among versions
            setattr(layer, setting, getattr(type(getattr(layer, setting)), value))
        elif value is not None:
            setattr(layer, setting, value)
    if kind is _Kind.INPUT:
        layer.set_input(1, lengths)
    return layer


class _Kind(Enum):
    """The source of a layer's output shape. If there are several, no page specifies which TensorRT uses."""

    INPUT = "a second input"
    SHAPE = "a shape"
    SCALES = "scales"


def _kind(settings: Attributes) -> _Kind:
    if "scales" in settings:
        return _Kind.SCALES
    return _Kind.INPUT if settings["shape"] is None else _Kind.SHAPE


def _typed(layer: Any) -> Any:
    """Return a layer as its own class: a network returns plain ILayers, which have no settings."""
    if not hasattr(layer, "resize_mode"):
        layer.__class__ = sys.modules[type(layer).__module__].IResizeLayer
    return layer


def _is_set(layer: Any) -> bool:
    return layer.num_inputs > 1 or len(layer.scales) > 0 or len(layer.shape) > 0


def _target(layer: Any) -> dict[str, Any]:
    """Return the source of a layer's output shape, and scales of 1 if there is none."""
    if layer.num_inputs > 1:
        return {"shape": None}
    if len(layer.scales) > 0:
        return {"scales": tuple(float(scale) for scale in layer.scales)}
    if len(layer.shape) > 0:
        return {"shape": tuple(int(size) for size in layer.shape)}
    return {"scales": (1.0,) * len(layer.get_input(0).shape)}


def _dtype(tensor: Any) -> str | None:
    return _DTYPES.get(tensor.dtype.name)


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
                text, several = function(op, identifier, refusal)
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
        f"    layer.name = {python(name)}",
    ]
    for setting, value in translation.attributes.items():
        spelled = f"trt.{_ENUMS[setting]}.{value}" if setting in _ENUMS else python(value)
        lines.append(f"    layer.{setting} = {spelled}" if value is not None else "    layer.set_input(1, lengths)")
    return "\n".join([*lines, "    return layer.get_output(0)"])
