"""Audit models: how every runtime computes each resize, and which resizes are likely mistakes."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ir_interp.errors import ReadError
from ir_interp.files.kinds import IN_FOLDERS, FileKind, listed
from ir_interp.files.paths import exists, real
from ir_interp.files.sources import opened
from ir_interp.ir.xml import is_foreign

from ..predictions.runtimes_asked import Runtime, runtimes_for
from ..reports.conversion_report import Progress, silent
from ..runtimes.outcome import Outcome
from ..sources.frameworks import part
from ..sources.readers import model_file
from . import chosen_shapes
from .audited_resizes import Found, Unread, of_file
from .findings import Audited, Finding, UnreadResize
from .mishaps import noted
from .runtime_results import seen
from .verdicts import Verdict, judge


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
    shapes: chosen_shapes.Shapes | None = None,
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
    shapes: chosen_shapes.Shapes | None = None,
    progress: Progress = silent,
) -> Result:
    """Return every resize of some models with its verdicts, unreadable ones, and errors for unreadable files.

    ``runtimes`` selects names of ``RUNTIMES``. With ``run``, resizes of static shape are also run in the installed
    runtimes, in a child process. ``shapes`` are those of inputs, by name.
    """
    resizes: list[Found] = []
    audited: list[Audited] = []
    unread: list[UnreadResize] = []
    errors: list[ReadError] = []
    for number, path in enumerate(paths):
        progress(f"reading {path.name}", number, len(paths))
        with noted(errors, path.name):
            inside = of_file(path, shapes or {}, asks_exporters=runtimes is None)
            audited += [_audited(resize, runtimes) for resize in inside.resizes]
            unread += [_unread(path, resize, runtimes) for resize in inside.unread]
            resizes += inside.resizes
    rows = seen(resizes, audited, errors, progress) if run else audited
    return Result(rows=rows, unread=unread, errors=errors)


_DIALECTS: dict[FileKind | None, str] = {FileKind.IR: "openvino", FileKind.TFLITE: "tflite"}


def _unread(path: Path, resize: Unread, chosen: Collection[str] | None) -> UnreadResize:
    titles = {name: runtime.title for name, runtime in _asked(_DIALECTS.get(FileKind.of(path), "onnx"), chosen)}
    error = resize.error
    place = error.where.removeprefix(resize.where)
    problem = f"{place}: {error.problem}" if place else error.problem
    return UnreadResize(file=str(path), resize=resize.name, where=resize.where, problem=problem, titles=titles)


def _asked(dialect: str, chosen: Collection[str] | None) -> Iterator[tuple[str, Runtime]]:
    """Yield the runtimes that are to be predicted, with their names."""
    for name, runtime in runtimes_for(dialect).items():
        if runtime.is_asked if chosen is None else name in chosen:
            yield name, runtime


def _audited(resize: Found, chosen: Collection[str] | None) -> Audited:
    verdicts: dict[str, Verdict] = {}
    titles: dict[str, str] = {}
    for name, runtime in _asked(resize.op.dialect, chosen):
        verdicts[name] = judge(resize.op, _prediction(runtime, resize))
        titles[name] = runtime.title
    verdicts |= resize.exporters
    titles |= {name: part(FileKind.of(resize.file), "exporters").EXPORTERS[name].title for name in resize.exporters}
    return Audited(
        file=str(resize.file),
        op=resize.op,
        predictions=verdicts,
        mistakes=resize.mistakes,
        remarks=resize.remarks,
        titles=titles,
    )


def _prediction(runtime: Runtime, resize: Found) -> Outcome:
    node = resize.node
    if node is None:
        return runtime.predict(resize.op)
    return runtime.among_others(node) or (runtime.of_node(node) if runtime.of_node else runtime.predict(resize.op))
