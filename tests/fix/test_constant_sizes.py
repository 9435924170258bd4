"""Constant sizes in models of dynamic size: found by other input sizes, repaired with scales, run at three sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ir_interp
from tests.support.commands import command
from tests.support.graphs import onnxruntime_outputs

_DYNAMIC = ("n", 3, "h", "w")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def pyramid(
    traced: int = 64,
    shape: Sequence[int | str | None] = _DYNAMIC,
    *,
    mode: str = "linear",
    form: str = "constant",
    join: str = "Add",
    head: int = 0,
) -> Path:
    """Write a feature pyramid of three levels, exported at a size.

    ``form`` is that of the sizes: constant, partly from a shape, or of the tensor that the result is joined with.
    ``head`` is the constant size of a last resize.
    """
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    constants = {"0": np.array([0]), "2": np.array([2]), "4": np.array([4])}

    def convolution(source: str, channels: int, name: str) -> str:
        constants[f"{name}_w"] = (rng.standard_normal((4, channels, 3, 3)) * 0.2).astype(np.float32)
        window: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
        nodes.append(helper.make_node("Conv", [source, f"{name}_w"], [name], **window))
        return name

    def part(tensor: str, start: str, end: str) -> str:
        nodes.append(helper.make_node("Shape", [tensor], [f"{tensor}_shape{start}"]))
        name = f"{tensor}_{start}{end}"
        nodes.append(helper.make_node("Slice", [f"{tensor}_shape{start}", start, end], [name]))
        return name

    def enlarged(source: str, level: str, size: int) -> str:
        sizes = f"{level}_sizes"
        if form == "constant":
            constants[sizes] = np.array([1, source_channels(source), size, size])
        else:
            constants[f"{level}_size"] = np.array([size, size])
            last = part(level, "2", "4") if form == "of the tensor" else f"{level}_size"
            nodes.append(helper.make_node("Concat", [part(source, "0", "2"), last], [sizes], axis=0))
        resize = helper.make_node("Resize", [source, "", "", sizes], [f"up_{level}"], name=f"up_{level}", mode=mode)
        nodes.append(resize)
        axis: dict[str, Any] = {"axis": 1} if join == "Concat" else {}
        nodes.append(helper.make_node(join, [f"up_{level}", level], [f"joined_{level}"], **axis))
        return f"joined_{level}"

    def source_channels(source: str) -> int:
        return 8 if join == "Concat" and source.startswith("joined") else 4

    first = convolution("x", 3, "first")
    second = convolution(first, 4, "second")
    third = convolution(second, 4, "third")
    last = enlarged(enlarged(third, second, traced // 4), first, traced // 2)
    if head:
        channels = 4 if join == "Add" else 12
        constants["head_sizes"] = np.array([1, channels, head, head])
        nodes.append(helper.make_node("Resize", [last, "", "", "head_sizes"], ["y"], name="head", mode=mode))
    else:
        nodes.append(helper.make_node("Relu", [last], ["y"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", [x], [y], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "fpn.onnx")
    return Path("fpn.onnx")


def found(path: Path) -> list[str]:
    """Return the names of the resizes with the finding."""
    return [row.op.name for row in ir_interp.audit(path).rows if "IRI019" in dict(row.mistakes)]


def image(height: int, width: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(1).random((1, 3, height, width), np.float32)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("form", ["constant", "partly from a shape"])
@pytest.mark.parametrize("join", ["Add", "Concat"])
def test_a_pyramid_then_works_at_other_sizes(mode: str, form: str, join: str) -> None:
    source = pyramid(mode=mode, form=form, join=join)
    assert found(source) == ["up_second", "up_first"]
    done = ir_interp.fix(source, "dynamic.onnx")
    assert [remedy.code for repaired in done.repaired for remedy in repaired.remedies] == ["IRI019"] * 2
    assert done.comparison is not None
    assert done.comparison.is_proven
    assert done.comparison.shapes == {"x": (1, 3, 64, 64)}
    assert not found(Path("dynamic.onnx"))

    x = image(64, 64)
    before, after = (onnxruntime_outputs(Path(path), x)[0] for path in (source, "dynamic.onnx"))
    np.testing.assert_allclose(after, before, atol=1e-5)
    # At other sizes the right model is one whose sizes follow the tensors that they are joined with.
    right = Path(pyramid(mode=mode, form="of the tensor", join=join)).rename("right.onnx")
    for height, width in ((128, 128), (192, 64), (64, 320)):
        x = image(height, width)
        expected, actual = (onnxruntime_outputs(path, x)[0] for path in (right, Path("dynamic.onnx")))
        np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_a_size_that_contradicts_nothing_is_meant() -> None:
    """An output of constant size may be what was wanted."""
    source = pyramid(head=224)
    assert found(source) == ["up_second", "up_first"]
    ir_interp.fix(source, "dynamic.onnx")
    assert onnxruntime_outputs(Path("dynamic.onnx"), image(128, 192))[0].shape == (1, 4, 224, 224)


@pytest.mark.parametrize(
    ("shape", "form"),
    [((1, 3, 64, 64), "constant"), (_DYNAMIC, "of the tensor"), (("n", 3, 64, 64), "constant")],
    ids=["static", "sizes from a shape", "dynamic batch"],
)
def test_no_finding(shape: Sequence[int | str | None], form: str) -> None:
    source = pyramid(shape=shape, form=form)
    assert not found(source)
    assert not ir_interp.fix(source, "same.onnx").repaired


def test_one_dynamic_dimension() -> None:
    source = pyramid(96, (1, 3, None, 96))
    assert found(source) == ["up_second", "up_first"]
    ir_interp.fix(source, "dynamic.onnx")
    assert onnxruntime_outputs(Path("dynamic.onnx"), image(160, 96))[0].shape == (1, 4, 80, 48)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    pyramid()
    _, text, _ = command(capsys, "audit", "fpn.onnx")
    assert "it works with x [1, 3, 64, 64], not x [1, 3, 128, 128]" in text
    assert "ir-interp fix fpn.onnx fpn.fixed.onnx" in text
    code, text, _ = command(capsys, "fix", "fpn.onnx", "fpn.fixed.onnx", "--select", "IRI019")
    assert code == 0
    assert "sizes 1, 4, 32, 32 -> scales 1.0, 1.0, 2.0, 2.0" in text
    code, text, _ = command(capsys, "fix", "fpn.onnx", "same.onnx", "--ignore", "IRI019")
    assert (code, Path("same.onnx").read_bytes()) == (0, Path("fpn.onnx").read_bytes())


def test_a_part_of_a_pyramid_is_refused() -> None:
    """With one resize of two repaired, the model still works at one size only."""
    with pytest.raises(ir_interp.VerificationError, match=r"does not run with x \[1, 3, 128, 128\]"):
        ir_interp.fix(pyramid(), "dynamic.onnx", layers=["up_first"])
    assert not Path("dynamic.onnx").exists()
