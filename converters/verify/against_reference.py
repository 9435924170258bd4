"""Compare a model with a reference: outputs that another program computed, or a function that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.files.memory import running
from ir_interp.files.scratch import scratch

from ..reports.conversion_report import Progress, silent
from ..reports.verification import Compared, PlainCall
from ..workers.forks import forks
from .compare import plain_calls
from .compare.array_differences import all_pass, compare
from .compare.first_difference import FirstLayer, Located
from .compare.source_segments import common
from .compare.source_spread import within_noise
from .compare.tied_rows import aligned, sorts
from .compare.undecided_orders import undecided
from .comparison import ModelComparison
from .graphs import Graph, read
from .model_pairs import check_model, compared_runs, merged
from .output_comparison import OutputComparison, of_output
from .references import ComputedOutputs, Paired, Reference, SavedOutputs, paired, reference
from .resize_tensors import is_model, resizes_with_tensors
from .run.array_files import Named
from .run.input_shapes import Extent
from .run.inputs import Inputs, extreme_patterns
from .run.processes import Models, Runs, models, runs


@running()
def compare_with(
    model: Path, value: Any, inputs: Inputs, *, tolerance: float | None = None, progress: Progress = silent
) -> ModelComparison:
    """Run a model and compare its outputs with a reference: a path (.npz, .npy), arrays, or a function.

    Saved outputs are those of certain inputs: of ``inputs``, or of arrays that the reference holds by the names of the
    inputs. Its other arrays are compared with the model's tensors of these names. A function computes outputs from
    any inputs, those of the model's three extents included. ``tolerance`` is as for two models.

    Raises IrInterpError for a reference whose arrays are not those of the model, and for saved outputs without inputs.
    """
    check_model(model)
    known = reference(value)
    with scratch() as folder, forks():
        known, inputs = _with_inputs(known, model, inputs, folder)
        both = models(model, model, inputs)
        _check_inputs(known, both)
        compared: list[tuple[OutputComparison, ...]] = []
        calls: list[tuple[PlainCall, ...]] = []
        inner: _Inner | None = None
        shapes: dict[str, tuple[int, ...]] = {}
        for run, (outputs, (others, plain)) in compared_runs(
            runs(both, folder, progress), lambda run: _compared(run, model, known, tolerance)
        ):
            compared.append(outputs)
            calls.append(plain)
            shapes = shapes or run.shapes
            inner = inner or others
    return ModelComparison(
        first=model,
        second=Path(known.label),
        outputs=merged(compared),
        resizes=inner[0] if inner else None,
        first_layer=inner[1] if inner else None,
        shapes=shapes,
        extremes=extreme_patterns(inputs, both.graph),
        calls=plain_calls.over_every(calls),
    )


_Inner = tuple[tuple[Located, ...], FirstLayer | None]
_More = tuple[_Inner | None, tuple[PlainCall, ...]]


def proof(source: Path, result: Path, value: Any, inputs: Inputs, progress: Progress = silent) -> str:
    """Return how near a conversion that is proven comes to a reference, as a note.

    Its source is compared, of which the result may differ by last bits, or by half-precision weights; for a source
    that is no model, the result. Raises VerificationError if that differs.
    """
    is_whole = is_model(source)
    comparison = compare_with(source if is_whole else result, value, inputs, progress=progress)
    label = comparison.second.name
    if comparison.passes:
        what = "before conversion the model is equal" if is_whole else "equal"
        return f"{what} to {label} within {max(output.seen.absolute for output in comparison.outputs):.2g}"
    what = "the model is wrong before conversion: " if is_whole else ""
    ends = (end for end in comparison.outputs if not end.compared.passes or not end.compared.is_conclusive)
    worst = next(ends, None)
    if worst is None:
        raise VerificationError(f"{what}{comparison.first_difference}, in {label}; nothing was written")
    if worst.compared.passes:
        problem = f"{label} proves nothing about output {worst.name!r}: {worst.verdict}"
        raise VerificationError(f"{problem}; try other inputs, as with --seed or --input; nothing was written")
    raise VerificationError(f"{what}output {worst.name!r} differs from {label}: {worst.verdict}; nothing was written")


def _with_inputs(known: Reference, model: Path, inputs: Inputs, folder: Path) -> tuple[Reference, Inputs]:
    """Return a reference without the arrays of inputs, and these as files beside the others.

    Raises IrInterpError for an input that a file is given for, too.
    """
    if not isinstance(known, SavedOutputs):
        return known, inputs
    names = {tensor.name for tensor in read(model).inputs}
    shared = {name: array for name, array in known.arrays if name in names}
    if not shared:
        return known, inputs
    twice = sorted(shared.keys() & inputs.files.keys())
    if twice or "" in inputs.files:
        name = twice[0] if twice else next(iter(shared))
        raise IrInterpError(f"{known.label} holds input {name!r} already; remove it there, or do not pass the file")
    files = dict(inputs.files)
    for place, (name, array) in enumerate(shared.items()):
        files[name] = (folder / f"input{place}.npy",)
        np.save(files[name][0], array, allow_pickle=False)
    # An array of an input is no output to compare.
    rest = tuple((name, array) for name, array in known.arrays if name not in shared)
    return replace(known, arrays=rest), replace(inputs, files=files)


def _check_inputs(known: Reference, both: Models) -> None:
    """Raise IrInterpError for saved outputs whose inputs are unknown, or several."""
    if not isinstance(known, SavedOutputs):
        return
    missing = [tensor.name for tensor in both.graph.inputs if tensor.name not in both.inputs.files]
    if missing:
        advice = f"pass them, as in --input {missing[0]}=input.npy, or save them in it by name"
        raise IrInterpError(f"{known.label} holds the outputs of certain inputs; {advice}")
    count = len(both.inputs.samples())
    if count > 1:
        raise IrInterpError(f"{known.label} holds the outputs of one set of inputs; {count} are given")


def _compared(
    run: Runs, model: Path, known: Reference, tolerance: float | None
) -> tuple[tuple[OutputComparison, ...], _More]:
    """Return how the outputs of one run compare, how tensors that the reference has besides do, and plain calls."""
    actual, _ = run.settle(model)
    arrays = [array for _, array in run.arrays]
    try:
        expected = known.on(arrays)
    except IrInterpError as error:  # a function may refuse the sizes that were chosen for dynamic dimensions
        raise IrInterpError("; ".join(filter(None, (str(error), run.hint())))) from None
    pairs = paired(expected, [name for name, _ in actual], known.label)
    actual, remark = _in_order(pairs, actual, run.models.read(model))
    slack = known.slack(*arrays) if isinstance(known, ComputedOutputs) and known.slack else [0.0] * len(actual)
    compared = [
        replace(compare(name, theirs, mine, tolerance, least=least), remark=remark)
        for (name, mine), theirs, least in zip(actual, pairs.outputs, slack, strict=True)
    ]
    compared = list(within_noise(run, model, actual, pairs.outputs, compared)) if tolerance is None else compared
    if not all_pass(compared):
        reasons = undecided(run, model)
        compared = [result if result.passes else result.undecided(reasons.get(result.name, "")) for result in compared]
    outputs = tuple(
        of_output(end, mine, theirs) for end, (_, mine), theirs in zip(compared, actual, pairs.outputs, strict=True)
    )
    inner = _inner(run, model, actual, pairs, known.label, tolerance) if pairs.inner else None
    return outputs, (inner, _plain_calls(run, model, pairs, compared, tolerance))


def _plain_calls(
    run: Runs, model: Path, pairs: Paired, compared: Sequence[Compared], tolerance: float | None
) -> tuple[PlainCall, ...]:
    """Return the plain call of a quantised model whose outputs are those of a reference."""
    if run.extent is not Extent.REAL or not all_pass(compared):
        return ()
    expected = [(end.name, array) for end, array in zip(compared, pairs.outputs, strict=True)]
    apart = [end.absolute for end in compared]
    call = plain_calls.of_model(run, model, model, expected, compared, apart=apart, tolerance=tolerance)
    return (call,) if call else ()


def _in_order(pairs: Paired, actual: Named, graph: Graph) -> tuple[Named, str]:
    """Return a model's outputs with tied rows in the order of the reference, and a note if some change places."""
    if not sorts(graph):
        return actual, ""
    rows = aligned([(name, array) for (name, _), array in zip(actual, pairs.outputs, strict=True)], actual)
    return rows.outputs, rows.note


def _inner(run: Runs, model: Path, actual: Named, pairs: Paired, label: str, tolerance: float | None) -> _Inner:
    """Return how resizes compare whose tensors a reference holds, and the first of its tensors that differs."""
    outputs, tensors = run(model, list(pairs.inner))
    unknown = next((name for name in pairs.inner if name not in tensors), None)
    if unknown is not None:
        raise IrInterpError(f"{label} holds {unknown!r}, which is no input, tensor or output of {model.name}")
    graph = run.models.read(model)
    values = pairs.inner | dict(zip((name for name, _ in actual), pairs.outputs, strict=True))
    mine = tensors | dict(outputs)
    compared = {
        name: compare(name, values[name], mine[name], tolerance) for name in common(graph, graph) if name in values
    }
    resizes = tuple(
        Located(
            name=resize.op.name,
            where=resize.op.where,
            data=compared.get(resize.inputs.get("data", "")),
            output=compared.get(resize.output),
        )
        for resize in resizes_with_tensors(model)
    )
    differs = next((FirstLayer(name=name, compared=end) for name, end in compared.items() if not end.passes), None)
    return resizes, differs
