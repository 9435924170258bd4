"""Nodes in front of a model are written only if the runtime computes what the pipeline does."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ir_interp
from ir_interp import Pipeline, ShapeError, VerificationError
from ir_interp.converters.preprocess import preprocessed_model, step_nodes
from ir_interp.pipelines.rules import Exactly
from ir_interp.pipelines.steps import Normalise, PadTo, Place, Rescale, Resize
from tests.preprocess.test_preprocess import SIZE, identity

PIPELINE = Pipeline(
    steps=(
        Resize(like="pillow:bilinear", size=Exactly(height=SIZE[0], width=SIZE[1])),
        Rescale(factor=1 / 255),
        Normalise(mean=(0.5, 0.4, 0.3), deviation=(0.2, 0.2, 0.2)),
    ),
    name="a test",
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("lengths", "given", "suffix"),
    [
        ((1, 3, *SIZE), {}, ".onnx"),
        ((1, *SIZE, 3), {"image_size": (30, 20)}, ".xml"),
        ((3, *SIZE), {"channels": 1}, ".onnx"),
        (("n", 3, "h", "w"), {"channels": 1, "image_size": (30, 20)}, ".xml"),
        ((2, 3, *SIZE), {"batch": 2}, ".onnx"),
        (("n", 3, *SIZE), {"batch": 0}, ".onnx"),
    ],
)
def test_equal(lengths: tuple[Any, ...], given: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", *lengths), tmp_path / f"whole{suffix}"
    assert ir_interp.preprocess(source, whole, pipeline=PIPELINE, **given) == "image"
    assert whole.exists()


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
def test_differs(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level of 8 bits too much, which is 0.02 after normalisation."""

    def written(steps: Any, image: Any) -> Any:
        resized = step_nodes.written(steps[:1], image)
        return step_nodes.written(steps[1:], replace(resized, tensor=resized.tensor.cast("float32") + 1.0))

    monkeypatch.setattr(preprocessed_model, "written", written)
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / f"whole{suffix}"
    with pytest.raises(VerificationError) as caught:
        ir_interp.preprocess(source, whole, pipeline=PIPELINE, image_size=(30, 20))
    assert str(caught.value) == (
        "input 'x' does not get the values of a test: it differs by 0.0196 (tolerance 0.000323); nothing was written"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.onnx"]
    ir_interp.preprocess(source, whole, pipeline=PIPELINE, image_size=(30, 20), verify=False)
    assert whole.exists()


@pytest.mark.parametrize(("length", "is_taken"), [(4, False), (70, True)])
def test_sizes_that_the_pipeline_refuses(length: int, is_taken: bool, tmp_path: Path) -> None:
    """Images of any size that it refuses prove nothing; the others do."""
    source = identity(tmp_path / "a.onnx", 1, 3, length, length)
    padded = Pipeline(steps=(PadTo(size=Exactly(height=length, width=length), place=Place.CENTRE),))
    with nullcontext() if is_taken else pytest.raises(ShapeError, match="an image of 240x320 cannot be padded to 4x4"):
        ir_interp.preprocess(source, tmp_path / "whole.onnx", pipeline=padded)


def test_temporary_files_on_another_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Path("/dev/shm")  # of Linux, in memory
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one file system only")
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "whole.xml"
    ir_interp.preprocess(source, whole, pipeline=PIPELINE, image_size=(30, 20), verify=False)
    assert {path.name for path in tmp_path.iterdir()} == {"a.onnx", "whole.xml", "whole.bin"}
