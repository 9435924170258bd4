"""Convert a file into another, by their extensions.

First, models whose inputs take the shapes of ``--shape`` for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never

import onnx

from ir_interp.errors import ExporterError, ReadError, VerificationError
from ir_interp.files.kinds import CHANNELS_LAST, FileKind, check_named, check_not_refused
from ir_interp.files.memory import MemoryBoundError, is_of_memory, memory_refusal
from ir_interp.files.snapshots import link_or_copy
from ir_interp.files.writing import OutputError, check_outputs, exists, replacing, scratch
from ir_interp.options.model_options import ConvertOptions, Exporter, StateForm
from ir_interp.options.shared_options import NCHW
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.translation.dialect import Context
from ir_interp.translation.meaning import first_difference
from ir_interp.version import Processor, processor

from .. import qnn_placement, tensorrt_importer
from ..audit import invalid_nodes
from ..audit.saturation import bounded, saturation
from ..dialects.tensorrt import DIALECT
from ..intermediate import Intermediate
from ..onnx.onnx_files import files_inside, inlined, read_file
from ..onnx.resize_nodes import OPS
from ..reports import ConversionReport, Operations, Row, State, Verification, Written
from ..runtimes.execution import WRONG_WITHOUT_AVX2, save_model
from ..sources.model_summary import parts
from ..sources.readers import Source, as_file, is_in_memory, load, operations, part, shown_path
from ..tensorrt import LayerSettings
from ..tensorrt_importer import Answer, Layer
from ..verify import graphs
from ..verify.input_shapes import fixed, named
from ..verify.inputs import Inputs
from ..verify.references import for_channels_second
from .next_steps import of_releases, of_source
from .routes import PATHS, PORTABLE, check_options, conversion_kinds, exporters_for, policy

if TYPE_CHECKING:
    from ..verify.conversion import WriteAlone

_Refusal: TypeAlias = ReadError | VerificationError


@contextmanager
def frozen(source: Path, chosen: Mapping[str, tuple[int, ...]]) -> Iterator[Path]:
    """Yield a model of the same name whose inputs have the ``chosen`` shapes, by input name.

    Dimensions of one name are all equal; dimensions that were not chosen stay dynamic. Raises IrInterpError for a shape
    that an input cannot have.
    """
    graph = graphs.read(source)
    shapes = fixed(graph, named(graph.inputs, chosen))
    with scratch() as folder:
        path = folder / source.name
        (_freeze_onnx if FileKind.of(source) is FileKind.ONNX else _freeze_ir)(source, path, shapes)
        yield path


def _freeze_onnx(source: Path, path: Path, shapes: Mapping[str, PartialShape]) -> None:
    model = inlined(read_file(source), source.name)
    for value in (*model.graph.value_info, *model.graph.output):  # inferred anew, from the shapes of the inputs
        for dimension in value.type.tensor_type.shape.dim:
            if not dimension.HasField("dim_value"):
                dimension.Clear()
    for value in model.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False):
            if size is not None:
                dimension.dim_value = size
    onnx.save(model, str(path))
    for data in files_inside(source):  # ONNX does not read links to external data
        copy = path.parent / data.relative_to(source.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(data, copy)


def _freeze_ir(source: Path, path: Path, shapes: Mapping[str, PartialShape]) -> None:
    import openvino

    from ..openvino.ir_save import read_ir

    model = read_ir(source)
    model.reshape(
        {name: openvino.PartialShape([-1 if n is None else n for n in shape]) for name, shape in shapes.items()}
    )
    save_model(model, path)


def convert(source: Source, destination: Path, options: ConvertOptions) -> ConversionReport:
    """Convert a file or a model in memory into a file; see ``ir_interp.convert``."""
    options = replace(options, images=replace(options.images, layout=options.images.layout or options.layout or ""))
    with as_file(source) as path, _on_this_processor(path, destination):
        return replace(_by_exporters(source, path, destination, options), source=shown_path(source, path))


def _by_exporters(original: Source, source: Path, destination: Path, options: ConvertOptions) -> ConversionReport:
    """Convert by the exporter that the options name; without one, by each in turn until a result is proven."""
    kinds = checked_kinds(source, destination, options)
    if kinds[0].framework is None or not kinds[0].framework.has_exporters:
        return _convert(original, source, destination, options)
    if options.exporter is not None:
        try:
            return _convert(original, source, destination, options)
        except ExporterError as error:
            raise _continued(error, "without --exporter, each is tried") from error
    refusals: dict[Exporter, _Refusal] = {}
    for exporter in exporters_for(kinds, options):
        try:
            report = _convert(original, source, destination, replace(options, exporter=exporter))
        except (ReadError, VerificationError) as error:  # not InexactError: no exporter makes an exact form
            refusals[exporter] = error
        else:
            notes = (f"exporter {other.value}: {error}" for other, error in refusals.items())
            written_by = (f"written by exporter {exporter.value}",) if refusals else ()
            return replace(report, notes=(*written_by, *notes, *report.notes))
    first, *others = refusals.items()
    different = [f"exporter {name.value}: {error}" for name, error in others if str(error) != str(first[1])]
    raise _continued(first[1], *different) from first[1]


def _continued(error: _Refusal, *more: str) -> _Refusal:
    """Return the same error with more at the end of its message."""
    match error:
        case ReadError():
            return type(error)("; ".join((error.problem, *more)), error.where)
        case VerificationError():
            return VerificationError("; ".join((str(error), *more)))
        case _:
            assert_never(error)


@contextmanager
def _on_this_processor(*ends: Path) -> Iterator[None]:
    """Add to a difference that it may be OpenVINO's, on processors where it computes some layers wrong."""
    try:
        yield
    except VerificationError as error:
        if FileKind.IR not in map(FileKind.of, ends) or processor() is not Processor.SSE4:
            raise
        fault = f"on processors without AVX2, such as this one, OpenVINO computes {WRONG_WITHOUT_AVX2}"
        raise VerificationError(f"{error}; {fault}: if the model has them, convert it on another") from None


