"""Read ONNX files, without their external weights."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.inliner
import onnx.shape_inference
from google.protobuf.message import DecodeError

from ir_interp.errors import ReadError

from .nodes import graphs


def read_model(path: Path) -> onnx.ModelProto:
    """Return a model without its external weights, its local functions inlined; see ``read_file``."""
    return inlined(read_file(path))


def inlined(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model without local functions: the same, or a copy in which these are inlined."""
    return onnx.inliner.inline_local_functions(model) if model.functions else model


def read_file(path: Path) -> onnx.ModelProto:
    """Return a model without its external weights. Raises ReadError where the file is none."""
    try:
        model: onnx.ModelProto = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    except DecodeError as error:
        raise ReadError(f"not an ONNX model, or cut off: {error}", path.name) from error
    check_model(model, path.name)
    return model


def check_model(model: onnx.ModelProto, where: str) -> None:
    """Raise ReadError where a model lacks what none can do without."""
    if not model.opset_import or not model.HasField("graph"):
        raise ReadError("not an ONNX model: it holds no graph or names no operator set", where)


def external_files(path: Path) -> set[Path]:
    """Return the files that hold a model's external data."""
    tensors = (tensor for graph in graphs(read_model(path).graph) for tensor in graph.initializer)
    entries = (entry for tensor in tensors for entry in tensor.external_data)
    return {path.parent / entry.value for entry in entries if entry.key == "location"}


def default_opset(model: onnx.ModelProto, where: str) -> int:
    """Return the version of ONNX's own operator set that a model uses."""
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            return int(entry.version)
    raise ReadError("names no version of ONNX's own operator set", where)
