"""An emitter, an option, a mode and a step are added as their pages tell, and by nothing else (docs/adding-*.md).

All four are added to one copy of the project.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tests.support.additions import add, files
from tests.support.clones import Clone, copied
from tests.support.graphs import save_model
from tests.support.ir_text import layer, net
from tests.support.places import ROOT

PAGES = {
    "adding-an-emitter.md": {"converters/ir_to_onnx/emitters/powers.py"},
    "adding-an-option.md": {
        "ir_interp/options/model_options.py",
        "ir_interp/public/models.py",
        "converters/audit/audit_report.py",
    },
    "adding-a-mode.md": {
        "ir_interp/specs/modes.py",
        "ir_interp/plan/moved_coordinates.py",
        "ir_interp/plan/taps.py",
        "ir_interp/translation/meaning.py",
        *(f"converters/runtimes/{name}.py" for name in ("image_runtimes", "opencv_dnn", "reference", "tvm")),
    },
    "adding-a-step.md": {
        "ir_interp/pipelines/steps.py",
        "converters/preprocess/step_nodes.py",
    },
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A copy of the project with the additions of all pages."""
    clone = copied(tmp_path_factory.mktemp("added"))
    for page, expected in PAGES.items():
        assert add(page, clone.root) == expected
    return clone


def test_an_emitter(clone: Clone, tmp_path: Path) -> None:
    layers = [
        layer("Parameter", 'shape="2,3" element_type="f32"', outputs=[(2, 3)], name="x"),
        layer("Cube", "", [(2, 3)], [(2, 3)], number=1, name="y"),
        layer("Result", "", [(2, 3)], number=2, name="z"),
    ]
    (tmp_path / "cube.xml").write_text(net(layers, [(0, 0, 1, 0), (1, 1, 2, 0)]), encoding="utf-8")
    (result,) = clone.commands(("convert", tmp_path / "cube.xml", tmp_path / "cube.onnx", "--no-verify", "--quiet"))
    assert result == [0, ""]
    session = onnxruntime.InferenceSession(tmp_path / "cube.onnx", providers=["CPUExecutionProvider"])
    x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(session.run(None, {session.get_inputs()[0].name: x})[0], x**3)


def test_an_option(clone: Clone, tmp_path: Path) -> None:
    model = save_model(
        tmp_path / "a.onnx",
        """g (float[1,3,8,8] x) => (float[1,3,4,4] y) <int64[4] s = {1,3,4,4}> {
            [shrink] r = Resize <mode = "linear"> (x, "", "", s)
            [copy] y = Resize <mode = "nearest"> (r, "", "", s) }""",
    )
    (_, printed), (_, text) = clone.commands(("audit", model, "--only", "shr", "--json"), ("audit", "--help"))
    assert [row["name"] for row in json.loads(str(printed))["resizes"]] == ["shrink"]
    assert "Report only resizes with this text in their names." in " ".join(str(text).split())
    program = f"import ir_interp; print([row.op.name for row in ir_interp.audit({str(model)!r}, only='co').rows])"
    assert clone.run("-c", program) == "['copy']\n"
    clone.run("docs/make_cli.py")
    assert "`--only NAME`" in (clone.root / "docs" / "cli.md").read_text(encoding="utf-8")


_ROUNDED = """
import numpy as np, ir_interp
from ir_interp.specs import Coordinates, Nearest, Rounding
spec = ir_interp.ResizeSpec(
    kernel=Nearest(rounding=Rounding.TOWARD_ZERO), coordinates=Coordinates.HALF_PIXEL, axes=(0,), target=%s
)
print(ir_interp.resize(np.arange(5), spec).tolist(), "toward zero" in str(spec))
"""


def test_a_mode(clone: Clone) -> None:
    for size in (8, 3):
        at = np.trunc((np.arange(size) + 0.5) * 5 / size - 0.5).astype(int).tolist()
        assert clone.run("-c", _ROUNDED % f"ir_interp.Sizes(({size},))") == f"{at} True\n"


@pytest.mark.long
def test_types_of_all_additions(clone: Clone) -> None:
    shutil.copytree(ROOT / "typings", clone.root / "typings", symlinks=True)
    shutil.copy(ROOT / "ir_interp_program.py", clone.root)
    clone.run("-m", "mypy", "ir_interp", "typings")


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if files(page)[1]])
def test_mypy_names_the_other_places(page: str, tmp_path: Path) -> None:
    clone = copied(tmp_path)
    shutil.copytree(ROOT / "typings", clone.root / "typings", symlinks=True)
    shutil.copy(ROOT / "ir_interp_program.py", clone.root)
    chosen, reported = files(page)
    assert add(page, clone.root, is_whole=False) == chosen
    command = [sys.executable, "-m", "mypy", "ir_interp", "typings"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=clone.root).stdout
    places = {line.partition(":")[0] for line in printed.splitlines() if ": error:" in line}
    assert {place.removeprefix("typings/ir_interp/") for place in places} == reported


_STEP = """
import sys, numpy as np, onnxruntime, ir_interp
from ir_interp.pipelines import pipeline, rules, source_code, steps
size = rules.Exactly(height=8, width=8)
steps = steps.Resize(like="pillow:box", size=size), steps.Invert()
data = pipeline.Pipeline.of_json(pipeline.Pipeline(steps=steps, layout="nchw").json())
ir_interp.preprocess(sys.argv[1], sys.argv[2], pipeline=data)
x = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
session = onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
(y,) = session.run(None, {session.get_inputs()[0].name: x})
expected = (255 - x.astype(np.int64)).transpose(2, 0, 1)
print(np.array_equal(y[0], expected), np.array_equal(y[0], data(x)), "invert" in data.text)
code = {}
exec(source_code.numpy(data), code)
print(np.array_equal(code["preprocess"](x), data(x)))
"""


def test_a_step(clone: Clone, tmp_path: Path) -> None:
    model = save_model(tmp_path / "a.onnx", "g (float[1,3,8,8] x) => (float[1,3,8,8] y) { y = Identity (x) }")
    printed = clone.run("-c", _STEP, str(model), str(tmp_path / "b.onnx"))
    assert printed == "True True True\nTrue\n"
