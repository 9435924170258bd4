"""The project's folder ``converters/``, as a subpackage of this package.

It stands beside ``ir_interp/`` in a clone and inside it in a wheel. As a top-level package its name would clash with
the ``converters.py`` that many users have beside their scripts, so nothing imports it by that name.
"""

from pathlib import Path

from ir_interp.imports import guard_openvino

_HERE = Path(__file__).parent
__path__ = [str(folder) for folder in (_HERE / "converters", _HERE.parent / "converters") if folder.is_dir()]
guard_openvino()
