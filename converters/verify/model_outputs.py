"""The outputs of two models on the same inputs, and models and inputs changed so that outputs can be compared.

``ModelOutputs`` is the argument of every rung of the ladder. Then outputs whose order last bits decide: rows of
detectors, and what follows from nearly equal scores. Then models in one precision, and values moved by as much as
float32 sums are off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError
from ir_interp.files.kinds import FileKind, bytes_of
from ir_interp.files.snapshots import copy_file
from ir_interp.ir import ir_files
from ir_interp.shapes import Array

from ..onnx import low_precision
from ..reports import Compared, Verification
from ..runtimes.execution import save_model
from . import tolerances
from .graphs import Graph, Step
from .processes import Runner
from .run_request import Named
from .tolerances import all_pass, compare_all, largest_difference


class SegmentError(VerificationError):
    """A segment of a model differs on the source's own values: the error is inside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutputs:
    """A source and a result, and their outputs in the order of the source: ``expected`` and ``actual``.

    ``has_half_weights`` means that the result's weights are rounded to half precision. ``tolerance`` is relative, by
    default that of the element types; ``comparisons`` use it. Raises VerificationError if the models
    have different numbers of outputs.
    """

    run: Runner
    source: Path
    result: Path
    expected: Named
    actual: Named
    has_half_weights: bool = False
    tolerance: float | None = None
    comparisons: tuple[Compared, ...] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.expected) != len(self.actual):
            counts = f"{len(self.actual)} outputs, its source {len(self.expected)}"
            raise VerificationError(f"{self.result.name} has {counts}")
        comparisons = compare_all(self.expected, self.actual, tolerance=self.tolerance)
        object.__setattr__(self, "comparisons", comparisons)  # the dataclass is frozen

    def self_difference(self) -> str:
        """Return the source's difference from itself without graph optimisation, as text: it is only reported."""
        try:
            apart = f"{outputs_difference(self.expected, self.run(self.source, optimised=False)[0]):.3g}"
        except VerificationError:
            apart = "an unknown amount"
        return f"the source differs from itself by {apart}"


def outputs_difference(expected: Named, actual: Named) -> float:
    """Return the largest difference between outputs, infinite if their shapes differ."""
    pairs = [(mine, theirs) for (_, mine), (_, theirs) in zip(expected, actual, strict=True)]
    if any(mine.shape != theirs.shape for mine, theirs in pairs):
        return np.inf
    return max((largest_difference(*pair) for pair in pairs), default=0.0)


# Rung 4: outputs of detectors, rows of boxes, scores and classes, which are sets of rows rather than arrays.

_SORTS = ("topk", "nonmaxsuppression", "nms", "detectionoutput", "detectron", "proposal", "ctcgreedy")
_MOST_ROWS = 4096  # rows searched elsewhere: each is compared with all others
Rows = NDArray[np.float64]


def prove(outputs: ModelOutputs) -> Verification | None:
    """Return the comparisons of outputs whose rows only change places at ties; None for other differences."""
    if not sorts(outputs.run.models.graph):
        return None
    rows = aligned(outputs.expected, outputs.actual)
    comparisons = compare_all(outputs.expected, rows.outputs)
    return Verification(outputs=comparisons, note=rows.note) if all_pass(comparisons) else None


