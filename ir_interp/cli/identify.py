"""``ir-interp identify``: which image library resized an image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ir_interp.cli import progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import print_result, printed_form
from ir_interp.errors import IrInterpError
from ir_interp.files.paths import is_folder
from ir_interp.options.resize_options import IdentifyOptions
from ir_interp.text.names import printable

EXAMPLES = """
ir-interp identify photo.png small.png
ir-interp identify originals/ resized/
"""


@with_options(IdentifyOptions)
def identify(
    before: Annotated[
        Path, typer.Argument(metavar="BEFORE", help="The original: an image or array (.npy), or a folder of them.")
    ],
    after: Annotated[
        Path, typer.Argument(metavar="AFTER", help="The resized image or array, or a folder with the same file names.")
    ],
    options: IdentifyOptions,
) -> int:
    """Find which library call resized an image.

    Exit code 1 unless the call is certain.
    """
    from ir_interp.origins import search
    from ir_interp.origins.pairs import read_pair

    form = printed_form(options)
    with progress.bar(options.quiet, "searching") as report:
        pairs = [read_pair(first, second) for first, second in _pairs(before, after)]
        identified = search.identified(pairs, report)
    print_result(form, identified.record, lambda: print("\n".join(map(printable, identified.text.splitlines()))))
    return 0 if identified.is_sure else 1


def _pairs(before: Path, after: Path) -> list[tuple[Path, Path]]:
    """Return the files that belong together. Raises IrInterpError if no name is in both folders, or one is a file."""
    folders = [path for path in (before, after) if is_folder(path)]
    if not folders:
        return [(before, after)]
    if len(folders) == 1:
        other = after if folders == [before] else before
        raise IrInterpError(f"{folders[0]} is a folder, and {other} is not; expected two files or two folders")
    common = sorted({path.name for path in before.iterdir()} & {path.name for path in after.iterdir()})
    if not common:
        problem = f"no file name occurs in both {before} and {after}"
        raise IrInterpError(f"{problem}; give each resized image the name of its original")
    return [(before / name, after / name) for name in common]
