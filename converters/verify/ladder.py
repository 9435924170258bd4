"""The ladder of comparisons: the first rung that proves two models the same, on the same inputs, decides.

| rung | what it proves |
|---|---|
| 1. quantised levels | a model that rounds to levels: each segment between two quantisations, by one level at edges |
| 2. exact | all outputs have the same values |
| 3. reordered sums | outputs differ by no more than sums do whose terms are added in another order |
| 4. tied rows | a model that sorts: outputs have the same rows, and only rows of equal scores change places |
| 5. segment by segment | each segment between two tensors of both models, on the source's own values |
| 6. inconclusive | nothing: any other output would pass, so near are an output's values; this rung chooses inputs |

Rungs 1 to 5 are compared on one set of inputs, in this order. Plain calls, at the end, are no rung.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ir_interp.errors import VerificationError
from ir_interp.files.memory import default_bound
from ir_interp.shapes import Array
from ir_interp.version import processor

from ..onnx import low_precision
from ..onnx.low_precision import is_half
from ..reports import Compared, Levels, PlainCall, PlainOutput, Verification
from ..runtimes.execution import ONNXRUNTIME, OPENVINO
from . import model_outputs, quantisations, segments, tolerances
from .graphs import Graph, is_quantised, read
from .model_outputs import (
    ModelOutputs,
    SegmentError,
    aligned,
    compare_aligned,
    in_float32,
    moved_inputs,
    noise,
    on_numbers,
    outputs_difference,
    sorts,
    with_half_weights,
)
from .processes import Runner
from .quantisations import ComparedEnd, Ends, Quantisation, Values, dynamic_quantisations, stored_quantisations
from .run_request import Named
from .tolerances import all_pass, check, compare, coordinate_error, largest_difference, worst
from .trials import Trials

# Rung 2: all outputs have the same values.


def prove_exact(outputs: ModelOutputs) -> Verification | None:
    """Return the comparisons of outputs if none differs; None if one does."""
    is_exact = all(comparison.absolute == 0 for comparison in outputs.comparisons)
    return Verification(outputs=outputs.comparisons) if is_exact else None


# Rung 3: outputs differ by no more than sums do whose terms are added in another order.


def prove_reordered_sums(outputs: ModelOutputs) -> Verification | None:
    """Return the comparisons of outputs if all are equal within ``tolerances.OUTPUT``; None if one is not."""
    is_equal = all_pass(outputs.comparisons)
    return Verification(outputs=outputs.comparisons) if is_equal else None


# Rung 5: models in one precision, as a whole if that is not their own, then segment by segment.


def prove_segments(outputs: ModelOutputs) -> Verification:
    """Return how models compare whose outputs differ. Raises VerificationError if rounding is not the only cause."""
    difference, itself = outputs_difference(outputs.expected, outputs.actual), outputs.self_difference()
    source, result, precision = _comparable(outputs)
    try:
        proof = _as_a_whole(outputs.run, source, result) if precision else None
        proof = proof or segments.verified(outputs.run, source, result)
    except VerificationError as problem:
        most = worst(outputs.comparisons)
        whole = f"output {most.name!r} {most.difference}; {itself}"
        raise type(problem)(_joined(whole, precision, str(problem))) from None
    remarks = (f"as a whole by {difference:.3g}, {itself}", precision)
    return replace(
        proof, outputs=tuple(replace(output, remark=_joined(*remarks, output.remark)) for output in proof.outputs)
    )


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _comparable(outputs: ModelOutputs) -> tuple[Path, Path, str]:
    """Return both models in one precision, and its name; an empty name if they are unchanged."""
    run, source, precision = outputs.run, outputs.source, ""
    if outputs.has_half_weights:
        source, precision = with_half_weights(run, source), "compared with weights in half precision"
    if is_half(source) or is_half(outputs.result):
        precision = "compared in float32"
    return in_float32(run, source), in_float32(run, outputs.result), precision


def _as_a_whole(run: Runner, source: Path, result: Path) -> Verification | None:
    """Return how outputs compare; None if they differ, or a model does not run in this precision."""
    try:
        expected, actual = run(source)[0], run(result)[0]
    except VerificationError:
        return None
    comparisons = compare_aligned(expected, actual, run.models.graph)
    return Verification(outputs=comparisons) if all_pass(comparisons) else None


# Rung 1: models that round to levels, segment by segment: each between two quantisations, on the source's own values.
#
# If a last bit decides between two levels, later layers enlarge the step, so that outputs of the whole prove nothing: a
# runtime differs from itself by as much. At the end of one segment, the same values may differ by one level only, and
# only if the value before it is rounded lies nearer to the edge between two than the source's own executions differ
# there.

_BYTES_AN_ELEMENT = 24  # float32: in a runtime, in the layout of its kernels, and twice in a comparison
_OPERATORS = frozenset(name.lower() for name in low_precision.OPERATORS)


def prove_levels(outputs: ModelOutputs) -> Verification | None:
    """Return how two models compare segment by segment; None if the source quantises nothing.

    If the result quantises at another place, such as behind a MaxPool, a segment ends there too. The difference as
    a whole is reported beside it, and proves nothing. Raises SegmentError that names the first segment that differs.
    """
    if not _quantises(outputs):
        return None
    whole = _levels_as_a_whole(outputs)
    run = outputs.run
    source, result = _comparable_levels(run, outputs.source), _comparable_levels(run, outputs.result)
    every = Ends.of(run.models.read(source), run.models.read(result))
    *inner, last = every.groups(run.models.read(source), run.elements(source), _most_elements())
    proof = _Proof(run=replace(run, inner=True), source=source, result=result)
    for ends in inner:
        proof.compare(ends)
    proof.run = run
    expected, actual, spread = proof.compare(last)
    levels = Levels(
        count=sum(end.size for end in proof.compared),
        flipped=sum(end.flipped for end in proof.compared),
        flipped_by_source=proof.flipped_by_source,
        runtime="OpenVINO" if run.models.in_openvino(source) else "onnxruntime",
    )
    compared = tuple(_outputs(expected, actual, proof.compared, spread))
    others, starts = [array for _, array in actual], proof.starts_of_outputs()
    compared = tuple(map(check, quantisations.within_noise(run, source, expected, others, compared, starts)))
    note = _note(every, proof.compared, groups=len(inner) + 1)
    return Verification(outputs=compared, levels=levels, note=f"{note}; {whole}")


def _most_elements() -> float:
    """Return how many elements the tensors of a group may have, so that its runs stay within the memory allowed."""
    return default_bound() / _BYTES_AN_ELEMENT


@dataclass(slots=True, kw_only=True)
class _Proof:
    """Compares groups of segments, each in runs of its own that begin with the source's values of earlier groups.

    ``known`` has the ends of the groups that were compared, ``values`` the source's values there, and ``apart`` how far
    half precision moves these before they are rounded. ``run`` shows the outputs only with the last.
    """

    run: Runner
    source: Path
    result: Path
    known: Ends = field(default_factory=Ends)
    values: dict[str, Array] = field(default_factory=dict)
    apart: dict[str, float] = field(default_factory=dict)
    compared: list[ComparedEnd] = field(default_factory=list)
    flipped_by_source: int | None = 0

    def compare(self, ends: Ends) -> tuple[Named, Named, Sequence[float]]:
        """Compare a group; return the outputs of both models, and how far half precision moves those of the source.

        Raises SegmentError that names the first segment that differs.
        """
        run = self.run
        expected, values = run(
            self.source, ends.tensors, replacements=_values(self._starts(ends.tensors), self.values), optimised=False
        )
        ends = ends.shown_in(values)
        self.known += ends
        self.values |= values
        names = ends.tensors_of_result(values)
        replacements = self.known.replacements(
            run.models.read(self.result), self._ends(self.result, names), self.values
        )
        actual, others = run(self.result, names, replacements=replacements, optimised=False)
        folding = self._folding(ends)
        self.apart |= folding.apart
        reach = self._reach(ends, others, replacements)
        self.compared += [segment.compared() for segment in ends.segments(self.values, others, reach)]
        self._count_flipped_by_source(ends)
        return expected, actual, folding.outputs

    def starts_of_outputs(self) -> Values:
        """Return the values with which the segments begin that end at outputs of the source."""
        return _values(self._starts(()), self.values)

    def _ends(self, model: Path, names: Iterable[str]) -> list[str]:
        """Return the tensors that a model computes in order to show some."""
        return [*names, *(() if self.run.inner else self.run.models.read(model).outputs)]

    def _starts(self, names: Iterable[str]) -> list[Quantisation]:
        """Return the quantisations with which segments begin in the source if it shows tensors."""
        return self.known.starts_in_source(
            self.run.models.read(self.source), self._ends(self.source, names), self.values
        )

    def _folding(self, ends: Ends) -> quantisations.Folding:
        befores = ends.befores
        return quantisations.folding(self.run, self.source, befores, _values(self._starts(befores), self.values))

    def _reach(self, ends: Ends, others: Values, replacements: Mapping[str, Array]) -> dict[str, float]:
        """Return the distance from an edge within which a level may flip, by the name of the tensor before rounding."""
        in_source = ends.befores
        starts = _values(self._starts(in_source), self.values)
        reach = quantisations.sums(self.run, self.source, in_source, self.values, starts)
        reach = {name: moves + self.apart.get(name, 0.0) for name, moves in reach.items()}
        for end in ends.dynamic if model_outputs.is_in_half(self.source) else ():
            reach[end.before] = reach.get(end.before, 0.0) + end.rescaling(self.values)
        reach |= self._reach_of_scales(ends, others)
        if ends.elsewhere:
            in_result = [end.before for end in ends.elsewhere]
            moves = quantisations.sums(self.run, self.result, in_result, others, replacements)
            reach |= {
                end.before: moves[end.before] + self._reach_elsewhere(end, ends, others) for end in ends.elsewhere
            }
        return reach

    def _reach_of_scales(self, ends: Ends, others: Values) -> dict[str, float]:
        """Return how far float32 sums move the values from which the result computes another scale than the source.

        Unlike in other segments, the source starts from its own levels and scales of run time, as the result does:
        a level that flips earlier would explain any scale.
        """
        in_source = [end.before for end in ends.dynamic if end.has_other_scale(self.values, others)]
        if not in_source:
            return {}
        starts = self.known.levels_in_source(self.run.models.read(self.source), in_source, self.values)
        return quantisations.sums(self.run, self.source, in_source, self.values, starts)

    def _reach_elsewhere(self, end: Quantisation, ends: Ends, others: Values) -> float:
        """Return how far half precision moves the values that the result rounds here, and the source before.

        The source rounds them by the same scale: in the tensor from which this one is computed, such as the input of a
        MaxPool, or in one that the result does not have. A maximum moves no further than the value that moves most.
        """
        step = end.step.astype(np.float32)  # as files hold it
        graph = self.run.models.read(self.source)
        rounded = self.known.starts_in_source(graph, [end.after], self.values)
        rounded += [hidden for hidden in ends.fixed if hidden.after not in others]
        alike = [start.before for start in rounded if np.array_equal(start.step.astype(np.float32), step)]
        return max((self.apart.get(name, 0.0) for name in alike), default=0.0)

    def _count_flipped_by_source(self, ends: Ends) -> None:
        starts = self._starts(end.before for end in ends.fixed)
        flipped = quantisations.flipped_by_kernels(self.run, self.source, ends.fixed, starts, self.values)
        known = self.flipped_by_source
        self.flipped_by_source = None if known is None or flipped is None else known + flipped


def _values(ends: Iterable[Quantisation], values: Values) -> dict[str, Array]:
    return {end.after: values[end.after] for end in ends}


def _quantises(outputs: ModelOutputs) -> bool:
    """Return whether a model quantises anything that depends on its inputs."""
    graphs = [outputs.run.models.read(model) for model in (outputs.source, outputs.result)]
    is_plain = bool(stored_quantisations(graphs[0])) or any(step.type in _OPERATORS for step in graphs[0].steps)
    return is_plain or bool(dynamic_quantisations(*graphs))


def _levels_as_a_whole(outputs: ModelOutputs) -> str:
    """Return the difference of two models as a whole."""
    difference = outputs_difference(outputs.expected, outputs.actual)
    return f"as a whole they differ by {difference:.3g}; {outputs.self_difference()}"


# Models of plain operators


def _comparable_levels(run: Runner, model: Path) -> Path:
    """Return a model of plain operators that rounds nothing to half precision besides."""
    if not low_precision.has_quantised_operators(model):
        return in_float32(run, model)
    plain = low_precision.in_plain_operators(model, run.folder)
    # One level is allowed: integer kernels multiply a sum by one number, plain ones multiply its terms.
    ends = [step.outputs[0] for step in read(plain).steps if step.type == "quantizelinear"]
    _, levels = run(model, ends, optimised=False)
    _, others = run(plain, ends, replacements=levels, optimised=False)
    for name, expected in levels.items():
        apart = np.abs(expected.astype(np.int64) - others[name].astype(np.int64))
        if apart.max(initial=0) > 1:
            where = f"the quantised operator that outputs {name!r} differs from the plain one"
            raise SegmentError(
                f"{where}: {int((apart > 1).sum())} of {apart.size} values, by up to {apart.max()} levels"
            )
    return in_float32(run, run.models.substitute(model, plain))


def _outputs(expected: Named, actual: Named, ends: Sequence[ComparedEnd], reach: Sequence[float]) -> Iterator[Compared]:
    """Yield how outputs compare; a rounded one may differ by a level, since its segment was compared.

    ``reach`` is how far half precision moves each in the source, to which the last bits of the result add.
    """
    levels = {end.name: end.level * (1 + tolerances.LEVEL) for end in ends}
    for place, ((name, mine), (_, theirs)) in enumerate(zip(expected, actual, strict=True)):
        least = max(levels.get(name, 0.0), coordinate_error(mine))
        compared = compare(name, mine, theirs, tolerances.OUTPUT, least=least)
        yield replace(compared, limit=compared.limit + sum(reach[place : place + 1]))


def _note(every: Ends, compared: Sequence[ComparedEnd], *, groups: int) -> str:
    elsewhere = {end.after for end in every.elsewhere}
    shown = sum(end.name not in elsewhere for end in compared)
    hidden = len(every.fixed) + len(every.dynamic) - shown
    more = f" ({hidden} quantisations are not visible in both)" if hidden else ""
    parts = f", in {groups} groups for lack of memory" if groups > 1 else ""
    return f"{len(compared)} segments between quantisations{more}{parts}, each on the source's own values"


# The last rung: outputs that pass, but whose range of values is within the tolerance, prove nothing.
#
# Other random inputs are tried until every output is conclusive; an output that never is becomes INCONCLUSIVE.


def until_conclusive(every: Iterable[Trials], is_conclusive: Callable[[], bool]) -> Iterator[Trials]:
    """Yield the trials on all inputs, then on other random ones until the results are conclusive."""
    for trials in every:
        if trials.is_another and is_conclusive():
            return
        yield trials


def over_inputs(comparisons: Sequence[Compared]) -> Compared:
    """Return an output's comparison over several inputs: the worst, and the largest range of its values."""
    return replace(worst(comparisons), span=max(comparison.span for comparison in comparisons))


