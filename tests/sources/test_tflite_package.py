"""TFLite files without LiteRT."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import ir_interp
from ir_interp import IrInterpError


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "net.tflite"
    model.write_bytes(b"\x1c\0\0\0TFL3" + b"\0" * 64)
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    for function in (ir_interp.load, lambda source: ir_interp.convert(source, tmp_path / "net.onnx")):
        with pytest.raises(IrInterpError, match=r"^net.tflite: needs LiteRT: pip install 'ir-interp\[tflite\]'$"):
            function(model)
