"""The table of emitters: whatever modules there are."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from ir_interp.converters.ir_to_onnx import emitters, onnx_model
from ir_interp.converters.ir_to_onnx.layers import NEWEST, SINCE
from tests.support.layer_types import listed
from tests.support.places import ROOT

MODULE = """
def emit(graph, op):
    return graph.node("Identity", op.inputs[0])


TABLE = {"%s": emit}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return another folder of emitters."""
    monkeypatch.setattr(emitters, "__path__", [*emitters.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    return tmp_path


def test_a_module_adds_a_type(folder: Path) -> None:
    (folder / "wobbles.py").write_text(MODULE % "Wobble")
    assert onnx_model.found_emitters().keys() - onnx_model.EMITTERS.keys() == {"wobble"}


def test_every_layer_of_every_operation_set_is_written_or_refused_with_a_reason() -> None:
    held = listed()
    assert {number for numbers in held.values() for number in numbers} == set(range(1, NEWEST + 1))
    assert held.keys() - onnx_model.EMITTERS.keys() == set()
    assert all(numbers == list(range(SINCE.get(kind, 1), NEWEST + 1)) for kind, numbers in held.items())
    assert onnx_model.EMITTERS.keys() >= SINCE.keys()


def test_the_page_has_every_layer() -> None:
    page = (ROOT / "docs/layers.md").read_text(encoding="utf-8")
    page = page[page.index("\n## Layers\n") : page.index("\n## Refusals\n")]
    converted, _, refused = page.partition("\nThese are refused:\n")
    rows = re.findall("^- .*?: (.*)$", converted, re.MULTILINE) + re.findall("^- (.*?): ", refused, re.MULTILINE)
    named = {name.partition("-")[0].lower() for row in rows for name in row.split(", ")}
    assert named == onnx_model.EMITTERS.keys() - {"const"}


def test_two_emitters_of_one_type_are_an_error(folder: Path) -> None:
    (folder / "wobbly_sums.py").write_text(MODULE % "ADD")
    with pytest.raises(ValueError, match=r"^two emitters write ADD: one of elementwise, one of wobbly_sums$"):
        onnx_model.found_emitters()