Rung = Callable[[ModelOutputs], Verification | None]
"""Returns how outputs compare if they prove the models the same; None if the next rung must decide.

Raises VerificationError if the models differ, and no later rung could prove otherwise.
"""

LADDER: tuple[Rung, ...] = (
    prove_levels,  # decides for every model that quantises: its outputs as a whole prove nothing
    prove_exact,
    prove_reordered_sums,
    model_outputs.prove,
    prove_segments,  # decides for all others
)


def verified(outputs: ModelOutputs) -> Verification:
    """Return the proof of the first rung that applies. Raises VerificationError if the models differ."""
    remark = ""
    if outputs.tolerance is None:
        outputs, remark = model_outputs.without_rounded_states(outputs)
    try:
        proof = _climbed(outputs)
    except VerificationError:
        finite = where_finite(outputs)
        if finite is None:
            raise
        proof = finite
    with_remarks = (replace(output, remark=_joined(remark, output.remark)) for output in proof.outputs)
    return replace(proof, outputs=tuple(with_remarks))


def _climbed(outputs: ModelOutputs) -> Verification:
    if outputs.tolerance is not None:
        for comparison in outputs.comparisons:
            check(comparison)
        return Verification(outputs=outputs.comparisons)
    return next(proof for rung in LADDER if (proof := rung(outputs)) is not None)


