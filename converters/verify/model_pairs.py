"""Compare two models of any kind: each in its own runtime, on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ir_interp.errors import IrInterpError, ReadError, VerificationError
from ir_interp.files.kinds import MODELS, FileKind, expect
from ir_interp.files.memory import running
from ir_interp.files.scratch import scratch
from ir_interp.files.sources import check_regular

from ..reports.conversion_report import Progress, silent
from ..reports.verification import PlainCall
from ..workers.forks import forks
from .compare import first_difference as locate
from .compare import ladder, plain_calls
from .compare.array_differences import all_pass
from .compare.first_difference import Located
from .compare.inconclusive import over_inputs, until_conclusive
from .compare.model_outputs import ModelOutputs
from .comparison import ModelComparison
from .output_comparison import OutputComparison, of_output
from .resize_tensors import is_model
from .run.input_shapes import Extent
from .run.inputs import Inputs, extreme_patterns, images_fed
from .run.processes import Runs, models, runs

Outputs = tuple[OutputComparison, ...]
Calls = tuple[PlainCall, ...]
More = TypeVar("More")


@running()
def compare_models(
    first: Path,
    second: Path,
    inputs: Inputs,
    *,
    tolerance: float | None = None,
    per_resize: bool = False,
    per_layer: bool = False,
    progress: Progress = silent,
) -> ModelComparison:
    """Run both models in their own runtimes, in separate processes, and compare their outputs.

    ``tolerance`` is relative to the largest value of each output; by default it follows the element type, and larger
    differences are compared segment by segment. Outputs are paired by name, else by place.
    With ``per_resize`` the resizes are compared in order: those whose tensors both models show. With ``per_layer`` the
    first layer that differs is searched, on the inputs on which outputs differ.

    Raises ReadError for a file that is not a model, IrInterpError if one does not run, VerificationError if the models
    have different numbers of outputs.
    """
    for path in (first, second):
        check_model(path)
    both = models(first, second, inputs)
    compared: list[Outputs] = []
    calls: list[Calls] = []
    shapes: dict[str, tuple[int, ...]] = {}
    located, layer = None, None
    with scratch() as folder, forks():
        for run, (pairs, plain) in compared_runs(
            runs(both, folder, progress), lambda run: _judged(_outputs(run, first, second, tolerance))
        ):
            calls.append(plain)
            shapes = shapes or run.shapes
            compared.append(pairs)
            if per_resize and located is None:
                located = _located(run, first, second, tolerance, are_equal=_pass(pairs))
            if per_layer and layer is None and not _pass(pairs):
                layer = locate.first_layer(run, first, second, tolerance)
    return ModelComparison(
        first=first,
        second=second,
        images=images_fed(both.graph, both.inputs),
        outputs=merged(compared),
        resizes=located,
        first_layer=layer,
        shapes=shapes,
        extremes=extreme_patterns(inputs, both.graph),
        calls=plain_calls.over_every(calls),
    )


def _located(run: Runs, first: Path, second: Path, tolerance: float | None, *, are_equal: bool) -> tuple[Located, ...]:
    """Return how resizes compare: in models whose outputs are equal, each on the same data if any has other data.

    Layers before a resize enlarge last bits, about which equal outputs have decided already.
    """
    located = locate.resizes(run, first, second, tolerance)
    if are_equal and any(resize.is_fed_otherwise for resize in located):
        with suppress(VerificationError):  # then the data are those of each model
            located = locate.resizes_on_the_same_data(run, first, second, tolerance)
    return tuple(located)


def compared_runs(
    every: Iterable[Runs], compared_on: Callable[[Runs], tuple[Outputs, More]]
) -> Iterator[tuple[Runs, tuple[Outputs, More]]]:
    """Yield the runs that decide with their comparisons: those at real sizes, and others that differ where these pass.

    Inputs are tried until every output is conclusive. Raises IrInterpError if no comparison is possible at real sizes.
    """
    compared: list[Outputs] = []
    for run in until_conclusive(every, lambda: all(output.compared.is_conclusive for output in merged(compared))):
        # Models that differ at real sizes need no other sizes to show it.
        if run.extent is not Extent.REAL and not _pass(compared[-1]):
            continue
        try:
            outputs, more = compared_on(run)
        except IrInterpError:
            if run.extent is Extent.REAL:
                raise
            continue  # sizes that these models are not for
        if run.extent is Extent.REAL or not _pass(outputs):
            compared.append(outputs)
            yield run, (outputs, more)


def _pass(outputs: Sequence[OutputComparison]) -> bool:
    return all(output.compared.passes for output in outputs)


def _judged(outputs: ModelOutputs) -> tuple[Outputs, Calls]:
    """Return how outputs compare, and if they are equal, how they do in plain calls of the models."""
    compared = _compared(outputs)
    if outputs.run.extent is not Extent.REAL or not _pass(compared):
        return compared, ()
    return compared, plain_calls.of_pair(outputs, [output.compared for output in compared])


def _compared(outputs: ModelOutputs) -> Outputs:
    """Return how outputs compare; without a tolerance, differences are judged by the ladder."""
    pairs = zip(outputs.comparisons, outputs.expected, outputs.actual, strict=True)
    compared = tuple(of_output(difference, mine, theirs) for difference, (_, mine), (_, theirs) in pairs)
    if outputs.tolerance is not None or all_pass(outputs.comparisons):
        return compared
    try:
        allowed = ladder.verified(outputs).outputs
    except VerificationError:
        return compared
    return tuple(
        replace(end, compared=limited, whole=end.compared) for end, limited in zip(compared, allowed, strict=True)
    )


def merged(compared: Sequence[Outputs]) -> Outputs:
    """Return each output where it differs most, over several inputs."""
    outputs = []
    for one in zip(*compared, strict=True):
        worst = over_inputs([output.compared for output in one])
        # The verdict combines all runs; the values shown are those of the run that it comes from.
        alike = (output for output in one if replace(output.compared, span=worst.span) == worst)
        outputs.append(replace(next(alike, one[0]), compared=worst))
    return tuple(outputs)


def _outputs(run: Runs, first: Path, second: Path, tolerance: float | None) -> ModelOutputs:
    """Return the outputs of both models: by name if all names agree, else in their order."""
    try:
        expected, _ = run.settle(first)
    except VerificationError as problem:  # no difference is known then
        raise IrInterpError(str(problem)) from None
    try:
        actual = run.outputs_after(first, second)
    except VerificationError as problem:
        raise IrInterpError("; ".join(filter(None, (str(problem), run.hint())))) from None
    if len(expected) != len(actual):
        numbers = f"{first.name} has {len(expected)}, {second.name} {len(actual)}"
        raise VerificationError(f"the numbers of outputs differ: {numbers}; expected the same")
    by_name = dict(actual)
    # Exporters may write outputs in another order, under the same names.
    if by_name.keys() == dict(expected).keys():
        actual = [(name, by_name[name]) for name, _ in expected]
    return ModelOutputs(run=run, source=first, result=second, expected=expected, actual=actual, tolerance=tolerance)


def check_model(path: Path) -> None:
    """Raise ReadError for a path that is not a model with regular files."""
    expect(path, *MODELS)
    try:
        check_regular(path)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", path.name) from error
    if not is_model(path):
        raise ReadError("not a model, but pasted layers; expected a <net>", path.name)
    if FileKind.of(path) is FileKind.ONNX:
        from ..onnx.onnx_files import external_files

        external_files(path)  # raises for special files, which a runtime would read without end
