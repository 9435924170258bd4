"""Models whose larger weights stay in their file: what is read, what onnxruntime computes, and in how much memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnx.external_data_helper import load_external_data_for_model

from ir_interp import ReadError
from ir_interp.converters.onnx import onnx_files
from ir_interp.converters.onnx.onnx_files import external_files, load_weights, read_file, read_outline
from tests.support.runtimes import Array

LARGE = 2**20


def saved(path: Path, *weights: Array) -> onnx.ModelProto:
    """Write a model that adds up all weights and its input."""
    tensors = [numpy_helper.from_array(weight, f"w{place}") for place, weight in enumerate(weights)]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    node = helper.make_node("Sum", ["x", *(tensor.name for tensor in tensors)], ["y"])
    graph = helper.make_graph([node], "g", [x], [y], tensors)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    model.metadata_props.add(key="after", value="the graph")
    path.write_bytes(model.SerializeToString())
    return model


def test_the_values_of_weights(tmp_path: Path) -> None:
    """An odd place in the file is none at which a mapping may start."""
    weights = np.arange(2**19, dtype=np.float32), np.array([1.5], np.float32), np.ones(2**18, np.float32)
    model = saved(tmp_path / "a.onnx", *weights)
    seen = read_outline(tmp_path / "a.onnx")
    sizes = [(tensor.data_location, len(tensor.raw_data)) for tensor in seen.graph.initializer]
    assert sizes == [(1, 0), (0, 4), (1, 0)]
    assert [entry.value for entry in seen.graph.initializer[0].external_data if entry.key == "location"] == ["a.onnx"]
    assert external_files(tmp_path / "a.onnx") == set()
    assert read_file(tmp_path / "a.onnx") == model
    load_external_data_for_model(seen, str(tmp_path))
    for tensor in seen.graph.initializer:
        tensor.ClearField("data_location")
    assert seen == model


@pytest.mark.parametrize("shift", range(4))
def test_what_onnxruntime_computes(shift: int, tmp_path: Path) -> None:
    weight = np.random.default_rng(shift).random(2**18, np.float32)
    saved(tmp_path / f"{'a' * shift}.onnx", weight)
    model = read_outline(tmp_path / f"{'a' * shift}.onnx")
    model.graph.name = "g" * (shift + 1)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": np.array([2], np.float32)})[0], weight + 2)


def test_memory(tmp_path: Path) -> None:
    saved(tmp_path / "a.onnx", np.zeros(2**25, np.uint8))
    tracemalloc.start()
    read_outline(tmp_path / "a.onnx")
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


@pytest.mark.parametrize("cut", [1, 100, LARGE + 40])
def test_a_truncated_model(cut: int, tmp_path: Path) -> None:
    saved(tmp_path / "a.onnx", np.zeros(2 * LARGE, np.uint8))
    content = (tmp_path / "a.onnx").read_bytes()
    (tmp_path / "a.onnx").write_bytes(content[:-cut])
    with pytest.raises(ReadError, match=r"^a\.onnx: not an ONNX model, or truncated: "):
        read_outline(tmp_path / "a.onnx")


@pytest.mark.parametrize(
    "content",
    [b"", b"\x0b" * LARGE, b"\xff" * 32 * LARGE, b"\x3a\xff\xff\xff\x7f" + b"a" * LARGE, b"\x08\x01" * 32 * LARGE],
    ids=["nothing", "groups", "a number without end", "a message without end", "too many fields"],
)
def test_other_bytes_stay(content: bytes, tmp_path: Path) -> None:
    """The time is that of a megabyte, however long they are."""
    (tmp_path / "a").write_bytes(content)
    with (tmp_path / "a").open("rb") as file:
        assert onnx_files.outline(file, "a") == content


def test_weights_behind_a_link_are_read(tmp_path: Path) -> None:
    """Neither ONNX nor onnxruntime follows a link to external data."""
    (tmp_path / "folder").mkdir()
    model = saved(tmp_path / "folder" / "a.onnx", np.ones(LARGE, np.uint8))
    (tmp_path / "b.onnx").symlink_to("folder/a.onnx")
    assert load_weights(read_outline(tmp_path / "b.onnx"), tmp_path / "b.onnx") == model
