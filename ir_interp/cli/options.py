"""Values of options that several verbs share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import OutputError
from ir_interp.files.kinds import FileKind
from ir_interp.text.decimals import integer, real
from ir_interp.text.quoting import shell

if TYPE_CHECKING:
    from ir_interp.converters.verify.run.image_inputs import Images


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


Results = Annotated[
    Path | None,
    typer.Option(
        "--results",
        callback=_named("--results", "file of results", FileKind.LINES),
        help="Of many models: add the result of each to this file as it comes, one line of JSON; skip what it holds.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="With --results, of a dask.distributed cluster: tcp://..."),
]
TimeLimit = Annotated[
    int | None,
    typer.Option(
        "--time-limit",
        parser=lambda text: positive(text),
        metavar="SECONDS",
        help="Of many models: what takes longer is stopped, and told as an error (default: 1800).",
    ),
]


InputShapes = Annotated[
    list[str] | None,
    typer.Option("--shape", help="Lengths of an input, where dynamic: x:1,3,640,640; of an only one, 1,3,640,640."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only; the exit code and files written tell the rest.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
Image = Annotated[
    Path | None,
    typer.Option("--image", help="An image on which the page of --html shows what changes."),
]
Sizes = Annotated[
    str | None,
    typer.Option(help="Output lengths instead of the file's, of the resized axes or of all: 50,60."),
]
Scales = Annotated[
    str | None,
    typer.Option(help="Output / input instead of the file's, of the resized axes or of all: 2,1.5."),
]
LayerShape = Annotated[
    str | None,
    typer.Option("--shape", help="Lengths of its input, where dynamic: 1,3,20,30, or with its name, up:1,3,20,30."),
]


def whole(text: str, least: float = -math.inf) -> int:
    """Return what an option that is an integer was given. Raises BadParameter for others, and below ``least``."""
    try:
        number = integer(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if number < least:
        raise typer.BadParameter(f"{number} is less than {least}")
    return number


def natural(text: str) -> int:
    """Return what ``whole`` does, of numbers from 0 on."""
    return whole(text, least=0)


def positive(text: str) -> int:
    """Return what ``whole`` does, of numbers from 1 on."""
    return whole(text, least=1)


def number(text: str) -> float:
    """Return what an option that is a number was given. Raises BadParameter for anything else."""
    try:
        return real(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


class Format(Enum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


Style = Annotated[Format | None, typer.Option("--format", metavar="FORMAT", help="text (the default) or json.")]


def check_image(image: Path | None, html: Path | None) -> None:
    """Raise IrInterpError for an --image that no page would show, ReadError for what is none."""
    from ir_interp.views.image_arrays import pixels

    if image and not html:
        raise IrInterpError("--image has no effect without --html")
    if image:
        pixels(image)


_COMMAND: ContextVar[Sequence[str]] = ContextVar("command", default=())


def remember(arguments: Sequence[str]) -> None:
    """Remember what was asked for, for the reports of it."""
    _COMMAND.set(tuple(arguments))


def command() -> str:
    """Return what was asked for, as a line of a shell."""
    return shell("ir-interp", *_COMMAND.get())


_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def memory(text: str) -> int:
    """Return ``1GiB`` and the like as bytes. Raises BadParameter for anything else."""
    for unit, size in _UNITS.items():
        with suppress(ValueError):
            if text.endswith(unit) and 0 < (count := real(text.removesuffix(unit))) < math.inf:
                return int(count * size)
    raise typer.BadParameter(f"{text!r} is no amount of memory; expected one as in 512MiB, 1.5GiB")


def style(wanted: Enum | None, as_json: bool, quiet: bool = False) -> str:
    """Return how to print: the value of a format, or "none". Raises IrInterpError where options contradict."""
    given = {"--format": wanted and str(wanted.value), "--json": as_json and "json", "--quiet": quiet and "none"}
    chosen = {each for each in given.values() if each}
    if len(chosen) > 1:
        raise IrInterpError(f"{' and '.join(name for name, each in given.items() if each)} exclude each other")
    return chosen.pop() if chosen else "text"


def integers(text: str | None, option: str) -> tuple[int, ...] | None:
    """Return ``50,60`` as integers. Raises IrInterpError for anything else."""
    if text is None:
        return None
    try:
        return tuple(integer(part) for part in text.split(","))
    except ValueError:
        raise IrInterpError(f"{option} {text!r}: expected integers with commas between them, as in 50,60") from None


def reals(text: str | None, option: str) -> tuple[float, ...] | None:
    """Return ``2,1.5`` as numbers. Raises IrInterpError for anything else."""
    if text is None:
        return None
    try:
        return tuple(real(part) for part in text.split(","))
    except ValueError:
        raise IrInterpError(f"{option} {text!r}: expected numbers with commas between them, as in 2,1.5") from None


def shapes(words: list[str]) -> dict[str, tuple[int, ...]]:
    """Return ``x:1,3,640,640`` and the like as shapes by name; the only input of a model goes without, as ``""``.

    Raises IrInterpError for anything else.
    """
    return dict(map(_shape, words))


def layer_shape(word: str | None, layer: str | None) -> tuple[str | None, tuple[int, ...] | None]:
    """Return the name of a resize and its shape, where ``up:1,3,20,30`` or ``1,3,20,30`` is given.

    Raises IrInterpError where that names another resize than ``layer``.
    """
    if word is None:
        return layer, None
    name, lengths = _shape(word)
    if name and layer not in (None, name):
        raise IrInterpError(f"--shape {word!r} is that of {name!r}, but --layer names {layer!r}")
    return name or layer, lengths


def _shape(word: str) -> tuple[str, tuple[int, ...]]:
    name, colon, lengths = word.rpartition(":")
    try:
        if colon and not name:
            raise ValueError("no name")
        return name, tuple(integer(part) for part in lengths.split(","))
    except ValueError:
        expected = "expected LENGTHS or NAME:LENGTHS, as in 1,3,640,640 or x:1,3,640,640"
        raise IrInterpError(f"--shape {word!r}: {expected}") from None


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
    from ir_interp.converters.verify.run.image_inputs import Images

    return Images(mean=reals(mean, "--mean") or (), scale=reals(scale, "--scale") or (), layout=layout or "", bgr=bgr)


Arrays = Annotated[
    list[str] | None,
    typer.Option("--input", help="An input to run on, else made up: x=image.npy, x=photo.png, x=folder; or several."),
]
Seed = Annotated[int, typer.Option("--seed", parser=natural, metavar="INTEGER", help="Of what is made up.")]
Mean = Annotated[
    str | None, typer.Option("--mean", help="Taken from the pixels of images: 127.5, or one a channel: 104,117,123.")
]
Scale = Annotated[str | None, typer.Option("--scale", help="What pixels are divided by then: 255, or one a channel.")]
Layout = Annotated[
    str | None, typer.Option("--layout", help="Of inputs that are images: nchw, nhwc; else as their lengths tell.")
]
Bgr = Annotated[bool, typer.Option("--bgr", help="Blue comes first in images.")]
