"""Write files so that a failure leaves nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ir_interp.errors import IrInterpError


@contextmanager
def replacing(*destinations: Path) -> Iterator[tuple[Path, ...]]:
    """Yield a temporary path for each destination; at the end all are renamed into place, on an error none is.

    The temporary files lie in a folder beside the destinations and keep their names, so that a file which refers
    to another by name stays right; what else is written there, such as external data, is moved along. Raises
    IrInterpError where the folder cannot be written.
    """
    for destination in destinations:
        if destination.is_dir():
            raise IrInterpError(f"{destination} cannot be written: Is a directory")
    folder = destinations[0].parent
    try:
        with tempfile.TemporaryDirectory(prefix=".ir-interp-", dir=folder) as inside:
            temporary = tuple(Path(inside, path.name) for path in destinations)
            yield temporary
            for made in sorted(Path(inside).iterdir(), key=temporary.__contains__):
                made.replace(folder / made.name)
    except OSError as error:
        raise IrInterpError(f"{destinations[0]} cannot be written: {error.strerror or error}") from error
