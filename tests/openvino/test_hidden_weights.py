"""Weights beyond the memory limit are saved as they are; OpenVINO's transformations would copy them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ir_interp.converters.openvino.ir_save import save
from ir_interp.files import memory
from tests.support.layers import core, in_openvino

X = np.random.default_rng(0).random((1, 512), np.float32)
WEIGHTS = np.random.default_rng(1).random((512, 1024), np.float32)  # 2 MiB


@pytest.mark.parametrize(("gibibytes", "is_transposed"), [("2", "true"), ("0.001", "false")])
def test_a_matrix_is_transposed_within_the_limit(
    gibibytes: str, is_transposed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, gibibytes)
    x, weights = ops.parameter([1, 512], np.float32, "x"), ops.constant(WEIGHTS)
    x.output(0).set_names({"x"})
    product = ops.matmul(x, weights, False, False)
    branch = ops.relu(ops.multiply(product, np.float32(2)))
    save(ov.Model([branch, ops.relu(weights)], [x], "net"), tmp_path / "net.xml")
    assert f'transpose_b="{is_transposed}"' in (tmp_path / "net.xml").read_text()
    model = core().read_model(tmp_path / "net.xml")
    assert [tuple(port.shape) for port in model.inputs] == [(1, 512)]
    first, second = in_openvino(model, {"x": X})
    np.testing.assert_allclose(first, 2 * X @ WEIGHTS, rtol=1e-4)
    np.testing.assert_array_equal(second, WEIGHTS)
