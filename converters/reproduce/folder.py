"""Write the reproduction of a fault: a model, an input, expected and actual output, a script and a README."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.executor.resize import resize
from ir_interp.plan.axes.geometry import plan
from ir_interp.plan.axes.taps import Taps, axis_taps
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.text.quoting import markdown
from ir_interp.version import VERSION

from ..audit import probe
from ..audit.verdicts import Verdict
from ..predictions.runtimes_asked import RUNTIMES
from ..runtimes.outcome import Kind
from ..runtimes.runner import Runner
from ..runtimes.running import RUNNERS
from ..verify.compare import tolerances
from ..verify.compare.array_differences import absolute_differences
from .scripts import script
from .single_nodes import operator
from .smallest import Shown

_ATTEMPTS = 8  # random inputs, before the search for a difference is given up
_DIGITS = 10  # the largest value of an input, plus one: small numbers are easy to follow
_OF_DIALECT = {
    "onnx": 'ONNX\'s operator page "{name}", version {version}: https://onnx.ai/onnx/operators/onnx__{name}.html',
    "openvino": 'OpenVINO\'s operator page "Interpolate-{version}": https://docs.openvino.ai',
}


class ReproducedRecord(TypedDict):
    """A reproduction in JSON; versions by package."""

    folder: str
    runtime: str
    resize: str
    shape: list[int | None]
    kind: str
    reason: str
    difference: float | None
    versions: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """A folder that reproduces a runtime's fault in a resize: ``op``, in the smallest shape that shows it.

    ``verdict`` was observed on the folder's own input; ``versions`` are those of the packages involved.
    """

    folder: Path
    runtime: str
    op: ResizeOp
    verdict: Verdict
    versions: Mapping[str, str]

    def record(self) -> ReproducedRecord:
        """Return it as plain values, for JSON."""
        return {
            "folder": str(self.folder),
            "runtime": self.runtime,
            "resize": str(self.op.spec),
            "shape": list(self.op.shape or ()),
            "kind": self.verdict.kind.value,
            "reason": self.verdict.reason,
            "difference": self.verdict.difference,
            "versions": dict(self.versions),
        }


def write(shown: Shown, runtime: str, folder: Path) -> Reproduced:
    """Write everything about a case into an existing folder. Raises IrInterpError if its input shows no difference."""
    op, runner = shown.row.op, RUNNERS[runtime]
    model = folder / f"model{shown.path.suffix}"
    for path in (shown.path, shown.path.with_suffix(".bin")):
        if path.exists():
            shutil.copyfile(path, folder / f"model{path.suffix}")
    x, expected, ran = _telling(op, runtime, shown.path)  # beside the model, where some runtimes leave files
    np.save(folder / "input.npy", x)
    np.save(folder / "expected.npy", expected)
    if ran.output is not None:
        np.save(folder / "output.npy", ran.output)
    verdict = _verdict(shown.verdict, ran, expected)
    versions = _versions(runner)
    headline = f"{RUNTIMES[runtime].title} {versions[_distribution(runner)]}: {verdict}"
    needs = f"Needs: pip install numpy {' '.join(f'{name}=={versions[name]}' for name in _needed(runner))}"
    (folder / "reproduce.py").write_text(script(f"{headline}\n\n{needs}\n", runner.run, model.name), encoding="utf-8")
    reproduced = Reproduced(folder=folder, runtime=runtime, op=op, verdict=verdict, versions=versions)
    (folder / "README.md").write_text(story(reproduced, headline, x, expected, ran), encoding="utf-8")
    return reproduced


def _telling(op: ResizeOp, runtime: str, model: Path) -> tuple[NDArray[Any], NDArray[Any], probe.Ran]:
    """Return an input of small integers that shows the difference, the expected output, and the runtime's."""
    for seed in range(_ATTEMPTS):
        dtype = np.dtype(op.dtype or "float32")
        lowest = -_DIGITS if dtype.kind == "i" else 0
        x = np.random.default_rng(seed).integers(lowest, _DIGITS, static_shape(op.shape)).astype(dtype)
        # The runtimes run in another process, which reads the array from a file.
        array = model.with_name("input.npy")
        np.save(array, x)
        (ran,) = probe.run([probe.Job(runtime=runtime, model=str(model), array=str(array))])
        expected = resize(x, op.spec)
        if ran.output is None or ran.output.shape != expected.shape or _apart(expected, ran.output) > 0:
            return x, expected, ran
    raise IrInterpError(f"{op.name}: no input of small integers shows a difference in {runtime}")


