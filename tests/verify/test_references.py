"""References: outputs of other programs, saved or computed, against which models are compared and converted."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import ir_interp
from ir_interp import IrInterpError, ReadError, VerificationError
from ir_interp.errors import SpecError
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.verify.test_compare import chain

X = np.random.default_rng(0).random((1, 2, 9, 9), np.float32)


def meant(x: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the tensors of ``chain``, by this program's own executor."""
    tensors = {}
    for op in ir_interp.load("a.onnx"):
        tensors[op.name] = x = op.run(x)
    return tensors


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chain(Path("a.onnx"))
    np.save("x.npy", X)
    tensors: dict[str, Any] = {"x": X, **meant(X)}
    np.savez("all.npz", **tensors)
    np.savez("y.npz", y=meant(X)["y"])
    np.save("y.npy", meant(X)["y"])


@pytest.mark.parametrize(
    "arguments", [("all.npz",), ("y.npz", "--input", "x.npy"), ("y.npy", "--input", "x=x.npy")], ids=" ".join
)
def test_saved_outputs(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, errors = command(capsys, "compare", "a.onnx", *arguments)
    assert (code, errors) == (0, "")
    assert printed.endswith("1 of 1 outputs equal within the tolerance\n")
    assert ("no resize visible in both models differs" in printed) is (arguments == ("all.npz",))


def test_the_first_resize_that_differs_from_a_reference(capsys: pytest.CaptureFixture[str]) -> None:
    chain(Path("b.onnx"), "align_corners")
    code, printed, _ = command(capsys, "compare", "b.onnx", "all.npz")
    assert code == 1
    assert "the first resize that differs is 'two'\nthe first layer that differs is 'two'" in printed


ZERO = """g (float[1,2,9,9] x) => (float[1,2,9,9] y) <float[1] zero = {0}, float[4] s = {1,1,1,1}> {
    r = Resize <mode = "linear"> (x, "", s)
    y = Mul (r, zero)
}"""


def _zeros(x: NDArray[Any]) -> list[NDArray[Any]]:
    return [meant(x)["y"] * 0]


def test_references_in_memory() -> None:
    y = meant(X)["y"]
    for reference in (
        y,
        [y],
        {"y": y, "x": X},
        Path("all.npz"),
        lambda x: meant(x)["y"],
        lambda x: {"y": meant(x)["y"]},
    ):
        has_inputs = callable(reference) or isinstance(reference, Mapping | Path)
        found = ir_interp.compare("a.onnx", reference=reference, inputs={} if has_inputs else {"x": "x.npy"})
        assert found.passes, found
    assert not ir_interp.compare("a.onnx", reference=_zeros).passes


def test_torch_modules() -> None:
    torch = pytest.importorskip("torch")

    class Chain(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> tuple[Any, ...]:
            assert torch.is_inference_mode_enabled()
            return (torch.from_numpy(meant(x.numpy())["y"]),)

    assert ir_interp.compare("a.onnx", reference=Chain().eval()).passes
    with pytest.raises(
        IrInterpError, match=r"^reference fails on inputs of shape \[1, 2, 9, 9\]: it is in training mode"
    ):
        ir_interp.compare("a.onnx", reference=Chain())


def test_conversions_that_must_equal_a_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(capsys, "convert", "a.onnx", "a.xml", "--reference", "all.npz")[0] == 0
    report = ir_interp.convert("a.onnx", "b.xml", reference=lambda x: meant(x)["y"])
    assert report.verification is not None
    assert report.verification.note.startswith("before conversion the model is equal to reference within ")
    layer = ir_interp.convert("a.xml", "d.onnx", reference=lambda x: meant(x)["y"], fp16=True)
    assert layer.verification is not None
    assert "the model is equal to reference" in layer.verification.note
    with pytest.raises(
        VerificationError,
        match=r"^the model is wrong before conversion: output 'y' differs from reference: DIFFERS: .*; "
        r"nothing was written$",
    ):
        ir_interp.convert("a.onnx", "c.xml", reference=_zeros)
    with pytest.raises(VerificationError, match=r"^reference proves nothing about output 'y': INCONCLUSIVE: "):
        ir_interp.convert(save_model(Path("zero.onnx"), ZERO), "c.xml", reference=lambda x: x * 0)
    assert not Path("c.xml").exists()


RANKED = """g (float[1,6] x) => (float[1,2] values, int64[1,2] places, float[1,2] picked, float[1,6] half)
    <int64[1] k = {2}, float[1] small = {%s}, float[1] two = {2}> {
    scores = Mul (x, small)
    half = Div (x, two)
    values, places = TopK (scores, k)
    picked = GatherElements <axis = 1> (half, places)
}"""


def _ranked(x: NDArray[Any], *, factor: float, turns: bool, is_half: bool) -> list[NDArray[Any]]:
    """Return the outputs of RANKED, of which ``picked`` are other elements if ``turns``."""
    scores, half = x * np.float32(factor), x / np.float32(2)
    places = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    taken = places[:, ::-1] if turns else places
    picked = np.take_along_axis(half, taken, axis=1)
    return [np.take_along_axis(scores, places, axis=1), places, picked, half if is_half else x]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("factor", "turns", "is_half", "verdicts"),
    [
        (1.0, False, True, ("equal", "equal", "equal", "equal")),
        (1.0, True, True, ("equal", "equal", "DIFFERS", "equal")),  # these scores are far apart
        (0.0, True, True, ("INCONCLUSIVE", "equal", "INCONCLUSIVE", "equal")),
        (0.0, True, False, ("INCONCLUSIVE", "equal", "INCONCLUSIVE", "DIFFERS")),  # which follows from no scores
    ],
)
def test_scores_too_near_to_be_ranked(factor: float, turns: bool, is_half: bool, verdicts: tuple[str, ...]) -> None:
    save_model(Path("ranked.onnx"), RANKED % factor)
    reference = partial(_ranked, factor=factor, turns=turns, is_half=is_half)
    compared = ir_interp.compare("ranked.onnx", reference=reference, seed=1)
    assert tuple(each.compared.verdict for each in compared.outputs) == verdicts
    if verdicts[2] == "INCONCLUSIVE":
        reason = "the TopK that computes 'values' ranks scores 0 apart, so last bits decide their order"
        assert compared.outputs[2].verdict.endswith(f"; {reason}")
        assert compared.record()["outputs"][2]["limit"] is None


NO_ARRAYS = "not arrays as numpy.savez writes them"
BAD: tuple[tuple[Sequence[str], str], ...] = (
    (
        ("compare", "a.onnx", "y.npz"),
        "error: y.npz holds the outputs of certain inputs; pass them, as in --input x=input.npy, or save them in it by "
        "name\n",
    ),
    (
        ("compare", "a.onnx", "two.npz", "--input", "x.npy"),
        "error: two.npz holds u, v; expected the outputs y, or 1 arrays in their order\n",
    ),
    (
        ("compare", "a.onnx", "unknown.npz", "--input", "x.npy"),
        "error: unknown.npz holds 'three', which is no input, tensor or output of a.onnx\n",
    ),
    (
        ("compare", "a.onnx", "all.npz", "--input", "x.npy"),
        "error: all.npz holds input 'x' already; remove it there, or do not pass the file\n",
    ),
    (
        ("compare", "a.onnx", "y.npz", "--input", "x.npy,x.npy"),
        "error: y.npz holds the outputs of one set of inputs; 2 are given\n",
    ),
    (
        ("compare", "a.onnx", "y.npz", "--input", "x.npy", "--per-resize"),
        "error: --per-resize has no effect with a reference, whose inner tensors are always compared\n",
    ),
    (
        ("compare", "a.onnx", "texts.npz"),
        "error: texts.npz: not arrays as numpy.savez writes them: Object arrays cannot",
    ),
    (
        ("compare", "a.onnx", "broken.npz"),
        "error: broken.npz: not arrays as numpy.savez writes them: File is not a zip",
    ),
    (("compare", "a.onnx", "bomb.npz"), "error: bomb.npz would need "),
    (("convert", "a.onnx", "a.xml", "--reference", "y.npz", "--no-verify"), "error: --reference has no effect without"),
    (("convert", "a.onnx", "a.json", "--reference", "y.npz"), "error: --reference has no effect on .onnx to .json"),
    (
        ("compare", "a.png", "c.png"),
        "error: a.png is [4, 5, 3], c.png is [5, 5, 3]; expected two images of the same shape",
    ),
    (
        ("compare", "a.png", "b.png", "--seed", "1"),
        "error: --seed has no effect without --like",
    ),
)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("arguments", "message"), BAD, ids=str)
def test_references_that_cannot_be_compared(
    arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    y = meant(X)["y"]
    np.savez("two.npz", u=y, v=y)
    np.savez("unknown.npz", y=y, three=y)
    np.savez("texts.npz", y=np.array([{}], object))
    Path("broken.npz").write_bytes(b"PK")
    with zipfile.ZipFile("bomb.npz", "w") as file:
        file.writestr("y.npy", b"")
        file.getinfo("y.npy").file_size = 2**40  # what the directory declares decides
    _images()
    code, printed, errors = command(capsys, *arguments)
    assert (code, printed) == (2, "")
    assert errors.startswith(message), errors


def _images() -> None:
    for name, height, least in (("a", 4, 0), ("b", 4, 1), ("c", 5, 0)):
        Image.fromarray(np.arange(least, least + height * 15, dtype=np.uint8).reshape(height, 5, 3)).save(f"{name}.png")


def test_two_images(capsys: pytest.CaptureFixture[str]) -> None:
    _images()
    code, printed, errors = command(capsys, "compare", "a.png", "b.png", "--picture", "apart.png")
    assert (code, errors) == (1, "")
    assert printed == (
        "a.png and b.png: 60 of 60 values (100.0%) differ, by up to 1 at [0, 0, 0], by 1 on average over all\n"
    )
    assert Path("apart.png").stat().st_size
    assert command(capsys, "compare", "a.png", "a.png")[:2] == (0, "a.png and a.png: equal, all 60 values\n")


def test_a_reference_in_place_of_a_second_model() -> None:
    with pytest.raises(SpecError, match=r"^second and reference exclude each other; pass one of them$"):
        ir_interp.compare("a.onnx", "a.onnx", reference=X)
    with pytest.raises(SpecError, match=r"^second is missing: another model; or reference, outputs that another "):
        ir_interp.compare("a.onnx")
    with pytest.raises(SpecError, match=r"^number 0 in reference is <U5; expected numbers: a path, "):
        ir_interp.compare("a.onnx", reference=[np.array(["words"])])
    with pytest.raises(ReadError, match=r"^a.json: unknown file type"):
        ir_interp.compare("a.onnx", reference="a.json")
