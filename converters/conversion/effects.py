"""Which options apply to which files: an option without an effect is refused."""

from __future__ import annotations

from dataclasses import replace

from ir_interp.errors import ReadError, SpecError
from ir_interp.files.kinds import FileKind
from ir_interp.options.convert_options import ConvertOptions, Exporter, moves_channels
from ir_interp.options.declaration import options_set
from ir_interp.options.shared_options import check_needs

from ..sources import registry
from .routes import DIALECT, INTERPOLATE, IR, OLD_IR, PATHS, PORTABLE

_NO_TARGET = (
    "--target NAME is missing: from .onnx to .onnx it names a runtime or operator set, such as tensorrt or onnx:11"
)
_OPERATOR_SET = "onnx:"  # the beginning of a target that is an operator set


def check_options(kinds: tuple[FileKind, FileKind], options: ConvertOptions, name: str) -> None:
    """Raise SpecError for an option without an effect, ReadError for a missing or unknown one.

    ``name`` is that of the source. Turning off a verification that would not run has no effect either, but is allowed.
    """
    registry.get(options.dialect or DIALECT)
    for option in options_set(options):
        if option.routes and not option.routes(*kinds):
            goes_with = ", ".join(f"{start.value} to {end.value}" for start, end in PATHS if option.routes(start, end))
            problem = f"{option.flag} has no effect on {kinds[0].value} to {kinds[1].value}"
            remedy = f"; use --target onnx:{options.opset}" if kinds == PORTABLE and option.name == "opset" else ""
            raise SpecError(f"{problem}; it goes with {goes_with}{remedy}")
    if kinds[1] is FileKind.IR and options.exporter is Exporter.OPENVINO and options.fp16:
        raise SpecError("--fp16 has no effect on the IR of --exporter openvino; leave out one of them")
    _check_versions(options)
    # channels move without an image, too
    check_needs(replace(options, layout=None) if moves_channels(*kinds) else options)
    if (kinds == PORTABLE) != (options.target is not None):
        raise ReadError(_NO_TARGET if options.target is None else _target_elsewhere(kinds, options.target), name)


def _target_elsewhere(kinds: tuple[FileKind, FileKind], target: str) -> str:
    """Return why a target has no effect on other files than ONNX models, and what to do."""
    start, end = kinds
    if end is not FileKind.ONNX:
        remedy = "leave it out, or name the result .onnx" if start is FileKind.ONNX else "leave it out"
    elif target.startswith(_OPERATOR_SET) and start.stand_in is not FileKind.ONNX:
        remedy = f"use --opset {target.removeprefix(_OPERATOR_SET)}"
    else:
        remedy = f"convert to .onnx without it, then that .onnx with --target {target}"
    return f"--target is for .onnx to .onnx only; {remedy}"


def _check_versions(options: ConvertOptions) -> None:
    for name, value, known in (("--ir", options.ir, IR), ("--interpolate", options.interpolate, INTERPOLATE)):
        if value is not None and value not in known:
            raise SpecError(f"{name} {value} is not supported; expected one of {', '.join(map(str, known))}")
    if options.ir == OLD_IR and options.interpolate == INTERPOLATE[-1]:
        raise SpecError(f"an IR of version {OLD_IR} has Interpolate-{INTERPOLATE[-2]} at most")
