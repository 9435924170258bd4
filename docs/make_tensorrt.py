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

from ir_interp import InexactError, ResizeOp
from ir_interp.converters.audit import auditing
from ir_interp.converters.dialects import tensorrt as tensorrt_resize
from ir_interp.converters.runtimes import tensorrt, tensorrt_dla
from ir_interp.translation.translate import write

PATH = Path(__file__).with_name("tensorrt.md")
_TF, _TF_OPSET, _OPSET = "tf_half_pixel_for_nn", 12, 19
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric", _TF)
_LAYER_ROUNDINGS = {"round_prefer_floor": "HALF_DOWN", "round_prefer_ceil": "HALF_UP", "floor": "FLOOR", "ceil": "CEIL"}
_SAID = {"resize_mode", "coordinate_transformation", "selector_for_single_pixel", "nearest_rounding"}


def rows() -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    """Yield what is asked of a Resize: a name, its attributes, and its inputs after the data."""
    sizes, scales = ("none", "none", "sizes"), ("none", "scales")
    for coordinates, rounding in itertools.product(_COORDINATES, _LAYER_ROUNDINGS):
        yield f"nearest, {coordinates}, {rounding}", _words("nearest", coordinates, nearest_mode=rounding), sizes
    for mode, coordinates in itertools.product(("linear", "cubic"), _COORDINATES):
        yield f"{mode}, {coordinates}", _words(mode, coordinates), sizes
    crop = "tf_crop_and_resize"
    yield f"linear, {crop}", _words("linear", crop), ("roi", "none", "sizes")
    yield "cubic, cubic_coeff_a=-0.5", _words("cubic", cubic_coeff_a=-0.5), sizes
    yield "cubic, exclude_outside=1", _words("cubic", exclude_outside=1), sizes
    yield "linear, antialias=1", _words("linear", antialias=1), sizes
    yield "linear, not_larger", _words("linear", keep_aspect_ratio_policy="not_larger"), sizes
    yield "nearest, asymmetric, floor, scales 2", _words("nearest", "asymmetric", nearest_mode="floor"), scales
    yield "linear, half_pixel, scales 2", _words("linear"), scales
    yield "linear, half_pixel, scales 1.5", _words("linear"), ("none", "fractional")
    yield "linear, half_pixel, sizes at run time", _words("linear"), ("none", "none", "given sizes")
    yield "linear, half_pixel, scales at run time", _words("linear"), ("none", "given scales")


def _words(mode: str, coordinates: str = "half_pixel", **more: Any) -> dict[str, Any]:
    return {"mode": mode, "coordinate_transformation_mode": coordinates, **more}


def model(wanted: Iterable[tuple[str, dict[str, Any], tuple[str, ...]]], opset: int) -> onnx.ModelProto:
    """Return a model with a Resize for each row: 50x60 of an image of unknown height and width."""
    nodes = [helper.make_node("Resize", ["x", *given], [name], name=name, **words) for name, words, given in wanted]
    graph = helper.make_graph(
        nodes,
        "resizes",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"]),
            helper.make_tensor_value_info("given sizes", TensorProto.INT64, [4]),
            helper.make_tensor_value_info("given scales", TensorProto.FLOAT, [4]),
        ],
        [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes],
        [
            helper.make_tensor("none", TensorProto.FLOAT, [0], []),
            helper.make_tensor("sizes", TensorProto.INT64, [4], [1, 3, 50, 60]),
            helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 2, 2]),
            helper.make_tensor("fractional", TensorProto.FLOAT, [4], [1, 1, 1.5, 1.5]),
            helper.make_tensor("roi", TensorProto.FLOAT, [8], [0, 0, 0, 0, 1, 1, 0.5, 0.5]),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def _opset(row: tuple[str, dict[str, Any], tuple[str, ...]]) -> int:
    return _TF_OPSET if row[1]["coordinate_transformation_mode"] == _TF else _OPSET


def mapping() -> str:
    """Return the table of ONNX Resizes: what this program makes of each, and what TensorRT's importer does."""
    lines = ["| ONNX Resize | settings of the layer | exact | TensorRT's importer |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resizes.onnx"
        for opset, wanted in itertools.groupby(rows(), _opset):
            onnx.save(model(wanted, opset), path)
            audited, errors = auditing.audit([path], runtimes=["tensorrt"])
            if errors:
                raise ExceptionGroup("the model cannot be read", errors)
            rows_of_opset = [(each.op.name, *_written(each.op), str(each.predictions["tensorrt"])) for each in audited]
            lines += [f"| {' | '.join(row)} |" for row in folded(rows_of_opset)]
    return "\n".join(lines)


def folded(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield rows, one in place of the four of a nearest Resize where the layer has the same rounding in each."""
    for _, group in itertools.groupby(rows, lambda row: row[0].split(", ")[:2]):
        several = list(group)
        once = {_with_any_rounding(*row) for row in several}
        yield from once if len(once) == 1 and len(several) == len(_LAYER_ROUNDINGS) else several


def _with_any_rounding(name: str, settings: str, *others: str) -> tuple[str, ...]:
    *words, rounding = name.split(", ")
    of_layer = _LAYER_ROUNDINGS.get(rounding, "")
    same = [("the same rounding" if word == of_layer else word) for word in settings.split(", ")]
    return ", ".join((*words, "any rounding")), ", ".join(same), *others


def _written(op: ResizeOp) -> tuple[str, str]:
    try:
        said = write(op.spec, tensorrt_resize.DIALECT, shape=op.shape, dtype=op.dtype)
    except InexactError as refusal:
        return "", f"no: {refusal.differences_text or refusal.reason}"
    words = [str(value) for name, value in said.attributes.items() if name in _SAID]
    words += [f"{name}={value}" for name, value in said.attributes.items() if name == "cubic_coeff"]
    words += ["exclude_outside"] if said.attributes.get("exclude_outside") else []
    return ", ".join(words), {"exact but for float32 ties": "ties"}.get(said.grade.value, said.grade.value)


def dla() -> str:
    """Return the table of combinations that DLA takes."""
    lines = ["| mode | coordinates | selector | rounding | scales of height and width |", "|---|---|---|---|---|"]
    for mode, combinations in tensorrt_dla.COMBINATIONS.items():
        scales = f"whole, 1 to {tensorrt_dla.LARGEST_SCALES[mode]}"
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
