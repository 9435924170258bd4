"""Exporters of PyTorch programs: each resize is exported alone, and the result runs beside PyTorch.

Nothing here is a rule: the installed releases answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from ir_interp.errors import IrInterpError
from ir_interp.files.scratch import scratch
from ir_interp.translation.meaning import differences

from ..openvino.ir_save import save as save_ir
from ..runtimes.messages import reason
from ..runtimes.outcome import Kind
from ..runtimes.telemetry import openvino_silent
from ..sources import readers
from ..sources.programs import program_files, program_resizes
from ..sources.programs.exported_models import ExportedModel, ExportedResize
from ..sources.programs.program_resizes import Call
from ..verify.against_reference import compare_with
from ..verify.run.inputs import Inputs
from .verdicts import Verdict

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_Key = tuple[str, ...]
_LONGEST = 160  # of an exporter's error text
_DYNAMIC = 24  # a length for a dynamic dimension, which exporters of single operations get as static


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """An exporter: its title, the suffix of its files, and the function that writes a program of one operation."""

    title: str
    suffix: str
    write: Callable[[ExportedProgram, Path], None]


def _by_dynamo(program: ExportedProgram, path: Path) -> None:
    program_files.save_onnx(program, path, path.name)


def _by_torch_script(program: ExportedProgram, path: Path) -> None:
    program_files.save_traced(program, path, path.name)


def _by_openvino(program: ExportedProgram, path: Path) -> None:
    with openvino_silent():
        import openvino

        save_ir(openvino.convert_model(program), path)


DYNAMO = "torch-dynamo"
EXPORTERS: Mapping[str, Exporter] = {
    DYNAMO: Exporter(title="torch.onnx (dynamo)", suffix=".onnx", write=_by_dynamo),
    "torch-script": Exporter(title="torch.onnx (TorchScript)", suffix=".onnx", write=_by_torch_script),
    "openvino-pytorch": Exporter(title="OpenVINO's PyTorch frontend", suffix=".xml", write=_by_openvino),
}


def of_program(exported: ExportedModel) -> dict[str, dict[str, Verdict]]:
    """Return what each exporter makes of the resizes of a program, by the name of the resize, and of the exporter."""
    calls = {call.node.name: call for call in program_resizes.calls(exported.program)}
    known: dict[_Key, Verdict] = {}
    return {call.source.name: _verdicts(call, calls[call.source.name], known) for call in exported.resizes}


def _verdicts(resize: ExportedResize, call: Call, known: dict[_Key, Verdict]) -> dict[str, Verdict]:
    """Return a verdict for each exporter; ``known`` are those of calls with the same arguments, to which it adds."""
    program = _alone(call)
    verdicts = {}
    for name, exporter in EXPORTERS.items():
        key = (name, call.operation, str(call.arguments), str(resize.source.shape), str(resize.source.dtype))
        if name == DYNAMO and resize.written is not None:  # known from the whole program
            verdicts[name] = _of_meaning(resize)
        elif program is None:
            verdicts[name] = Verdict(kind=Kind.UNKNOWN, reason="not tried: run time decides its arguments")
        else:
            verdicts[name] = known.get(key) or _of_run(exporter, program)
            known[key] = verdicts[name]
    return verdicts


def _of_meaning(resize: ExportedResize) -> Verdict:
    return Verdict(kind=Kind.SAME) if resize.grade else Verdict(kind=Kind.DIFFERS, reason=resize.difference)


def _of_run(exporter: Exporter, program: ExportedProgram) -> Verdict:
    """Return whether an exported resize computes what PyTorch does, by running both."""
    with scratch() as folder:
        return _of_file(exporter, program, folder / f"resize{exporter.suffix}")


def _of_file(exporter: Exporter, program: ExportedProgram, path: Path) -> Verdict:
    with program_files.silent():
        try:
            exporter.write(program, path)
        except Exception as error:  # whatever an exporter raises for an operation that it does not know
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            return Verdict(kind=Kind.REFUSED, reason=shorten(reason(cause), _LONGEST, placeholder=" ..."))
    (x,), _ = program.example_inputs
    try:
        operations = readers.load(path)
        inputs = Inputs(shapes={"": tuple(x.shape)})
        [output] = compare_with(path, program_files.function(program), inputs).outputs
    except IrInterpError as error:
        return Verdict(kind=Kind.REFUSED, reason=f"what it writes does not run: {error}")
    others = "" if len(operations) == 1 else "as other operations"
    if output.compared.passes:
        return Verdict(kind=Kind.SAME, reason=others)
    [source] = program_resizes.resizes(program, path.name)
    parts = [differences(source.spec, operation.spec, source.shape) for operation in operations if not others]
    listed = ", ".join(map(str, *parts))
    return Verdict(kind=Kind.DIFFERS, reason=others or listed, difference=output.compared.absolute)


def _alone(call: Call) -> ExportedProgram | None:
    """Return a program of one operation, its arguments as they are; None if some are computed at run time."""
    import torch
    from torch.fx import Graph, GraphModule, Node

    data, *rest = call.node.args
    if not isinstance(data, Node) or call.node.all_input_nodes != [data]:
        return None
    graph = Graph()
    operation: Any = call.node.target
    graph.output(graph.call_function(operation, (graph.placeholder("x"), *rest), dict(call.node.kwargs)))
    tensor = data.meta["val"]
    sizes = [_DYNAMIC if size is None else size for size in program_files.static(tensor.shape)]
    x = torch.rand(sizes) if tensor.dtype.is_floating_point else torch.randint(0, 100, sizes)
    with program_files.silent():
        return torch.export.export(GraphModule(torch.nn.Module(), graph), (x.to(tensor.dtype),))
