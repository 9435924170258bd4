"""Audit models: how every runtime computes each resize, and which resizes are likely mistakes.

An error of one file has its place among the results, so that no file ends an audit. In installed runtimes, each resize
runs as it stands in its file, and as this program converts it. Processes share the files.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from ir_interp.errors import InexactError, IrInterpError, ReadError, SpecError, leaves
from ir_interp.executor.resize import resize as resized
from ir_interp.files.kinds import IN_FOLDERS, FileKind, listed, opened
from ir_interp.files.memory import check_bytes, unforeseen
from ir_interp.files.writing import exists, real, scratch
from ir_interp.ir.ir_files import is_foreign
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, static_shape
from ir_interp.specs import Nearest

from .. import qnn_placement, tensorrt_importer, workers
from ..onnx import resize_form as onnx_model
from ..onnx.resize_nodes import alone, single
from ..openvino import ir_save as openvino_model
from ..openvino.ir_save import write_layer
from ..predictions import RUNTIMES, Predictor, runtimes_for
from ..reports import Progress, silent
from ..runtimes.outcome import Kind, Outcome
from ..runtimes.runtime import runtimes
from ..sources.readers import model_file, part
from ..verify import tolerances
from . import audited_resizes, probe, whole_models
from .audited_resizes import Audited, Finding, Found, Shapes, Unread, UnreadResize, of_file
from .verdicts import BRIGHTEST, Verdict, judge, verdict


@contextmanager
def noted(errors: list[ReadError], where: str) -> Iterator[None]:
    """Add any exception raised inside to ``errors``, under ``where`` if it names no place itself."""
    try:
        yield
    except Exception as error:
        errors += [_mishap(leaf, where) for leaf in leaves(error)]


def _mishap(error: BaseException, where: str) -> ReadError:
    if isinstance(error, ReadError):
        return error
    if isinstance(error, IrInterpError):
        return ReadError(str(error), where)
    return ReadError(unforeseen(error), where)


_BYTES_AN_ELEMENT = 16  # in this process and in the one that runs it: as it is, and as float64
_LONGEST = 160  # of a runtime's error text
_HARMFUL = (Kind.CRASHES, Kind.UNKNOWN)
_WANTED = "wanted.npy"


def seen(
    candidates: Sequence[Found], audited: Sequence[Audited], errors: list[ReadError], progress: Progress
) -> list[Audited]:
    """Return resizes with the outcomes of running those that can be run, in as few processes as possible.

    Errors of one of them are added to ``errors``.
    """
    with scratch() as folder:
        jobs: list[tuple[int, str, probe.Job]] = []
        for place, (candidate, row) in enumerate(zip(candidates, audited, strict=True)):
            with noted(errors, row.op.where):
                jobs += [(place, name, job) for name, job in _jobs(candidate, row, folder / str(place))]
        # Last those that may harm the ones after them.
        jobs.sort(key=lambda job: audited[job[0]].predictions[job[1]].kind in _HARMFUL)
        answers = probe.run([job for _, _, job in jobs], progress)
        verdicts: list[dict[str, Verdict]] = [{} for _ in audited]
        for (place, name, _), answer in zip(jobs, answers, strict=True):
            if answer.lacks:
                continue
            with noted(errors, audited[place].op.where):
                verdicts[place][name] = _judged(audited[place].op, answer, folder / str(place))
    texts = [audited_resizes.ran(row.op, was_run=bool(those)) for row, those in zip(audited, verdicts, strict=True)]
    return [replace(row, seen=those, ran=ran) for row, those, ran in zip(audited, verdicts, texts, strict=True)]


def seen_invalid(invalid: Sequence[Unread], rows: Sequence[UnreadResize], progress: Progress) -> list[UnreadResize]:
    """Return resizes that cannot be read with what installed runtimes do with them, as they stand in their files."""
    with scratch() as folder:
        jobs: list[tuple[int, probe.Job]] = []
        for place, (resize, row) in enumerate(zip(invalid, rows, strict=True)):
            jobs += [(place, job) for job in _invalid_jobs(resize, row, folder / str(place))]
        # Any of them may end its process.
        answers = probe.run([job for _, job in jobs], progress)
        seen: list[dict[str, Verdict]] = [{} for _ in rows]
        for (place, job), answer in zip(jobs, answers, strict=True):
            if not answer.lacks:
                seen[place][job.runtime] = _judged_invalid(invalid[place], answer, folder / str(place))
    return [replace(row, seen=those) for row, those in zip(rows, seen, strict=True)]


def _invalid_jobs(resize: Unread, row: UnreadResize, folder: Path) -> Iterator[probe.Job]:
    """Yield the installed runtimes of ONNX models for a node that cannot be read, if its inputs are known."""
    node = resize.node
    if node is None or not node.node.input:
        return
    try:
        shape = static_shape(node.values.shape(node.node.input[0]))
        model = alone(node.node, node.values, node.values.dtype(node.node.input[0]), shape or ())
        if shape is None or model is None:
            return
        check_bytes(_BYTES_AN_ELEMENT * math.prod(shape), resize.where)
    except IrInterpError:
        return
    folder.mkdir()
    onnx.save(model, folder / "own.onnx")
    x = _random(shape, node.values.dtype(node.node.input[0]))
    np.save(folder / "x.npy", x)
    if resize.meaning is not None and _is_small(resize.meaning.op):
        np.save(folder / _WANTED, resized(x, resize.meaning.op.spec))
    for name in row.titles:
        if name in probe.INSTALLED and name in probe.RUNNERS:
            yield probe.Job(runtime=name, model=str(folder / "own.onnx"), array=str(folder / "x.npy"))


def _judged_invalid(resize: Unread, answer: probe.Ran, folder: Path) -> Verdict:
    """Return the verdict of a run: as for any resize if there is one meaning, else whether the runtime runs it."""
    if resize.meaning is not None and exists(folder / _WANTED):
        return _judged(resize.meaning.op, answer, folder)
    if answer.crash:
        return Verdict(kind=Kind.CRASHES, reason=answer.crash)
    if answer.output is None:
        return Verdict(kind=Kind.REFUSED, reason=_plain(answer.refusal))
    return Verdict(kind=Kind.UNKNOWN, reason=f"it runs, and gives shape {list(answer.output.shape)}")


def _jobs(candidate: Found, row: Audited, folder: Path) -> Iterator[tuple[str, probe.Job]]:
    """Yield the runtimes for a resize: as it stands in its file, and as this program converts it."""
    folder.mkdir()
    if not _written(candidate, folder):
        return
    x = _values(candidate.op)
    try:
        expected = resized(x, candidate.op.spec)
    except SpecError:  # strings and complex numbers are copied, but not averaged
        return
    np.save(folder / "x.npy", x)
    np.save(folder / _WANTED, expected)
    for name in row.predictions:
        path = _model(candidate, name, folder)
        if path is not None:
            yield name, probe.Job(runtime=name, model=str(path), array=str(folder / "x.npy"))


def _written(candidate: Found, folder: Path) -> bool:
    """Write a resize as it stands in its file; return whether everything in it is known, and small enough to run."""
    if candidate.op.spec.waits or not _is_small(candidate.op):
        return False
    if candidate.op.dialect == "tflite":
        return _written_operator(candidate.op, folder / "own.tflite")
    if candidate.layer is not None:
        return write_layer(candidate.op, candidate.layer.attributes, folder / "own.xml")
    model = single(candidate.node) if candidate.node else None
    if model is not None:
        onnx.save(model, folder / "own.onnx")
    return model is not None


def _written_operator(op: ResizeOp, path: Path) -> bool:
    tflite = part(FileKind.TFLITE, "conversion")
    assert tflite is not None
    try:
        tflite.write_resize(op, path)
    except InexactError:
        return False
    return True


def _model(candidate: Found, runtime: str, folder: Path) -> Path | None:
    """Return the model that a runtime is to run; None if it is not installed, or the run would prove nothing."""
    if runtime not in probe.INSTALLED:
        return None
    node = candidate.node
    if node is not None and RUNTIMES[runtime].among_others(node):  # a node alone would differ from this
        return None
    if node is not None and runtime != "openvino-converted":
        return folder / "own.onnx"
    known = runtimes().get(runtime)
    if known and candidate.layer is not None and known.of_layer:
        return folder / "own.xml"
    if known and candidate.layer is None and known.of_operator:
        return folder / "own.tflite"
    for_openvino = runtime.startswith("openvino")
    path = folder / ("converted.xml" if for_openvino else "converted.onnx")
    try:
        (openvino_model.write_resize if for_openvino else onnx_model.write_resize)(candidate.op, path)
    except IrInterpError:
        return None
    return path


def _is_small(op: ResizeOp) -> bool:
    """Return whether a resize can be run in this process: input and output are within the bound."""
    try:
        shape = tuple(size or 1 for size in op.shape or ())
        padded = (size or 1 for size in op.spec.padded(shape))
        ends = (tuple(padded), plan(op.spec, shape).out_shape)
        check_bytes(_BYTES_AN_ELEMENT * max(map(math.prod, ends)), op.where)
    except SpecError:
        return False
    return True


def _values(op: ResizeOp) -> Array:
    return _random(tuple(size or 1 for size in op.shape or ()), op.dtype)


def _random(shape: tuple[int, ...], element: str | None) -> Array:
    """Return random values; integers have the range of pixels."""
    rng, dtype = np.random.default_rng(0), np.dtype(element or "float32")
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    lowest = -BRIGHTEST if dtype == np.int8 else 0
    return rng.integers(lowest, 2 if dtype.kind == "b" else BRIGHTEST, shape).astype(dtype)


def _judged(op: ResizeOp, answer: probe.Ran, folder: Path) -> Verdict:
    if answer.crash:
        return Verdict(kind=Kind.CRASHES, reason=answer.crash)
    if answer.output is None:
        return Verdict(kind=Kind.REFUSED, reason=_plain(answer.refusal))
    expected, is_copy = np.load(folder / _WANTED), isinstance(op.spec.kernel, Nearest)
    if expected.dtype.kind in "iu":
        tolerance = tolerances.INTEGERS / BRIGHTEST
        return verdict(expected, answer.output, is_copy=is_copy, scale=BRIGHTEST, tolerance=tolerance)
    return verdict(expected, answer.output, is_copy=is_copy)


def _plain(refusal: str) -> str:
    """Return a runtime's error text without places in its source, cut short."""
    places = r"(Exception from|Check '[^']*' failed at) [\w/.-]+:\d+:\s*|Load model from \S+ failed:"
    return re.sub(places, "", refusal)[:_LONGEST]


