"""Rules of sizes as float32 nodes: the sizes of float64, rounding errors included."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import helper

from ir_interp.converters.onnx.onnx_graph import Graph
from ir_interp.converters.onnx.operators import tensor
from ir_interp.converters.preprocess.extended_precision import TRIPLES, Triple
from ir_interp.pipelines.rules import (
    NUMPY,
    Exactly,
    Inside,
    Multiple,
    NearestMultiple,
    OutputSize,
    ShareOfShorterSide,
    ShorterSide,
    SidesWithin,
    SizeRounding,
)

Sizes = NDArray[np.int64]
RULES: tuple[OutputSize, ...] = (
    Exactly(height=20, width=30), ShorterSide(size=224), ShorterSide(size=256, longest=300),
    *(Inside(height=640, width=480, rounding=rounding) for rounding in SizeRounding),
    SidesWithin(shortest=800, longest=1333), Multiple(of_size=14, rounding=SizeRounding.HALF_EVEN),
    NearestMultiple(height=384, width=384, of_size=14), ShareOfShorterSide(height=0.7, width=224 / 256),
)  # fmt: skip


def session(rule: OutputSize) -> onnxruntime.InferenceSession:
    """Return a model of a rule."""
    graph = Graph(opset=17, layer="sizes")
    tall, wide = (Triple.of(tensor(graph, name, "int64")) for name in ("height", "width"))
    sizes = [tall.like(size).integer.value for size in rule.of(tall, wide, TRIPLES)]
    inputs = [helper.make_tensor_value_info(name, 7, [None]) for name in ("height", "width")]
    outputs = [helper.make_tensor_value_info(name, 7, None) for name in sizes]
    constants = [onnx.numpy_helper.from_array(value, name) for name, value in graph.initialisers.items()]
    made = helper.make_graph(graph.nodes, "sizes", inputs, outputs, constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def pairs() -> tuple[Sizes, Sizes]:
    """Return heights and widths: random ones, and those whose ratios make ties and products that float64 rounds."""
    rng = np.random.default_rng(0)
    steps = rng.choice([2, 6, 8, 12, 96], (2, 4000)) * rng.integers(1, 99, (2, 4000))
    both = np.concatenate([rng.integers(1, 9000, (2, 4000)), steps], 1)
    return both[0], both[1]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
def test_sizes(rule: OutputSize) -> None:
    heights, widths = pairs()
    run = session(rule).run(None, {"height": heights, "width": widths})
    expected = rule.of(heights.astype(np.float64), widths.astype(np.float64), NUMPY)
    for sizes, others in zip(run, expected, strict=True):
        assert np.all(sizes == others)


def test_float64_is_not_the_real_number() -> None:
    """Some of the tried sizes are those of rounding errors: an exact quotient would round them otherwise."""
    heights, widths = pairs()
    tall, _ = SidesWithin(shortest=800, longest=1333).of(heights.astype(float), widths.astype(float), NUMPY)
    is_limited = (heights > widths) & (heights * 800 > widths * 1333)
    assert np.any(tall[is_limited] == 1332)
