"""The house stands as docs/design.md draws it: imports run downwards, and none in a circle."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from tests.support.places import ROOT

FLOORS = (  # of converters/, the highest first: a module imports from its own folder and from floors below
    {"preprocess", "fleet", "pages"},
    {"conversion", "fix", "reproduce"},
    {"frameworks"},
    {"intermediate"},
    {"portable", "audit"},
    {"predictions"},
    {"ir_to_onnx", "openvino", "qnn_placement", "tensorrt_importer", "verify"},
    {"tensorrt"},
    {"sources"},
    {"onnx"},
    {"decompose", "reports", "workers"},
    {"dialects"},
    {"runtimes"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


@cache
def imports() -> dict[str, set[str]]:
    """Return what every module of ir_interp/ and converters/ imports from these two, imports inside functions too."""
    modules = {_dotted(path): path for folder in ("ir_interp", "converters") for path in (ROOT / folder).rglob("*.py")}
    return {
        name: {each for each in _imported(path, modules) if each in modules} - {name} for name, path in modules.items()
    }


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, modules: Collection[str]) -> Iterator[str]:
    """Yield what a module imports; of a package only the modules that are named, where no other names are."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            module = module.removeprefix("ir_interp.") if module.startswith("ir_interp.converters") else module
            named = [f"{module}.{each.name}" for each in node.names]
            yield from named
            if not all(each in modules for each in named):
                yield module


def _room(module: str) -> str:
    return module.split(".")[1]


def test_ir_interp_knows_converters_at_its_door_only() -> None:
    upward = {
        module
        for module, found in imports().items()
        if module.startswith("ir_interp") and any(each.startswith("converters") for each in found)
    }
    door = ("ir_interp.public", "ir_interp.cli")
    assert upward <= {"ir_interp"} | {module for module in imports() if module.startswith(door)}


def test_rooms_import_downwards() -> None:
    rooms = {_room(module) for module in imports() if module.startswith("converters.")}
    assert rooms == FLOOR.keys()
    upward = [
        f"{module} imports {each}"
        for module, found in imports().items()
        for each in sorted(found)
        if module.startswith("converters.") and each.startswith("converters.")
        if _room(module) != _room(each) and FLOOR[_room(module)] >= FLOOR[_room(each)]
    ]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    left = {module: set(found) for module, found in imports().items()}
    while free := [module for module, found in left.items() if not found & left.keys()]:
        for module in free:
            del left[module]
    assert sorted(left) == []
