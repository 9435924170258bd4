"""Options of commands on models: conversion, comparison, audit, fix, and the reproduction of a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ir_interp import arguments
from ir_interp.diagnostic_codes import Severity
from ir_interp.files.kinds import CHANNELS_LAST, FOREIGN, FileKind, listed
from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import (
    CALLS as LIBRARY_CALLS,
    CODES,
    CODES_BY_FILE,
    NOT_NEGATIVE,
    PATH,
    REFERENCE,
    SCALES,
    SEVERITIES,
    SIZES,
    SWITCH,
    WHOLE,
    WORD,
    WORDS,
    Kind,
    file,
    member,
    option,
)
from ir_interp.options.shared_options import Images
from ir_interp.translation.dialect import Semantics


class StateForm(Enum):
    """The treatment of a state that an IR keeps between inferences."""

    INPUTS = "inputs"
    REFUSE = "refuse"


class Exporter(Enum):
    """The program that turns an exported program of PyTorch into a model, in the order in which they are tried."""

    DYNAMO = "dynamo"
    TORCHSCRIPT = "torchscript"
    OPENVINO = "openvino"


class Form(Enum):
    """Which nodes a resize may become."""

    ANY = "any"  # native where that is exact, else decomposed
    NATIVE = "native"
    DECOMPOSED = "decomposed"


FILE, FOLDER = "file", "folder"
"""The places where an option has an effect: the conversion of one file, of all files in a folder."""
_RESULT = "Form of the result"
_ONNX, _IR, _JSON, _TFLITE = FileKind.ONNX, FileKind.IR, FileKind.JSON, FileKind.TFLITE
_MODELS = (_ONNX, _IR)


def _writes_ir(start: FileKind, end: FileKind) -> bool:
    return end is _IR


def _chooses_forms(start: FileKind, end: FileKind) -> bool:
    return end is _IR or (start, end) == (_ONNX, _ONNX)


def _is_verified(start: FileKind, end: FileKind) -> bool:
    return end in _MODELS


def _takes_images(start: FileKind, end: FileKind) -> bool:
    return start in (*_MODELS, *FOREIGN) and end in _MODELS and (start, end) != (_ONNX, _ONNX)


def _between_models(start: FileKind, end: FileKind) -> bool:
    return (start in _MODELS or start.stand_in is not None) and end in _MODELS


def _is_copied(start: FileKind, end: FileKind) -> bool:
    """Return whether the result is what another program writes, in full precision."""
    return start.stand_in is end


def moves_channels(start: FileKind, end: FileKind) -> bool:
    """Return whether a conversion can move the channels of images: the source has them last by convention."""
    return start in CHANNELS_LAST and end in _MODELS


def _reports(value: object, name: str) -> dict[Path, Callable[[Any, Path], None]]:
    if not isinstance(value, Mapping):
        raise arguments.misfit(value, name, "a mapping from paths to functions")
    return {
        arguments.path(path, f"a path in {name}"): arguments.function(save, "a report") for path, save in value.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """How to translate a file, or all files in a folder; ``ir_interp.convert`` documents the options."""

    opset: int | None = option(
        WHOLE,
        "ONNX operator set to write: 11 to 24; for a single layer from 7.",
        "--opset",
        routes=lambda start, end: end is _ONNX and _ONNX not in (start, start.stand_in),
    )
    ir: int | None = option(
        WHOLE, "IR version to write: 11, or 10 for OpenVINO up to 2021.4.", "--ir", routes=_writes_ir, panel=_RESULT
    )
    interpolate: int | None = option(
        WHOLE,
        "Interpolate version to write: 11, 4 (in IR v10) or 1.",
        "--interpolate",
        routes=_writes_ir,
        panel=_RESULT,
    )
    dialect: str | None = option(
        WORD,
        "Dialect of a .json result. Default: tensorrt.",
        "--dialect",
        complete="dialects",
        panel=_RESULT,
        routes=lambda start, end: end in (_JSON, FileKind.PYTHON),
    )
    into: Path | None = option(
        PATH,
        "For .json to .tflite: the .tflite model whose resizes get the layers' attributes, by name.",
        "--into",
        metavar="MODEL",
        panel=_RESULT,
        routes=lambda start, end: (start, end) == (_JSON, _TFLITE),
        places=(FILE,),
    )
    semantics: Semantics = shared.semantics(panel=_RESULT)
    target: str | None = option(
        WORD,
        "Write .onnx for a runtime or operator set: tensorrt, openvino, opencv-dnn, onnx:11, ..., any.",
        "--target",
        complete="targets",
    )
    only: Form = option(
        member(Form, "Form | str", "FORM"),
        "Write every resize in one form: native or decomposed.",
        "--only",
        panel=_RESULT,
        default=Form.ANY,
        takes_none=True,
        choices=(Form.NATIVE.value, Form.DECOMPOSED.value),
        routes=_chooses_forms,
    )
    strict: bool = option(
        SWITCH, "Refuse any resize that is not exact for every shape.", "--strict", routes=_chooses_forms
    )
    fp16: bool = option(
        SWITCH,
        "Store weights in half precision.",
        "--fp16",
        panel=_RESULT,
        routes=lambda start, end: _between_models(start, end) and not _is_copied(start, end),
    )
    state: StateForm = option(
        member(StateForm, "StateForm | str", "FORM"),
        "Convert the state of an IR to inputs and outputs (inputs), or refuse it (refuse).",
        "--state",
        panel=_RESULT,
        default=StateForm.INPUTS,
        routes=lambda start, end: (start, end) == (_IR, _ONNX),
    )
    exporter: Exporter | None = option(
        member(Exporter, "Exporter | str", "EXPORTER"),
        "Exporter of a .pt2: torch.onnx (dynamo or torchscript), or OpenVINO's frontend (openvino). By default, each "
        "in turn until the proof passes.",
        "--exporter",
        default=None,
        routes=lambda start, end: start.framework is not None and start.framework.has_exporters,
        places=(FILE,),
    )
    layout: str | None = option(
        WORD,
        f"Layout of image inputs: nchw or nhwc. From {listed(CHANNELS_LAST)}, inputs and outputs of rank 4 get it.",
        "--layout",
        routes=_is_verified,
        needs=shared.IMAGES,
        panel=_RESULT,
    )
    preprocess: str | None = option(
        WORD,
        "Put this pipeline in front of an input, so that the result takes images: preprocessor_config.json:pil.",
        "--preprocess",
        metavar="[NAME=]PIPELINE",
        panel=_RESULT,
        routes=_takes_images,
        places=(FILE,),
    )
    image_size: tuple[int, int] | None = shared.image_size(
        routes=_takes_images, needs=shared.PREPROCESS, places=(FILE,), panel=_RESULT
    )
    verify: bool = option(
        SWITCH, "Run source and result, and write only if they agree.", "--verify", "--no-verify", default=True
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(routes=_is_verified, needs=shared.VERIFICATION_OR_FREEZE)
    freeze: bool = option(
        SWITCH,
        "Make the sizes of --shape static in the result.",
        "--freeze",
        routes=_between_models,
        needs=shared.SHAPE,
        panel=_RESULT,
    )
    inputs: Mapping[str, tuple[Path, ...]] = shared.inputs(
        routes=_is_verified, needs=shared.VERIFICATION, places=(FILE,)
    )
    reference: Any = option(
        REFERENCE,
        f"Another program's outputs for the inputs (.npz, .npy), or its model ({listed(FOREIGN)}); "
        "the source must match.",
        "--reference",
        routes=_is_verified,
        needs=shared.VERIFICATION,
        places=(FILE,),
    )
    seed: int = shared.seed(routes=_is_verified, needs=shared.VERIFICATION)
    images: Images = shared.images(routes=_is_verified, needs=shared.IMAGES, places=(FILE,), leaves_out=("--layout",))
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    report: Path | None = shared.report(places=(FILE,))
    html: Path | None = shared.html(places=(FILE,))
    image: Path | None = shared.image(places=(FILE,))
    to: str | None = shared.of_command_line(
        WORD,
        "Convert a folder or @list.txt into the folder DESTINATION, each file to this format: .xml.",
        "--to",
        metavar="SUFFIX",
        places=(FOLDER,),
        panel=shared.MANY_FILES,
    )
    jobs: int = shared.jobs(is_keyword=False, places=(FOLDER,))
    results: Path | None = shared.results(places=(FOLDER,))
    scheduler: str | None = shared.scheduler(places=(FOLDER,))
    time_limit: int | None = shared.time_limit(places=(FOLDER,))
    reports: Mapping[Path, Callable[[Any, Path], None]] = shared.of_python(
        Kind(
            takes="Mapping[str | os.PathLike[str], Callable[[ConversionReport, Path], None]]",
            check=_reports,
            empty=dict,
        )
    )
    progress: shared.Progress = shared.progress()


MODELS, CALLS, IMAGES = "models", "calls", "images"
"""The places where an option has an effect: a comparison of two models, of two calls of image libraries, of images."""
_CALLS = "Two library calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How to compare; ``ir_interp.compare`` documents the options of models."""

    like: tuple[str, ...] = shared.of_command_line(
        LIBRARY_CALLS,
        "Resize an image as two library calls: pillow:bicubic,opencv:cubic.",
        "--like",
        complete="likes",
        panel=_CALLS,
        places=(CALLS,),
    )
    sizes: tuple[int, ...] | None = shared.of_command_line(
        SIZES, "With --like: output height and width, 224,224.", "--sizes", places=(CALLS,), panel=_CALLS
    )
    scales: tuple[float, ...] | None = shared.of_command_line(
        SCALES, "With --like: output / input, 0.5,0.5.", "--scales", places=(CALLS,), panel=_CALLS
    )
    picture: Path | None = shared.of_command_line(
        PATH,
        "Write a .png or .svg of the differences of two calls or images.",
        "--picture",
        places=(CALLS, IMAGES),
        panel=_CALLS,
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(places=(MODELS,))
    inputs: Mapping[str, tuple[Path, ...]] = shared.inputs(places=(MODELS,), panel="")
    reference: Any = shared.of_python(REFERENCE, decides=True)
    seed: int = shared.seed(places=(MODELS,))
    images: Images = shared.images(
        places=(MODELS,), leaves_out=("--scale",)
    )  # of random pixels too: one model may have preprocessing inside
    tolerance: float | None = option(
        NOT_NEGATIVE,
        "Allowed difference, relative to each output's largest value. Default: 1e-4, or FIRST's float32 noise.",
        "--tolerance",
        places=(MODELS,),
    )
    metric: tuple[str, ...] = option(
        WORDS,
        "What changes for the task: argmax (classes of pixels), top-k (classes of images), boxes. Default: what the "
        "outputs look like.",
        "--metric",
        complete="metrics",
        places=(MODELS,),
    )
    per_resize: bool = option(
        SWITCH,
        "Compare resize by resize; name the first that differs, with exit code 1.",
        "--per-resize",
        places=(MODELS,),
    )
    per_layer: bool = option(SWITCH, "Name the first layer that differs.", "--per-layer", places=(MODELS,))
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    html: Path | None = shared.html(places=(MODELS,))
    image: Path | None = shared.image(places=(MODELS,))
    progress: shared.Progress = shared.progress()


REPORT, RESULTS = "report", "results"
"""The places where an option has an effect: a report on all models, a file with one result for each."""
_FINDINGS, _PREPROCESSING = "Findings", "Preprocessing"


class AuditFormat(Enum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The settings of an audit; ``ir_interp.audit`` documents the options."""

    run: bool = option(SWITCH, "Also run the installed runtimes and compare their outputs.", "--run")
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes()
    runtimes: tuple[str, ...] | None = option(
        WORDS,
        "Runtimes to predict: openvino,tensorrt; installed for those on this machine.",
        "--runtime",
        default=None,
        complete="runtimes",
    )
    deploy: tuple[str, ...] = option(
        WORDS,
        "Runtimes that you deploy to: onnxruntime,openvino-converted (the IR that `convert` writes). Findings about "
        "others become notes.",
        "--deploy",
        complete="runtimes",
    )
    select: tuple[str, ...] = option(
        CODES,
        "Report only these codes or prefixes: IRI011,IRI02.",
        "--select",
        complete="codes",
        panel=_FINDINGS,
    )
    ignore: tuple[str, ...] = option(CODES, "Codes or prefixes to ignore: IRI022,IRI023.", "--ignore", complete="codes")
    fail_on: tuple[str, ...] = shared.of_command_line(
        CODES,
        "Findings that set exit code 1: differs, refused, unknown, mistake or codes. Default: all except notes.",
        "--fail-on",
        complete="failures",
    )
    severities: Mapping[str, Severity] = shared.of_command_line(
        SEVERITIES,
        "Severity of findings about a runtime or release: tensorrt=note,tensorrt:8.6=warning (or error).",
        "--severity",
        decides=True,
        panel=_FINDINGS,
    )
    baseline: Path | None = shared.of_command_line(
        PATH,
        "Accept the findings in this file; only new ones set exit code 1.",
        "--baseline",
        places=(REPORT,),
        panel=_FINDINGS,
    )
    write_baseline: Path | None = shared.of_command_line(
        file("baseline", FileKind.JSON),
        "Write the findings that set exit code 1 to this file, and accept them.",
        "--write-baseline",
        places=(REPORT,),
        panel=_FINDINGS,
    )
    isolated: bool = shared.of_command_line(
        SWITCH, "Ignore the table tool.ir-interp of pyproject.toml.", "--isolated", panel=_FINDINGS
    )
    per_file_ignores: Mapping[str, tuple[str, ...]] = shared.of_command_line(  # of a project file alone
        CODES_BY_FILE, decides=True
    )
    style: AuditFormat | None = shared.of_command_line(
        member(AuditFormat, "AuditFormat | str", "FORMAT"),
        "text (the default), json, github or sarif.",
        "--format",
        default=None,
        panel=shared.REPORTS,
    )
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    jobs: int = shared.jobs()
    results: Path | None = shared.results(places=(RESULTS,))
    table: Path | None = shared.of_command_line(
        file("table", FileKind.CSV, FileKind.PARQUET),
        "With --results: write a table, .csv or .parquet, with one row per resize and runtime.",
        "--table",
        places=(RESULTS,),
        panel=shared.MANY_FILES,
    )
    scheduler: str | None = shared.scheduler(places=(RESULTS,))
    time_limit: int | None = shared.time_limit(places=(RESULTS,))
    html: Path | None = shared.html(places=(REPORT,))
    image: Path | None = option(
        PATH, "Image for the HTML page, or for --preprocess to resize.", "--image", panel=shared.REPORTS
    )
    preprocess: str | None = option(
        WORD,
        "Preprocessing in deployment: opencv:linear, or a pipeline as preprocessor_config.json:pil.",
        "--preprocess",
        metavar="CALL",
        complete="likes",
        panel=_PREPROCESSING,
    )
    trained: str | None = option(
        WORD,
        "Preprocessing in training: pillow:bilinear, or a pipeline. The audit measures the difference per pixel.",
        "--trained",
        metavar="CALL",
        complete="likes",
        panel=_PREPROCESSING,
    )
    progress: shared.Progress = shared.progress()


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions:
    """The mistakes to fix, and the verification; ``ir_interp.fix`` documents the options."""

    select: tuple[str, ...] = option(
        CODES,
        "Codes or prefixes to fix: IRI012. Default: IRI01, all mistakes. IRI026 makes the weights of 8-bit products "
        "unsigned, so that no sum saturates on any processor.",
        "--select",
        complete="mistakes",
    )
    ignore: tuple[str, ...] = option(CODES, "Codes or prefixes to leave alone.", "--ignore", complete="mistakes")
    layers: tuple[str, ...] = option(WORDS, "Fix only these resizes.", "--layer", complete="layers")
    verify: bool = option(
        SWITCH, "Run the model before and after, and report the changes.", "--verify", "--no-verify", default=True
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(needs=shared.VERIFICATION)
    inputs: Mapping[str, tuple[Path, ...]] = shared.inputs(needs=shared.VERIFICATION)
    seed: int = shared.seed(needs=shared.VERIFICATION)
    images: Images = shared.images(needs=shared.IMAGES)
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    progress: shared.Progress = shared.progress()


FAULT, KIT = "fault", "kit"
"""The places where an option has an effect: a fault of a runtime, the conformance kit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceOptions:
    """The fault to show; ``ir_interp.reproduce`` documents the options."""

    kit: Path | None = shared.of_command_line(
        PATH, "Write a conformance kit for any runtime into this folder.", "--kit", metavar="FOLDER", places=(KIT,)
    )
    runtime: str | None = option(
        WORD,
        "Runtime to test: onnxruntime, openvino, reference, opencv-dnn, ...",
        "--runtime",
        complete="runners",
        places=(FAULT,),
    )
    layer: str | None = shared.layer(
        "Name of the resize. Default: the first that the runtime gets wrong.", "--layer", places=(FAULT,)
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(places=(FAULT,))
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    progress: shared.Progress = shared.progress()
