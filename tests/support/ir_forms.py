"""One model in the forms in which IRs store it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from lxml import etree
from openvino import opset13 as ops

from tests.support.runtimes import Array

Form = Callable[[ov.Model, Path], None]
"""Writes a model as an .xml with its .bin."""

_WEIGHTED = ("Convolution", "GroupConvolution", "MatMul")


def single(model: ov.Model, path: Path) -> None:
    """In float32."""
    ov.save_model(model, path, compress_to_fp16=False)


def half(model: ov.Model, path: Path) -> None:
    """With weights in half precision, each followed by a Convert."""
    ov.save_model(model, path, compress_to_fp16=True)


def old(model: ov.Model, path: Path) -> None:
    """As IR v10: no names of tensors, no precisions of inputs, no metadata."""
    single(model, path)
    tree = etree.parse(path)
    tree.getroot().set("version", "10")
    for port in tree.iter("port"):
        port.attrib.pop("names", None)
    for port in tree.iterfind(".//input/port"):
        port.attrib.pop("precision", None)
    for layer in tree.iter("layer"):
        layer.attrib.pop("output_names", None)
    etree.strip_elements(tree, "rt_info")
    tree.write(path)


def chained(model: ov.Model, path: Path) -> None:
    """In 8 bits, with the names of Model Optimizer: a convolution has none, and what follows it has that of its layer.

    So a sum, its ReLU and more have one name.
    """
    eight_bits(model, path)
    tree = etree.parse(path)
    layers = {layer.get("id"): layer for layer in tree.iter("layer")}
    edges = sorted(tree.iter("edge"), key=lambda edge: int(edge.get("to-port") or 0))
    feeding: dict[str | None, etree._Element] = {}
    for edge in edges:
        feeding.setdefault(edge.get("to-layer"), layers[edge.get("from-layer")])
    shared: dict[str | None, str] = {}
    for number, layer in layers.items():
        before = feeding.get(number)
        if layer.get("type") == "Convolution":
            shared[number] = str(layer.get("name"))
            _set_names(layer, "")
        elif layer.get("type") in _CHAINED and before is not None and before.get("id") in shared:
            shared[number] = shared[before.get("id")]
            _set_names(layer, shared[number])
    tree.write(path)


_CHAINED = ("Add", "ReLU", "PReLU", "Clamp", "Sigmoid", "Multiply")


def _set_names(layer: etree._Element, name: str) -> None:
    for port in layer.iterfind("output/port"):
        port.attrib.pop("names", None)
        if name:
            port.set("names", name)


def eight_bits(model: ov.Model, path: Path) -> None:
    """With weights in 8 bits, scaled by channel, and what they are multiplied with quantised to 256 levels."""
    layers = [each for each in model.get_ordered_ops() if _is_weighted(each)]
    for layer, (low, high) in zip(layers, _ranges(model, [each.input_value(0) for each in layers]), strict=True):
        bounds = [ops.constant(np.float32(bound)) for bound in (low, high) * 2]
        layer.input(0).replace_source_output(ops.fake_quantize(layer.input_value(0), *bounds, 256).output(0))
        layer.input(1).replace_source_output(_in_eight_bits(layer.input_value(1).get_node().data).output(0))
    model.validate_nodes_and_infer_types()
    single(model, path)


def _is_weighted(node: Any) -> bool:
    return node.get_type_name() in _WEIGHTED and node.input_value(1).get_node().get_type_name() == "Constant"


def _ranges(model: ov.Model, tensors: list[Any]) -> list[tuple[float, float]]:
    """Return the least and the largest value of tensors, on random inputs, zero included."""
    probes = ov.Model([ops.result(each) for each in tensors], model.get_parameters(), "probes")
    rng = np.random.default_rng(0)
    feeds = [rng.random(tuple(each.shape), np.float32) for each in probes.inputs]
    found = ov.compile_model(probes, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(feeds)
    return [(min(0.0, float(each.min())), max(1e-3, float(each.max()))) for each in found.values()]


def _in_eight_bits(weights: Array) -> Any:
    axes = tuple(range(1, weights.ndim))
    scales = np.maximum(np.abs(weights).max(axes, keepdims=True), 1e-6).astype(np.float32) / 127
    whole = ops.constant(np.round(weights / scales).astype(np.int8))
    return ops.multiply(ops.convert(whole, "f32"), ops.constant(scales))
