"""Conversions with a pipeline in front: the same model as from a conversion and ``preprocess``."""

from __future__ import annotations

import json
from pathlib import Path

import onnx.parser
import pytest

import ir_interp
from tests.support.commands import command

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
g (float[1, 3, 12, 10] image, float[1, 1, 9, 7] mask) => (float[1, 3, 9, 7] y)
<float[3, 3, 1, 1] w = {1, 0, 2, 0, 1, 0, -1, 0, 1}, int64[4] sizes = {1, 3, 9, 7}> {
    c = Conv (image, w)
    r = Resize <mode = "linear"> (c, , , sizes)
    y = Mul (r, mask)
}"""
CONFIGURATION = {
    "image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": 12, "width": 10}, "resample": 3,
    "do_rescale": True, "rescale_factor": 1 / 255,
    "do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.25] * 3,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(MODEL), "net.onnx")
    Path("config.json").write_text(json.dumps(CONFIGURATION))


@pytest.mark.parametrize(("source", "result"), [("net.onnx", "whole.xml"), ("net.xml", "whole.onnx")])
def test_it_is_the_model_of_both_commands(source: str, result: str, capsys: pytest.CaptureFixture[str]) -> None:
    if source == "net.xml":
        ir_interp.convert("net.onnx", source)
    flags = ["--preprocess", "image=config.json:pil", "--image-size", "20,31"]
    code, printed, errors = command(capsys, "convert", source, result, *flags)
    assert (code, errors) == (0, "")
    assert printed.startswith(f"1 resize of {source}\n")
    assert (
        "\nnote: input 'image_1' takes uint8 [20, 31, 3]; ViTImageProcessor (pil backend) computes 'image'\n" in printed
    )
    assert printed.endswith(f"\nwrote {result}\n")
    both = f"both{Path(result).suffix}"
    ir_interp.preprocess("net.onnx", both, config="config.json", backend="pil", image_size=(20, 31), name="image")
    compared = ir_interp.compare(result, both, seed=1)
    assert compared.passes
    assert max(output.seen.absolute for output in compared.outputs) == 0


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--image-size", "20,31"], "--image-size has no effect without --preprocess"),
        (
            ["--preprocess", "config.json:pil"],
            "net.onnx: 2 inputs; name that of the images (preprocess --input, convert --preprocess NAME=PIPELINE);"
            " expected one of image, mask",
        ),
        (["--preprocess", "x=config.json:pil"], "net.onnx: no input 'x'; expected one of image, mask"),
        (
            ["--preprocess", "mask=config.json:pil"],
            "input 'mask' takes 1 channels; images have 3",
        ),
        (["--preprocess", "none.json:pil"], "none.json: cannot be read: No such file or directory"),
        (
            ["--preprocess", "image=config.json:pil", "--report", "config.json"],
            "config.json is an input and would be overwritten; choose another name",
        ),
    ],
)
def test_pipelines_that_do_not_fit(flags: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, errors = command(capsys, "convert", "net.onnx", "whole.xml", *flags)
    assert (code, printed, errors) == (2, "", f"error: {error}\n")
    assert not Path("whole.xml").exists()


def test_a_file_with_an_equals_sign_is_a_pipeline() -> None:
    Path("image=config.json").write_text(json.dumps(CONFIGURATION))
    with pytest.raises(ir_interp.ReadError, match=r"^net.onnx: 2 inputs; name that of the images"):
        ir_interp.convert("net.onnx", "whole.xml", preprocess="image=config.json:pil")
    assert ir_interp.convert(
        "net.onnx", "whole.xml", preprocess="image=image=config.json:pil", image_size=[20, 31]
    ).rows
