"""The reading of exported programs of PyTorch, in files and in memory.

First their resizes, each with the line of Python that made it. Programs that change their buffers are refused: each
run starts from what the one before it left. In memory, programs are those of torch.export, and modules of PyTorch,
which it exports with example inputs.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ir_interp.arguments import shown
from ir_interp.errors import ReadError, SpecError, UnsupportedLayerError
from ir_interp.libraries.torch import LIBRARY
from ir_interp.resize_op import ResizeOp, read, shape_text
from ir_interp.shapes import Array, PartialShape
from ir_interp.specs import AtRunTime
from ir_interp.translation.dialect import Context, Semantics

from ...runtimes.execution import first_line
from ...sources.model_description import Description, End
from ...sources.readers import Reading, is_of_class
from . import program_files
from .program_files import line, read as read_program, silent, static

if TYPE_CHECKING:
    import torch
    import torch.fx
    import torch.nn
    from torch.export import ExportedProgram

    from ...sources.readers import InMemory

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
    ops, unread = known(program, name, semantics)
    for _, error in unread:
        raise error
    return ops


def known(
    program: ExportedProgram, name: str, semantics: Semantics = Semantics.RUNTIME
) -> tuple[list[ResizeOp], list[tuple[str, ReadError]]]:
    """Return the resizes of a program that can be read, and the name and error of each of the others."""
    ops, unread = [], []
    for call in filter(_is_resize, calls(program)):
        try:
            ops.append(_read(call, name, semantics))
        except ReadError as error:
            unread.append((call.node.name, error))
    return ops, unread


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

    changed: list[tuple[torch.fx.Node, object, object, object]] = []
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
    attributes: dict[str, object] = {
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
    sizes: object, scales: tuple[float, ...], shape: PartialShape, out_shape: PartialShape, where: str
) -> None:
    """Raise UnsupportedLayerError for sizes that are not known to follow from the scales beside them."""
    lengths = [None if length is None else int(length * scale) for length, scale in zip(shape[2:], scales, strict=True)]
    if sizes is not None and (None in lengths or lengths != list(out_shape)):
        raise UnsupportedLayerError(
            f"sizes {shape_text(out_shape)} beside scales {list(scales)}; expected one of them", where
        )


def check_stateless(program: ExportedProgram, name: str) -> None:
    """Raise UnsupportedLayerError, under ``name``, for a program that changes its buffers: a second run differs.

    Exporters leave the change out, and a proof of the first run would not show it.
    """
    changed = ", ".join(_changed(program))
    if changed:
        problem = f"the program changes its buffers ({changed}), which a model does not keep between runs"
        raise UnsupportedLayerError(f"{problem}; export the module in evaluation mode, its state as inputs", name)


def _changed(program: ExportedProgram) -> list[str]:
    """Return the names of the buffers that an operation writes, or a view of which it writes."""
    signature = program.graph_signature
    changed = dict.fromkeys(signature.buffers_to_mutate.values())  # of a program without operations in place
    buffers = dict(signature.inputs_to_buffers)
    for node in program.graph.nodes:
        written, viewed = _effects(node)
        changed |= dict.fromkeys(buffers[argument.name] for argument in written if argument.name in buffers)
        for argument in viewed:
            if argument.name in buffers and _may_share(node, argument):
                buffers[node.name] = buffers[argument.name]
    return list(changed)


def _may_share(node: torch.fx.Node, argument: torch.fx.Node) -> bool:
    """Return whether a result may be a view: one of another element type, as of ``to``, is a copy."""
    result, before = (known.meta.get("val") for known in (node, argument))
    return bool(getattr(result, "dtype", None) == getattr(before, "dtype", None))


def _effects(node: torch.fx.Node) -> tuple[list[torch.fx.Node], list[torch.fx.Node]]:
    """Return the arguments that a node writes, and those of which its result is a view, as its schema has them."""
    if node.target is operator.getitem:
        return [], list(node.all_input_nodes)
    schema: Any = getattr(node.target, "_schema", None)
    if schema is None:
        return [], []
    known = dict(zip((argument.name for argument in schema.arguments), node.args, strict=False)) | node.kwargs
    aliases = {argument.name: argument.alias_info for argument in schema.arguments if argument.alias_info is not None}
    nodes: dict[str, object] = {name: known[name] for name in aliases if hasattr(known.get(name), "meta")}
    return [value for name, value in nodes.items() if aliases[name].is_write], list(nodes.values())


def holds(value: object) -> TypeGuard[InMemory]:
    """Return whether an object is a program in memory; False if PyTorch is not imported."""
    return is_of_class(value, "torch.export", "ExportedProgram") or _is_onnx_program(value) or _is_pair(value)


def _is_onnx_program(value: object) -> TypeGuard[torch.onnx.ONNXProgram]:
    return is_of_class(value, "torch.onnx", "ONNXProgram")


def _is_pair(value: object) -> TypeGuard[tuple[torch.nn.Module, object] | list[Any]]:
    return isinstance(value, tuple | list) and len(value) == 2 and is_of_class(value[0], "torch.nn", "Module")


def exported(model: InMemory, name: str) -> ExportedProgram:
    """Return the program of a model in memory; that of a module has the sizes of its inputs.

    Raises SpecError for a module in training mode and for other inputs, ReadError, under ``name``, if PyTorch cannot
    export the module, or an ONNX program was not made of an exported program.
    """
    if _is_onnx_program(model):
        if model.exported_program is None:
            raise ReadError("the ONNX program has no exported program; pass its model_proto", name)
        return model.exported_program
    if not _is_pair(model):
        return model
    module, inputs = model
    # torch.export's modules have no modes, whatever they say: their eval is a function that refuses.
    if "eval" not in vars(module) and any(part.training for part in module.modules()):
        raise SpecError(
            "the module is in training mode, in which layers such as dropout are random; call .eval() first"
        )
    args, kwargs = _arguments(inputs)
    import torch.export

    with silent(), redirect_stderr(StringIO()):  # to which torch prints the graph up to the refused line
        try:
            if isinstance(module, torch.jit.ScriptModule):
                names = [argument.name for argument in module.forward.schema.arguments[1:]]
                args, kwargs = (*args, *(kwargs[name] for name in names if name in kwargs)), {}
                module = _traced(module, args, names)
            return torch.export.export(module, args, kwargs)
        except Exception as error:  # whatever torch raises for code that it cannot trace
            raise ReadError(f"PyTorch cannot export the module: {first_line(error)}", name) from error


def _traced(module: torch.jit.ScriptModule, args: tuple[object, ...], names: Sequence[str]) -> torch.fx.GraphModule:
    """Return the operations that a module of TorchScript runs, which torch.export does not take; ``names`` of inputs.

    Fake tensors have shapes and no values, so a branch that depends on values is an error, and never fixed by accident.
    """
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    trace = make_fx(
        lambda *tensors: module(*tensors), tracing_mode="fake", pre_dispatch=True, _allow_non_fake_inputs=True
    )
    with torch.no_grad():
        traced = trace(*args)
    inputs = traced.graph.find_nodes(op="placeholder")
    if len(inputs) == len(args):  # none of which is a tuple of tensors
        for node, name in zip(inputs, names, strict=False):
            node.target = node.name = name
        traced.recompile()
    return traced


def _arguments(inputs: object) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arguments and keyword arguments of a call. Raises SpecError for anything else."""
    if isinstance(inputs, dict):
        return (), {name: _argument(value) for name, value in inputs.items()}
    if isinstance(inputs, tuple | list) and not _is_shape(inputs):
        return tuple(map(_argument, inputs)), {}
    if _is_shape(inputs) or isinstance(inputs, np.ndarray) or is_of_class(inputs, "torch", "Tensor"):
        return (_argument(inputs),), {}
    expected = "a tensor, an array, a shape, a tuple of arguments, or a dict of keyword arguments"
    raise SpecError(f"the inputs of the module are {shown(inputs)}; expected {expected}")


