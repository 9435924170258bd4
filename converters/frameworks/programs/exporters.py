"""Exporters of PyTorch programs: each resize is exported alone, and the result runs beside PyTorch.

Nothing here is a rule: the installed releases answer. Those with runtimes of their own do so in a process of theirs,
last: a program of one operation is exported and run there.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_interp.errors import ExporterError, IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.shapes import Array
from ir_interp.translation.meaning import differences

from ...audit import framework_exporters
from ...audit.audited_resizes import Found, Inside, Shapes, Unread, of_file, with_releases
from ...audit.framework_exporters import DYNAMIC, NOT_TRIED, ask, concise, failed, judged, not_run
from ...audit.verdicts import Verdict
from ...openvino.ir_save import save as save_ir
from ...runtimes.execution import reason
from ...runtimes.outcome import Kind
from ...sources import readers
from ...verify.graphs import read
from ...verify.inputs import Inputs
from ...verify.model_pairs import compare_with
from ...verify.tolerances import compare
from ..tflite.reading import run as run_tflite
from . import FRAMEWORK, program_files, reading
from .conversion import ExportedResize, exported
from .reading import Call

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter(framework_exporters.Exporter):
    """An exporter, and the function that returns its verdict on a program of one operation.

    ``verdicts_on_all`` returns those on several operations, None or nothing where only each alone can tell.
    """

    verdict: Callable[[ExportedProgram], Verdict]
    verdicts_on_all: Callable[[ExportedProgram], Sequence[Verdict | None]] | None = None
    package: str = "torch"


def _by_dynamo(program: ExportedProgram, path: Path) -> None:
    program_files.save_onnx(program, path, path.name)


def _by_torch_script(program: ExportedProgram, path: Path) -> None:
    program_files.save_traced(program, path, path.name)


def _by_openvino(program: ExportedProgram, path: Path) -> None:
    import openvino

    save_ir(openvino.convert_model(program), path)


def audited(path: Path, shapes: Shapes, *, asks_exporters: bool) -> Inside:
    """Return the resizes of a program, each as it is in the exported model, or as it was if that has other nodes.

    A program that PyTorch's exporter refuses as a whole has its own resizes, each with this verdict.
    """
    try:
        with exported(path, f"{path.stem}{FileKind.ONNX.value}") as program:
            nodes = {node.op.name: node for node in of_file(program.model, shapes).resizes}
            verdicts = _of_program(program.program, program.resizes) if asks_exporters else {}
            resizes, unread = [_found(path, resize, nodes) for resize in program.resizes], program.unread
    except ExporterError as error:
        alone = program_files.read(path)
        known, others = reading.known(alone, path.name)
        ops = [ExportedResize(source=op, written=None) for op in known]
        refused = Verdict(kind=Kind.REFUSED, reason=f"the program as a whole: {error.problem}")
        asked = _of_program(alone, ops) if asks_exporters else {}
        verdicts = {op.name: {**asked.get(op.name, {}), DYNAMO: refused} for op in known}
        resizes, unread = [_found(path, op, {}) for op in ops], tuple(others)
    return Inside(
        resizes=[replace(resize, exporters=verdicts.get(resize.op.name, {})) for resize in resizes],
        unread=[Unread(name=name, where=error.where, error=error) for name, error in unread],
    )


def _found(path: Path, resize: ExportedResize, nodes: Mapping[str, Found]) -> Found:
    source = resize.source
    node = nodes.get(resize.written.name) if resize.written else None
    matched = node or Found(file=path, op=source, mistakes=(), remarks=())
    return replace(matched, file=path, op=replace(matched.op, name=source.name, where=source.where))


def _of_program(program: ExportedProgram, resizes: Sequence[ExportedResize]) -> dict[str, dict[str, Verdict]]:
    """Return what each exporter makes of the resizes of a program, by the name of the resize, and of the exporter."""
    calls = {call.node.name: call for call in reading.calls(program)}
    pairs = [(resize, calls[resize.source.name]) for resize in resizes]
    known = _of_groups(pairs)
    return {resize.source.name: _verdicts(resize, call, known) for resize, call in pairs}


_MOST_ELEMENTS = 2**22  # of the images that are resized together


def _of_groups(pairs: Sequence[tuple[ExportedResize, Call]]) -> dict[_Key, Verdict]:
    """Return verdicts on resizes of one operation that an exporter treats alike: it is asked once, not for each."""
    known: dict[_Key, Verdict] = {}
    for name, exporter in EXPORTERS.items():
        if not exporter.is_installed or exporter.verdicts_on_all is None:
            continue
        groups: dict[str, dict[_Key, Call]] = {}
        for resize, call in pairs:
            is_small = math.prod(size or DYNAMIC for size in resize.source.shape or ()) <= _MOST_ELEMENTS
            if is_small and not (name == DYNAMO and resize.written):
                groups.setdefault(call.operation, {})[_key(name, resize, call)] = call
        for group in groups.values():
            program = _alone(*group.values()) if len(group) > 1 else None
            verdicts = exporter.verdicts_on_all(program) if program else []
            known |= {key: verdict for key, verdict in zip(group, verdicts, strict=False) if verdict is not None}
    return known


def _key(exporter: str, resize: ExportedResize, call: Call) -> _Key:
    return (exporter, call.operation, str(call.arguments), str(resize.source.shape), str(resize.source.dtype))


def _verdicts(resize: ExportedResize, call: Call, known: dict[_Key, Verdict]) -> dict[str, Verdict]:
    """Return a verdict for each exporter; ``known`` are those of calls with the same arguments, to which it adds."""
    program = _alone(call)
    verdicts = {}
    for name, exporter in EXPORTERS.items():
        if not exporter.is_installed:
            continue
        key = _key(name, resize, call)
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


def _of_models(
    write: Callable[[ExportedProgram, Path], None], kind: FileKind, program: ExportedProgram
) -> Sequence[Verdict | None]:
    """Return the verdict on each resize of an exported model that computes what PyTorch does; None on the others.

    Nothing if the exporter refuses one, or writes only some as nodes: alone, each has its own reason.
    """
    arrays, _ = program.example_inputs
    with scratch() as folder:
        path = folder / f"resizes{kind.value}"
        try:
            with program_files.silent():
                write(program, path)
            operations = readers.load(path)
            # OpenVINO's frontend forgets the shapes of inputs.
            shapes = {tensor.name: tuple(array.shape) for tensor, array in zip(read(path).inputs, arrays, strict=True)}
            outputs = compare_with(path, program_files.function(program), Inputs(shapes=shapes)).outputs
        except Exception:  # whatever an exporter raises for an operation
            return []
    if len(operations) not in (0, len(outputs)):
        return []
    same = Verdict(kind=Kind.SAME, reason="" if operations else "as other operations")
    return [same if output.compared.passes else None for output in outputs]


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
        answer = ask(f"{__name__}:answer", [x.numpy()], (name, str(path.absolute())), process=name)
    failure = failed(answer)
    if failure is not None:
        return failure
    [expected], [actual] = program_files.function(program)(x.numpy()), answer
    return judged(compare("output", expected, actual))


def _of_files(title: str, write: Callable[[ExportedProgram, Path], None], kind: FileKind) -> Exporter:
    """Return an exporter that writes files which runtimes of this project run."""
    return Exporter(
        title=title, verdict=partial(_of_model, write, kind), verdicts_on_all=partial(_of_models, write, kind)
    )


DYNAMO = "torch-dynamo"
EXPORTERS: Mapping[str, Exporter] = {
    DYNAMO: _of_files("torch.onnx (dynamo)", _by_dynamo, FileKind.ONNX),
    "torch-script": _of_files("torch.onnx (TorchScript)", _by_torch_script, FileKind.ONNX),
    "openvino-pytorch": _of_files("OpenVINO's PyTorch frontend", _by_openvino, FileKind.IR),
    "executorch": Exporter(title="ExecuTorch", verdict=partial(_elsewhere, "executorch"), package="executorch"),
    "litert-torch": Exporter(
        title="LiteRT's converter", verdict=partial(_elsewhere, "litert-torch"), package="litert_torch"
    ),
    "coremltools": Exporter(title="coremltools", verdict=partial(_elsewhere, "coremltools"), package="coremltools"),
}
"""The exporters by name; one without its package is not asked."""


def _alone(*calls: Call) -> ExportedProgram | None:
    """Return a program of some operations side by side, their arguments as they are.

    None if some are computed at run time.
    """
    import torch
    from torch.fx import Graph, GraphModule, Node

    graph, inputs, outputs = Graph(), [], []
    for place, call in enumerate(calls):
        data, *rest = call.node.args
        if not isinstance(data, Node) or call.node.all_input_nodes != [data]:
            return None
        operation: Any = call.node.target
        image = graph.placeholder(f"x{place}")
        outputs.append(graph.call_function(operation, (image, *rest), dict(call.node.kwargs)))
        tensor = data.meta["val"]
        sizes = [DYNAMIC if size is None else size for size in program_files.static(tensor.shape)]
        x = torch.rand(sizes) if tensor.dtype.is_floating_point else torch.randint(0, 100, sizes)
        inputs.append(x.to(tensor.dtype))
    graph.output(tuple(outputs))
    with program_files.silent():
        return torch.export.export(GraphModule(torch.nn.Module(), graph), tuple(inputs))


def answer(arrays: Sequence[Array], setting: tuple[str, str]) -> Sequence[Array] | Verdict:
    """Return what an exported program computes of ``arrays``; a verdict if it is refused, or cannot run here.

    ``setting`` is the name of the exporter and the program's file.
    """
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    import torch

    name, path = setting
    try:
        return ANSWERS[name](torch.export.load(path), arrays)
    except Exception as error:  # whatever an exporter raises for an operation that it does not know
        return Verdict(kind=Kind.REFUSED, reason=reason(error))


def _in_executorch(program: ExportedProgram, arrays: Sequence[Array]) -> list[Array]:
    """Run a program in ExecuTorch's portable kernels."""
    import torch
    from executorch.exir import to_edge
    from executorch.runtime import Runtime

    exported = to_edge(program).to_executorch()
    method = Runtime.get().load_program(exported.buffer).load_method("forward")
    return [np.array(result) for result in method.execute([torch.from_numpy(array) for array in arrays])]


