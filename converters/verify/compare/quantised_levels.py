"""Rung 1: models that round to levels, segment by segment: each between two quantisations, on the source's own values.

If a last bit decides between two levels, later layers enlarge the step, so that outputs of the whole prove nothing: a
runtime differs from itself by as much. At the end of one segment, the same values may differ by one level only, and
only if the value before it is rounded lies nearer to the edge between two than the source's own executions differ
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import VerificationError

from ...onnx import qoperator
from ...reports.verification import Compared, Levels, Verification
from ..graphs import Graph, read
from ..run.array_files import Named
from ..run.processes import Runs
from . import source_spread, tolerances
from .array_differences import absolute_differences, check, compare, coordinate_error
from .comparable_models import in_float32
from .model_outputs import ModelOutputs, SegmentError, outputs_difference
from .quantisations import DynamicQuantisation, Quantisation, Values, dynamic_quantisations, quantisations

_OPERATORS = frozenset(name.lower() for name in qoperator.OPERATORS)


def prove(outputs: ModelOutputs) -> Verification | None:
    """Return how two models compare segment by segment; None if the source quantises nothing.

    If the result quantises at another place, such as behind a MaxPool, a segment ends there too. The difference as
    a whole is reported beside it, and proves nothing. Raises SegmentError that names the first segment that differs.
    """
    if not _quantises(outputs):
        return None
    whole = _as_a_whole(outputs)
    run = outputs.run
    source, result = _comparable(run, outputs.source), _comparable(run, outputs.result)
    every = _Ends.of(run.models.read(source), run.models.read(result))
    expected, values = run(source, every.tensors, optimised=False)
    ends = every.shown_in(values)
    tensors, replacements = ends.tensors_of_result(values), ends.replacements(values)
    actual, others = run(result, tensors, replacements=replacements, optimised=False)
    folding = source_spread.folding(run, source, ends.fixed, values)
    reach = _reach(run, source, result, ends, values, others, folding)
    segments = list(ends.segments(values, others, reach))
    levels = Levels(
        count=sum(segment.expected.size for segment in segments),
        flipped=sum(segment.count_flipped() for segment in segments),
        flipped_by_source=source_spread.flipped_by_kernels(run, source, ends.fixed, values),
        runtime="OpenVINO" if run.models.in_openvino(source) else "onnxruntime",
    )
    compared = tuple(map(check, _outputs(expected, actual, segments, folding.outputs)))
    return Verification(outputs=compared, levels=levels, note=f"{_note(every, segments)}; {whole}")


def _reach(
    run: Runs, source: Path, result: Path, ends: _Ends, values: Values, others: Values, folding: source_spread.Folding
) -> dict[str, float]:
    """Return the distance from an edge within which a level may flip, by the name of the tensor before rounding."""
    in_source = [*(end.before for end in ends.fixed), *(end.before for end in ends.dynamic)]
    reach = source_spread.sums(run, source, in_source, values, ends.replacements_in_source(values))
    reach = {name: moves + folding.apart.get(name, 0.0) for name, moves in reach.items()}
    if ends.elsewhere:
        in_result = [end.before for end in ends.elsewhere]
        moves = source_spread.sums(run, result, in_result, others, ends.replacements(values))
        reach |= {end.before: moves[end.before] + _hidden_reach(end, ends, others, folding) for end in ends.elsewhere}
    return reach


def _hidden_reach(end: Quantisation, ends: _Ends, others: Values, folding: source_spread.Folding) -> float:
    """Return how far half precision moves the values that the source rounds by the same scale."""
    step = end.step.astype(np.float32)  # as files hold it
    hidden = [quantisation for quantisation in ends.fixed if quantisation.after not in others]
    hidden = [quantisation for quantisation in hidden if np.array_equal(quantisation.step.astype(np.float32), step)]
    return max((folding.apart.get(quantisation.before, 0.0) for quantisation in hidden), default=0.0)


def _quantises(outputs: ModelOutputs) -> bool:
    """Return whether a model quantises anything that depends on its inputs."""
    graphs = [outputs.run.models.read(model) for model in (outputs.source, outputs.result)]
    is_plain = bool(quantisations(graphs[0])) or any(step.type in _OPERATORS for step in graphs[0].steps)
    return is_plain or bool(dynamic_quantisations(*graphs))


def _as_a_whole(outputs: ModelOutputs) -> str:
    """Return the difference of two models as a whole, also with OpenVINO's products in 8 bits, its default."""
    run, arrays = outputs.run, {outputs.source: outputs.expected, outputs.result: outputs.actual}
    difference = f"as a whole they differ by {outputs_difference(outputs.expected, outputs.actual):.3g}"
    for model in filter(run.models.in_openvino, arrays):
        try:
            arrays[model] = run(model, in_8_bits=True)[0]
        except VerificationError:
            return difference
    in_8_bits = (
        f"{outputs_difference(arrays[outputs.source], arrays[outputs.result]):.3g} where OpenVINO works in 8 bits"
    )
    return f"{difference}, by {in_8_bits}; {outputs.self_difference()}"


