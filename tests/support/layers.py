"""Random configurations of single layers, run in OpenVINO and, once converted, in onnxruntime."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino
import pytest
from numpy.typing import ArrayLike
from openvino.utils.node_factory import NodeFactory

from ir_interp.converters.ir_to_onnx import onnx_model
from ir_interp.translation.dialect import Semantics
from tests.support import exact_sums
from tests.support.runtimes import Array

SEEDS = int(os.environ.get("IR_TO_ONNX_SEEDS", "2"))
"""How many configurations of each layer are drawn."""

OPSET = int(os.environ["IR_TO_ONNX_OPSET"]) if "IR_TO_ONNX_OPSET" in os.environ else None
"""The operator set in which layers are written whose test names none; the newest by default."""

Configuration = Callable[["Draw"], Any]
"""Draws a layer: returns its node, or the outputs that are to be compared."""

Attributes = Mapping[str, Any]
Formula = Callable[[Array, Attributes], Array]
"""Computes a layer of one input from its attributes."""


class Draw:
    """One random configuration: what it draws, and the model that it builds."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.parameters: list[Any] = []
        self.feeds: dict[str, Array] = {}

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.random.random() < share)

    def among(self, *values: Any) -> Any:
        return values[self.random.integers(len(values))]

    def between(self, low: int, high: int) -> int:
        """Return an integer, both ends included."""
        return int(self.random.integers(low, high + 1))

    def integers(self, count: int, low: int, high: int) -> list[int]:
        return [self.between(low, high) for _ in range(count)]

    def shape(self, low: int = 1, high: int = 4, longest: int = 6) -> list[int]:
        return self.integers(self.between(low, high), 1, longest)

    def some(self, count: int, least: int = 0) -> list[int]:
        """Return some of the numbers below ``count``, in random order."""
        return [int(each) for each in self.random.permutation(count)[: self.between(least, count)]]

    def values(self, shape: Sequence[int], dtype: Any = np.float32, low: float = -3, high: float = 3) -> Array:
        if np.dtype(dtype).kind == "f":
            return np.asarray(self.random.uniform(low, high, tuple(shape))).astype(dtype)
        if np.dtype(dtype).kind == "b":
            return np.asarray(self.random.random(tuple(shape)) < 0.5)
        lowest = max(int(low), np.iinfo(dtype).min)
        highest = min(int(high), np.iinfo(dtype).max)
        return np.asarray(self.random.integers(lowest, highest + 1, tuple(shape))).astype(dtype)

    def distinct(self, shape: Sequence[int], dtype: Any = np.float32) -> Array:
        """Return values of which no two are equal."""
        return self.random.permutation(int(np.prod(shape))).reshape(tuple(shape)).astype(dtype)

    def input(self, values: Array, *, open_axes: Sequence[int] | None = None) -> Any:
        """Return a parameter that is fed with ``values``; the lengths of ``open_axes`` are left open."""
        name = f"x{len(self.parameters)}"
        lengths = [-1 if axis in (open_axes or ()) else length for axis, length in enumerate(values.shape)]
        parameter = openvino.opset13.parameter(openvino.PartialShape(lengths), values.dtype, name=name)
        self.parameters.append(parameter)
        self.feeds[name] = values
        return parameter

    def numbers(self, shape: Sequence[int], dtype: Any = np.float32, low: float = -3, high: float = 3) -> Any:
        """Return a parameter of random values."""
        return self.input(self.values(shape, dtype, low, high))

    def either(self, values: ArrayLike) -> Any:
        """Return a constant or a parameter."""
        return constant(values) if self.chance() else self.input(np.asarray(values))


def constant(values: Any, dtype: Any = None) -> Any:
    return openvino.opset13.constant(np.asarray(values, dtype))


def layer(kind: str, version: int, *inputs: Any, **attributes: Any) -> Any:
    """Return a node of OpenVINO's, of this version; OpenVINO would ignore an attribute of another name."""
    outputs = [each.output(0) if hasattr(each, "get_friendly_name") else each for each in inputs]
    made = _factory(version).create(kind, outputs, attributes)
    node = made if hasattr(made, "get_attributes") else made.get_node()
    known = {name.partition(".")[0] for name in node.get_attributes()}
    assert {name.partition(".")[0] for name in attributes} <= known, f"{kind}-{version} has {sorted(known)}"
    return made


@functools.cache
def _factory(version: int) -> NodeFactory:
    return NodeFactory(f"opset{version}")


def configurations(table: dict[str, Configuration]) -> list[Any]:
    """Return every layer of a table with every seed, for pytest."""
    return [
        pytest.param(configuration, seed, id=f"{name}-{seed}")
        for name, configuration in table.items()
        for seed in range(SEEDS)
    ]


def check(
    configuration: Configuration,
    seed: int,
    opset: int | None = None,
    tolerance: float = 1e-5,
    formula: Formula | None = None,
) -> None:
    """Draw a configuration and compare what both runtimes make of it.

    A layer of one input that OpenVINO computes otherwise on some processors is compared with its ``formula``.
    """
    draw = Draw(seed)
    drawn = configuration(draw)
    outputs = list(drawn) if isinstance(drawn, list | tuple) else drawn.outputs()
    model = openvino.Model([openvino.opset13.result(each) for each in outputs], draw.parameters, "one")
    if formula is None:
        wanted = in_openvino(model, draw.feeds)
    else:
        (x,) = draw.feeds.values()
        wanted = [formula(x, outputs[0].get_node().get_attributes())]
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "one.xml"), Path(folder, "one.onnx")
        openvino.save_model(model, source, compress_to_fp16=False)
        try:
            onnx_model.write_model(source, made, Semantics.RUNTIME, opset or OPSET)
        except ExceptionGroup as refusals:
            reasons = ("needs operator set", "of operator sets up to")
            if OPSET is None or not any(reason in str(refusals.exceptions) for reason in reasons):
                raise
            pytest.skip(str(refusals.exceptions[0]))
        for mine, theirs in zip(wanted, in_onnxruntime(made, draw.feeds), strict=True):
            assert_equal(theirs, mine, tolerance)


def in_openvino(model: Any, feeds: dict[str, Array], **more: Any) -> list[Array]:
    """Run a model in OpenVINO; ``more`` are settings of its CPU plugin."""
    settings: dict[str, Any] = {**exact_sums.OPENVINO, "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    compiled = core().compile_model(model, "CPU", settings | more)
    results = compiled(feeds)
    return [np.array(results[index]) for index in range(len(compiled.outputs))]


@functools.cache
def core() -> openvino.Core:
    return openvino.Core()


def in_onnxruntime(path: Path, feeds: dict[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # in float32
    session = exact_sums.session(path, options)
    declared = {each.name for each in session.get_inputs()}
    assert declared == feeds.keys()
    return [np.asarray(each) for each in session.run(None, feeds)]


def assert_equal(got: Array, wanted: Array, tolerance: float) -> None:
    """Compare values: exactly, but for floating point numbers that were computed."""
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    if wanted.dtype.kind == "f":
        scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(got, wanted)


def loaded(path: Path) -> onnx.ModelProto:
    return onnx.load(str(path))
