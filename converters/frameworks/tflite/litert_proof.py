"""The proof that an IR computes what LiteRT computes of a TFLite model.

The operators of a quantised model are compared with LiteRT, each by itself on the values that LiteRT computes. As a
whole, a level that rounds the other way in one operator changes others, so that the outputs prove little. Then LiteRT's
operators also run on the values that OpenVINO computes as a whole, and must make the same, or a level beside it. The
values that OpenVINO rounds to levels must equal those of LiteRT's float kernels on the same inputs. LiteRT's integer
kernels multiply by fixed-point numbers instead, and so decide some levels otherwise than its own float kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.files.writing import scratch
from ir_interp.shapes import Array

from ...openvino.ir_save import save
from ...reports import Compared, Progress
from ...verify import run_request, tolerances
from ...verify.input_shapes import Extent
from ...verify.inputs import Inputs
from ...verify.processes import Runner, answer, models
from ...verify.references import channels_last
from ...verify.run_request import INPUTS, OUTPUTS, Named, Request
from ...verify.tolerances import allowing_noise, compare, largest_difference
from ...verify.trials import trials_of
from ...workers import forks
from . import frontend, reading
from .frontend import build
from .reading import Value
from .tflite_files import KINDS, Quantisation, is_quantised, read_file

_MOVES = ("Convert", "Transpose", "Reshape", "Squeeze", "Unsqueeze")
_KEEPING = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")
"""Operators of which the unrounded model shows levels: OpenVINO 2026.4 overwrites a tensor that a Convolution reads
behind a Transpose, and whose Reshape is an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How many levels operators compute, how many of them round the other way, and how far from an edge at most."""

    operators: int
    levels: int
    flipped: int
    furthest: float

    def __str__(self) -> str:
        at = f", up to {self.furthest:.2g} levels from an edge" if self.flipped else ""
        return (
            f"each of {self.operators} values of operators equals that of LiteRT's float kernels: "
            f"{self.flipped} of {self.levels} levels round the other way in its integer kernels{at}"
        )

    @classmethod
    def over(cls, proofs: Sequence[Proof]) -> Proof:
        """Return the proof of the same operators on several inputs."""
        return cls(
            operators=max(proof.operators for proof in proofs),
            levels=sum(proof.levels for proof in proofs),
            flipped=sum(proof.flipped for proof in proofs),
            furthest=max(proof.furthest for proof in proofs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """How far the outputs of a whole model are apart, and how far where OpenVINO works in 8 bits, if that was tried.

    ``flipped`` is how many levels round the other way in LiteRT's operators on OpenVINO's own values, if these explain
    the difference; None if it is within the tolerance.
    """

    apart: float
    in_8_bits: float | None = None
    flipped: int | None = None

    def __str__(self) -> str:
        if self.flipped is not None:
            why = f"which {self.flipped} levels explain that round the other way on OpenVINO's own values"
            return f"as a whole it differs by {self.apart:.3g}, {why}"
        if self.in_8_bits is None:
            return f"as a whole it differs by {self.apart:.3g}"
        return f"as a whole it differs by {self.in_8_bits:.3g} where OpenVINO works in 8 bits, else by {self.apart:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """A value that an operator computes: LiteRT's ``expected``, OpenVINO's ``rounded``, and that before rounding.

    ``in_floats`` is that of LiteRT's float kernels; None if it has none for some operator of the file. ``moves`` is how
    far these and its reference kernels differ from each other: the noise of their sums.
    """

    value: Value
    expected: Array
    rounded: Array
    real: Array
    in_floats: Array | None
    moves: float


def operators_proven(source: Path, arrays: Sequence[Array]) -> Proof:
    """Return how the operators of a file compare in OpenVINO and in LiteRT, on ``arrays`` as its inputs.

    Raises VerificationError that names the first operator that differs.
    """
    results = _results(source, arrays)
    flips = [flip for result in results for flip in _flips(source.name, result)]
    return Proof(
        operators=len(results),
        levels=sum(result.expected.size for result in results if result.value.scale is not None),
        flipped=len(flips),
        furthest=max(flips, default=0.0),
    )


def _results(source: Path, arrays: Sequence[Array]) -> list[_Result]:
    """Return the values of all operators, each computed from LiteRT's own values."""
    shown = reading.values(source)
    with scratch() as folder:
        expected = reading.outputs(reading.showing(source, shown, folder), arrays)
    inputs = [tensor for tensor in read_file(source).inputs if tensor is not None]
    shapes = {tensor.name: array.shape for tensor, array in zip(inputs, arrays, strict=True)}
    shapes |= {tensor.name: array.shape for tensor, array in zip(shown, expected, strict=True)}
    with scratch() as folder:
        operators = reading.apart(source, shown, shapes, folder)
        rounded = _run(_built(operators, folder / "rounded"), [*arrays, *expected])
        real = _run(_unrounded(_built(operators, folder / "unrounded"), shown), [*arrays, *expected])
    operands = [_of_levels(array, tensor.quantisation) for tensor, array in zip(inputs, arrays, strict=True)]
    operands += [_real(array, tensor) for tensor, array in zip(shown, expected, strict=True)]
    with scratch() as folder:
        twin = reading.apart_in_float32(source, shown, shapes, folder)
        floats, others = (_in_floats(twin, operands, by_reference=by_reference) for by_reference in (False, True))
    in_floats: Sequence[Array | None] = floats if floats is not None else [None] * len(shown)
    return [
        _Result(value=value, expected=levels, rounded=mine, real=unrounded, in_floats=in_float, moves=moves)
        for value, levels, mine, unrounded, in_float, moves in zip(
            shown, expected, rounded, real, in_floats, _moves(floats, others, len(shown)), strict=True
        )
    ]


