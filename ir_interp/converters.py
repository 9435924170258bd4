"""The project's folder ``converters/``, as a package of this one.

It stands beside ``ir_interp/`` in a clone and inside it in a wheel. Its own name at the top level would clash with
the ``converters.py`` that many users have beside their scripts, so nothing imports it by that.
"""

from pathlib import Path

_HERE = Path(__file__).parent
__path__ = [str(folder) for folder in (_HERE / "converters", _HERE.parent / "converters") if folder.is_dir()]
