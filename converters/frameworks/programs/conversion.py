"""The model that stands for a program of PyTorch: torch's ONNX, or the IR of OpenVINO's frontend.

First sizes that a program computes in numbers of Python, in float64 as Python does: torch's exporter writes float32.
Then the ONNX model that the exporter makes, what became of each resize in it, and the rows of reports. Hints are sizes
at which a conversion is proven, too: those of its example, and scales of its sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ir_interp.errors import InexactError, ReadError, UnsupportedLayerError
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.options.model_options import ConvertOptions, Exporter
from ir_interp.plan.float_arithmetic import SizeScale, is_right_in_float32
from ir_interp.plan.integer_sums import sums_integers
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.specs import AtRunTime, Nearest, ResizeSpec, Scales
from ir_interp.translation.dialect import Context
from ir_interp.translation.meaning import differences, first_difference
from ir_interp.translation.translate import Grade, compared

from ...dialects.onnx import DIALECT
from ...intermediate import Intermediate, as_ir
from ...onnx.resize_nodes import ResizeNode, nodes
from ...portable.portable_model import restore
from ...reports import FormPolicy, Row, expressed
from ...verify.input_shapes import SizeHints
from .program_files import line, read, save_onnx, save_traced
from .reading import AREA, check_stateless, known, pool_line, pools_as_resizes, resizes, samplers

if TYPE_CHECKING:
    from torch.export import ExportedProgram

FX_NODE = "pkg.torch.onnx.fx_node"
"""The metadata of a node in an exported model that has its node of the program, as text."""
_OF_NUMBERS = re.compile(r"call_function\[target=(?!torch\.ops\.)[\w.]+\]\(args = \((?P<arguments>.*)\), kwargs")
_NUMBER = re.compile(r"(?<![\w%.])-?\d+(\.\d+)?(e[+-]?\d+)?(?![\w.])")
_IN_ITS_TYPE = (
    "Abs",
    "Add",
    "Ceil",
    "Div",
    "Floor",
    "Identity",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Pow",
    "Round",
    "Sqrt",
    "Sub",
)
"""Operators that onnxruntime computes in float64, too."""


def sizes_in_float64(path: Path) -> None:
    """Compute the numbers of Python in a model that torch exported in float64; change the file."""
    model = onnx.load(path, load_external_data=False)
    numbers = _Numbers(model.graph)
    if numbers.rewrite():
        onnx.save(model, path)


@dataclass(slots=True)
class _Numbers:
    """The float32 nodes of a graph that stand for numbers of Python, and the graph's new nodes."""

    graph: onnx.GraphProto
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    casts: dict[tuple[str, int], str] = field(default_factory=dict)

    def rewrite(self) -> bool:
        """Give these nodes float64. Return whether there are any."""
        values = [*self.graph.value_info, *self.graph.output]
        singles = {value.name for value in values if value.type.tensor_type.elem_type == TensorProto.FLOAT}
        ends = {value.name for value in self.graph.output}
        region = {
            node.output[0]: literals
            for node in self.graph.node
            for literals in _literals(node)
            if node.output[0] in singles - ends and (_is_to_single(node) or node.op_type in _IN_ITS_TYPE)
        }
        constants = {tensor.name: tensor for tensor in self.graph.initializer}
        for node in list(self.graph.node):
            is_number = node.output[0] in region
            for place, name in enumerate(node.input):
                if is_number and name in constants:
                    node.input[place] = self._constant(constants[name], region[node.output[0]])
                elif is_number and name in singles and name not in region:
                    node.input[place] = self._cast(name, TensorProto.DOUBLE)
                elif not is_number and name in region and node.op_type != "Cast":
                    node.input[place] = self._cast(name, TensorProto.FLOAT)
            for attribute in node.attribute:
                if is_number and node.op_type == "Cast" and attribute.name == "to":
                    attribute.i = TensorProto.DOUBLE
            self.nodes.append(node)
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in self.nodes]
        declared = [value for value in self.graph.value_info if value.name not in region]
        del self.graph.node[:], self.graph.value_info[:]
        self.graph.node.extend(copies)
        self.graph.value_info.extend(declared)
        return bool(region)

    def _cast(self, name: str, element: int) -> str:
        """Return a tensor in another element type."""
        key = name, element
        if key not in self.casts:
            self.casts[key] = f"{name}/{TensorProto.DataType.Name(element).lower()}"
            made = self.casts[key]
            self.nodes.append(helper.make_node("Cast", [name], [made], name=made, to=element))
        return self.casts[key]

    def _constant(self, constant: onnx.TensorProto, literals: list[float]) -> str:
        """Return a constant in float64: the number of the program that it is in float32."""
        if constant.data_type != TensorProto.FLOAT:
            return constant.name
        singles = numpy_helper.to_array(constant).ravel().tolist()
        exact = [next((n for n in literals if np.float32(n) == np.float32(single)), single) for single in singles]
        made = f"{constant.name}/{','.join(map(repr, exact))}"
        if all(tensor.name != made for tensor in self.graph.initializer):
            self.graph.initializer.append(helper.make_tensor(made, TensorProto.DOUBLE, constant.dims, exact))
        return made


