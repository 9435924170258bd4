"""Translate a file into another, by their extensions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir_interp.atomic import OutputError, check_outputs, replacing
from ir_interp.errors import InexactError, ReadError, UnsupportedLayerError
from ir_interp.op import ResizeOp
from ir_interp.translation.dialect import Dialect, Semantics
from ir_interp.translation.translate import Translation, write

from .files import load, operations
from .report import ConversionReport, Form, Progress, Row, Verification, Wish, form, silent
from .verify.processes import Inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to translate; ``convert`` says what each means."""

    opset: int | None = None
    dialect: str = "tensorrt"
    semantics: Semantics = Semantics.RUNTIME
    only: str | None = None
    strict: bool = False
    fp16: bool = False
    target: str | None = None
    progress: Progress = silent
    reports: Mapping[Path, Callable[[ConversionReport, Path], None]] = field(default_factory=dict)


def convert(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    verify: bool = True,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    inputs: Mapping[str, str | os.PathLike[str]] | None = None,
    **options: Any,
) -> ConversionReport:
    """Translate ``source`` into ``destination``; what both are, their extensions say.

    * .onnx to .xml: a whole model, with its .bin; to .json or .py: all its resizes
    * .xml to .onnx: a whole IR, or a pasted layer; to .json or .py: all its resizes
    * .json to .xml, .onnx: a single layer; to .py: all its layers
    * .onnx to .onnx: the same model, its resizes made portable for a ``target`` (``portable.write_model``)

    Options: ``opset`` is ONNX's operator set, by default 21 for a model, for a layer the newest that can say it.
    ``dialect`` is that of a .json file to be written. ``semantics`` chooses the reading of the source. Of an .xml, or
    for a ``target`` ("onnx:11" and the like, "tensorrt", "openvino"), ``only`` ("native", "decomposed") forces one
    form of the resizes, and ``strict`` refuses what is not exact for every shape. ``fp16`` stores the weights of an
    .xml in half precision, but never those of a resize.

    ``verify`` runs source and result in their own runtimes before anything is written (onnxruntime, OpenVINO on CPU
    in float32; for the target "openvino" its own ONNX frontend), on ``inputs`` (.npy files by input name) or seeded
    random arrays, of ``shapes`` (by input name) where the model leaves lengths open. ``progress`` is told what is
    being done. ``reports`` are further files to be written, each by a function of the report and a path to write to.

    Raises ReadError for a source that cannot be read, InexactError (or an ExceptionGroup of several) where the
    target has no exact form, VerificationError where the result does not reproduce the source, OutputError where a
    file to be written is one that is read. Nothing is written then.
    """
    source, destination = Path(source), Path(destination)
    ends = (source.suffix.lower(), destination.suffix.lower())
    if ends not in PATHS:
        problem = f"no conversion from {ends[0] or 'no extension'} to {ends[1] or 'no extension'}"
        known = ", ".join(f"{start} to {end}" for start, end in PATHS)
        raise ReadError(f"{problem}; expected one of {known}", source.name)
    chosen = Options(**{**options, "semantics": Semantics(options.get("semantics", Semantics.RUNTIME))})
    if (ends == _PORTABLE) != (chosen.target is not None):
        raise ReadError(_TARGETS, source.name)
    files = (destination.with_suffix(".bin"), destination) if ends[1] == ".xml" else (destination,)
    given = Inputs(shapes=shapes or {}, files={name: Path(file) for name, file in (inputs or {}).items()})
    check_outputs([*files, *chosen.reports], [*_parts(source), *given.files.values()])
    _check_unnamed(destination)
    with ExitStack() as stack:
        pages = {path: stack.enter_context(replacing(path))[0] for path in chosen.reports}
        temporary = stack.enter_context(replacing(*files))
        stack.enter_context(_weights(source, destination, temporary[-1]))
        rows = PATHS[ends](source, temporary[-1], chosen)
        report = ConversionReport(
            source=source,
            destination=destination,
            rows=rows,
            verification=_verify(source, temporary[-1], rows, given, chosen) if verify else None,
            before=operations(source),
            after=operations(temporary[-1]),
        )
        for path, write_report in chosen.reports.items():
            write_report(report, pages[path])
    return report


def _verify(source: Path, result: Path, rows: tuple[Row, ...], inputs: Inputs, options: Options) -> Verification | None:
    from .verify import conversion as verify
    from .verify import differences

    return verify.verify(
        source,
        result,
        rows,
        inputs,
        tolerance=differences.HALF_TOLERANCE if options.fp16 else differences.TOLERANCE,
        through_openvino=options.target == "openvino",
        progress=options.progress,
    )


