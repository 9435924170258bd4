"""Models that enlarge last bits are proven segment by segment; a layer that is wrong is found all the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.openvino import from_onnx
from ir_interp.converters.verify import segments

_STEPS = 24  # each doubles a difference, on the average


def _chaotic(name: str, steps: int) -> str:
    """Return nodes that make ``name`` with this number of the same with 0."""
    return "\n".join(
        f"u{name}{n} = Sub (one, {name}{n}) v{name}{n} = Mul ({name}{n}, u{name}{n}) "
        f"{name}{n + 1} = Mul (v{name}{n}, k{n})"
        for n in range(steps)
    )


def _chaos(path: Path, end: str = f"y = Identity (y{_STEPS})", *, shape: str = "1, 4, 32, 32") -> Path:
    """Write a model whose outputs are decided by last bits: y becomes 3.99 y (1 - y), time and again."""
    steps = _chaotic("y", _STEPS)
    factors = ", ".join(f"float k{n} = {{3.99}}" for n in range(_STEPS))
    model = onnx.parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 17]>
        net (float[1, 3, 16, 16] x) => (float[{shape}] y)
        <float[4] s = {{1, 1, 2, 2}}, float one = {{1}}, float little = {{1e-7}}, float much = {{1e7}}, {factors}> {{
            c = Conv <pads = [1, 1, 1, 1]> (x, w)
            tiny = Mul (c, little)
            still_tiny = Conv <pads = [1, 1, 1, 1]> (tiny, z)
            large = Mul (still_tiny, much)
            a = Sigmoid (large)
            y0 = Resize <mode = "linear"> (a, , s)
            {steps}
            {end}
        }}""")
    rng = np.random.default_rng(1)
    for name, channels in (("w", 3), ("z", 4)):
        weights = (rng.normal(size=(4, channels, 3, 3)) * 0.4).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    onnx.save(model, path)
    return path


def _changed(tensor: str, factor: float, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make conversions take a constant for another."""
    build = from_onnx.build

    def broken(path: Path, *options: Any) -> Any:
        model = onnx.load(path)
        for each in model.graph.initializer:
            if each.name == tensor:
                each.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(each) * np.float32(factor), tensor))
        onnx.save(model, folder / "broken.onnx")
        return build(folder / "broken.onnx", *options)

    monkeypatch.setattr(from_onnx, "build", broken)


def test_a_model_that_enlarges_last_bits_is_proven(tmp_path: Path) -> None:
    verification = ir_interp.convert(_chaos(tmp_path / "a.onnx"), tmp_path / "a.xml").verification
    assert verification is not None
    (output,) = verification.outputs
    assert output.absolute < 1e-6
    assert output.limit < 1.1e-4
    whole = float(output.remark.split("as a whole by ")[1].split(",")[0])
    assert whole > 0.01
    assert "segments, each on the source's own values" in verification.note


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("tensor", "factor"),
    [("w", 1.003), ("z", 1.003), pytest.param("k3", 1.0005, marks=pytest.mark.long), ("k20", 1.0005)],
)
def test_a_layer_that_is_wrong_is_found(
    tensor: str, factor: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _chaos(tmp_path / "a.onnx")
    _changed(tensor, factor, monkeypatch, tmp_path)
    near = {
        "w": ("c", "tiny", "still_tiny", "large"),
        "z": ("still_tiny", "large", "a"),
        "k3": ("y4", "uy4", "vy4"),
        "k20": ("y21", "uy21", "vy21"),
    }[tensor]
    with pytest.raises(VerificationError) as failure:
        ir_interp.convert(source, tmp_path / "a.xml")
    said = str(failure.value)
    assert any(f" to {name!r} is the first that differs" in said for name in near)
    assert "the source differs from itself by" in said


@pytest.mark.long
def test_what_decides_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which values are the largest is decided by last bits as well: those that are compared are the source's own."""
    end = f"""count = Constant <value_ints = [2000]> () every = Constant <value_ints = [-1]> ()
        q = Conv <pads = [1, 1, 1, 1]> (y{_STEPS}, z) p0 = Sigmoid (q) {_chaotic("p", 7)}
        scores = Reshape (p7, every) best, places = TopK (scores, count)
        boxes = Reshape (y0, every) chosen = GatherElements (boxes, places)
        first, last = Split (chosen) y = Sub (first, last)"""
    source = _chaos(tmp_path / "a.onnx", end, shape="1000")
    monkeypatch.setattr(segments, "_COUNTS", (9,))
    verification = ir_interp.convert(source, tmp_path / "a.xml").verification
    assert verification is not None
    assert float(verification.outputs[0].remark.split("as a whole by ")[1].split(",")[0]) > 0.01
    monkeypatch.setattr(segments, "_DECIDES", re.compile("nothing"))
    with pytest.raises(VerificationError, match="is the first that differs"):
        ir_interp.convert(source, tmp_path / "b.xml")


@pytest.mark.long
def test_long_segments_may_move_as_the_source_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _chaos(tmp_path / "a.onnx")
    monkeypatch.setattr(segments, "_COUNTS", (8,))
    verification = ir_interp.convert(source, tmp_path / "a.xml").verification
    assert verification is not None
    assert verification.note.startswith(("8 ", "9 ", "7 "))
    assert all(each.limit < 1e-3 for each in verification.outputs)
    _changed("k9", 1.03, monkeypatch, tmp_path)
    with pytest.raises(VerificationError, match="is the first that differs"):
        ir_interp.convert(source, tmp_path / "b.xml")


@pytest.mark.long
def test_a_segment_that_is_too_long_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _chaos(tmp_path / "a.onnx")
    monkeypatch.setattr(segments, "_COUNTS", (0,))
    with pytest.raises(VerificationError, match="the segment from the inputs to 'y' is the first that differs"):
        ir_interp.convert(source, tmp_path / "a.xml")
