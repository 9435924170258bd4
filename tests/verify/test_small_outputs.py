"""Differences count relative to the values of an output, however small: only float32's own noise is allowed besides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import ir_interp
from ir_interp import VerificationError
from tests.support.commands import command
from tests.support.graphs import onnxruntime_outputs, save_model
from tests.sweeps import tolerances

SHRINK = 'mode = "linear", antialias = 1'
SCALED = """g (float[1,3,48,48] x) => (float[1,3,17,17] y) <int64[4] s = {1,3,17,17}, float k = {FACTOR}> {
    [shrink] a = Resize <HOW> (x, "", "", s)
    y = Mul (a, k)
}"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def scaled(path: str, factor: str, how: str = SHRINK) -> Path:
    return save_model(Path(path), SCALED.replace("FACTOR", factor).replace("HOW", how))


def softmax(path: str, how: str) -> Path:
    """Write a classifier of 1,000 classes, all of nearly the same probability."""
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
        g (float[1,3,64,64] x) => (float[1,1000] y) <int64[4] s = {{1,3,8,8}}> {{
            a = Resize <{how}> (x, "", "", s)
            f = Flatten (a)
            l = MatMul (f, w)
            y = Softmax <axis = -1> (l)
        }}""")
    weights = np.random.default_rng(0).normal(size=(192, 1000)) * 0.01
    model.graph.initializer.append(numpy_helper.from_array(weights.astype(np.float32), "w"))
    onnx.save(model, path)
    return Path(path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("factor", ["0.0005", "1e-9", "1", "1e6"])
def test_a_lost_antialiasing_differs_at_every_scale(factor: str, capsys: pytest.CaptureFixture[str]) -> None:
    scaled("a.onnx", factor)
    ir_interp.convert(scaled("b.onnx", factor, 'mode = "linear"'), "b.xml", verify=False)
    ir_interp.convert("a.onnx", "a.xml")
    assert command(capsys, "compare", "a.onnx", "a.xml", "--per-resize")[0] == 0
    assert command(capsys, "compare", "a.onnx", "b.xml")[0] == 1
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--tolerance", "0.001")[0] == 1


def test_classes_of_small_probability_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    softmax("a.onnx", SHRINK)
    ir_interp.convert(softmax("b.onnx", 'mode = "linear"'), "b.xml", verify=False)
    ir_interp.convert("a.onnx", "a.xml")
    assert command(capsys, "compare", "a.onnx", "a.xml")[0] == 0
    assert command(capsys, "compare", "a.onnx", "b.xml")[0] == 1


def test_a_conversion_that_is_wrong_by_little_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from ir_interp.converters.openvino import from_onnx

    build = from_onnx.build
    other = scaled("b.onnx", "1e-9", 'mode = "linear"')
    monkeypatch.setattr(from_onnx, "build", lambda path, *options: build(other, *options))
    with pytest.raises(VerificationError, match="differs by"):
        ir_interp.convert(scaled("a.onnx", "1e-9"), "a.xml")


def test_a_reference_of_small_values_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).random((1, 3, 48, 48), np.float32)
    (y,) = onnxruntime_outputs(scaled("a.onnx", "1e-5"), {"x": x})
    (other,) = onnxruntime_outputs(scaled("b.onnx", "1e-5", 'mode = "linear"'), {"x": x})
    np.savez("right.npz", x=x, y=y)
    np.savez("wrong.npz", x=x, y=other)
    assert command(capsys, "compare", "a.onnx", "right.npz")[0] == 0
    assert command(capsys, "compare", "a.onnx", "wrong.npz")[0] == 1


def test_what_cancels_may_be_off_by_its_last_bits(capsys: pytest.CaptureFixture[str]) -> None:
    """(x + 1) - 1 has x's place only to 2^-24: in another order of additions the difference is as large as the rest."""
    text = "g (float[1,3,9,9] x) => (float[1,3,9,9] y) <float s = {1e-6}, float one = {1}, float k = {1e-3}> {BODY}"
    body = "b = Mul (x, s) c = Add (b, one) d = Sub (c, one) y = Mul (d, k)"
    save_model(Path("a.onnx"), text.replace("BODY", body))
    plain = "p = Mul (x, s) y = Mul (p, k)"
    save_model(Path("b.onnx"), text.replace("BODY", plain))
    save_model(Path("c.onnx"), text.replace("BODY", "p = Mul (x, s) q = Add (p, s) y = Mul (q, k)"))
    assert command(capsys, "compare", "a.onnx", "b.onnx")[0] == 0
    assert command(capsys, "compare", "a.onnx", "c.onnx")[0] == 1
    assert command(capsys, "compare", "b.onnx", "a.onnx")[0] == 1  # the first states how exact the second must be


