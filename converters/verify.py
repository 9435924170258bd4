"""Run source and result in their own runtimes, each in a process of its own, and compare."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, VerificationError

TOLERANCE = 1e-4
"""The largest difference allowed, absolute and relative to the largest value of an output."""

_SECONDS = 600
_USAGE = 3  # the child's exit code for a request that makes no sense
_OPEN_LENGTH = 64  # an open length is taken as this, a multiple of what networks shrink by; the first axis as 1

Arrays = dict[str, NDArray[Any]]


def compare(source: Path, result: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, float]:
    """Return the largest difference per output of two models on the same random inputs.

    .onnx runs in onnxruntime, .xml in OpenVINO on CPU in float32. ``shapes`` gives the lengths of inputs by name;
    open ones are 1 on the first axis and 64 elsewhere. Raises VerificationError where outputs differ by more than
    ``TOLERANCE``, and where either model does not run.
    """
    for model in (source, result):
        if not _is_runnable(model):
            raise IrInterpError(
                f"--verify: {model.name} is no model that a runtime takes; expected .onnx or a whole IR"
            )
    with tempfile.TemporaryDirectory() as folder:
        inputs, wanted, got = (Path(folder, f"{name}.npz") for name in ("inputs", "wanted", "got"))
        words = [f"{name}:{','.join(map(str, shape))}" for name, shape in shapes.items()]
        _run(source, inputs, wanted, words)
        _run(result, inputs, got, [])
        with np.load(wanted) as mine, np.load(got) as theirs:
            return _differences(dict(mine), list(theirs.values()), result.name)


def _is_runnable(model: Path) -> bool:
    """Say whether a file is a model, not settings or a pasted layer."""
    if model.suffix.lower() == ".xml":
        from ir_interp.ir_xml import parse

        return parse(model).tag == "net"
    return model.suffix.lower() == ".onnx"


def _differences(wanted: Arrays, got: list[NDArray[Any]], name: str) -> dict[str, float]:
    if len(wanted) != len(got):
        raise VerificationError(f"{name} has {len(got)} outputs, its source {len(wanted)}; nothing was written")
    found = {}
    for (output, mine), theirs in zip(wanted.items(), got, strict=True):
        if mine.shape != theirs.shape:
            shapes = f"{list(theirs.shape)}, in the source {list(mine.shape)}"
            raise VerificationError(f"output {output!r} has shape {shapes}; nothing was written")
        with np.errstate(invalid="ignore"):  # equal infinities
            distance = np.abs(mine.astype(np.float64) - theirs.astype(np.float64))
        found[output] = float(np.where(mine == theirs, 0.0, distance).max(initial=0.0))
        scale = max(1.0, float(np.abs(mine[np.isfinite(mine)]).max(initial=0.0)))
        if not found[output] <= TOLERANCE * scale:
            excess = f"{found[output]:.3g} (tolerance {TOLERANCE * scale:.3g})"
            raise VerificationError(f"output {output!r} differs by {excess}; nothing was written")
    return found


def _run(model: Path, inputs: Path, outputs: Path, shapes: list[str]) -> None:
    """Run a model in a child process: a runtime that dies or hangs takes nothing else along."""
    command = [sys.executable, "-m", "converters.verify", str(model), str(inputs), str(outputs), *shapes]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise VerificationError(f"{model.name} did not finish in {_SECONDS} s; nothing was written") from None
    if done.returncode == _USAGE:
        raise IrInterpError(done.stderr.strip())
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it died with status {done.returncode}"]
        raise VerificationError(f"{model.name} does not run: {lines[-1]}; nothing was written")


def _main(model: str, inputs: str, outputs: str, *shapes: str) -> None:
    """Run ``model`` on the arrays of ``inputs``, made first if the file is not there, and save what comes out."""
    runner = _Onnx(model) if model.endswith(".onnx") else _Ir(model)
    if not Path(inputs).exists():
        given = dict(_shape(word) for word in shapes)
        np.savez(inputs, allow_pickle=False, **_random(runner.inputs(), given))
    with np.load(inputs) as arrays:
        np.savez(outputs, allow_pickle=False, **runner.run(list(arrays.values())))


def _shape(word: str) -> tuple[str, tuple[int, ...]]:
    name, _, lengths = word.rpartition(":")
    return name, tuple(int(length) for length in lengths.split(","))


def _random(inputs: dict[str, tuple[list[int | None], str]], given: dict[str, tuple[int, ...]]) -> Arrays:
    """Return seeded arrays for the inputs (name to lengths and dtype): floats in [0, 1), integers 0 and 1."""
    unknown = given.keys() - inputs.keys()
    if unknown:
        raise IrInterpError(f"no input {sorted(unknown)[0]!r}; the inputs are {', '.join(inputs)}")
    rng = np.random.default_rng(0)
    arrays = {}
    for name, (lengths, dtype) in inputs.items():
        shape = given.get(name) or [n if n is not None else _OPEN_LENGTH if i else 1 for i, n in enumerate(lengths)]
        floats = np.dtype(dtype).kind == "f"
        arrays[name] = (rng.random(shape) if floats else rng.integers(0, 2, shape)).astype(dtype)
    return arrays


class _Onnx:
    """A model in onnxruntime."""

    def __init__(self, path: str) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def inputs(self) -> dict[str, tuple[list[int | None], str]]:
        names = {"float": "float32", "double": "float64"}
        return {
            each.name: (
                [length if isinstance(length, int) and length >= 0 else None for length in each.shape],
                names.get(kind := each.type[len("tensor(") : -1], kind),
            )
            for each in self._session.get_inputs()
        }

    def run(self, arrays: list[NDArray[Any]]) -> Arrays:
        names = [each.name for each in self._session.get_inputs()]
        results = self._session.run(None, dict(zip(names, arrays, strict=True)))
        return {each.name: result for each, result in zip(self._session.get_outputs(), results, strict=True)}


class _Ir:
    """An IR in OpenVINO's CPU plugin."""

    def __init__(self, path: str) -> None:
        import openvino

        self._model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def inputs(self) -> dict[str, tuple[list[int | None], str]]:
        return {
            f"input{index}" if not each.names else sorted(each.names)[0]: (
                [length.get_length() if length.is_static else None for length in each.get_partial_shape()],
                np.dtype(each.get_element_type().to_dtype()).name,
            )
            for index, each in enumerate(self._model.inputs)
        }

    def run(self, arrays: list[NDArray[Any]]) -> Arrays:
        results = self._model(arrays)
        return {f"output{index}": results[each] for index, each in enumerate(self._model.outputs)}


if __name__ == "__main__":
    try:
        _main(*sys.argv[1:])
    except IrInterpError as error:
        print(error, file=sys.stderr)
        sys.exit(_USAGE)