def _weights(source: Path, destination: Path, temporary: Path) -> AbstractContextManager[None]:
    """Show external data to a model that is to share them with its source."""
    if (source.suffix.lower(), destination.suffix.lower()) != _PORTABLE:
        return nullcontext()
    from .portable.model import weights_beside

    return weights_beside(source, destination, temporary)


def _parts(source: Path) -> list[Path]:
    """Return the files that a source is made of: an IR's .bin and a model's external data, too."""
    match source.suffix.lower():
        case ".onnx":
            from .onnx.files import external_files

            return [source, *external_files(source)]
        case ".xml":
            return [source, source.with_suffix(".bin")]
    return [source]


def _check_unnamed(destination: Path) -> None:
    """Refuse to replace a file that nobody named, and that is no part of what is to be replaced."""
    name = {".xml": f"{destination.stem}.bin", ".onnx": f"{destination.name}.data"}.get(destination.suffix.lower())
    if name and destination.with_name(name).exists() and not destination.exists():
        problem = f"{destination.with_name(name)} is there, without {destination.name}, and might be overwritten"
        raise OutputError(f"{problem}; choose another name, or move it away")


def _onnx_to_ir(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .openvino import from_onnx, save

    built = from_onnx.build(source, options.semantics, _wish(options))
    if options.fp16:
        save.save_half(built.model, output, built.constants)
    else:
        save.save(built.model, output)
    return built.rows


def _onnx_to_onnx(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .portable import model as portable

    return portable.write_model(source, output, options.target or "", _wish(options))


def _ir_to_onnx(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .ir_to_onnx import write

    return write.write_model(source, output, options.semantics, options.opset, options.progress)


def _layer_to_onnx(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .onnx.one_resize import write_resize

    return (write_resize(_single(source, options), output, options.opset),)


def _layer_to_ir(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .openvino.one_resize import write_resize

    return (write_resize(_single(source, options), output, _wish(options)),)


def _wish(options: Options) -> Wish:
    return Wish(form=Form(options.only or "any"), strict=options.strict)


def _to_json(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from . import layer_json

    said, rows = _translated(source, options)
    output.write_text(layer_json.dump(said), encoding="utf-8")
    return rows


def _to_python(source: Path, output: Path, options: Options) -> tuple[Row, ...]:
    from .tensorrt import layer

    if options.dialect != "tensorrt":
        raise ReadError(f"Python is written for tensorrt only, not for {options.dialect}")
    said, rows = _translated(source, options)
    output.write_text(layer.python_script(said), encoding="utf-8")
    return rows


def _single(source: Path, options: Options) -> ResizeOp:
    found = load(source, semantics=options.semantics)
    if len(found) != 1:
        raise UnsupportedLayerError(f"{len(found)} layers; expected a single one", source.name)
    return found[0]


def _translated(source: Path, options: Options) -> tuple[list[tuple[ResizeOp, Translation]], tuple[Row, ...]]:
    """Return every resize of a file with its translation; refusals are raised together."""
    from . import registry

    target: Dialect = registry.get(options.dialect)
    found = load(source, semantics=options.semantics)
    if not found:
        raise UnsupportedLayerError("no resize in it", source.name)
    said, refusals = [], []
    for op in found:
        try:
            said.append((op, write(op.spec, target, shape=op.shape, dtype=op.dtype, name=op.name or op.where)))
        except InexactError as error:
            refusals.append(error)
    if refusals:
        raise ExceptionGroup(f"{len(refusals)} of {len(found)} resizes have no exact form in {target.name}", refusals)
    return said, tuple(
        Row(
            name=op.name or op.where,
            source=op,
            form=form(translation),
            grade=translation.grade,
            note=", ".join(code for code, _ in translation.remarks),
        )
        for op, translation in said
    )


_PORTABLE = (".onnx", ".onnx")
_TARGETS = "a target (onnx:11 and the like, tensorrt, openvino) goes with .onnx to .onnx, and that with a target"

PATHS: dict[tuple[str, str], Callable[[Path, Path, Options], tuple[Row, ...]]] = {
    (".onnx", ".xml"): _onnx_to_ir,
    (".onnx", ".onnx"): _onnx_to_onnx,
    (".onnx", ".json"): _to_json,
    (".onnx", ".py"): _to_python,
    (".xml", ".onnx"): _ir_to_onnx,
    (".xml", ".json"): _to_json,
    (".xml", ".py"): _to_python,
    (".json", ".onnx"): _layer_to_onnx,
    (".json", ".xml"): _layer_to_ir,
    (".json", ".py"): _to_python,
}
