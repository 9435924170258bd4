"""Options of commands on one resize: to show, run or explain it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import MEMORY, NAMES, NUMBER, PATH, POSITIVE, SWITCH, WORD, member
from ir_interp.options.value_texts import LayerShape
from ir_interp.pipelines.backends import Backend, CodeLanguage
from ir_interp.spec import Arithmetic
from ir_interp.translation.dialect import Semantics

CALL, CALL_ON_STORE, ARRAY, STORE = "call", "call on a store", "array", "store"
"""The places where an option of ``run`` has an effect: a call of an image library, of an image or a store, a resize of
an array, of a store."""
_STORES = (STORE, CALL_ON_STORE)
_ARRAYS = (ARRAY, *_STORES)
RESIZE, RULE, PIPELINE, SCHEMA = "resize", "rule", "pipeline", "schema"
"""The places where an option of ``explain`` has an effect: a resize of a file, a rule, a configuration, a command."""
_ZARR, _MISSING, _DEFINITION, _PIPELINES = "Zarr stores", "Missing pixels", "Definition", "Pipelines"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions:
    """How to show the resizes of a file."""

    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    semantics: Semantics = shared.semantics()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifyOptions:
    """How to show which image library resized an image."""

    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run a resize, and on what."""

    source: Path | None = option(PATH, "Array (.npy), image or .zarr to resize.", "--input", places=(ARRAY, STORE))
    like: str | None = option(
        WORD,
        "Resize FILE as a library call: pillow:bicubic, opencv@4:area, torch:bilinear.",
        "--like",
        metavar="CALL",
        complete="likes",
        places=(CALL, CALL_ON_STORE),
    )
    dims: tuple[int | str, ...] | None = option(
        NAMES, "Axes that --like resizes, by name or number: y,x.", "--dims", places=(CALL_ON_STORE,), panel=_ZARR
    )
    layer: str | None = shared.layer(shared.LAYER, "--layer", places=(ARRAY, STORE))
    sizes: tuple[int, ...] | None = shared.sizes()
    scales: tuple[float, ...] | None = shared.scales()
    arithmetic: Arithmetic | None = option(
        member(Arithmetic, "Arithmetic | str", "NAME"),
        "Arithmetic to compute in: exact, onnxruntime, openvino, ... Default: that of the file's runtime.",
        "--arithmetic",
        default=None,
        panel=_DEFINITION,
        places=(ARRAY, STORE),
    )
    semantics: Semantics = shared.semantics(places=(ARRAY, STORE), panel=_DEFINITION)
    nodata: float | None = option(
        NUMBER, "Value of missing pixels, which get no weight: -9999, nan.", "--nodata", places=_ARRAYS, panel=_MISSING
    )
    valid: float = option(
        NUMBER,
        "Least share of the weights on valid pixels, 0 to 1; below it, the output is missing.",
        "--valid",
        default=0.0,
        places=_ARRAYS,
        panel=_MISSING,
    )
    memory: int | None = option(
        MEMORY, "Memory to use: 512MiB, 2GB. Default: 1GiB.", "--memory", metavar="BYTES", places=_STORES, panel=_ZARR
    )
    levels: int | None = option(
        POSITIVE,
        "Write a pyramid of this many levels, each computed from the previous one.",
        "--levels",
        places=_STORES,
        panel=_ZARR,
    )
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """Which resize to explain, and of which lengths; ``ir_interp.explain`` documents the options."""

    layer: str | None = shared.layer(shared.LAYER, "--layer", places=(RESIZE,))
    shape: LayerShape | None = shared.layer_shape(places=(RESIZE,))
    sizes: tuple[int, ...] | None = shared.sizes(places=(RESIZE,))
    scales: tuple[float, ...] | None = shared.scales(places=(RESIZE,))
    every: bool = shared.of_command_line(SWITCH, "Show every output pixel.", "--all", places=(RESIZE,))
    backend: Backend | None = shared.backend(is_keyword=False, places=(PIPELINE,), panel=_PIPELINES)
    code: CodeLanguage | None = shared.of_command_line(
        member(CodeLanguage, "CodeLanguage | str", "LANGUAGE"),
        "Print the pipeline as source code: numpy, opencv, cpp (OpenCV in C++) or torch.",
        "--code",
        default=None,
        panel=_PIPELINES,
        places=(PIPELINE,),
    )
    schema: bool = shared.of_command_line(
        SWITCH,
        "Print the JSON Schema of a command's --json output.",
        "--schema",
        places=(SCHEMA,),
        panel=shared.REPORTS,
    )
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