# Models of plain operators


def _comparable(run: Runs, model: Path) -> Path:
    """Return a model of plain operators that rounds nothing to half precision besides."""
    if not qoperator.has_quantised_operators(model):
        return in_float32(run, model)
    plain = qoperator.in_plain_operators(model, run.folder)
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
    return in_float32(run, run.substitute(model, plain))


# Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """The quantisations at which segments end.

    ``fixed`` are those of the source whose scales are in its file, ``dynamic`` those with scales computed at run
    time, and ``elsewhere`` those of the result alone.
    """

    fixed: Sequence[Quantisation]
    dynamic: Sequence[DynamicQuantisation]
    elsewhere: Sequence[Quantisation]

    @classmethod
    def of(cls, source: Graph, result: Graph) -> _Ends:
        fixed = quantisations(source)
        names = {end.after for end in fixed}
        elsewhere = [end for end in quantisations(result) if end.after not in names]
        return cls(fixed=fixed, dynamic=dynamic_quantisations(source, result), elsewhere=elsewhere)

    @property
    def tensors(self) -> list[str]:
        """The tensors that the source is to show."""
        names = [*(end.after for end in self.fixed), *(end.before for end in self.fixed)]
        names += [end.after for end in self.elsewhere]
        return names + [name for end in self.dynamic for name in (end.before, end.scale, *end.outputs)]

    def shown_in(self, values: Values) -> _Ends:
        """Return the ends without those that depend on a tensor that is hidden in the source."""
        return _Ends(
            fixed=self.fixed,
            dynamic=[end for end in self.dynamic if values.keys() >= {end.before, *end.outputs}],
            elsewhere=[end for end in self.elsewhere if end.after in values],
        )

    @property
    def _afters(self) -> list[str]:
        names = [quantisation.after for quantisation in (*self.fixed, *self.elsewhere)]
        return names + [name for end in self.dynamic for name in (end.scale, *end.outputs)]

    def _integers(self, values: Values) -> Iterator[tuple[str, Quantisation, Array]]:
        """Yield names of integers that the result may have if scales differ by channel, and the value of 0."""
        for end in self.fixed:
            if end.has_channels and end.after in values:
                yield from ((name, end, zero) for name, zero in end.names_of_integers().items())

    def tensors_of_result(self, values: Values) -> list[str]:
        """Return the tensors that the result is to show."""
        names = [name for name, _, _ in self._integers(values)]
        return [*self._afters, *names, *(end.before for end in self.elsewhere)]

    def replacements_in_source(self, values: Values) -> dict[str, Array]:
        """Return the values with which segments of the source begin."""
        return {end.after: values[end.after] for end in self.fixed if end.after in values}

    def replacements(self, values: Values) -> dict[str, Array]:
        """Return the source's values that the result gets at the beginnings of segments."""
        replacements = {name: values[name] for name in self._afters if name in values}
        for name, quantisation, zero in self._integers(values):
            replacements[name] = np.rint((values[quantisation.after] - zero) / quantisation.level).astype(np.float32)
        return replacements

    def segments(self, values: Values, others: Values, reach: Mapping[str, float]) -> Iterator[_Segment]:
        """Yield the segments whose ends both models show: ``values`` in the source, ``others`` in the result."""
        integers = [entry for entry in self._integers(values) if entry[0] in others]
        others = {end.after: others[name] * end.level + zero for name, end, zero in integers} | dict(others)
        yield from _segments(self.fixed, values, others, before=values, reach=reach)
        for dynamic in self.dynamic:
            if others.keys() >= {*dynamic.outputs}:
                _check_scale(dynamic, values, others)
                expected, actual = ({dynamic.levels: dynamic.numbers(tensors, values)} for tensors in (values, others))
                yield from _segments([dynamic.fixed(values)], expected, actual, before=values, reach=reach)
        yield from _segments(self.elsewhere, values, others, before=others, reach=reach)


