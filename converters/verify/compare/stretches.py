"""Models compared stretch by stretch: each stretch between two tensors that both have, on the source's own values.

A deep model enlarges last bits, until outputs of two runtimes, or of one runtime in two ways, are far apart; how far
they may be, nobody can tell. One stretch of a few layers enlarges little. So the result is given the source's values
wherever both have a tensor, and what it makes of them until the next may differ as outputs of any model may; or as
the source itself does where what it is given is off by as much as float32 sums are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError

from ...report import Compared, Verification
from ..graphs import Graph, read
from ..run.processes import Runs
from ..run.runners import Named
from .differences import HALF_TOLERANCE, TOLERANCE, StretchError, compare, of_coordinates
from .rows import Aligned, aligned, sorts

Array = NDArray[Any]
_CUTS = (128, 32, 8, 0)  # tensors at which stretches begin; fewer where so many take too much memory
_DECIDES = re.compile(  # layers that make a step of a last bit
    r"topk|nonmaxsuppression|arg(max|min)|greater(orequal|equal)?|less(orequal|equal)?|(not)?equal"
    r"|floor|ceil(ing)?|round|cast|convert|sign|nonzero|bucketize"
)
_SUMS = re.compile(r"(group|fused)?conv(transpose|olution(backpropdata)?)?|matmul|gemm")  # layers that sum over weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two models to compare, which may stand for others, as in another precision; ``way`` says in which."""

    source: Path
    result: Path
    source_in_openvino: bool
    result_in_openvino: bool
    way: str = ""

    def run_source(self, run: Runs, tensors: Sequence[str] = (), **options: Any) -> tuple[Named, dict[str, Array]]:
        """Run the source; see ``Runs``."""
        return run(self.source, tensors, in_openvino=self.source_in_openvino, **options)

    def run_result(self, run: Runs, tensors: Sequence[str] = (), **options: Any) -> tuple[Named, dict[str, Array]]:
        """Run the result; see ``Runs``."""
        return run(self.result, tensors, in_openvino=self.result_in_openvino, **options)


def common(first: Path, second: Path) -> list[str]:
    """Return the tensors that steps of both models make, as far as names tell, in the order of the first."""
    mine, theirs = read(first), read(second).names
    inputs = {each.name for each in mine.inputs}
    made = [name for step in mine.steps for name in step.outputs if name and name not in inputs]
    return [name for name in dict.fromkeys(made) if name in theirs]


def verified(run: Runs, pair: Pair) -> Verification:
    """Compare two models stretch by stretch. Raises StretchError that names the first stretch that differs."""
    names, decisive = common(pair.source, pair.result), _decisive(read(pair.source))
    for most in _CUTS:
        try:
            return _Proof.begun(run, pair, _spaced(names, most, decisive)).verified()
        except _TooMuchError:
            continue
    raise VerificationError(f"{pair.result.name} does not run once more")


class _TooMuchError(Exception):
    """One of the models does not run with as many tensors shown or given."""


def _decisive(graph: Graph) -> frozenset[str]:
    """Return the tensors of whose values a last bit may decide an order, a choice or a whole number."""
    return frozenset(name for step in graph.steps if _DECIDES.fullmatch(step.type) for name in step.inputs)


