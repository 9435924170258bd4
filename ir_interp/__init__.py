"""Exact resizes: read one from an ONNX model, an OpenVINO IR or a TensorRT layer, run it, convert it to another format.

``load`` reads, ``resize`` runs, ``prepare`` plans a resize once for many runs, ``convert`` translates. ``audit``,
``compare``, ``explain`` and ``plot`` show how runtimes and files compute it. All of them share ``ResizeSpec``.

A path ends in .onnx (a model), .xml (an IR, with or without its .bin, or pasted layers), .json (layers,
docs/layer-json.md) or an extension of another framework's models, which ``convert`` lists, in upper or lower case; the
folder of a SavedModel stands for it. A ``source`` may also be a model in memory: an ``openvino.Model``, a
``torch.export.ExportedProgram``, a ``torch.nn.Module`` with its inputs, as in ``(module, torch.rand(1, 3, 64, 64))``,
or an ``onnx.ModelProto``, which must contain its weights if it is to be run; places in it start with its name. Every
mistake in a call of these functions is a SpecError or a ReadError that names the closest valid choice.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ir_interp.converters.sources.readers import Source
from ir_interp.diagnostic_codes import Rule, Severity
from ir_interp.errors import (
    Difference,
    InexactError,
    IrInterpError,
    ReadError,
    ShapeError,
    SpecError,
    UnsupportedLayerError,
    VerificationError,
)
from ir_interp.executor.resize import Prepared, prepare, region
from ir_interp.options.model_options import Form, StateForm
from ir_interp.options.shared_options import Images, Progress
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import Backend
from ir_interp.public.images import explain, identify, pipeline, plot, preprocess, resize, spec
from ir_interp.public.models import audit, compare, convert, fix, kit, load, reproduce
from ir_interp.resize_op import Diagnostic, ResizeOp
from ir_interp.spec import (
    Alpha,
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    AtRunTime,
    Between,
    Border,
    Box,
    Coordinates,
    Crop,
    Cubic,
    FixedPoint,
    FloatingPoint,
    Gaussian,
    Hamming,
    IntegerRounding,
    Integers,
    Lanczos,
    Length,
    Linear,
    Magic,
    Mean,
    Mitchell,
    Nearest,
    Pad,
    Passes,
    Reduce,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Smooth,
    Step,
)
from ir_interp.translation.dialect import Semantics
from ir_interp.version import VERSION, Configuration, show_config

if TYPE_CHECKING:
    from ir_interp.converters.audit.audit_report import Audit
    from ir_interp.converters.audit.audited_resizes import Audited, Finding, UnreadResize, Verdict
    from ir_interp.converters.fix import Fixed, Remedy, RepairedResize
    from ir_interp.converters.reports import Compared, ConversionReport, Levels, Row, State, Verification
    from ir_interp.converters.reproduce.conformance_kit import Kit
    from ir_interp.converters.reproduce.reproduction import Reproduced
    from ir_interp.converters.runtimes.outcome import Kind
    from ir_interp.converters.verify.model_pairs import ModelComparison
    from ir_interp.converters.verify.segments import FirstLayer, Located
    from ir_interp.converters.verify.tolerances import HistogramBin, OutputComparison, OutputValues
    from ir_interp.origins.candidates import Candidate, Identified
    from ir_interp.translation.translate import Grade
    from ir_interp.views.explanation import AxisTable, Cell, Column, Explanation
    from ir_interp.views.figures import Picture

__all__ = [
    "Alpha",
    "Antialias",
    "Area",
    "Arithmetic",
    "Aspect",
    "AtRunTime",
    "Audit",
    "Audited",
    "AxisTable",
    "Backend",
    "Between",
    "Border",
    "Box",
    "Candidate",
    "Cell",
    "Column",
    "Compared",
    "Configuration",
    "ConversionReport",
    "Coordinates",
    "Crop",
    "Cubic",
    "Diagnostic",
    "Difference",
    "Explanation",
    "Finding",
    "FirstLayer",
    "Fixed",
    "FixedPoint",
    "FloatingPoint",
    "Form",
    "Gaussian",
    "Grade",
    "Hamming",
    "HistogramBin",
    "Identified",
    "Images",
    "InexactError",
    "IntegerRounding",
    "Integers",
    "IrInterpError",
    "Kind",
    "Kit",
    "Lanczos",
    "Length",
    "Levels",
    "Linear",
    "Located",
    "Magic",
    "Mean",
    "Mitchell",
    "ModelComparison",
    "Nearest",
    "OutputComparison",
    "OutputValues",
    "Pad",
    "Passes",
    "Picture",
    "Pipeline",
    "Prepared",
    "Progress",
    "ReadError",
    "Reduce",
    "Remedy",
    "RepairedResize",
    "Reproduced",
    "ResizeOp",
    "ResizeSpec",
    "Rounding",
    "Row",
    "Rule",
    "Scales",
    "Semantics",
    "Severity",
    "ShapeError",
    "Sizes",
    "Smooth",
    "Source",
    "SpecError",
    "State",
    "StateForm",
    "Step",
    "UnreadResize",
    "UnsupportedLayerError",
    "Verdict",
    "Verification",
    "VerificationError",
    "audit",
    "compare",
    "convert",
    "explain",
    "fix",
    "identify",
    "kit",
    "load",
    "pipeline",
    "plot",
    "prepare",
    "preprocess",
    "region",
    "reproduce",
    "resize",
    "show_config",
    "spec",
]
__version__ = VERSION

_RESULTS = {
    "converters.audit.audited_resizes": ("Audited", "Finding", "UnreadResize", "Verdict"),
    "converters.audit.audit_report": ("Audit",),
    "converters.fix": ("Fixed", "Remedy", "RepairedResize"),
    "converters.reports": ("Compared", "ConversionReport", "Levels", "Row", "State", "Verification"),
    "converters.reproduce.reproduction": ("Reproduced",),
    "converters.reproduce.conformance_kit": ("Kit",),
    "converters.runtimes.outcome": ("Kind",),
    "converters.verify.segments": ("FirstLayer", "Located"),
    "converters.verify.model_pairs": ("ModelComparison",),
    "converters.verify.tolerances": ("HistogramBin", "OutputComparison", "OutputValues"),
    "translation.translate": ("Grade",),
    "views.explanation": ("AxisTable", "Cell", "Column", "Explanation"),
    "views.figures": ("Picture",),
    "origins.candidates": ("Candidate", "Identified"),
}
"""Types of results by module. A module is imported on first use, since some need ONNX and OpenVINO."""

_MODULES = {name: module for module, names in _RESULTS.items() for name in names}


if not TYPE_CHECKING:  # else type checkers would accept any name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__})
