"""A runtime is added by one file, and by nothing else (docs/adding-a-runtime.md)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.clones import Clone, copied
from tests.support.graphs import save_model
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "adding-a-runtime.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PACKAGE = dedent(
    """
    import onnx
    import onnxruntime

    class load:
        def __init__(self, path):
            model = onnx.load(path)
            for node in model.graph.node:
                kept = [each for each in node.attribute if each.name != "antialias"]
                del node.attribute[:]
                node.attribute.extend(kept)
            self.session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

        def run(self, x):
            return self.session.run(None, {self.session.get_inputs()[0].name: x})[0]
    """
)
"""A package that computes what the example of the page predicts."""
GRAPH = """g (float[1,3,8,8] x) => (float[1,3,4,4] y) <int64[4] s = {1,3,4,4}> {
    [shrink] r = Resize <mode = "linear"%s> (x, "", "", s)
    [copy] y = Resize <mode = "nearest", nearest_mode = "floor"> (r, "", "", s) }"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A copy of the project with one more file, and the package that this names."""
    clone = copied(tmp_path_factory.mktemp("added"))
    (clone.root / "converters" / "runtimes" / "tiny.py").write_text(EXAMPLE, encoding="utf-8")
    (clone.root / "tiny.py").write_text(PACKAGE, encoding="utf-8")
    about = clone.root / "tiny_runtime-1.0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-runtime\nVersion: 1.0.1\n", encoding="utf-8")
    return clone


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_model(tmp_path / "a.onnx", GRAPH % ", antialias = 1")


def test_an_audit_predicts_and_runs_it(clone: Clone, model: Path) -> None:
    (_, text), (_, named), (_, installed), (_, plain) = clone.commands(
        ("audit", model, "--runtime", "tiny", "--run"),
        ("audit", model, "--runtime", "tiny", "--run", "--json"),
        ("audit", model, "--runtime", "installed", "--json"),
        ("audit", model, "--json"),
    )
    assert "IRI023 Tiny: differs" in str(text)
    shrunk, copied = (row["verdicts"]["tiny"] for row in json.loads(str(named))["resizes"])
    assert shrunk["reason"] == "it ignores antialias"
    assert [(each["prediction"], each["verdict"], each["run"]) for each in (shrunk, copied)] == [
        ("differs", "differs", True),
        ("same", "same", True),
    ]
    assert '"tiny"' in str(installed)
    assert '"tiny"' not in str(plain)


def test_it_is_a_target(clone: Clone, model: Path, tmp_path: Path) -> None:
    converted, audited = clone.commands(
        ("convert", model, tmp_path / "b.onnx", "--target", "tiny", "--quiet"),
        ("audit", tmp_path / "b.onnx", "--runtime", "tiny", "--run", "--json"),
    )
    assert converted == [0, ""]
    rows = json.loads(str(audited[1]))["resizes"]
    assert [(row["name"], row["verdicts"]["tiny"]["verdict"]) for row in rows] == [("copy", "same")]


@pytest.mark.long
def test_its_faults_are_reproduced(clone: Clone, model: Path, tmp_path: Path) -> None:
    reproduced, kit = clone.commands(
        ("reproduce", model, tmp_path / "fault", "--runtime", "tiny"),
        ("reproduce", "--kit", tmp_path / "kit"),
    )
    assert (reproduced[0], kit[0]) == (0, 0)
    assert "Tiny 1.0.1: differs" in (tmp_path / "fault" / "README.md").read_text(encoding="utf-8")
    verdicts = clone.run(str(tmp_path / "kit" / "run.py"), "tiny", "--only", "linear-half_pixel-grow")
    assert re.search(r"^linear +1 +0 +0 +0$", verdicts, re.MULTILINE)


@pytest.mark.long
def test_completion_errors_and_the_page_of_faults_name_it(clone: Clone, model: Path, tmp_path: Path) -> None:
    program = (
        "from ir_interp.cli.command_line import WORDS; print([name for name in WORDS if 'tiny' in list(WORDS[name]())])"
    )
    assert clone.run("-c", program) == "['runtimes', 'runners', 'targets']\n"
    audited, converted = clone.commands(
        ("audit", model, "--runtime", "tyny"), ("convert", model, tmp_path / "b.onnx", "--target", "tyny")
    )
    assert all("tiny" in str(text) and "did you mean 'tiny'?" in str(text) for _, text in (audited, converted))
    clone.run("docs/make_faults.py")
    page = (clone.root / "docs" / "faults.md").read_text(encoding="utf-8")
    assert "| `tiny` | Tiny | 1.0 | yes |" in page
    assert ": cubic is not supported\n" in page.partition("\n## Tiny 1.0\n")[2].partition("\n## ")[0]
