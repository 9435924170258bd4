"""Audit models: what every runtime makes of every resize, and what is likely a mistake."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.executor.resize import resize
from ir_interp.ir.model import Layer
from ir_interp.ir.resizes import layers
from ir_interp.kinds import MODELS, FileKind, expect
from ir_interp.memory import check_bytes, memory_refusal
from ir_interp.op import ResizeOp
from ir_interp.plan.geometry import plan
from ir_interp.rules import RULES, Rule, Severity
from ir_interp.scratch import scratch
from ir_interp.spec import Nearest

from ..forecasts import tensorrt
from ..forecasts.table import LAYER_RUNTIMES, RUNTIMES
from ..onnx import one_resize as onnx_model
from ..onnx.resizes import FoundNode
from ..openvino import one_resize as openvino_model
from ..openvino.one_layer import write_layer
from ..report import Progress, silent
from ..runtimes.outcome import Kind
from . import mistakes, probe, shapes
from .ranks import completed
from .verdicts import Verdict, judge, verdict

_CODE_OF_KIND = {Kind.CRASHES: "IRI021", Kind.REFUSED: "IRI022", Kind.DIFFERS: "IRI023"}
_IR_VERSION = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that a resize breaks, and where; a verdict has a ``runtime``. ``severity`` is the rule's by default."""

    code: str
    message: str
    file: str
    where: str
    runtime: str | None = None
    severity: Severity

    @property
    def rule(self) -> Rule:
        """What the code means."""
        return RULES[self.code]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A resize with its verdict for each runtime: as forecast, and as seen where the installed one was run.

    ``ran`` says on which shape, or why it was not; nothing where that was not asked for.
    """

    file: str
    op: ResizeOp
    forecast: Mapping[str, Verdict]
    seen: Mapping[str, Verdict] = field(default_factory=dict)
    mistakes: tuple[tuple[str, str], ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    ran: str = ""

    @property
    def name(self) -> str:
        """What its file is called, and its name, or else its place there."""
        return f"{self.label or Path(self.file).name}: {self.op.name or self.op.where}"

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What was seen, else what was forecast; a rule that was right knows the reason better than the runtime."""
        agreeing = {name: each for name, each in self.seen.items() if each.kind is self.forecast[name].kind}
        reasons = {name: self.forecast[name].reason or each.reason for name, each in agreeing.items()}
        return {
            **self.forecast,
            **self.seen,
            **{name: replace(each, reason=reasons[name]) for name, each in agreeing.items()},
        }

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything to tell about it that nobody has to ask for."""
        diagnostics = ((each.code, each.message) for each in self.op.diagnostics)
        found = (self._finding(*each) for each in (*diagnostics, *self.mistakes))
        return (*found, *self._bad_verdicts(), *self._wrong_forecasts())

    def _bad_verdicts(self) -> Iterator[Finding]:
        for name, each in self.verdicts.items():
            if each.kind in _CODE_OF_KIND:
                yield self._finding(_CODE_OF_KIND[each.kind], f"{self.titles.get(name, name)}: {each}", name)

    def _wrong_forecasts(self) -> Iterator[Finding]:
        for name, each in self.seen.items():
            if each.kind is not self.forecast[name].kind:
                text = f"{self.titles.get(name, name)}: forecast {self.forecast[name]}; seen {each}"
                yield self._finding("IRI024", text, name)

    @property
    def on_request(self) -> tuple[Finding, ...]:
        """What matters to few: what keeps it off TensorRT's DLA."""
        return tuple(self._finding(*each) for each in self.remarks)

    def _finding(self, code: str, message: str, runtime: str | None = None) -> Finding:
        severity, where = RULES[code].severity, self.op.where
        return Finding(code=code, message=message, file=self.file, where=where, runtime=runtime, severity=severity)


