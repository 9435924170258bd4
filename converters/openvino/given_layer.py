"""Write an IR of a single Interpolate, with the attributes of its file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Scales, Sizes

_ELEMENT = {"float32": ("f32", "FP32"), "int64": ("i64", "I64")}
_KNOWN = {
    **_ELEMENT,
    "float16": ("f16", "FP16"),
    "float64": ("f64", "FP64"),
    "int8": ("i8", "I8"),
    "uint8": ("u8", "U8"),
    "int32": ("i32", "I32"),
}


def write_layer(op: ResizeOp, attributes: Mapping[str, str], path: Path) -> bool:
    """Write a layer with its sizes or scales, and axes, as constants; return False if run time decides some."""
    if op.shape is None or None in op.shape or (op.dtype or "float32") not in _KNOWN:
        return False
    if not isinstance(op.spec.target, Sizes | Scales):
        return False
    net = etree.Element("net", name="resize", version="11")
    layers, edges = etree.SubElement(net, "layers"), etree.SubElement(net, "edges")
    shape = ",".join(map(str, op.shape))
    element, precision = _KNOWN[op.dtype or "float32"]
    x = _layer(layers, "x", "Parameter", "opset1", {"shape": shape, "element_type": element})
    _dims(_port(x, "output", 0, precision), op.shape)
    constants = _constants(op)
    offset = 0
    for place, constant in enumerate(constants):
        offset = _constant(layers, f"constant{place}", constant, offset)
    resize = _layer(layers, op.name or "resize", "Interpolate", f"opset{op.version}", attributes)
    last = len(constants) + 1
    for place in range(last):
        _port(resize, "input", place, None)
        etree.SubElement(edges, "edge", _edge(place, 0, last, place))
    _port(resize, "output", last, precision)
    _port(_layer(layers, "y", "Result", "opset1", {}), "input", 0, None)
    etree.SubElement(edges, "edge", _edge(last, last, last + 1, 0))
    etree.ElementTree(net).write(path)
    path.with_suffix(".bin").write_bytes(b"".join(constant.tobytes() for constant in constants))
    return True


def _constants(op: ResizeOp) -> Sequence[NDArray[Any]]:
    """Return the inputs after the data; Interpolate-4 has both sizes and scales, one of which is ignored."""
    target = op.spec.target
    assert isinstance(target, Sizes | Scales)
    sizes = np.array(target.values if isinstance(target, Sizes) else [1] * len(target), np.int64)
    scales = np.array(target.values if isinstance(target, Scales) else [1] * len(target), np.float32)
    if op.version == 1:
        return [sizes]
    inputs: list[NDArray[Any]] = [sizes, scales] if op.version == 4 else [scales if op.spec.gives_scales else sizes]
    return inputs if op.spec.axes is None else [*inputs, np.array(op.spec.axes, np.int64)]


def _layer(layers: etree._Element, name: str, kind: str, version: str, attributes: Mapping[str, str]) -> etree._Element:
    layer: etree._Element = etree.SubElement(
        layers, "layer", id=str(len(layers)), name=name, type=kind, version=version
    )
    etree.SubElement(layer, "data", dict(attributes))
    return layer


def _constant(layers: etree._Element, name: str, value: NDArray[Any], offset: int) -> int:
    element, precision = _ELEMENT[value.dtype.name]
    data = {"element_type": element, "shape": str(value.size), "offset": str(offset), "size": str(value.nbytes)}
    port = _port(_layer(layers, name, "Const", "opset1", data), "output", 0, precision)
    _dims(port, [value.size])
    return offset + value.nbytes


def _port(layer: etree._Element, side: str, number: int, precision: str | None) -> etree._Element:
    parent = layer.find(side)
    if parent is None:
        parent = etree.SubElement(layer, side)
    port: etree._Element = etree.SubElement(parent, "port", id=str(number))
    if precision is not None:
        port.set("precision", precision)
    return port


def _dims(port: etree._Element, shape: Iterable[int | None]) -> None:
    for length in shape:
        etree.SubElement(port, "dim").text = str(length)


def _edge(source: int, source_port: int, target: int, target_port: int) -> dict[str, str]:
    ends = {"from-layer": source, "from-port": source_port, "to-layer": target, "to-port": target_port}
    return {name: str(number) for name, number in ends.items()}
