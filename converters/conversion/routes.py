"""Every route from one kind of file to another, and the writer of its rows.

Then which options apply to which files: an option without an effect is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ir_interp.errors import InexactError, IrInterpError, ReadError, SpecError, UnsupportedLayerError
from ir_interp.files.kinds import FOREIGN, FileKind
from ir_interp.files.snapshots import copy_file
from ir_interp.files.writing import scratch
from ir_interp.ir.ir_files import nets
from ir_interp.options.declaration import options_set
from ir_interp.options.model_options import ConvertOptions, Exporter, moves_channels
from ir_interp.options.shared_options import check_needs
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Dialect, Semantics
from ir_interp.translation.translate import Translation, write

from .. import dialects
from ..intermediate import merged
from ..onnx.onnx_files import weights_beside
from ..reports import FormPolicy, Row, Written, expressed
from ..sources.readers import load

# The version that OpenVINO 2021 reads; later releases write 11.
OLD_IR = 10
IR, INTERPOLATE = (OLD_IR, 11), (1, 4, 11)
"""Versions of IRs, and of Interpolate in them, that can be written."""
DIALECT = "tensorrt"
"""The dialect of a .json if none is named."""
Writer = Callable[[Path, Path, ConvertOptions], Written]
"""Writes a source into a file of another kind."""
NATIVE = "openvino"
"""The dialect of Interpolate, by which a row's form begins."""


def policy(options: ConvertOptions) -> FormPolicy:
    """Return the forms that resizes may take."""
    # An IR of version 10 has no Interpolate-11.
    newest = INTERPOLATE[-2 if options.ir == OLD_IR else -1]
    return FormPolicy(form=options.only, strict=options.strict, interpolate=options.interpolate or newest)


