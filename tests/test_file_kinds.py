"""What a path names is decided in one place, whatever the case of its extension."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import ir_interp
from ir_interp import ReadError
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.places import ROOT

TEXT = """g (float[1,1,4,4] x) => (float[1,1,8,7] y) <int64[2] z = {8, 7}> {
    [up] y = Resize <mode = "linear", axes = [2, 3]> (x, , , z) }"""
X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(Path("MODEL.ONNX"), TEXT)
    np.save("x.npy", X)
    Path("x.npy").rename("X.NPY")


def done(capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
    code, printed, errors = command(capsys, *arguments)
    assert (code, errors) == (0, ""), printed


def test_every_kind_in_upper_case_is_converted_and_verified(capsys: pytest.CaptureFixture[str]) -> None:
    done(capsys, "convert", "MODEL.ONNX", "MODEL.XML", "--input", "x=X.NPY", "--html", "PAGE.HTM")
    done(capsys, "convert", "MODEL.ONNX", "HALF.XML", "--fp16")
    done(capsys, "convert", "MODEL.XML", "BACK.ONNX")
    done(capsys, "convert", "MODEL.ONNX", "PORTABLE.Onnx", "--target", "openvino")
    done(capsys, "convert", "MODEL.ONNX", "LAYERS.JSON")
    done(capsys, "convert", "LAYERS.JSON", "LAYER.ONNX")
    done(capsys, "convert", "LAYERS.JSON", "LAYER.XML")
    done(capsys, "convert", "MODEL.XML", "BUILD.PY")
    wanted = ir_interp.load("MODEL.ONNX")[0].run(X)
    for name in ("MODEL.XML", "BACK.ONNX", "PORTABLE.Onnx", "LAYERS.JSON", "LAYER.ONNX", "LAYER.XML"):
        (op,) = ir_interp.load(name)
        np.testing.assert_allclose(op.run(X), wanted, rtol=0, atol=1e-5)


def test_every_verb_takes_a_model_in_upper_case(capsys: pytest.CaptureFixture[str]) -> None:
    done(capsys, "inspect", "MODEL.ONNX")
    done(capsys, "run", "MODEL.ONNX", "--input", "X.NPY", "--output", "Y.NPY")
    assert np.load("Y.NPY").shape == (1, 1, 8, 7)
    done(capsys, "compare", "MODEL.ONNX", "MODEL.ONNX", "--per-resize", "--input", "x=X.NPY")
    done(capsys, "explain", "MODEL.ONNX")
    done(capsys, "plot", "MODEL.ONNX", "P.PNG", "--what", "image", "--against", "MODEL.ONNX", "--input", "X.NPY")
    Path("models").mkdir()
    shutil.copy("MODEL.ONNX", "models")
    code, printed, _ = command(capsys, "audit", "models", "--run", "--format", "json", "--html", "PAGE.HTML")
    (row,) = json.loads(printed)["resizes"]
    assert (code, Path(row["file"]).name) == (0, "MODEL.ONNX")
    assert [each["run"] for name, each in row["verdicts"].items() if name != "tensorrt"] == [True] * 4


def test_what_is_none_of_the_expected_kinds() -> None:
    with pytest.raises(ReadError, match=r"^a\.onxn: unknown file type '\.onxn'; expected one of .* mean '\.onnx'\?$"):
        ir_interp.load("a.onxn")
    with pytest.raises(ReadError, match=r"^a\.PNG: unknown file type '\.PNG'; expected one of \.onnx, \.xml"):
        ir_interp.compare("folder/a.PNG", "MODEL.ONNX")


def test_extensions_are_looked_at_in_one_place() -> None:
    """A file may be known by what it is called, but no other module says what that means."""
    looking = re.compile(r"\.suffix\.|\.suffix (==|!=|in|not)|\.endswith\(\"\.|splitext")
    modules = [path for folder in ("ir_interp", "converters") for path in sorted((ROOT / folder).rglob("*.py"))]
    found = [path.name for path in modules if looking.search(path.read_text(encoding="utf-8"))]
    assert found == ["kinds.py"]
