"""Write docs/tour.md, the notebook samples/tour.ipynb with the results of its cells: ``python docs/make_tour.py``."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("tour.md")
SAMPLES = PATH.parents[1] / "samples"
_PICTURE = PATH.with_suffix(".svg")


def text() -> str:
    """Return the page, and write its picture anew where there is none."""
    sys.path.insert(0, str(SAMPLES))  # where the notebook is started
    try:
        return "\n".join(_parts(json.loads((SAMPLES / "tour.ipynb").read_text(encoding="utf-8"))))
    finally:
        sys.path.remove(str(SAMPLES))


def _parts(notebook: Mapping[str, Any]) -> Iterator[str]:
    names: dict[str, Any] = {}
    introduction = ""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            introduction = source.removesuffix(":")
            yield f"{source}\n"
        else:
            yield f"```python\n{source}\n```\n"
            yield from _results(source, names, introduction)


def _results(source: str, names: dict[str, Any], introduction: str) -> Iterator[str]:
    """Run a cell, and yield its prints and the value of its last line; a picture is described by ``introduction``."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None  # noqa: S307
    if hasattr(value, "_repr_svg_"):
        if not _PICTURE.exists():  # Matplotlib's releases draw the same differently
            _PICTURE.write_text(value._repr_svg_(), encoding="utf-8")
        yield f"![{introduction}]({_PICTURE.name})\n"
    elif shown := printed.getvalue() + ("" if value is None else f"{value!r}\n"):
        yield f"```text\n{shown}```\n"


if __name__ == "__main__":
    _PICTURE.unlink(missing_ok=True)
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