# Inputs with NaN or infinity: a runtime that multiplies them by 0 has NaN where another reads no pixel of weight 0.
#
# Where they are in an output is therefore up to the runtimes: it proves nothing about the models. These are compared
# on the same inputs with finite numbers in place of NaN and infinity.

ELSEWHERE = "NaNs and infinities of the inputs reach other elements, which is up to the runtimes"
MASKS = f"{ELSEWHERE}; equal with numbers in place of them"
"""Why outputs with NaNs and infinities in other places decide nothing."""


def where_finite(outputs: ModelOutputs) -> Verification | None:
    """Return how outputs compare that differ only in which elements are NaN or infinite, as inputs with such may.

    These are INCONCLUSIVE. Returns None if the inputs are finite, or the models differ otherwise.
    """
    run = on_numbers(outputs.run)
    if run is None:
        return None
    pairs = zip(outputs.comparisons, outputs.expected, outputs.actual, strict=True)
    comparisons = tuple(of_finite_elements(compared, mine, theirs) for compared, (_, mine), (_, theirs) in pairs)
    if not all_pass(comparisons):
        return None
    try:
        expected, actual = run(outputs.source)[0], run(outputs.result)[0]
        _climbed(replace(outputs, run=run, expected=expected, actual=actual))
    except VerificationError:
        return None
    return Verification(outputs=comparisons)


