"""Translate a file into another, by their extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.atomic import OutputError, check_outputs, replacing
from ir_interp.errors import InexactError, ReadError, SpecError, UnsupportedLayerError
from ir_interp.kinds import FileKind, check_named
from ir_interp.memory import MemoryBoundError, is_of_memory, memory_refusal
from ir_interp.op import ResizeOp
from ir_interp.translation.dialect import Dialect, Semantics
from ir_interp.translation.translate import Translation, write

from . import registry
from .brief import parts
from .files import Source, as_file, load, operations, shown_path
from .report import (
    ConversionReport,
    Form,
    FormPolicy,
    Progress,
    Row,
    State,
    StateForm,
    Verification,
    expressed,
    silent,
)
from .verify.inputs import Inputs

if TYPE_CHECKING:
    from .verify.large import WriteAlone


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to translate; ``ir_interp.convert`` says what each means."""

    opset: int | None = None
    ir: int | None = None
    interpolate: int | None = None
    dialect: str | None = None
    into: Path | None = None
    semantics: Semantics = Semantics.RUNTIME
    only: Form = Form.ANY
    strict: bool = False
    fp16: bool = False
    state: StateForm = StateForm.INPUTS
    target: str | None = None
    verify: bool = True
    inputs: Inputs = field(default_factory=Inputs)
    progress: Progress = silent
    reports: Mapping[Path, Callable[[ConversionReport, Path], None]] = field(default_factory=dict)


def convert(source: Source, destination: Path, options: Options) -> ConversionReport:
    """Translate a file or a model in memory into a file; see ``ir_interp.convert``."""
    with as_file(source) as path:
        return replace(_convert(path, destination, options), source=shown_path(source, path))


