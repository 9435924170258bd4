"""Weights that lie in another file are neither overwritten nor forgotten, wherever in a model they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import ir_interp
from ir_interp import IrInterpError
from tests.support.commands import command
from tests.support.external import LENGTH, PLACES, save_external
from tests.support.graphs import assert_equal, onnxruntime_outputs, values

NO_TRAINING = [place for place in PLACES if place != "training"]


def weights(path: Path) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    numbers = np.arange(LENGTH, dtype=np.float32)
    numbers.tofile(path)
    return numbers


@pytest.mark.parametrize("place", PLACES)
def test_they_are_not_overwritten(place: str, tmp_path: Path) -> None:
    numbers = weights(tmp_path / "a.bin")
    source = save_external(tmp_path / "a.onnx", place, "a.bin")
    with pytest.raises(IrInterpError, match=r"a\.bin is an input and would be overwritten; choose another name"):
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
def test_a_portable_model_takes_them_along(place: str, tmp_path: Path) -> None:
    weights(tmp_path / "weights")
    source = save_external(tmp_path / "a.onnx", place, "weights")
    (tmp_path / "other").mkdir()
    ir_interp.convert(source, tmp_path / "other" / "b.onnx", target="tensorrt")
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["b.onnx", "weights"]
    assert (tmp_path / "other" / "weights").read_bytes() == (tmp_path / "weights").read_bytes()


def test_indices_in_another_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of sparse tensors: they are seen, not overwritten, and where nothing reads them, an error says so."""
    monkeypatch.chdir(tmp_path)
    model = onnx.load(save_external(Path("a.onnx"), "sparse initialiser", "a.bin"), load_external_data=False)
    sparse = model.graph.sparse_initializer[0]
    numbers, indices = np.ones(LENGTH, np.float32), np.arange(LENGTH)
    sparse.values.CopyFrom(onnx.numpy_helper.from_array(numbers, "w"))
    sparse.indices.ClearField("raw_data")
    sparse.indices.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "a.bin"), ("offset", "0"), ("length", str(indices.nbytes))):
        sparse.indices.external_data.add(key=key, value=value)
    Path("a.onnx").write_bytes(model.SerializeToString())
    indices.tofile("a.bin")
    with pytest.raises(IrInterpError, match=r"a\.bin is an input and would be overwritten; choose another name"):
        ir_interp.convert("a.onnx", "a.xml")
    lines = (
        "inspect a.onnx", "audit a.onnx --run", "explain a.onnx", "convert a.onnx a.xml", "convert a.onnx b.xml",
        "convert a.onnx b.onnx --target openvino", "compare a.onnx a.onnx", "convert a.onnx b.json --no-verify",
        "preprocess a.onnx b.onnx --like pillow:bicubic --size 8,8",
    )  # fmt: skip
    for line in lines:
        code, _, errors = command(capsys, *line.split())
        assert "unexpected" not in errors, (line, errors)
        assert (code != 0) == errors.startswith("error: "), (line, code, errors)
    np.testing.assert_array_equal(np.fromfile("a.bin", np.int64), indices)


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        ("../secret", "its external data lie outside its folder: models/../secret; expected a file in models; "),
        (
            "../models/weights",
            "its external data lie outside its folder: models/../models/weights; expected a file in ",
        ),
        ("missing/weights", "its external data are missing: models/missing/weights; expected this file beside the "),
    ],
)
@pytest.mark.parametrize(
    "options", [("a.xml",), ("a.xml", "--freeze", "--shape", "1,1,8,8"), ("b.onnx", "--target", "tensorrt")]
)
def test_copies_stay_in_their_folder(
    location: str,
    problem: str,
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With --freeze, a copy of any file that a model named went to any place that it named, above temporary files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    for name in ("models", "temporary", "results"):
        Path(name).mkdir()
    weights(Path("secret"))
    weights(Path("models/weights"))
    save_external(Path("models/a.onnx"), "initialiser", location)
    before = sorted(tmp_path.rglob("*"))
    target, *rest = options
    code, printed, errors = command(capsys, "convert", "models/a.onnx", f"results/{target}", *rest)
    assert (code, printed) == (2, "")
    assert errors.startswith(f"error: a.onnx: {problem}")
    assert errors.endswith("export the model again\n")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "line",
    [
        "compare a.onnx b.onnx",
        "compare b.onnx a.onnx --per-resize",
        "preprocess a.onnx c.onnx --like pillow:bicubic --size 8,8",
        "fix a.onnx c.onnx",
    ],
)
def test_missing_weights_are_one_error_of_this_program(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    weights(Path("there"))
    save_external(Path("a.onnx"), "initialiser", "gone")
    save_external(Path("b.onnx"), "initialiser", "there")
    expected = "expected this file beside the model; copy it there, or export the model again"
    assert command(capsys, *line.split()) == (
        2,
        "",
        f"error: a.onnx: its external data are missing: gone; {expected}\n",
    )


@pytest.mark.parametrize("place", NO_TRAINING)
def test_preprocess_moves_weights_from_everywhere(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result needs no other file."""
    monkeypatch.chdir(tmp_path)
    numbers = weights(Path("w"))
    model = onnx.load(save_external(Path("a.onnx"), place, "w"), load_external_data=False)
    for end, shape in ((model.graph.input[0], [1, 3, 8, 8]), (model.graph.output[0], [1, 3, 16, 16])):
        end.CopyFrom(onnx.helper.make_tensor_value_info(end.name, onnx.TensorProto.FLOAT, shape))
    Path("a.onnx").write_bytes(model.SerializeToString())
    line = "preprocess a.onnx b.onnx --like pillow:bicubic --size 8,8"
    assert command(capsys, *line.split())[::2] == (0, "")
    Path("w").unlink()
    session = onnxruntime.InferenceSession("b.onnx", providers=["CPUExecutionProvider"])
    (fed,) = session.get_inputs()
    y = session.run(None, {fed.name: np.zeros((8, 8, 3), np.uint8)})[0]
    np.testing.assert_array_equal(y[0, 0], numbers.reshape(16, 16))
