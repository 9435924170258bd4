"""Write INT8 IRs, random ones and others, as ONNX; spoil these, and see that verification refuses them.

A mutation moves one zero point, scales one scale, swaps the scales, weights or biases of two channels, quantises along
another axis, mirrors a kernel, or drops an activation. ``python -m tests.sweeps.mutations --cases 200 [MODEL.xml ...]``
exits with 1 where a conversion is refused, or a mutation that changes any level or output passes.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
from onnx import helper, numpy_helper
from openvino import opset13 as ops

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.inputs import Inputs
from tests.support.configurations import Rng
from tests.support.runtimes import Array
from tests.support.sweeps import options

SHAPE = (1, 8, 12, 12)
EACH = 20
"""Mutations of one model."""

_LEAST = 0.01  # of a scale: in half precision two channels may have scales that are a last bit apart

# Random models


def random_int8(rng: Rng) -> ov.Model:
    """Return a network of quantised convolutions: with branches, per-channel weights, and activations of two signs.

    Every third is in half precision throughout, as the Model Optimizer wrote them.
    """
    x = ops.parameter(list(SHAPE), np.float16 if rng.random() < 1 / 3 else np.float32, name="x")
    y = _levels(x, 0.0, 1.0)
    for _ in range(int(rng.integers(2, 5))):
        y = _BLOCKS[int(rng.integers(len(_BLOCKS)))](rng, y)
    y = ops.reduce_mean(y, ops.constant(np.array([2, 3])), keep_dims=False)
    weights = _quantised_weights(rng, y, (10, y.shape[1]))
    return ov.Model([ops.matmul(_levels(y, -4.0, 4.0), weights, False, True)], [x], "int8")


def _like(x: Any, values: Any) -> Any:
    """Return a constant of the element type of ``x``."""
    return ops.constant(np.asarray(values, x.get_element_type().to_dtype()))


def _levels(x: Any, low: float, high: float) -> Any:
    bounds = [_like(x, bound) for bound in (low, high, low, high)]
    return ops.fake_quantize(x, *bounds, levels=256)


def _quantised_weights(rng: Rng, x: Any, shape: tuple[int, ...]) -> Any:
    scales = rng.uniform(0.5, 2, (shape[0], *(1 for _ in shape[1:])))
    scales /= 74 * np.sqrt(np.prod(shape[1:]))  # so that sums are about as large as what is summed
    integers = ops.constant(rng.integers(-127, 128, shape).astype(np.int8))
    return ops.multiply(ops.convert(integers, x.get_element_type().to_string()), _like(x, scales))


def _convolution(rng: Rng, x: Any, *, out: int, kernel: int) -> Any:
    weights, pad = _quantised_weights(rng, x, (out, x.shape[1], kernel, kernel)), [kernel // 2] * 2
    y = ops.convolution(x, weights, [1, 1], pad, pad, [1, 1])
    return ops.add(y, _like(x, rng.normal(0, 0.2, (1, out, 1, 1))))


def _plain(rng: Rng, x: Any) -> Any:
    y = ops.relu(_convolution(rng, x, out=int(rng.choice((6, 8, 12))), kernel=int(rng.choice((1, 3)))))
    return _levels(y, 0.0, float(rng.uniform(0.8, 2.5)))


def _of_two_signs(rng: Rng, x: Any) -> Any:
    return _levels(
        _convolution(rng, x, out=x.shape[1], kernel=3), -float(rng.uniform(0.5, 2)), float(rng.uniform(0.5, 2))
    )


def _residual(rng: Rng, x: Any) -> Any:
    return _levels(ops.relu(ops.add(x, _of_two_signs(rng, x))), 0.0, 2.0)


def _depthwise(rng: Rng, x: Any) -> Any:
    weights = _quantised_weights(rng, x, (x.shape[1], 9))
    grouped = ops.reshape(weights, ops.constant(np.array([x.shape[1], 1, 1, 3, 3])), False)
    return _levels(ops.clamp(ops.group_convolution(x, grouped, [1, 1], [1, 1], [1, 1], [1, 1]), 0.0, 1.5), 0.0, 1.5)


def _joined(rng: Rng, x: Any) -> Any:
    return _levels(ops.concat([x, _plain(rng, x)], 1), 0.0, 2.0)


_BLOCKS: tuple[Callable[[Rng, Any], Any], ...] = (_plain, _of_two_signs, _residual, _depthwise, _joined)

# Mutations


class _Spoiled:
    """An ONNX model that can be spoiled in one place."""

    def __init__(self, model: onnx.ModelProto, rng: Rng) -> None:
        self.rng = rng
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.nodes = list(self.model.graph.node)
        self.constants = {each.name: numpy_helper.to_array(each) for each in self.model.graph.initializer}

    def of(self, *types: str) -> onnx.NodeProto | None:
        """Return a node of some types, chosen at random."""
        nodes = [node for node in self.nodes if node.op_type in types]
        return nodes[int(self.rng.integers(len(nodes)))] if nodes else None

    def value(self, node: onnx.NodeProto | None, place: int) -> Array | None:
        """Return a constant that a node takes."""
        name = node.input[place] if node is not None and place < len(node.input) else ""
        return self.constants.get(name)

    def give(self, node: onnx.NodeProto, place: int, value: Array) -> None:
        """Let one node alone take another constant."""
        name = f"spoiled{len(self.model.graph.initializer)}"
        self.model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        node.input[place] = name


def _zero_point(model: _Spoiled) -> bool:
    node = model.of("QuantizeLinear", "DequantizeLinear")
    zero = model.value(node, 2)
    if node is None or zero is None:
        return False
    bounds = np.iinfo(zero.dtype)
    step = int(model.rng.choice((-1, 1)))
    model.give(node, 2, np.clip(zero.astype(int) + step, bounds.min, bounds.max).astype(zero.dtype))
    return True


def _scale(model: _Spoiled) -> bool:
    node = model.of("QuantizeLinear", "DequantizeLinear")
    scale = model.value(node, 1)
    if node is None or scale is None:
        return False
    factors = (0.5, 1 - _LEAST, 1 + _LEAST, 2.0)
    model.give(node, 1, (scale * model.rng.choice(factors)).astype(scale.dtype))
    return True


def _swapped(model: _Spoiled, types: Sequence[str], place: int) -> bool:
    node = model.of(*types)
    value = model.value(node, place)
    if node is None or value is None or not value.ndim or value.shape[0] < 2:
        return False
    first, second = model.rng.choice(value.shape[0], 2, replace=False)
    if place == 1 and abs(value[first] / value[second] - 1) < _LEAST:
        return False
    swapped = value.copy()
    swapped[[first, second]] = value[[second, first]]
    model.give(node, place, swapped)
    return True


def _axis(model: _Spoiled) -> bool:
    node = model.of("DequantizeLinear")
    weights, scale = model.value(node, 0), model.value(node, 1)
    if node is None or weights is None or scale is None or scale.ndim != 1 or weights.ndim < 2:
        return False
    axis = next((each for each in node.attribute if each.name == "axis"), None)
    other = 1 - (axis.i if axis else 1)
    if other not in (0, 1) or weights.shape[other] != scale.size:
        return False
    del node.attribute[:]
    node.attribute.append(helper.make_attribute("axis", other))
    return True


def _mirrored(model: _Spoiled) -> bool:
    node = model.of("DequantizeLinear")
    weights = model.value(node, 0)
    if node is None or weights is None or weights.ndim != 4 or weights.shape[3] < 2:
        return False
    model.give(node, 0, weights[..., ::-1])
    return True


def _activation(model: _Spoiled) -> bool:
    node = model.of("Relu", "Clip", "LeakyRelu")
    if node is None:
        return False
    node.op_type = "Identity"
    del node.attribute[:]
    del node.input[1:]
    return True


MUTATIONS: dict[str, Callable[[_Spoiled], bool]] = {
    "zero point": _zero_point,
    "scale": _scale,
    "scales of two channels": lambda model: _swapped(model, ("DequantizeLinear",), 1),
    "weights of two channels": lambda model: _swapped(model, ("DequantizeLinear",), 0),
    "biases of two channels": lambda model: _swapped(model, ("Conv",), 2),
    "axis": _axis,
    "mirrored kernel": _mirrored,
    "no activation": _activation,
}


def mutations(model: onnx.ModelProto, rng: Rng) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield spoiled models that compute something else, each with what was done to it."""
    x = np.random.default_rng(0).random(_lengths(model)).astype(np.float32)  # as a verification has it
    right = _shown(model, x)
    while True:
        name = str(rng.choice(list(MUTATIONS)))
        spoiled = _Spoiled(model, rng)
        if MUTATIONS[name](spoiled) and _differs(right, _shown(spoiled.model, x)):
            yield name, spoiled.model


