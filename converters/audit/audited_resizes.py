"""The resizes of a file as an audit sees them: with their surroundings, verdicts and findings.

Input shapes may be chosen. A finding is what the user should know; the last record has all of one resize.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import onnx

from ir_interp.diagnostic_codes import CONSTANT_SIZES, EXCEPTION, RULES, UNREAD, Rule, Severity
from ir_interp.errors import IrInterpError, ReadError, closest
from ir_interp.files.kinds import FOREIGN, MODELS, FileKind, expect
from ir_interp.files.writing import scratch
from ir_interp.ir.interpolates import known_layers
from ir_interp.ir.ir_files import Layer, Net
from ir_interp.plain_text import quote_shell
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp, shape_text

from .. import predictions
from ..onnx.onnx_files import functions_of, inlined, read_outline
from ..onnx.resize_nodes import ResizeNode, UnreadNode, known_nodes
from ..predictions import completed
from ..runtimes.execution import save_model
from ..runtimes.openvino_layers import rounded_before
from ..runtimes.outcome import Kind, Rounded
from ..sources.model_summary import brief
from ..sources.readers import load, part, reading
from ..verify.graphs import ModelInput, dimensions_text, read
from ..verify.input_shapes import fits, named
from . import constant_sizes, mistakes
from .constant_sizes import ConstantSizes
from .invalid_nodes import Meaning, meaning
from .verdicts import Verdict

Shapes = Mapping[str, tuple[int, ...]]


def chosen(path: Path, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Return the chosen shapes of a model's inputs. Raises ReadError for a shape that an input cannot have."""
    if not shapes:
        return {}
    inputs = read(path).inputs
    by_name = named(inputs, shapes)
    return {tensor.name: _fitting(tensor, by_name[tensor.name], path) for tensor in inputs if tensor.name in by_name}


def _fitting(tensor: ModelInput, shape: tuple[int, ...], path: Path) -> tuple[int, ...]:
    if fits(shape, tensor.lengths):
        return shape
    raise ReadError(f"shape {list(shape)} does not fit; {tensor.text}", path.name)


def chosen_nodes(path: Path, shapes: Shapes) -> tuple[list[ResizeNode], list[Unread], Mapping[str, ConstantSizes]]:
    """Return the resizes of an ONNX model whose inputs have the chosen shapes, and those that cannot be read.

    Last, by place, those whose constant sizes are a mistake in a model of dynamic size.
    """
    outline = read_outline(path)
    stated, functions = inlined(outline, path.name), functions_of(outline)
    if not shapes:
        resizes, unread = known_nodes(stated, path)
        constants = constant_sizes.of_nodes(stated, path, resizes)
        return [replace(node, functions=functions) for node in resizes], _invalid(unread, stated), constants
    model = onnx.ModelProto()
    model.CopyFrom(stated)
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False):
            dim.dim_value = size
    del model.graph.value_info[:]  # shapes that an exporter recorded for the dynamic model
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    before = {node.op.where: node.op for node in known_nodes(stated, path)[0]}
    resizes, unread = known_nodes(model, path)
    with_shapes = [replace(node, dynamic=before.get(node.op.where), functions=functions) for node in resizes]
    return with_shapes, _invalid(unread, model), {}


def _invalid(unread: Sequence[UnreadNode], model: onnx.ModelProto) -> list[Unread]:
    """Return the nodes of a model that cannot be read, each with its only meaning if it has one."""
    return [
        Unread(name=node.name, where=node.where, error=node.error, node=node, meaning=meaning(node, model, unread))
        for node in unread
    ]


@contextmanager
def reshaped_model(path: Path, shapes: Shapes) -> Iterator[Path]:
    """Yield an IR of the same name whose inputs have the chosen shapes; the file itself if there are none."""
    if FileKind.of(path) is not FileKind.IR or not shapes:
        yield path
        return
    from ..openvino.ir_save import read_ir

    with scratch() as folder:
        model = read_ir(path)
        try:
            model.reshape({name: list(shape) for name, shape in shapes.items()})
        except RuntimeError:  # OpenVINO's text holds C++ and places in its source
            listed = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
            raise ReadError(f"OpenVINO cannot reshape it to {listed}", path.name) from None
        save_model(model, folder / path.name)
        yield folder / path.name