def models(paths: Iterable[Path]) -> list[Path]:
    """Return files as they are, and every model in folders. Raises ReadError if there are none."""
    return expanded(paths).files


def expanded(paths: Iterable[Path]) -> Expanded:
    """Return files as they are, and every model in folders.

    ``@list.txt`` stands for the paths in that file, one per line. Raises ReadError if there are none.
    """
    models, sources = Expanded(), list(paths)
    for path in sources:
        models.add(path)
    if sources and not (models.files or models.closed or models.skipped):
        *others, last = IN_FOLDERS
        expected = f"expected {listed(others)} or {last.value} files"
        raise ReadError(f"no model; {expected}", ", ".join(map(str, sources)))
    return models


@dataclass(frozen=True, slots=True)
class Expanded:
    """The ``files`` that paths stand for; ``closed`` are errors of folders that cannot be read.

    ``skipped`` are .xml files in folders that belong to other programs, such as a pom.xml. ``lists`` are those that
    were read, each once: lists may name lists, but cannot grow without end. ``open`` are those being read.
    """

    files: list[Path] = field(default_factory=list)
    closed: list[ReadError] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    lists: set[Path] = field(default_factory=set)
    open: list[Path] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Add the files that a path stands for. Raises ReadError if there are none."""
        if str(path) == "-":
            raise ReadError("standard input is not supported; expected paths of models or folders", "-")
        # A file or folder that is itself called @… is no list.
        if path.name.startswith("@") and not exists(path):
            self._add_list(path.with_name(path.name[1:]))
            return
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except (OSError, ValueError) as error:
            raise ReadError(f"cannot be read: {getattr(error, 'strerror', None) or error}", str(path)) from None
        if is_folder and model_file(path) == path:
            self._add_folder(path)
        else:
            self.files.append(model_file(path))

    def _add_folder(self, folder: Path) -> None:
        for path in _inside(folder, self.closed):
            is_skipped = FileKind.of(path) is FileKind.IR and is_foreign(path)
            (self.skipped if is_skipped else self.files).append(path)

    def _add_list(self, path: Path) -> None:
        place = real(path)
        if place in self.open:
            raise ReadError("the list names itself; expected models, folders or other lists", str(path))
        if place in self.lists:
            return
        self.lists.add(place)
        self.open.append(place)
        for source in _listed(path):
            self.add(source)
        self.open.pop()


def _inside(folder: Path, closed: list[ReadError]) -> list[Path]:
    """Return the models in a folder and its subfolders; unreadable ones are added to ``closed``."""

    def note(error: OSError) -> None:
        closed.append(ReadError(f"cannot be read: {error.strerror or error}", str(error.filename)))

    names = [Path(place, name) for place, _, names in os.walk(folder, onerror=note) for name in names]
    # os.walk follows the order of the file system, reports must not.
    return sorted(name for name in names if FileKind.of(name) in IN_FOLDERS)


def _listed(path: Path) -> list[Path]:
    try:
        with opened(path) as file:
            lines = file.read().decode().splitlines()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from None
    except UnicodeDecodeError as error:
        raise ReadError(f"not a list of paths: {error}", str(path)) from None
    return [Path(line) for line in lines if line.strip()]


@dataclass(slots=True, kw_only=True)
class Result:
    """The resizes of some files, those that cannot be read, findings about the files as a whole, and errors."""

    rows: list[Audited] = field(default_factory=list)
    unread: list[UnreadResize] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    errors: list[ReadError] = field(default_factory=list)


def audit(
    paths: Sequence[Path],
    *,
    run: bool = False,
    runtimes: Collection[str] | None = None,
    shapes: audited_resizes.Shapes | None = None,
    progress: Progress = silent,
) -> tuple[list[Audited], list[ReadError]]:
    """Return the readable resizes of some models and the errors for unreadable files; see ``results``."""
    result = results(paths, run=run, runtimes=runtimes, shapes=shapes, progress=progress)
    return result.rows, result.errors


def results(
    paths: Sequence[Path],
    *,
    run: bool = False,
    runtimes: Collection[str] | None = None,
    more: Collection[str] = (),
    shapes: audited_resizes.Shapes | None = None,
    progress: Progress = silent,
) -> Result:
    """Return every resize of some models with its verdicts, unreadable ones, and errors for unreadable files.

    ``runtimes`` selects names of ``RUNTIMES``; ``more`` are those beside the usual ones. With ``run``, resizes of
    static shape are also run in the installed runtimes, in a child process. ``shapes`` are those of inputs, by name.
    """
    resizes: list[Found] = []
    audited: list[Audited] = []
    invalid: list[Unread] = []
    unread: list[UnreadResize] = []
    errors: list[ReadError] = []
    for number, path in enumerate(paths):
        progress(f"reading {path.name}", number, len(paths))
        with noted(errors, path.name):
            inside = of_file(path, shapes or {}, asks_exporters=runtimes is None)
            audited += [_audited(resize, runtimes, more) for resize in inside.resizes]
            unread += [_unread(path, resize, runtimes, more) for resize in inside.unread]
            invalid += inside.unread
            resizes += inside.resizes
    if run:
        unread = seen_invalid(invalid, unread, progress)
    rows = seen(resizes, audited, errors, progress) if run else audited
    result = Result(rows=rows, unread=unread, errors=errors)
    if (
        run
        and whole_models.TENSORRT in (RUNTIMES if runtimes is None else runtimes)
        and tensorrt_importer.is_installed()
    ):
        _add_imports(paths, resizes, result)
    if run and whole_models.QNN in (*(runtimes or ()), *more) and qnn_placement.is_installed():
        for path in paths:
            with noted(result.errors, path.name):
                result.findings += whole_models.placed(path)
    return result


def _add_imports(paths: Sequence[Path], resizes: Sequence[Found], result: Result) -> None:
    """Add the verdicts of TensorRT's own importer on whole models, and findings about other nodes that it refuses."""
    for path in paths:
        if FileKind.of(path) is not FileKind.ONNX:
            continue
        places = [place for place, resize in enumerate(resizes) if resize.file == path]
        with noted(result.errors, path.name):
            answer = whole_models.imported(path, [resizes[place] for place in places])
            result.findings += answer.findings
            for place, verdict in zip(places, answer.verdicts, strict=True):
                if verdict:
                    row = result.rows[place]
                    ran = "; ".join([*([row.ran] if row.seen else []), f"imported by {answer.by}"])
                    result.rows[place] = replace(row, seen={**row.seen, whole_models.TENSORRT: verdict}, ran=ran)