def _lengths(model: onnx.ModelProto) -> list[int]:
    (value,) = model.graph.input
    return [each.dim_value or 1 for each in value.type.tensor_type.shape.dim]


def _shown(model: onnx.ModelProto, x: Array) -> list[Array]:
    """Return all levels and outputs of a model."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    levels = [node.output[0] for node in shown.graph.node if node.op_type == "QuantizeLinear"]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in levels)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(shown.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    x = x.astype(np.float16 if given.type == "tensor(float16)" else np.float32)
    return [np.asarray(each) for each in session.run(None, {given.name: x})]


def _differs(first: Sequence[Array], second: Sequence[Array]) -> bool:
    """Say whether levels differ, or outputs by more than sums in another order."""
    pairs = zip(first, second, strict=True)
    return any(
        not np.allclose(mine, theirs, rtol=0, atol=0.0 if mine.dtype.kind in "iu" else 1e-5) for mine, theirs in pairs
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print what passes though it should not, and how many of each kind were refused."""
    parser = options(__doc__)
    parser.add_argument("models", nargs="*", type=Path, help="IRs of one input of known lengths, in INT8")
    chosen = parser.parse_args(arguments)
    rng = np.random.default_rng(chosen.seed)
    refused: Counter[str] = Counter()
    passed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in _sources(chosen.models, rng, folder):
            result = source.with_name("right.onnx") if source.parent == folder else folder / "right.onnx"
            ir_interp.convert(source, result)  # raises where it is refused
            spoiled = mutations(onnx.load(result), rng)
            for _ in range(min(EACH, chosen.cases - refused.total() - passed)):
                kind, model = next(spoiled)
                onnx.save(model, folder / "wrong.onnx")
                try:
                    proof = verify(source, folder / "wrong.onnx", (), Inputs())
                except VerificationError:
                    refused[kind] += 1
                else:
                    passed += 1
                    print(f"{source.name}: {kind}: passed: {proof}", flush=True)
            print(f"{source.name}: {refused.total()} refused, {passed} passed so far", flush=True)
            if refused.total() + passed >= chosen.cases:
                break
    print(f"{refused.total()} refused, {passed} passed: {dict(refused)}")
    return int(bool(passed))


def _sources(models: Sequence[Path], rng: Rng, folder: Path) -> Iterator[Path]:
    yield from models
    while True:
        ov.save_model(random_int8(rng), folder / "int8.xml", compress_to_fp16=False)
        yield folder / "int8.xml"


if __name__ == "__main__":
    sys.exit(main())
