"""The ONNX model that torch's exporter makes of a program, and what became of each resize in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import Exporter
from ir_interp.plan.axes.scaled_lengths import is_right_in_float32
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.spec import AtRunTime, Nearest, ResizeSpec, Scales
from ir_interp.translation.agreement import first_difference
from ir_interp.translation.grades import Grade
from ir_interp.translation.meaning import differences
from ir_interp.translation.translate import compared

from ...onnx.resize_nodes import ResizeNode, nodes
from .exact_sizes import FX_NODE, sizes_in_float64
from .program_files import read, save_onnx, save_traced
from .program_resizes import AREA, pool_line, pools_as_resizes, resizes
from .python_lines import line

if TYPE_CHECKING:
    from torch.export import ExportedProgram

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
    """An ONNX model that PyTorch exported, and the resizes of its program; ``name`` is that of the program's file."""

    name: str
    program: ExportedProgram
    model: Path
    resizes: tuple[ExportedResize, ...]

    @property
    def changes(self) -> tuple[str, ...]:
        """The exporter's changes, with the lines of Python."""
        return tuple(filter(None, (resize.change for resize in self.resizes)))


@contextmanager
def exported(
    path: Path, name: str, exporter: Exporter = Exporter.DYNAMO, *, is_repaired: bool = False
) -> Iterator[ExportedModel]:
    """Yield the ONNX model of a .pt2 file in a temporary folder, under ``name``. Raises ReadError if there is none.

    A model that is to be repaired has a resize in place of each pool of dynamic sizes, and sizes in float64.
    """
    program = read(path)
    is_traced = exporter is Exporter.TORCHSCRIPT
    with scratch() as folder:
        model = Path(folder, name)
        source = resizes(program, path.name)
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
    name = _NAME.match(metadata.get(FX_NODE, ""))
    return line(metadata.get(_STACK_TRACE), ""), name["name"] if name else ""
