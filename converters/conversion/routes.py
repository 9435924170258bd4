"""Every route from one kind of file to another, and the writer of its rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ir_interp.errors import InexactError, ReadError, UnsupportedLayerError
from ir_interp.files.kinds import FOREIGN, FileKind
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Dialect
from ir_interp.translation.grades import Translation
from ir_interp.translation.translate import write

from ..reports.conversion_report import FormPolicy, Row, Written, expressed
from ..sources import registry
from ..sources.readers import load

# The version that OpenVINO 2021 reads; later releases write 11.
OLD_IR = 10
IR, INTERPOLATE = (OLD_IR, 11), (1, 4, 11)
"""Versions of IRs, and of Interpolate in them, that can be written."""
DIALECT = "tensorrt"
"""The dialect of a .json if none is named."""
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
            from ..onnx import compressed_matrices
            from ..onnx.onnx_save import save_joined

            save_joined(source, output)
            return Written(rows=(), notes=compressed_matrices.notes(output))
        case FileKind.IR:
            return _ir_to_onnx(source, output, options)
    return _layer_to_onnx(source, output, options)


def _foreign_to_ir(source: Path, output: Path, options: ConvertOptions) -> Written:
    match FileKind.of(source):
        case FileKind.ONNX:
            return _onnx_to_ir(source, output, options)
        case FileKind.IR:
            for suffix in (".xml", ".bin"):
                shutil.copyfile(source.with_suffix(suffix), output.with_suffix(suffix))
            _of_version(output, options)
            return Written(rows=())
    return _layer_to_ir(source, output, options)


def _onnx_to_onnx(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..portable import portable_model as portable

    forms = policy(options)
    rows = portable.write_model(
        source, output, options.target or "", forms, half=options.fp16, semantics=options.semantics
    )
    return Written(rows=rows)


def _ir_to_onnx(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..ir_to_onnx import write
    from ..onnx import compressed_matrices

    half = options.fp16
    written = write.write_model(source, output, options.semantics, options.opset, options.progress, half=half)
    return replace(written, notes=(*written.notes, *compressed_matrices.notes(output)))


def _layer_to_onnx(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..onnx.single_node import write_resize

    return Written(rows=(write_resize(_single(source, options), output, options.opset),))


def _layer_to_ir(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..openvino.single_layer import write_resize

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
    from ..frameworks.tflite.rewrite import rewrite
    from ..frameworks.tflite.single_operator import write_resize

    if options.into is not None:
        return Written(rows=rewrite(_resizes(source, options), options.into, output))
    return Written(rows=(write_resize(_single(source, options), output),))


def _to_json(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..sources import layer_json

    translated, rows = _translated(source, options)
    output.write_text(layer_json.dump(translated), encoding="utf-8")
    return Written(rows=rows)


def _to_python(source: Path, output: Path, options: ConvertOptions) -> Written:
    from ..tensorrt import layer

    if options.dialect not in (None, DIALECT):
        raise ReadError(f"Python is written for tensorrt only, not for {options.dialect}")
    resizes = _resizes(source, options)
    text, forms = layer.python_script(resizes)
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
    target: Dialect = registry.get(options.dialect or DIALECT)
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

_FOREIGN = {FileKind.ONNX: _foreign_to_onnx, FileKind.IR: _foreign_to_ir}
PATHS: dict[tuple[FileKind, FileKind], Callable[[Path, Path, ConvertOptions], Written]] = {
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
    **{(kind, end): route for kind in FOREIGN for end, route in _FOREIGN.items()},
    (FileKind.TFLITE, FileKind.JSON): _to_json,
    (FileKind.TFLITE, FileKind.PYTHON): _to_python,
}


def conversion_kinds(source: Path, destination: Path) -> tuple[FileKind, FileKind] | None:
    """Return the kinds of both files; None if there is no route between them."""
    start, end = FileKind.of(source), FileKind.of(destination)
    return (start, end) if start and end and (start, end) in PATHS else None
