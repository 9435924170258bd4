"""Quantised models whose tensors together exceed the memory allowed are compared in groups of segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import numpy_helper
from openvino import opset13 as ops

import ir_interp
from ir_interp import Verification, VerificationError
from ir_interp.converters.verify import ladder
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.inputs import Inputs
from ir_interp.converters.verify.processes import OutOfMemoryError, not_run
from ir_interp.converters.verify.run_request import Request, load_arrays, load_mapped_arrays, save_arrays
from ir_interp.converters.verify.tolerances import largest_difference, pieces


def _net(path: Path, size: int = 32) -> Path:
    """Write a quantised IR with a residual connection, a pool, a resize, a Concat, and two outputs."""
    rng = np.random.default_rng(0)

    def levels(x: Any, low: float, high: float) -> Any:
        return ops.fake_quantize(x, *map(np.float32, (low, high, low, high)), 256)

    def convolved(x: Any, channels: int, count: int) -> Any:
        integers = ops.constant(rng.integers(-127, 128, (count, channels, 3, 3)).astype(np.int8))
        scales = rng.uniform(0.01, 0.03, (count, 1, 1, 1)).astype(np.float32) / np.sqrt(np.float32(channels))
        weights = ops.multiply(ops.convert(integers, "f32"), ops.constant(scales))
        bias = ops.constant(rng.normal(0, 0.1, (1, count, 1, 1)).astype(np.float32))
        return ops.add(ops.convolution(x, weights, [1, 1], [1, 1], [1, 1], [1, 1]), bias)

    image = ops.parameter([1, 3, size, size], np.float32, "x")
    first = levels(ops.relu(convolved(levels(image, 0, 1), 3, 8)), 0, 2)
    second = levels(ops.relu(convolved(first, 8, 8)), 0, 2)
    added = levels(ops.relu(ops.add(levels(convolved(second, 8, 8), -2, 2), first)), 0, 3)
    pooled = ops.max_pool(added, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor", "explicit").output(0)
    low = levels(ops.relu(convolved(pooled, 8, 8)), 0, 2)
    sizes, axes = ops.constant(np.array([size, size])), ops.constant(np.array([2, 3]))
    copied = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    high = ops.interpolate(low, sizes, "nearest", "sizes", **copied, axes=axes)
    joined = levels(ops.relu(convolved(ops.concat([high, added], 1), 16, 8)), 0, 2)
    results = [ops.result(convolved(joined, 8, 3)), ops.result(ops.reduce_mean(low, axes))]
    ov.save_model(ov.Model(results, [image], "net"), path, compress_to_fp16=False)
    return path


def _proof(source: Path, result: Path) -> Verification:
    verification = ir_interp.convert(source, result).verification
    assert verification is not None
    assert verification.levels is not None
    return verification


@pytest.mark.long
def test_groups_of_segments_prove_as_much_as_all_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _net(tmp_path / "a.xml")
    there, back = _proof(source, tmp_path / "b.onnx"), _proof(tmp_path / "b.onnx", tmp_path / "c.xml")
    assert "groups" not in there.note + back.note
    monkeypatch.setattr(ladder, "_BYTES_AN_ELEMENT", 2**31)  # as if one segment took all of the memory
    for whole, first, second in ((there, source, "d.onnx"), (back, tmp_path / "b.onnx", "e.xml")):
        parts = _proof(first, tmp_path / second)
        assert " segments between quantisations, in " in parts.note
        assert " groups for lack of memory" in parts.note
        assert parts.levels is not None
        assert whole.levels is not None
        assert parts.levels.count == whole.levels.count
        assert [output.passes for output in parts.outputs] == [True, True]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("bytes_an_element", [4, 2**31])
@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_wrong_weight_is_found_in_any_group(
    place: int, bytes_an_element: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, result = _net(tmp_path / "a.xml"), tmp_path / "b.onnx"
    ir_interp.convert(source, result, verify=False)
    model = onnx.load(result)
    integers = [
        each for each in model.graph.initializer if each.data_type == onnx.TensorProto.INT8 and len(each.dims) == 4
    ]
    weights = numpy_helper.to_array(integers[place]).copy()
    weights[0, 0, 1, 1] += -3 if weights[0, 0, 1, 1] > 0 else 3
    integers[place].CopyFrom(numpy_helper.from_array(weights, integers[place].name))
    onnx.save(model, result)
    monkeypatch.setattr(ladder, "_BYTES_AN_ELEMENT", bytes_an_element)
    with pytest.raises(VerificationError, match=r"is the first that differs|output 'Result_"):
        verify(source, result, (), Inputs())


def test_a_proof_that_lacks_memory_blames_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def verified(_: Any) -> Verification:
        raise not_run(Request(model=source, folder=tmp_path, tensors=("a",)), "std::bad_alloc")

    source, result = _net(tmp_path / "a.xml", 8), tmp_path / "b.onnx"
    monkeypatch.setattr(ladder, "verified", verified)
    message = (
        r"^a\.xml takes more memory than is allowed while inner tensors are compared: std::bad_alloc; the limit is "
    )
    with pytest.raises(OutOfMemoryError, match=message):
        verified(None)
    with pytest.raises(VerificationError, match=message) as refusal:
        ir_interp.convert(source, result)
    assert not any(text in str(refusal.value) for text in ("does not run", "differs"))
    assert "verify=False writes it unverified" in str(refusal.value)


def test_mapped_arrays_are_those_that_were_saved(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    arrays = [("a", x), ("a", x.T), ("b", x[:0]), ("c", np.array(7)), ("d", x.astype(ml_dtypes.bfloat16)), ("e", x > 3)]
    save_arrays(tmp_path / "arrays", arrays)
    for (name, array), (other, loaded), (again, mapped) in zip(
        arrays, load_arrays(tmp_path / "arrays"), load_mapped_arrays(tmp_path / "arrays"), strict=True
    ):
        assert name == other == again
        assert array.dtype == loaded.dtype == mapped.dtype
        np.testing.assert_array_equal(array, loaded)
        np.testing.assert_array_equal(array, mapped)
        assert array.shape == mapped.shape


@pytest.mark.parametrize(
    "shape", [(), (0,), (3, 0, 2), (5,), (2**18,), (3, 2**17 + 1), (2, 3, 300, 300), (7, 1, 90000)]
)
def test_pieces_cover_every_element_once(shape: tuple[int, ...]) -> None:
    counts = np.zeros(shape, np.int8)
    for piece in pieces(shape):
        counts[piece] += 1
        assert counts[piece].size <= 2**17 or counts[piece].shape[-1] == counts[piece].size
    assert (counts == 1).all()
    other = counts.astype(np.float32)
    other[(-1,) * len(shape) if counts.size else ...] = np.nan
    assert np.isnan(largest_difference(counts, other)) == bool(counts.size)
