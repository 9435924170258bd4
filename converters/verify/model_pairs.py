"""Compare two models of any kind, or a model with a reference.

First the comparison as a record: every output, and every resize if requested. Then two models, each in its own runtime
on the same inputs; then one model and the outputs that another program, or a function, computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ir_interp import plain_text
from ir_interp.errors import IrInterpError, ReadError, SpecError, VerificationError
from ir_interp.files.kinds import MODELS, FileKind, check_regular, expect
from ir_interp.files.memory import running
from ir_interp.files.writing import scratch
from ir_interp.records import Record

from ..reports import Compared, FedImage, PlainCall, Progress, differing, silent
from ..sources.readers import has_own_framework, reading
from ..workers import forks
from . import ladder, segments as locate
from .graphs import PATTERNS, Graph, is_model, of_ends, read, resizes_with_tensors
from .input_shapes import Extent, named
from .inputs import Inputs, extreme_patterns, images_fed, read_files
from .ladder import over_inputs, until_conclusive
from .model_outputs import ModelOutputs, aligned, on_numbers, sorts, undecided
from .processes import Runner, models
from .quantisations import within_noise
from .references import ComputedOutputs, Paired, Reference, SavedOutputs, paired, reference
from .run_request import Named
from .segments import FirstLayer, Located, common
from .task_metrics import InputComparison, by_files, check_found, chosen, total
from .tolerances import OutputComparison, all_pass, compare, summarised
from .trials import Trials, trials_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelComparison(Record):
    """Two models, output by output, and their resizes in order if requested.

    ``images`` are those among the inputs; ``inputs`` are the files of several runs, the worst first. ``shapes`` are
    the shapes of the inputs that both ran on, by name. ``notes``
    are about the models: whether their outputs depend on the processor, or are NaN on usual inputs. ``extremes`` are
    the patterns of extreme inputs of a quantised model, and ``calls`` those that users make, by the default settings of
    a runtime.
    """

    KEYS = (
        "first",
        "second",
        "images",
        "notes",
        "passes as equal",
        "outputs",
        "inputs",
        "resizes",
        "first_resize.name as first_resize_that_differs",
        "first_layer.name as first_layer_that_differs",
        "extremes",
        "calls",
    )

    first: Path
    second: Path
    images: tuple[FedImage, ...] = ()
    outputs: tuple[OutputComparison, ...]
    inputs: tuple[InputComparison, ...] = ()
    resizes: tuple[Located, ...] | None = None
    first_layer: FirstLayer | None = None
    notes: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    extremes: tuple[str, ...] = ()
    calls: tuple[PlainCall, ...] = ()

    def __repr__(self) -> str:
        place = f"; {self.first_difference}" if self.resizes is not None else ""
        return plain_text.notebook_line(
            "ModelComparison", f"{self.first.name} against {self.second.name}, {self.summary}{place}"
        )

    def _repr_html_(self) -> str:
        """Return tables for notebooks: a row for each output, and one for each resize that was compared."""
        rows = ((output.name, *output.first.text[:1], output.verdict) for output in self.outputs)
        title = f"{self.first.name} against {self.second.name}: {self.summary}"
        outputs = plain_text.notebook_columns(title, ("output", "shape", "verdict"), rows)
        resizes = ((resize.name, *resize.text) for resize in self.resizes or ())
        names = ("resize", "its data", "its output")
        return outputs + (
            plain_text.notebook_columns(self.first_difference, names, resizes) if self.resizes is not None else ""
        )

    @property
    def passes(self) -> bool:
        """Whether both models are equal, in exact sums and as users call them."""
        return self.is_proven and not differing(self.calls)

    @property
    def is_proven(self) -> bool:
        """Whether every output is equal within the tolerance, on inputs that would have shown a difference.

        8-bit products are summed exactly. A resize that differs never passes: on other inputs its difference may reach
        the outputs.
        """
        is_equal = all(output.compared.passes and output.compared.is_conclusive for output in self.outputs)
        return is_equal and self.first_resize is None

    @property
    def first_resize(self) -> Located | None:
        """The first resize whose output differs."""
        return next((resize for resize in self.resizes or () if resize.differs), None)

    @property
    def first_difference(self) -> str:
        """The first resize whose output differs, in one line."""
        resize = self.first_resize
        if resize is None:
            return "no resize visible in both models differs"
        source = "; its input differs already" if resize.is_fed_otherwise else ""
        return f"the first resize that differs is {resize.name!r}{source}"

    @property
    def next_command(self) -> tuple[str, ...]:
        """The command that shows the cause of a difference at a resize, or finds the layer before it; else nothing."""
        resize, layer = self.first_resize, self.first_layer
        if (resize and not resize.is_fed_otherwise) or (layer and layer.resize):
            models = (path for path in (self.first, self.second) if FileKind.of(path) is FileKind.ONNX)
            return ("ir-interp", "audit", str(next(models, self.first)))
        return (
            ("ir-interp", "compare", str(self.first), str(self.second), "--per-layer") if resize and not layer else ()
        )

    @property
    def summary(self) -> str:
        """How many outputs are equal, in one line."""
        passed = [output.compared for output in self.outputs if output.compared.passes]
        equal = sum(output.is_conclusive for output in passed)
        more = f", {len(passed) - equal} inconclusive" if equal < len(passed) else ""
        return f"{equal} of {len(self.outputs)} outputs equal within the tolerance{more}{differing(self.calls)}"


def with_metrics(comparison: ModelComparison, names: Sequence[str]) -> ModelComparison:
    """Return a comparison with the metrics that were asked for, or else those of outputs that look like the task.

    Raises SpecError for a metric that no output has.
    """
    every = [metric for output in comparison.outputs for metric in output.metrics]
    check_found(every, names, [output.first.shape for output in comparison.outputs])
    outputs = (replace(output, metrics=chosen(output.metrics, names)) for output in comparison.outputs)
    inputs = (replace(each, metrics=chosen(each.metrics, names)) for each in comparison.inputs)
    return replace(
        comparison, outputs=tuple(outputs), inputs=tuple(sorted(inputs, key=lambda each: each.rank, reverse=True))
    )


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
    domains: list[str] = []
    on_task: list[tuple[Mapping[str, Path], Outputs]] = []
    located, layer = None, None
    with scratch() as folder, forks():
        for trials, (pairs, plain) in compared_trials(
            trials_of(both, folder, progress), lambda trials: _judged(trials, first, second, tolerance)
        ):
            run = trials.run
            calls.append(plain)
            shapes = shapes or run.shapes
            compared.append(pairs)
            domains.append(trials.domain)
            if _is_on_task(trials):
                on_task.append((trials.files, pairs))
            if per_resize and located is None:
                located = _located(_seen(run, pairs), first, second, tolerance, are_equal=_pass(pairs))
            if per_layer and layer is None and not _pass(pairs):
                layer = locate.first_layer(run, first, second, tolerance)
    return ModelComparison(
        first=first,
        second=second,
        images=images_fed(both.graph, both.inputs),
        outputs=_with_totals(merged(compared), [pairs for _, pairs in on_task]),
        inputs=by_files([_on_files(*run) for run in on_task]),
        resizes=located,
        first_layer=layer,
        shapes=shapes,
        notes=tuple(dict.fromkeys(filter(None, domains))),
        extremes=extreme_patterns(inputs, both.graph),
        calls=ladder.over_every(calls),
    )


def _is_on_task(trials: Trials) -> bool:
    """Return whether a run says something about a task: small sizes and extreme values prove equality only."""
    return trials.extent is Extent.REAL and trials.distribution not in PATTERNS


def _with_totals(outputs: Outputs, runs: Sequence[Outputs]) -> Outputs:
    """Return outputs with their metrics over all runs at real sizes."""
    metrics = (total(output.metrics for output in one) for one in zip(*runs, strict=True))
    return tuple(replace(output, metrics=each) for output, each in zip(outputs, metrics, strict=True))


def _on_files(files: Mapping[str, Path], outputs: Outputs) -> InputComparison:
    return InputComparison(
        files=tuple(map(str, files.values())),
        relative=max((output.seen.relative for output in outputs), default=0.0),
        metrics=tuple(metric for output in outputs for metric in output.metrics),
    )


def _seen(run: Runner, pairs: Outputs) -> Runner:
    """Return the run that shows how resizes compare: of models that differ in NaNs alone, the one on numbers."""
    return (on_numbers(run) if _pass(pairs) else None) or run


def _located(
    run: Runner, first: Path, second: Path, tolerance: float | None, *, are_equal: bool
) -> tuple[Located, ...]:
    """Return how resizes compare: in models whose outputs are equal, each on the same data if any has other data.

    Layers before a resize enlarge last bits, about which equal outputs have decided already.
    """
    located = locate.resizes(run, first, second, tolerance)
    if are_equal and any(resize.is_fed_otherwise for resize in located):
        with suppress(VerificationError):  # then the data are those of each model
            located = locate.resizes_on_the_same_data(run, first, second, tolerance)
    return tuple(located)


def compared_trials(
    every: Iterable[Trials], compared_on: Callable[[Trials], tuple[Outputs, More]]
) -> Iterator[tuple[Trials, tuple[Outputs, More]]]:
    """Yield the trials that decide, with their comparisons: at real sizes, and at others that differ where these pass.

    Inputs are tried until every output is conclusive. Raises IrInterpError if no comparison is possible at real sizes.
    """
    compared: list[Outputs] = []
    for trials in until_conclusive(every, lambda: all(output.compared.is_conclusive for output in merged(compared))):
        # Models that differ at real sizes need no other sizes to show it.
        if trials.extent is not Extent.REAL and not _pass(compared[-1]):
            continue
        try:
            outputs, more = compared_on(trials)
        except IrInterpError:
            if trials.extent is Extent.REAL:
                raise
            continue  # sizes that these models are not for
        if trials.extent is Extent.REAL or not _pass(outputs):
            compared.append(outputs)
            yield trials, (outputs, more)


def _pass(outputs: Sequence[OutputComparison]) -> bool:
    return all(output.compared.passes for output in outputs)


def _judged(trials: Trials, first: Path, second: Path, tolerance: float | None) -> tuple[Outputs, Calls]:
    """Return how outputs compare, and if they are equal, how they do in plain calls of the models."""
    outputs = _outputs(trials, first, second, tolerance)
    compared = _compared(outputs)
    if trials.extent is not Extent.REAL or not _pass(compared):
        return compared, ()
    return compared, ladder.of_pair(outputs, [output.compared for output in compared])


def _compared(outputs: ModelOutputs) -> Outputs:
    """Return how outputs compare; without a tolerance, differences are judged by the ladder."""
    pairs = zip(outputs.comparisons, outputs.expected, outputs.actual, strict=True)
    compared = tuple(summarised(difference, mine, theirs) for difference, (_, mine), (_, theirs) in pairs)
    if all_pass(outputs.comparisons):
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


def _outputs(trials: Trials, first: Path, second: Path, tolerance: float | None) -> ModelOutputs:
    """Return the outputs of both models: by name if all names agree, else in their order."""
    try:
        expected, _ = trials.settle(first)
    except VerificationError as problem:  # no difference is known then
        raise IrInterpError(str(problem)) from None
    try:
        actual = trials.outputs_after(first, second)
    except VerificationError as problem:
        raise IrInterpError("; ".join(filter(None, (str(problem), trials.run.hint())))) from None
    if len(expected) != len(actual):
        numbers = f"{first.name} has {len(expected)}, {second.name} {len(actual)}"
        raise VerificationError(f"the numbers of outputs differ: {numbers}; expected the same")
    by_name = dict(actual)
    # Exporters may write outputs in another order, under the same names.
    if by_name.keys() == dict(expected).keys():
        actual = [(name, by_name[name]) for name, _ in expected]
    return ModelOutputs(
        run=trials.run, source=first, result=second, expected=expected, actual=actual, tolerance=tolerance
    )


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
        from ..onnx.onnx_files import files_inside

        files_inside(path)  # raises for special files, which a runtime would read without end


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
        known, inputs = _with_inputs(known, read(model), inputs, folder)
        both = models(model, model, inputs)
        _check_inputs(known, both.graph, both.inputs)
        compared: list[tuple[OutputComparison, ...]] = []
        on_task: list[tuple[Mapping[str, Path], Outputs]] = []
        calls: list[tuple[PlainCall, ...]] = []
        inner: _Inner | None = None
        shapes: dict[str, tuple[int, ...]] = {}
        for trials, (outputs, (others, plain)) in compared_trials(
            trials_of(both, folder, progress), lambda trials: _compared_with_reference(trials, model, known, tolerance)
        ):
            compared.append(outputs)
            calls.append(plain)
            if _is_on_task(trials):
                on_task.append((trials.files, outputs))
            shapes = shapes or trials.run.shapes
            inner = inner or others
    return ModelComparison(
        first=model,
        second=Path(known.label),
        outputs=_with_totals(merged(compared), [pairs for _, pairs in on_task]),
        inputs=by_files([_on_files(*run) for run in on_task]),
        resizes=inner[0] if inner else None,
        first_layer=inner[1] if inner else None,
        shapes=shapes,
        extremes=extreme_patterns(inputs, both.graph),
        calls=ladder.over_every(calls),
    )


def compare_program(program: Path, value: Any, inputs: Inputs, *, tolerance: float | None = None) -> ModelComparison:
    """Run a model in its own framework, and compare its outputs with saved ones, as ``compare_with`` does.

    Raises SpecError for a reference that is no saved outputs: two frameworks have no graph in common to choose inputs.
    """
    known = None if has_own_framework(value) else reference(value)
    if not isinstance(known, SavedOutputs):
        problem = f"{program.name} is a reference itself, which its own framework runs"
        raise SpecError(f"{problem}; compare it with an .onnx or .xml, or with saved outputs")
    computed, declared = reference(program), reading(FileKind.of(program))
    assert isinstance(computed, ComputedOutputs)
    assert declared is not None
    described = declared.describe(program)
    graph = of_ends(described.inputs, described.outputs)
    with scratch() as folder:
        known, inputs = _with_inputs(known, graph, inputs, folder)
        inputs = replace(inputs, files=named(graph.inputs, inputs.files, "file"))
        _check_inputs(known, graph, inputs)
        [files] = inputs.samples()
        arrays = read_files(graph, inputs, files)
        given = [arrays[tensor.name] for tensor in graph.inputs]
        actual = [array for _, array in computed.on(given)]
    pairs = paired(known.on(given), graph.outputs, known.label)
    slack = computed.slack(*given) if computed.slack else [0.0] * len(actual)
    ends = zip(graph.outputs, actual, pairs.outputs, slack, strict=True)
    return ModelComparison(
        first=program,
        second=Path(known.label),
        outputs=tuple(
            summarised(compare(name, theirs, mine, tolerance, least=least), mine, theirs)
            for name, mine, theirs, least in ends
        ),
        shapes={name: array.shape for name, array in arrays.items()},
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


def _with_inputs(known: Reference, graph: Graph, inputs: Inputs, folder: Path) -> tuple[Reference, Inputs]:
    """Return a reference without the arrays of inputs, and these as files beside the others.

    Raises IrInterpError for an input that a file is given for, too.
    """
    if not isinstance(known, SavedOutputs):
        return known, inputs
    names = {tensor.name for tensor in graph.inputs}
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


def _check_inputs(known: Reference, graph: Graph, inputs: Inputs) -> None:
    """Raise IrInterpError for saved outputs whose inputs are unknown, or several."""
    if not isinstance(known, SavedOutputs):
        return
    missing = [tensor.name for tensor in graph.inputs if tensor.name not in inputs.files]
    if missing:
        advice = f"pass them, as in --input {missing[0]}=input.npy, or save them in it by name"
        raise IrInterpError(f"{known.label} holds the outputs of certain inputs; {advice}")
    count = len(inputs.samples())
    if count > 1:
        raise IrInterpError(f"{known.label} holds the outputs of one set of inputs; {count} are given")


def _compared_with_reference(
    trials: Trials, model: Path, known: Reference, tolerance: float | None
) -> tuple[tuple[OutputComparison, ...], _More]:
    """Return how the outputs of one run compare, how tensors that the reference has besides do, and plain calls."""
    actual, _ = trials.settle(model)
    return _compared_with(trials, model, actual, known, tolerance)


def _compared_with(
    trials: Trials, model: Path, actual: Named, known: Reference, tolerance: float | None
) -> tuple[tuple[OutputComparison, ...], _More]:
    run = trials.run
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
    triples = list(zip(compared, actual, pairs.outputs, strict=True))
    outputs = tuple(summarised(end, mine, theirs) for end, (_, mine), theirs in triples)
    numbers = None if all_pass(compared) else on_numbers(run)
    if numbers is not None:
        reason = _masks(replace(trials, run=numbers), model, known, tolerance)
        finite = [ladder.of_finite_elements(end, theirs, mine, reason) for end, (_, mine), theirs in triples]
        outputs = tuple(
            replace(output, compared=end, whole=output.compared) for output, end in zip(outputs, finite, strict=True)
        )
    inner = _inner(run, model, actual, pairs, known.label, tolerance) if pairs.inner else None
    return outputs, (inner, _plain_calls(trials, model, pairs, compared, tolerance))


def _masks(trials: Trials, model: Path, known: Reference, tolerance: float | None) -> str:
    """Return why NaNs and infinities in other places decide nothing; empty if a run on numbers differs as well."""
    if isinstance(known, SavedOutputs):
        return f"{ladder.ELSEWHERE}; save outputs of finite inputs"
    outputs, _ = _compared_with(trials, model, trials.run(model)[0], known, tolerance)
    return ladder.MASKS if _pass(outputs) else ""


def _plain_calls(
    trials: Trials, model: Path, pairs: Paired, compared: Sequence[Compared], tolerance: float | None
) -> tuple[PlainCall, ...]:
    """Return the plain call of a quantised model whose outputs are those of a reference."""
    if trials.extent is not Extent.REAL or not all_pass(compared):
        return ()
    expected = [(end.name, array) for end, array in zip(compared, pairs.outputs, strict=True)]
    apart = [end.absolute for end in compared]
    call = ladder.of_model(trials.run, model, model, expected, compared, apart=apart, tolerance=tolerance)
    return (call,) if call else ()


def _in_order(pairs: Paired, actual: Named, graph: Graph) -> tuple[Named, str]:
    """Return a model's outputs with tied rows in the order of the reference, and a note if some change places."""
    if not sorts(graph):
        return actual, ""
    rows = aligned([(name, array) for (name, _), array in zip(actual, pairs.outputs, strict=True)], actual)
    return rows.outputs, rows.note


def _inner(run: Runner, model: Path, actual: Named, pairs: Paired, label: str, tolerance: float | None) -> _Inner:
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
