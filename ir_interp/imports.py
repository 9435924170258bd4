"""Imports of libraries, without settings from the current folder and without telemetry.

The current folder may have come with a model or an image. numba and Matplotlib would read files there that may name
code to run. OpenVINO's Python tools report their import to Google Analytics, and keep an identifier in ~/intel, unless
the package ``openvino_telemetry`` is missing. The guard works while a module of the library is executed, whoever
imports it. A library that the user's program has already imported stays unchanged, as do the user's files and
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
    """Loads numba's settings with an empty name for their file, which numba reads now and before each compilation."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        if code is None:
            return None
        constants = tuple(_NO_FILE if value == _NUMBA_FILE else value for value in code.co_consts)
        return code.replace(co_consts=constants)


class _Matplotlib(SourceFileLoader):
    """Loads Matplotlib in another folder, since it reads its settings when it is imported."""

    def exec_module(self, module: ModuleType) -> None:
        with _elsewhere(_MATPLOTLIB_FILE):
            super().exec_module(module)


class _Silent(SourceFileLoader):
    """Loads a module of OpenVINO while the package that would report cannot be imported."""

    def exec_module(self, module: ModuleType) -> None:
        with _hidden(_TELEMETRY):
            super().exec_module(module)


@contextmanager
def _elsewhere(name: str) -> Iterator[None]:
    """Leave the current folder for the block if it has a file of this name."""
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
    """Let imports of a package fail in the block, unless it is already imported."""
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
    """Keep numba from reading settings in the current folder, unless it is already imported."""
    _guard(_NUMBA)


def guard_openvino() -> None:
    """Keep OpenVINO's tools from reporting, unless they are already imported."""
    _guard(_OPENVINO)


def guard_program() -> None:
    """Guard all libraries, in processes of this program only: elsewhere, Matplotlib's settings are the user's."""
    _guard(*_LOADERS)


def _guard(*libraries: str) -> None:
    _FINDER.guarded.update(libraries)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def check_guarded(config: ModuleType) -> None:
    """Raise ImportError if numba's settings are guarded, but would still read a file in the current folder."""
    if isinstance(config.__loader__, _NumbaConfig) and getattr(config, "_config_fname", None) != _NO_FILE:
        raise ImportError(f"this release of numba would read {_NUMBA_FILE} in the current folder")
