"""The resizes of an exported program, each with the line of Python that made it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir_interp.errors import UnsupportedLayerError
from ir_interp.libraries.torch import LIBRARY
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import PartialShape
from ir_interp.spec import AtRunTime
from ir_interp.translation.dialect import Context, Semantics
from ir_interp.views.describe import shape_text

from .program_files import read as read_program
from .program_files import static
from .python_lines import line

if TYPE_CHECKING:
    import torch.fx
    from torch.export import ExportedProgram

_UPSAMPLE = re.compile(
    r"aten::_?upsample_(?P<mode>nearest_exact|nearest|linear|bilinear|bicubic|trilinear|lanczos)[123]d(?P<aa>_aa)?"
)
_POOL = re.compile(r"aten::adaptive_avg_pool[123]d")
AREA = "area"
"""The mode of an adaptive average pool."""
_SAMPLER = re.compile(r"aten::(cudnn_)?grid_sampler(_[23]d)?")
_SCALES = ("scales_d", "scales_h", "scales_w", "scales")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of an operation in a program: its arguments by name, and the line of Python that made it."""

    node: torch.fx.Node
    operation: str
    line: str

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by the names of the operation's schema; files omit those that have their default."""
        operation: Any = self.node.target
        schema = {argument.name: argument.default_value for argument in operation._schema.arguments}
        return schema | dict(zip(schema, self.node.args, strict=False)) | dict(self.node.kwargs)


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a .pt2 file; see ``resizes``."""
    return resizes(read_program(path), path.name, semantics)


def resizes(program: ExportedProgram, name: str, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a program in order, named as its node; ``name`` is that of the file.

    An adaptive average pool is torch's mode area, unless its output is a single pixel, a mean. Raises
    UnsupportedLayerError for sizes and scales that no call of interpolate passes together.
    """
    return [_read(call, name, semantics) for call in calls(program) if _is_resize(call)]


def samplers(program: ExportedProgram) -> list[str]:
    """Return the lines that sample at positions from a tensor, which no spec of a resize holds."""
    return [call.line for call in calls(program) if _SAMPLER.fullmatch(call.operation)]


def calls(program: ExportedProgram) -> Iterator[Call]:
    """Yield the calls of operations, those of branches and loops included."""
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            schema = getattr(node.target, "_schema", None)
            if node.op == "call_function" and schema is not None:
                yield Call(node=node, operation=schema.name, line=line(node.meta.get("stack_trace"), node.name))


@contextmanager
def pools_as_resizes(program: ExportedProgram) -> Iterator[None]:
    """Let adaptive average pools of dynamic sizes be nearest resizes, which the exporter of ONNX writes as one node.

    It would write the operations of a pool for the sizes of its example, which decide how many pixels a mean has.
    """
    import torch

    changed: list[tuple[torch.fx.Node, Any, Any, Any]] = []
    for call in calls(program):
        if _POOL.fullmatch(call.operation) and _is_resize(call):
            data, sizes = call.arguments["self"], call.arguments["output_size"]
            if None in (*_shape(data)[2:], *_shape(call.node)[2:]):
                trace = call.node.meta.get("stack_trace")
                changed.append((call.node, call.node.target, call.node.args, trace))
                # The exporter renames nodes by their operation, and a program may have such resizes, too.
                call.node.meta["stack_trace"] = f'{trace or ""}\n  File "{pool_line(call.node.name)[:-2]}", line 1'
                resize = getattr(torch.ops.aten, f"upsample_nearest{len(sizes)}d").vec
                call.node.target, call.node.args = resize, (data, sizes, None)
    try:
        yield
    finally:
        for node, target, arguments, trace in changed:
            node.target, node.args, node.meta["stack_trace"] = target, arguments, trace


def pool_line(node: str) -> str:
    """Return the line that stands for the Python of a pool in place of which a resize is exported."""
    return f"pool {node}:1"


def _is_resize(call: Call) -> bool:
    if _POOL.fullmatch(call.operation):
        resized = _shape(call.node)[2:]
        is_image = len(resized) == len(call.arguments["output_size"])  # interpolate requires a batch
        return is_image and any(length != 1 for length in resized)
    return _UPSAMPLE.fullmatch(call.operation) is not None


def _read(call: Call, name: str, semantics: Semantics) -> ResizeOp:
    arguments, where = call.arguments, f"{name}:{call.line}"
    data = arguments["input" if "input" in arguments else "self"]
    shape, resized = _shape(data), _shape(call.node)[2:]
    upsample = _UPSAMPLE.fullmatch(call.operation)
    attributes: dict[str, Any] = {
        "mode": upsample["mode"].replace("_", "-") if upsample else AREA,
        "align_corners": bool(arguments.get("align_corners", False)),
        "antialias": bool(upsample and upsample["aa"]),
        "rank": len(shape),
    }
    scales = _scales(arguments, where)
    if scales is not None:
        _check_sizes(arguments.get("output_size"), scales, shape, resized, where)
        attributes["scale_factor"] = scales
    elif None not in resized:
        attributes["size"] = resized
    dtype = str(data.meta["val"].dtype).removeprefix("torch.")
    context = Context(version=LIBRARY.dialect.versions[0], shape=shape, dtype=dtype, semantics=semantics)
    op = read(LIBRARY.dialect, attributes, context, name=call.node.name, where=where)
    spec = op.spec.of_floats() if "float" in dtype else op.spec
    at_run_time = scales is None and None in resized
    return replace(op, spec=replace(spec, target=AtRunTime.SIZES) if at_run_time else spec)


def _shape(node: Any) -> PartialShape:
    """Return the shape of a tensor, None for each dynamic dimension."""
    return static(node.meta["val"].shape)


def _scales(arguments: dict[str, Any], where: str) -> tuple[float, ...] | None:
    """Return the scales of all axes, which torch prefers to sizes; None without them.

    Raises UnsupportedLayerError for scales of some axes only.
    """
    listed = arguments.get("scale_factors") or [arguments[name] for name in _SCALES if name in arguments]
    known = [scale for scale in listed if scale is not None]
    if known and len(known) < len(listed):
        raise UnsupportedLayerError("scales of some axes only; expected all of them, or none", where)
    return tuple(known) or None


def _check_sizes(
    sizes: Any, scales: tuple[float, ...], shape: PartialShape, out_shape: PartialShape, where: str
) -> None:
    """Raise UnsupportedLayerError for sizes that are not known to follow from the scales beside them."""
    lengths = [None if length is None else int(length * scale) for length, scale in zip(shape[2:], scales, strict=True)]
    if sizes is not None and (None in lengths or lengths != list(out_shape)):
        raise UnsupportedLayerError(
            f"sizes {shape_text(out_shape)} beside scales {list(scales)}; expected one of them", where
        )