def _in_litert(program: ExportedProgram, arrays: Sequence[Array]) -> Sequence[Array]:
    import litert_torch
    import torch

    tensors = tuple(map(torch.from_numpy, arrays))
    with scratch() as folder:
        path = folder / "resize.tflite"
        litert_torch.convert(program.module(), tensors).export(str(path))
        return run_tflite(arrays, (str(path), False))


def _by_coremltools(program: ExportedProgram, arrays: Sequence[Array]) -> Verdict:
    """Return which operations are written; only systems of Apple run them."""
    import coremltools

    model = coremltools.convert(
        program.run_decompositions({}),
        convert_to="milinternal",
        minimum_deployment_target=coremltools.target.iOS17,
        compute_precision=coremltools.precision.FLOAT32,
    )
    (function,) = model.functions.values()
    written = [_described(operation) for operation in function.operations if operation.op_type != "const"]
    return Verdict(kind=Kind.UNKNOWN, reason=f"writes {', '.join(written)}, which Apple's systems alone run")


def _described(operation: Any) -> str:
    """Return an operation of Core ML with its settings."""
    values: dict[str, Any] = {name: getattr(value, "val", None) for name, value in operation.inputs.items()}
    settings = [
        f"{name}={value:g}" for name, value in sorted(values.items()) if np.ndim(value) == 0 and _is_number(value)
    ]
    return " ".join((operation.op_type, *settings))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)


ANSWERS: Mapping[str, Callable[[Any, Sequence[Array]], Sequence[Array] | Verdict]] = {
    "executorch": _in_executorch,
    "litert-torch": _in_litert,
    "coremltools": _by_coremltools,
}