def _onnx_to_ir(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..openvino import from_onnx, ir_save

    built = from_onnx.build(source, options.semantics, policy(options))
    if options.fp16:
        ir_save.save_half(built.model, output, built.exact)
    # The weights of a model in half precision are stored as they were, without rounding anything again.
    elif built.halves:
        ir_save.save_halves(built.model, output)
    else:
        ir_save.save(built.model, output)
    _of_version(output, options)
    return Written(rows=built.rows, notes=_interpolates(built.rows, options))


def _foreign_to_onnx(source: Path, output: Path, options: ConvertOptions) -> Written:
    """Write the model that stands for another framework's; ``converting`` names the resizes of a copy."""
    match FileKind.of(source):
        case FileKind.ONNX:
            from ..onnx import low_precision
            from ..onnx.onnx_graph import save_joined

            save_joined(source, output)
            return Written(rows=(), notes=low_precision.compression_notes(output))
        case FileKind.IR:
            return _ir_to_onnx(source, output, options)
    return _layer_to_onnx(source, output, options)


def _foreign_to_ir(source: Path, output: Path, options: ConvertOptions) -> Written:
    match FileKind.of(source):
        case FileKind.ONNX:
            return _onnx_to_ir(source, output, options)
        case FileKind.IR:
            for suffix in (".xml", ".bin"):
                copy_file(source.with_suffix(suffix), output.with_suffix(suffix))
            _of_version(output, options)
            return Written(rows=())
    return _layer_to_ir(source, output, options)


def _ir_to_ir(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..openvino import ir_save

    if next(nets(source)).is_snippet:
        return _layer_to_ir(source, output, options)
    rows = ir_save.rewrite(source, output, options.semantics, partial(_own_version, options), half=options.fp16)
    _of_version(output, options)
    return Written(rows=rows, notes=_interpolates(rows, options))


def _own_version(options: ConvertOptions, op: ResizeOp) -> FormPolicy:
    """Return the forms that a resize of an IR may take: in its own version if none is requested."""
    asked = policy(options)
    return asked if options.interpolate else replace(asked, interpolate=min(op.version, asked.interpolate))


def _onnx_to_onnx(source: Path, output: Path, options: ConvertOptions) -> Written:
    """Write a model for a target: quantised operators (QLinearConv and the like) in plain ones unless it is a set.

    Operator sets have them, and onnxruntime those of com.microsoft; no other runtime takes all.
    """
    from ..onnx import low_precision
    from ..portable import portable_model as portable

    target, forms = options.target or "", policy(options)
    with scratch() as folder:
        if not target.startswith(_OPERATOR_SET) and low_precision.has_quantised_operators(source):
            source = low_precision.in_plain_operators(source, folder)
        rows = portable.write_model(source, output, target, forms, half=options.fp16, semantics=options.semantics)
    return Written(rows=rows)


def _with_target(write: Writer) -> Writer:
    """Return a writer of ONNX models that rewrites its result for the target, if there is one."""

    def written(source: Path, output: Path, options: ConvertOptions) -> Written:
        if options.target is None:
            return write(source, output, options)
        with scratch() as folder:
            plain = folder / output.name
            first = write(source, plain, replace(options, target=None))
            with weights_beside(plain, output, output):
                # What the source means, and half precision, are in the first model already.
                then = _onnx_to_onnx(plain, output, replace(options, semantics=Semantics.RUNTIME, fp16=False))
        return replace(first, rows=merged(first.rows, then.rows))

    return written


def _ir_to_onnx(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..ir_to_onnx import onnx_model
    from ..onnx import low_precision

    half = options.fp16
    written = onnx_model.write_model(source, output, options.semantics, options.opset, options.progress, half=half)
    return replace(written, notes=(*written.notes, *low_precision.compression_notes(output)))


def _layer_to_onnx(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..onnx.resize_form import write_resize

    return Written(rows=(write_resize(_single(source, options), output, options.opset),))


def _layer_to_ir(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..openvino.ir_save import write_resize

    row = write_resize(_single(source, options), output, policy(options))
    _of_version(output, options)
    return Written(rows=(row,), notes=_interpolates([row], options))


def _interpolates(rows: Sequence[Row], options: ConvertOptions) -> tuple[str, ...]:
    """Return a note on how many resizes became the version of Interpolate that was requested, if one was."""
    if options.interpolate is None:
        return ()
    native = sum(row.form.startswith(f"{NATIVE} {options.interpolate}:") for row in rows)
    note = f"{native} of {len(rows)} resizes became Interpolate-{options.interpolate}"
    return (
        note if native == len(rows) else f"{note}; the others have no exact form there and became other operations",
    )


def _of_version(output: Path, options: ConvertOptions) -> None:
    """Write an IR anew if an older version is requested."""
    if options.ir == OLD_IR:
        from ..openvino import ir_version_10

        ir_version_10.rewrite(output)


def _layer_to_tflite(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..frameworks.tflite.conversion import rewrite, write_resize

    if options.into is not None:
        return Written(rows=rewrite(_resizes(source, options), options.into, output))
    return Written(rows=(write_resize(_single(source, options), output),))


def _to_json(source: Path, output: Path, options: ConvertOptions) -> Written:
    from .. import dialects

    translated, rows = _translated(source, options)
    output.write_text(dialects.dump_layers(translated), encoding="utf-8")
    return Written(rows=rows)


def _to_python(source: Path, output: Path, options: ConvertOptions) -> Written:
    from .. import tensorrt

    if options.dialect not in (None, DIALECT):
        raise ReadError(f"Python is written for tensorrt only, not for {options.dialect}")
    resizes = _resizes(source, options)
    text, forms = tensorrt.python_script(resizes)
    output.write_text(text, encoding="utf-8")
    rows = (
        Row(name=op.name or op.where, source=op, form=form, grade=grade)
        for op, (form, grade) in zip(resizes, forms, strict=True)
    )
    return Written(rows=tuple(rows))


def _resizes(source: Path, options: ConvertOptions) -> list[ResizeOp]:
    resizes = load(source, options.semantics)
    if not resizes:
        raise UnsupportedLayerError("no resize in it", source.name)
    return resizes


def _single(source: Path, options: ConvertOptions) -> ResizeOp:
    resizes = load(source, options.semantics)
    if len(resizes) != 1:
        raise UnsupportedLayerError(f"{len(resizes)} layers; expected a single one", source.name)
    return resizes[0]


def _refusal(error: InexactError, target: Dialect) -> InexactError:
    """Return a refusal of a .json; for TensorRT with the way on, since only a .py combines several layers."""
    if target.name != DIALECT or not error.differences:
        return error
    reason = f"{error.reason}; a .json holds one layer for each resize; write a .py, which may use several"
    return InexactError(error.name, error.target, error.differences, reason, error.cause)


def _translated(source: Path, options: ConvertOptions) -> tuple[list[tuple[ResizeOp, Translation]], tuple[Row, ...]]:
    """Return every resize of a file with its translation; refusals are raised together."""
    target: Dialect = dialects.get(options.dialect or DIALECT)
    resizes, translated, refusals = _resizes(source, options), [], []
    for op in resizes:
        try:
            translated.append((op, write(op.spec, target, shape=op.shape, dtype=op.dtype, name=op.name or op.where)))
        except InexactError as error:
            refusals.append(_refusal(error, target))
    if refusals:
        raise ExceptionGroup(f"{len(refusals)} of {len(resizes)} resizes have no exact form in {target.name}", refusals)
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


PORTABLE = (FileKind.ONNX, FileKind.ONNX)
_SAME_IR = (FileKind.IR, FileKind.IR)

_FOREIGN = {FileKind.ONNX: _with_target(_foreign_to_onnx), FileKind.IR: _foreign_to_ir}
PATHS: dict[tuple[FileKind, FileKind], Writer] = {
    (FileKind.ONNX, FileKind.IR): _onnx_to_ir,
    (FileKind.ONNX, FileKind.ONNX): _onnx_to_onnx,
    (FileKind.ONNX, FileKind.JSON): _to_json,
    (FileKind.ONNX, FileKind.PYTHON): _to_python,
    (FileKind.IR, FileKind.IR): _ir_to_ir,
    (FileKind.IR, FileKind.ONNX): _with_target(_ir_to_onnx),
    (FileKind.IR, FileKind.JSON): _to_json,
    (FileKind.IR, FileKind.PYTHON): _to_python,
    (FileKind.JSON, FileKind.ONNX): _with_target(_layer_to_onnx),
    (FileKind.JSON, FileKind.IR): _layer_to_ir,
    (FileKind.JSON, FileKind.PYTHON): _to_python,
    (FileKind.JSON, FileKind.TFLITE): _layer_to_tflite,
    (FileKind.ONNX, FileKind.TFLITE): _layer_to_tflite,
    (FileKind.IR, FileKind.TFLITE): _layer_to_tflite,
    **{(kind, end): route for kind in FOREIGN for end, route in _FOREIGN.items()},
    (FileKind.TFLITE, FileKind.JSON): _to_json,
    (FileKind.TFLITE, FileKind.PYTHON): _to_python,
}


def conversion_kinds(source: Path, destination: Path) -> tuple[FileKind, FileKind] | None:
    """Return the kinds of both files; None if there is no route between them."""
    start, end = FileKind.of(source), FileKind.of(destination)
    return (start, end) if start and end and (start, end) in PATHS else None


class NothingToChangeError(ReadError):
    """A source that has the format of the result already, where no option names a change."""


_NO_TARGET = (
    "--target NAME is missing: from .onnx to .onnx it names a runtime or operator set, such as tensorrt or onnx:11"
)
_OPERATOR_SET = "onnx:"  # the beginning of a target that is an operator set
_CHANGES = {"only", "interpolate", "ir", "freeze", "fp16", "semantics"}
_NO_CHANGE = "from .xml to .xml, name the change: --only, --interpolate, --ir, --freeze, --fp16 or --semantics"


def check_options(kinds: tuple[FileKind, FileKind], options: ConvertOptions, name: str) -> None:
    """Raise SpecError for an option without an effect, ReadError for a missing or unknown one.

    ``name`` is that of the source. Turning off a verification that would not run has no effect either, but is allowed.
    """
    dialects.get(options.dialect or DIALECT)
    for option in options_set(options):
        if option.routes and not option.routes(*kinds):
            goes_with = ", ".join(f"{start.value} to {end.value}" for start, end in PATHS if option.routes(start, end))
            problem = f"{option.flag} has no effect on {kinds[0].value} to {kinds[1].value}"
            remedy = f"; use --target onnx:{options.opset}" if kinds == PORTABLE and option.name == "opset" else ""
            raise SpecError(f"{problem}; it goes with {goes_with}{remedy}")
    if options.exporter is not None and options.exporter not in exporters_for(kinds, options):
        raise SpecError("--fp16 has no effect on the IR of --exporter openvino; leave out one of them")
    _check_versions(options)
    # channels move without an image, too
    check_needs(replace(options, layout=None) if moves_channels(*kinds) else options)
    is_unchanged = _CHANGES.isdisjoint(option.name for option in options_set(options))
    if kinds == PORTABLE and options.target is None:
        raise (NothingToChangeError if is_unchanged else ReadError)(_NO_TARGET, name)
    if options.target is not None:
        _check_target(kinds, options.target, name)
    if kinds == _SAME_IR and is_unchanged:
        raise NothingToChangeError(_NO_CHANGE, name)


def has_the_form(path: Path, suffix: str, options: ConvertOptions) -> bool:
    """Return whether a file already has the format that a conversion writes, and nothing in it is to change."""
    kinds = FileKind.of(path), FileKind.of(f"x{suffix}")
    if kinds[0] is None or kinds[0] is not kinds[1]:
        return False
    try:
        check_options((kinds[0], kinds[0]), options, path.name)
    except NothingToChangeError:
        return True
    except IrInterpError:  # an option that asks for something else
        return False
    return kinds not in PATHS


def exporters_for(kinds: tuple[FileKind, FileKind], options: ConvertOptions) -> tuple[Exporter, ...]:
    """Return the exporters that may write a result, in the order in which they are tried."""
    is_written_in_full = kinds[1] is FileKind.IR and options.fp16
    return tuple(name for name in Exporter if not (is_written_in_full and name is Exporter.OPENVINO))


def _check_target(kinds: tuple[FileKind, FileKind], target: str, name: str) -> None:
    """Raise ReadError for a target of other results than ONNX models, and for an operator set that --opset names."""
    start, end = kinds
    if end is not FileKind.ONNX:
        raise ReadError(f"--target has no effect on {end.value}; leave it out, or name the result .onnx", name)
    if target.startswith(_OPERATOR_SET) and FileKind.ONNX not in (start, start.stand_in):
        raise ReadError(f"--target {target} has no effect; use --opset {target.removeprefix(_OPERATOR_SET)}", name)


def _check_versions(options: ConvertOptions) -> None:
    for name, value, known in (("--ir", options.ir, IR), ("--interpolate", options.interpolate, INTERPOLATE)):
        if value is not None and value not in known:
            raise SpecError(f"{name} {value} is not supported; expected one of {', '.join(map(str, known))}")
    if options.ir == OLD_IR and options.interpolate == INTERPOLATE[-1]:
        raise SpecError(f"an IR of version {OLD_IR} has Interpolate-{INTERPOLATE[-2]} at most")
