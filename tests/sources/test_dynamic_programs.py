"""Programs of PyTorch of dynamic sizes: their conversions have PyTorch's sizes and values at every size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest

import ir_interp
from ir_interp import VerificationError
from ir_interp.errors import InexactError

torch: Any = pytest.importorskip("torch", reason="pip install 'ir-interp[torch]'")
pytest.importorskip("onnxscript", reason="pip install 'ir-interp[torch]'")
interpolate, pool = torch.nn.functional.interpolate, torch.nn.functional.adaptive_avg_pool2d
TOLERANCE = 1e-4


class Net(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """A function as a module."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def program(function: Callable[[Any], Any], *, is_dynamic: bool = True, dtype: str = "float32") -> Any:
    """Return an exported program of one image, whose height and width are dynamic."""
    x, free = torch.zeros((1, 3, 23, 30), dtype=getattr(torch, dtype)), torch.export.Dim.AUTO
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about itself
        return torch.export.export(
            Net(function).eval(), (x,), dynamic_shapes=({2: free, 3: free},) if is_dynamic else None
        )


def runner(path: Path) -> Callable[[Any], Any]:
    """Return a model as a function of one array."""
    if path.suffix == ".xml":
        compiled = ov.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return lambda x: compiled([x])[0]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda x: session.run(None, {session.get_inputs()[0].name: x})[0]


def evaluate(function: Any, x: Any) -> Any:
    """Return what PyTorch computes of an array."""
    return function(torch.from_numpy(x)).numpy()


def size(axis: int, scale: float) -> Callable[[Any], Any]:
    """Return a size that Python computes in float64."""
    return lambda x: torch.sym_int(x.shape[axis] * scale)


# The sizes are those at which float32 and float64 round a product to different sides of an integer.
SIZES = {
    "bilinear by a ratio": (lambda x: interpolate(x, scale_factor=120 / 88, mode="bilinear"), ((88, 88), (11, 165))),
    "bilinear": (lambda x: interpolate(x, scale_factor=1.3, mode="bilinear"), ((90, 90), (23, 170))),
    "bicubic": (lambda x: interpolate(x, scale_factor=2.3, mode="bicubic"), ((50, 50), (31, 110))),
    "antialias": (
        lambda x: interpolate(x, scale_factor=0.7, mode="bilinear", antialias=True),
        ((90, 170), (64, 180)),
    ),
    "nearest": (lambda x: interpolate(x, scale_factor=0.7), ((90, 170), (330, 340))),
    "nearest, some doubled": (lambda x: interpolate(x, scale_factor=2.03), ((9, 16), (64, 30), (30, 40), (200, 70))),
    "nearest by sizes": (
        lambda x: interpolate(x, (size(2, 1 / 1.51)(x), size(3, 1 / 1.51)(x))),
        ((150, 199), (77, 90)),
    ),
    "sizes in float64": (
        lambda x: interpolate(x, (size(2, 1.4)(x), torch.sym_int(x.shape[3] / 3 * 2.1)), mode="bilinear"),
        ((45, 90), (90, 45)),
    ),
    "area": (lambda x: interpolate(x, scale_factor=0.7, mode="area"), ((90, 170), (24, 41), (97, 120))),
    "area, doubled": (lambda x: interpolate(x, scale_factor=2.0, mode="area"), ((24, 41), (97, 120), (64, 64))),
    "area, enlarged": (lambda x: interpolate(x, scale_factor=1.5, mode="area"), ((60, 33), (150, 101), (97, 120))),
    "pool": (lambda x: pool(x, (x.shape[2] // 5 + 3, 7)), ((127, 30), (33, 97), (24, 64), (5, 8))),
    "rows": (
        lambda x: x[:, :, (torch.arange(x.shape[2]) / 1.7).floor().long()],
        ((113, 30), (97, 41), (102, 64)),
    ),
    "nothing": (lambda x: interpolate(x, scale_factor=1.0, mode="bicubic"), ((20, 24), (24, 25), (8, 97), (23, 24))),
}


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("name", SIZES)
def test_every_size_is_that_of_pytorch(name: str, suffix: str, tmp_path: Path) -> None:
    function, sizes = SIZES[name]
    path = tmp_path / f"net{suffix}"
    ir_interp.convert(program(function), path, verify=False)
    run = runner(path)
    for height, width in sizes:
        x = np.random.default_rng(0).random((1, 3, height, width), np.float32)
        expected = evaluate(function, x)
        actual = run(x)
        assert actual.shape == expected.shape
        assert np.abs(actual - expected).max() <= TOLERANCE


def test_the_proof_tries_a_size_at_which_rounding_decides(tmp_path: Path) -> None:
    """The exporter's own model has the scale in float32: at 90 it gives 116 or 117, at 64 the same."""
    exported = program(lambda x: interpolate(x, scale_factor=1.3, mode="bilinear"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(exported, dynamo=True, verbose=False).save(tmp_path / "net.onnx")
    known = onnx.load(tmp_path / "net.onnx")
    (resize,) = (node for node in known.graph.node if node.op_type == "Resize")
    assert not resize.input[3:]  # scales, which PyTorch multiplies in float64
    with pytest.raises(VerificationError, match=r"^the model is wrong before conversion: .* it has shape "):
        ir_interp.convert(tmp_path / "net.onnx", tmp_path / "net.xml", reference=exported)


def test_the_proof_runs_at_the_sizes_of_the_example(tmp_path: Path) -> None:
    report = ir_interp.convert(
        program(lambda x: interpolate(x, scale_factor=1.3, mode="bilinear")), tmp_path / "net.xml"
    )
    assert report.verification is not None
    assert {"x": (1, 3, 23, 30)} in report.verification.more_shapes
    assert {"x": (1, 3, 90, 90)} in report.verification.more_shapes


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize(
    ("lengths", "mode", "antialias"),
    [((14, 18), "bilinear", True), ((12, 15), "bicubic", True), ((33, 40), "bicubic", False)],
)
def test_images_of_uint8_match_byte_for_byte(
    lengths: tuple[int, int], mode: str, antialias: bool, suffix: str, tmp_path: Path
) -> None:
    def function(x: Any) -> Any:
        return interpolate(x, lengths, mode=mode, antialias=antialias)

    path = tmp_path / f"net{suffix}"
    ir_interp.convert(program(function, is_dynamic=False, dtype="uint8"), path)
    run, rng = runner(path), np.random.default_rng(0)
    for _ in range(10):
        x = rng.integers(0, 256, (1, 3, 23, 30), dtype=np.uint8)
        np.testing.assert_array_equal(run(x), evaluate(function, x))


def test_integers_that_no_operations_sum_are_refused(tmp_path: Path) -> None:
    exported = program(
        lambda x: interpolate(x, (2, 3), mode="bicubic", antialias=True), is_dynamic=False, dtype="uint8"
    )
    with pytest.raises(InexactError, match="no exact form in ONNX; no operations sum these integers as PyTorch does"):
        ir_interp.convert(exported, tmp_path / "net.onnx")
