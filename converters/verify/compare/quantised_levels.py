"""Rung 1: models that round to levels, segment by segment: each between two quantisations, on the source's own values.

If a last bit decides between two levels, later layers enlarge the step, so that outputs of the whole prove nothing: a
runtime differs from itself by as much. At the end of one segment, the same values may differ by one level only, and
only if the value before it is rounded lies nearer to the edge between two than the source's own executions differ
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.files.memory import default_bound

from ...onnx import qoperator
from ...reports.verification import Compared, Levels, Verification
from ..graphs import read
from ..run.array_files import Named
from ..run.processes import Runs
from . import half_irs, source_spread, tolerances
from .array_differences import check, compare, coordinate_error
from .comparable_models import in_float32
from .model_outputs import ModelOutputs, SegmentError, outputs_difference
from .quantisations import Quantisation, Values, dynamic_quantisations, quantisations
from .segment_ends import ComparedEnd, Ends

_BYTES_AN_ELEMENT = 24  # float32: in a runtime, in the layout of its kernels, and twice in a comparison
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
    compared = tuple(map(check, source_spread.within_noise(run, source, expected, others, compared, starts)))
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

    run: Runs
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

    def _folding(self, ends: Ends) -> source_spread.Folding:
        befores = ends.befores
        return source_spread.folding(self.run, self.source, befores, _values(self._starts(befores), self.values))

    def _reach(self, ends: Ends, others: Values, replacements: Mapping[str, Array]) -> dict[str, float]:
        """Return the distance from an edge within which a level may flip, by the name of the tensor before rounding."""
        in_source = ends.befores
        starts = _values(self._starts(in_source), self.values)
        reach = source_spread.sums(self.run, self.source, in_source, self.values, starts)
        reach = {name: moves + self.apart.get(name, 0.0) for name, moves in reach.items()}
        for end in ends.dynamic if half_irs.is_in_half(self.source) else ():
            reach[end.before] = reach.get(end.before, 0.0) + end.rescaling(self.values)
        if ends.elsewhere:
            in_result = [end.before for end in ends.elsewhere]
            moves = source_spread.sums(self.run, self.result, in_result, others, replacements)
            reach |= {
                end.before: moves[end.before] + self._reach_elsewhere(end, ends, others) for end in ends.elsewhere
            }
        return reach

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
        flipped = source_spread.flipped_by_kernels(self.run, self.source, ends.fixed, starts, self.values)
        known = self.flipped_by_source
        self.flipped_by_source = None if known is None or flipped is None else known + flipped


def _values(ends: Iterable[Quantisation], values: Values) -> dict[str, Array]:
    return {end.after: values[end.after] for end in ends}


def _quantises(outputs: ModelOutputs) -> bool:
    """Return whether a model quantises anything that depends on its inputs."""
    graphs = [outputs.run.models.read(model) for model in (outputs.source, outputs.result)]
    is_plain = bool(quantisations(graphs[0])) or any(step.type in _OPERATORS for step in graphs[0].steps)
    return is_plain or bool(dynamic_quantisations(*graphs))


def _as_a_whole(outputs: ModelOutputs) -> str:
    """Return the difference of two models as a whole."""
    difference = outputs_difference(outputs.expected, outputs.actual)
    return f"as a whole they differ by {difference:.3g}; {outputs.self_difference()}"


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