def of_finite_elements(compared: Compared, expected: Array, actual: Array, reason: str = MASKS) -> Compared:
    """Return how the elements compare that are finite in both, INCONCLUSIVE for a reason if they pass.

    Returns ``compared`` if all elements pass, and without a reason.
    """
    if compared.passes or compared.shapes or not reason:
        return compared
    both = np.isfinite(expected) & np.isfinite(actual)
    finite = replace(compare(compared.name, expected[both], actual[both]), limit=compared.limit)
    return finite.undecided(reason) if finite.passes else compared


# Quantised models as users call them: by the default settings of their runtimes, against the source of a proof.
#
# A proof sums 8-bit products exactly on every processor. A plain call does so on some only, and in OpenVINO it rounds
# between layers more often. It may differ by as much as last bits move the source, since a level that flips changes
# others behind it; anything beyond that is a difference that the user will see.


def of_pair(outputs: ModelOutputs, compared: Sequence[Compared]) -> tuple[PlainCall, ...]:
    """Return the plain calls of those of two models that are quantised; ``compared`` are their outputs in the proof."""
    apart = [_difference(*pair) for pair in zip(outputs.expected, outputs.actual, strict=True)]
    models = dict.fromkeys((outputs.source, outputs.result))
    calls = (
        of_model(
            outputs.run, model, outputs.source, outputs.expected, compared, apart=apart, tolerance=outputs.tolerance
        )
        for model in models
    )
    return tuple(call for call in calls if call is not None)


