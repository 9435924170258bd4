"""Nodes of an IR have the same names in every process, and keep those that their model gives them."""

from __future__ import annotations

from pathlib import Path

import openvino as ov
import pytest

import ir_interp
from tests.support.graphs import save_model

TEXT = """g (float[1,3,4,6] x) => (float[1,3,8,12] z) <float[4] s = {1,1,2,2}> {
    [Relu_7] y = Relu (x)
    [up] z = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (y, "", s) }"""


@pytest.mark.parametrize("only", ["native", "decomposed"])
def test_a_model_gives_the_same_bytes_again(only: str, tmp_path: Path) -> None:
    source = save_model(tmp_path / "a.onnx", TEXT)
    written = []
    for _ in range(2):
        ir_interp.convert(source, tmp_path / "a.xml", only=only, verify=False)
        written.append(((tmp_path / "a.xml").read_bytes(), (tmp_path / "a.bin").read_bytes()))
    assert written[0] == written[1]
    names = [node.get_friendly_name() for node in ov.Core().read_model(tmp_path / "a.xml").get_ops()]
    assert len(set(names)) == len(names)
    assert "Relu_7" in names
