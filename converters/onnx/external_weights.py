"""External weights of a model that is written anew: shared in the folder of its source, copied into any other."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from ir_interp.errors import ReadError
from ir_interp.files.atomic import OutputError
from ir_interp.files.paths import exists, is_file, real

from .onnx_files import external_files


@contextmanager
def weights_beside(source: Path, output: Path, temporary: Path) -> Iterator[None]:
    """Lay copies of a model's external weights beside ``temporary``, which is to become ``output``.

    The result refers to them by the same relative paths as its source. In the folder of the source it shares the
    files, so the copies go at the end; in another folder they stay, and become part of the output. Raises ReadError
    where the weights lie outside the source's folder, OutputError where a copy would replace a file of another model.
    """
    weights = _weights(source)
    is_shared = real(output.parent) == real(source.parent)
    if not is_shared:
        _check_copies(weights, source, output)
    for path in weights:
        copy = temporary.parent / path.relative_to(source.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    yield
    if is_shared:
        _clear(temporary)


def _weights(source: Path) -> Set[Path]:
    weights, folder = external_files(source), real(source.parent)
    for path in weights:
        if not real(path).is_relative_to(folder):
            raise ReadError(f"its external data lie outside its folder: {path}", source.name)
        if not is_file(path):
            raise ReadError(f"its external data are missing: {path}", source.name)
    return weights


def _check_copies(weights: Set[Path], source: Path, output: Path) -> None:
    """Raise OutputError where a copy would replace other weights than those of the output that it belongs to."""
    replaced = {real(path) for path in external_files(output)} if is_file(output) else set()
    for path in weights:
        copy = output.parent / path.relative_to(source.parent)
        # Contents are compared: files of the same size and time may differ.
        is_free = not exists(copy) or real(copy) in replaced or (is_file(copy) and filecmp.cmp(path, copy, False))
        if not is_free:
            problem = f"{copy} is there with other contents, and {source.name} needs its weights under this name"
            raise OutputError(f"{problem}; write the result into another folder")


def _clear(temporary: Path) -> None:
    for path in temporary.parent.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path != temporary:
            path.unlink()