def _built(source: Path, folder: Path) -> ov.Model:
    folder.mkdir()
    return build(source, folder).model


def _real(levels: Array, value: Value) -> Array:
    """Return the real values of levels; floats as they are."""
    if value.scale is None:
        return levels
    return np.asarray((levels.astype(np.float64) - value.zero) * value.scale, np.float32)


def _of_levels(array: Array, quantisation: Quantisation) -> Array:
    """Return the real values of an input, if it is one of levels."""
    if not quantisation.scales or array.dtype.kind == "f":
        return array
    return np.asarray((array.astype(np.float64) - quantisation.zeros[0]) * quantisation.scales[0], np.float32)


def _in_floats(twin: Path, arrays: Sequence[Array], *, by_reference: bool) -> list[Array] | None:
    """Return what LiteRT's float kernels compute; None if it has none for some operator."""
    try:
        return reading.outputs(twin, arrays, by_reference=by_reference)
    except IrInterpError:
        return None


def _moves(floats: Sequence[Array] | None, others: Sequence[Array] | None, count: int) -> list[float]:
    """Return how far each value differs between LiteRT's kernels; 0 if it does not have both."""
    if floats is None or others is None:
        return [0.0] * count
    return [largest_difference(*pair) for pair in zip(floats, others, strict=True)]


def _unrounded(model: ov.Model, shown: Sequence[Value]) -> ov.Model:
    """Return a model whose outputs became the real values that are rounded to levels."""
    for tensor, result in zip(shown, model.get_results(), strict=True):
        moves, output = [], result.input_value(0)
        while output.get_node().get_type_name() in _MOVES:
            moves.append(output.get_node())
            output = output.get_node().input_value(0)
        real = frontend.unrounded(output)
        if tensor.scale is not None and tensor.operator not in _KEEPING and real is not None:
            _bypass(output, real)
            for convert in (move for move in moves if move.get_type_name() == "Convert"):
                _bypass(convert.output(0), convert.input_value(0))
    model.validate_nodes_and_infer_types()
    return model


def _bypass(output: ov.Output, source: ov.Output) -> None:
    """Let the readers of ``output`` read ``source``."""
    for reader in output.get_target_inputs():
        reader.replace_source_output(source)


def _run(model: ov.Model, arrays: Sequence[Array]) -> list[Array]:
    with scratch() as folder:
        path = folder / "operators.xml"
        save(model, path)
        run_request.save_arrays(folder / INPUTS, [(str(place), array) for place, array in enumerate(arrays)])
        request = Request(model=path, folder=folder, in_openvino=True)
        answer(request, float(sum(array.nbytes for array in arrays)))
        return [array for _, array in run_request.load_arrays(folder / OUTPUTS)]


