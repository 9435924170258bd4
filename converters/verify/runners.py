"""Run a model in its own runtime, as a process of its own; its argument is a file with the ``Request``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.sources import check_regular

from ..runtimes.telemetry import openvino_silent

USAGE = 3
"""The exit code for a request that makes no sense; its message is the last line of stderr."""

_DYNAMIC_LENGTH = 64  # a dynamic dimension is taken as this, a multiple of what networks shrink by; the first axis as 1
_BYTES = 24 * 2**30  # of address space; what lies beyond is no conversion's fault

_AS_WRITTEN = {"INFERENCE_PRECISION_HINT": "f32", "LP_TRANSFORMS_MODE": "NO", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
# Left alone, the plugin computes in bfloat16, and what FakeQuantize surrounds in 8 bits, which rounds more often.

Named = list[tuple[str, NDArray[Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to run, and on what.

    ``inputs`` is a file of arrays, made first if it is not there: from ``files`` (.npy by input name), else at random
    with ``shapes`` where dimensions are dynamic; ``values`` holds numbers for inputs at which nothing random makes
    sense. The outputs go to ``outputs``, and those of ``tensors`` that the model has to ``found``. ``in_openvino``
    chooses the runtime, which is onnxruntime otherwise.
    """

    model: str
    inputs: str
    outputs: str
    found: str = ""
    shapes: dict[str, list[int]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)
    tensors: list[str] = field(default_factory=list)
    in_openvino: bool = False

    def save(self, path: Path) -> None:
        """Write the request as JSON."""
        path.write_text(json.dumps(asdict(self)))


def save(path: str | Path, arrays: Named) -> None:
    """Write arrays under any names, in order."""
    np.savez(path, np.array([name for name, _ in arrays]), *(array for _, array in arrays), allow_pickle=False)


def load(path: str | Path) -> Named:
    """Return what ``save`` wrote."""
    with np.load(path) as held:
        names, *arrays = held.values()
        return list(zip(names.tolist(), arrays, strict=True))


def _main(path: str) -> None:
    limit_memory()
    request = Request(**json.loads(Path(path).read_text()))
    runner: Any = _Ir(request) if request.in_openvino else _Onnx(request)
    if not Path(request.inputs).exists():
        save(request.inputs, _made(runner.inputs(), request))
    results = runner.run(_fitting(load(request.inputs), runner.inputs()))
    save(request.outputs, results[: runner.count])
    if request.tensors:
        save(request.found, results[runner.count :])


def limit_memory() -> None:
    """Keep this process from taking all of the machine's memory."""
    with suppress(ImportError, ValueError, OSError):  # not on Windows, nor beyond the user's own limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))


def _made(inputs: dict[str, tuple[list[int | None], str]], request: Request) -> Named:
    """Return arrays for the inputs (name to lengths and dtype), seeded: floats in [0, 1), integers of a pixel or 0, 1.

    Other integers are often indices, and larger ones would lie beyond what they index.
    """
    request = _with_names(request, list(inputs))
    for name in (*request.shapes, *request.files):
        if name not in inputs:
            raise IrInterpError(f"no input {name!r}; the inputs are {', '.join(inputs)}")
    rng = np.random.default_rng(0)
    return [(name, _input(rng, name, *described, request)) for name, described in inputs.items()]


def _with_names(request: Request, inputs: list[str]) -> Request:
    """Return a request in which the only input has its name, where its shape is given without."""
    if "" not in request.shapes or "" in inputs:
        return request
    if len(inputs) != 1:
        raise IrInterpError(f"a shape is given without a name; the inputs are {', '.join(inputs)}")
    return replace(request, shapes={name or inputs[0]: shape for name, shape in request.shapes.items()})


def _input(
    rng: np.random.Generator, name: str, lengths: list[int | None], dtype: str, request: Request
) -> NDArray[Any]:
    wanted = f"input {name!r} is {dtype} of shape [{', '.join('?' if n is None else str(n) for n in lengths)}]"
    if name in request.files:
        return _read(request.files[name], wanted, lengths, dtype)
    shape = request.shapes.get(name, _sensible(lengths))
    if not _fits(shape, lengths):
        raise IrInterpError(f"no {dtype} of shape {shape}; {wanted}")
    if name in request.values:
        return np.array(request.values[name], dtype)
    return _random(rng, shape, np.dtype(dtype))


def _sensible(lengths: Sequence[int | None]) -> list[int]:
    """Return lengths in place of dynamic ones: 1 for the first axis, which is the batch."""
    dynamic = [1, *[_DYNAMIC_LENGTH] * len(lengths)]
    return [dynamic[axis] if length is None else length for axis, length in enumerate(lengths)]


