"""How libraries are imported: without settings of the current folder, and without telemetry.

That folder may have come with a model or an image. numba and Matplotlib read files of it that may name code to run.
OpenVINO's Python tools report to Google Analytics that they are imported, and keep an identifier in ~/intel, unless
their package ``openvino_telemetry`` is missing. Each library is guarded while its own modules are executed, whoever
imports them. A library that the user's own program has imported before stays as it is, as do the user's files and
environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

_NUMBA, _MATPLOTLIB, _OPENVINO = "numba.core.config", "matplotlib", "openvino"
_NUMBA_FILE, _NO_FILE = ".numba_config.yaml", ""  # no file has an empty name
_MATPLOTLIB_FILE = "matplotlibrc"
_TELEMETRY = "openvino_telemetry"


class _NumbaConfig(SourceFileLoader):
    """Loads numba's settings, which read their file now, and again before each compilation: under another name."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        if code is None:
            return None
        constants = tuple(_NO_FILE if value == _NUMBA_FILE else value for value in code.co_consts)
        return code.replace(co_consts=constants)


class _Matplotlib(SourceFileLoader):
    """Loads Matplotlib, which reads its settings at its import, from another folder."""

    def exec_module(self, module: ModuleType) -> None:
        with _elsewhere(_MATPLOTLIB_FILE):
            super().exec_module(module)


class _Silent(SourceFileLoader):
    """Loads a module of OpenVINO, which does not find the package that would report."""

    def exec_module(self, module: ModuleType) -> None:
        with _hidden(_TELEMETRY):
            super().exec_module(module)


@contextmanager
def _elsewhere(name: str) -> Iterator[None]:
    """Leave the current folder meanwhile, if it has a file of this name."""
    if not os.path.lexists(name):
        yield
        return
    here = Path.cwd()
    os.chdir(sys.prefix)
    try:
        yield
    finally:
        os.chdir(here)


@contextmanager
def _hidden(package: str) -> Iterator[None]:
    """Let imports of a package fail meanwhile, unless it is imported already."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[package]


_LOADERS = {_NUMBA: _NumbaConfig, _MATPLOTLIB: _Matplotlib, _OPENVINO: _Silent}


class _Finder(MetaPathFinder):
    """Finds the modules of the libraries that are guarded in this process."""

    def __init__(self) -> None:
        self.guarded = set[str]()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library = _OPENVINO if fullname.startswith(f"{_OPENVINO}.") else fullname  # its tools are imported later
        if library not in self.guarded:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin and type(spec.loader) is SourceFileLoader:
            spec.loader = _LOADERS[library](fullname, spec.origin)
        return spec


_FINDER = _Finder()


def guard_numba() -> None:
    """Let numba read no settings of the current folder, if it is imported from now on."""
    _guard(_NUMBA)


def guard_openvino() -> None:
    """Let OpenVINO's tools report nothing, if they are imported from now on."""
    _guard(_OPENVINO)


def guard_program() -> None:
    """Guard all libraries, in a process of this program: in another one, Matplotlib's settings are the user's."""
    _guard(*_LOADERS)


def _guard(*libraries: str) -> None:
    _FINDER.guarded.update(libraries)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def check_guarded(config: ModuleType) -> None:
    """Raise ImportError if numba's settings are guarded, and read a file of the current folder nevertheless."""
    if isinstance(config.__loader__, _NumbaConfig) and getattr(config, "_config_fname", None) != _NO_FILE:
        raise ImportError(f"this release of numba would read {_NUMBA_FILE} in the current folder")
