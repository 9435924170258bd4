"""Which options go with which files: one that would do nothing is refused."""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.files.kinds import FileKind
from ir_interp.translation.dialect import Semantics

from ..report import Form, StateForm
from .options import INTERPOLATE, IR, OLD_IR, Options
from .routes import PATHS, PORTABLE

_TO_MODELS = tuple(kinds for kinds in PATHS if kinds[1] in (FileKind.ONNX, FileKind.IR))
_WITH_FORMS = (
    (FileKind.ONNX, FileKind.IR),
    PORTABLE,
    (FileKind.JSON, FileKind.IR),
    (FileKind.TFLITE, FileKind.IR),
)
_TO_IR = ((FileKind.ONNX, FileKind.IR), (FileKind.JSON, FileKind.IR), (FileKind.TFLITE, FileKind.IR))
_GOES_WITH: dict[str, tuple[tuple[FileKind, FileKind], ...]] = {
    "opset": tuple((kind, FileKind.ONNX) for kind in (FileKind.IR, FileKind.JSON, FileKind.TFLITE)),
    "ir": _TO_IR,
    "interpolate": _TO_IR,
    "dialect": tuple(kinds for kinds in PATHS if kinds[1] in (FileKind.JSON, FileKind.PYTHON)),
    "into": ((FileKind.JSON, FileKind.TFLITE),),
    "semantics": tuple(kinds for kinds in PATHS if kinds != PORTABLE),
    "only": _WITH_FORMS,
    "strict": _WITH_FORMS,
    "state": ((FileKind.IR, FileKind.ONNX),),
    "fp16": ((FileKind.ONNX, FileKind.IR), PORTABLE, (FileKind.IR, FileKind.ONNX)),
    "shapes": _TO_MODELS,
    "inputs": _TO_MODELS,
}
"""Options that do not go with everything, and what each goes with."""


def check_effects(kinds: tuple[FileKind, FileKind], options: Options) -> None:
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
    for name, paths in _GOES_WITH.items():
        if given[name] and kinds not in paths:
            goes_with = ", ".join(f"{start.value} to {end.value}" for start, end in paths)
            raise SpecError(f"{name} has no effect on {kinds[0].value} to {kinds[1].value}; it goes with {goes_with}")
    for name, value, known in (("ir", options.ir, IR), ("interpolate", options.interpolate, INTERPOLATE)):
        if value is not None and value not in known:
            raise SpecError(f"{name} {value} is not written; expected one of {', '.join(map(str, known))}")
    if options.ir == OLD_IR and options.interpolate == INTERPOLATE[-1]:
        raise SpecError(f"an IR of version {OLD_IR} has Interpolate-{INTERPOLATE[-2]} at most")
    for name in ("shapes", "inputs"):
        if given[name] and not options.verify:
            raise SpecError(f"{name} has no effect without verification")