def checked_kinds(source: Path, destination: Path, options: ConvertOptions) -> tuple[FileKind, FileKind]:
    """Return the kinds of both files. Raises ReadError if there is no route, SpecError for options without effect."""
    kinds = _kinds(source, destination)
    check_options(kinds, options, source.name)
    return kinds


def _written(kinds: tuple[FileKind, FileKind], source: Path, output: Path, options: ConvertOptions) -> Written:
    try:
        return PATHS[kinds](source, output, options)
    except RuntimeError as error:  # OpenVINO's own
        if is_of_memory(str(error)):
            raise MemoryBoundError(memory_refusal(MemoryError())) from None
        raise


def _convert(original: Source, source: Path, destination: Path, options: ConvertOptions) -> ConversionReport:
    kinds = checked_kinds(source, destination, options)
    files = (destination.with_suffix(".bin"), destination) if kinds[1] is FileKind.IR else (destination,)
    inputs = [*Inputs.of(options).paths, *([options.into] if options.into else [])]
    check_outputs([*files, *options.reports], [*parts(source), *inputs])
    _check_unnamed(destination)
    with ExitStack() as stack:
        # Every file goes to a temporary one first: an error anywhere below leaves nothing behind.
        pages = {path: stack.enter_context(replacing(path))[0] for path in options.reports}
        temporary = stack.enter_context(replacing(*files))
        between = stack.enter_context(_intermediate(source, destination, options))
        model = between.model if between else source
        stack.enter_context(_weights(model, kinds, destination, temporary[-1]))
        # States go before shapes are frozen: they become inputs, which may have shapes, too.
        read, states = stack.enter_context(_stateless(model, kinds, options))
        read = stack.enter_context(_frozen(read, options))
        try:
            written = _written(kinds, read, temporary[-1], options)
        except ReadError:
            if kinds[0] is FileKind.ONNX:  # names every node that cannot be read, and the repair
                invalid_nodes.check(read, None if is_in_memory(original) else source)
            raise
        at_first = _at_first(options, states)
        proof = None
        if between:
            written = Written(rows=between.rows(written.rows), notes=(*written.notes, *between.notes))
            proof = between.proof if options.reference is None else None
            # A proof by operators replaces the comparison of outputs, in which levels would differ.
            at_first = at_first if proof else _with_reference(at_first, source)
        # An older release's own results need its rules, which today's OpenVINO has as other layers.
        ran = stack.enter_context(_as_run(read, kinds, options))
        with _named_changes(between):
            tried = replace(Inputs.of(at_first), hints=between.hints) if between else Inputs.of(at_first)
            verification = _verify(ran, temporary[-1], written.rows, tried, at_first) if options.verify else None
            if verification is not None and proof is not None:
                verification = _noted(verification, proof(ran, tried, options.progress))
            if verification is not None and verification.calls:
                ends = {ran: False, temporary[-1]: options.target == "openvino"}
                calls = bounded(verification.calls, ends)
                verification = replace(verification, calls=calls)
        report = ConversionReport(
            source=source,
            destination=destination,
            rows=written.rows,
            mistakes=(*of_source(original, source), *of_releases(written.rows)),
            notes=(
                *written.notes,
                *_products(source, destination, temporary[-1], options),
                *_sizes_in_floats(destination, temporary[-1]),
                *accepted(read, temporary[-1], destination, options),
                *_on_npu(read, temporary[-1], destination, options),
            ),
            verification=verification,
            operations=Operations(before=operations(source), after=operations(temporary[-1])),
            states=states,
        )
        for path, write_report in options.reports.items():
            write_report(report, pages[path])
    return report


