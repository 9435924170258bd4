"""Exporters of models of other frameworks: each resize is exported alone, and runs beside its source.

Nothing here is a rule: the installed releases answer, in a process of their own: ``write`` runs there.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.shapes import Array, PartialShape

from ..openvino.ir_save import save as save_ir
from ..reports import Compared
from ..runtimes.execution import reason
from ..runtimes.outcome import Kind
from ..sources.readers import reading
from ..verify import tolerances
from ..verify.inputs import Inputs
from ..verify.model_pairs import compare_with
from ..verify.tolerances import compare
from ..workers import Died, Late, Question, lasting
from .verdicts import INTEGERS, Verdict

_SECONDS, _IDLE = 300.0, 600.0
_LONGEST = 160  # of an exporter's error text
NOT_TRIED = Verdict(kind=Kind.UNKNOWN, reason="not tried: run time decides its arguments")
OPSET = 18
"""The operator set of the ONNX models that exporters write."""
DYNAMIC = 24  # a length for a dynamic dimension; single operations are exported with static ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """An exporter: its title, and the package without which it is not asked."""

    title: str
    package: str

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return importlib.util.find_spec(self.package) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer(Exporter):
    """An exporter, and the kind of file that it writes.

    ``writer`` is its function, as ``module:name``, of a source, an array and the path to write.
    """

    kind: FileKind
    writer: str


def frontend(title: str) -> Writer:
    """Return OpenVINO's frontend of this title, which reads the file that is the source."""
    return Writer(title=f"OpenVINO's {title} frontend", package="openvino", kind=FileKind.IR, writer=f"{__name__}:read")


def asked(exporters: Mapping[str, Writer], source: Any, array: Array, expected: Array) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on a source, of which ``expected`` is the output for ``array``."""
    return {name: _verdict(exporters[name], source, array, expected) for name in _installed(exporters)}


def all_are(verdict: Verdict, exporters: Mapping[str, Exporter]) -> dict[str, Verdict]:
    """Return the same verdict for each installed exporter."""
    return dict.fromkeys(_installed(exporters), verdict)


def _installed(exporters: Mapping[str, Exporter]) -> list[str]:
    return [name for name, exporter in exporters.items() if exporter.is_installed]


def random_image(shape: PartialShape, dtype: str) -> Array:
    """Return random values; a dynamic dimension becomes static, a batch a single image."""
    lengths = [1 if length is None else length for length in shape[:1]]
    lengths += [DYNAMIC if length is None else length for length in shape[1:]]
    rng = np.random.default_rng(0)
    return rng.random(lengths).astype(dtype) if "float" in dtype else rng.integers(0, 100, lengths).astype(dtype)


def _verdict(exporter: Writer, source: Any, array: Array, expected: Array) -> Verdict:
    with scratch() as folder:
        path = folder / f"resize{exporter.kind.value}"
        answer = ask(f"{__name__}:write", array, (exporter.writer, source, path.absolute()))
        failure = failed(answer)
        if failure is not None:
            return failure
        try:
            return _compared(path, exporter.kind, array, expected, folder)
        except IrInterpError as error:
            return not_run(error)


def failed(answer: object) -> Verdict | None:
    """Return the verdict on an exporter that refused a resize, or whose process ended; None if it wrote it."""
    if isinstance(answer, Died | Late):
        return Verdict(kind=Kind.CRASHES, reason=str(answer))
    return concise(answer) if isinstance(answer, Verdict) else None


def concise(verdict: Verdict) -> Verdict:
    """Return a verdict with the beginning of its reason, which may be a page of an exporter's text."""
    return replace(verdict, reason=shorten(verdict.reason, _LONGEST, placeholder=" ..."))


def not_run(error: IrInterpError) -> Verdict:
    """Return the verdict on an exporter whose result fails."""
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
    if array.dtype.kind in "iu" and not compared.passes and compared.absolute <= tolerances.INTEGERS:
        return Verdict(kind=Kind.SAME, reason=INTEGERS)
    return judged(compared)


def judged(compared: Compared) -> Verdict:
    """Return whether the output of an exporter's result is that of the source."""
    if compared.passes:
        return Verdict(kind=Kind.SAME)
    return Verdict(kind=Kind.DIFFERS, reason=compared.apart if compared.shapes else "", difference=compared.absolute)


def ask(function: str, item: Any, setting: Any, process: str = "exporters") -> Any:
    """Return what a function, as ``module:name``, answers in a process that has imported a framework before."""
    question = Question(function=function, setting=setting, limit=_SECONDS, attempts=1)
    return lasting(process, _IDLE).answer(question, item)


_CAUSE = re.compile(r"\berror: (?P<text>'tf\.\w+' op .+)")  # among the lines of Python of a message of MLIR


def write(array: Array, setting: tuple[str, Any, Path]) -> Verdict | None:
    """Write a model by an exporter; return a refusal, if it is one.

    ``setting`` has the writer as ``module:name``, an operation or the file of one, and the path to write.
    """
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    writer, source, path = setting
    module, name = writer.split(":")
    try:
        getattr(importlib.import_module(module), name)(source, array, path)
    except Exception as error:  # whatever an exporter raises
        cause = _CAUSE.search(str(error))
        return Verdict(kind=Kind.REFUSED, reason=cause["text"] if cause else reason(error))
    return None


def read(source: Path, array: Array, path: Path) -> None:
    """Write the IR that OpenVINO's frontend makes of a file."""
    import openvino

    save_ir(openvino.convert_model(source), path)
