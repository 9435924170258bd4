"""Quantised models as users call them: by the default settings of their runtimes, against the source of a proof.

A proof sums 8-bit products exactly on every processor. A plain call does so on some only, and in OpenVINO it rounds
between layers more often. It may differ by as much as last bits move the source, since a level that flips changes
others behind it; anything beyond that is a difference that the user will see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import VerificationError
from ir_interp.processor import processor

from ...reports.verification import Compared, PlainCall, PlainOutput
from ...runtimes.byte_products import ONNXRUNTIME, OPENVINO
from ..graphs import Graph
from ..run.array_files import Named
from ..run.extremes import is_quantised
from ..run.processes import Runs
from . import tolerances
from .array_differences import all_pass, compare, largest_difference
from .model_outputs import ModelOutputs
from .moved_values import moved_inputs, noise
from .quantisations import quantisations
from .tied_rows import aligned, sorts


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
    run: Runs,
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
    known = {end.after: float(np.abs(end.level).max()) for end in quantisations(graph)}
    named = zip(graph.outputs, outputs, strict=len(graph.outputs) == len(outputs))
    levels = {name: known[end] for end, (name, _) in named if end in known}
    return levels | {name: 1.0 for name, array in outputs if array.dtype.kind in "iu" and array.dtype.itemsize == 1}


def _compared(expected: Named, actual: Named, limits: Sequence[float]) -> list[Compared]:
    ends = (
        compare(name, mine, theirs, 0.0, least=limit)
        for (name, mine), (_, theirs), limit in zip(expected, actual, limits, strict=True)
    )
    return list(ends)


def _moves(run: Runs, source: Path, expected: Named) -> list[float]:
    """Return how far each output moves on values that are moved by last bits; 0 if the source does not run so."""
    graph = run.models.read(source)
    try:
        others, _ = replace(run, arrays=moved_inputs(run.arrays, graph))(source, noise=noise(graph))
    except VerificationError:
        return [0.0] * len(expected)
    return [_difference(*pair) for pair in zip(expected, others, strict=True)]


def _difference(mine: tuple[str, Array], theirs: tuple[str, Array]) -> float:
    return largest_difference(mine[1], theirs[1]) if mine[1].shape == theirs[1].shape else 0.0