def compare_aligned(expected: Named, actual: Named, graph: Graph) -> tuple[Compared, ...]:
    """Return how outputs compare once tied rows stand in the same places, if the model sorts; remarks name them."""
    rows = aligned(expected, actual) if sorts(graph) else Aligned(outputs=actual)
    comparisons = compare_all(expected, rows.outputs, least=tolerances.coordinate_error)
    return tuple(replace(comparison, remark=rows.note) for comparison in comparisons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """Outputs with rows in the other model's order; ``note`` describes the moves, empty if there are none."""

    outputs: Named
    note: str = ""


def sorts(graph: Graph) -> bool:
    """Return whether a model sorts anything by value, so that ties may change places."""
    return any(word in step.type for step in graph.steps for word in _SORTS)


def aligned(expected: Named, actual: Named) -> Aligned:
    """Return ``actual`` with its rows in the order of ``expected``, if the same rows are there and only ties moved.

    Outputs of as many rows belong together: [n], [n, k], or these behind axes of size 1. Two rows are the same if
    all their numbers are, within the tolerance times the largest of an output; they tie if their scores, the descending
    columns, differ by no more than that. At the end of the list a different row of a tie may appear.
    """
    outputs, notes = dict(enumerate(actual)), []
    for places in _groups(expected, actual):
        mine, theirs = ([_rows(outputs[place][1]) for place in places] for outputs in (expected, actual))
        order, note = _order(mine, theirs)
        if note:
            for place, rows, others in zip(places, mine, theirs, strict=True):
                in_order = np.where((order < 0)[:, None], rows, others[np.maximum(order, 0)])
                name, array = actual[place]
                outputs[place] = name, in_order.astype(array.dtype).reshape(array.shape)
            notes.append(f"{note} in {', '.join(repr(expected[place][0]) for place in places)}")
    return Aligned(outputs=list(outputs.values()), note="; ".join(notes))


def _groups(expected: Named, actual: Named) -> list[list[int]]:
    """Return which outputs have rows that belong together."""
    groups: dict[int, list[int]] = {}
    for place, ((_, mine), (_, theirs)) in enumerate(zip(expected, actual, strict=True)):
        shape = _without_ones(mine.shape)
        if mine.shape == theirs.shape and len(shape) in (1, 2) and shape[0] > 1 and mine.dtype.kind in "iufb":
            groups.setdefault(shape[0], []).append(place)
    return list(groups.values())


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    leading = next((axis for axis, length in enumerate(shape) if length != 1), len(shape))
    return shape[leading:]


def _rows(array: Array) -> Rows:
    return array.reshape(_without_ones(array.shape)[0], -1).astype(np.float64)


def _order(expected: Sequence[Rows], actual: Sequence[Rows]) -> tuple[NDArray[np.intp], str]:
    """Return which row of ``actual`` belongs where, -1 where a tie at the end lacks it, and a note of the moves.

    The note is empty if nothing moved, or more than ties did.
    """
    limits = np.concatenate([np.full(scores.shape[1], tolerances.OUTPUT * np.abs(scores).max()) for scores in expected])
    mine, theirs = np.concatenate(expected, axis=1), np.concatenate(actual, axis=1)
    order = np.arange(len(mine))
    moved = np.flatnonzero(~(np.abs(mine - theirs) <= limits).all(axis=1))
    if not moved.size or len(moved) > _MOST_ROWS:
        return order, ""
    left = moved.tolist()
    for row in moved:  # only rows that moved can be each other's partners
        same = [other for other in left if (np.abs(mine[row] - theirs[other]) <= limits).all()]
        order[row] = same[0] if same else -1
        left = [other for other in left if other != order[row]]
    lost, matched = moved[order[moved] < 0], moved[order[moved] >= 0]
    for column in _scores(mine, limits):
        score, limit = mine[:, column], 2 * limits[column]  # each of two scores is off by the limit at most
        apart = float(np.abs(score[matched] - score[order[matched]]).max(initial=0.0))
        ends = np.concatenate([score[lost], theirs[left, column]])  # they must tie with the last row
        if apart <= limit and (np.abs(ends - score[-1]) <= limit).all():
            more = f", {len(lost)} tied with the last are different rows" if len(lost) else ""
            return order, f"{len(matched)} rows of scores no further apart than {apart:.3g} change places{more}"
    has_ties = not len(lost) and not _scores(mine, limits)
    return order, f"{len(matched)} rows in another order" if has_ties else ""


def _scores(rows: Rows, limits: Rows) -> list[int]:
    """Return the columns whose values descend, and are not all the same."""
    descending = ((np.diff(rows, axis=0) <= limits).all(axis=0), np.ptp(rows, axis=0) > limits)
    return np.flatnonzero(descending[0] & descending[1]).tolist()


# Orders that last bits decide: outputs that follow from nearly equal scores prove nothing about a model.

_SORT = "topk"  # of ONNX and OpenVINO


def undecided(run: Runner, model: Path) -> dict[str, str]:
    """Return the outputs of a model that follow from scores too near to each other, each with that reason.

    Two scores are too near if both may be off by the tolerance of outputs, and then change places among those that a
    TopK returns, or at the end of these.
    """
    graph = run.models.read(model)
    sorts = [step for step in graph.steps if step.type == _SORT]
    if not sorts:
        return {}
    _, tensors = run(model, list(dict.fromkeys(name for step in sorts for name in (step.inputs[0], *step.outputs))))
    reasons: dict[str, str] = {}
    for step in sorts:
        scores = tensors.get(step.inputs[0])
        ranked = next((tensors[name] for name in step.outputs if name in tensors), None)
        if scores is None or ranked is None:
            continue
        apart, limit = _nearest(scores, ranked.shape, step)
        if apart <= limit:
            name = next(filter(None, step.outputs))
            reason = f"the TopK that computes {name!r} ranks scores {apart:.2g} apart, so last bits decide their order"
            reasons = dict.fromkeys(_followers(graph, step.outputs), reason) | reasons
    return {name: reasons[name] for name in graph.outputs if name in reasons}


def _nearest(scores: Array, ranked: tuple[int, ...], step: Step) -> tuple[float, float]:
    """Return the least distance of two scores in sequence, up to the first that is not returned, and the limit."""
    axis = int(step.attributes.get("axis", -1))
    is_descending = step.attributes.get("largest", 1) and step.attributes.get("mode", "max") == "max"
    wide = np.moveaxis(scores, axis, -1).astype(np.float64)
    in_order = np.sort(-wide if is_descending else wide, axis=-1)[..., : ranked[axis] + 1]
    apart = float(np.diff(in_order, axis=-1).min(initial=np.inf))
    return apart, 2 * tolerances.OUTPUT * float(np.abs(wide).max(initial=0.0))


def _followers(graph: Graph, names: Iterable[str]) -> set[str]:
    """Return the tensors that are computed from some tensors, these included."""
    followers = set(names)
    for step in graph.steps:
        if not followers.isdisjoint(step.inputs):
            followers.update(step.outputs)
    return followers


# Models in forms that can be compared: both in float32, or both with weights in half precision.
#
# OpenVINO's frontend folds constants in half precision and loses more than the model does, so models in half precision
# are compared in float32.

_RESIZES = ("Resize", "Upsample")


def in_float32(run: Runner, model: Path) -> Path:
    """Return a model that computes in float32 what this one does in half precision: itself if it does not."""
    if not low_precision.is_half(model):
        return model
    return run.models.substitute(model, low_precision.in_float32(model, run.folder))


def with_half_weights(run: Runner, model: Path) -> Path:
    """Return a model, ONNX or an IR, whose float32 weights, except those of resizes, are in half precision."""
    path = run.folder / f"half-{model.stem}{model.suffix}"
    if FileKind.of(model) is FileKind.IR:
        import openvino

        save_model(openvino.Core().read_model(model), path, half=True)
    else:
        _round(model, path)
    return run.models.substitute(model, path)


def _round(model: Path, path: Path) -> None:
    import onnx

    from ..onnx.onnx_files import load_weights, read_file

    rounded = load_weights(read_file(model), model)
    exact = {name for node in rounded.graph.node if node.op_type in _RESIZES for name in node.input[1:]}
    for tensor, name in list(low_precision.tensors_of(rounded.graph)):
        if tensor.data_type == onnx.TensorProto.FLOAT and name not in exact:
            low_precision.replace_values(tensor, _rounded)
    low_precision.saved(rounded, path)


def _rounded(array: Array) -> Array:
    """Return numbers rounded to half precision, those beyond its range unchanged."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16).astype(np.float32)
    return np.where(np.isfinite(half), half, array)


# IRs in half precision, and the same IRs in float32.
#
# OpenVINO folds some constants of such an IR in half precision when it reads the file, as 1/c of a division by c, and
# computes others in float32. In the same IR in float32 it folds nothing in half precision.

_TYPES = ("element_type", "destination_type", "output_type")  # attributes that name an element type


def is_in_half(model: Path) -> bool:
    """Return whether a model is an IR that holds anything in half precision."""
    return FileKind.of(model) is FileKind.IR and b'"f16"' in bytes_of(model)


def ir_in_float32(model: Path, folder: Path) -> Path:
    """Write an IR into ``folder`` that computes in float32 what this one does in half precision; return its path."""
    root, path = ir_files.parse(model), folder / f"float32-{model.stem}.xml"
    binary = path.with_suffix(".bin")
    copy_file(model.with_suffix(".bin"), binary)
    with binary.open("r+b") as file:
        for data in root.iter("data"):
            if data.get("element_type") == "f16" and data.get("offset"):
                file.seek(int(data.attrib["offset"]))
                array = np.frombuffer(file.read(int(data.attrib["size"])), np.float16).astype(np.float32)
                data.set("offset", str(file.seek(0, 2)))
                data.set("size", str(array.nbytes))
                file.write(array.tobytes())
            for name in _TYPES:
                if data.get(name) == "f16":
                    data.set(name, "f32")
    for port in root.iter("port"):
        if port.get("precision") == "FP16":
            port.set("precision", "FP32")
    root.getroottree().write(str(path))
    return path


# Values moved by as much as float32 sums are off: on these a runtime shows how far its own roundings reach.
#
# A sum of n terms in float32 is the exact sum of terms that are each off by about the root of n last bits, in whatever
# order the terms are added (N. J. Higham and T. Mary, 2019, "A new approach to probabilistic rounding error analysis").
# A term is off by the roundings of all partial sums that hold it, so terms that are added soon after one another are
# off alike: the error is as large as the partial sums, even where these cancel. Runtimes add channel by channel.

_IMAGES = 4  # the rank of a batch of images
_SUMS = re.compile(r"(group|fused)?conv(transpose|olution(backpropdata)?)?|matmul|gemm")  # layers that sum over weights


def moved(values: Mapping[str, Array], graph: Graph) -> dict[str, Array]:
    """Return the floats of a model's tensors moved by the root of n last bits; other values unchanged.

    Tensors of rank 0 and 1 remain as well, since scales and windows among them decide shapes. Each number moves up or
    down by so much at random, and by as much more along the channels: up at the first, down at the last.
    """
    share, rng = noise(graph), np.random.default_rng(0)
    down, up = np.float32(1 - share), np.float32(1 + share)

    def of(array: Array) -> Array:
        moves = np.where(rng.integers(0, 2, array.shape, np.int8), up, down)
        for axis in _summed_axes(array.ndim):
            moves *= (1 + share * _slope(array.shape[axis])).reshape([-1] + [1] * (array.ndim - 1 - axis))
        return (array * moves).astype(array.dtype, copy=False)

    is_moved = (array.dtype.kind == "f" and array.ndim > 1 for array in values.values())
    return {name: of(array) if moves else array for (name, array), moves in zip(values.items(), is_moved, strict=True)}


def noise(graph: Graph) -> float:
    """Return the share of its value by which a float32 sum of a model may be off: the root of n last bits."""
    return math.sqrt(_terms(graph)) * float(np.finfo(np.float32).eps)


def moved_inputs(arrays: Named, graph: Graph) -> Named:
    """Return the inputs of a model moved as ``moved`` does."""
    return list(moved(dict(arrays), graph).items())


def on_numbers(run: Runner) -> Runner | None:
    """Return a run on random numbers in place of the NaNs and infinities of its inputs; None if these are finite."""
    if all(array.dtype.kind != "f" or np.isfinite(array).all() for _, array in run.arrays):
        return None
    arrays = [(name, _with_numbers(array)) for name, array in run.arrays]
    return replace(run, arrays=arrays, trial=None)  # without the results that are known of its trial


def _with_numbers(array: Array) -> Array:
    """Return an array with random numbers of its own range in place of NaN and infinity."""
    is_number = np.isfinite(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)
    numbers = array[is_number] if is_number.any() else np.array([0, 1], array.dtype)
    others = np.random.default_rng(0).uniform(numbers.min(), numbers.max(), array.shape)
    return np.where(is_number, array, others.astype(array.dtype))


def _summed_axes(rank: int) -> range:
    """Return the axes over which layers may sum: channels, which are the last of a matrix and the second of images."""
    return range(1, rank) if rank < _IMAGES else range(1, 2)


def _slope(size: int) -> NDArray[np.float32]:
    """Return numbers from 1 to -1, without their ends."""
    return np.asarray(np.cos(np.pi * (np.arange(size) + 0.5) / max(1, size)), np.float32)


def _terms(graph: Graph) -> int:
    """Return the number of terms in the longest sum of a model, as far as its weights show."""
    weights = [step.inputs[1] for step in graph.steps if _SUMS.fullmatch(step.type)]
    shapes = [[size or 1 for size in graph.shape(name) or ()] for name in weights]
    return max((max(shape) if len(shape) == 2 else math.prod(shape[1:]) for shape in shapes), default=1)


# Recurrent layers that onnxruntime rounds at run time, and OpenVINO does not: they are compared without that.
#
# Both know the same weights, so that the comparison is as strict as that of any model in float32. The rounding itself
# is of onnxruntime's kernel, and the remark states what it changes.

_ROUNDED_STATES = 1 / 4
"""The most by which a layer without rounding may differ from its source on the same inputs, relative to the largest.

8 bits round an input and a state by 1/510 of their range, which sums and steps add up: 1/100 of the largest output on
normal inputs, 1/6 on inputs 30 times as large, which saturate the gates. Exchanged gates change a layer by 1/3 and
more. This only shows that the rewritten layer is the right one; its result is held to the tolerances of float32."""


def without_rounded_states(outputs: ModelOutputs) -> tuple[ModelOutputs, str]:
    """Return the outputs of models whose recurrent layers round nothing at run time, and a remark about these.

    Both as they are, and no remark, if both models round, or none does. Raises SegmentError if such a layer computes
    something else without its rounding.
    """
    models, run = (outputs.source, outputs.result), outputs.run
    layers = {model: low_precision.rounded_states(model) for model in models if not run.models.in_openvino(model)}
    rounding = [model for model, names in layers.items() if names]
    if not rounding or not any(map(run.models.in_openvino, models)):
        return outputs, ""
    (model,) = rounding
    exact = run.models.substitute(model, low_precision.with_exact_states(model, run.folder))
    _check_exact_states(run, model, exact, layers[model])
    values, apart = run(exact)[0], outputs_difference(outputs.expected, outputs.actual)
    if model == outputs.source:
        outputs = replace(outputs, source=exact, expected=values)
    else:
        outputs = replace(outputs, result=exact, actual=values)
    what = f"rounding to 8 bits of the inputs and states of {len(layers[model])} DynamicQuantizeLSTM"
    return outputs, f"compared without the {what}, which OpenVINO lacks: with it, outputs differ by up to {apart:.3g}"


def _check_exact_states(run: Runner, model: Path, exact: Path, layers: Sequence[str]) -> None:
    """Raise SegmentError if a layer differs by more than its rounding explains, on the same inputs."""
    _, values = run(model, layers, optimised=False)
    _, others = run(exact, layers, replacements=values, optimised=False)
    for name in values.keys() & others.keys():
        compared = tolerances.compare(name, values[name], others[name], _ROUNDED_STATES)
        if not compared.passes:
            raise SegmentError(
                f"the DynamicQuantizeLSTM that outputs {name!r} differs from an LSTM of its weights: it "
                f"{compared.difference}"
            )
