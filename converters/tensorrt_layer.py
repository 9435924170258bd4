"""TensorRT layers as they live in a network: read one by its attributes, write the Python that builds one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

from converters.tensorrt_resize import DIALECT
from ir_interp.dialect import Context
from ir_interp.op import ResizeOp, interpret
from ir_interp.translate import Translation

_ENUMS = {
    "resize_mode": "InterpolationMode",
    "coordinate_transformation": "ResizeCoordinateTransformation",
    "selector_for_single_pixel": "ResizeSelector",
    "nearest_rounding": "ResizeRoundMode",
}


def read_layer(layer: Any, *, shape: tuple[int | None, ...] | None = None) -> ResizeOp:
    """Return what a ``tensorrt.IResizeLayer`` computes, read by its attribute names; nothing of TensorRT is imported.

    ``shape`` are the lengths of its input, if not those of ``layer.get_input(0)``. Scales are taken where the layer
    has them, else the output dimensions. Raises ReadError for settings that are not understood.
    """
    shape = tuple(layer.get_input(0).shape) if shape is None else shape
    open_shape = tuple(None if length is None or length < 0 else int(length) for length in shape)
    settings: dict[str, Any] = {name: getattr(layer, name).name for name in _ENUMS}
    settings |= {"exclude_outside": bool(layer.exclude_outside), "cubic_coeff": float(layer.cubic_coeff)}
    if layer.scales:
        settings["scales"] = tuple(float(scale) for scale in layer.scales)
    else:
        settings["shape"] = tuple(int(length) for length in layer.shape)
    where = f'tensorrt:layer["{layer.name}"]'
    version = DIALECT.versions[0]
    spec, diagnostics = interpret(DIALECT, settings, Context(version=version, shape=open_shape), where=where)
    return ResizeOp(
        name=layer.name,
        where=where,
        spec=spec,
        dialect=DIALECT.name,
        version=version,
        shape=open_shape,
        diagnostics=diagnostics,
    )


def python_script(layers: Iterable[tuple[ResizeOp, Translation]]) -> str:
    """Return Python with one function a layer: each adds it to a network and returns its output tensor."""
    taken: set[str] = set()
    functions = [_function(op.name, said, _identifier(op.name, taken)) for op, said in layers]
    return "\n\n\n".join(["import tensorrt as trt", *functions]) + "\n"


def _identifier(name: str, taken: set[str]) -> str:
    """Return a name for a function that is not yet ``taken``, and take it."""
    plain = re.sub(r"\W", "_", name) or "layer"
    candidates = itertools.chain([plain], (f"{plain}_{count}" for count in itertools.count(2)))
    chosen = next(each for each in candidates if each not in taken)
    taken.add(chosen)
    return chosen


def _function(name: str, translation: Translation, identifier: str) -> str:
    lines = [
        f"def add_{identifier}(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:",
        "    layer = network.add_resize(x)",
        f"    layer.name = {name!r}",
    ]
    for setting, value in translation.attributes.items():
        spelled = f"trt.{_ENUMS[setting]}.{value}" if setting in _ENUMS else repr(value)
        lines.append(f"    layer.{setting} = {spelled}")
    return "\n".join([*lines, "    return layer.get_output(0)"])