def _is_shape(value: object) -> TypeGuard[Sequence[int]]:
    return isinstance(value, tuple | list) and bool(value) and all(type(size) is int for size in value)


def _argument(value: object) -> object:
    """Return an argument: an array as a tensor, a shape as a random tensor of float32, anything else as it is."""
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    return torch.rand(value) if _is_shape(value) else value


def _described(path: Path) -> Description:
    program = program_files.read(path)
    inputs, outputs = (
        tuple(End(name=name, dtype=dtype, shape=shape) for name, dtype, shape in those)
        for those in program_files.ends(program)
    )
    weights = [
        *program.state_dict.values(),
        *(constant for constant in program.constants.values() if hasattr(constant, "nbytes")),
    ]
    return Description(
        format="PyTorch exported program",
        inputs=inputs,
        outputs=outputs,
        operations=tuple(call.operation for call in calls(program)),
        constants=tuple(weight.nbytes for weight in weights),
    )


def _function(source: Path | InMemory) -> Callable[..., list[Array]]:
    name = source.name if isinstance(source, Path) else "reference"
    program = program_files.read(source) if isinstance(source, Path) else exported(source, name)
    check_stateless(program, name)
    return program_files.function(program)


def _save(model: InMemory, path: Path) -> None:
    program_files.save(exported(model, path.name), path)


READING = Reading(
    load=load,
    known=lambda path: known(read_program(path), path.name),
    describe=_described,
    function=_function,
    holds=holds,
    save=_save,
)
