"""One layer as its emitter sees it: typed attributes, properties of its inputs, and refusals.

First the operation sets of OpenVINO, and which of them have a layer type, and an attribute of it. After the layer, its
inputs in the form that ONNX requires, and tensors as emitters use them: handles whose operators add nodes, and shape
operations that only ONNX has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ir_interp.errors import ReadError, UnsupportedLayerError, closest
from ir_interp.ir import ir_files
from ir_interp.ir.interpolates import fold, is_decided
from ir_interp.ir.ir_files import Layer, Net, Port
from ir_interp.shapes import Array, PartialShape, static_shape
from ir_interp.translation.dialect import Semantics

from ..decompose.tensor import Tensor
from ..onnx import operators
from ..onnx.onnx_graph import Graph
from ..onnx.operators import NodeTensor, Primitives, cast, node
from ..reports import Row

_Parsed = TypeVar("_Parsed")

NEWEST = 16
"""The newest operation set that is known; a later one may change what a layer computes."""

_ADDED = {
    2: "batchtospace gelu mvn reorgyolo roipooling spacetobatch",
    3: "assign bucketize cumsum embeddingbagoffsetssum embeddingbagpackedsum embeddingsegmentssum extractimagepatches "
    "grucell nonzero readvalue rnncell roialign scatterelementsupdate scatterupdate shufflechannels",
    4: "acosh asinh atanh ctcloss hswish mish reducel1 reducel2 scatterndupdate softplus swish",
    5: "gathernd grusequence hsigmoid logsoftmax loop lstmsequence rnnsequence round",
    6: "ctcgreedydecoderseqlen experimentaldetectrondetectionoutput "
    "experimentaldetectrongenerateproposalssingleimage experimentaldetectronpriorgridgenerator "
    "experimentaldetectronroifeatureextractor experimentaldetectrontopkrois gatherelements",
    7: "dft einsum idft roll",
    8: "adaptiveavgpool adaptivemaxpool i420tobgr i420torgb if matrixnms multiclassnms nv12tobgr nv12torgb "
    "randomuniform slice",
    9: "eye generateproposals gridsample irdft rdft softsign",
    10: "isfinite isinf isnan unique",
    12: "groupnormalization",
    13: "bitwiseand bitwisenot bitwiseor bitwisexor fakeconvert multinomial nmsrotated scaleddotproductattention",
    14: "convertpromotetypes inverse",
    15: "bitwiseleftshift bitwiserightshift col2im embeddingbagoffsets embeddingbagpacked roialignrotated searchsorted "
    "slicescatter stft stringtensorpack stringtensorunpack",
    16: "identity istft segmentmax sparsefillemptyrows",
}
"""The types that each set added to those of the first; every later set has them, too."""

_ONLY_FIRST = frozenset(("reverse",))
_READ_IN_FIRST = frozenset(("mvn", "reorgyolo", "rnncell", "roipooling", "shufflechannels"))
"""Types that OpenVINO reads in the first set as well, which lacks them. It writes RNNCell and ShuffleChannels so."""

SINCE = {kind: number for number, kinds in _ADDED.items() for kind in kinds.split()}
"""The first operation set of each layer type in lower case that the first set lacks."""

_ATTRIBUTES_SINCE = {
    "avgpool": {"dilations": 16},
    "deformableconvolution": {"bilinear_interpolation_pad": 8},
    "gather": {"batch_dims": 7},
    "gelu": {"approximation_mode": 7},
    "maxpool": {"axis": 8, "dilations": 8},
    "onehot": {"negative_indices_mode": 16},
    "priorbox": {"min_max_aspect_ratios_order": 8},
    "roialign": {"aligned_mode": 9},
    "scatterelementsupdate": {"reduction": 12, "use_init_val": 12},
    "scatterndupdate": {"reduction": 15},
    "squeeze": {"allow_axis_skip": 15},
}
"""The first operation set of attributes that earlier versions of a layer lack; OpenVINO ignores them there."""


def has_attribute(layer: Layer, name: str) -> bool:
    """Return whether the version of a layer has an attribute that its latest version has."""
    return (layer.version or 0) >= _ATTRIBUTES_SINCE.get(layer.type.lower(), {}).get(name, 0)


def check_operation_set(layer: Layer) -> None:
    """Raise UnsupportedLayerError if the operation set of a layer is unknown, or has no such type."""
    where = f"{layer.where}@version"
    if layer.version is None:
        raise ReadError("missing; expected opset1 and up", where)
    if layer.version == 0:
        raise UnsupportedLayerError("not an operation set of OpenVINO's own", where)
    if layer.version > NEWEST:
        raise UnsupportedLayerError(f"opset{layer.version} is unknown; expected opset{NEWEST} or earlier", where)
    kind = layer.type.lower()
    since = SINCE.get(kind, 1)
    if layer.version < since and (kind not in _READ_IN_FIRST or layer.version > 1):
        raise UnsupportedLayerError(f"opset{layer.version} has no {layer.type}; expected opset{since} or later", where)
    if layer.version > 1 and kind in _ONLY_FIRST:
        raise UnsupportedLayerError(f"opset{layer.version} has no {layer.type}; expected opset1", where)


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
        return bool(self._parsed(name, ir_files.flag, default))

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute; without a default it is required."""
        return int(self._parsed(name, ir_files.integer, default))

    def integers(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return a list of integers."""
        return tuple(self._parsed(name, ir_files.integers, default))

    def real(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        return float(self._parsed(name, ir_files.real_number, default))

    def reals(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers; empty if there is none."""
        return tuple(self._parsed(name, ir_files.reals, ()))

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute as its text."""
        return str(self._parsed(name, str, default))

    def word(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """Return an attribute that is one of ``known``, in lower case."""
        text = str(self._parsed(name, str, default)).lower()
        if text not in known:
            raise ReadError(f"unknown value {text!r}; {closest(text, known)}", f"{self.layer.where}@{name}")
        return text

    def _parsed(self, name: str, parse: Callable[[str], _Parsed], default: _Parsed | None) -> _Parsed:
        is_known = has_attribute(self.layer, name)
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


def int64(graph: Graph, op: Op, index: int, *, vector: bool = True) -> str:
    """Return an input as int64, which ONNX requires for shapes, axes and indices; as a vector if requested."""
    value = op.value(index)
    if value is not None:
        return graph.constant(value.astype(np.int64).ravel() if vector else value.astype(np.int64))
    name = op.inputs[index] if op.dtype(index) == "int64" else cast(graph, op.inputs[index], "int64")
    return graph.node("Reshape", name, graph.ints([-1])) if vector and op.shape(index) == () else name


def reshaped(graph: Graph, op: Op, x: str, lengths: Sequence[int | None]) -> str:
    """Reshape to sizes of which one may be dynamic; a constant is reshaped at once."""
    if sum(length is None for length in lengths) > 1:
        raise op.refusal("more than one dimension of its input is dynamic")
    pattern = [-1 if length is None else length for length in lengths]
    if x in graph.initialisers:
        # A Reshape of weights would keep runtimes from preparing them.
        return graph.constant(graph.initialisers[x].reshape(pattern), name=x)
    return graph.node("Reshape", x, graph.ints(pattern), allowzero=1 if 0 in pattern and graph.opset >= 14 else None)


@dataclass(frozen=True, slots=True)
class _EmitterPrimitives(Primitives):
    """Adds nodes of a layer: comparisons keep their own node types, as other exporters write them."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an elementwise operation."""
        if name == "greater":
            return self.graph.node("Greater", *values)
        return Primitives.elementwise(self, name, *values)


def tensor(graph: Graph, name: str, dtype: str = "float32") -> NodeTensor:
    """Return the handle of a tensor of a graph."""
    return Tensor(_EmitterPrimitives(graph), name, dtype)


def operand(graph: Graph, op: Op, index: int = 0) -> NodeTensor:
    """Return an input of a layer."""
    return tensor(graph, op.inputs[index], op.dtype(index))


def constant(graph: Graph, value: object, dtype: str = "float32") -> NodeTensor:
    """Return a constant of an element type."""
    return tensor(graph, "", dtype).of(value)


def as_type(x: NodeTensor, dtype: str) -> NodeTensor:
    """Return it in an element type, without a node if it has that type already."""
    return x if x.dtype == dtype else x.cast(dtype)


def squeezed(x: NodeTensor, *axes: int) -> NodeTensor:
    """Remove axes of size 1."""
    return x.like(operators.squeeze(x.ops.graph, x.value, axes))


def cut(x: NodeTensor, start: int, stop: int, axis: int) -> NodeTensor:
    """Return the entries of an axis from ``start`` up to, but not including, ``stop``."""
    return x.like(operators.cut(x.ops.graph, x.value, [start], [stop], [axis]))


def reduction(kind: str, x: NodeTensor, *axes: int, keep: bool = True) -> NodeTensor:
    """Reduce over some axes, at least one."""
    return x.like(operators.reduction(x.ops.graph, kind, x.value, axes, keep))


def with_shape(x: NodeTensor, *lengths: int) -> NodeTensor:
    """Reshape to static sizes, of which one may be -1."""
    return node("Reshape", x, x.of(lengths, "int64"))


def shape(x: NodeTensor) -> NodeTensor:
    """Return the shape of a tensor, int64."""
    return node("Shape", x, dtype="int64")


def below(count: NodeTensor) -> NodeTensor:
    """Return the integers from 0 up to, but not including, a scalar."""
    zero, one = count.of(0), count.of(1)
    return node("Range", zero, count, one)


def joined(tensors: Sequence[NodeTensor], axis: int) -> NodeTensor:
    """Return tensors joined along an axis."""
    return node("Concat", *tensors, axis=axis)