def _written(kinds: tuple[FileKind, FileKind], source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    try:
        return PATHS[kinds](source, output, options)
    except RuntimeError as error:  # OpenVINO's own
        if is_of_memory(str(error)):
            raise MemoryBoundError(memory_refusal(MemoryError())) from None
        raise


def _convert(source: Path, destination: Path, options: Options) -> ConversionReport:
    kinds = _kinds(source, destination)
    registry.get(options.dialect or _DIALECT)
    _check_options(kinds, options)
    if (kinds == _PORTABLE) != (options.target is not None):
        raise ReadError(_TARGETS, source.name)
    files = (destination.with_suffix(".bin"), destination) if kinds[1] is FileKind.IR else (destination,)
    check_outputs(
        [*files, *options.reports], [*parts(source), *options.inputs.paths, *([options.into] if options.into else [])]
    )
    _check_unnamed(destination)
    with ExitStack() as stack:
        pages = {path: stack.enter_context(replacing(path))[0] for path in options.reports}
        temporary = stack.enter_context(replacing(*files))
        stack.enter_context(_weights(source, destination, temporary[-1]))
        read, states = stack.enter_context(_stateless(source, kinds, options))
        rows = _written(kinds, read, temporary[-1], options)
        report = ConversionReport(
            source=source,
            destination=destination,
            rows=rows,
            verification=_verify(read, temporary[-1], rows, _at_first(options, states)) if options.verify else None,
            before=operations(source),
            after=operations(temporary[-1]),
            states=states,
        )
        for path, write_report in options.reports.items():
            write_report(report, pages[path])
    return report


def _check_options(kinds: tuple[FileKind, FileKind], options: Options) -> None:
    """Raise SpecError for an option that would do nothing here; not to verify what is not verified is none."""
    given = {
        "opset": options.opset is not None,
        "ir": options.ir is not None,
        "interpolate": options.interpolate is not None,
        "dialect": options.dialect is not None,
        "into": options.into is not None,
        "semantics": options.semantics is not Semantics.RUNTIME,
        "only": options.only is not Form.ANY,
        "strict": options.strict,
        "fp16": options.fp16,
        "state": options.state is not StateForm.INPUTS,
        "shapes": bool(options.inputs.shapes),
        "inputs": bool(options.inputs.files),
    }
    for name, paths in _HAVE_EFFECT.items():
        if given[name] and kinds not in paths:
            goes_with = ", ".join(f"{start.value} to {end.value}" for start, end in paths)
            raise SpecError(f"{name} has no effect on {kinds[0].value} to {kinds[1].value}; it goes with {goes_with}")
    for name, value, known in (("ir", options.ir, _IR), ("interpolate", options.interpolate, _INTERPOLATE)):
        if value is not None and value not in known:
            raise SpecError(f"{name} {value} is not written; expected one of {', '.join(map(str, known))}")
    if options.ir == OLD_IR and options.interpolate == _INTERPOLATE[-1]:
        raise SpecError(f"an IR of version {OLD_IR} has Interpolate-{_INTERPOLATE[-2]} at most")
    for name in ("shapes", "inputs"):
        if given[name] and not options.verify:
            raise SpecError(f"{name} has no effect without verification")


def _kinds(source: Path, destination: Path) -> tuple[FileKind, FileKind]:
    """Return what both files are. Raises ReadError where nothing leads from one to the other."""
    kinds = FileKind.of(source), FileKind.of(destination)
    for known in PATHS:
        if kinds == known:
            return known
    starts, ends = (list(dict.fromkeys(known[place].value for known in PATHS)) for place in (0, 1))
    check_named(source, starts)
    check_named(destination, ends)
    start, end = (path.suffix or "no extension" for path in (source, destination))
    paths = ", ".join(f"{start.value} to {end.value}" for start, end in PATHS)
    raise ReadError(f"no conversion from {start} to {end}; expected one of {paths}", source.name)


def _verify(source: Path, result: Path, rows: tuple[Row, ...], options: Options) -> Verification | None:
    from .verify import conversion as verify

    return verify.verify(
        source,
        result,
        rows,
        options.inputs,
        half_weights=options.fp16,
        through_openvino=options.target == "openvino",
        alone=_alone(source, result, options),
        progress=options.progress,
    )


def _alone(source: Path, result: Path, options: Options) -> WriteAlone | None:
    """Return what writes a single resize as those of ``result`` are, for OpenVINO; None where these are not."""
    from .verify.large import WriteAlone

    kinds = FileKind.of(source), FileKind.of(result)
    if kinds == (FileKind.ONNX, FileKind.IR):
        from .openvino.one_resize import write_resize

        return WriteAlone(write=lambda op, path: write_resize(op, path, _policy(options)), suffix=".xml")
    if kinds == _PORTABLE and options.target == "openvino":
        return WriteAlone(write=lambda op, path: _portable_alone(op, path, options), suffix=".onnx")
    return None


def _portable_alone(op: ResizeOp, output: Path, options: Options) -> None:
    from .onnx.one_resize import write_resize
    from .portable import model as portable

    plain = output.with_suffix(".plain.onnx")
    write_resize(op, plain, None)
    portable.write_model(plain, output, "openvino", _policy(options))


def _weights(source: Path, destination: Path, temporary: Path) -> AbstractContextManager[None]:
    """Show external data to a model that is to share them with its source."""
    if (FileKind.of(source), FileKind.of(destination)) != _PORTABLE:
        return nullcontext()
    from .portable.model import weights_beside

    return weights_beside(source, destination, temporary)


@contextmanager
def _stateless(
    source: Path, kinds: tuple[FileKind, FileKind], options: Options
) -> Iterator[tuple[Path, tuple[State, ...]]]:
    """Show an IR that is to become ONNX without its states, and these, where they are to be inputs and outputs."""
    if kinds != (FileKind.IR, FileKind.ONNX) or options.state is StateForm.REFUSE:
        yield source, ()
        return
    from .ir_to_onnx.states import stateless

    with stateless(source) as found:
        yield found


def _at_first(options: Options, states: tuple[State, ...]) -> Options:
    """Return options by which states are as long as before the first inference, where nobody says how long."""
    shapes = {each.input: tuple(1 if length is None else length for length in each.initial_shape) for each in states}
    return replace(options, inputs=replace(options.inputs, shapes=shapes | dict(options.inputs.shapes)))


def _check_unnamed(destination: Path) -> None:
    """Refuse to replace a file that nobody named, and that is no part of what is to be replaced."""
    beside = {FileKind.IR: f"{destination.stem}.bin", FileKind.ONNX: f"{destination.name}.data"}
    kind = FileKind.of(destination)
    name = beside.get(kind) if kind else None
    if name and destination.with_name(name).exists() and not destination.exists():
        problem = f"{destination.with_name(name)} is there, without {destination.name}, and might be overwritten"
        raise OutputError(f"{problem}; choose another name, or move it away")


def _onnx_to_ir(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .openvino import from_onnx, save

    built = from_onnx.build(source, options.semantics, _policy(options))
    if options.fp16:
        save.save_half(built.model, output, built.exact)
    elif built.halves:
        save.save_halves(built.model, output)
    else:
        save.save(built.model, output)
    _of_version(output, options)
    return built.rows


def _onnx_to_onnx(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .portable import model as portable

    return portable.write_model(source, output, options.target or "", _policy(options), half=options.fp16)


def _ir_to_onnx(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .ir_to_onnx import write

    return write.write_model(source, output, options.semantics, options.opset, options.progress, half=options.fp16)


def _layer_to_onnx(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .onnx.one_resize import write_resize

    return (write_resize(_single(source, options), output, options.opset),)


def _layer_to_ir(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .openvino.one_resize import write_resize

    row = write_resize(_single(source, options), output, _policy(options))
    _of_version(output, options)
    return (row,)


def _of_version(output: Path, options: Options) -> None:
    """Write an IR anew where it is to be an old one."""
    if options.ir == OLD_IR:
        from .openvino import old

        old.rewrite(output)


def _layer_to_tflite(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .tflite.one_resize import write_resize
    from .tflite.rewrite import rewrite

    if options.into is not None:
        return rewrite(_resizes(source, options), options.into, output)
    return (write_resize(_single(source, options), output),)


def _policy(options: Options) -> FormPolicy:
    newest = _INTERPOLATE[-2 if options.ir == OLD_IR else -1]
    return FormPolicy(form=options.only, strict=options.strict, interpolate=options.interpolate or newest)


def _to_json(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from . import layer_json

    translated, rows = _translated(source, options)
    output.write_text(layer_json.dump(translated), encoding="utf-8")
    return rows


def _to_python(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .tensorrt import layer

    if options.dialect not in (None, _DIALECT):
        raise ReadError(f"Python is written for tensorrt only, not for {options.dialect}")
    found = _resizes(source, options)
    text, forms = layer.python_script(found)
    output.write_text(text, encoding="utf-8")
    return tuple(
        Row(name=op.name or op.where, source=op, form=form, grade=grade)
        for op, (form, grade) in zip(found, forms, strict=True)
    )


def _resizes(source: Path, options: Options) -> list[ResizeOp]:
    found = load(source, options.semantics)
    if not found:
        raise UnsupportedLayerError("no resize in it", source.name)
    return found


def _single(source: Path, options: Options) -> ResizeOp:
    found = load(source, options.semantics)
    if len(found) != 1:
        raise UnsupportedLayerError(f"{len(found)} layers; expected a single one", source.name)
    return found[0]


def _translated(source: Path, options: Options) -> tuple[list[tuple[ResizeOp, Translation]], tuple[Row, ...]]:
    """Return every resize of a file with its translation; refusals are raised together."""
    target: Dialect = registry.get(options.dialect or _DIALECT)
    found, translated, refusals = _resizes(source, options), [], []
    for op in found:
        try:
            translated.append((op, write(op.spec, target, shape=op.shape, dtype=op.dtype, name=op.name or op.where)))
        except InexactError as error:
            refusals.append(error)
    if refusals:
        raise ExceptionGroup(f"{len(refusals)} of {len(found)} resizes have no exact form in {target.name}", refusals)
    return translated, tuple(
        Row(
            name=op.name or op.where,
            source=op,
            form=expressed(translation),
            grade=translation.grade,
            within=translation.within,
            note=", ".join(code for code, _ in translation.remarks),
        )
        for op, translation in translated
    )


OLD_IR = 10
_IR, _INTERPOLATE = (OLD_IR, 11), (1, 4, 11)
"""Versions of IRs, and of Interpolate in them, that are written."""
_DIALECT = "tensorrt"
_PORTABLE = (FileKind.ONNX, FileKind.ONNX)
_TARGETS = "a target (onnx:11 and the like, tensorrt, openvino, any) goes with .onnx to .onnx, and that with a target"

PATHS: dict[tuple[FileKind, FileKind], Callable[[Path, Path, Options], tuple[Row, ...]]] = {
    (FileKind.ONNX, FileKind.IR): _onnx_to_ir,
    (FileKind.ONNX, FileKind.ONNX): _onnx_to_onnx,
    (FileKind.ONNX, FileKind.JSON): _to_json,
    (FileKind.ONNX, FileKind.PYTHON): _to_python,
    (FileKind.IR, FileKind.ONNX): _ir_to_onnx,
    (FileKind.IR, FileKind.JSON): _to_json,
    (FileKind.IR, FileKind.PYTHON): _to_python,
    (FileKind.JSON, FileKind.ONNX): _layer_to_onnx,
    (FileKind.JSON, FileKind.IR): _layer_to_ir,
    (FileKind.JSON, FileKind.PYTHON): _to_python,
    (FileKind.JSON, FileKind.TFLITE): _layer_to_tflite,
    (FileKind.ONNX, FileKind.TFLITE): _layer_to_tflite,
    (FileKind.IR, FileKind.TFLITE): _layer_to_tflite,
    (FileKind.TFLITE, FileKind.ONNX): _layer_to_onnx,
    (FileKind.TFLITE, FileKind.IR): _layer_to_ir,
    (FileKind.TFLITE, FileKind.JSON): _to_json,
    (FileKind.TFLITE, FileKind.PYTHON): _to_python,
}

_TO_MODELS = tuple(kinds for kinds in PATHS if kinds[1] in (FileKind.ONNX, FileKind.IR))
_WITH_FORMS = (
    (FileKind.ONNX, FileKind.IR),
    _PORTABLE,
    (FileKind.JSON, FileKind.IR),
    (FileKind.TFLITE, FileKind.IR),
)
_TO_IR = ((FileKind.ONNX, FileKind.IR), (FileKind.JSON, FileKind.IR), (FileKind.TFLITE, FileKind.IR))
_HAVE_EFFECT: dict[str, tuple[tuple[FileKind, FileKind], ...]] = {
    "opset": tuple((kind, FileKind.ONNX) for kind in (FileKind.IR, FileKind.JSON, FileKind.TFLITE)),
    "ir": _TO_IR,
    "interpolate": _TO_IR,
    "dialect": tuple(kinds for kinds in PATHS if kinds[1] in (FileKind.JSON, FileKind.PYTHON)),
    "into": ((FileKind.JSON, FileKind.TFLITE),),
    "semantics": tuple(kinds for kinds in PATHS if kinds != _PORTABLE),
    "only": _WITH_FORMS,
    "strict": _WITH_FORMS,
    "state": ((FileKind.IR, FileKind.ONNX),),
    "fp16": ((FileKind.ONNX, FileKind.IR), _PORTABLE, (FileKind.IR, FileKind.ONNX)),
    "shapes": _TO_MODELS,
    "inputs": _TO_MODELS,
}
"""Options that do not go with everything, and what each goes with."""
