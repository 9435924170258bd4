"""Find where two models begin to differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import VerificationError
from ir_interp.resize_op import ResizeOp

from ...reports.verification import Compared
from ..resize_tensors import ResizeTensors, resizes_with_tensors
from ..run.array_files import Named
from ..run.processes import Runs
from .array_differences import all_pass, compare, compare_all, coordinate_error
from .source_segments import Values, common

_PROBES = 16  # tensors that are compared in one run
_MOST_INNOCENT = 8  # differing tensors that change no output, before the search is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A resize, and how its data and its output compare between two models; None if they are unavailable in one."""

    name: str
    where: str
    data: Compared | None
    output: Compared | None

    @property
    def differs(self) -> bool:
        """Whether both models show its output, and the outputs differ."""
        return self.output is not None and not self.output.passes

    @property
    def is_fed_otherwise(self) -> bool:
        """Whether its data differ already."""
        return self.data is not None and not self.data.passes

    @property
    def text(self) -> tuple[str, str]:
        """How its data and its output compare, as text."""
        return _text(self.data), _text(self.output)


def _text(compared: Compared | None) -> str:
    if compared is None:
        return "not visible in both"
    return compared.difference if not compared.passes else f"equal within {compared.absolute:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLayer:
    """The first common tensor of both models that differs and matters to the outputs; see ``first_layer``."""

    name: str
    compared: Compared
    resize: str = ""

    @property
    def text(self) -> str:
        """The tensor in one line, with the resize that computes it, if one does."""
        is_named = self.resize in ("", self.name)
        name = repr(self.name) if is_named else f"{self.name!r}, the output of the resize {self.resize!r}"
        return f"the first layer that differs is {name}: it {self.compared.difference}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A resize, and the names of its data and its output in either model."""

    op: ResizeOp
    data: tuple[str, str]
    output: tuple[str, str]


def resizes(run: Runs, first: Path, second: Path, tolerance: float | None = None) -> list[Located]:
    """Return how each resize compares between two models: its data and its output, as far as either model has them."""
    pairs = _pairs(resizes_with_tensors(first), resizes_with_tensors(second))
    mine, theirs = _shown(run, first, pairs, 0), _shown(run, second, pairs, 1)
    return _located(pairs, mine, theirs, tolerance)


def resizes_on_the_same_data(run: Runs, first: Path, second: Path, tolerance: float | None = None) -> list[Located]:
    """Return how each resize compares if the second model's gets the first's data, as far as both show these.

    Raises VerificationError if the second model does not run so, such as for data of another shape.
    """
    pairs = _pairs(resizes_with_tensors(first), resizes_with_tensors(second))
    mine, inputs = _shown(run, first, pairs, 0), {tensor.name for tensor in run.models.read(second).inputs}
    fed = {
        theirs: mine[name] for name, theirs in (pair.data for pair in pairs) if theirs not in inputs and name in mine
    }
    theirs = _shown(run, second, pairs, 1, fed) | fed
    return _located(pairs, mine, theirs, tolerance)


def _shown(run: Runs, model: Path, pairs: Sequence[_Pair], side: int, replacements: Values | None = None) -> Values:
    """Return the data and outputs of resizes that a model shows."""
    names = (name for pair in pairs for name in (pair.data[side], pair.output[side]) if name)
    return run(model, list(dict.fromkeys(names)), replacements=replacements)[1]


def _located(pairs: Sequence[_Pair], mine: Values, theirs: Values, tolerance: float | None) -> list[Located]:
    """Return how resizes compare; where values cancel, an output may be off by the last bits of the data."""

    def compared(first: str, second: str, least: float) -> Compared | None:
        is_shown = first in mine and second in theirs
        return compare(first, mine[first], theirs[second], tolerance, least=least) if is_shown else None

    located = []
    for pair in pairs:
        least = coordinate_error(mine[pair.data[0]]) if pair.data[0] in mine else 0.0
        data, output = compared(*pair.data, 0.0), compared(*pair.output, least)
        located.append(Located(name=pair.op.name, where=pair.op.where, data=data, output=output))
    return located


