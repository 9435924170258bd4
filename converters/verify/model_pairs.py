"""Compare two models of any kinds: each in its own runtime, on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError, VerificationError
from ir_interp.files.kinds import MODELS, FileKind, expect
from ir_interp.files.memory import running
from ir_interp.files.scratch import scratch
from ir_interp.files.sources import check_regular

from ..report import Progress, silent
from .compare import first_difference as locate
from .compare.differences import merged
from .compare.judged import judged
from .comparison import ModelComparison, OutputComparison, of_output
from .resize_tensors import is_model
from .run.inputs import Inputs
from .run.processes import Runs, models, runs
from .run.ready import ready
from .run.runners import Named


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
    """Run both models in their own runtimes, in processes of their own, and compare their outputs.

    ``tolerance`` is relative to the largest value of an output, and absolute where that is below 1; by default it
    follows the element type, and what differs by more is compared stretch by stretch. Outputs are paired by name, else
    by place.
    With ``per_resize`` the resizes are compared in order: those whose tensors both models show. With ``per_layer`` the
    first layer that differs is looked for, on the inputs on which outputs do.

    Raises ReadError for what is no model, IrInterpError where one does not run, VerificationError where the models
    have different numbers of outputs.
    """
    for path in (first, second):
        _check(path)
    both = models(first, second, inputs)
    found: list[tuple[OutputComparison, ...]] = []
    shapes: dict[str, tuple[int, ...]] = {}
    located, layer = None, None
    with scratch() as folder, ready():
        for run in runs(both, folder, progress):
            if found and run.is_another and all(each.compared.is_conclusive for each in _merged(found)):
                break
            mine, theirs = _outputs(run, first, settles=True), _outputs(run, second)
            shapes = shapes or run.shapes
            outputs = tuple(of_output(*each, tolerance) for each in _paired(mine, theirs, second.name))
            found.append(outputs if tolerance is not None else _by_spread(run, first, second, outputs, mine, theirs))
            if per_resize and located is None:
                located = tuple(locate.resizes(run, first, second, tolerance))
            if per_layer and layer is None and not all(each.compared.passes for each in found[-1]):
                layer = locate.first_layer(run, first, second, tolerance)
    outputs = _merged(found)
    return ModelComparison(
        first=first, second=second, outputs=outputs, resizes=located, first_layer=layer, shapes=shapes
    )


def _by_spread(
    run: Runs, first: Path, second: Path, outputs: tuple[OutputComparison, ...], mine: Named, theirs: Named
) -> tuple[OutputComparison, ...]:
    """Return outputs that differ by what the first model's own runtime lets expect."""
    if all(each.compared.passes for each in outputs):
        return outputs
    by_name = dict(theirs)
    in_order = [(name, other) for (name, _), (_, other) in zip(mine, theirs, strict=True)]
    if by_name.keys() == dict(mine).keys():
        in_order = [(name, by_name[name]) for name, _ in mine]
    try:
        allowed = judged(run, first, second, mine, in_order).outputs
    except VerificationError:
        return outputs
    return tuple(
        replace(each, compared=compared, whole=each.compared) for each, compared in zip(outputs, allowed, strict=True)
    )


def _merged(found: Sequence[tuple[OutputComparison, ...]]) -> tuple[OutputComparison, ...]:
    """Return each output where it differs most, over several inputs."""
    outputs = []
    for those in zip(*found, strict=True):
        worst = merged([each.compared for each in those])
        alike = (each for each in those if replace(each.compared, span=worst.span) == worst)
        outputs.append(replace(next(alike, those[0]), compared=worst))
    return tuple(outputs)


def _outputs(run: Runs, model: Path, *, settles: bool = False) -> Named:
    try:
        return run.settle(model)[0] if settles else run(model)[0]
    except VerificationError as problem:  # nothing is known to differ then
        hint = "" if settles else run.hint()
        raise IrInterpError("; ".join(filter(None, (str(problem), hint)))) from None


def _check(path: Path) -> None:
    expect(path, *MODELS)
    try:
        check_regular(path)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", path.name) from error
    if not is_model(path):
        raise ReadError("not a model, but pasted layers; expected a <net>", path.name)
    if FileKind.of(path) is FileKind.ONNX:
        from ..onnx.onnx_files import external_files

        external_files(path)  # raises where a runtime would wait for what has no end


def _paired(first: Named, second: Named, name: str) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield outputs of both models: of the same name where all have one, else in their order."""
    if len(first) != len(second):
        raise VerificationError(f"{name} has {len(second)} outputs, the first model {len(first)}")
    by_name = dict(second)
    named = by_name.keys() == dict(first).keys()
    for (output, mine), (_, theirs) in zip(first, second, strict=True):
        yield output, mine, by_name[output] if named else theirs
