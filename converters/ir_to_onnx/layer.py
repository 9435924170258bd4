"""One layer as its emitter sees it: typed attributes, properties of its inputs, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ir_interp.array_types import Array
from ir_interp.errors import ReadError, UnsupportedLayerError, closest
from ir_interp.ir import xml
from ir_interp.ir.fold import fold, is_decided
from ir_interp.ir.net import Layer, Net, Port
from ir_interp.shapes import PartialShape, static_shape
from ir_interp.translation.dialect import Semantics

from ..onnx.graph import Graph
from ..reports.conversion_report import Row
from . import operation_sets

_COMPUTED_AS = dict.fromkeys(("float16", "bfloat16", "float64", "nf4"), "float32")  # as OpenVINO does on CPU

WHOLE = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "int4", "uint4")
"""The integer types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The state that all layers of a conversion share: the reading of the IR, rows and notes, the writer of bodies.

    ``write_body`` adds the layers of a body to a graph, given the tensor of each Parameter, and returns that of each
    Result.
    """

    semantics: Semantics
    write_body: Callable[[Graph, Net, Mapping[int, str]], dict[int, str]]
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """A layer, and the tensors that feed it (empty names for unconnected inputs); ``read`` are attributes looked up."""

    net: Net
    layer: Layer
    inputs: tuple[str, ...]
    conversion: Conversion
    read: set[str] = field(default_factory=set)

    @property
    def version(self) -> int:
        """The operation set of the layer."""
        return self.layer.version or 0

    def has(self, index: int) -> bool:
        """Return whether an input is connected."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def is_used(self, index: int) -> bool:
        """Return whether anything reads an output."""
        return bool(self.net.readers(self.layer, self.layer.outputs[index]))

    def is_read_elsewhere(self, index: int) -> bool:
        """Return whether another layer reads the source of an input, and not only static sizes of it."""
        source = self.net.source(self.layer, index)
        readers = self.net.readers(*source) if source else []
        return sum(not self._measures(reader) for reader in readers) > 1

    def _measures(self, reader: Layer) -> bool:
        """Return whether a layer only reads sizes, and constants replace everything computed from them."""
        if reader.type.lower() != "shapeof":
            return False
        users = self.net.readers(reader, reader.outputs[0])
        return is_decided(self.net, reader) or all(is_decided(self.net, user) for user in users)

    def is_shared(self, index: int) -> bool:
        """Return whether the constant that feeds an input, or another of the same bytes, feeds more than this."""
        source = self.net.source(self.layer, index)
        # Constants of equal bytes are stored once: they have the same place in the .bin.
        place = [source[0].attributes.get(name) for name in ("offset", "size")] if source else []
        same = {
            layer.id
            for layer in self.net.layers.values()
            if layer.type.lower() == "const" and [layer.attributes.get(name) for name in ("offset", "size")] == place
        }
        return sum(source in same for source, _ in self.net.edges.values()) > 1

    # Attributes

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean attribute."""
        return bool(self._parsed(name, xml.flag, default))

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute; without a default it is required."""
        return int(self._parsed(name, xml.integer, default))

    def integers(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return a list of integers."""
        return tuple(self._parsed(name, xml.integers, default))

    def real(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        return float(self._parsed(name, xml.real, default))

    def reals(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers; empty if there is none."""
        return tuple(self._parsed(name, xml.reals, ()))

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute as its text."""
        return str(self._parsed(name, str, default))

    def word(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """Return an attribute that is one of ``known``, in lower case."""
        text = str(self._parsed(name, str, default)).lower()
        if text not in known:
            raise ReadError(f"unknown value {text!r}; {closest(text, known)}", f"{self.layer.where}@{name}")
        return text

    def _parsed(self, name: str, parse: Any, default: Any) -> Any:
        is_known = operation_sets.has_attribute(self.layer, name)
        if is_known:
            self.read.add(name)
        text = self.layer.attributes.get(name) if is_known else None
        if text is None:
            if default is None:
                raise ReadError("missing", f"{self.layer.where}@{name}")
            return default
        try:
            return parse(text)
        except (ReadError, ValueError) as error:
            raise ReadError(
                getattr(error, "problem", f"{text!r} is not a number"), f"{self.layer.where}@{name}"
            ) from None

    # Inputs and outputs

    def port(self, index: int) -> Port:
        """Return the port that feeds an input, with the properties declared there or here."""
        source = self.net.source(self.layer, index)
        if source is None:
            raise ReadError(f"input {index} is not connected", self.layer.where)
        return source[1]

    def dtype(self, index: int = 0) -> str:
        """Return the type in which an input is computed."""
        return self._dtype(self.port(index))

    def result_dtype(self, index: int = 0) -> str:
        """Return the type in which an output is computed."""
        return self._dtype(self.layer.outputs[index])

    def _dtype(self, port: Port) -> str:
        dtype = computed(port)
        if dtype is None:
            raise ReadError("an output port has no precision", self.layer.where)
        return dtype

    def shape(self, index: int = 0) -> PartialShape | None:
        """Return the shape of an input, None for dynamic dimensions, and None for a dynamic rank."""
        value = self.value(index) if not self.port(index).shape else None
        if value is not None:
            return value.shape
        return self._known_rank(self.port(index).shape)

    def result_shape(self, index: int = 0) -> PartialShape | None:
        """Return the shape of an output, as for inputs."""
        return self._known_rank(self.layer.outputs[index].shape)

    def _known_rank(self, shape: PartialShape | None) -> PartialShape | None:
        """Return a shape; in an IR with dynamic ranks, a port of dynamic rank looks like a scalar's."""
        return None if shape == () and self.net.has_dynamic_ranks else shape

    def rank(self, index: int = 0) -> int:
        """Return the rank of an input, which must be static."""
        shape = self.shape(index)
        if shape is None:
            raise self.refusal(f"the rank of input {index} is unknown")
        return len(shape)

    def lengths(self, index: int = 0, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return the sizes of an input (on some axes), which must be static."""
        rank, shape = self.rank(index), self.shape(index) or ()
        chosen = tuple(shape[axis] for axis in (range(rank) if axes is None else axes))
        known = static_shape(chosen)
        if known is None:
            raise self.refusal(f"the shape of input {index} is known only at run time")
        return known

    def space(self) -> tuple[int, ...]:
        """Return the sizes of input 0 behind batch and channels, which must be static."""
        return self.lengths(axes=range(2, self.rank()))

    def value(self, index: int) -> Array | None:
        """Return the value of an input; None if it is known only at run time."""
        return fold(self.net, self.layer, index) if index < len(self.layer.inputs) else None

    def known(self, index: int, what: str) -> Array:
        """Return the value of an input that must be known."""
        value = self.value(index)
        if value is None:
            raise self.refusal(f"{what} known only at run time")
        return value

    def known_integers(self, index: int, what: str) -> tuple[int, ...]:
        """Return a list of integers that must be known."""
        return tuple(int(number) for number in self.known(index, what).ravel())

    def axes(self, index: int, rank: int, what: str = "axes are") -> tuple[int, ...]:
        """Return axes that must be known, counted from the first."""
        return tuple(self.from_first(axis, rank) for axis in self.known_integers(index, what))

    def from_first(self, axis: int, rank: int) -> int:
        """Return an axis counted from the first."""
        if not -rank <= axis < max(rank, 1):
            raise ReadError(f"axis {axis} of rank {rank}", self.layer.where)
        # A scalar has axis 0 in OpenVINO.
        return axis % max(rank, 1)

    def refusal(self, reason: str) -> UnsupportedLayerError:
        """Return the error for a layer that cannot become ONNX, with the reason."""
        return UnsupportedLayerError(f"{self.layer.type} cannot become ONNX: {reason}", self.layer.where)

    def needs(self, opset: int, graph_opset: int, what: str = "") -> None:
        """Refuse if the graph's operator set is older than ``opset``."""
        if graph_opset < opset:
            raise self.refusal(f"{what or 'it'} needs operator set {opset} or later")

    def until(self, opset: int, graph_opset: int, what: str) -> None:
        """Refuse if the operator set is newer than ``opset``, the last with a ``what`` that onnxruntime runs."""
        if graph_opset > opset:
            raise self.refusal(f"onnxruntime runs {what} of operator sets up to {opset}, and none of {graph_opset}")


def computed(port: Port) -> str | None:
    """Return the type in which a tensor is computed."""
    return _COMPUTED_AS.get(port.dtype or "", port.dtype)
