"""Exporters of models of other frameworks: each resize is exported alone, and runs beside its source.

Nothing here is a rule: the installed releases answer.
"""

from __future__ import annotations

import atexit
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.scratch import scratch
from ir_interp.shapes import PartialShape

from ..runtimes.outcome import Kind
from ..sources.frameworks import reading
from ..verify.against_reference import compare_with
from ..verify.compare import tolerances
from ..verify.compare.array_differences import compare
from ..verify.run.inputs import Inputs
from ..workers.worker import Died, Late, Question, Worker
from .verdicts import INTEGERS, Verdict

_CHILD = f"{__package__}.framework_exporter_child"
_SECONDS, _IDLE = 300.0, 600.0
_LONGEST = 160  # of an exporter's error text
NOT_TRIED = Verdict(kind=Kind.UNKNOWN, reason="not tried: run time decides its arguments")
_DYNAMIC = 24  # a length for a dynamic dimension; single operations are exported with static ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """An exporter: its title, the package that it needs, and the kind of file that it writes.

    ``writer`` is its function, as ``module:name``, of a source, an array and the path to write.
    """

    title: str
    package: str
    kind: FileKind
    writer: str


def asked(exporters: Mapping[str, Exporter], source: Any, array: Array, expected: Array) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on a source, of which ``expected`` is the output for ``array``."""
    return {name: _verdict(exporter, source, array, expected) for name, exporter in _installed(exporters).items()}


def all_are(verdict: Verdict, exporters: Mapping[str, Exporter]) -> dict[str, Verdict]:
    """Return the same verdict for each installed exporter."""
    return dict.fromkeys(_installed(exporters), verdict)


def _installed(exporters: Mapping[str, Exporter]) -> dict[str, Exporter]:
    return {
        name: exporter for name, exporter in exporters.items() if importlib.util.find_spec(exporter.package) is not None
    }


def random_image(shape: PartialShape, dtype: str) -> Array:
    """Return random values; a dynamic dimension becomes static, a batch a single image."""
    lengths = [1 if length is None else length for length in shape[:1]]
    lengths += [_DYNAMIC if length is None else length for length in shape[1:]]
    rng = np.random.default_rng(0)
    return rng.random(lengths).astype(dtype) if "float" in dtype else rng.integers(0, 100, lengths).astype(dtype)


def _verdict(exporter: Exporter, source: Any, array: Array, expected: Array) -> Verdict:
    with scratch() as folder:
        path = folder / f"resize{exporter.kind.value}"
        answer = ask(f"{_CHILD}:write", array, (exporter.writer, source, path.absolute()))
        if isinstance(answer, Died | Late):
            return Verdict(kind=Kind.CRASHES, reason=str(answer))
        if isinstance(answer, Verdict):
            return replace(answer, reason=shorten(answer.reason, _LONGEST, placeholder=" ..."))
        try:
            return _compared(path, exporter.kind, array, expected, folder)
        except IrInterpError as error:
            return Verdict(kind=Kind.REFUSED, reason=f"what it writes does not run: {error}")


def _compared(path: Path, kind: FileKind, array: Array, expected: Array, folder: Path) -> Verdict:
    """Return whether a written model computes what its source does."""
    framework = reading(kind)
    if framework is not None:
        [actual] = framework.function(path)(array)
        compared = compare("output", expected, actual)
    else:
        np.save(folder / "x.npy", array)
        [output] = compare_with(path, [expected], Inputs(files={"": (folder / "x.npy",)})).outputs
        compared = output.compared
    if compared.passes:
        return Verdict(kind=Kind.SAME)
    if array.dtype.kind in "iu" and compared.absolute <= tolerances.INTEGERS:
        return Verdict(kind=Kind.SAME, reason=INTEGERS)
    return Verdict(kind=Kind.DIFFERS, reason=compared.apart if compared.shapes else "", difference=compared.absolute)


def ask(function: str, item: Any, setting: Any) -> Any:
    """Return what a function, as ``module:name``, answers in the process of the exporters."""
    question = Question(function=function, setting=setting, limit=_SECONDS, attempts=1)
    return _worker().answer(question, item)


@cache
def _worker() -> Worker:
    """Return the process, which has imported TensorFlow after its first answer."""
    worker = Worker(idle=_IDLE)
    atexit.register(worker.close)
    return worker