def _on_npu(source: Path, result: Path, destination: Path, options: ConvertOptions) -> list[str]:
    """Return notes about a result that is written for QNN; none for others, which do not need the target's rooms."""
    if options.target != qnn_placement.NAME or not options.verify:
        return []
    from ..portable.portable_model import write_model

    def write(plain: Path, written: Path) -> None:
        write_model(plain, written, qnn_placement.NAME, policy(options), semantics=options.semantics)

    return qnn_placement.on_npu(source, result, destination, write)


def _products(source: Path, destination: Path, result: Path, options: ConvertOptions) -> list[str]:
    """Return notes about the 8-bit products of a model and of its conversion."""
    ends = (
        (source, saturation(source)),
        (destination, saturation(result, through_openvino=options.target == "openvino")),
    )
    return [f"{path.name}: {known.text}" for path, known in ends if known is not None]


def _sizes_in_floats(destination: Path, result: Path) -> list[str]:
    """Return a note if an IR makes integers of floats that are computed from sizes.

    The proof is in float32; where OpenVINO computes in bfloat16, it holds integers up to 256 only.
    """
    if FileKind.of(destination) is not FileKind.IR:
        return []
    constants, sizes, floats = set[str](), set[str](), set[str]()
    for step in graphs.read(result).steps:
        sources = set(step.inputs)
        if step.type == "shapeof":
            sizes.update(step.outputs)
        elif step.type == "const" or (sources and sources <= constants):
            constants.update(step.outputs)
        elif sources & sizes and sources <= sizes | constants:
            sizes.update(step.outputs)
            becomes_integer = step.attributes.get("destination_type", "f")[:1] in "iu"
            if sources & floats and becomes_integer:
                return [f"{destination.name}: {_LOW_PRECISION.format(step.outputs[0])}"]
            if sources & floats or (step.type == "convert" and not becomes_integer):
                floats.update(step.outputs)
    return []


_LOW_PRECISION = (
    "{!r} makes sizes or positions of floats: where OpenVINO computes in bfloat16 by default (processors with AVX-512 "
    "BF16 or AMX) or in float16 (GPUs), large ones may differ; to compute what was proven, compile with "
    "INFERENCE_PRECISION_HINT=f32"
)


def _kinds(source: Path, destination: Path) -> tuple[FileKind, FileKind]:
    """Return the kinds of both files. Raises ReadError if there is no route between them."""
    kinds = conversion_kinds(source, destination)
    if kinds is not None:
        return kinds
    starts, ends = (list(dict.fromkeys(known[place].value for known in PATHS)) for place in (0, 1))
    check_named(source, starts)
    check_named(destination, ends)
    check_not_refused(source)
    # A known extension without a route is an error of its own, below.
    for path, extensions in ((source, starts), (destination, ends)):
        if not path.suffix:
            raise ReadError(f"has no extension; expected one of {', '.join(extensions)}", path.name)
    start, end = source.suffix, destination.suffix
    results = ", ".join(written.value for read, written in PATHS if read is FileKind.of(source))
    expected = f"{start} becomes {results}" if results else f"expected a source of {', '.join(starts)}"
    raise ReadError(f"no conversion from {start} to {end}; {expected}", source.name)


