"""Constant sizes in IRs of dynamic size: OpenVINO's reshape finds what ONNX's shape inference finds in the source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openvino as ov
import pytest

import ir_interp
from tests.fix.test_constant_sizes import found, pyramid


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def as_ir(source: Path) -> Path:
    path = source.with_suffix(".xml")
    ov.save_model(ov.convert_model(source), path, compress_to_fp16=False)
    return path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("join", ["Add", "Concat"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "nearest"},
        {"traced": 96},
        {"head": 7},
        {"form": "of the tensor"},
        {"shape": (1, 3, "h", 64)},
        {"shape": (1, 3, 64, 64)},
    ],
    ids=str,
)
def test_the_same_resizes_are_found_as_in_onnx(options: dict[str, Any], join: str) -> None:
    source = pyramid(join=join, **options)
    assert found(as_ir(source)) == found(source)


def test_the_finding_names_two_sizes() -> None:
    path = as_ir(pyramid())
    message = (
        "sizes [1, 4, 16, 16] are constant, in a model of dynamic size: "
        "it works with x [1, 3, 64, 64], not x [1, 3, 128, 128]"
    )
    assert message in {dict(row.mistakes).get("IRI019") for row in ir_interp.audit(path).rows}
    model = ov.Core().read_model(path)
    model.reshape([1, 3, 64, 64])
    with pytest.raises(RuntimeError):
        model.reshape([1, 3, 128, 128])


def test_it_is_a_finding_of_the_file_as_it_stands() -> None:
    path = as_ir(pyramid())
    assert [row for row in ir_interp.audit(path, shapes={"x": (1, 3, 64, 64)}).rows if dict(row.mistakes)] == []
    path.with_suffix(".bin").unlink()
    assert "IRI019" not in {finding.code for finding in ir_interp.audit(path).findings}


def test_conversions_are_the_same() -> None:
    report = ir_interp.convert(as_ir(pyramid()), "b.onnx")
    assert report.verification is not None
    assert [row.name for row in report.rows] == ["up_second", "up_first"]
