"""Measure the structure of the source: lines by folder, comments, frequent names, sizes of functions.

``python -m tests.sweeps.structure`` prints a table of ``ir_interp/`` and ``converters/``; ``--root DIR`` that of
another checkout.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.sweeps import aligned

_FOLDERS = ("ir_interp", "converters")
_DIRECTIVES = ("# noqa", "# type:", "# pragma")  # comments for tools, not for people


def _comments(path: Path) -> int:
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    return sum(each.type == tokenize.COMMENT and not each.string.startswith(_DIRECTIVES) for each in tokens)


def _bound(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _lengths(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.end_lineno - node.lineno + 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path())
    root = parser.parse_args(arguments).root
    paths = sorted(path for folder in _FOLDERS for path in (root / folder).rglob("*.py"))
    lines = {path: len(path.read_text().splitlines()) for path in paths}
    trees = [ast.parse(path.read_text()) for path in paths]
    lengths = sorted(length for tree in trees for length in _lengths(tree))
    total, comments = sum(lines.values()), sum(map(_comments, paths))
    names = Counter(name for tree in trees for name in _bound(tree))
    files = Counter(path.name for path in paths if path.name != "__init__.py")
    shared = {name: count for name, count in files.items() if count > 1}
    folders = Counter[str]()
    for path, count in lines.items():
        folders["/".join(path.relative_to(root).parts[:-1][:2])] += count
    rows = [
        ("lines, modules", f"{total}, {len(paths)}"),
        ("comments, share of lines", f"{comments}, {comments / total:.2%}"),
        ("functions: number, median, 90 %, over 30", f"{len(lengths)}, {statistics.median(lengths):g}, "
         f"{lengths[int(0.9 * len(lengths))]}, {sum(length > 30 for length in lengths) / len(lengths):.1%}"),
        ("modules over 250 lines", str(sum(count > 250 for count in lines.values()))),
        ("shared file names, modules", f"{len(shared)}, {sum(shared.values())}"),
        ("most bound names", ", ".join(f"{name} {count}" for name, count in names.most_common(24))),
        *((folder, str(count)) for folder, count in sorted(folders.items())),
    ]  # fmt: skip
    print(aligned(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
