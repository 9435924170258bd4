"""Containers in the arguments and outputs of a program that their own package does not have to be imported for.

A program names the type of each container, such as the outputs of transformers, and torch refuses names that no package
has registered. Stand-ins under these names hold the same tensors, without code of that package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from ir_interp.files.kinds import FileKind

_TYPE = re.compile(rb'\{\\"type\\": \\"(?P<name>[^"\\]+)\\"')  # JSON inside a string of JSON


def register(path: Path) -> None:
    """Make the containers of a .pt2 file known to torch, unless they are. Raises BadZipFile for other files."""
    from torch.utils import _pytree as pytree

    for name in set(_types(path)) - pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.keys():
        container = type(name, (_Container,), {})
        pytree.register_pytree_node(
            container,
            lambda container: (container.leaves, container.context),
            container,
            serialized_type_name=name,
            to_dumpable_context=lambda context: context,
            from_dumpable_context=lambda context: context,
        )


def _types(path: Path) -> Iterator[str]:
    """Yield the names of all containers; each describes itself in the JSON of the file."""
    with ZipFile(path) as archive:
        for member in archive.namelist():
            if FileKind.of(member) is FileKind.JSON:
                yield from (match["name"].decode() for match in _TYPE.finditer(archive.read(member)))


class _Container:
    """The tensors of a container in order, and its description as the file has it."""

    def __init__(self, leaves: Iterable[Any], context: Any) -> None:
        self.leaves = list(leaves)
        self.context = context