@pytest.mark.parametrize("shape", [(1, 4), (4,)])
def test_small_probabilities_have_the_last_bits_of_1(
    shape: tuple[int, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Runtimes compute a sigmoid as a sum with 0.5: of e^-16 = 1.1e-7, little more than its order remains."""
    kind = f"float[{','.join(map(str, shape))}]"
    save_model(Path("a.onnx"), f"g ({kind} x) => ({kind} y) {{y = Sigmoid (x)}}")
    x = np.array([-13, -14.2, -15.1, -16.3], np.float32).reshape(shape)
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    np.savez("right.npz", x=x, y=exact.astype(np.float32))
    np.savez("wrong.npz", x=x, y=(exact * 2).astype(np.float32))
    assert command(capsys, "compare", "a.onnx", "right.npz")[0] == 0
    assert command(capsys, "compare", "a.onnx", "wrong.npz")[0] == 1


def test_the_last_place_of_small_halves_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float16[n] x) => (float16[n] y) {y = Identity (x)}")
    x = (np.arange(1, 40) * 2.0**-24).astype(np.float16)
    np.savez("near.npz", x=x, y=x + np.float16(2**-24))
    np.savez("far.npz", x=x, y=x + np.float16(2**-22))
    assert command(capsys, "compare", "a.onnx", "near.npz", "--tolerance", "0")[0] == 0
    assert command(capsys, "compare", "a.onnx", "far.npz")[0] == 1


def test_a_resize_that_differs_never_passes(capsys: pytest.CaptureFixture[str]) -> None:
    """Another layer hides the difference from the outputs: on other inputs it would not."""
    text = """g (float[1,1,28,28] x) => (float[1,1,7,7] y) <int64[4] s = {1,1,7,7}, float little = {0.0001}> {
        [shrink] a = Resize <HOW> (x, "", "", s)
        b = AveragePool <kernel_shape = [4, 4], strides = [4, 4]> (x)
        c = Mul (a, little)
        y = Add (b, c)
    }"""
    save_model(Path("a.onnx"), text.replace("HOW", SHRINK))
    save_model(Path("b.onnx"), text.replace("HOW", 'mode = "linear"'))
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx", "--per-resize", "--tolerance", "0.001")
    assert code == 1
    assert "the first resize that differs is" in printed
    assert not ir_interp.compare("a.onnx", "b.onnx", per_resize=True, tolerance=1e-3).passes
    assert command(capsys, "compare", "a.onnx", "a.onnx", "--per-resize")[0] == 0


def test_a_resize_that_differs_from_a_reference_never_passes(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).random((1, 3, 48, 48), np.float32)
    (y,) = onnxruntime_outputs(scaled("a.onnx", "1"), {"x": x})
    np.savez("right.npz", x=x, y=y, a=y)
    np.savez("wrong.npz", x=x, y=y, a=y * np.float32(1.01))
    assert command(capsys, "compare", "a.onnx", "right.npz")[0] == 0
    assert command(capsys, "compare", "a.onnx", "wrong.npz")[0] == 1
    ir_interp.convert("a.onnx", "a.xml", reference="right.npz")
    with pytest.raises(VerificationError, match="first resize that differs is 'shrink', in wrong"):
        ir_interp.convert("a.onnx", "b.xml", reference="wrong.npz")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["scaled", "softmax", "cancelled"])
def test_a_few_cases_of_the_sweep(kind: str) -> None:
    right, changed, wrong = tolerances.sweep(kind, 1, 5)
    assert not wrong
    assert (right["equal"], changed["DIFFERS"]) == (1, 1)
