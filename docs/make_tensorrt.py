"""Write the tables of docs/tensorrt.md: ``python docs/make_tensorrt.py``."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from ir_interp import InexactError, ResizeOp, load
from ir_interp.converters.dialects import tensorrt as tensorrt_resize
from ir_interp.converters.runtimes import tensorrt
from ir_interp.translation.translate import write

PATH = Path(__file__).with_name("tensorrt.md")
_TF, _TF_OPSET, _OPSET = "tf_half_pixel_for_nn", 12, 19
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_SAID = {"resize_mode", "coordinate_transformation", "selector_for_single_pixel", "nearest_rounding"}


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a Resize for each coordinate transformation, rounding and setting: a name and attributes."""
    for coordinates in _COORDINATES:
        yield f"linear, {coordinates}", _words("linear", coordinates)
    yield "cubic, cubic_coeff_a=-0.5", _words("cubic", cubic_coeff_a=-0.5)
    yield "cubic, exclude_outside=1", _words("cubic", exclude_outside=1)
    for coordinates, rounding in itertools.product(("half_pixel", _TF), _ROUNDINGS):
        yield f"nearest, {coordinates}, {rounding}", _words("nearest", coordinates, nearest_mode=rounding)


def _words(mode: str, coordinates: str = "half_pixel", **more: Any) -> dict[str, Any]:
    return {"mode": mode, "coordinate_transformation_mode": coordinates, **more}


def model(wanted: Iterable[tuple[str, dict[str, Any]]], opset: int) -> onnx.ModelProto:
    """Return a model with a Resize for each row: 50x60 of an image of unknown height and width."""
    inputs = ["x", "", "", "sizes"]
    nodes = [helper.make_node("Resize", inputs, [name], name=name, **words) for name, words in wanted]
    graph = helper.make_graph(
        nodes,
        "resizes",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])],
        [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes],
        [helper.make_tensor("sizes", TensorProto.INT64, [4], [1, 3, 50, 60])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def _opset(row: tuple[str, dict[str, Any]]) -> int:
    return _TF_OPSET if row[1]["coordinate_transformation_mode"] == _TF else _OPSET


def mapping() -> str:
    """Return the table of ONNX Resizes that one layer computes, with its settings."""
    settings: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resizes.onnx"
        for opset, wanted in itertools.groupby(rows(), _opset):
            onnx.save(model(wanted, opset), path)
            for op in load(path):
                settings.setdefault(_settings(op), []).append(op.name)
    head = ["| settings of the layer | ONNX Resize |", "|---|---|"]
    return "\n".join([*head, *(f"| {layer} | {'; '.join(names)} |" for layer, names in settings.items() if layer)])


def _settings(op: ResizeOp) -> str:
    """Return the settings of the layer for a Resize, those without effect omitted; an empty text if there is none."""
    try:
        said = write(op.spec, tensorrt_resize.DIALECT, shape=op.shape, dtype=op.dtype)
    except InexactError:
        return ""
    words = [str(value) for name, value in said.attributes.items() if name in _SAID]
    words += [f"{name}={value}" for name, value in said.attributes.items() if name == "cubic_coeff"]
    words += ["exclude_outside"] if said.attributes.get("exclude_outside") else []
    return ", ".join(words)


def dla() -> str:
    """Return the table of combinations that DLA takes."""
    lines = ["| mode | coordinates | selector | rounding | scales of height and width |", "|---|---|---|---|---|"]
    for mode, combinations in tensorrt.COMBINATIONS.items():
        scales = f"integral, 1 to {tensorrt.LARGEST_SCALES[mode]}"
        lines += [f"| {mode} | {' | '.join((*words, 'any')[:3])} | {scales} |" for words in combinations]
    return "\n".join(lines)


def limits() -> str:
    """Return the list of what a builder takes."""
    innermost = ", ".join(f"{mode} {count}" for mode, count in tensorrt.INNERMOST.items())
    return "\n".join(
        (
            f"- element types: {', '.join(tensorrt.LAYER_TYPES)}",
            f"- rank: 1 to {tensorrt.MAX_RANK}, CUBIC from 2",
            f"- innermost axes that a mode resizes: {innermost}; other axes keep their sizes",
            f"- elements of the input, and of the output: up to 2^31 = {tensorrt.MAX_VOLUME:,}",
        )
    )


_TABLES = {"mapping": mapping, "dla": dla, "limits": limits}


def text() -> str:
    """Return the page with fresh tables."""
    return re.sub(
        r"(<!-- (\w+) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{_TABLES[match[2]]()}\n\n{match[3]}",
        PATH.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