def _differences(expected: NDArray[Any], actual: NDArray[Any]) -> NDArray[np.float64]:
    """Return the absolute difference of every pixel, infinite where only one is NaN."""
    return np.nan_to_num(absolute_differences(expected, actual), nan=np.inf)


def _apart(expected: NDArray[Any], actual: NDArray[Any]) -> float:
    """Return the largest difference, 0 if float32 may be its reason."""
    largest = float(_differences(expected, actual).max(initial=0.0))
    return largest if largest > tolerances.SINGLE_RESIZE else 0.0


def _verdict(before: Verdict, ran: probe.Ran, expected: NDArray[Any]) -> Verdict:
    """Return the observed verdict, with the known reason."""
    if ran.output is None:
        kind = Kind.CRASHES if ran.crash else Kind.REFUSED
        return Verdict(kind=kind, reason=before.cause or ran.crash or ran.refusal)
    if ran.output.shape != expected.shape:
        return Verdict(kind=Kind.DIFFERS, reason=before.cause)
    return Verdict(kind=Kind.DIFFERS, reason=before.cause, difference=_apart(expected, ran.output))


def _distribution(runner: Runner) -> str:
    """Return the distribution that installed the package of a runtime."""
    return next(iter(metadata.packages_distributions().get(runner.package, [])), runner.distribution)


def _needed(runner: Runner) -> list[str]:
    return [_distribution(runner), *runner.also]


def _versions(runner: Runner) -> dict[str, str]:
    names = [*_needed(runner), "numpy"]
    system = {"ir-interp": VERSION, "Python": platform.python_version(), "machine": platform.machine()}
    return {**{name: metadata.version(name) for name in names}, **system}


# The README


def story(reproduced: Reproduced, headline: str, x: NDArray[Any], expected: NDArray[Any], ran: probe.Ran) -> str:
    """Return the README of a folder, in Markdown."""
    op = reproduced.op
    source = _OF_DIALECT[op.dialect].format(name=operator(op.version), version=op.version)
    lines = [
        f"# {markdown(headline)}",
        "",
        f"    python reproduce.py  # in this folder; needs {', '.join(_needed(RUNNERS[reproduced.runtime]))} and NumPy",
        "",
        f"The model is one {markdown(f'{_kind(op)}: {op.spec}')}.",
        "",
        f"ir_interp computed the expected output by this formula. Its source: {source}",
        "",
        f"Input {list(x.shape)} {x.dtype}, expected {list(expected.shape)}; {_seen(ran)}",
        "",
        *_pixel(op, expected, ran),
        "| | version |",
        "|---|---|",
        *(f"| {name} | {version} |" for name, version in reproduced.versions.items()),
    ]
    return "\n".join([*lines, ""])


def _kind(op: ResizeOp) -> str:
    kind = "Interpolate" if op.dialect == "openvino" else operator(op.version)
    stated = ", ".join(f"{name}={value}" for name, value in op.attributes.items())
    return f"{kind}-{op.version} ({stated})"


def _seen(ran: probe.Ran) -> str:
    if ran.output is None:
        return f"the runtime {markdown(ran.crash or f'reports: {ran.refusal}')}"
    return f"output {list(ran.output.shape)}."


def _pixel(op: ResizeOp, expected: NDArray[Any], ran: probe.Ran) -> Iterator[str]:
    """Describe the output that is furthest off: its value, the expected one, and its source pixels."""
    if ran.output is None or ran.output.shape != expected.shape:
        return
    off = _differences(expected, ran.output)
    place = tuple(map(int, np.unravel_index(int(off.argmax()), off.shape)))
    values = f"expected {expected[place]:g}, actual {ran.output[place]:g}"
    yield f"The largest difference is at output {list(place)}: {values}. Its source pixels and their weights:"
    yield ""
    bound = plan(op.spec, static_shape(op.shape) or ())
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        weights: dict[int, float] = {}
        for index, weight in _pairs(taps, place[axis.axis]):
            weights[index] = weights.get(index, 0.0) + weight
        listed = ", ".join(f"{index} ({weight:.4g})" for index, weight in weights.items() if weight)
        if axis.in_size > 1 or axis.out_size > 1:
            yield f"- axis {axis.axis}, {axis.in_size} pixels to {axis.out_size}: {listed}"
    yield ""


def _pairs(taps: Taps, output: int) -> Iterator[tuple[int, float]]:
    """Yield the source pixels of an output with their weights; a single one is a copy."""
    indices = taps.indices[output].tolist()
    return zip(indices, [1.0] * len(indices) if taps.weights is None else taps.weights[output].tolist(), strict=True)