def _with_reference(options: ConvertOptions, source: Path) -> ConvertOptions:
    """Return options in which the source is the reference, unless the user named another."""
    reference = source if options.reference is None else options.reference
    is_moved = options.layout == NCHW and FileKind.of(source) in CHANNELS_LAST
    return replace(options, reference=for_channels_second(reference) if is_moved else reference)


def _intermediate(
    source: Path, destination: Path, options: ConvertOptions
) -> AbstractContextManager[Intermediate | None]:
    """Yield the model that stands for a source of a framework; None for one that is converted itself."""
    framework = part(FileKind.of(source), "conversion")
    if framework is None:
        return nullcontext()
    found: AbstractContextManager[Intermediate | None] = framework.intermediate(
        source, destination, policy(options), options
    )
    return found


@contextmanager
def _named_changes(between: Intermediate | None) -> Iterator[None]:
    """Add what the exporter of a program changed to an error of verification: it may be the reason."""
    try:
        yield
    except VerificationError as error:
        changes = dict.fromkeys(between.changes if between else ())  # a line may resize several times
        raise VerificationError("; ".join((str(error), *changes))) from None


def _verify(
    source: Path, result: Path, rows: tuple[Row, ...], inputs: Inputs, options: ConvertOptions
) -> Verification | None:
    from ..verify import conversion as verify, model_pairs

    verification = verify.verify(
        source,
        result,
        rows,
        inputs,
        half_weights=options.fp16,
        through_openvino=options.target == "openvino",
        alone=_alone(source, result, options),
        progress=options.progress,
    )
    if verification is None or options.reference is None:
        return verification
    proof = model_pairs.proof(source, result, options.reference, inputs, options.progress)
    return _noted(verification, proof)


def _noted(verification: Verification, note: str) -> Verification:
    return replace(verification, note="; ".join(filter(None, (verification.note, note))))


def _alone(source: Path, result: Path, options: ConvertOptions) -> WriteAlone | None:
    """Return the writer of single resizes in the form of ``result``, for OpenVINO; None if ``result`` is not for it."""
    from ..verify.conversion import WriteAlone

    kinds = FileKind.of(source), FileKind.of(result)
    if kinds == (FileKind.ONNX, FileKind.IR):
        return WriteAlone(write=partial(_ir_alone, options), suffix=".xml")
    if kinds == PORTABLE and options.target == "openvino":
        return WriteAlone(write=partial(_portable_alone, options), suffix=".onnx")
    return None


def _ir_alone(options: ConvertOptions, op: ResizeOp, output: Path) -> None:
    from ..openvino.ir_save import write_resize

    write_resize(op, output, policy(options))


def _portable_alone(options: ConvertOptions, op: ResizeOp, output: Path) -> None:
    from ..onnx.onnx_graph import Unsaved, save
    from ..onnx.resize_form import native_model
    from ..portable import portable_model as portable

    plain = output.with_suffix(".plain.onnx")
    # The node as in the source: onnxruntime may need primitives instead, but OpenVINO would then run exactly these.
    save(Unsaved(model=native_model(op).model, constants={}), plain)
    portable.write_model(plain, output, "openvino", policy(options))


def _weights(
    source: Path, kinds: tuple[FileKind, FileKind], destination: Path, temporary: Path
) -> AbstractContextManager[None]:
    """Make external data available to a model that shares them with its source."""
    if kinds != PORTABLE:
        return nullcontext()
    from ..onnx.onnx_files import weights_beside

    return weights_beside(source, destination, temporary)


@contextmanager
def _stateless(
    source: Path, kinds: tuple[FileKind, FileKind], options: ConvertOptions
) -> Iterator[tuple[Path, tuple[State, ...]]]:
    """Yield an IR without its states, and the states, if they become inputs and outputs."""
    if kinds != (FileKind.IR, FileKind.ONNX) or options.state is StateForm.REFUSE:
        yield source, ()
        return
    from ..ir_to_onnx.states import stateless

    with stateless(source) as copy:
        yield copy


def _as_run(source: Path, kinds: tuple[FileKind, FileKind], options: ConvertOptions) -> AbstractContextManager[Path]:
    """Yield a model that today's OpenVINO computes as the chosen release computed ``source``."""
    if kinds[0] is not FileKind.IR or not options.verify or not options.semantics.dialect:
        return nullcontext(source)
    from ..openvino.ir_save import as_in_release

    return as_in_release(source, options.semantics)


