"""Find every resize of a TFLite file.

The schema of TFLite files comes from LiteRT's own package, imported on first use. Files become objects of it, and
objects files.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ReadError
from ir_interp.files.kinds import opened
from ir_interp.files.memory import blocks, mapped
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import PartialShape
from ir_interp.translation.dialect import Context, Semantics

from ...dialects.tflite import DIALECT
from . import FRAMEWORK

DTYPES = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int8": "INT8",
    "uint8": "UINT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "bool": "BOOL",
}
"""Names of element types in NumPy, and in the schema."""

_INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
_BYTES_OF_ENTRY = 4  # the least that one takes: an offset, or a number of 32 bits
_MOST_OLD = 127
"""The old code of an operator whose code has more than 7 bits; its new code counts."""


def schema() -> ModuleType:
    """Return the module of the schema. Raises ReadError if it is not installed."""
    FRAMEWORK.check_installed("a .tflite file")
    from ai_edge_litert import schema_py_generated

    module: ModuleType = schema_py_generated
    return module


IDENTIFIER = b"TFL3"
BROKEN = (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError, UnicodeDecodeError)
"""The errors of reading beyond the end of a flatbuffer, or in the middle of something else."""

INSIDE = 1
"""The largest offset of a buffer whose bytes are in the model itself."""

_REST = 2**26  # bytes of a model beside its buffers
_MOST = 2**31 - _REST  # bytes in the buffers of a model, whose offsets have 31 bits
_ALIGNMENT = 64  # bytes


class Buffer(Protocol):
    """The bytes of a constant; with an offset above ``INSIDE`` they are behind the model."""

    data: NDArray[np.uint8] | None
    offset: int
    size: int


class Levels(Protocol):
    """The quantisation of a tensor."""

    scale: NDArray[np.float32] | None
    zeroPoint: NDArray[np.int64] | None  # noqa: N815
    quantizedDimension: int  # noqa: N815
    details: object


class TensorTable(Protocol):
    """A tensor of a graph."""

    name: bytes | str
    type: int
    shape: Sequence[int]
    shapeSignature: Sequence[int] | None  # noqa: N815
    buffer: int
    quantization: Levels | None
    sparsity: object


def name_of(tensor: TensorTable) -> str:
    """Return the name of a tensor."""
    return tensor.name.decode() if isinstance(tensor.name, bytes) else tensor.name


class OperatorTable(Protocol):
    """An operator of a graph; its tensors by place, -1 for one that is left out."""

    inputs: Sequence[int]
    outputs: Sequence[int]
    opcodeIndex: int  # noqa: N815
    builtinOptionsType: int  # noqa: N815
    builtinOptions: object  # noqa: N815


class Graph(Protocol):
    """A graph of a model."""

    tensors: list[TensorTable]
    operators: Sequence[OperatorTable] | None
    inputs: Sequence[int]
    outputs: Sequence[int]


class OperatorCode(Protocol):
    """A type of operators; small numbers stand in both fields."""

    builtinCode: int  # noqa: N815
    deprecatedBuiltinCode: int  # noqa: N815
    version: int


class Model(Protocol):
    """The tables of a file, by the names of its schema."""

    subgraphs: list[Graph]
    buffers: list[Buffer]
    operatorCodes: list[OperatorCode]  # noqa: N815
    signatureDefs: object  # noqa: N815

    def Pack(self, builder: object) -> int:  # noqa: N802
        """Write it by a builder of FlatBuffers."""


def unpacked(path: Path) -> Model:
    """Return the model of a file; the bytes of its buffers stay there, at their ``offset``.

    Raises ReadError if it is broken.
    """
    try:
        with opened(path) as file:
            content = mapped(file)
        model: Model = schema().ModelT.InitFromPackedBuf(content, 0)
        start = np.frombuffer(content, np.uint8).ctypes.data
        for buffer in model.buffers or ():
            if buffer.offset > INSIDE:
                buffer.data = behind(content, buffer.offset, buffer.size)
            elif buffer.data is not None:
                buffer.offset, buffer.size = buffer.data.ctypes.data - start, len(buffer.data)
    except BROKEN as error:
        raise ReadError(f"not a TFLite file, or truncated: {error}", path.name) from error
    return model


def behind(content: bytes | mmap, offset: int, size: int) -> NDArray[np.uint8]:
    """Return the bytes of a buffer behind the model. Raises ValueError if the file ends before them."""
    return np.frombuffer(content, np.uint8, size, offset)


def packed(model: Model) -> bytes:
    """Return a model as the content of a file, with the bytes of all buffers inside."""
    for buffer in model.buffers:
        buffer.offset = buffer.size = 0
    return _packed(model)


def _packed(model: Model) -> bytes:
    import flatbuffers

    # With room for the rest: it doubles when it is full, while bytes that are not written take no memory.
    builder = flatbuffers.Builder(_REST + sum(len(data) for _, data in _filled(model)))
    builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
    return bytes(memoryview(builder.Bytes)[builder.Head() :])


def write(model: Model, path: Path) -> None:
    """Write a model as a file, with the bytes of all buffers inside; behind it if a model cannot hold them."""
    if fits(model):
        path.write_bytes(packed(model))
    else:
        write_apart(model, path)


def fits(model: Model) -> bool:
    """Return whether a model can hold the bytes of all buffers."""
    return sum(len(data) for _, data in _filled(model)) < _MOST


def write_apart(model: Model, path: Path) -> None:
    """Write a model as a file, with the bytes of all buffers behind it; they are never in memory as a whole."""
    filled = [(buffer, np.asarray(data, np.uint8)) for buffer, data in _filled(model)]
    for buffer, _ in filled:
        buffer.data, buffer.offset, buffer.size = None, INSIDE + 1, 1
    with path.open("wb") as file:
        file.write(_packed(model))  # for its size: numbers have a fixed width
        for buffer, content in filled:
            file.write(bytes(-file.tell() % _ALIGNMENT))
            buffer.offset, buffer.size = file.tell(), len(content)
            file.writelines(blocks(content))
        file.seek(0)
        file.write(_packed(model))


def _filled(model: Model) -> list[tuple[Buffer, NDArray[np.uint8]]]:
    """Return the buffers with bytes, and these."""
    return [(buffer, buffer.data) for buffer in model.buffers if buffer.data is not None and len(buffer.data)]


KINDS = {"RESIZE_BILINEAR": "ResizeBilinearOptions", "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions"}
"""The operators that resize, and the table of their options."""


_EXTERNAL_BUFFER = 24  # the offset of Tensor.external_buffer in a table (schema.fbs of LiteRT 2.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """Scales and zero points of a tensor, one or one for each channel; empty for one that is not quantised."""

    scales: tuple[float, ...] = ()
    zeros: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of a file: ``data`` are the bytes of a constant, which stay in the file.

    Its ``shape`` is None if only run time knows how many axes it has.
    """

    name: str
    dtype: str
    shape: PartialShape | None
    data: bytes | memoryview
    quantisation: Quantisation


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """An operator of a file: its type, its place, its tensors, and its table of options.

    ``graph`` is 0 unless it belongs to a branch or loop.
    """

    type: str
    graph: int
    where: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor | None, ...]
    options: Any

    @property
    def quantisation(self) -> Quantisation:
        """That of its first input."""
        first = self.inputs[0] if self.inputs else None
        return first.quantisation if first else Quantisation()


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A summary of a file: the inputs and outputs of its first graph, and all operators."""

    version: int
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor | None, ...]
    operators: tuple[Operator, ...]
    constants: tuple[int, ...]


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a file. Raises ReadError for a file that is not TFLite, or is truncated."""
    return [resize(operator, semantics) for operator in read_file(path).operators if operator.type in KINDS]