def _flips(file: str, result: _Result) -> list[float]:
    """Return how far from an edge between two levels each value lies that LiteRT rounds the other way.

    Raises VerificationError for other differences.
    """
    value, expected = result.value, result.expected
    where = f"{file}: {value.operator} that computes {value.label!r}"
    for actual in (result.rounded, result.real):
        if expected.shape != actual.shape:
            raise VerificationError(f"{where} has shape {list(actual.shape)}, in LiteRT {list(expected.shape)}")
    if value.scale is None:
        compared = allowing_noise(compare(value.label, expected, result.real), result.moves)
        if not compared.passes:
            raise VerificationError(f"{where} {compared.difference} from LiteRT")
        return []
    places, levels = (_places(array, value, expected.dtype) for array in (result.real, result.rounded))
    _check_rounding(where, places, levels)
    if result.in_floats is not None and value.operator not in KINDS:
        compared = _compared(result, _places(result.in_floats, value, expected.dtype), places)
        if not compared.passes:
            apart = compared.absolute / value.scale
            raise VerificationError(f"{where} differs from LiteRT's float kernel by {apart:.3g} levels")
        most = 1
    else:  # a resize, whose integers are LiteRT's; or it is unknown how far integer kernels are off
        most = 0
    # A kernel in integers may round a value about halfway between two levels to the other: one level, no more.
    off = np.abs(np.rint(levels) - expected)
    if off.max(initial=0) > most:
        raise VerificationError(f"{where} differs from LiteRT by {off.max():.0f} levels")
    return [float(distance) for distance in np.abs(np.abs(places - expected) - 0.5)[off > 0]]


def _compared(result: _Result, expected: NDArray[np.float64], actual: NDArray[np.float64]) -> Compared:
    """Return how the real values at places among levels compare, as those of any output do.

    They need not be nearer than float32 tells places among levels apart.
    """
    value = result.value
    assert value.scale is not None
    real, others = ((places - value.zero) * value.scale for places in (expected, actual))
    least = float(_last_bits(expected, expected).max(initial=0)) * value.scale
    return allowing_noise(compare(value.label, real, others, tolerances.OUTPUT, least=least), result.moves)


