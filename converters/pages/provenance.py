"""How a page was made: when, by which command, of which files, on which inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ir_interp.errors import IrInterpError
from ir_interp.files.sources import opened
from ir_interp.version import versions
from ir_interp.views.describe import shape_text

from ..sources.brief import Tensor
from ..sources.model_summary import brief, parts
from .frame import Element, note, section, table


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The making of a page.

    ``models`` are what was read; of the first, ``shapes`` are the lengths on which it ran, by name, ``inputs`` the
    files that were given, and ``seed`` is that of all other values; None where nothing was run.
    """

    command: str = ""
    models: Sequence[Path] = ()
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    inputs: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    seed: int | None = None
    image: Path | None = None


def making(provenance: Provenance) -> Element:
    """Return the part of a page that tells how it was made."""
    files = [path for model in provenance.models for path in _parts(model)]
    files += [
        *(path for paths in provenance.inputs.values() for path in paths),
        *([provenance.image] if provenance.image else []),
    ]
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts = [
        ("date", when),
        *([("command", provenance.command)] if provenance.command else []),
        ("versions", versions()),
    ]
    facts += [(f"input {name}", text) for name, text in _inputs(provenance)]
    hashes = [row for path in dict.fromkeys(files) for row in _file(path)]
    return section(
        "How this page was made",
        table(("what", "value"), facts, stacks=False),
        *([table(("file", "bytes", "SHA-256"), hashes, numbers=("bytes",))] if hashes else []),
    )


def examples(provenance: Provenance) -> Iterator[Element]:
    """Yield a remark on the sizes that dynamic dimensions of inputs had, if there are any."""
    sizes = (
        f"{tensor.name} {_example(tensor, provenance)}"
        for tensor in _tensors(provenance)
        if _example(tensor, provenance)
    )
    text = ", ".join(sizes)
    if text:
        yield note(f"Dynamic dimensions have example sizes here: {text}")


def _inputs(provenance: Provenance) -> Iterator[tuple[str, str]]:
    """Yield what each input of the first model was, where that was run."""
    for tensor in _tensors(provenance):
        yield tensor.name, f"{_shape(tensor, provenance)}, {_values(tensor, provenance)}"


def _tensors(provenance: Provenance) -> tuple[Tensor, ...]:
    """Return the inputs of the first model, where that was run and can be read again."""
    with suppress(IrInterpError):
        model = brief(provenance.models[0]) if provenance.seed is not None and provenance.models else None
        return model.inputs if model else ()
    return ()


def _shape(tensor: Tensor, provenance: Provenance) -> str:
    """Return the element type and shape of an input, and where dimensions are dynamic, the sizes that they had."""
    declared, example = str(tensor).removeprefix(f"{tensor.name}: "), _example(tensor, provenance)
    return f"{declared}, for example {example}" if example else declared


def _example(tensor: Tensor, provenance: Provenance) -> str:
    """Return the shape that an input had, if the model leaves it open; nothing otherwise."""
    ran = provenance.shapes.get(
        tensor.name, provenance.shapes.get("")
    )  # of an only input, options need not say the name
    return shape_text(tuple(ran)) if ran is not None and tuple(ran) != tensor.shape else ""


def _values(tensor: Tensor, provenance: Provenance) -> str:
    paths = provenance.inputs.get(tensor.name)
    return f"of {', '.join(path.name for path in paths)}" if paths else f"random, seed {provenance.seed}"


def _parts(model: Path) -> list[Path]:
    try:
        return parts(model)
    except IrInterpError:  # what cannot be read has a hash, too
        return [model]


def _file(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the size and the hash of a file, if it is there."""
    with suppress(OSError):
        with opened(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        yield str(path), f"{path.stat().st_size:,}", digest