def _frozen(source: Path, options: ConvertOptions) -> AbstractContextManager[Path]:
    """Yield a model whose inputs have the chosen shapes for good, if they are to be frozen."""
    if not options.freeze:
        return nullcontext(source)

    return frozen(source, options.shapes)


def _at_first(options: ConvertOptions, states: tuple[State, ...]) -> ConvertOptions:
    """Return options in which unspecified states have the sizes that they have before the first inference."""
    shapes = {state.input: tuple(1 if size is None else size for size in state.initial_shape) for state in states}
    return replace(options, shapes=shapes | dict(options.shapes))


def _check_unnamed(destination: Path) -> None:
    """Refuse to overwrite a file that was not named and is not part of the replaced result."""
    beside = {FileKind.IR: f"{destination.stem}.bin", FileKind.ONNX: f"{destination.name}.data"}
    kind = FileKind.of(destination)
    name = beside.get(kind) if kind else None
    if name and exists(destination.with_name(name)) and not exists(destination):
        problem = f"{destination.with_name(name)} is there, without {destination.name}, and might be overwritten"
        raise OutputError(f"{problem}; choose another name, or move it away")


def accepted(source: Path, result: Path, destination: Path, options: ConvertOptions) -> list[str]:
    """Return notes about TensorRT's answer to a result that is written for it; none for other results.

    Raises VerificationError if TensorRT refuses a written node or layer, or would compute another resize.
    """
    if not options.verify or not tensorrt_importer.is_installed():
        return []
    if options.target == DIALECT.name:
        return [f"{destination.name}: {_model(source, result, destination.name)}"]
    if FileKind.of(result) is FileKind.JSON and (options.dialect or DIALECT.name) == DIALECT.name:
        return [f"{destination.name}: {_layers(result, destination.name)}"]
    return []


def _model(source: Path, result: Path, name: str) -> str:
    answer = tensorrt_importer.imported(result)
    after = read_file(result).graph.node
    # Of a source of another kind, every node is written anew, and TensorRT may lack operators that are no resizes.
    old = read_file(source).graph.node if FileKind.of(source) is FileKind.ONNX else after
    before = [node.SerializeToString() for node in old]
    for refusal in answer.refusals:
        known = after[refusal.node].SerializeToString() if 0 <= refusal.node < len(after) else None
        if refusal.operator in OPS or (known is not None and known not in before):
            raise VerificationError(f"{name}: {answer.by} refuses what was written: {refusal}; please report it")
    if answer.refusals:
        return f"{answer.by} refuses another node: {answer.refusal}"
    meanings = {op.name: op for op in load(result)}
    compared = [_compared(answer, op, layer.settings, name) for op, layer in _pairs(meanings, answer)]
    compared_text = f"; {_count(len(compared))} of static shape as written" if compared else ""
    return f"{answer.by} takes it{compared_text}"


def _pairs(meanings: dict[str, ResizeOp], answer: Answer) -> Iterator[tuple[ResizeOp, Layer]]:
    """Yield each node of static shape with the layer of the same name."""
    for layer in answer.resizes:
        op = meanings.get(layer.settings.name) or meanings.get(layer.settings.name.removeprefix("node_of_"))
        if op is not None and op.shape is not None and None not in op.shape and not op.spec.waits:
            yield op, layer


def _compared(answer: Answer, op: ResizeOp, layer: LayerSettings, name: str) -> ResizeOp:
    shape = tuple(size or 0 for size in op.shape or ())
    difference = first_difference(op.spec, layer.op.spec, shape)
    if difference:
        raise VerificationError(f"{name}: {op.name}: {answer.by} would compute another resize: {difference}")
    return op


def _count(layers: int) -> str:
    return "1 resize layer" if layers == 1 else f"{layers} resize layers"


def _layers(result: Path, name: str) -> str:
    answers = [(op, tensorrt_importer.built(_settings(op))) for op in load(result) if op.shape is not None]
    for op, answer in answers:
        if answer.refusals:
            raise VerificationError(f"{name}: {op.name}: {answer.by} refuses the layer: {answer.refusal}")
    release = answers[0][1].by if answers else "TensorRT"
    return f"{release} builds {_count(len(answers))}"


def _settings(op: ResizeOp) -> LayerSettings:
    context = Context(version=op.version, shape=op.shape, dtype=op.dtype)
    return LayerSettings(name=op.name, attributes=DIALECT.complete(op.attributes, op.version), context=context)