def _segments(
    ends: Sequence[Quantisation], values: Values, others: Values, *, before: Values, reach: Mapping[str, float]
) -> Iterator[_Segment]:
    for end in ends:
        if end.after in values.keys() & others.keys() and end.before in before:
            arrays = {"expected": values[end.after], "actual": others[end.after], "before": before[end.before]}
            yield _Segment(end=end, **arrays, reach=reach.get(end.before, 0.0))


def _check_scale(dynamic: DynamicQuantisation, values: Values, others: Values) -> None:
    """Raise SegmentError if a result computes another scale from the same values; if all are 0, any scale is right."""
    if dynamic.scale not in values.keys() & others.keys():
        return
    expected, actual = (
        float(tensors[dynamic.scale]) if values[dynamic.before].any() else 0.0 for tensors in (values, others)
    )
    if not abs(expected - actual) <= tolerances.OUTPUT * abs(expected):
        where = f"the segment that ends with the quantisation {dynamic.levels!r} is the first that differs"
        raise SegmentError(f"{where}: its scale is {actual:.6g}, in the source {expected:.6g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """Values in both models where a segment ends with a quantisation, and those ``before`` they are rounded.

    ``reach`` is the distance from an edge between two levels within which the source's own executions differ.
    """

    end: Quantisation
    expected: Array
    actual: Array
    before: Array
    reach: float

    def count_flipped(self) -> int:
        """Return how many values differ by a level. Raises SegmentError if one does without reason.

        Levels may lie so close that float32 rounding of the values before is worth several.
        """
        where = f"the segment that ends with the quantisation {self.end.after!r}"
        if self.expected.shape != self.actual.shape:
            raise SegmentError(
                f"{where} has shape {list(self.actual.shape)}, in the source {list(self.expected.shape)}"
            )
        apart, level = absolute_differences(self.expected, self.actual), np.abs(self.end.level)
        off = ~(apart <= level * tolerances.LEVEL)
        reach = self.reach + self.end.rounding(self.before)
        is_one_level = apart <= level * (1 + tolerances.LEVEL + reach / np.abs(self.end.step))
        wrong = off & ~(is_one_level & (self.end.distance(self.before) <= reach))
        if wrong.any():
            raise SegmentError(f"{where} is the first that differs: {self._difference(wrong, apart / level)}")
        return int(off.sum())

    def _difference(self, wrong: Array, apart: Array) -> str:
        counts = f"{int(wrong.sum())} of {self.expected.size} values, by up to {float(apart[wrong].max()):.3g} levels"
        nearest = float((self.end.distance(self.before) / np.abs(self.end.step))[wrong].max())
        reach = float(self.reach / np.abs(self.end.step).min())
        return f"{counts}, up to {nearest:.2g} levels from an edge, where the source is sure to within {reach:.2g}"


def _outputs(
    expected: Named, actual: Named, segments: Sequence[_Segment], reach: Sequence[float]
) -> Iterator[Compared]:
    """Yield how outputs compare; a rounded one may differ by a level, since its segment was compared.

    ``reach`` is how far half precision moves each in the source, to which the last bits of the result add.
    """
    levels = {
        segment.end.after: float(np.abs(segment.end.level).max()) * (1 + tolerances.LEVEL) for segment in segments
    }
    for place, ((name, mine), (_, theirs)) in enumerate(zip(expected, actual, strict=True)):
        least = max(levels.get(name, 0.0), coordinate_error(mine))
        compared = compare(name, mine, theirs, tolerances.OUTPUT, least=least)
        yield replace(compared, limit=compared.limit + sum(reach[place : place + 1]))


def _note(every: _Ends, segments: Sequence[_Segment]) -> str:
    elsewhere = {end.after for end in every.elsewhere}
    shown = sum(segment.end.after not in elsewhere for segment in segments)
    hidden = len(every.fixed) + len(every.dynamic) - shown
    more = f" ({hidden} quantisations are not visible in both)" if hidden else ""
    return f"{len(segments)} segments between quantisations{more}, each on the source's own values"
