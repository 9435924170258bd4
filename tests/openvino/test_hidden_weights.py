"""Large weights are moved in files, and hidden beyond the memory limit: OpenVINO's transformations would copy them."""

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


@pytest.mark.parametrize("gibibytes", ["2", "0.001"])
def test_a_matrix_is_transposed_for_its_product(
    gibibytes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, gibibytes)
    x, weights = ops.parameter([1, 512], np.float32, "x"), ops.constant(WEIGHTS)
    x.output(0).set_names({"x"})
    product = ops.matmul(x, weights, False, False)
    branch = ops.relu(ops.multiply(product, np.float32(2)))
    save(ov.Model([branch, ops.relu(weights)], [x], "net"), tmp_path / "net.xml")
    assert 'transpose_b="true"' in (tmp_path / "net.xml").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.bin", "net.xml"]
    model = core().read_model(tmp_path / "net.xml")
    assert [tuple(port.shape) for port in model.inputs] == [(1, 512)]
    first, second = in_openvino(model, {"x": X})
    np.testing.assert_allclose(first, 2 * X @ WEIGHTS, rtol=1e-4)
    np.testing.assert_array_equal(second, WEIGHTS)
