"""A new member of an enumeration, or a new kernel: mypy names every place that has to handle it, no format knows it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

_MODES, _KERNELS = "ir_interp/specs/modes.py", "ir_interp/specs/kernels.py"
_ADDED = {  # the line above, and the line
    "Rounding": ('    SIMPLE = "simple"', '    NEW = "new_rounding"'),
    "Coordinates": ('    TFLITE_CORNERS = "tflite_corners"', '    NEW = "new_coordinates"'),
    "Border": ('    SYMMETRIC = "symmetric"', '    NEW = "new_border"'),
    "Antialias": ('    ANY_SHRINKING = "any_shrinking"', '    NEW = "new_antialias"'),
    "IntegerRounding": ('    CUT_OFF = "cut_off"', '    NEW = "new_integers"'),
    "Arithmetic": ('    SCIPY = "scipy"', '    NEW = "new_arithmetic"'),
    "Aspect": ('    NOT_SMALLER = "not_smaller"', '    NEW = "new_aspect"'),
}
_KERNEL = """

@dataclass(frozen=True, slots=True, kw_only=True)
class New(_Kernel):
    word: ClassVar[str] = "new"


"""
_PLACES = {
    "Rounding": {
        f"{_MODES}:of",
        f"{_MODES}:along",
        "ir_interp/plan/taps.py:chosen_pixel",
        "ir_interp/translation/meaning.py:_folded",
        "converters/runtimes/image_runtimes.py:to_pixels",
        "converters/runtimes/opencv_dnn.py:_nudge",
        "converters/runtimes/reference.py:_nearest",
        "converters/runtimes/tvm.py:_pixels",
    },
    "Coordinates": {
        f"{_MODES}:formula",
        "converters/runtimes/reference.py:_places",
        "ir_interp/plan/formulas.py:source",
        "ir_interp/translation/meaning.py:_family",
        "ir_interp/translation/meaning.py:_moves_kept_axes",
    },
    "Border": {"ir_interp/plan/formulas.py:within"},
    "Antialias": {
        f"{_KERNELS}:_widened",
        "ir_interp/plan/taps.py:widening",
        "converters/decompose/taps.py:_widening",
    },
    "IntegerRounding": {
        "ir_interp/executor/loop_calls.py:code_of",
        "ir_interp/executor/definition.py:round_in_place",
        "ir_interp/translation/translate.py:_radius",
        "converters/decompose/integer_sums.py:rounded",
    },
    "Aspect": {f"{_MODES}:takes_smallest"},
    "Arithmetic": {f"{_MODES}:_is_of_library"},
    "New": {
        "ir_interp/plan/formulas.py:radius",
        "ir_interp/plan/formulas.py:sums_to_one",
        "ir_interp/plan/formulas.py:weigh",
        "ir_interp/translation/meaning.py:_kernel_parameters",
    },
}


def _copied(folder: Path, members: tuple[str, ...]) -> Path:
    """Return a copy of the sources with a new member of enumerations."""
    for name in ("ir_interp", "converters", "typings"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "ir_interp_program.py"):
        shutil.copyfile(ROOT / name, folder / name)
    modes = folder / _MODES
    text = modes.read_text(encoding="utf-8")
    for above, line in (_ADDED[member] for member in members):
        assert text.count(above) == 1
        text = re.sub(f"({re.escape(above)}.*)", rf"\1\n{line}", text)
    modes.write_text(text, encoding="utf-8")
    return folder


def _function(source: Path, line: int) -> str:
    """Return the innermost function around a line."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno).name


@pytest.mark.long
def test_mypy_names_every_place_that_a_new_member_reaches(tmp_path: Path) -> None:
    copy = _copied(tmp_path, tuple(_ADDED))
    kernels = copy / _KERNELS
    before, after = kernels.read_text(encoding="utf-8").split("\nContinuous = ")
    kernels.write_text(f"{before}{_KERNEL}Continuous = New | {after}", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "ir_interp", "typings"]
    printed = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False).stdout
    places: dict[str, set[str]] = {}
    for line in printed.splitlines():
        located = re.match(r'(?:typings/ir_interp/)?(.+?):(\d+): error: .*(?:[\[ ](\w+)\.NEW\]|type "(New)")', line)
        assert located is not None, line
        path = located[1]
        places.setdefault(located[3] or located[4], set()).add(f"{path}:{_function(copy / path, int(located[2]))}")
    unnamed = {name: known - places.get(name, set()) for name, known in _PLACES.items()}
    assert not any(unnamed.values()), unnamed


_VOCABULARIES = """
from ir_interp.converters import dialects
from ir_interp import libraries
every = [dialects.get(name) for name in dialects.own()] + [libraries.get(name).dialect for name in libraries.names()]
assert len(every) > 4
print([(each.name, key) for each in every for key, values in each.vocabulary.items()
       if any(str(value).lower().startswith("new") for value in values)])
"""


def test_no_format_has_a_word_for_a_new_member(tmp_path: Path) -> None:
    copy = _copied(tmp_path, ("Rounding", "Coordinates", "Border", "Antialias", "Aspect"))
    command = [sys.executable, "-c", _VOCABULARIES]
    assert subprocess.run(command, cwd=copy, capture_output=True, text=True, check=True).stdout == "[]\n"
