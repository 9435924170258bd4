"""What one resize can be asked for: to be shown, run, or explained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import MEMORY, NAMES, NUMBER, PATH, POSITIVE, SWITCH, WORD, LayerShape, member
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.code_language import CodeLanguage
from ir_interp.spec import Arithmetic
from ir_interp.translation.dialect import Semantics

CALL, CALL_ON_STORE, ARRAY, STORE = "call", "call on a store", "array", "store"
"""The places where an option of ``run`` has an effect: a call of an image library, of an image or a store, a resize of
an array, of a store."""
_STORES = (STORE, CALL_ON_STORE)
_ARRAYS = (ARRAY, *_STORES)
RESIZE, RULE, PIPELINE = "resize", "rule", "pipeline"
"""The places where an option of ``explain`` has an effect: a resize of a file, a rule, a configuration."""
_READING = (
    "Which to take where several exist: runtime, document, reference, a release of OpenVINO, or observed: what "
    "onnxruntime was seen to make of an .onnx, faults included."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions:
    """How to show the resizes of a file."""

    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    semantics: Semantics = shared.semantics(_READING)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifyOptions:
    """How to show which image library resized an image."""

    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class KitOptions:
    """How to write a conformance kit."""

    quiet: bool = shared.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run a resize, and on what."""

    source: Path | None = option(PATH, "An array (.npy), an image, or .zarr.", "--input", places=(ARRAY, STORE))
    like: str | None = option(
        WORD,
        "Resize FILE as a call of an image library: pillow:bicubic, opencv@4:area, torch:bilinear.",
        "--like",
        places=(CALL, CALL_ON_STORE),
    )
    dims: tuple[int | str, ...] | None = option(
        NAMES, "Of .zarr, the axes that --like resizes, by name or number: y,x.", "--dims", places=(CALL_ON_STORE,)
    )
    layer: str | None = shared.layer(shared.LAYER, "--layer", places=(ARRAY, STORE))
    sizes: tuple[int, ...] | None = shared.sizes()
    scales: tuple[float, ...] | None = shared.scales()
    arithmetic: Arithmetic | None = option(
        member(Arithmetic, "Arithmetic | str", "NAME"),
        "Instead of the own runtime's: exact, onnxruntime or openvino.",
        "--arithmetic",
        default=None,
        places=(ARRAY, STORE),
    )
    semantics: Semantics = shared.semantics(_READING, places=(ARRAY, STORE))
    nodata: float | None = option(
        NUMBER, "The value of missing pixels, which take no part: -9999, nan.", "--nodata", places=_ARRAYS
    )
    valid: float = option(
        NUMBER,
        "The share of weights that has to be there; with less, a result is missing too.",
        "--valid",
        default=0.0,
        places=_ARRAYS,
    )
    memory: int | None = option(
        MEMORY, "Of .zarr, how much to take: 1GiB (the default).", "--memory", metavar="BYTES", places=_STORES
    )
    levels: int | None = option(
        POSITIVE, "Of .zarr, write a pyramid: each level from the one before.", "--levels", places=_STORES
    )
    quiet: bool = shared.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """Which resize to explain, and of which lengths; ``ir_interp.explain`` says what each option means."""

    layer: str | None = shared.layer(shared.LAYER, "--layer", places=(RESIZE,))
    shape: LayerShape | None = shared.layer_shape(places=(RESIZE,))
    sizes: tuple[int, ...] | None = shared.sizes(places=(RESIZE,))
    scales: tuple[float, ...] | None = shared.scales(places=(RESIZE,))
    every: bool = shared.of_command_line(SWITCH, "Show every output.", "--all", places=(RESIZE,))
    backend: Backend | None = shared.backend(is_keyword=False, places=(PIPELINE,))
    code: CodeLanguage | None = shared.of_command_line(
        member(CodeLanguage, "CodeLanguage | str", "LANGUAGE"),
        "Print a pipeline as source code: numpy (Python, its own libraries), opencv (Python), cpp (OpenCV) or torch.",
        "--code",
        default=None,
        places=(PIPELINE,),
    )
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
