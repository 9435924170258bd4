"""The kinds of values that options take, in Python and on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from ir_interp import arguments
from ir_interp.errors import SpecError
from ir_interp.files.kinds import FileKind
from ir_interp.options import value_texts
from ir_interp.options.value_texts import LayerShape
from ir_interp.text.decimals import integer, real


def _nothing() -> None:
    """Return the value of an option that is not set."""


def _as_read(value: Any, flag: str) -> Any:
    """Return a value that the command line already has in its type."""
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of value, for Python and for the command line.

    ``takes`` is the type hint of a keyword, ``check`` returns its value in the settled type, or raises SpecError under
    the name of the keyword. On the command line a value is of the type ``text``, several times where ``is_repeated``.
    ``parse`` makes it of the text, and raises ValueError: a usage error, to which ``example`` is added; ``read`` makes
    the settled value of that, and raises IrInterpError under the name of the flag. ``empty`` makes the value of an
    option that is not set.
    """

    takes: str
    check: Callable[[Any, str], Any]
    text: Any = str
    parse: Callable[[str], Any] | None = None
    read: Callable[[Any, str], Any] = _as_read
    is_repeated: bool = False
    metavar: str | None = None
    example: str = ""
    empty: Callable[[], Any] = field(default=_nothing)


def _pair(value: Sequence[int], name: str) -> tuple[int, int]:
    sizes = arguments.wholes(value, name)
    if len(sizes) != 2 or min(sizes) < 1:
        text = ",".join(map(str, sizes))
        raise SpecError(f"{name} is {text or 'empty'}; expected height and width, as in {name} 224,224")
    return sizes[0], sizes[1]


def _any(value: Any, name: str) -> Any:
    """Return a value that the function itself checks."""
    return value


def _array(value: Any, name: str) -> Any:
    """Return an array as it is, and the name of a file as a path."""
    return arguments.path(value, name) if isinstance(value, str | os.PathLike) else value


def member(enum: type[Enum], takes: str, metavar: str) -> Kind:
    """Return the kind of a member of an enumeration; its value will do."""
    return Kind(takes=takes, check=partial(arguments.member, enum), text=enum, metavar=metavar)


def file(thing: str, *kinds: FileKind) -> Kind:
    """Return the kind of a path that must have the extension of some kinds of files."""
    read = partial(value_texts.of_kinds, kinds=kinds, thing=thing)
    return Kind(takes=_PATH, check=arguments.path, text=Path, read=read, metavar="PATH")


_PATH = "str | os.PathLike[str]"
_INTEGER = partial(Kind, takes="int", text=int, metavar="INTEGER", example="12")

SWITCH = Kind(takes="bool", check=arguments.flag, text=bool, empty=bool, metavar="")
WHOLE = _INTEGER(check=arguments.whole, parse=integer)
NATURAL = _INTEGER(check=arguments.natural, parse=partial(value_texts.bounded, least=0))
POSITIVE = _INTEGER(check=arguments.positive, parse=partial(value_texts.bounded, least=1))
MEMORY = _INTEGER(check=arguments.whole, parse=value_texts.memory, example="")
NAMES = Kind(takes="Sequence[int | str]", check=_any, read=value_texts.names, metavar="AXES")
NUMBER = Kind(takes="float", check=arguments.real, text=float, parse=real, metavar="NUMBER", example="0.5")
NOT_NEGATIVE = replace(NUMBER, check=arguments.not_negative)
WORD = Kind(takes="str", check=arguments.word, metavar="NAME")
WORDS = Kind(
    takes="Iterable[str]", check=arguments.words, read=value_texts.words, is_repeated=True, metavar="NAMES", empty=tuple
)
CODES = replace(WORDS, metavar="CODES")
CALLS = replace(WORDS, metavar="CALLS", read=value_texts.calls)
PATH = Kind(takes=_PATH, check=arguments.path, text=Path, metavar="PATH")
ARRAY = Kind(takes=f"ArrayLike | {_PATH}", check=_array, text=Path, metavar="PATH")
REFERENCE = Kind(takes="Any", check=_any, text=Path, metavar="PATH")
CONFIGURATION = Kind(takes="Semantics | Arithmetic | ResizeSpec | Source", check=_any, metavar="NAME")
PAIR = Kind(takes="Sequence[int]", check=_pair, read=value_texts.sizes, metavar="SIZES")
SIZES = Kind(takes="Sequence[int]", check=arguments.wholes, read=value_texts.sizes, metavar="SIZES")
SCALES = Kind(takes="Sequence[float]", check=arguments.reals, read=value_texts.scales, metavar="SCALES")
NUMBERS = Kind(takes="Sequence[float]", check=arguments.reals, read=value_texts.reals, metavar="NUMBERS", empty=tuple)
LAYER_SHAPE = Kind(takes="Sequence[int]", check=LayerShape.of, read=LayerShape.read, metavar="SIZES")
SHAPES = Kind(
    takes="Mapping[str, Sequence[int]]",
    check=partial(arguments.by_name, arguments.lengths),
    read=value_texts.shapes,
    is_repeated=True,
    metavar="SIZES",
    empty=dict,
)
SEVERITIES = Kind(
    takes="Mapping[str, Severity]",
    check=_any,
    read=value_texts.severities,
    is_repeated=True,
    metavar="LEVELS",
    empty=dict,
)
CODES_BY_FILE = Kind(takes="Mapping[str, Sequence[str]]", check=_any, empty=dict)
FILES = Kind(
    takes="Mapping[str, Files]",
    check=partial(arguments.by_name, arguments.paths),
    read=value_texts.files,
    is_repeated=True,
    metavar="PATHS",
    empty=dict,
)
