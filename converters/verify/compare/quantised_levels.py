"""Rung 3: models that round to levels, segment by segment: each between two quantisations, on the source's own values.

Where a last bit decides between two levels, later layers enlarge the step, so that outputs of the whole say nothing:
a runtime differs from itself by as much. At the end of one segment, the same values may differ by one level alone, and
that only where the value before it is rounded lies at the edge between two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ir_interp.errors import VerificationError

from ...onnx import qoperator
from ...report import Compared, Verification
from ..graphs import read
from ..run.array_files import Named
from ..run.processes import Runs
from . import tolerances
from .array_differences import absolute_differences, check, compare, coordinate_error
from .comparable_models import in_float32
from .model_outputs import ModelOutputs, SegmentError, outputs_difference
from .quantisations import Array, DynamicQuantisation, Quantisation, Values, dynamic_quantisations, quantisations

_OPERATORS = frozenset(name.lower() for name in qoperator.OPERATORS)


def prove(outputs: ModelOutputs) -> Verification | None:
    """Return how two models compare segment by segment; None where the source quantises nothing.

    Where the result quantises at another place, as behind a MaxPool, a segment ends there too. How far both differ as a
    whole is reported beside it, and proves nothing. Raises SegmentError that names the first segment that differs.
    """
    if not _quantises(outputs.source, outputs.result):
        return None
    whole = _as_a_whole(outputs)
    run = outputs.run
    source, result = _comparable(run, outputs.source), _comparable(run, outputs.result)
    every = _Ends.of(source, result)
    expected, values = run(source, every.tensors, optimised=False)
    ends = every.shown_in(values)
    actual, others = run(result, ends.tensors_of_result(values), given=ends.replacements(values))
    segments = list(ends.segments(values, others))
    at_edges = sum(segment.count_at_edges() for segment in segments)
    compared = tuple(map(check, _outputs(expected, actual, segments)))
    return Verification(outputs=compared, note=f"{_note(every, segments, at_edges)}; {whole}")


def _quantises(source: Path, result: Path) -> bool:
    """Say whether a model quantises anything that depends on its inputs."""
    graph = read(source)
    is_plain = bool(quantisations(graph)) or any(step.type in _OPERATORS for step in graph.steps)
    return is_plain or bool(dynamic_quantisations(source, result))


def _as_a_whole(outputs: ModelOutputs) -> str:
    """Return how far two models differ as a whole, also where OpenVINO multiplies in 8 bits, as it does by itself."""
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
    _check_plain(run, model, plain)
    return in_float32(run, run.substitute(model, plain))


def _check_plain(run: Runs, model: Path, plain: Path) -> None:
    """Raise SegmentError where plain operators output other levels than quantised ones, on the same inputs.

    By one level they may: the kernels of integers multiply a sum by one number where plain ones multiply its terms.
    """
    ends = [step.outputs[0] for step in read(plain).steps if step.type == "quantizelinear"]
    _, levels = run(model, ends, optimised=False)
    _, others = run(plain, ends, given=levels, optimised=False)
    for name, expected in levels.items():
        apart = np.abs(expected.astype(np.int64) - others[name].astype(np.int64))
        if apart.max(initial=0) > 1:
            where = f"the quantised operator that makes {name!r} differs from the plain one"
            raise SegmentError(
                f"{where}: {int((apart > 1).sum())} of {apart.size} values, by up to {apart.max()} levels"
            )


# Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """The quantisations at which segments end.

    ``fixed`` are those of the source whose scales are in its file, ``dynamic`` those that find their scales at run
    time, and ``elsewhere`` those of the result alone.
    """

    fixed: Sequence[Quantisation]
    dynamic: Sequence[DynamicQuantisation]
    elsewhere: Sequence[Quantisation]

    @classmethod
    def of(cls, source: Path, result: Path) -> _Ends:
        fixed = quantisations(read(source))
        names = {end.after for end in fixed}
        elsewhere = [end for end in quantisations(read(result)) if end.after not in names]
        return cls(fixed=fixed, dynamic=dynamic_quantisations(source, result), elsewhere=elsewhere)

    @property
    def tensors(self) -> list[str]:
        """The tensors that the source is to show."""
        names = [*(end.after for end in self.fixed), *(end.before for end in self.fixed)]
        names += [end.after for end in self.elsewhere]
        return names + [name for end in self.dynamic for name in (end.before, end.scale, *end.outputs)]

    def shown_in(self, values: Values) -> _Ends:
        """Return the ends without those that depend on a tensor that the source does not show."""
        return _Ends(
            fixed=self.fixed,
            dynamic=[end for end in self.dynamic if values.keys() >= {end.before, *end.outputs}],
            elsewhere=[end for end in self.elsewhere if end.after in values],
        )

    @property
    def _afters(self) -> list[str]:
        names = [each.after for each in (*self.fixed, *self.elsewhere)]
        return names + [name for end in self.dynamic for name in (end.scale, *end.outputs)]

    def _integers(self, values: Values) -> Iterator[tuple[str, Quantisation, Array]]:
        """Yield names of integers that the result may have where scales differ by channel, and what 0 stands for."""
        for end in self.fixed:
            if end.has_channels and end.after in values:
                yield from ((name, end, zero) for name, zero in end.integers().items())

    def tensors_of_result(self, values: Values) -> list[str]:
        """Return the tensors that the result is to show."""
        names = [name for name, _, _ in self._integers(values)]
        return [*self._afters, *names, *(end.before for end in self.elsewhere)]

    def replacements(self, values: Values) -> dict[str, Array]:
        """Return the source's values that the result is given at the beginnings of segments."""
        replacements = {name: values[name] for name in self._afters if name in values}
        for name, each, zero in self._integers(values):
            replacements[name] = np.rint((values[each.after] - zero) / each.level).astype(np.float32)
        return replacements

    def segments(self, values: Values, others: Values) -> Iterator[_Segment]:
        """Yield the segments whose ends both models show: ``values`` in the source, ``others`` in the result."""
        integers = [each for each in self._integers(values) if each[0] in others]
        others = {each.after: others[name] * each.level + zero for name, each, zero in integers} | dict(others)
        yield from _segments(self.fixed, values, others, before=values)
        for dynamic in self.dynamic:
            if others.keys() >= {*dynamic.outputs}:
                _check_scale(dynamic, values, others)
                expected, actual = ({dynamic.levels: dynamic.numbers(each, values)} for each in (values, others))
                yield from _segments([dynamic.fixed(values)], expected, actual, before=values)
        yield from _segments(self.elsewhere, values, others, before=others)