def by_runtimes(rows: Sequence[Audited]) -> Iterator[list[Audited]]:
    """Yield the resizes that the same runtimes were asked about: those of ONNX models, those of IRs."""
    for titles in dict.fromkeys(tuple(row.titles.items()) for row in rows):
        yield [row for row in rows if tuple(row.titles.items()) == titles]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A resize, and its node of an ONNX model or its layer of an IR."""

    file: Path
    op: ResizeOp
    mistakes: tuple[tuple[str, str], ...]
    remarks: tuple[tuple[str, str], ...]
    node: FoundNode | None = None
    layer: Layer | None = None


def models(paths: Iterable[Path]) -> list[Path]:
    """Return files as they are, and every .onnx and .xml in folders. Raises ReadError where there is nothing."""
    found: list[Path] = []
    for path in paths:
        if str(path) == "-":
            raise ReadError("standard input is not read; expected names of models, or of folders", "-")
        if not path.exists():
            raise ReadError("cannot be read: No such file or directory", str(path))
        inside = sorted(each for each in path.rglob("*") if FileKind.of(each) in MODELS)
        found += inside if path.is_dir() else [path]
    return found


def audit(
    paths: Sequence[Path],
    *,
    run: bool = False,
    runtimes: Sequence[str] | None = None,
    lengths: shapes.Shapes | None = None,
    progress: Progress = silent,
) -> tuple[list[Audited], list[ReadError]]:
    """Return every resize of some models with its verdicts, and the files that cannot be read.

    ``runtimes`` chooses some by their names in ``RUNTIMES``. With ``run`` those that are installed are run as well,
    in a child process, where the shape of a resize is known. ``lengths`` are those of inputs, by name.
    """
    found: list[_Found] = []
    audited: list[Audited] = []
    errors: list[ReadError] = []
    for number, path in enumerate(paths):
        progress(f"reading {path.name}", number, len(paths))
        try:
            inside = list(_found(path, shapes.chosen(path, lengths or {})))
            audited += [_audited(each, runtimes) for each in inside]
            found += inside
        except ReadError as error:
            errors.append(error)
        except IrInterpError as error:
            errors.append(ReadError(str(error), path.name))
        except MemoryError as error:
            errors.append(ReadError(memory_refusal(error), path.name))
    return (_seen(found, audited, progress) if run else audited), errors


def _found(path: Path, lengths: shapes.Shapes) -> Iterator[_Found]:
    if expect(path, *MODELS) is FileKind.ONNX:
        for node in completed(path, shapes.nodes(path, lengths)):
            dla = tensorrt.remarks(node.op)
            yield _Found(file=path, op=node.op, node=node, mistakes=tuple(mistakes.of_node(node)), remarks=dla)
    else:
        with shapes.reshaped(path, lengths) as reshaped:
            for net, layer, op in layers(reshaped):
                dla, likely = tensorrt.layer_remarks(op), tuple(mistakes.of_layer(net, layer, op))
                yield _Found(file=path, op=op, layer=layer, mistakes=likely, remarks=dla)


def _audited(found: _Found, chosen: Sequence[str] | None) -> Audited:
    verdicts, titles = {}, {}
    for name, runtime in (RUNTIMES if found.node else LAYER_RUNTIMES).items():
        if chosen is None or name in chosen:
            other = runtime.among_others(found.node) if found.node else None
            verdicts[name] = judge(found.op, other or runtime.forecast(found.op))
            titles[name] = runtime.title
    return Audited(
        file=str(found.file),
        op=found.op,
        forecast=verdicts,
        mistakes=found.mistakes,
        remarks=found.remarks,
        titles=titles,
    )


# What installed runtimes do


def _seen(found: Sequence[_Found], audited: Sequence[Audited], progress: Progress) -> list[Audited]:
    """Run what can be run, all in as few processes as possible."""
    with scratch() as folder:
        jobs = [
            (place, name, job)
            for place, (each, row) in enumerate(zip(found, audited, strict=True))
            for name, job in _jobs(each, row, folder / str(place))
        ]
        jobs.sort(
            key=lambda each: audited[each[0]].forecast[each[1]].kind is Kind.CRASHES
        )  # they may harm what follows
        answers = probe.run([job for _, _, job in jobs], progress)
        seen: list[dict[str, Verdict]] = [{} for _ in audited]
        for (place, name, job), answer in zip(jobs, answers, strict=True):
            seen[place][name] = _judged(audited[place], answer, np.load(job.array))
    told = [shapes.ran(row.op, was_run=bool(those)) for row, those in zip(audited, seen, strict=True)]
    return [replace(row, seen=those, ran=ran) for row, those, ran in zip(audited, seen, told, strict=True)]


def _jobs(found: _Found, row: Audited, folder: Path) -> Iterator[tuple[str, probe.Job]]:
    """Yield what to run a resize in: as it stands in its file, and as this program converts it."""
    folder.mkdir()
    if not _written(found, folder):
        return
    np.save(folder / "x.npy", _values(found.op))
    for name in row.forecast:
        path = _model(found, name, folder)
        if path is not None:
            yield name, probe.Job(runtime=name, model=str(path), array=str(folder / "x.npy"))


def _written(found: _Found, folder: Path) -> bool:
    """Write a resize as it stands in its file; say whether everything in it is known, and small enough to be run."""
    if found.op.spec.waits or not _is_small(found.op):
        return False
    if found.layer is not None:
        return write_layer(found.op, found.layer.attributes, folder / "own.xml")
    model = single(found.node) if found.node else None
    if model is not None:
        onnx.save(model, folder / "own.onnx")
    return model is not None


def _model(found: _Found, runtime: str, folder: Path) -> Path | None:
    """Return the model that a runtime is to run; None where it is not installed, or that would show nothing."""
    if runtime not in probe.INSTALLED:
        return None
    if found.node is not None and RUNTIMES[runtime].among_others(found.node):  # a node alone does not show it
        return None
    if found.node is not None and runtime != "openvino-converted":
        return folder / "own.onnx"
    if found.layer is not None and runtime == "openvino":
        return folder / "own.xml"
    path = folder / ("converted.xml" if found.node else "converted.onnx")
    try:
        (openvino_model.write_resize if found.node else onnx_model.write_resize)(found.op, path)
    except IrInterpError:
        return None
    return path


def single(node: FoundNode) -> onnx.ModelProto | None:
    """Return a model of a node as it stands, its sizes and the like as constants; None where run time decides some."""
    op = node.op
    if op.shape is None or None in op.shape or op.dtype in (None, "bfloat16", "str"):
        return None
    copy = onnx.NodeProto()
    copy.CopyFrom(node.node)
    constants = []
    for name in dict.fromkeys(name for name in copy.input[1:] if name):
        value = node.values.value(name)
        if value is None:
            return None
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(op.dtype or "float32"))
    x = helper.make_tensor_value_info(copy.input[0], element, op.shape)
    y = helper.make_tensor_value_info(copy.output[0], element, [None] * len(op.shape))
    graph = helper.make_graph([copy], "resize", [x], [y], constants)
    opset = helper.make_opsetid("", node.values.opset)
    return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)


def _is_small(op: ResizeOp) -> bool:
    """Say whether a resize can be run in this process: its input and its output are no larger than the bound."""
    try:
        shape = tuple(length or 1 for length in op.shape or ())
        padded = (length or 1 for length in op.spec.padded(shape))
        ends = (tuple(padded), plan(op.spec, shape).out_shape)
        check_bytes(_BYTES_AN_ELEMENT * max(map(math.prod, ends)), op.where)
    except SpecError:
        return False
    return True


def _values(op: ResizeOp) -> NDArray[Any]:
    """Return random values, those of integers from a pixel."""
    shape = tuple(length or 1 for length in op.shape or ())
    rng, dtype = np.random.default_rng(0), np.dtype(op.dtype or "float32")
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    lowest = -_BRIGHTEST if dtype == np.int8 else 0
    return rng.integers(lowest, 2 if dtype.kind == "b" else _BRIGHTEST, shape).astype(dtype)


def _judged(row: Audited, answer: probe.Ran, x: NDArray[Any]) -> Verdict:
    if answer.crash:
        return Verdict(kind=Kind.CRASHES, reason=answer.crash)
    if answer.output is None:
        return Verdict(kind=Kind.REFUSED, reason=_plain(answer.refusal))
    wanted, is_copy = resize(x, row.op.spec), isinstance(row.op.spec.kernel, Nearest)
    if x.dtype.kind in "iu":  # they may be rounded in either way
        return verdict(wanted, answer.output, is_copy=is_copy, scale=_BRIGHTEST, tolerance=1 / _BRIGHTEST)
    return verdict(wanted, answer.output, is_copy=is_copy)


def _plain(refusal: str) -> str:
    """Return what a runtime says, without the places in its source, cut short."""
    return re.sub(r"(Exception from|Check '[^']*' failed at) [\w/.-]+:\d+:\s*", "", refusal)[:_LONGEST]


_BYTES_AN_ELEMENT = 16  # in this process and in the one that runs it: as it is, and as float64
_LONGEST = 160  # of what a runtime says
_BRIGHTEST = 100  # of the integers that a resize is run on