def of_model(
    run: Runner,
    model: Path,
    source: Path,
    expected: Named,
    compared: Sequence[Compared],
    *,
    apart: Sequence[float],
    tolerance: float | None = None,
) -> PlainCall | None:
    """Return the plain call of a model against ``expected`` outputs; None if it is not quantised.

    It may differ by the limits of ``compared``, several times as much as the proven call, which is ``apart``, and as
    ``source`` on values that last bits move; with a ``tolerance``, by the limits alone.
    """
    graph = run.models.read(model)
    if not is_quantised(graph):
        return None
    runtime = OPENVINO if run.models.in_openvino(model) else ONNXRUNTIME
    call = PlainCall(
        model=model.name,
        runtime=runtime.runtime,
        processor=processor().value,
        setting=runtime.setting,
    )
    try:
        actual, _ = run(model, by_default=True)
    except VerificationError as problem:
        return replace(call, problem=str(problem))
    levels = _levels(graph, actual)
    by_name = dict(actual)
    if by_name.keys() == dict(expected).keys():
        actual = [(name, by_name[name]) for name, _ in expected]
    actual = aligned(expected, actual).outputs if sorts(graph) else actual
    limits = [end.limit for end in compared]
    steps = [levels.get(name, 0.0) for name, _ in actual]
    if tolerance is None:
        limits = [max(limit, tolerances.NOISE * n) for limit, n in zip(limits, apart, strict=True)]
        limits = [max(limit, step * (1 + tolerances.LEVEL)) for limit, step in zip(limits, steps, strict=True)]
    ends = _compared(expected, actual, limits)
    if tolerance is None and not all_pass(ends):
        moves = _moves(run, source, expected)
        limits = [max(limit, tolerances.NOISE * n) for limit, n in zip(limits, moves, strict=True)]
        ends = _compared(expected, actual, limits)
    outputs = (PlainOutput(compared=end, level=step or None) for end, step in zip(ends, steps, strict=True))
    return replace(call, outputs=tuple(outputs))


