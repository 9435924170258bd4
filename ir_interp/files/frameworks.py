"""The frameworks whose models are sources, as each folder of ``converters/frameworks/`` declares one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError

_FOLDER = "ir_interp.converters.frameworks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework: ``FRAMEWORK`` in the ``__init__`` of its folder, which imports nothing else.

    ``extra`` installs its ``packages``. ``extensions`` are those of its models.
    """

    folder: str
    """The package of its modules."""
    title: str
    packages: tuple[str, ...]
    extra: str
    extensions: tuple[str, ...]
    stand_in: str = ".xml"
    """Extension of the ONNX model or IR that stands for every model in its conversion; empty if not all have one."""
    has_channels_last: bool = False
    """Whether its images are NHWC by convention."""
    is_in_folders: bool = False
    """Whether folders are searched for its models; a program that is unpickled must be named."""
    has_exporters: bool = False
    """Whether ``--exporter`` chooses what writes the model that stands for one of its own."""
    file_in_folder: str = ""
    """Name of the model in a folder that stands for it."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Reasons why other files of it are refused, and remedies: by extension, or by a key of a .json."""
    in_memory: tuple[str, ...] = ()
    """The objects that are models, too, in the words of an error; ``READING`` recognises and saves them."""

    def label(self, path: Path) -> str:
        """Return the name of a model in messages: its file, or the folder that stands for it."""
        return path.parent.absolute().name if path.name == self.file_in_folder else path.name

    def check_installed(self, label: str) -> None:
        """Raise ReadError, for a model of this name, if a package is missing."""
        from importlib.util import find_spec

        if not all(map(find_spec, self.packages)):
            raise ReadError(f"needs {self.title}: pip install 'ir-interp[{self.extra}]'", label)

    def module(self, name: str) -> Any:
        """Return a module of its folder."""
        return importlib.import_module(f"{self.folder}.{name}")


def _declared() -> tuple[Framework, ...]:
    """Return what each folder declares, in alphabetical order."""
    modules = pkgutil.iter_modules(importlib.import_module(_FOLDER).__path__)
    names = sorted(module.name for module in modules if module.ispkg)
    return tuple(importlib.import_module(f"{_FOLDER}.{name}").FRAMEWORK for name in names)


FRAMEWORKS = _declared()


def refusal(mark: str) -> str | None:
    """Return why a framework's file with an extension, or with a key in JSON, is refused; None for others."""
    return next((framework.refused[mark] for framework in FRAMEWORKS if mark in framework.refused), None)
