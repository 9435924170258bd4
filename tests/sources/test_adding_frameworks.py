"""A framework is added by a folder with its modules, and by nothing else (``converters/frameworks``)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.clones import Clone, copied
from tests.support.graphs import save_model

SHAPE = [1, 2, 4, 6]
MODULES = {
    "__init__": """
        from ir_interp.files.kinds import Framework

        FRAMEWORK = Framework(
            folder=__name__, title="Blocks", packages=("blocks",), extra="blocks", extensions=(".blk", ".blocks"),
            stand_in=".onnx", is_in_folders=True, file_in_folder="main.blk",
        )
    """,
    "reading": """
        import json

        from ir_interp.resize_op import read
        from ir_interp.translation.dialect import Context

        from ...dialects.onnx import DIALECT
        from ...sources.readers import Reading
        from ...sources.model_description import Description, End
        from . import FRAMEWORK


        def shape_of(path):
            FRAMEWORK.check_installed(FRAMEWORK.label(path))
            return tuple(json.loads(path.read_text()))


        def load(path, semantics):
            attributes = {
                "mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric",
                "scales": [1, 1, 2, 2],
            }
            context = Context(version=19, shape=shape_of(path), dtype="float32", semantics=semantics)
            label = FRAMEWORK.label(path)
            return [read(DIALECT, attributes, context, name="up", where=f"{label}:up")]


        def describe(path):
            batch, channels, height, width = shape_of(path)
            ends = ("x", shape_of(path)), ("y", (batch, channels, 2 * height, 2 * width))
            x, y = (End(tensor=name, name=name, dtype="float32", shape=shape) for name, shape in ends)
            return Description(
                format="Blocks, version 1", inputs=(x,), outputs=(y,), operations=("Double",), constants=()
            )


        def function(path):
            FRAMEWORK.check_installed(FRAMEWORK.label(path))
            import blocks

            return blocks.double


        READING = Reading(load=load, describe=describe, function=function)
    """,
    "conversion": """
        from contextlib import contextmanager

        import onnx.parser

        from ir_interp.files.writing import scratch

        from ...intermediate import Intermediate
        from .reading import load, shape_of

        TEXT = '''<ir_version: 9, opset_import: ["" : 19]> net (float[{}] x) => (float[{}] y)
            <float[4] s = {{1, 1, 2, 2}}> {{
            [up] y = Resize<mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric"> (x, , s)
        }}'''


        def saved(source, path):
            batch, channels, height, width = shape_of(source)
            shapes = [(batch, channels, height, width), (batch, channels, 2 * height, 2 * width)]
            onnx.save(onnx.parser.parse_model(TEXT.format(*(",".join(map(str, shape)) for shape in shapes))), path)
            return path


        @contextmanager
        def intermediate(source, destination, policy, options):
            with scratch() as folder:
                yield Intermediate(model=saved(source, folder / "net.onnx"), rows=lambda rows: rows)
    """,
    "exporters": """
        from ir_interp.files.kinds import FileKind

        from ...audit.framework_exporters import Writer, asked, random_image
        from .conversion import saved
        from .reading import function, shape_of

        EXPORTERS = {
            "blocks": Writer(
                title="Blocks's exporter", package="blocks", kind=FileKind.ONNX, writer=f"{__name__}:write"
            )
        }


        def verdicts(path):
            array = random_image(shape_of(path), "float32")
            yield asked(EXPORTERS, path, array, *function(path)(array))


        def write(source, array, path):
            saved(source, path)
    """,
}
PACKAGE = "def double(x): return [x.repeat(2, 2).repeat(2, 3)]\n"


SORTED = ".blk, .blocks, .h5, .json, .keras, .onnx, .pb, .pdmodel, .pt2, .tflite, .xml"
LISTED = ".blk, .blocks, .h5, .keras, .pb, .pdmodel, .pt2, .tflite"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A copy of the project with one more folder."""
    clone = copied(tmp_path_factory.mktemp("added"))
    folder = clone.root / "converters" / "frameworks" / "blocks"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
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
