"""Audit models: what every runtime makes of every resize, and what is likely a mistake."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.kinds import AUDITED, FileKind
from ir_interp.memory import memory_refusal

from ..forecasts.table import Runtime, runtimes_of
from ..report import Progress, silent
from ..runtimes.outcome import Outcome
from . import shapes
from .findings import Audited
from .resizes import Found, found
from .seen import seen
from .verdicts import judge


def models(paths: Iterable[Path]) -> list[Path]:
    """Return files as they are, and every .onnx and .xml in folders. Raises ReadError where there is nothing."""
    return expanded(paths)[0]


def expanded(paths: Iterable[Path]) -> tuple[list[Path], list[ReadError]]:
    """Return files as they are, every .onnx and .xml in folders, and the folders in these that cannot be read.

    ``@list.txt`` stands for the paths in that file, one a line. Raises ReadError where there is nothing.
    """
    found: list[Path] = []
    closed: list[ReadError] = []
    for path in paths:
        if str(path) == "-":
            raise ReadError("standard input is not read; expected names of models, or of folders", "-")
        if path.name.startswith("@") and not path.exists():
            inside, more = expanded(_listed(path.with_name(path.name[1:])))
            found += inside
            closed += more
            continue
        if not path.exists():
            raise ReadError("cannot be read: No such file or directory", str(path))
        found += _inside(path, closed) if path.is_dir() else [path]
    return found, closed


def _inside(folder: Path, closed: list[ReadError]) -> list[Path]:
    """Return the models in a folder and below it; what cannot be read is added to ``closed``."""

    def note(error: OSError) -> None:
        closed.append(ReadError(f"cannot be read: {error.strerror or error}", str(error.filename)))

    names = [Path(place, name) for place, _, names in os.walk(folder, onerror=note) for name in names]
    return sorted(each for each in names if FileKind.of(each) in AUDITED)


def _listed(path: Path) -> list[Path]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"cannot be read: {error}", str(path)) from None
    return [Path(line) for line in lines if line.strip()]


def audit(
    paths: Sequence[Path],
    *,
    run: bool = False,
    runtimes: Collection[str] | None = None,
    lengths: shapes.Shapes | None = None,
    progress: Progress = silent,
) -> tuple[list[Audited], list[ReadError]]:
    """Return every resize of some models with its verdicts, and the files that cannot be read.

    ``runtimes`` chooses some by their names in ``RUNTIMES``. With ``run`` those that are installed are run as well,
    in a child process, where the shape of a resize is known. ``lengths`` are those of inputs, by name.
    """
    resizes: list[Found] = []
    audited: list[Audited] = []
    errors: list[ReadError] = []
    for number, path in enumerate(paths):
        progress(f"reading {path.name}", number, len(paths))
        try:
            inside = list(found(path, shapes.chosen(path, lengths or {})))
            audited += [_audited(each, runtimes) for each in inside]
            resizes += inside
        except ReadError as error:
            errors.append(error)
        except IrInterpError as error:
            errors.append(ReadError(str(error), path.name))
        except MemoryError as error:
            errors.append(ReadError(memory_refusal(error), path.name))
    return (seen(resizes, audited, progress) if run else audited), errors


def _audited(resize: Found, chosen: Collection[str] | None) -> Audited:
    verdicts, titles = {}, {}
    for name, runtime in runtimes_of(resize.op).items():
        if runtime.is_asked if chosen is None else name in chosen:
            verdicts[name] = judge(resize.op, _forecast(runtime, resize))
            titles[name] = runtime.title
    return Audited(
        file=str(resize.file),
        op=resize.op,
        forecast=verdicts,
        mistakes=resize.mistakes,
        remarks=resize.remarks,
        titles=titles,
    )


def _forecast(runtime: Runtime, resize: Found) -> Outcome:
    node = resize.node
    if node is None:
        return runtime.forecast(resize.op)
    return runtime.among_others(node) or (runtime.of_node(node) if runtime.of_node else runtime.forecast(resize.op))
