"""Pipelines of files and classes: configurations, metadata of ONNX models, preprocessing in IRs, class names."""

from __future__ import annotations

from pathlib import Path

from ir_interp.errors import ReadError, SpecError
from ir_interp.files.kinds import FileKind
from ir_interp.pipelines import huggingface, openvino_preprocessor, ultralytics_metadata
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.pipeline_source import of_file, with_backend

from ..onnx.onnx_files import read_outline

_MODELS = {FileKind.ONNX: "the metadata of a model", FileKind.IR: "an IR"}


def of_path(path: Path, backend: Backend | None) -> Pipeline:
    """Return the pipeline of a configuration file, of a model's metadata, or at the head of an IR.

    Raises ReadError, which names the file, for unsupported content.
    """
    kind = FileKind.of(path)
    if kind not in _MODELS:
        return of_file(path, backend)
    if backend is not None:
        raise SpecError(f"--backend has no effect on {_MODELS[kind]}")
    if kind is FileKind.IR:
        return openvino_preprocessor.read(path)
    metadata = {entry.key: entry.value for entry in read_outline(path).metadata_props}
    try:
        return ultralytics_metadata.read(metadata)
    except (ReadError, SpecError) as error:
        raise ReadError(str(error), path.name) from None


def of_text(text: str) -> Pipeline:
    """Return the pipeline of a file or of a Hugging Face class, with a backend behind a colon if it needs one.

    ``preprocessor_config.json:pil``, ``CLIPImageProcessor:torchvision``.
    """
    name, backend = with_backend(text)
    if Path(name).suffix:
        return of_path(Path(name), backend)
    return huggingface.read({"image_processor_type": name}, backend)
