"""Write what shows a fault: a model, an input, what is expected, what the runtime makes, a script and its story."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.executor.resize import resize
from ir_interp.op import ResizeOp
from ir_interp.plan.axes.geometry import plan
from ir_interp.plan.axes.taps import Taps, axis_taps
from ir_interp.shapes import static_shape
from ir_interp.text.quoting import markdown
from ir_interp.version import VERSION

from ..audit import probe
from ..audit.verdicts import Verdict
from ..forecasts.runtimes_asked import RUNTIMES
from ..runtimes.outcome import Kind
from ..runtimes.runner import Runner
from ..runtimes.running import RUNNERS
from ..verify.compare import tolerances
from .scripts import script
from .smallest import Shown

_DIGITS = 10  # the largest value of an input, and one more: small numbers that people can follow
_OF_DIALECT = {
    "onnx": 'ONNX\'s operator page "{}", version {}: https://onnx.ai/onnx/operators/onnx__{}.html',
    "openvino": 'OpenVINO\'s operator page "Interpolate-{}": https://docs.openvino.ai',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """A folder that shows what a runtime does to a resize: ``op``, in the smallest shape that was found.

    ``verdict`` is what was seen on the folder's own input; ``versions`` are those of what took part.
    """

    folder: Path
    runtime: str
    op: ResizeOp
    verdict: Verdict
    versions: Mapping[str, str]

    def record(self) -> dict[str, Any]:
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
    """Write everything about a case into a folder that is there. Raises IrInterpError where its input shows nothing."""
    op, runner = shown.row.op, RUNNERS[runtime]
    model = folder / f"model{shown.path.suffix}"
    for path in (shown.path, shown.path.with_suffix(".bin")):
        if path.exists():
            shutil.copyfile(path, folder / f"model{path.suffix}")
    x, wanted, ran = _telling(op, runtime, shown.path)  # beside that, where some runtimes leave files of their own
    np.save(folder / "input.npy", x)
    np.save(folder / "expected.npy", wanted)
    if ran.output is not None:
        np.save(folder / "output.npy", ran.output)
    verdict = _verdict(shown.verdict, ran, wanted)
    versions = _versions(runner)
    told = f"{RUNTIMES[runtime].title} {versions[_distribution(runner)]}: {verdict}"
    needs = f"Needs: pip install numpy {' '.join(f'{name}=={versions[name]}' for name in _needed(runner))}"
    (folder / "reproduce.py").write_text(script(f"{told}\n\n{needs}\n", runner.run, model.name), encoding="utf-8")
    found = Reproduced(folder=folder, runtime=runtime, op=op, verdict=verdict, versions=versions)
    (folder / "README.md").write_text(story(found, told, x, wanted, ran), encoding="utf-8")
    return found


def _telling(op: ResizeOp, runtime: str, model: Path) -> tuple[NDArray[Any], NDArray[Any], probe.Ran]:
    """Return an input of small whole numbers that shows the difference, what is expected of it, and what is made."""
    for seed in range(8):
        x = _digits(op, seed)
        array = model.with_name("input.npy")
        np.save(array, x)
        (ran,) = probe.run([probe.Job(runtime=runtime, model=str(model), array=str(array))])
        wanted = resize(x, op.spec)
        if ran.output is None or ran.output.shape != wanted.shape or _apart(wanted, ran.output) > 0:
            return x, wanted, ran
    raise IrInterpError(f"{op.name}: no input of small whole numbers shows a difference in {runtime}")


def _digits(op: ResizeOp, seed: int) -> NDArray[Any]:
    dtype = np.dtype(op.dtype or "float32")
    lowest = -_DIGITS if dtype.kind == "i" else 0
    return np.random.default_rng(seed).integers(lowest, _DIGITS, static_shape(op.shape)).astype(dtype)


def _apart(wanted: NDArray[Any], made: NDArray[Any]) -> float:
    """Return the largest difference, 0 where float32 may be the reason of it."""
    off = np.abs(wanted.astype(np.float64) - made.astype(np.float64))
    largest = float(np.nan_to_num(off, nan=np.inf).max(initial=0.0))
    return largest if largest > tolerances.SINGLE_RESIZE else 0.0


def _verdict(before: Verdict, ran: probe.Ran, wanted: NDArray[Any]) -> Verdict:
    """Return what was seen, with the reason that is known."""
    if ran.output is None:
        kind = Kind.CRASHES if ran.crash else Kind.REFUSED
        return Verdict(kind=kind, reason=before.cause or ran.crash or ran.refusal)
    if ran.output.shape != wanted.shape:
        return Verdict(kind=Kind.DIFFERS, reason=before.cause)
    return Verdict(kind=Kind.DIFFERS, reason=before.cause, difference=_apart(wanted, ran.output))


def _distribution(runner: Runner) -> str:
    """Return under which name the package of a runtime was installed."""
    return next(iter(metadata.packages_distributions().get(runner.package, [])), runner.distribution)


def _needed(runner: Runner) -> list[str]:
    return [_distribution(runner), *runner.also]


def _versions(runner: Runner) -> dict[str, str]:
    names = [*_needed(runner), "numpy"]
    own = {"ir-interp": VERSION, "Python": platform.python_version(), "machine": platform.machine()}
    return {**{name: metadata.version(name) for name in names}, **own}


# The story


def story(found: Reproduced, told: str, x: NDArray[Any], wanted: NDArray[Any], ran: probe.Ran) -> str:
    """Return the README of a folder, in Markdown."""
    op = found.op
    lines = [
        f"# {markdown(told)}",
        "",
        f"    python reproduce.py  # in this folder; needs {', '.join(_needed(RUNNERS[found.runtime]))} and NumPy",
        "",
        f"The model is one {markdown(f'{_kind(op)}: {op.spec}')}.",
        "",
        f"Expected is what ir_interp computes by this formula. Its source: {_source(op)}",
        "",
        f"Input {list(x.shape)} {x.dtype}, expected {list(wanted.shape)}; {_seen(ran)}",
        "",
        *_pixel(op, wanted, ran),
        "| | version |",
        "|---|---|",
        *(f"| {name} | {version} |" for name, version in found.versions.items()),
    ]
    return "\n".join([*lines, ""])


def _kind(op: ResizeOp) -> str:
    kind = "Interpolate" if op.dialect == "openvino" else _type(op)
    stated = ", ".join(f"{name}={value}" for name, value in op.attributes.items())
    return f"{kind}-{op.version} ({stated})"


def _type(op: ResizeOp) -> str:
    return "Upsample" if op.version < 10 else "Resize"


def _source(op: ResizeOp) -> str:
    page = _OF_DIALECT[op.dialect]
    return page.format(op.version) if op.dialect == "openvino" else page.format(_type(op), op.version, _type(op))


def _seen(ran: probe.Ran) -> str:
    if ran.output is None:
        return f"the runtime {markdown(ran.crash or f'says: {ran.refusal}')}"
    return f"made {list(ran.output.shape)}."


def _pixel(op: ResizeOp, wanted: NDArray[Any], ran: probe.Ran) -> Iterator[str]:
    """Tell of the output that is furthest off: what it is, what it should be, and of which pixels."""
    if ran.output is None or ran.output.shape != wanted.shape:
        return
    off = np.abs(wanted.astype(np.float64) - ran.output.astype(np.float64))
    place = tuple(map(int, np.unravel_index(int(np.nan_to_num(off, nan=np.inf).argmax()), off.shape)))
    yield f"Furthest off is output {list(place)}: expected {wanted[place]:g}, made {ran.output[place]:g}. It is made of"
    yield ""
    bound = plan(op.spec, static_shape(op.shape) or ())
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        weights: dict[int, float] = {}
        for index, weight in _pairs(taps, place[axis.axis]):
            weights[index] = weights.get(index, 0.0) + weight
        listed = ", ".join(f"{index} by {weight:.4g}" for index, weight in weights.items() if weight)
        if axis.in_size > 1 or axis.out_size > 1:
            yield f"- axis {axis.axis}, {axis.in_size} pixels to {axis.out_size}: of pixel {listed}"
    yield ""


def _pairs(taps: Taps, output: int) -> Iterator[tuple[int, float]]:
    """Yield the source pixels of an output with their weights; one alone is a copy."""
    indices = taps.indices[output].tolist()
    return zip(indices, [1.0] * len(indices) if taps.weights is None else taps.weights[output].tolist(), strict=True)