def ran(op: ResizeOp, *, was_run: bool) -> str:
    """Return the shape on which a resize was run, or why it was not."""
    if was_run:
        return f"ran on {shape_text(op.shape)}"
    if op.shape is None:
        return "not run: the rank of its input is unknown"
    if None in op.shape:
        return f"not run: its input is {dimensions_text(op.shape)}, choose sizes for its dynamic dimensions"
    return "not run: an input is known only at run time, its element type is not run, or no such runtime is installed"


def _names(path: Path) -> list[str]:
    """Return the names of the inputs of a model; conversions of foreign ones keep them."""
    foreign = brief(path) if FileKind.of(path) in FOREIGN else None
    return [tensor.name for tensor in (foreign or read(path)).inputs]


def check(paths: list[Path], shapes: Shapes) -> None:
    """Raise IrInterpError for a name that no input of any model has."""
    inputs: dict[str, None] = {}
    for path in paths:
        try:
            inputs |= dict.fromkeys(_names(path))
        except IrInterpError:
            continue
    for name in filter(None, shapes):
        if name not in inputs:
            raise IrInterpError(f"no input {name!r}; {closest(name, inputs)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A resize, and its node in an ONNX model or its layer in an IR.

    ``rounded`` are the FakeQuantize layers in front of a layer. One of a program has what its ``exporters`` make of it.
    """

    file: Path
    op: ResizeOp
    mistakes: tuple[tuple[str, str], ...]
    remarks: tuple[tuple[str, str], ...]
    node: ResizeNode | None = None
    layer: Layer | None = None
    rounded: tuple[Rounded, ...] = ()
    exporters: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A resize that cannot be read, and why; one of an ONNX model has its ``node``, and its only meaning if any."""

    name: str
    where: str
    error: ReadError
    node: UnreadNode | None = None
    meaning: Meaning | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """The resizes of a file, and those that cannot be read."""

    resizes: list[Found]
    unread: list[Unread] = field(default_factory=list)


def of_file(path: Path, shapes: Shapes, *, asks_exporters: bool = False) -> Inside:
    """Return the resizes of a file, its inputs in these shapes; those of a program as PyTorch exports them.

    With ``asks_exporters``, each resize of another framework's model is exported alone. Raises ReadError for an
    unreadable file, and for a shape that an input cannot have.
    """
    framework = part(FileKind.of(path), "exporters")
    if framework is None:
        return found(path, chosen(path, shapes))
    if hasattr(framework, "audited"):  # PyTorch's, in which an exported model decides
        inside: Inside = framework.audited(path, shapes, asks_exporters=asks_exporters)
        return inside
    if shapes:
        command = quote_shell("ir-interp", "convert", str(path), f"{path.stem}.onnx")
        raise ReadError(
            f"--shape is for ONNX models, IRs and programs of PyTorch; run `{command}` and audit the result", path.name
        )
    plain = _of_framework(path)
    if not asks_exporters:
        return plain
    return replace(plain, resizes=[_asked(*pair) for pair in zip(plain.resizes, framework.verdicts(path), strict=True)])


def _of_framework(path: Path) -> Inside:
    """Return the resizes of a model of another framework, and those that cannot be read."""
    declared = reading(FileKind.of(path))
    ops, others = declared.known(path) if declared and declared.known else (load(path), [])
    constants = constant_sizes.of_layers(path, ops) if FileKind.of(path) is FileKind.TFLITE else {}
    likely = [_with(constants, op.name, mistakes.of_resize(op)) for op in ops]
    return Inside(
        resizes=[Found(file=path, op=op, mistakes=known, remarks=()) for op, known in zip(ops, likely, strict=True)],
        unread=[Unread(name=name, where=error.where, error=error) for name, error in others],
    )


def _with(
    constants: Mapping[str, ConstantSizes], key: str | None, likely: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Return the likely mistakes of a resize, its constant sizes among them if they are one."""
    mistake = constants.get(key or "")
    return (*likely, *(((CONSTANT_SIZES, mistake.message),) if mistake else ()))


def _asked(resize: Found, verdicts: Mapping[str, Verdict]) -> Found:
    """Return a resize with the verdicts of its exporters."""
    by_release = {name: with_releases(name, resize.op, verdict) for name, verdict in verdicts.items()}
    return replace(resize, exporters=by_release)


def with_releases(exporter: str, op: ResizeOp, verdict: Verdict) -> Verdict:
    """Return the verdict of an installed exporter on a resize, with those of earlier releases that differ."""
    return replace(verdict, reason="; ".join(filter(None, (verdict.reason, mistakes.earlier(exporter, op)))))


def found(path: Path, shapes: Shapes) -> Inside:
    """Return the resizes of a model whose inputs have the given shapes. Raises ReadError if it cannot be read."""
    if expect(path, *MODELS, *FOREIGN) is FileKind.ONNX:
        nodes, unread, constants = chosen_nodes(path, shapes)
        return Inside(resizes=[_of_node(path, node, constants) for node in completed(path, nodes)], unread=unread)
    with reshaped_model(path, shapes) as reshaped:
        known, others = known_layers(reshaped)
        ops = [op for _, _, op in known]
        is_as_it_stands = not shapes and FileKind.of(path) is FileKind.IR
        constants = constant_sizes.of_layers(path, ops) if is_as_it_stands else {}
        return Inside(
            resizes=[_of_layer(path, *layer, constants=constants) for layer in known],
            unread=[Unread(name=layer.name, where=layer.where, error=error) for layer, error in others],
        )


def _of_node(path: Path, node: ResizeNode, constants: Mapping[str, ConstantSizes]) -> Found:
    likely = _with(constants, node.op.where, mistakes.of_node(node))
    return Found(file=path, op=node.op, node=node, mistakes=likely, remarks=predictions.remarks(node.op))


def _of_layer(path: Path, net: Net, layer: Layer, op: ResizeOp, *, constants: Mapping[str, ConstantSizes]) -> Found:
    return Found(
        file=path,
        op=op,
        layer=layer,
        rounded=rounded_before(net, layer),
        mistakes=_with(constants, op.name, mistakes.of_layer(net, layer, op)),
        remarks=predictions.layer_remarks(op),
    )


_CODE_OF_KIND = {Kind.CRASHES: "IRI021", Kind.REFUSED: "IRI022", Kind.DIFFERS: "IRI023", Kind.UNKNOWN: "IRI025"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Record):
    """A rule that a resize breaks, and where; a verdict has a ``runtime``. ``severity`` defaults to the rule's.

    ``resize`` is the name of the resize, and ``meaning`` its formula; both are empty for a finding about a whole file.
    ``trained`` is the preprocessing that the model was trained with, where that is what differs. ``is_repairable``
    means that ``fix`` repairs this one, where it does not repair every finding of the code.
    """

    KEYS = ("code", "severity", "runtime", "file", "where", "message")

    code: str
    message: str
    file: str
    where: str
    runtime: str | None = None
    severity: Severity
    resize: str = ""
    meaning: str = ""
    trained: str = ""
    is_repairable: bool = False

    @property
    def rule(self) -> Rule:
        """The meaning of the code."""
        return RULES[self.code]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Record):
    """A verdict beside its prediction; ``run`` is whether it was observed."""

    KEYS = ("verdict.kind as verdict", "verdict.reason", "verdict.difference", "prediction", "run")

    verdict: Verdict
    prediction: Kind
    run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited(Record):
    """A resize with its verdict for each runtime: predicted, and observed if the installed runtime was run.

    ``ran`` is the shape on which it ran, or why it did not; empty if no run was requested.
    """

    KEYS = (
        "file",
        "op.name",
        "op.where",
        "op.spec.resized_to as target",
        "op.formula",
        "error",
        "judged as verdicts",
    )

    file: str
    op: ResizeOp
    predictions: Mapping[str, Verdict]
    seen: Mapping[str, Verdict] = field(default_factory=dict)
    mistakes: tuple[tuple[str, str], ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    ran: str = ""

    @property
    def name(self) -> str:
        """The name of its file, and its own name, or else its place in the file."""
        return f"{self.label or Path(self.file).name}: {self.op.name or self.op.where}"

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The observed verdict, else the predicted one; a correct rule knows the reason better than the runtime."""
        agreeing = {name: verdict for name, verdict in self.seen.items() if verdict.kind is self.predictions[name].kind}
        reasons = {name: self.predictions[name].reason or verdict.reason for name, verdict in agreeing.items()}
        return {
            **self.predictions,
            **self.seen,
            **{name: replace(verdict, reason=reasons[name]) for name, verdict in agreeing.items()},
        }

    @property
    def judged(self) -> dict[str, Judged]:
        """The verdicts beside their predictions."""
        return {
            name: Judged(verdict=verdict, prediction=self.predictions[name].kind, run=name in self.seen)
            for name, verdict in self.verdicts.items()
        }

    @property
    def error(self) -> str:
        """Empty, since it could be read."""
        return ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings that are reported without being asked for."""
        diagnostics = ((diagnostic.code, diagnostic.message) for diagnostic in self.op.diagnostics)
        findings = (self._finding(*diagnostic) for diagnostic in (*diagnostics, *self.mistakes))
        return (*findings, *self._bad_verdicts(), *self._exceptions(), *self._wrong_predictions())

    def _bad_verdicts(self) -> Iterator[Finding]:
        for name, verdict in self.verdicts.items():
            if verdict.kind in _CODE_OF_KIND:
                yield self._finding(_CODE_OF_KIND[verdict.kind], f"{self.titles.get(name, name)}: {verdict}", name)

    def _exceptions(self) -> Iterator[Finding]:
        for name, verdict in self.predictions.items():
            if verdict.kind is Kind.SAME and verdict.but_for:
                text = f"{self.titles.get(name, name)}: {verdict.kind.value} except for {verdict.but_for}"
                yield self._finding(EXCEPTION, text, name)

    def _wrong_predictions(self) -> Iterator[Finding]:
        for name, verdict in self.seen.items():
            if self.predictions[name].kind not in (Kind.UNKNOWN, verdict.kind):
                text = f"{self.titles.get(name, name)}: predicted {self.predictions[name]}; observed {verdict}"
                yield self._finding("IRI024", text, name)

    @property
    def on_request(self) -> tuple[Finding, ...]:
        """Findings that matter to few users: reasons why it cannot run on TensorRT's DLA."""
        return tuple(self._finding(*remark) for remark in self.remarks)

    def _finding(self, code: str, message: str, runtime: str | None = None) -> Finding:
        severity, where = RULES[code].severity, self.op.where
        return Finding(
            code=code,
            message=message,
            file=self.file,
            where=where,
            runtime=runtime,
            severity=severity,
            resize=self.op.name,
            meaning=self.op.formula,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadResize(Record):
    """A resize that cannot be read, and why: a row of an audit whose verdicts are unknown, unless runtimes were run.

    ``changes`` are what ``fix`` does to it; empty if it may mean several things, or nothing.
    """

    KEYS = (
        "file",
        "resize as name",
        "where",
        "unknown as target",
        "unknown as formula",
        "problem as error",
        "judged as verdicts",
    )

    file: str
    resize: str
    where: str
    problem: str
    changes: tuple[str, ...] = ()
    seen: Mapping[str, Verdict] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """The name of its file, and its own name, or else its place in the file."""
        return f"{self.label or Path(self.file).name}: {self.resize or self.where}"

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The observed verdict of each runtime, else an unknown one."""
        unknown = Verdict(kind=Kind.UNKNOWN, reason=f"it cannot be read: {self.problem}")
        return dict.fromkeys(self.titles, unknown) | dict(self.seen)

    @property
    def judged(self) -> dict[str, Judged]:
        """The verdicts beside their predictions, which are unknown."""
        return {
            name: Judged(verdict=verdict, prediction=Kind.UNKNOWN, run=name in self.seen)
            for name, verdict in self.verdicts.items()
        }

    @property
    def unknown(self) -> str:
        """Empty: only reading it would show this."""
        return ""

    @property
    def finding(self) -> Finding:
        """The one finding about it."""
        rule = RULES[UNREAD]
        return Finding(
            code=rule.code,
            message=f"the resize cannot be read: {self.problem}",
            file=self.file,
            where=self.where,
            severity=rule.severity,
            resize=self.resize,
            is_repairable=bool(self.changes),
        )


def by_runtimes(rows: Sequence[Audited]) -> Iterator[list[Audited]]:
    """Yield the resizes that share their set of runtimes: those of ONNX models, those of IRs."""
    for titles in dict.fromkeys(tuple(row.titles.items()) for row in rows):
        yield [row for row in rows if tuple(row.titles.items()) == titles]