def _fitting(arrays: Named, inputs: dict[str, tuple[list[int | None], str]]) -> list[NDArray[Any]]:
    """Return arrays in the order of the inputs of a model, which may not be the one that they were made for.

    They go by name where all have one, else by place; floating point numbers become those that the model takes.
    """
    if len(arrays) != len(inputs):
        raise IrInterpError(f"{len(inputs)} inputs ({', '.join(inputs)}), but {len(arrays)} are given")
    by_name = dict(arrays)
    in_order = [by_name[name] for name in inputs] if by_name.keys() == inputs.keys() else list(by_name.values())
    dtypes = (np.dtype(dtype) for _, dtype in inputs.values())
    return [
        array.astype(dtype) if array.dtype.kind == dtype.kind == "f" else array
        for array, dtype in zip(in_order, dtypes, strict=True)
    ]


def _read(file: str, wanted: str, lengths: list[int | None], dtype: str) -> NDArray[Any]:
    try:
        check_regular(Path(file))
        array = np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise IrInterpError(f"{file}: not an array (.npy): {error}") from None
    if not _fits(array.shape, lengths) or array.dtype != dtype:
        raise IrInterpError(f"{file}: {array.dtype} of shape {list(array.shape)}; {wanted}")
    return np.asarray(array)


def _fits(shape: Sequence[int], lengths: Sequence[int | None]) -> bool:
    return len(shape) == len(lengths) and all(m >= 0 and n in (None, m) for m, n in zip(shape, lengths, strict=True))


def _random(rng: np.random.Generator, shape: list[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    if dtype.kind not in "iu":
        return rng.random(shape).astype(dtype) if dtype.kind == "f" else rng.integers(0, 2, shape).astype(dtype)
    bounds = np.iinfo(dtype) if dtype.itemsize == 1 else None
    return rng.integers(bounds.min if bounds else 0, bounds.max if bounds else 1, shape, dtype, endpoint=True)


class _Onnx:
    """A model in onnxruntime; ``count`` is the number of its own outputs, more tensors follow."""

    def __init__(self, request: Request) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        folder = str(Path(request.model).parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        model, self.count, self._names = _with_outputs(request)
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def inputs(self) -> dict[str, tuple[list[int | None], str]]:
        names = {"float": "float32", "double": "float64"}
        return {
            each.name: (
                [length if isinstance(length, int) and length >= 0 else None for length in each.shape],
                names.get(kind := each.type[len("tensor(") : -1], kind),
            )
            for each in self._session.get_inputs()
        }

    def run(self, arrays: list[NDArray[Any]]) -> Named:
        names = [each.name for each in self._session.get_inputs()]
        results = self._session.run(None, dict(zip(names, arrays, strict=True)))
        return list(zip(self._names, results, strict=True))


def _with_outputs(request: Request) -> tuple[bytes, int, list[str]]:
    """Return the model with more tensors after its outputs, the number of its own, and the names of all."""
    import onnx

    model = onnx.load(request.model, load_external_data=False)
    own = [each.name for each in model.graph.output]
    made = {each.name for each in model.graph.input}.union(*(node.output for node in model.graph.node))
    shown = [name for name in request.tensors if name in made]
    for index, name in enumerate(shown):
        alias = f"{name}/{index}"  # an output once more would be refused
        model.graph.node.append(onnx.helper.make_node("Identity", [name], [alias]))
        model.graph.output.append(onnx.ValueInfoProto(name=alias))
    return bytes(model.SerializeToString()), len(own), own + shown


class _Ir:
    """An IR, or an ONNX model, in OpenVINO's CPU plugin, in float32; ``count`` is as above."""

    def __init__(self, request: Request) -> None:
        with openvino_silent():
            import openvino

        model = openvino.Core().read_model(request.model)
        self.count = len(model.outputs)
        own = [min(each.get_names(), default=f"output{index}") for index, each in enumerate(model.outputs)]
        found = [name for name in request.tensors if self._shows(model, name)]
        self._names = own + found
        self._model = openvino.Core().compile_model(model, "CPU", _AS_WRITTEN)

    @staticmethod
    def _shows(model: Any, name: str) -> bool:
        """Make a tensor an output, and say whether it is there: some are folded or fused away."""
        from openvino import opset13

        for node in model.get_ordered_ops():
            for output in node.outputs():
                names = output.get_names() or {node.get_friendly_name()}
                if name in names and node.get_type_name() != "Result":
                    model.add_results([opset13.result(output)])
                    return True
        return False

    def inputs(self) -> dict[str, tuple[list[int | None], str]]:
        return {
            f"input{index}" if not each.names else sorted(each.names)[0]: (
                [length.get_length() if length.is_static else None for length in each.get_partial_shape()],
                np.dtype(each.get_element_type().to_dtype()).name,
            )
            for index, each in enumerate(self._model.inputs)
        }

    def run(self, arrays: list[NDArray[Any]]) -> Named:
        results = self._model(arrays)
        return [(name, results[index]) for index, name in enumerate(self._names)]


if __name__ == "__main__":
    try:
        _main(sys.argv[1])
    except IrInterpError as error:
        print(error, file=sys.stderr)
        sys.exit(USAGE)
    except Exception as error:  # whatever a runtime throws, of several lines
        print(" ".join(str(error).split()) or type(error).__name__, file=sys.stderr)
        sys.exit(1)
