"""The operators of a quantised TFLite model against LiteRT, each by itself on the values that LiteRT computes.

As a whole, a level that rounds the other way in one operator changes others, so that the outputs prove little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from ir_interp.errors import VerificationError

from ..openvino.from_tflite import build
from ..openvino.ir_save import save
from ..sources.tflite import interpreter, twins
from ..sources.tflite.tflite_files import read_file
from ..sources.tflite.twins import Value
from ..verify.compare.array_differences import compare, largest_difference
from ..verify.run import array_files, requests
from ..verify.run.runners import INPUTS, OUTPUTS, Request

Array = NDArray[Any]
_HALF_LEVEL = 0.5 + 2**-6  # of a value from its level: OpenVINO's float32 sums differ by the last bits
_MOVES = ("Convert", "Transpose", "Reshape", "Squeeze", "Unsqueeze")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How many levels operators compute, and how many of them round the other way."""

    operators: int
    levels: int
    flipped: int

    def __str__(self) -> str:
        flipped = f"{self.flipped} of {self.levels} levels round the other way, at edges only"
        return f"each of {self.operators} values of operators equals LiteRT's: {flipped}"


def prove(source: Path, arrays: Sequence[Array], folder: Path) -> Proof:
    """Return how the operators of a file compare in OpenVINO and in LiteRT, on ``arrays`` as its inputs.

    Raises VerificationError that names the first operator that differs.
    """
    shown = twins.values(source)
    expected = interpreter.outputs(_written(folder / source.name, twins.showing(source, shown)), arrays)
    names = [tensor.name for tensor in read_file(source).inputs if tensor is not None]
    shapes = dict(zip(names, (array.shape for array in arrays), strict=True))
    shapes |= {tensor.name: array.shape for tensor, array in zip(shown, expected, strict=True)}
    model = build(_written(folder / "operators.tflite", twins.apart(source, shown, shapes))).model
    _unrounded(model, shown)
    save(model, folder / "operators.xml")
    actual = _run(folder / "operators.xml", folder, [*arrays, *expected])
    pairs = list(zip(shown, expected, actual, strict=True))
    flipped = sum(_compared(source.name, *pair) for pair in pairs)
    levels = sum(array.size for tensor, array, _ in pairs if tensor.scale is not None)
    return Proof(operators=len(pairs), levels=levels, flipped=flipped)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _unrounded(model: ov.Model, shown: Sequence[Value]) -> None:
    """Let the outputs of a model be the real values that are rounded to levels."""
    for tensor, result in zip(shown, model.get_results(), strict=True):
        moves, output = [], result.input_value(0)
        while output.get_node().get_type_name() in _MOVES:
            moves.append(output.get_node())
            output = output.get_node().input_value(0)
        rounding = output.get_node()
        if tensor.scale is not None and rounding.get_type_name() == "FakeQuantize":
            for node in (rounding, *(move for move in moves if move.get_type_name() == "Convert")):
                for reader in node.output(0).get_target_inputs():
                    reader.replace_source_output(node.input_value(0))
    model.validate_nodes_and_infer_types()


def _run(model: Path, folder: Path, arrays: Sequence[Array]) -> list[Array]:
    array_files.save(folder / INPUTS, [(str(place), array) for place, array in enumerate(arrays)])
    requests.answer(Request(model=model, folder=folder, in_openvino=True), float(sum(array.nbytes for array in arrays)))
    return [array for _, array in array_files.load(folder / OUTPUTS)]


def _compared(file: str, value: Value, expected: Array, actual: Array) -> int:
    """Return how many levels round the other way. Raises VerificationError for other differences."""
    where = f"{file}: {value.operator} that computes {value.label!r}"
    if expected.shape != actual.shape:
        raise VerificationError(f"{where} has shape {list(actual.shape)}, in LiteRT {list(expected.shape)}")
    if value.scale is None:
        compared = compare(value.label, expected, actual)
        if not compared.passes:
            raise VerificationError(f"{where} {compared.difference} from LiteRT")
        return 0
    if actual.dtype.kind == "f":
        ends = np.iinfo(expected.dtype)
        places = np.clip(actual.astype(np.float64) / value.scale + value.zero, ends.min, ends.max)
    else:
        places = actual.astype(np.float64)
    apart = np.abs(places - expected)
    if not apart.max(initial=0) <= _HALF_LEVEL:
        raise VerificationError(f"{where} differs from LiteRT by {apart.max():.3g} levels before rounding")
    return int((np.rint(places) != expected).sum())


def whole(source: Path, arrays: Sequence[Array], outputs: Sequence[Array], proof: Proof) -> str:
    """Return how far the outputs of a conversion differ from LiteRT's as a whole, as a note.

    Raises VerificationError if they do although no level of any operator rounds the other way.
    """
    expected = interpreter.outputs(source, arrays)
    apart = max(map(largest_difference, expected, outputs), default=0.0)
    if not proof.flipped and not all(compare("", *pair).passes for pair in zip(expected, outputs, strict=True)):
        raise VerificationError(f"as a whole it differs from {source.name} in LiteRT by {apart:.3g}")
    return f"as a whole it differs by {apart:.3g}"
