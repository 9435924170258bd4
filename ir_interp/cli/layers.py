"""Which of the resizes of a file is meant."""

from __future__ import annotations

from pathlib import Path

from ir_interp.errors import ReadError, closest
from ir_interp.op import ResizeOp


def choose(found: list[ResizeOp], name: str | None, file: Path) -> ResizeOp:
    """Return the resize of a name, or the only one. Raises ReadError where that is none or several."""
    chosen = [op for op in found if name is None or op.name == name]
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise ReadError("no resize in it", file.name)
    names = [op.name for op in found]
    if name is None:
        raise ReadError(f"{len(found)} resizes; name one with --layer: {', '.join(names)}", file.name)
    problem = f"no resize named {name!r}; {closest(name, names)}" if not chosen else f"{len(chosen)} named {name!r}"
    raise ReadError(problem, file.name)
