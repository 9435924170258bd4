"""Exporters of PyTorch programs: each resize is exported alone, and the result runs beside PyTorch.

Nothing here is a rule: the installed releases answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.translation.meaning import differences

from ...audit import framework_exporters
from ...audit.audited_resizes import Found, Shapes, Verdict, of_file, with_releases
from ...audit.framework_exporters import DYNAMIC, NOT_TRIED, ask, concise, failed, judged, not_run
from ...openvino.ir_save import save as save_ir
from ...runtimes.execution import reason
from ...runtimes.outcome import Kind
from ...sources import readers
from ...verify.inputs import Inputs
from ...verify.model_pairs import compare_with
from ...verify.tolerances import compare
from . import FRAMEWORK, program_files, reading
from .conversion import ExportedModel, ExportedResize, exported
from .reading import Call

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_Key = tuple[str, ...]
_CHILD = f"{__package__}.exporter_child"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter(framework_exporters.Exporter):
    """An exporter, and the function that returns its verdict on a program of one operation."""

    verdict: Callable[[ExportedProgram], Verdict]
    package: str = "torch"


def _by_dynamo(program: ExportedProgram, path: Path) -> None:
    program_files.save_onnx(program, path, path.name)


def _by_torch_script(program: ExportedProgram, path: Path) -> None:
    program_files.save_traced(program, path, path.name)


def _by_openvino(program: ExportedProgram, path: Path) -> None:
    import openvino

    save_ir(openvino.convert_model(program), path)


def audited(path: Path, shapes: Shapes, *, asks_exporters: bool) -> list[Found]:
    """Return the resizes of a program, each as it is in the exported model, or as it was if that has other nodes."""
    with exported(path, f"{path.stem}{FileKind.ONNX.value}") as program:
        nodes = {node.op.name: node for node in of_file(program.model, shapes).resizes}
        verdicts = _of_program(program) if asks_exporters else {}
        resizes = []
        for resize in program.resizes:
            source = resize.source
            node = nodes.pop(resize.written.name, None) if resize.written else None
            matched = node or Found(file=path, op=source, mistakes=(), remarks=())
            op = replace(matched.op, name=source.name, where=source.where)
            resizes.append(replace(matched, file=path, op=op, exporters=verdicts.get(source.name, {})))
    return resizes


def _of_program(exported: ExportedModel) -> dict[str, dict[str, Verdict]]:
    """Return what each exporter makes of the resizes of a program, by the name of the resize, and of the exporter."""
    calls = {call.node.name: call for call in reading.calls(exported.program)}
    known: dict[_Key, Verdict] = {}
    return {call.source.name: _verdicts(call, calls[call.source.name], known) for call in exported.resizes}


def _verdicts(resize: ExportedResize, call: Call, known: dict[_Key, Verdict]) -> dict[str, Verdict]:
    """Return a verdict for each exporter; ``known`` are those of calls with the same arguments, to which it adds."""
    program = _alone(call)
    verdicts = {}
    for name, exporter in EXPORTERS.items():
        if not exporter.is_installed:
            continue
        key = (name, call.operation, str(call.arguments), str(resize.source.shape), str(resize.source.dtype))
        if name == DYNAMO and resize.written is not None:  # known from the whole program
            verdicts[name] = _of_meaning(resize)
        elif program is None:
            verdicts[name] = NOT_TRIED
        else:
            verdicts[name] = known.get(key) or exporter.verdict(program)
            known[key] = verdicts[name]
    return {name: with_releases(name, resize.source, verdict) for name, verdict in verdicts.items()}


def _of_meaning(resize: ExportedResize) -> Verdict:
    return Verdict(kind=Kind.SAME) if resize.grade else Verdict(kind=Kind.DIFFERS, reason=resize.difference)


def _of_model(write: Callable[[ExportedProgram, Path], None], kind: FileKind, program: ExportedProgram) -> Verdict:
    """Return whether an exported model of one resize computes what PyTorch does, by running both."""
    with scratch() as folder:
        return _of_file(write, program, folder / f"resize{kind.value}")


def _of_file(write: Callable[[ExportedProgram, Path], None], program: ExportedProgram, path: Path) -> Verdict:
    with program_files.silent():
        try:
            write(program, path)
        except Exception as error:  # whatever an exporter raises for an operation that it does not know
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            return concise(Verdict(kind=Kind.REFUSED, reason=reason(cause)))
    (x,), _ = program.example_inputs
    try:
        operations = readers.load(path)
        inputs = Inputs(shapes={"": tuple(x.shape)})
        [output] = compare_with(path, program_files.function(program), inputs).outputs
    except IrInterpError as error:
        return not_run(error)
    others = "" if len(operations) == 1 else "as other operations"
    if output.compared.passes:
        return Verdict(kind=Kind.SAME, reason=others)
    [source] = reading.resizes(program, path.name)
    parts = [differences(source.spec, operation.spec, source.shape) for operation in operations if not others]
    listed = ", ".join(map(str, *parts))
    return Verdict(kind=Kind.DIFFERS, reason=others or listed, difference=output.compared.absolute)


def _elsewhere(name: str, program: ExportedProgram) -> Verdict:
    """Return whether a resize computes what PyTorch does in the exporter's own runtime, in a process of its own."""
    (x,), _ = program.example_inputs
    with scratch() as folder:
        path = folder / f"resize{FRAMEWORK.extensions[0]}"
        program_files.save(program, path)
        answer = ask(f"{_CHILD}:answer", [x.numpy()], (name, str(path.absolute())), process=name)
    failure = failed(answer)
    if failure is not None:
        return failure
    [expected], [actual] = program_files.function(program)(x.numpy()), answer
    return judged(compare("output", expected, actual))


DYNAMO = "torch-dynamo"
EXPORTERS: Mapping[str, Exporter] = {
    DYNAMO: Exporter(title="torch.onnx (dynamo)", verdict=partial(_of_model, _by_dynamo, FileKind.ONNX)),
    "torch-script": Exporter(
        title="torch.onnx (TorchScript)", verdict=partial(_of_model, _by_torch_script, FileKind.ONNX)
    ),
    "openvino-pytorch": Exporter(
        title="OpenVINO's PyTorch frontend", verdict=partial(_of_model, _by_openvino, FileKind.IR)
    ),
    "executorch": Exporter(title="ExecuTorch", verdict=partial(_elsewhere, "executorch"), package="executorch"),
    "litert-torch": Exporter(
        title="LiteRT's converter", verdict=partial(_elsewhere, "litert-torch"), package="litert_torch"
    ),
    "coremltools": Exporter(title="coremltools", verdict=partial(_elsewhere, "coremltools"), package="coremltools"),
}
"""The exporters by name; one without its package is not asked."""


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
    sizes = [DYNAMIC if size is None else size for size in program_files.static(tensor.shape)]
    x = torch.rand(sizes) if tensor.dtype.is_floating_point else torch.randint(0, 100, sizes)
    with program_files.silent():
        return torch.export.export(GraphModule(torch.nn.Module(), graph), (x.to(tensor.dtype),))
