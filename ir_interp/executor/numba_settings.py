"""How numba is imported: it does not read ``.numba_config.yaml`` of the current folder, now or later.

numba reads that file when it is imported, and again before it compiles. Its settings may name a folder of compiled
code, which numba unpickles: whoever made the current folder could run code. Variables of the environment are the user's
own and stay. Imports numba only in ``import_numba``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

_MODULE = "numba.core.config"
_NAME, _FILE = "_config_fname", ".numba_config.yaml"  # of the module, and its value
_NO_FILE = ""  # no file has this name


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module, with another name of the file: the module reads it when it is executed."""
        code = super().get_code(fullname)
        if code is None:
            return None
        constants = tuple(_NO_FILE if value == _FILE else value for value in code.co_consts)
        return code.replace(co_consts=constants)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == _MODULE else None
        if spec is not None and spec.origin:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def import_numba() -> None:
    """Import numba, unless the user's own code has done so and thereby chosen its settings.

    Raises ImportError if numba is missing, or if this release would read the file in another way.
    """
    if "numba" in sys.modules:
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        config = importlib.import_module(_MODULE)
    finally:
        sys.meta_path.remove(finder)
    if getattr(config, _NAME, None) != _NO_FILE:
        raise ImportError(f"this release of numba would read {_FILE} in the current folder")
