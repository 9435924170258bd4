"""Pipelines of the layers that OpenVINO's PrePostProcessor puts at the start of an IR.

It writes Convert, Subtract, Divide (saved as Multiply), Transpose, Gather (reversed channels) and Interpolate, in the
order of its calls. The first layer that a PrePostProcessor does not write is the start of the model.
Source: OpenVINO 2026.4, ``preprocess_steps_impl.cpp``, and the IRs that it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import ReadError
from ir_interp.ir.fold import fold
from ir_interp.ir.interpolates import read_layer
from ir_interp.ir.net import Layer, Net
from ir_interp.ir.reading import nets
from ir_interp.pipelines.openvino_steps import AXES, MODES, WRITTEN, Interpolate, Scale
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import ImageStep, Normalise, ReverseChannels
from ir_interp.spec import Sizes
from ir_interp.translation.dialect import Semantics

_ORDERS: Mapping[tuple[int, ...], tuple[str, str]] = {(0, 3, 1, 2): ("nhwc", "nchw"), (0, 2, 3, 1): ("nchw", "nhwc")}
_OTHERS = {
    "NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR", "Slice", "StridedSlice", "Pad", "Reshape", "Unsqueeze",
    "Squeeze", "Concat", "Clamp", "Round", "Add",
}  # fmt: skip
"""Further layers of PrePostProcessors and pipelines, which are not supported."""


def read(path: Path, name: str | None = None) -> Pipeline:
    """Return the pipeline at the start of an IR, after the input ``name`` if it has several.

    Raises ReadError, which names the layer, if there is none, or if it contains an unsupported layer.
    """
    net = next(nets(path))
    parameter = _parameter(net, name, path.name)
    layout = _layout(parameter)
    head = _Head(net=net, layer=parameter, layout=layout)
    steps = tuple(head.steps())
    if not steps:
        raise ReadError(f"no preprocessing at the start of the model: {head.end}", parameter.where)
    return Pipeline(steps=steps, name=f"PrePostProcessor of {path.name}", layout=head.layout)


def takes_images(path: Path) -> bool:
    """Return whether an IR has exactly one input, of uint8. Raises ReadError for a file that is not an IR."""
    root = next(nets(path))
    parameters = [layer for layer in root.layers.values() if layer.type.lower() == "parameter"]
    return len(parameters) == 1 and [port.dtype for port in parameters[0].outputs] == ["uint8"]


def _parameter(net: Net, name: str | None, where: str) -> Layer:
    parameters = [layer for layer in net.layers.values() if layer.type.lower() == "parameter"]
    chosen = [layer for layer in parameters if name in (None, layer.name, *_names(layer))]
    if len(chosen) != 1:
        names = ", ".join(layer.name for layer in parameters) or "none"
        raise ReadError(f"{len(parameters)} inputs; expected one, of {names}", where)
    return chosen[0]


def _names(layer: Layer) -> tuple[str, ...]:
    return layer.outputs[0].names if layer.outputs else ()


def _layout(parameter: Layer) -> str:
    """Return the layout of the images. Raises ReadError for an input other than uint8 images."""
    port = parameter.outputs[0] if parameter.outputs else None
    if port is None or port.dtype != "uint8":
        raise ReadError(f"takes {port.dtype if port else 'nothing'}; expected uint8 images", parameter.where)
    shape = port.shape or ()
    places = [layout for layout, place in (("nhwc", 3), ("nchw", 1)) if len(shape) == 4 and shape[place] == 3]
    if len(places) != 1 or shape[0] != 1:
        lengths = ["?" if length is None else length for length in shape]
        expected = "expected one image of 3 channels, [1, h, w, 3] or [1, 3, h, w]"
        raise ReadError(f"takes {lengths}; {expected}", parameter.where)
    return places[0]


@dataclass(slots=True, kw_only=True)
class _Head:
    """The chain of layers after an input: the last one that was read, and the layout of its output."""

    net: Net
    layer: Layer
    layout: str
    is_float: bool = False
    end: str = ""

    def steps(self) -> Iterator[ImageStep]:
        """Yield the steps, up to the first layer of the model."""
        while (following := self._following()) is not None:
            read_step = _READ.get(following.type)
            if read_step is None:
                if following.type in _OTHERS:
                    raise ReadError(f"{following.type} is not supported in front of a model", following.where)
                self.end = f"the first layer is {following.type}"
                return
            yield from read_step(self, following)
            self.layer = following

    def _following(self) -> Layer | None:
        readers = self.net.readers(self.layer, self.layer.outputs[0])
        if len(readers) != 1:
            self.end = f"{len(readers)} layers read its input"
            return None
        return readers[0] if readers[0].type != "Result" else None

    def constant(self, layer: Layer, place: int) -> Array:
        """Return the value of a constant input. Raises ReadError for any other input."""
        value = fold(self.net, layer, place)
        if value is None:
            raise ReadError(f"input {place} of {layer.type} is not a constant", layer.where)
        return np.asarray(value)

    def colours(self, layer: Layer) -> tuple[float, ...]:
        """Return the numbers of a constant: one, or one for each channel."""
        value = self.constant(layer, 1)
        channels = [1] * 4
        channels[3 if self.layout == "nhwc" else 1] = 3
        if value.size != 1 and list((1,) * (4 - value.ndim) + value.shape) != channels:
            raise ReadError(f"a constant of {list(value.shape)}; expected one number, or one per channel", layer.where)
        return tuple(float(number) for number in value.ravel())


def _convert(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    if layer.attributes.get("destination_type") != "f32":
        raise ReadError(f"Convert to {layer.attributes.get('destination_type')}; expected f32", layer.where)
    head.is_float = True
    yield from ()


def _subtract(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    _check_float(head, layer)
    yield Normalise(mean=head.colours(layer), deviation=(1.0,))


def _multiply(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    _check_float(head, layer)
    yield Scale(factors=head.colours(layer))


def _divide(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    _check_float(head, layer)
    yield Normalise(mean=(0.0,), deviation=head.colours(layer))


def _check_float(head: _Head, layer: Layer) -> None:
    """Raise ReadError for arithmetic in uint8, which wraps around, and for a constant as the first operand."""
    source = head.net.source(layer, 0)
    if not head.is_float or source is None or source[0].id != head.layer.id:
        raise ReadError(f"the inputs of {layer.type} are not a float32 image and a constant", layer.where)


def _transpose(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    order = tuple(int(axis) for axis in head.constant(layer, 1))
    before, after = _ORDERS.get(order, ("", ""))
    if before != head.layout:
        raise ReadError(f"Transpose by {list(order)} of an image in {head.layout}", layer.where)
    head.layout = after
    yield from ()


def _gather(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    order, axis = head.constant(layer, 1).ravel().tolist(), int(head.constant(layer, 2).ravel()[0])
    if order != [2, 1, 0] or axis != (3 if head.layout == "nhwc" else 1):
        raise ReadError(f"Gather of {order} along axis {axis}; expected reversed channels", layer.where)
    yield ReverseChannels()


def _interpolate(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    op = read_layer(head.net, layer, Semantics.RUNTIME)
    stated = {name: op.attributes.get(name, value) for name, value in WRITTEN.items()}
    unlike = [name for name, value in stated.items() if _plain(value) != WRITTEN[name]]
    target = op.spec.target
    if unlike or op.attributes.get("mode") not in MODES or not isinstance(target, Sizes):
        reason = f"{unlike[0]} is {stated[unlike[0]]}" if unlike else f"mode is {op.attributes.get('mode')}"
        raise ReadError(f"Interpolate that no PrePostProcessor writes: {reason}", layer.where)
    if tuple(op.spec.axes or ()) != AXES[head.layout]:
        raise ReadError(f"Interpolate along axes {op.spec.axes} of an image in {head.layout}", layer.where)
    height, width = target.values
    yield Interpolate(
        mode=str(op.attributes["mode"]),
        height=height,
        width=width,
        version=op.version,
        layout=head.layout,
        is_float=head.is_float,
    )


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_READ: Mapping[str, Callable[[_Head, Layer], Iterator[ImageStep]]] = {
    "Convert": _convert,
    "Subtract": _subtract,
    "Multiply": _multiply,
    "Divide": _divide,
    "Transpose": _transpose,
    "Gather": _gather,
    "Interpolate": _interpolate,
}