def _pairs(mine: Sequence[ResizeTensors], theirs: Sequence[ResizeTensors]) -> list[_Pair]:
    """Return one resize with its partner: of the same output, else at the same place if both have as many.

    Without a partner, because it became other operations, its tensors' names are searched in the other model.
    """
    # A conversion keeps the names of outputs, but it may write a resize as other operations.
    by_output = {resize.output: resize for resize in theirs}
    in_order = list(theirs) if len(mine) == len(theirs) else []
    pairs = []
    for place, one in enumerate(mine or theirs):
        other = by_output.get(one.output) or (in_order[place] if in_order else one)
        data = one.inputs.get("data", ""), other.inputs.get("data", "")
        pairs.append(_Pair(op=one.op, data=data, output=(one.output, other.output)))
    return pairs


def cause(run: Runs, source: Path, result: Path, *, layers: bool = True) -> str:
    """Return where a result begins to differ: a resize with the same data, else with ``layers`` any layer."""
    first = next((located for located in resizes(run, source, result) if located.differs), None)
    if first is not None and first.output is not None and not first.is_fed_otherwise:
        return f"; the first resize that differs is {first.name!r}: it {first.output.difference}"
    layer = first_layer(run, source, result) if layers else None
    if layer is not None:
        return f"; {layer.text}"
    nothing = "; no resize or layer visible in both models differs, so the difference arises elsewhere"
    return nothing if layers else ""


def first_layer(run: Runs, first: Path, second: Path, tolerance: float | None = None) -> FirstLayer | None:
    """Return the first tensor that differs between two models, in the order in which the first produces them.

    A name may mean another tensor in the other model, for example if a following operation was merged. So a tensor
    counts only if the second model's outputs change when it gets the first's values instead.
    """
    names = common(run.models.read(first), run.models.read(second))
    outputs = run(second)[0]
    for _ in range(_MOST_INNOCENT):
        difference = _first(run, names, first, second, tolerance)
        if difference is None:
            break
        comparison, values = difference
        if _matters(run, second, outputs, comparison.name, values):
            resize_of = {resize.output: resize.op.name for resize in resizes_with_tensors(first)}
            return FirstLayer(name=comparison.name, compared=comparison, resize=resize_of.get(comparison.name) or "")
        names = names[names.index(comparison.name) + 1 :]
    return None


def _first(
    run: Runs, names: Sequence[str], first: Path, second: Path, tolerance: float | None
) -> tuple[Compared, NDArray[Any]] | None:
    """Return how the first differing tensor compares, with the first model's values of it; None if none differs.

    It narrows an interval: each run compares tensors at equal distances, and the next run those between the first
    that differs and the one before.
    """
    start, end = 0, len(names)
    difference = None
    while start < end:
        step = -(-(end - start) // _PROBES)  # rounded up
        places = [min(place, end) - 1 for place in range(start + step, end + step, step)]
        probes = [names[place] for place in places]
        (_, mine), (_, theirs) = run(first, probes), run(second, probes)
        compared = {
            place: compare(name, mine[name], theirs[name], tolerance)
            for place, name in zip(places, probes, strict=True)
            if name in mine and name in theirs and mine[name].dtype.kind == theirs[name].dtype.kind
        }
        differing = next((place for place, compared in compared.items() if not compared.passes), None)
        if differing is None:
            break
        difference = compared[differing], mine[names[differing]]
        start, end = max([start, *(place + 1 for place in places if place < differing)]), differing
    return difference


def _matters(run: Runs, second: Path, outputs: Named, name: str, values: NDArray[Any]) -> bool:
    try:
        corrected = run(second, replacements={name: values})[0]
    except VerificationError:  # of another shape: later nodes cannot take it
        return True
    return name in dict(outputs) or not all_pass(compare_all(outputs, corrected))