def _literals(node: onnx.NodeProto) -> Iterator[list[float]]:
    """Yield the numbers in the arguments of a node that computes numbers of Python; nothing for other nodes."""
    text = next((entry.value for entry in node.metadata_props if entry.key == FX_NODE), "")
    call = _OF_NUMBERS.search(text)
    if call:
        yield [float(number.group()) for number in _NUMBER.finditer(call["arguments"])]


def _is_to_single(node: onnx.NodeProto) -> bool:
    return node.op_type == "Cast" and any(attribute.i == TensorProto.FLOAT for attribute in node.attribute)


_STACK_TRACE = "pkg.torch.onnx.stack_trace"
"""The metadata of a node in an exported model that tells where the call stands in Python."""
_NAME = re.compile(r"%(?P<name>\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedResize:
    """A resize of a program, and the one that the exporter wrote for it; None if it wrote other operations.

    ``repair`` is the form in which a changed one was written again, empty if there is none.
    """

    source: ResizeOp
    written: ResizeOp | None
    repair: str = ""

    @property
    def grade(self) -> Grade | None:
        """How exactly the written one computes the source; None if it does not."""
        specs = self._specs()
        return compared(*specs, self.source.shape) if specs else None

    @property
    def needs_repair(self) -> bool:
        """Whether the written resize has other pixels, weights or sizes than PyTorch's at some size."""
        if self.written is None or self.grade is None:
            return self.written is not None
        target = self.source.spec.target
        scales = target.values if isinstance(target, Scales) else ()
        copies = isinstance(self.source.spec.kernel, Nearest)
        return self.grade is Grade.EXACT_BUT_TIES and (copies or not all(map(is_right_in_float32, scales)))

    @property
    def is_pool(self) -> bool:
        """Whether it is an average pool, of which the written resize has the sizes only."""
        return self.source.attributes["mode"] == AREA and self.written is not None

    @property
    def change(self) -> str:
        """The exporter's change, after the line of Python; empty if there is none."""
        if self.written is None:
            return f"{self.source.where}: PyTorch's exporter wrote other operations than a Resize"
        if not self.needs_repair:
            return ""
        repair = f"; repaired: {self.repair}" if self.repair else ""
        if self.is_pool:
            return f"{self.source.where}: PyTorch's exporter writes this pool for the sizes of its example only{repair}"
        return f"{self.source.where}: PyTorch's exporter changed this resize: {self.difference}{repair}"

    @property
    def difference(self) -> str:
        """The parts in which the written resize differs; empty if other operations were written."""
        specs, known = self._specs(), static_shape(self.source.shape)
        if specs is None:
            return ""
        by_part = ", ".join(map(str, differences(*specs, self.source.shape)))
        return by_part or f"float32 decides: {first_difference(*specs, known) if known else 'at some sizes'}"

    def _specs(self) -> tuple[ResizeSpec, ResizeSpec] | None:
        """Return both specs, None if the exporter wrote no resize."""
        if self.written is None:
            return None
        mine, written = self.source.spec, self.written.spec
        if isinstance(mine.target, AtRunTime) and mine.target == written.target:
            # ONNX has sizes for all axes; whether those of the other axes are the input's, only a run can show.
            written = replace(written, axes=mine.axes)
        return mine, written


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedModel:
    """An ONNX model that PyTorch exported, and the resizes of its program; ``name`` is that of the program's file.

    ``unread`` are the names and errors of resizes that cannot be read.
    """

    name: str
    program: ExportedProgram
    model: Path
    resizes: tuple[ExportedResize, ...]
    unread: tuple[tuple[str, ReadError], ...] = ()

    @property
    def changes(self) -> tuple[str, ...]:
        """The exporter's changes, with the lines of Python."""
        return tuple(filter(None, (resize.change for resize in self.resizes)))


@contextmanager
def exported(
    path: Path, name: str, exporter: Exporter | None = None, *, is_repaired: bool = False
) -> Iterator[ExportedModel]:
    """Yield the ONNX model of a .pt2 file in a temporary folder, under ``name``. Raises ReadError if there is none.

    Without an ``exporter``, the model is of torch.onnx (dynamo). One that is to be repaired has a resize in place of
    each pool of dynamic sizes, and sizes in float64.
    """
    program = read(path)
    is_traced = exporter is Exporter.TORCHSCRIPT
    with scratch() as folder:
        model = Path(folder, name)
        source, unread = known(program, path.name)
        if is_traced:
            save_traced(program, model, path.name)
        else:
            with pools_as_resizes(program) if is_repaired else nullcontext():
                save_onnx(program, model, path.name)
            if is_repaired:
                sizes_in_float64(model)
        written = _in_order(source, model) if is_traced else _by_node(source, model, path.name)
        pairs = zip(source, written, strict=True)
        yield ExportedModel(
            name=path.name,
            program=program,
            model=model,
            resizes=tuple(ExportedResize(source=op, written=node) for op, node in pairs),
            unread=tuple(unread),
        )


def _by_node(source: Sequence[ResizeOp], model: Path, name: str) -> list[ResizeOp | None]:
    """Return what became of each resize, by the metadata of the exporter: the line of Python and the program's node."""
    written = {of_python(node): node.op for node in nodes(model)}
    pools = {place: op for (place, _), op in written.items()}
    return [written.get((op.where.removeprefix(f"{name}:"), op.name)) or pools.get(pool_line(op.name)) for op in source]


def _in_order(source: Sequence[ResizeOp], model: Path) -> list[ResizeOp | None]:
    """Return what became of each resize of a traced model, which keeps their order; areas become other operations."""
    written = [node.op for node in nodes(model)]
    is_resize = [op.attributes["mode"] != AREA for op in source]
    if len(written) != sum(is_resize):
        return [None] * len(source)
    waiting = iter(written)
    return [next(waiting) if has_node else None for has_node in is_resize]


def of_python(node: ResizeNode) -> tuple[str, str]:
    """Return the line of Python that made a node of an exported model, and its name in the program."""
    metadata = {entry.key: entry.value for entry in node.node.metadata_props}
    found = _NAME.match(metadata.get(FX_NODE, ""))
    name = found["name"] if found else ""
    return line(metadata.get(_STACK_TRACE), name), name


def repaired_model(program: ExportedModel) -> ExportedModel:
    """Return a program whose model has the resizes that the exporter changed as they were, if they have a form.

    Raises UnsupportedLayerError for a pool without one, which the model has as another resize, and InexactError for
    integers that would be off by a level at some pixels: whether a proof meets one is luck.
    """
    changed = {
        resize.written.name: resize.source.spec for resize in program.resizes if resize.written and resize.needs_repair
    }
    if not changed:
        return program
    restored = restore(program.model, changed)
    forms = {name: row.form for name, row in restored.items()}
    for resize in program.resizes:
        if resize.written is None or resize.written.name not in changed:
            continue
        row = restored.get(resize.written.name)
        if resize.is_pool and row is None:
            raise UnsupportedLayerError("an adaptive pool without a form for dynamic sizes", resize.source.where)
        is_inexact = row is None or row.grade in (Grade.INTEGERS_WITHIN, Grade.INTEGERS_WITHIN_1)
        if is_inexact and sums_integers(resize.source.spec, resize.source.dtype):
            problem = "no operations sum these integers as PyTorch does, so that some would be off by a level"
            raise InexactError(resize.source.where, "ONNX", reason=f"{problem}; resize images of float32")
    return replace(
        program,
        resizes=tuple(
            replace(resize, repair=forms.get(resize.written.name, "") if resize.written else "")
            for resize in program.resizes
        ),
    )


def report_rows(program: ExportedModel) -> tuple[Row, ...]:
    """Return a row for each resize that the exporter kept; ``report_notes`` name the others."""
    return tuple(
        Row(
            name=resize.written.name, source=resize.source, form=expressed(_concise(resize.written)), grade=resize.grade
        )
        for resize in program.resizes
        if resize.written is not None and resize.grade is not None and not resize.repair
    )


def _concise(op: ResizeOp) -> ResizeOp:
    """Return a node of an exported model without its attributes that have no effect."""
    context = Context(version=op.version, shape=op.shape, dtype=op.dtype)
    return replace(op, attributes=DIALECT.concise(DIALECT.complete(op.attributes, op.version), context))


def at_lines(converted: Iterable[Row], program: ExportedModel) -> tuple[Row, ...]:
    """Return the rows of a conversion of the exporter's model, each at its line of Python."""
    lines = {resize.written.name: resize.source.where for resize in program.resizes if resize.written is not None}
    return tuple(
        replace(row, source=replace(row.source, where=lines.get(row.source.name, row.source.where)))
        for row in converted
    )


def report_notes(program: ExportedModel) -> tuple[str, ...]:
    """Return what the exporter changed, and what is converted but not translated."""
    return (*program.changes, *sampled(program.program, program.name))


def sampled(program: ExportedProgram, name: str) -> tuple[str, ...]:
    """Return a note for each grid_sample of a program; ``name`` is that of its file."""
    note = "grid_sample takes positions from a tensor, so it is no resize"
    return tuple(f"{name}:{line}: {note}" for line in samplers(program))


def size_hints(program: ExportedProgram, name: str) -> SizeHints:
    """Return the scales of a program that are no integers, and the shapes of its example by input."""
    scales = [scale for scale in (*_of_resizes(program, name), *_of_numbers(program)) if scale > 0 and scale % 1]
    known = tuple(SizeScale(scale=scale) for scale in dict.fromkeys(scales))
    return SizeHints(scales=known, shapes=_example(program))


def _of_resizes(program: ExportedProgram, name: str) -> Iterator[float]:
    for op in resizes(program, name):
        if isinstance(op.spec.target, Scales) and None in (op.shape or ()):
            yield from map(float, op.spec.target.values)


def _of_numbers(program: ExportedProgram) -> Iterator[float]:
    """Yield the numbers that sizes are multiplied with, or divided by."""
    import torch

    for node in program.graph.nodes:
        if isinstance(node.meta.get("val"), torch.SymFloat):
            is_quotient = getattr(node.target, "__name__", "") == "truediv"
            numbers = (float(number) for number in node.args if isinstance(number, int | float))
            yield from (1 / number if is_quotient else number for number in numbers if number > 0)


def _example(program: ExportedProgram) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors that a program was exported with; none if it has lost them."""
    from torch.utils import _pytree as pytree

    names = [str(name) for name in program.graph_signature.user_inputs]
    leaves = pytree.tree_leaves(program.example_inputs) if program.example_inputs else []
    pairs = zip(names, leaves, strict=False) if len(names) == len(leaves) else ()
    return {name: tuple(leaf.shape) for name, leaf in pairs if hasattr(leaf, "shape")}


@contextmanager
def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> Iterator[Intermediate]:
    """Yield the model of a program, by the exporter that the options name.

    Raises UnsupportedLayerError for a program that changes its buffers.
    """
    if options.exporter is Exporter.OPENVINO:
        from .frontend import build

        program = read(source)
        check_stateless(program, source.name)
        with as_ir(lambda _: build(program, source.name, policy), destination, source.name) as between:
            notes = sampled(program, source.name)
            yield replace(between, notes=notes, hints=size_hints(program, source.name))
        return
    with exported(source, f"{destination.stem}{FileKind.ONNX.value}", options.exporter, is_repaired=True) as plain:
        check_stateless(plain.program, source.name)
        for _, error in plain.unread:
            raise error
        repaired = repaired_model(plain)
        yield Intermediate(
            model=repaired.model,
            # A program without a conversion behind it, to .onnx, has only the rows of its own reading.
            rows=lambda rows: at_lines(rows, repaired) if rows else report_rows(repaired),
            notes=report_notes(repaired),
            changes=repaired.changes,
            hints=size_hints(plain.program, source.name),
        )