def over_every(calls: Iterable[Sequence[PlainCall]]) -> tuple[PlainCall, ...]:
    """Return the plain calls of models over several inputs: each output where it differs most."""
    by_model: dict[str, list[PlainCall]] = {}
    for call in (call for several in calls for call in several):
        by_model.setdefault(call.model, []).append(call)
    return tuple(map(_over, by_model.values()))


def _over(calls: Sequence[PlainCall]) -> PlainCall:
    problem = next((call.problem for call in calls if call.problem), "")
    outputs = zip(*(call.outputs for call in calls if call.outputs), strict=True)
    return replace(calls[0], outputs=tuple(map(_worst, outputs)), problem=problem)


def _worst(outputs: Sequence[PlainOutput]) -> PlainOutput:
    """Return an output on the inputs on which it differs most, with the largest values of all."""
    ends = [output.compared for output in outputs]
    span, largest = max(end.span for end in ends), max(end.largest for end in ends)
    alike = [replace(output, compared=replace(output.compared, span=span, largest=largest)) for output in outputs]
    return max(alike, key=lambda output: output.rank)


def _levels(graph: Graph, outputs: Named) -> dict[str, float]:
    """Return the distance of two levels of the outputs that have levels, by name; the largest of the channels."""
    known = {end.after: float(np.abs(end.level).max()) for end in stored_quantisations(graph)}
    named = zip(graph.outputs, outputs, strict=len(graph.outputs) == len(outputs))
    levels = {name: known[end] for end, (name, _) in named if end in known}
    return levels | {name: 1.0 for name, array in outputs if array.dtype.kind in "iu" and array.dtype.itemsize == 1}


def _compared(expected: Named, actual: Named, limits: Sequence[float]) -> list[Compared]:
    ends = (
        compare(name, mine, theirs, 0.0, least=limit)
        for (name, mine), (_, theirs), limit in zip(expected, actual, limits, strict=True)
    )
    return list(ends)


def _moves(run: Runner, source: Path, expected: Named) -> list[float]:
    """Return how far each output moves on values that are moved by last bits; 0 if the source does not run so."""
    graph = run.models.read(source)
    try:
        others, _ = replace(run, arrays=moved_inputs(run.arrays, graph))(source, noise=noise(graph))
    except VerificationError:
        return [0.0] * len(expected)
    return [_difference(*pair) for pair in zip(expected, others, strict=True)]


def _difference(mine: tuple[str, Array], theirs: tuple[str, Array]) -> float:
    return largest_difference(mine[1], theirs[1]) if mine[1].shape == theirs[1].shape else 0.0
