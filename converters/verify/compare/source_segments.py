"""Models compared segment by segment: each between two tensors that both have, on the source's own values.

A deep model enlarges last bits, until outputs of two runtimes, or of one runtime in two ways, are far apart, and no
bound can be derived. One segment of a few layers enlarges little. So the result gets the source's values
wherever both have a tensor, and its values at the next such tensor may differ as outputs of any model may; or as
the source's own do if its values are off by as much as float32 sums are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir_interp.array_types import Array
from ir_interp.errors import VerificationError

from ...reports.verification import Compared, Verification
from ..graphs import Graph
from ..run.array_files import Named
from ..run.processes import Runs
from . import tolerances
from .array_differences import all_pass, allowing_noise, compare, coordinate_error
from .model_outputs import SegmentError
from .moved_values import moved, moved_inputs, noise
from .tied_rows import compare_aligned

Values = dict[str, Array]

# More tensors make shorter segments, in which last bits grow less. But each is an output of the model, held in memory,
# and keeps a runtime from fusing the layers around it, so that another graph would be verified than the one in use.
_COUNTS = (128, 32, 8, 0)
"""Numbers of tensors at which segments begin; the next one if so many take too much memory."""

# In these a last bit decides about an order, or an integer: a layer behind would differ by any amount.
_DECIDES = re.compile(
    r"topk|nonmaxsuppression|arg(max|min)|greater(orequal|equal)?|less(orequal|equal)?|(not)?equal"
    r"|floor|ceil(ing)?|round|cast|convert|sign|nonzero|bucketize"
)


def common(first: Graph, second: Graph) -> list[str]:
    """Return the tensors that steps of both models produce, as far as names show, in the order of the first."""
    inputs = {tensor.name for tensor in first.inputs}
    outputs = [name for step in first.steps for name in step.outputs if name and name not in inputs]
    return [name for name in dict.fromkeys(outputs) if name in second.names]


def verified(run: Runs, source: Path, result: Path) -> Verification:
    """Compare two models segment by segment. Raises SegmentError that names the first segment that differs."""
    graph = run.models.read(source)
    names, decisive = common(graph, run.models.read(result)), _decisive(graph)
    for count in _COUNTS:
        try:
            return _Segments.between(run, source, result, _spaced(names, count, decisive)).verified()
        except _TooMuchError:
            continue
    raise VerificationError(f"{result.name} does not run again")


class _TooMuchError(Exception):
    """One of the models does not run with so many tensors shown or replaced."""


def _decisive(graph: Graph) -> frozenset[str]:
    """Return the tensors in whose values a last bit may decide about an order, a choice or an integer."""
    return frozenset(name for step in graph.steps if _DECIDES.fullmatch(step.type) for name in step.inputs)


def _spaced(names: Sequence[str], count: int, decisive: Container[str]) -> Sequence[str]:
    """Return names at equal distances, ``count`` at most, and all decisive ones; none if ``count`` is 0."""
    if not count:
        return []
    distance = math.ceil(len(names) / count)
    return [name for place, name in enumerate(names) if not place % distance or name in decisive]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """How both models compare where segments end: at tensors inside, by name, and at their outputs."""

    inside: dict[str, Compared]
    outputs: tuple[Compared, ...]

    @property
    def passes(self) -> bool:
        return all_pass((*self.inside.values(), *self.outputs))

    def widened(self, moves: _Ends) -> _Ends:
        """Return the comparisons with the limits that follow from the moved values of the source."""
        return _Ends(
            inside={name: _widened(array, moves.inside[name]) for name, array in self.inside.items()},
            outputs=tuple(_widened(*pair) for pair in zip(self.outputs, moves.outputs, strict=True)),
        )

    def with_noise(self, moves: _Ends) -> _Ends:
        """Return the comparisons that also allow the noise of values that cancel in the source."""
        return _Ends(
            inside={name: _with_noise(array, moves.inside[name]) for name, array in self.inside.items()},
            outputs=tuple(_with_noise(*pair) for pair in zip(self.outputs, moves.outputs, strict=True)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segments:
    """The source's outputs, and its ``values`` of the tensors at which segments begin and end, in order."""

    run: Runs
    source: Path
    result: Path
    graph: Graph
    expected: Named
    values: Values

    @classmethod
    def between(cls, run: Runs, source: Path, result: Path, names: Sequence[str]) -> _Segments:
        """Return the segments between ``names``, as far as the result has tensors of these shapes, too."""
        (expected, values), (_, others) = _run(run, source, names), _run(run, result, names)
        values = {name: values[name] for name in names if name in values and name in others}
        # A name with another shape means another tensor.
        values = {
            name: value
            for name, value in values.items()
            if value.dtype.kind == "f" and value.shape == others[name].shape
        }
        return cls(
            run=run, source=source, result=result, graph=run.models.read(source), expected=expected, values=values
        )

    def verified(self) -> Verification:
        """Compare every segment, then those between tensors that did not differ.

        A name may be that of another tensor in the result, before a layer that was merged; then the segment behind it
        passes. An error of the result differs once more, at the next tensor that both have.
        """
        ends = self._compared(self.values)
        left_out = {name: compared for name, compared in ends.inside.items() if not compared.passes}
        if left_out:
            ends = self._compared({name: array for name, array in self.values.items() if name not in left_out})
        inside = [(name in left_out, left_out.get(name) or ends.inside[name]) for name in self.values]
        _check([*inside, *((False, output) for output in ends.outputs)])
        worst = max((comparison.relative for comparison in ends.inside.values()), default=0.0)
        return Verification(
            outputs=ends.outputs,
            note=f"{len(ends.inside) + 1} segments, each on the source's own values, differ by up to {worst:.2g}",
        )

    def _compared(self, values: Values) -> _Ends:
        """Return how the result's ends compare, given the source's values; limits follow the source's own moves."""
        ends = self._ends(self.result, values, values)
        if ends.passes:
            return ends
        values_moved = moved(values, self.graph)
        ends = ends.widened(self._ends(self.source, values, values_moved))
        if ends.passes:
            return ends
        moving = replace(self.run, arrays=moved_inputs(self.run.arrays, self.graph))
        share = noise(self.graph)
        return ends.with_noise(self._ends(self.source, values, values_moved, moving, noise=share))

    def _ends(
        self, model: Path, values: Values, replacements: Values, run: Runs | None = None, **options: Any
    ) -> _Ends:
        """Return how the ends of a model's segments compare with the source's values, given replacements of these."""
        outputs, others = _run(run or self.run, model, list(values), replacements=replacements, **options)
        inside = {name: _inside(name, array, others[name]) for name, array in values.items()}
        return _Ends(inside=inside, outputs=compare_aligned(self.expected, outputs, self.graph))