def _last_bits(places: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far float32 may misplace values among levels: it grows with both, which enter the quotient."""
    return np.asarray(tolerances.QUANTISING * (np.abs(places) + np.abs(levels).max(initial=1)))


def _places(array: Array, value: Value, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return where values lie among levels, within those of an element type; integers are levels."""
    assert value.scale is not None
    places = array.astype(np.float64)
    if array.dtype.kind == "f":
        # In float64, so that the place among levels has only the errors of the values themselves.
        places = places / value.scale + value.zero
    ends = np.iinfo(dtype)
    return np.clip(places, ends.min, ends.max)


def _check_rounding(where: str, places: NDArray[np.float64], levels: NDArray[np.float64]) -> None:
    """Raise VerificationError if the converted operator rounds to other levels than those of the file."""
    on_levels = np.abs(levels - np.rint(levels)) <= tolerances.LEVEL
    if not (on_levels & (np.abs(places - np.rint(levels)) <= 0.5 + _last_bits(places, levels))).all():
        raise VerificationError(f"{where} is rounded to other levels than those of the file")


def compared_whole(
    source: Path,
    arrays: Sequence[Array],
    outputs: Sequence[Array],
    proof: Proof,
    in_8_bits: Callable[[], Sequence[Array]],
) -> Whole:
    """Return how far the outputs of a conversion differ from LiteRT's as a whole.

    ``in_8_bits`` returns those that OpenVINO computes by default: otherwise 2026.4 overwrites some tensors. Raises
    VerificationError if both differ although no level of any operator rounds the other way, or by more than such levels
    explain.
    """
    expected = reading.outputs(source, arrays)
    apart = _apart(expected, outputs)
    if _passes(expected, outputs):
        return Whole(apart=apart)
    if proof.flipped:
        return Whole(apart=apart, flipped=_flipped_step_by_step(source, arrays, outputs))
    others = in_8_bits()
    if not _passes(expected, others):
        raise VerificationError(f"as a whole it differs from {source.name} in LiteRT by {apart:.3g}")
    return Whole(apart=apart, in_8_bits=_apart(expected, others))


def _flipped_step_by_step(source: Path, arrays: Sequence[Array], outputs: Sequence[Array]) -> int:
    """Return how many levels LiteRT's operators round otherwise than a conversion, each on the conversion's own values.

    A level that rounds the other way changes all that follow, by more than any tolerance. But each of them is what
    LiteRT's operator makes of the changed values, or a level beside it. Raises VerificationError that names the first
    operator of which this is not so, or if ``outputs`` are not those of these values.
    """
    shown = reading.values(source)
    with scratch() as folder:
        whole = reading.showing(source, shown, folder)
        like = reading.outputs(whole, arrays)
        actual = _run(_built(whole, folder / "built"), arrays)
    own = [_as_levels(*each) for each in zip(actual, shown, like, strict=True)]
    inputs = [tensor for tensor in read_file(source).inputs if tensor is not None]
    shapes = {tensor.name: array.shape for tensor, array in zip(inputs, arrays, strict=True)}
    shapes |= {tensor.name: array.shape for tensor, array in zip(shown, own, strict=True)}
    with scratch() as folder:
        expected = reading.outputs(reading.apart(source, shown, shapes, folder), [*arrays, *own])
    flipped = sum(_beside(source.name, *each) for each in zip(shown, expected, own, strict=True))
    known = {value.label: array for value, array in zip(shown, own, strict=True)}
    ends = [tensor.name for tensor in read_file(source).outputs if tensor is not None]
    for name, output in zip(ends, outputs, strict=True):
        if name in known and not compare("", known[name], output).passes:
            raise VerificationError(f"{source.name}: output {name!r} does not follow from OpenVINO's own values")
    return flipped


def _as_levels(array: Array, value: Value, like: Array) -> Array:
    """Return a value of OpenVINO as a tensor of LiteRT."""
    if value.scale is None:
        return array.astype(like.dtype).reshape(like.shape)
    return np.rint(_places(array, value, like.dtype)).astype(like.dtype).reshape(like.shape)


def _beside(file: str, value: Value, expected: Array, own: Array) -> int:
    """Return how many levels of a value are beside those of LiteRT; raise VerificationError for any further away."""
    where = f"{file}: {value.operator} that computes {value.label!r}"
    if value.scale is None:
        if not compare(value.label, expected, own).passes:
            raise VerificationError(f"{where} differs from LiteRT on OpenVINO's own values")
        return 0
    off = np.abs(own.astype(np.int64) - expected.astype(np.int64))
    if off.max(initial=0) > 1:
        raise VerificationError(f"{where} differs from LiteRT by {off.max()} levels on OpenVINO's own values")
    return int((off > 0).sum())


def _apart(expected: Sequence[Array], outputs: Sequence[Array]) -> float:
    return max(map(largest_difference, expected, outputs), default=0.0)


def _passes(expected: Sequence[Array], outputs: Sequence[Array]) -> bool:
    return all(compare("", *pair).passes for pair in zip(expected, outputs, strict=True))


def proof_of(source: Path, moves_channels: bool) -> Callable[[Path, Inputs, Progress], str] | None:
    """Return the proof of a model that is computed in levels; None for one that is computed in floats.

    ``moves_channels`` is whether the proven model has channels second.
    """
    return partial(_prove, source, moves_channels) if is_quantised(read_file(source)) else None


def _prove(source: Path, moves_channels: bool, model: Path, inputs: Inputs, progress: Progress) -> str:
    def of_litert(named: Named) -> list[Array]:
        arrays = [array for _, array in named]
        return channels_last(arrays) if moves_channels else arrays

    proofs: list[Proof] = []
    wholes: list[Whole] = []
    with scratch() as folder, forks():
        for trials in trials_of(models(model, model, inputs), folder, progress):
            # LiteRT's sizes are those of the file, and other random floats are tried only for want of a proof.
            if trials.extent is not Extent.REAL or trials.is_another:
                continue
            outputs, arrays = of_litert(trials.settle(model)[0]), of_litert(trials.run.arrays)
            progress(f"running {source.name}", 0, 0)
            try:
                proofs.append(operators_proven(source, arrays))
                in_8_bits = partial(_by_default, trials.run, model, of_litert)
                wholes.append(compared_whole(source, arrays, outputs, proofs[-1], in_8_bits))
            except VerificationError as error:
                raise VerificationError(f"{error}; nothing was written") from None
    return f"{Proof.over(proofs)}; {max(wholes, key=lambda whole: whole.apart)}"


def _by_default(run: Runner, model: Path, of_litert: Callable[[Named], list[Array]]) -> list[Array]:
    """Return the outputs that OpenVINO computes by default, on the inputs of a run."""
    return of_litert(run(model, by_default=True)[0])
