"""Conversions with a pipeline in front: a model of any framework becomes one that takes images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from ir_interp.array_types import Array
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import FileKind
from ir_interp.files.paths import exists
from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.declaration import Option, declared
from ir_interp.pipelines.pipeline_source import with_backend

from ..conversion.converting import checked_kinds
from ..conversion.next_steps import of_source
from ..frameworks.intermediate import merged
from ..reports.conversion_report import ConversionReport
from ..sources.frameworks import reading
from ..sources.model_summary import parts
from ..sources.pipeline_files import of_text
from ..sources.readers import Source, as_file, operations, shown_path
from ..verify import against_reference
from ..verify.graphs import read
from ..verify.references import ComputedOutputs, reference
from ..verify.run.inputs import Inputs
from .pipeline_proof import sampled
from .preprocessed_files import Whole, save_as, write_onnx
from .preprocessed_model import InputForm, Preprocess


def convert(source: Source, destination: Path, options: ConvertOptions) -> ConversionReport:
    """Convert a model to one that takes images, which ``options.preprocess`` turns into its input.

    The model is proven as without the pipeline, the new nodes against the pipeline in NumPy, and the whole against both
    if a framework runs the model.
    """
    with as_file(source) as path:
        return replace(_convert(source, path, destination, options), source=shown_path(source, path))


def _convert(original: Source, source: Path, destination: Path, options: ConvertOptions) -> ConversionReport:
    start, end = checked_kinds(source, destination, options)
    assert options.preprocess is not None
    name, pipeline = _input_and_pipeline(options.preprocess)
    request = Preprocess(pipeline=of_text(pipeline), image_size=options.image_size, layout=options.layout or "")
    files = (destination.with_suffix(".bin"), destination) if end is FileKind.IR else (destination,)
    settings = Path(with_backend(pipeline)[0])
    check_outputs([*files, *options.reports], [*parts(source), *Inputs.of(options).paths, settings])
    first, last = _of_steps(options, start)
    with ExitStack() as stack:
        pages = {path: stack.enter_context(replacing(path))[0] for path in options.reports}
        output = stack.enter_context(replacing(*files))[-1]
        path = stack.enter_context(scratch()) / f"{destination.stem}.onnx"
        whole = write_onnx(source, path, request, first, name, wide=end is FileKind.ONNX)
        proof = _proof(whole, source, options) if options.verify and reading(start) is not None else ""
        report = replace(
            _merged(whole, save_as(whole, output, last), proof),
            source=source,
            destination=destination,
            mistakes=of_source(original, source),
            before=operations(source),
            after=operations(output),
        )
        for page, write_report in options.reports.items():
            write_report(report, pages[page])
    return report


def _input_and_pipeline(text: str) -> tuple[str | None, str]:
    """Return the input that a pipeline is for, None for the only one, and the name of the pipeline."""
    name, separator, pipeline = text.partition("=")
    is_named = separator and not exists(Path(with_backend(text)[0]))
    return (name, pipeline) if is_named else (None, text)


def _of_steps(options: ConvertOptions, start: FileKind) -> tuple[ConvertOptions, ConvertOptions]:
    """Return the options of both conversions: those that matter to the first, and the others."""
    options = replace(options, preprocess=None, image_size=None, reports={})
    if start is FileKind.ONNX:
        return options, options
    known = declared(ConvertOptions)
    of_first = [option for option in known if option.routes is None or option.routes(start, FileKind.ONNX)]
    of_last = [option for option in known if option not in of_first or option.name in _OF_BOTH]
    return _only(options, of_first), _only(options, of_last)


_OF_BOTH = ("verify", "seed", "progress")


def _only(options: ConvertOptions, kept: Sequence[Option]) -> ConvertOptions:
    """Return options of which all others have their defaults."""
    return replace(
        options, **{option.name: option.default for option in declared(ConvertOptions) if option not in kept}
    )


def _merged(whole: Whole, last: ConversionReport | None, proof: str) -> ConversionReport:
    """Return the reports of both conversions, of which one may be None, as that of one."""
    form, reports = whole.image.form, [report for report in (whole.report, last) if report is not None]
    size = ", ".join(map(str, form.request.shape))
    steps = form.request.pipeline.name or "the pipeline"
    verification = reports[-1].verification
    if verification is not None:
        verifications = [report.verification for report in reports if report.verification is not None]
        remarks = dict.fromkeys(filter(None, (*(known.note for known in verifications), proof)))
        verification = replace(verification, note="; ".join(remarks))
    return replace(
        reports[-1],
        rows=merged(reports[0].rows, reports[-1].rows),
        notes=(
            *dict.fromkeys(note for report in reports for note in report.notes),
            f"input {whole.image.name!r} takes uint8 [{size}]; {steps} computes {form.name!r}",
        ),
        states=reports[0].states,
        verification=verification,
    )


def _proof(whole: Whole, source: Path, options: ConvertOptions) -> str:
    """Return how near a model comes to its framework behind the pipeline, on random images, as a note."""
    known, image = reference(source), whole.image
    assert isinstance(known, ComputedOutputs)
    place = [tensor.name for tensor in read(whole.path).inputs].index(image.name)
    behind = replace(
        known,
        label=f"{known.label} behind {image.form.request.pipeline.name or 'the pipeline'}",
        function=_behind(image.form, place, known.function),
        slack=_behind(image.form, place, known.slack) if known.slack else None,
    )
    with sampled(image) as files:
        inputs = Inputs(files={image.name: files}, seed=options.seed)
        return against_reference.proof(whole.path, whole.path, behind, inputs, options.progress)


def _behind(form: InputForm, place: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a model's inputs as one that takes images at a ``place``."""

    def outputs(*arrays: Array) -> Any:
        return function(*arrays[:place], form.of_pixels(arrays[place]), *arrays[place + 1 :])

    return outputs