def _run(run: Runs, model: Path, names: Sequence[str], **options: Any) -> tuple[Named, Values]:
    try:
        return run(model, names, **options)
    except VerificationError as problem:
        raise _TooMuchError from problem


def _check(ends: Sequence[tuple[bool, Compared]]) -> None:
    """Raise SegmentError if a segment differs: from the end of the one before to its own.

    Each pair begins with a flag for tensors that were left out; these end no segment. But if the next tensor differs
    too, the first of them is where the difference began.
    """
    start, began = "the inputs", None
    for was_left_out, compared in ends:
        if was_left_out:
            began = began or compared
        elif compared.passes:
            start, began = repr(compared.name), None
        else:
            begin = began or compared
            problem = f"the segment from {start} to {begin.name!r} is the first that differs on the source's own values"
            raise SegmentError(f"{problem}: it {begin.difference}")


def _inside(name: str, expected: Array, actual: Array) -> Compared:
    """Return how an inner tensor compares, however small its values are: a later layer may enlarge them."""
    return compare(name, expected, actual, least=coordinate_error(expected))


def _widened(comparison: Compared, moves: Compared) -> Compared:
    """Return a comparison that allows as much as the source's own value moves, if that is still conclusive."""
    if not moves.absolute >= 0 or moves.shapes:  # NaN
        return comparison
    most = tolerances.HALF_OUTPUT * comparison.largest
    return replace(comparison, limit=max(comparison.limit, min(moves.absolute, most)))


def _with_noise(output: Compared, moves: Compared) -> Compared:
    return output if moves.shapes else allowing_noise(output, moves.absolute)