def known(path: Path) -> tuple[list[ResizeOp], list[tuple[str, ReadError]]]:
    """Return the resizes of a file that can be read, and the name and error of each of the others."""
    resizes: list[ResizeOp] = []
    unread: list[tuple[str, ReadError]] = []
    for operator in read_file(path).operators:
        if operator.type in KINDS:
            try:
                resizes.append(resize(operator))
            except ReadError as error:
                unread.append((_name(operator), error))
    return resizes, unread


def read_file(path: Path) -> File:
    """Return a summary of a file. Raises ReadError for one that is not TFLite, or is truncated, and without LiteRT."""
    try:
        with opened(path) as file:
            content = mapped(file)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    if content[4:8] != IDENTIFIER:
        raise ReadError("not a TFLite file: its header is not that of TFLite", path.name)
    FRAMEWORK.check_installed(path.name)
    try:
        return _File(content, path.name).read()
    except BROKEN as error:
        raise ReadError(f"not a TFLite file, or truncated: {error}", path.name) from error


def is_quantised(file: File) -> bool:
    """Return whether an operator computes levels, other than to convert them."""
    computing = (operator for operator in file.operators if operator.type not in ("QUANTIZE", "DEQUANTIZE"))
    return any(
        end.quantisation.scales and "int" in end.dtype for operator in computing for end in operator.outputs if end
    )


