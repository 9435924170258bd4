"""Weights that stay in files take the place of inputs, and their moves are computed into other files."""

from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
import pytest

from ir_interp.converters.openvino import ir_save
from ir_interp.files import memory
from ir_interp.files.memory import append, created

_X = np.arange(12, dtype=np.float32).reshape(3, 4)
_W = np.arange(20, dtype=np.float32).reshape(5, 4) / 8


def _model() -> ov.Model:
    """Return x times the transposed input w, which a frontend would compute."""
    x, weights = ops.parameter(_X.shape, np.float32, "x"), ops.parameter(_W.shape, np.float32)
    weights.output(0).set_names({"w:0", "w"})
    moved = ops.transpose(ops.reshape(weights, np.array([-1, 4]), False), np.array([1, 0]))
    return ov.Model([ops.matmul(x, moved, False, False)], [x, weights], "model")


def _types(model: ov.Model) -> list[str]:
    return sorted(node.get_type_name() for node in model.get_ordered_ops())


@pytest.mark.parametrize(
    ("large", "types"),
    [
        (1, ["Constant", "MatMul", "Parameter", "Result"]),
        (_W.nbytes + 1, ["Constant"] * 3 + ["MatMul", "Parameter", "Reshape", "Result", "Transpose"]),
    ],
)
def test_weights_replace_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int, types: list[str]) -> None:
    """Moves of small weights are left to others."""
    monkeypatch.setattr(memory, "LARGE", large)
    append(np.zeros(3, np.int8), tmp_path / "weights")
    model = _model()
    ir_save.with_weights(model, {"w": append(_W, tmp_path / "weights")}, tmp_path)
    assert _types(model) == types
    result = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(_X)[0]
    np.testing.assert_array_equal(result, _X @ _W.T)


def test_moves_of_bfloat16_are_left_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy reads its bits as those of float16."""
    monkeypatch.setattr(memory, "LARGE", 1)
    constant = ops.constant(ov.Tensor(np.array([[16256, 16384]], np.uint16), [1, 2], ov.Type.bf16))  # 1 and 2
    x = ops.parameter([2, 1], np.float32, "x")
    moved = ops.convert(ops.transpose(constant, np.array([1, 0])), "f32")
    model = ov.Model([ops.add(x, moved)], [x], "model")
    ir_save.fold_moves(model, tmp_path)
    np.testing.assert_array_equal(ov.compile_model(model, "CPU")(np.zeros((2, 1), np.float32))[0], [[1], [2]])


def test_arrays_are_aligned(tmp_path: Path) -> None:
    """An array behind three bytes starts at the next 64; writing to it leaves the file as it is."""
    append(np.zeros(3, np.int8), tmp_path / "weights")
    stored = append(_W, tmp_path / "weights")
    assert (stored.offset, stored.dtype, stored.shape) == (64, "float32", (5, 4))
    stored.mapped()[:] = 0
    np.testing.assert_array_equal(stored.mapped(), _W)


def test_an_array_that_the_disk_cannot_hold(tmp_path: Path) -> None:
    """It is refused before a page is written, which would end the process."""
    with pytest.raises(OSError, match=r"No space left|File too large"):
        created(tmp_path / "array", np.dtype("int8"), (2**62,))
