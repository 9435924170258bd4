"""Measure the structure of the source: rooms, statements, imports, uses of Any, and modules that a call enters.

``python -m tests.sweeps.structure`` prints a table of ``ir_interp/`` and ``converters/``, with the goal of each
measure, and exits with 1 where one is missed. ``--root DIR`` measures another checkout. ``--entered`` also counts the
modules that calls enter, each in a fresh process; the one for programs needs torch. The files touched to add something
are those of the pages docs/adding-*.md, which ``tests/test_adding.py`` really adds.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import numpy as np

from tests.support.additions import files
from tests.support.places import ROOT
from tests.support.sweeps import aligned

_FOLDERS = ("ir_interp", "converters")
_ARRAYS = ("NDArray", "dtype", "ndarray")
"""Types whose parameter may be any element type."""
_DOORS = ("ir_interp", "ir_interp.specs", "ir_interp.errors", "ir_interp.cli.main")
"""What a user imports, and the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure:
    name: str
    value: float
    goal: float

    @property
    def row(self) -> tuple[str, str, str]:
        shown = [f"{number:.1%}" if 0 < self.goal < 1 else f"{number:,g}" for number in (self.value, self.goal)]
        return self.name, shown[0], f"at most {shown[1]}" + ("" if self.value <= self.goal else ", missed")


def _annotated(tree: ast.AST) -> Iterator[ast.Name]:
    """Yield each use of Any that is no element type of an array."""
    arrays = {
        id(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] in _ARRAYS
        for name in ast.walk(node.slice)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "Any" and id(node) not in arrays:
            yield node


def _returns_any(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return isinstance(node.returns, ast.Name) and node.returns.id == "Any"


def _is_wildcard(node: ast.AST) -> bool:
    """Return whether a case takes all that no other does, which hides a new member of an Enum or of a union."""
    if not isinstance(node, ast.match_case) or "assert_never" in ast.dump(node):
        return False
    return isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None and node.pattern.name is None


def _imports_internals(tree: ast.AST) -> bool:
    """Return whether a test imports more than what users do."""
    names = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    return any(name.partition(".")[0] == "ir_interp" and name not in _DOORS for name in names)


def _measures(root: Path) -> list[_Measure]:
    paths = sorted(path for folder in _FOLDERS for path in (root / folder).rglob("*.py"))
    texts = [path.read_text() for path in paths]
    trees = [ast.parse(text) for text in texts]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    lengths = [text.count("\n") for text in texts]
    tests = [ast.parse(path.read_text()) for path in sorted((root / "tests").rglob("test_*.py"))]
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in imports)
    return [
        _Measure(name="modules", value=len(paths), goal=270),
        _Measure(name="lines of the longest module", value=max(lengths), goal=600),
        _Measure(name="distance of their median from 275 lines", value=abs(statistics.median(lengths) - 275), goal=75),
        _Measure(name="statements", value=sum(isinstance(node, ast.stmt) for node in nodes), goal=43_000),
        _Measure(name="lines of imports", value=lines / sum(lengths), goal=0.05),
        _Measure(name="Any", value=sum(len(list(_annotated(tree))) for tree in trees), goal=500),
        _Measure(name="functions that return Any", value=sum(map(_returns_any, nodes)), goal=40),
        _Measure(name="cases for all that no other takes", value=sum(map(_is_wildcard, nodes)), goal=0),
        _Measure(name="test modules that import internals", value=sum(map(_imports_internals, tests)), goal=99),
    ]


_ADDED = {"option": 3, "mode": 3, "step": 2, "emitter": 2}
"""The most files to touch for one more, besides those that mypy names."""


def _additions() -> Iterator[_Measure]:
    for thing, goal in _ADDED.items():
        article = "an" if thing[0] in "eo" else "a"
        chosen, reported = files(f"adding-{article}-{thing}.md")
        named = f", besides {len(reported)} that mypy names" if reported else ""
        yield _Measure(name=f"files touched to add {article} {thing}{named}", value=len(chosen), goal=goal)


_ENTERED = {
    "resize": (16, 6),
    "pillow": (20, 20),
    "ONNX to IR": (55, 55),
    "IR to ONNX": (65, 65),
    "audit": (50, 50),
    "program to IR": (75, 75),
}
"""The goals of the first and of a second call."""


def _entered(call: Callable[[], object]) -> set[str]:
    """Return the modules that a call enters, in threads too; what runs while a module is imported does not count."""
    modules, importing = set[str](), Counter[int]()
    folders = tuple(f"{ROOT}/{folder}/" for folder in _FOLDERS)

    def profile(frame: FrameType, event: str, _: object) -> None:
        code, thread = frame.f_code, threading.get_ident()
        if code.co_name == "<module>" and event in ("call", "return"):
            importing[thread] += 1 if event == "call" else -1
        is_named = event == "call" and not code.co_name.startswith("<")
        if is_named and not importing[thread] and code.co_filename.startswith(folders):
            modules.add(code.co_filename)

    sys.setprofile(profile)
    threading.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return modules


def _call(case: str, folder: Path) -> Callable[[], object]:
    import ir_interp

    onnx, ir = str(folder / "fpn.onnx"), str(folder / "fpn.xml")
    image = np.random.default_rng(0).integers(0, 256, (64, 48, 3), np.uint8)
    if case == "resize":
        spec = ir_interp.ResizeSpec(kernel=ir_interp.Linear(), axes=(0, 1), target=ir_interp.Sizes((32, 24)))
        return lambda: ir_interp.resize(image, spec)
    if case == "pillow":
        return lambda: ir_interp.resize(image, (32, 24), "pillow:bicubic")
    if case == "program to IR":
        _save_program(folder / "net.pt2")
        return lambda: ir_interp.convert(str(folder / "net.pt2"), str(folder / "net.xml"))
    subprocess.run([sys.executable, "samples/fpn.py", onnx], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    if case == "ONNX to IR":
        return lambda: ir_interp.convert(onnx, ir, verify=False)
    if case == "audit":
        return lambda: ir_interp.audit(onnx)
    # Another process converts it, so that none of its modules is warm here.
    program = f"import ir_interp; ir_interp.convert({onnx!r}, {ir!r}, verify=False)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
    return lambda: ir_interp.convert(ir, str(folder / "back.onnx"), verify=False)


def _save_program(path: Path) -> None:
    import torch

    net = torch.nn.Upsample(scale_factor=2.0, mode="bilinear")
    torch.export.save(torch.export.export(net.eval(), (torch.rand(1, 3, 16, 16),)), path)


def _calls() -> Iterator[_Measure]:
    for case, goals in _ENTERED.items():
        command = [sys.executable, "-m", "tests.sweeps.structure", "--case", case]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
        counts = result.stdout.split()[-2:] if result.returncode == 0 else []
        for which, count, goal in zip(("first", "second"), counts, goals, strict=False):
            yield _Measure(name=f"modules entered by {case}, {which} call", value=int(count), goal=goal)
        if not counts:
            print(f"{case} does not run")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the counts of one case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--entered", action="store_true", help="count the modules that calls enter, too")
    parser.add_argument("--case", choices=list(_ENTERED), help="count those of one call, in this process")
    given = parser.parse_args(arguments)
    if given.case:
        with tempfile.TemporaryDirectory() as folder:
            call = _call(given.case, Path(folder))
            print(*(len(_entered(call)) for _ in range(2)))
        return 0
    measures = [*_measures(given.root), *_additions(), *(_calls() if given.entered else ())]
    print(aligned([measure.row for measure in measures]))
    return int(any(measure.value > measure.goal for measure in measures))


if __name__ == "__main__":
    sys.exit(main())