def _spaced(names: Sequence[str], most: int, decisive: Container[str]) -> Sequence[str]:
    """Return names at equal distances, at most so many, and all that are decisive; none where ``most`` is 0."""
    if not most:
        return []
    distance = math.ceil(len(names) / most)
    return [name for place, name in enumerate(names) if not place % distance or name in decisive]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proof:
    """What the source makes: its outputs, and the tensors at which stretches begin and end, in order."""

    run: Runs
    pair: Pair
    graph: Graph
    wanted: Named
    own: dict[str, Array]

    @classmethod
    def begun(cls, run: Runs, pair: Pair, names: Sequence[str]) -> _Proof:
        """Return what the source makes of ``names``, as far as the result has tensors of these lengths, too."""
        try:
            wanted, mine = pair.run_source(run, names)
            _, theirs = pair.run_result(run, names)
        except VerificationError as problem:
            raise _TooMuchError from problem
        own = {name: mine[name] for name in names if name in mine and name in theirs}
        own = {name: each for name, each in own.items() if each.dtype.kind == "f" and each.shape == theirs[name].shape}
        return cls(run=run, pair=pair, graph=read(pair.source), wanted=wanted, own=own)

    def verified(self) -> Verification:
        """Compare every stretch, then those between tensors that did not differ.

        For a name may be that of another tensor in the result, before a layer that was merged; then all goes on well
        behind it. What the result makes wrong differs once more, at the next tensor that both have.
        """
        stretches, outputs = self._judged(self.own)
        left_out = {name: each for name, each in stretches.items() if not each.passes}
        if left_out:
            kept = {name: each for name, each in self.own.items() if name not in left_out}
            stretches, outputs = self._judged(kept)
        inside = [(name in left_out, left_out.get(name) or stretches[name]) for name in self.own]
        _check([*inside, *((False, each) for each in outputs)])
        worst = max((each.relative for each in stretches.values()), default=0.0)
        return Verification(
            outputs=tuple(outputs),
            note=f"{len(stretches) + 1} stretches, each on the source's own values, differ by up to {worst:.2g}",
        )

    def _judged(self, given: dict[str, Array]) -> tuple[dict[str, Compared], list[Compared]]:
        """Return how what the result makes of given tensors compares, and its outputs."""
        stretches, outputs = self._stretches(given)
        if all(each.passes for each in (*stretches.values(), *outputs)):
            return stretches, outputs
        moves, ends = self._stretches(given, by_source=True)
        stretches = {name: _widened(each, moves[name]) for name, each in stretches.items()}
        return stretches, [_widened(*each) for each in zip(outputs, ends, strict=True)]

    def _stretches(
        self, given: dict[str, Array], *, by_source: bool = False
    ) -> tuple[dict[str, Compared], list[Compared]]:
        """Return how what the result makes of given tensors compares, and its outputs.

        Or how that does which the source makes of such that are off by what sums in float32 are.
        """
        names = list(given)
        try:
            if by_source:
                rng, off = np.random.default_rng(0), math.sqrt(_terms(self.graph)) * float(np.finfo(np.float32).eps)
                got, made = self.pair.run_source(
                    self.run, names, given={name: _moved(each, off, rng) for name, each in given.items()}
                )
            else:
                got, made = self.pair.run_result(self.run, names, given=given)
        except VerificationError as problem:
            raise _TooMuchError from problem
        moved = aligned(self.wanted, got, TOLERANCE) if sorts(self.graph) else Aligned(outputs=got)
        stretches = {name: _inside(name, each, made[name]) for name, each in given.items()}
        pairs = zip(self.wanted, moved.outputs, strict=True)
        outputs = [compare(name, mine, theirs, least=of_coordinates(mine)) for (name, mine), (_, theirs) in pairs]
        return stretches, [replace(each, remark=moved.note) for each in outputs]


def _check(compared: Sequence[tuple[bool, Compared]]) -> None:
    """Raise StretchError where a stretch differs: from the end of the one before to its own.

    Tensors that were left out, the first of each pair says which, end none. But where the next that was not differs,
    the first of them is where it began.
    """
    start, began = "the inputs", None
    for was_left_out, each in compared:
        if was_left_out:
            began = began or each
        elif each.passes:
            start, began = repr(each.name), None
        else:
            first = began or each
            problem = f"the stretch from {start} to {first.name!r} is the first that differs on the source's own values"
            raise StretchError(f"{problem}: it {first.difference}")


def _inside(name: str, mine: Array, theirs: Array) -> Compared:
    """Return how a tensor inside compares, however small its values are: a later layer may enlarge them."""
    found = compare(name, mine, theirs)
    tolerance = found.limit / max(1.0, found.largest)
    return replace(found, limit=max(tolerance * found.largest, of_coordinates(mine, least=0.0)))


def _widened(found: Compared, moves: Compared) -> Compared:
    """Return a comparison that allows as much as the source's own value moves, if that still tells something."""
    if not moves.absolute >= 0:  # NaN
        return found
    return replace(found, limit=max(found.limit, min(moves.absolute, HALF_TOLERANCE * found.largest)))


def _moved(values: Array, off: float, rng: np.random.Generator) -> Array:
    """Return values that are off by a share of themselves, up or down."""
    return (values * (1 + off * rng.choice((-1.0, 1.0), values.shape))).astype(values.dtype)


def _terms(graph: Graph) -> int:
    """Return of how many terms the longest sum of a model is, as far as its weights tell."""
    weights = [step.inputs[1] for step in graph.steps if _SUMS.fullmatch(step.type)]
    shapes = [[each or 1 for each in graph.shape(name) or ()] for name in weights]
    return max((max(shape) if len(shape) == 2 else math.prod(shape[1:]) for shape in shapes), default=1)
