"""Weights that lie in another file are neither overwritten nor forgotten, wherever in a model they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.onnx.files import external_files
from tests.support.external import LENGTH, PLACES, save_external
from tests.support.graphs import assert_equal, onnxruntime_outputs, values

NO_TRAINING = [place for place in PLACES if place != "training"]


def weights(path: Path) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    numbers = np.arange(LENGTH, dtype=np.float32)
    numbers.tofile(path)
    return numbers


@pytest.mark.parametrize("place", PLACES)
def test_they_are_seen(place: str, tmp_path: Path) -> None:
    assert external_files(save_external(tmp_path / "a.onnx", place, "a.bin")) == {tmp_path / "a.bin"}


@pytest.mark.parametrize("place", PLACES)
def test_they_are_not_overwritten(place: str, tmp_path: Path) -> None:
    numbers = weights(tmp_path / "a.bin")
    source = save_external(tmp_path / "a.onnx", place, "a.bin")
    with pytest.raises(IrInterpError, match=r"a\.bin is read, and would be overwritten; choose another name"):
        ir_interp.convert(source, tmp_path / "a.xml")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "a.bin", np.float32), numbers)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "a.onnx"]


@pytest.mark.parametrize("place", NO_TRAINING)
def test_a_portable_model_refers_to_them(place: str, tmp_path: Path) -> None:
    numbers = weights(tmp_path / "weights")
    source = save_external(tmp_path / "a.onnx", place, "weights")
    ir_interp.convert(source, tmp_path / "b.onnx", target="tensorrt", only="decomposed")
    x = values(1, 1, 8, 8)
    wanted = x.repeat(2, 2).repeat(2, 3) + numbers.reshape(1, 1, 16, 16)
    assert_equal(onnxruntime_outputs(tmp_path / "b.onnx", {"x": x})[0], wanted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.onnx", "b.onnx", "weights"]


@pytest.mark.parametrize("place", PLACES)
def test_a_portable_model_is_not_written_where_they_are_not(place: str, tmp_path: Path) -> None:
    weights(tmp_path / "weights")
    source = save_external(tmp_path / "a.onnx", place, "weights")
    (tmp_path / "other").mkdir()
    with pytest.raises(IrInterpError, match=r"a\.onnx has weights in weights: write the result beside them"):
        ir_interp.convert(source, tmp_path / "other" / "b.onnx", target="tensorrt")
    assert list((tmp_path / "other").iterdir()) == []
