"""A framework is added by a folder with its modules, and by nothing else (docs/adding-a-framework.md)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.support.additions import add
from tests.support.clones import Clone, copied
from tests.support.graphs import save_model

SHAPE = [1, 2, 4, 6]
PACKAGE = "def double(x): return [x.repeat(2, 2).repeat(2, 3)]\n"


SORTED = ".blk, .blocks, .h5, .json, .keras, .onnx, .pb, .pdmodel, .pt2, .tflite, .xml"
LISTED = ".blk, .blocks, .h5, .keras, .pb, .pdmodel, .pt2, .tflite"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A copy of the project with one more folder."""
    clone = copied(tmp_path_factory.mktemp("added"))
    added = add("adding-a-framework.md", clone.root)
    assert {str(Path(name).parent) for name in added} == {"converters/frameworks/blocks"}
    return clone


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a model, and with a folder that stands for one."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "net.blk", tmp_path / "folder" / "main.blk"):
        path.write_text(json.dumps(SHAPE))
    return tmp_path


def test_without_its_package(clone: Clone, models: Path) -> None:
    save_model(models / "other.onnx", "g (float[1,2,4,6] x) => (float[1,2,4,6] y) { y = Relu (x) }")
    results = clone.commands(
        ("inspect", models / "net.blk"),
        ("convert", models / "net.blk", models / "net.xml"),
        ("compare", models / "other.onnx", models / "net.blk"),
        ("audit", models / "net.blk"),
    )
    error = "error: net.blk: needs Blocks: pip install 'ir-interp[blocks]'\n"
    assert results[:3] == [[2, error]] * 3
    assert results[3] == [2, f"0 resizes, 0 findings, 1 file not read\n{error}"]


def test_every_command_takes_its_models(clone: Clone, models: Path) -> None:
    packages = models / "packages"
    packages.mkdir()
    (packages / "blocks.py").write_text(PACKAGE, encoding="utf-8")
    results = Clone(models, Path(os.pathsep.join((str(clone.path), str(packages))))).commands(
        ("inspect", "net.blk"),
        ("audit", "."),
        ("convert", "net.blk", "net.onnx"),
        ("convert", "folder", "net.xml"),
        ("compare", "net.onnx", "net.blk"),
        ("compare", "net.xml", "folder"),
    )
    expected = (
        "format      Blocks, version 1;",
        "2 resizes, 0 findings",
        "before conversion the model is equal to net.blk within 0\n",
        "before conversion the model is equal to folder within 0\n",
        "1 of 1 outputs equal within the tolerance",
        "1 of 1 outputs equal within the tolerance",
    )
    texts = [str(text) for _, text in results]
    assert [code for code, _ in results] == [0] * len(results), texts
    assert [part for part, text in zip(expected, texts, strict=True) if part not in text] == []
    assert texts[1].count("exporter") == 2  # its column, over each of both models
    assert texts[1].count("✓") == 12


def test_help_and_errors_name_its_extensions(clone: Clone, models: Path) -> None:
    (_, text), misspelled, without_effect = clone.commands(
        ("convert", "--help"),
        ("inspect", models / "net.blo"),
        ("convert", models / "net.blk", models / "net.onnx", "--exporter", "openvino"),
    )
    assert f"layers: .onnx, .xml, .json, {LISTED}." in re.sub(r"[\s│]+", " ", str(text))
    expected = f"expected one of {SORTED}; did you mean '.blk'?"
    assert misspelled == [2, f"error: net.blo: unknown file type '.blo'; {expected}\n"]
    problem = "--exporter has no effect on .blk to .onnx; it goes with .pt2 to .onnx, .pt2 to .xml"
    assert without_effect == [2, f"error: {problem}\n"]