_DIALECTS: dict[FileKind | None, str] = {FileKind.IR: "openvino", FileKind.TFLITE: "tflite"}


def _unread(path: Path, resize: Unread, chosen: Collection[str] | None, more: Collection[str]) -> UnreadResize:
    titles = {name: runtime.title for name, runtime in _asked(_DIALECTS.get(FileKind.of(path), "onnx"), chosen, more)}
    error = resize.error
    place = error.where.removeprefix(resize.where)
    problem = f"{place}: {error.problem}" if place else error.problem
    changes = resize.meaning.changes if resize.meaning else ()
    return UnreadResize(
        file=str(path), resize=resize.name, where=resize.where, problem=problem, changes=changes, titles=titles
    )


def _asked(dialect: str, chosen: Collection[str] | None, more: Collection[str]) -> Iterator[tuple[str, Predictor]]:
    """Yield the chosen runtimes with their names, or else the usual ones and ``more``."""
    for name, runtime in runtimes_for(dialect).items():
        if name in more or (runtime.is_asked if chosen is None else name in chosen):
            yield name, runtime


def _audited(resize: Found, chosen: Collection[str] | None, more: Collection[str]) -> Audited:
    verdicts: dict[str, Verdict] = {}
    titles: dict[str, str] = {}
    for name, runtime in _asked(resize.op.dialect, chosen, more):
        verdicts[name] = judge(resize.op, _prediction(runtime, resize))
        titles[name] = runtime.title
    verdicts |= resize.exporters
    exporters = part(FileKind.of(resize.file), "exporters")
    titles |= {name: exporters.EXPORTERS[name].title for name in resize.exporters if exporters}
    return Audited(
        file=str(resize.file),
        op=resize.op,
        predictions=verdicts,
        mistakes=resize.mistakes,
        remarks=resize.remarks,
        titles=titles,
    )


