"""Find the frameworks: every folder of ``frameworks/`` declares the reading of its files, as ``READING``."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ir_interp.files.kinds import FileKind
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Semantics

from .brief import Brief

_FOLDER = f"{__package__.removesuffix('.sources')}.frameworks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The reading of a framework's models, by the path of a file of one of ``kinds``.

    ``load`` returns the resizes, ``operations`` the types of all operations, ``brief`` a summary without these, and
    ``parts`` every file of a model. ``function`` returns a model as a function of arrays, which the framework computes,
    and ``slack`` by how much its outputs may differ on arrays; None if they are not rounded to levels. ``label`` is the
    name of a model in messages.

    ``holds`` returns whether an object is such a model in memory: ``save`` writes one to a file, and ``function`` takes
    it.
    """

    kinds: tuple[FileKind, ...]
    load: Callable[[Path, Semantics], list[ResizeOp]]
    operations: Callable[[Path], Iterable[str]]
    brief: Callable[[Path], Brief]
    function: Callable[[Any], Callable[..., Any]]
    parts: Callable[[Path], list[Path]] = lambda path: [path]
    slack: Callable[[Path], Callable[..., list[float]] | None] = lambda path: None
    label: Callable[[Path], str] = lambda path: path.name
    holds: Callable[[object], bool] = lambda value: False
    save: Callable[[Any, Path], None] | None = None


@cache
def names() -> tuple[str, ...]:
    """Return the names of the frameworks' folders in alphabetical order."""
    found = pkgutil.iter_modules(importlib.import_module(_FOLDER).__path__)
    return tuple(sorted(module.name for module in found if module.ispkg))


def module(name: str, part: str) -> Any:
    """Return a module of a framework's folder."""
    return importlib.import_module(f"{_FOLDER}.{name}.{part}")


def reading(kind: FileKind | None) -> Reading | None:
    """Return the reading of a kind of file; None if it belongs to no framework."""
    name = _by_kind().get(kind)
    return _reading(name) if name else None


def part(kind: FileKind | None, name: str) -> Any:
    """Return a module of the framework of a kind of file; None if there is no such framework."""
    framework = _by_kind().get(kind)
    return module(framework, name) if framework else None


def of_object(value: object) -> Reading | None:
    """Return the reading of a model in memory; None for another object."""
    return next((framework for framework in map(_reading, names()) if framework.holds(value)), None)


def is_of_class(value: object, module: str, name: str) -> bool:
    """Return whether an object is of a class of a package; False if the package is not imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _reading(name: str) -> Reading:
    declared: Reading = module(name, "reading").READING
    return declared


@cache
def _by_kind() -> dict[FileKind | None, str]:
    return {kind: name for name in names() for kind in _reading(name).kinds}
