"""Values of options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ir_interp.atomic import OutputError
from ir_interp.errors import IrInterpError
from ir_interp.kinds import FileKind

if TYPE_CHECKING:
    from ir_interp.converters.verify.images import Images


def _named(option: str, thing: str, kind: FileKind) -> Callable[[Path | None], Path | None]:
    """Return what lets names of a kind of file pass, and raises OutputError for others, such as that of a model."""

    def check(path: Path | None) -> Path | None:
        if path is not None and FileKind.of(path) is not kind:
            raise OutputError(f"{option} {str(path)!r} is no name of a {thing}; expected {kind.value}")
        return path

    return check


Html = Annotated[
    Path | None,
    typer.Option(
        "--html",
        callback=_named("--html", "page", FileKind.PAGE),
        help="Write the report to this file too, as one page of HTML.",
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--report",
        callback=_named("--report", "report", FileKind.JSON),
        help="Write the report to this file too, as JSON.",
    ),
]


def integers(text: str | None, option: str) -> tuple[int, ...] | None:
    """Return ``50,60`` as integers. Raises IrInterpError for anything else."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise IrInterpError(f"{option} {text!r}: expected integers with commas between them, as in 50,60") from None


def reals(text: str | None, option: str) -> tuple[float, ...] | None:
    """Return ``2,1.5`` as numbers. Raises IrInterpError for anything else."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise IrInterpError(f"{option} {text!r}: expected numbers with commas between them, as in 2,1.5") from None


def shapes(words: list[str]) -> dict[str, tuple[int, ...]]:
    """Return ``x:1,3,640,640`` and the like as shapes by name. Raises IrInterpError for anything else."""
    named = {}
    for word in words:
        name, colon, lengths = word.rpartition(":")
        if not colon or not name or not lengths:
            raise IrInterpError(f"--shape {word!r}: expected NAME:LENGTHS, as in x:1,3,640,640")
        named[name] = integers(lengths, "--shape") or ()
    return named


def files(words: list[str]) -> dict[str, tuple[Path, ...]]:
    """Return ``x=array.npy`` and the like as files by name, several of one in order. Raises IrInterpError otherwise."""
    named: dict[str, tuple[Path, ...]] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or not name or not path:
            raise IrInterpError(f"--input {word!r}: expected NAME=FILE, as in x=image.npy")
        named[name] = (*named.get(name, ()), Path(path))
    return named


def images(mean: str | None, scale: str | None, layout: str | None, *, bgr: bool) -> Images:
    """Return how images become inputs, of ``123.7,116.3,103.5`` and the like. Raises IrInterpError otherwise."""
    from ir_interp.converters.verify.images import Images

    return Images(mean=reals(mean, "--mean") or (), scale=reals(scale, "--scale") or (), layout=layout or "", bgr=bgr)


Shapes = Annotated[list[str] | None, typer.Option("--shape", help="Lengths of an input to run on: x:1,3,640,640.")]
Arrays = Annotated[
    list[str] | None,
    typer.Option("--input", help="An input to run on, else made up: x=image.npy, x=photo.png, x=folder; or several."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of what is made up.")]
Mean = Annotated[
    str | None, typer.Option("--mean", help="Taken from the pixels of images: 127.5, or one a channel: 104,117,123.")
]
Scale = Annotated[str | None, typer.Option("--scale", help="What pixels are divided by then: 255, or one a channel.")]
Layout = Annotated[
    str | None, typer.Option("--layout", help="Of inputs that are images: nchw, nhwc; else as their lengths tell.")
]
Bgr = Annotated[bool, typer.Option("--bgr", help="Blue comes first in images.")]