def _prediction(runtime: Predictor, resize: Found) -> Outcome:
    node = resize.node
    if node is None:
        return runtime.of_layer(resize.op, resize.rounded)
    return runtime.among_others(node) or (runtime.of_node(node) if runtime.of_node else runtime.predict(resize.op))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The arguments of ``audit`` that are the same for every file."""

    run: bool = False
    runtimes: Collection[str] | None = None
    more: Collection[str] = ()
    shapes: Shapes | None = None


def in_processes(paths: Sequence[Path], count: int, setting: Setting, progress: Progress = silent) -> Result:
    """Return the results of ``audit``, in the order of ``paths``; with ``count`` above 1 from as many processes.

    A file that ends its process is reported as unreadable.
    """
    if count == 1 or len(paths) < 2:
        result = results(
            paths,
            run=setting.run,
            runtimes=setting.runtimes,
            more=setting.more,
            shapes=setting.shapes,
            progress=progress,
        )
        _add_products(paths, result)
        return result
    answers: dict[int, Result] = {}
    question = workers.Question(function="ir_interp.converters.audit.auditing:of_one", setting=setting)
    for number, answer in workers.each(question, paths, count):
        path = paths[number]
        died = isinstance(answer, workers.Died)
        answers[number] = Result(errors=[ReadError(str(answer), path.name)]) if died else answer
        progress("auditing", len(answers), len(paths))
    ordered = [answers[number] for number in range(len(paths))]
    return Result(
        rows=[row for result in ordered for row in result.rows],
        unread=[row for result in ordered for row in result.unread],
        findings=[finding for result in ordered for finding in result.findings],
        errors=[error for result in ordered for error in result.errors],
    )


def of_one(path: Path, setting: Setting) -> Result:
    """Return the result of ``audit`` for one file."""
    return in_processes([path], 1, setting)


def _add_products(paths: Sequence[Path], result: Result) -> None:
    """Add findings about 8-bit products of the files that could be read."""
    unread = tuple(error.where for error in result.errors)
    for path in paths:
        if any(where.startswith((path.name, str(path))) for where in unread):
            continue
        with noted(result.errors, path.name):
            result.findings += whole_models.products(path)