class _File:
    """A file while it is read."""

    def __init__(self, content: bytes | mmap, name: str) -> None:
        self.schema, self.name, self.limit, self.content = schema(), name, len(content), content
        self.entries = 0  # of all lists that were read
        self.model = self.schema.Model.GetRootAs(content, 0)
        self.types = _names(self.schema.BuiltinOperator)
        self.elements = {value: name for name, value in vars(self.schema.TensorType).items() if name.isupper()}
        self.dtypes = {name: dtype for dtype, name in DTYPES.items()}

    def read(self) -> File:
        graphs = [self.model.Subgraphs(index) for index in range(self._count(self.model.SubgraphsLength()))]
        if not graphs:
            raise ReadError("it holds no graph", self.name)
        tensors = [
            [self._tensor(graph.Tensors(n)) for n in range(self._count(graph.TensorsLength()))] for graph in graphs
        ]
        operators = (
            self._operator(graph.Operators(n), tensors[g], g, f"{self.name}:{f'graph[{g}]/' if g else ''}operator[{n}]")
            for g, graph in enumerate(graphs)
            for n in range(self._count(graph.OperatorsLength()))
        )
        for n in range(self._count(self.model.SignatureDefsLength())):
            signature = self.model.SignatureDefs(n)
            self._count(signature.InputsLength() + signature.OutputsLength())
        first = graphs[0]
        return File(
            version=self.model.Version(),
            inputs=_chosen(tensors[0], [first.Inputs(n) for n in range(self._count(first.InputsLength()))]),
            outputs=_chosen(tensors[0], [first.Outputs(n) for n in range(self._count(first.OutputsLength()))]),
            operators=tuple(operators),
            constants=tuple(len(tensor.data) for those in tensors for tensor in those if tensor.data),
        )

    def _count(self, length: int) -> int:
        """Return the length of a list, whose entries take bytes of the file itself.

        Tables may share lists, so that a small file can have more entries than could be read in hours. Tables take
        more bytes than the entries that they share in a file that a converter writes.
        """
        self.entries += length
        if not 0 <= length <= self.limit:
            raise ValueError(f"a list of {length} entries")
        if self.entries * _BYTES_OF_ENTRY > self.limit:
            raise ValueError("its tables share lists of more entries than it has bytes for")
        return length

    def _tensor(self, tensor: Any) -> Tensor:
        lengths = [tensor.Shape(n) for n in range(self._count(tensor.ShapeLength()))]
        signed = [tensor.ShapeSignature(n) for n in range(self._count(tensor.ShapeSignatureLength()))] or lengths
        element = self.elements.get(tensor.Type(), str(tensor.Type()))
        data = self._data(self.model.Buffers(tensor.Buffer()))
        # Files of older converters lack the flag; a scalar among their results looks like any tensor of unknown rank.
        has_rank = bool(signed or data or tensor.HasRank())
        read = Tensor(
            name=(tensor.Name() or b"").decode(),
            dtype=self.dtypes.get(element, element.lower()),
            shape=tuple(None if length < 0 else length for length in signed) if has_rank else None,
            data=data,
            quantisation=self._quantisation(tensor.Quantization()),
        )
        self._check(tensor, read, lengths)
        return read

    def _check(self, table: Any, tensor: Tensor, lengths: Sequence[int]) -> None:
        """Raise ReadError for values in another file, and for levels that LiteRT refuses or that have no meaning."""
        where = f"{self.name}:tensor[{tensor.name!r}]"
        if table._tab.Offset(_EXTERNAL_BUFFER):  # which only newer releases of the package have a function for
            raise ReadError("its values are in another file, which is not read; expected them in this one", where)
        self._count(table.VariantTensorsLength())
        if table.Sparsity() is not None:
            self._count(table.Sparsity().DimMetadataLength())
        if tensor.quantisation.scales:
            axis = table.Quantization().QuantizedDimension()
            _check_levels(tensor, lengths[axis] if 0 <= axis < len(lengths) else 1, where)

    def _data(self, buffer: Any) -> memoryview | bytes:
        if buffer is None:
            return b""
        if buffer.Offset() > INSIDE:
            return behind(self.content, buffer.Offset(), buffer.Size()).data
        return memoryview(buffer.DataAsNumpy()) if buffer.DataLength() else b""

    def _quantisation(self, table: Any) -> Quantisation:
        if table is None or not table.ScaleLength():  # LiteRT takes it for none then
            return Quantisation()
        scales = tuple(table.Scale(n) for n in range(self._count(table.ScaleLength())))
        zeros = tuple(table.ZeroPoint(n) for n in range(self._count(table.ZeroPointLength())))
        return Quantisation(scales=scales, zeros=zeros)

    def _operator(self, table: Any, tensors: list[Tensor], graph: int, where: str) -> Operator:
        code = self.model.OperatorCodes(table.OpcodeIndex())
        new, old = code.BuiltinCode(), code.DeprecatedBuiltinCode()
        if not (old == min(new, _MOST_OLD) or (new == 0 <= old < _MOST_OLD)):
            raise ReadError(f"its operator has two codes, {old} and {new}, and readers differ in which counts", where)
        number = max(new, old)
        kind = self.types.get(number, f"operator {number}")
        if kind == _CUSTOM and code.CustomCode():
            kind = f"{_CUSTOM} {code.CustomCode().decode(errors='replace')}"
        options = None
        if kind in KINDS and table.BuiltinOptions() is not None:
            options = getattr(self.schema, KINDS[kind])()
            options.Init(table.BuiltinOptions().Bytes, table.BuiltinOptions().Pos)
        inputs = [table.Inputs(n) for n in range(self._count(table.InputsLength()))]
        outputs = [table.Outputs(n) for n in range(self._count(table.OutputsLength()))]
        return Operator(
            type=kind,
            graph=graph,
            where=where,
            inputs=_chosen(tensors, inputs),
            outputs=_chosen(tensors, outputs),
            options=options,
        )


