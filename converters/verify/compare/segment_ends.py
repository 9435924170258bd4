"""Ends of the segments of a model that rounds to levels, in groups, and how both models compare there."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ir_interp.array_types import Array

from ..graphs import Graph
from . import tolerances
from .array_differences import absolute_differences, pieces
from .model_outputs import SegmentError
from .quantisations import DynamicQuantisation, Quantisation, Values, dynamic_quantisations, quantisations


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The quantisations at which segments end.

    ``fixed`` are those of the source whose scales are in its file, ``dynamic`` those with scales computed at run
    time, and ``elsewhere`` those of the result alone.
    """

    fixed: Sequence[Quantisation] = ()
    dynamic: Sequence[DynamicQuantisation] = ()
    elsewhere: Sequence[Quantisation] = ()

    @classmethod
    def of(cls, source: Graph, result: Graph) -> Ends:
        """Return all ends of a source and its result."""
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

    @property
    def befores(self) -> list[str]:
        """The tensors before the source rounds them."""
        return [*(end.before for end in self.fixed), *(end.before for end in self.dynamic)]

    def shown_in(self, values: Values) -> Ends:
        """Return the ends without those that depend on a tensor that is hidden in the source."""
        return Ends(
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

    def starts_in_source(self, graph: Graph, ends: Iterable[str], values: Values) -> list[Quantisation]:
        """Return the quantisations with whose ``values`` the segments begin that lead to ``ends`` in the source."""
        known = {end.after: end for end in self.fixed if end.after in values}
        return [known[name] for name in graph.starts(ends, known.keys())]

    def replacements(self, graph: Graph, ends: Iterable[str], values: Values) -> dict[str, Array]:
        """Return the source's values with which the segments begin that lead to ``ends`` in the result."""
        integers = {name: (end, zero) for name, end, zero in self._integers(values)}
        names = graph.starts(ends, {name for name in self._afters if name in values} | integers.keys())
        replacements = {name: values[name] for name in names if name not in integers}
        for name in names & integers.keys():
            end, zero = integers[name]
            replacements[name] = np.rint((values[end.after] - zero) / end.level).astype(np.float32)
        return replacements

    def __add__(self, others: Ends) -> Ends:
        return Ends(
            fixed=[*self.fixed, *others.fixed],
            dynamic=[*self.dynamic, *others.dynamic],
            elsewhere=[*self.elsewhere, *others.elsewhere],
        )

    def groups(self, graph: Graph, sizes: Mapping[str, int], most: float) -> Iterator[Ends]:
        """Yield the ends in groups, in the order of the source's ``graph``; model outputs end in the last.

        The tensors of a group have ``most`` elements together, by ``sizes``, unless a single segment has more.
        """
        names = {end.after for end in (*self.fixed, *self.elsewhere)} | {end.levels for end in self.dynamic}
        group, size, between = set[str](), 0, 0
        for step in graph.steps:
            between += sum(sizes.get(name, 0) for name in step.outputs)
            ended = names.intersection(step.outputs)
            if ended:
                if group and size + between > most:
                    yield self._among(group)
                    names, group, size = names - group, set(), 0
                group, size, between = group | ended, size + between, 0
        if group and size + between > most:
            yield self._among(group)
            names = names - group
        yield self._among(names)

    def _among(self, names: Container[str]) -> Ends:
        return Ends(
            fixed=[end for end in self.fixed if end.after in names],
            dynamic=[end for end in self.dynamic if end.levels in names],
            elsewhere=[end for end in self.elsewhere if end.after in names],
        )

    def segments(self, values: Values, others: Values, reach: Mapping[str, float]) -> Iterator[Segment]:
        """Yield the segments whose ends both models show: ``values`` in the source, ``others`` in the result."""
        integers = [entry for entry in self._integers(values) if entry[0] in others]
        others = {end.after: others[name] * end.level + zero for name, end, zero in integers} | dict(others)
        yield from _segments(self.fixed, values, others, before=values, reach=reach)
        for dynamic in self.dynamic:
            if others.keys() >= {*dynamic.outputs}:
                check_scale(dynamic, values, others)
                expected, actual = ({dynamic.levels: dynamic.numbers(tensors, values)} for tensors in (values, others))
                yield from _segments([dynamic.fixed(values)], expected, actual, before=values, reach=reach)
        yield from _segments(self.elsewhere, values, others, before=others, reach=reach)


def _segments(
    ends: Sequence[Quantisation], values: Values, others: Values, *, before: Values, reach: Mapping[str, float]
) -> Iterator[Segment]:
    for end in ends:
        if end.after in values.keys() & others.keys() and end.before in before:
            arrays = {"expected": values[end.after], "actual": others[end.after], "before": before[end.before]}
            yield Segment(end=end, **arrays, reach=reach.get(end.before, 0.0))


def check_scale(dynamic: DynamicQuantisation, values: Values, others: Values) -> None:
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
class Segment:
    """Values in both models where a segment ends with a quantisation, and those ``before`` they are rounded.

    ``reach`` is the distance from an edge between two levels within which the source's own executions differ.
    """

    end: Quantisation
    expected: Array
    actual: Array
    before: Array
    reach: float

    def compared(self) -> ComparedEnd:
        """Return how many values differ by a level. Raises SegmentError if one does without reason.

        Levels may lie so close that float32 rounding of the values before is worth several.
        """
        where = f"the segment that ends with the quantisation {self.end.after!r}"
        if self.expected.shape != self.actual.shape:
            raise SegmentError(
                f"{where} has shape {list(self.actual.shape)}, in the source {list(self.expected.shape)}"
            )
        flips = [self._part(piece)._flips() for piece in pieces(self.expected.shape)]
        wrong = sum(flip.wrong for flip in flips)
        if wrong:
            apart, nearest = (max(getattr(flip, name) for flip in flips) for name in ("apart", "nearest"))
            reach = float(self.reach / np.abs(self.end.step).min())
            counts = f"{wrong} of {self.expected.size} values, by up to {apart:.3g} levels"
            edge = f"up to {nearest:.2g} levels from an edge, where the source is sure to within {reach:.2g}"
            raise SegmentError(f"{where} is the first that differs: {counts}, {edge}")
        return ComparedEnd(
            name=self.end.after,
            level=float(np.abs(self.end.level).max()),
            size=self.expected.size,
            flipped=sum(flip.count for flip in flips),
        )

    def _part(self, piece: tuple[slice, ...]) -> Segment:
        arrays = {name: getattr(self, name)[piece] for name in ("expected", "actual", "before")}
        return replace(self, end=self.end.part(self.expected.shape, piece), **arrays)

    def _flips(self) -> _Flips:
        if np.array_equal(self.expected, self.actual):
            return _Flips()
        apart, level = absolute_differences(self.expected, self.actual), np.abs(self.end.level)
        off = ~(apart <= level * tolerances.LEVEL)
        if not off.any():
            return _Flips()
        reach = self.reach + self.end.rounding(self.before)
        is_one_level = apart <= level * (1 + tolerances.LEVEL + reach / np.abs(self.end.step))
        distance = self.end.distance(self.before)
        wrong = off & ~(is_one_level & (distance <= reach))
        return _Flips(
            count=int(off.sum()),
            wrong=int(wrong.sum()),
            apart=float((apart / level)[wrong].max(initial=0.0)),
            nearest=float((distance / np.abs(self.end.step))[wrong].max(initial=0.0)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedEnd:
    """The tensor where a segment ends, its largest level, the number of its values and that of its flipped levels."""

    name: str
    level: float
    size: int
    flipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flips:
    """The number of values that differ by a level, and of those that differ without reason.

    The latter are up to ``apart`` levels apart, and up to ``nearest`` levels from an edge.
    """

    count: int = 0
    wrong: int = 0
    apart: float = 0.0
    nearest: float = 0.0