def _segments(ends: Sequence[Quantisation], values: Values, others: Values, *, before: Values) -> Iterator[_Segment]:
    for end in ends:
        if end.after in values.keys() & others.keys() and end.before in before:
            arrays = {"expected": values[end.after], "actual": others[end.after], "before": before[end.before]}
            yield _Segment(end=end, **arrays)


def _check_scale(dynamic: DynamicQuantisation, values: Values, others: Values) -> None:
    """Raise SegmentError where a result finds another scale in the same values; where all are 0, any will do."""
    if dynamic.scale not in values.keys() & others.keys():
        return
    expected, actual = (
        float(each[dynamic.scale]) if values[dynamic.before].any() else 0.0 for each in (values, others)
    )
    if not abs(expected - actual) <= tolerances.OUTPUT * abs(expected):
        where = f"the segment that ends with the quantisation {dynamic.levels!r} is the first that differs"
        raise SegmentError(f"{where}: its scale is {actual:.6g}, in the source {expected:.6g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """Values in both models where a segment ends with a quantisation, and those ``before`` they are rounded."""

    end: Quantisation
    expected: Array
    actual: Array
    before: Array

    def count_at_edges(self) -> int:
        """Return how many values differ by a level. Raises SegmentError where one does without reason.

        Levels may lie so close that what float32 makes of the values before is worth several.
        """
        where = f"the segment that ends with the quantisation {self.end.after!r}"
        if self.expected.shape != self.actual.shape:
            raise SegmentError(
                f"{where} has shape {list(self.actual.shape)}, in the source {list(self.expected.shape)}"
            )
        apart, level = absolute_differences(self.expected, self.actual), np.abs(self.end.level)
        off = ~(apart <= level * tolerances.LEVEL)
        reach = max(compare("", self.before, self.before).limit, coordinate_error(self.before))
        is_one_level = apart <= level * (1 + tolerances.LEVEL) + reach
        wrong = off & ~(is_one_level & self.end.is_at_edge(self.before, reach))
        if wrong.any():
            most = float((apart / level)[wrong].max())
            counts = f"{int(wrong.sum())} of {self.expected.size} values, by up to {most:.3g} levels"
            raise SegmentError(f"{where} is the first that differs: {counts}")
        return int(off.sum())


def _outputs(expected: Named, actual: Named, segments: Sequence[_Segment]) -> Iterator[Compared]:
    """Yield how outputs compare; one that is rounded itself may differ by a level, for its segment was looked at."""
    levels = {
        segment.end.after: float(np.abs(segment.end.level).max()) * (1 + tolerances.LEVEL) for segment in segments
    }
    for (name, mine), (_, theirs) in zip(expected, actual, strict=True):
        least = max(levels.get(name, 0.0), coordinate_error(mine))
        yield compare(name, mine, theirs, tolerances.OUTPUT, least=least)


def _note(every: _Ends, segments: Sequence[_Segment], at_edges: int) -> str:
    elsewhere = {end.after for end in every.elsewhere}
    shown = sum(segment.end.after not in elsewhere for segment in segments)
    hidden = len(every.fixed) + len(every.dynamic) - shown
    more = f" ({hidden} quantisations are not shown by both)" if hidden else ""
    count = sum(segment.expected.size for segment in segments)
    edges = f"{at_edges} of {count} values lie at the edge between two levels, and differ by one"
    return f"{len(segments)} segments between quantisations{more}, each on the source's own values: {edges}"