def _check_levels(tensor: Tensor, along: int, where: str) -> None:
    """Raise ReadError unless a tensor, whose quantised axis has ``along`` entries, has finite levels of its type.

    A scale of 0 makes every value 0, so that a constant may have it.
    """
    scales, zeros = tensor.quantisation.scales, tensor.quantisation.zeros
    if len(zeros) != len(scales) or len(scales) not in (1, along):
        problem = f"it has {len(scales)} scales and {len(zeros)} zero points; expected as many of both, 1 or {along}"
        raise ReadError(problem, where)
    for scale, zero in zip(scales, zeros, strict=True):
        if not 0 <= scale < np.inf or not (scale or tensor.data):
            raise ReadError(f"its scale is {scale:g}; expected a positive number", where)
        if tensor.dtype in _INTEGERS and not np.iinfo(tensor.dtype).min <= zero <= np.iinfo(tensor.dtype).max:
            raise ReadError(f"its zero point is {zero}, which is no number of {tensor.dtype}", where)


def _names(words: type) -> dict[int, str]:
    return {value: name for name, value in vars(words).items() if name.isupper()}


def _chosen(tensors: list[Tensor], indices: list[int]) -> tuple[Tensor | None, ...]:
    """Return tensors by their indices; -1 is an omitted one."""
    if not all(-1 <= index < len(tensors) for index in indices):
        raise ValueError(f"tensors {indices} of {len(tensors)}")
    return tuple(None if index < 0 else tensors[index] for index in indices)


_CUSTOM = "CUSTOM"  # an operator that TFLite does not define, which has a name of its own
_OF_IMAGES = (None,) * 4  # LiteRT refuses to resize a tensor of another rank


def resize(operator: Operator, semantics: Semantics = Semantics.RUNTIME) -> ResizeOp:
    """Return an operator as a resize. Raises ReadError for one that TFLite does not define."""
    data, size, *_ = (*operator.inputs, None, None)
    if data is None or size is None or not operator.outputs or operator.outputs[0] is None:
        raise ReadError("it lacks its data, its size or its output", operator.where)
    if data.quantisation != operator.outputs[0].quantisation:
        raise ReadError(
            "its output is quantised differently from its input; expected the same scale and zero point", operator.where
        )
    attributes: dict[str, Any] = {"op": operator.type, "size": _size(size, operator.where)}
    try:
        if operator.options is not None:
            attributes["align_corners"] = bool(operator.options.AlignCorners())
            attributes["half_pixel_centers"] = bool(operator.options.HalfPixelCenters())
    except BROKEN as error:
        raise ReadError(f"its options are cut off: {error}", operator.where) from error
    shape = _OF_IMAGES if data.shape is None else data.shape
    context = Context(version=1, shape=shape, dtype=data.dtype, semantics=semantics)
    return read(DIALECT, attributes, context, name=_name(operator), where=operator.where)


def _name(operator: Operator) -> str:
    """Return the name of an operator's output, or its place if there is none."""
    output = operator.outputs[0] if operator.outputs else None
    return (output.name if output else "") or operator.where


def _size(size: Tensor, where: str) -> tuple[int, ...] | None:
    """Return height and width, None if they are known only at run time."""
    if not size.data:
        return None
    if size.dtype != "int32" or len(size.data) != 8:
        raise ReadError(f"its size is {size.dtype} of {len(size.data)} bytes; expected two int32", where)
    return tuple(np.frombuffer(size.data, "<i4").tolist())
