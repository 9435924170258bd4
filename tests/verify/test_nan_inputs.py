"""Inputs with NaN or infinity: where these reach an output is up to the runtimes, and never makes a model different.

Expectations are what onnxruntime and OpenVINO compute when they are called without this program.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import openvino as ov
import pytest

import ir_interp
from tests.support.commands import command
from tests.support.graphs import save_model

SHAPE = (1, 1, 4, 6)
REASON = "NaNs and infinities of the inputs reach other elements, which is up to the runtimes"
PLACES = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
ALIKE = ('mode="nearest"', 'mode="linear"', 'mode="cubic"', 'mode="linear", antialias=1, exclude_outside=1')
OTHERWISE = {
    "along one axis": ('mode="linear"', (4, 8)),
    "in primitives": ('mode="cubic", exclude_outside=1', (8, 8)),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def resize(attributes: str, sizes: tuple[int, int] = (8, 8)) -> str:
    height, width = sizes
    return f"""g (float[1,1,4,6] x) => (float[1,1,h,w] y) <int64[4] s = {{1,1,{height},{width}}}> {{
        y = Resize <{attributes}> (x, "", "", s) }}"""


def image(value: float) -> np.ndarray[Any, Any]:
    """Return an image with one pixel of a value, and write it to x.npy."""
    x = np.random.default_rng(0).random(SHAPE, np.float32)
    x[0, 0, 1, 2] = value
    np.save("x.npy", x)
    return x


def pair(attributes: str, sizes: tuple[int, int] = (8, 8)) -> None:
    """Write a resize as a.onnx, and as a.xml."""
    save_model(Path("a.onnx"), resize(attributes, sizes))
    ir_interp.convert("a.onnx", "a.xml", verify=False)


def is_masked_alike(x: np.ndarray[Any, Any]) -> bool:
    """Return whether the runtimes have NaNs and infinities in the same elements."""
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    theirs = ov.Core().compile_model("a.xml", "CPU", settings)([x])[0]
    [mine] = ort.InferenceSession("a.onnx").run(None, {"x": x})
    return np.array_equal(np.nan_to_num(mine, nan=9) > 8, np.nan_to_num(theirs, nan=9) > 8)


@pytest.mark.parametrize("value", PLACES)
@pytest.mark.parametrize("attributes", ALIKE)
def test_both_runtimes_agree(attributes: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = image(PLACES[value])
    pair(attributes)
    assert is_masked_alike(x)
    assert command(capsys, "compare", "a.onnx", "a.xml", "--input", "x=x.npy", "-q") == (0, "", "")


@pytest.mark.parametrize("options", [(), ("--tolerance", "0.01"), ("--per-resize",)])
@pytest.mark.parametrize("value", PLACES)
@pytest.mark.parametrize("kind", OTHERWISE)
def test_the_runtimes_differ(
    kind: str, value: str, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """An element that is NaN in one runtime only made two forms of one model different."""
    x = image(PLACES[value])
    pair(*OTHERWISE[kind])
    assert not is_masked_alike(x)
    code, printed, errors = command(capsys, "compare", "a.onnx", "a.xml", "--input", "x=x.npy", *options)
    assert (code, errors) == (1, "")
    assert f"INCONCLUSIVE: {REASON}; equal with numbers in place of them" in printed
    assert "DIFFERS" not in printed
    assert "the first resize that differs" not in printed
    image(0.5)
    assert command(capsys, "compare", "a.onnx", "a.xml", "--input", "x=x.npy", *options, "-q")[0] == 0


def test_a_conversion_is_not_refused(capsys: pytest.CaptureFixture[str]) -> None:
    image(np.nan)
    save_model(Path("a.onnx"), resize(*OTHERWISE["along one axis"]))
    code, printed, errors = command(capsys, "convert", "a.onnx", "a.xml", "--input", "x=x.npy")
    assert (code, errors) == (0, "")
    assert REASON in printed
    assert "INCONCLUSIVE" in printed


OTHERS = {
    "another mode": resize('mode="cubic"', (4, 8)),
    "another step": resize('mode="linear", coordinate_transformation_mode="asymmetric"', (4, 8)),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_model_is_still_different(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    image(np.nan)
    pair(*OTHERWISE["along one axis"])
    save_model(Path("b.onnx"), OTHERS[other])
    code, printed, _ = command(capsys, "compare", "b.onnx", "a.xml", "--input", "x=x.npy", "--json")
    [output] = json.loads(printed)["outputs"]
    assert (code, output["equal"]) == (1, False)


def test_a_model_that_replaces_nan_is_not_called_equal(capsys: pytest.CaptureFixture[str]) -> None:
    """With numbers, it is: only NaNs would show the difference, and they decide nothing."""
    image(np.nan)
    for name, body in (("a", "y = Identity (x)"), ("b", "isnan = IsNaN (x) y = Where (isnan, zero, x)")):
        save_model(
            Path(f"{name}.onnx"), f"g (float[1,1,4,6] x) => (float[1,1,4,6] y) <float zero = {{0}}> {{ {body} }}"
        )
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx", "--input", "x=x.npy", "--json")
    [output] = json.loads(printed)["outputs"]
    assert (code, output["conclusive"]) == (1, False)


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_reference(is_saved: bool) -> None:
    """Saved outputs are those of these inputs alone, a function computes others."""
    x = image(np.nan)
    pair(*OTHERWISE["along one axis"])
    net = ov.Core().compile_model("a.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    value: Any = {"y": net([x])[0]} if is_saved else lambda x: net([x])[0]
    comparison = ir_interp.compare("a.onnx", reference=value, inputs={"x": "x.npy"})
    [output] = comparison.outputs
    assert not comparison.passes
    assert output.verdict.startswith(f"INCONCLUSIVE: {REASON}; ")
