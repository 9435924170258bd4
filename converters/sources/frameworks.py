"""The modules of a framework's folder, and the reading that each folder declares as ``READING``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir_interp.errors import ReadError
from ir_interp.files.frameworks import FRAMEWORKS, Framework
from ir_interp.files.kinds import FileKind
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from .model_description import Description


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The reading of a framework's models, by the path of a file.

    ``load`` returns the resizes, ``describe`` everything else that reports show, and ``parts`` every file of a model,
    the one of this path first. ``function`` returns a model as a function of arrays, which the framework computes,
    and ``slack`` by how much its outputs may differ on arrays; None if they are not rounded to levels.

    ``holds`` returns whether an object is such a model in memory: ``save`` writes one to a file, and ``function`` takes
    it. ``known`` returns the resizes that can be read, and the name and error of each of the others; where it is None,
    one that cannot be read leaves the file unread.
    """

    load: Callable[[Path, Semantics], list[ResizeOp]]
    describe: Callable[[Path], Description]
    function: Callable[[Any], Callable[..., Any]]
    parts: Callable[[Path], list[Path]] = lambda path: [path]
    slack: Callable[[Path], Callable[..., list[float]] | None] = lambda path: None
    holds: Callable[[object], bool] = lambda value: False
    save: Callable[[Any, Path], None] | None = None
    known: Callable[[Path], tuple[list[ResizeOp], list[tuple[str, ReadError]]]] | None = None


def declared_by(framework: Framework) -> Reading:
    """Return the reading of a framework."""
    declared: Reading = framework.module("reading").READING
    return declared


def part(kind: FileKind | None, name: str) -> Any:
    """Return a module of the framework of a kind of file; None if there is no such framework."""
    return kind.framework.module(name) if kind and kind.framework else None


def reading(kind: FileKind | None) -> Reading | None:
    """Return the reading of a kind of file; None if it belongs to no framework."""
    return declared_by(kind.framework) if kind and kind.framework else None


def of_object(value: object) -> Framework | None:
    """Return the framework of a model in memory; None for another object."""
    declaring = (framework for framework in FRAMEWORKS if framework.in_memory)
    return next((framework for framework in declaring if declared_by(framework).holds(value)), None)


def is_of_class(value: object, module: str, name: str) -> bool:
    """Return whether an object is of a class of a module; False if that is not imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
