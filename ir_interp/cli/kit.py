"""``ir-interp kit``: models with expectations, for machines that have a runtime and NumPy only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli.flags import with_options
from ir_interp.options.resize_options import KitOptions
from ir_interp.text.names import shown

EXAMPLES = """
Examples:

  ir-interp kit resizes

  python resizes/run.py onnxruntime
"""


@with_options(KitOptions)
def kit(
    folder: Annotated[Path, typer.Argument(help="The folder to write; it must not be there, or be empty.")],
    options: KitOptions,
) -> None:
    """Write a few hundred small models with expectations, and a runner that needs only NumPy and a runtime."""
    done = ir_interp.kit(folder)
    if not options.quiet:
        print(", ".join(f"{count} {group}" for group, count in done.groups.items()))
        print(shown(f"wrote {folder}: {done.count} cases; python {folder / 'run.py'} onnxruntime runs them"))
