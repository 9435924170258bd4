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
from typing import TYPE_CHECKING

from ir_interp.version import VERSION

if TYPE_CHECKING:
    from ir_interp.converters.audit.audit_report import Audit as Audit
    from ir_interp.converters.audit.audited_resizes import (
        Audited as Audited,
        Finding as Finding,
        UnreadResize as UnreadResize,
    )
    from ir_interp.converters.audit.verdicts import Verdict as Verdict
    from ir_interp.converters.fix import Fixed as Fixed, Remedy as Remedy, RepairedResize as RepairedResize
    from ir_interp.converters.reports import (
        Compared as Compared,
        ConversionReport as ConversionReport,
        Levels as Levels,
        Row as Row,
        State as State,
        Verification as Verification,
    )
    from ir_interp.converters.reproduce.conformance_kit import Kit as Kit
    from ir_interp.converters.reproduce.reproduction import Reproduced as Reproduced
    from ir_interp.converters.runtimes.outcome import Kind as Kind
    from ir_interp.converters.sources.readers import Source as Source
    from ir_interp.converters.verify.model_pairs import ModelComparison as ModelComparison
    from ir_interp.converters.verify.segments import FirstLayer as FirstLayer, Located as Located
    from ir_interp.converters.verify.tolerances import (
        HistogramBin as HistogramBin,
        OutputComparison as OutputComparison,
        OutputValues as OutputValues,
    )
    from ir_interp.diagnostic_codes import Rule as Rule, Severity as Severity
    from ir_interp.errors import (
        Difference as Difference,
        InexactError as InexactError,
        IrInterpError as IrInterpError,
        ReadError as ReadError,
        ShapeError as ShapeError,
        SpecError as SpecError,
        UnsupportedLayerError as UnsupportedLayerError,
        VerificationError as VerificationError,
    )
    from ir_interp.executor.resize import Prepared as Prepared, prepare as prepare, region as region
    from ir_interp.options.model_options import Form as Form, StateForm as StateForm
    from ir_interp.options.shared_options import Images as Images, Progress as Progress
    from ir_interp.origins.candidates import Candidate as Candidate, Identified as Identified
    from ir_interp.pipelines.pipeline import Pipeline as Pipeline
    from ir_interp.pipelines.rules import Backend as Backend
    from ir_interp.public.images import (
        explain as explain,
        identify as identify,
        pipeline as pipeline,
        plot as plot,
        preprocess as preprocess,
        resize as resize,
        spec as spec,
    )
    from ir_interp.public.models import (
        audit as audit,
        compare as compare,
        convert as convert,
        fix as fix,
        kit as kit,
        load as load,
        reproduce as reproduce,
    )
    from ir_interp.resize_op import Diagnostic as Diagnostic, ResizeOp as ResizeOp
    from ir_interp.specs import (
        Alpha as Alpha,
        Antialias as Antialias,
        Area as Area,
        Arithmetic as Arithmetic,
        Aspect as Aspect,
        AtRunTime as AtRunTime,
        Between as Between,
        Border as Border,
        Box as Box,
        Coordinates as Coordinates,
        Crop as Crop,
        Cubic as Cubic,
        FixedPoint as FixedPoint,
        FloatingPoint as FloatingPoint,
        Gaussian as Gaussian,
        Hamming as Hamming,
        IntegerRounding as IntegerRounding,
        Integers as Integers,
        Lanczos as Lanczos,
        Length as Length,
        Linear as Linear,
        Magic as Magic,
        Mean as Mean,
        Mitchell as Mitchell,
        Mode as Mode,
        Nearest as Nearest,
        Pad as Pad,
        Passes as Passes,
        Reduce as Reduce,
        ResizeSpec as ResizeSpec,
        Rounding as Rounding,
        Scales as Scales,
        Sizes as Sizes,
        Smooth as Smooth,
        Step as Step,
    )
    from ir_interp.translation.dialect import Semantics as Semantics
    from ir_interp.translation.translate import Grade as Grade
    from ir_interp.version import Configuration as Configuration, show_config as show_config
    from ir_interp.views.explanation import (
        AxisTable as AxisTable,
        Cell as Cell,
        Column as Column,
        Explanation as Explanation,
    )
    from ir_interp.views.figures import Picture as Picture

_PUBLIC = {
    "converters.audit.audit_report": ("Audit",),
    "converters.audit.audited_resizes": ("Audited", "Finding", "UnreadResize"),
    "converters.audit.verdicts": ("Verdict",),
    "converters.fix": ("Fixed", "Remedy", "RepairedResize"),
    "converters.reports": ("Compared", "ConversionReport", "Levels", "Row", "State", "Verification"),
    "converters.reproduce.conformance_kit": ("Kit",),
    "converters.reproduce.reproduction": ("Reproduced",),
    "converters.runtimes.outcome": ("Kind",),
    "converters.sources.readers": ("Source",),
    "converters.verify.model_pairs": ("ModelComparison",),
    "converters.verify.segments": ("FirstLayer", "Located"),
    "converters.verify.tolerances": ("HistogramBin", "OutputComparison", "OutputValues"),
    "diagnostic_codes": ("Rule", "Severity"),
    "errors": (
        "Difference",
        "InexactError",
        "IrInterpError",
        "ReadError",
        "ShapeError",
        "SpecError",
        "UnsupportedLayerError",
        "VerificationError",
    ),
    "executor.resize": ("Prepared", "prepare", "region"),
    "options.model_options": ("Form", "StateForm"),
    "options.shared_options": ("Images", "Progress"),
    "origins.candidates": ("Candidate", "Identified"),
    "pipelines.pipeline": ("Pipeline",),
    "pipelines.rules": ("Backend",),
    "public.images": ("explain", "identify", "pipeline", "plot", "preprocess", "resize", "spec"),
    "public.models": ("audit", "compare", "convert", "fix", "kit", "load", "reproduce"),
    "resize_op": ("Diagnostic", "ResizeOp"),
    "specs": (
        "Alpha",
        "Antialias",
        "Area",
        "Arithmetic",
        "Aspect",
        "AtRunTime",
        "Between",
        "Border",
        "Box",
        "Coordinates",
        "Crop",
        "Cubic",
        "FixedPoint",
        "FloatingPoint",
        "Gaussian",
        "Hamming",
        "IntegerRounding",
        "Integers",
        "Lanczos",
        "Length",
        "Linear",
        "Magic",
        "Mean",
        "Mitchell",
        "Mode",
        "Nearest",
        "Pad",
        "Passes",
        "Reduce",
        "ResizeSpec",
        "Rounding",
        "Scales",
        "Sizes",
        "Smooth",
        "Step",
    ),
    "translation.dialect": ("Semantics",),
    "translation.translate": ("Grade",),
    "version": ("Configuration", "show_config"),
    "views.explanation": ("AxisTable", "Cell", "Column", "Explanation"),
    "views.figures": ("Picture",),
}
"""The public names by module, which is imported on first use of one: a call loads only what it needs."""

_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}
__all__ = sorted(_MODULES)
__version__ = VERSION


if not TYPE_CHECKING:  # else type checkers would accept any name

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return ["__version__", *__all__]
