"""The kinds of values that options take: how a Python value is checked, how the text of a command line is read."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from ir_interp import arguments
from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import IrInterpError, SpecError, closest
from ir_interp.files.atomic import OutputError
from ir_interp.files.kinds import FileKind
from ir_interp.library_registry import is_call
from ir_interp.text.decimals import integer, real

_COMMAS = re.compile(r"(?<!\\),")
_BEFORE_NAMES = re.compile(r"(?<=\d),(?=[^,]*:)")  # of x:1,3,8,8,y:1,3 the comma between the two
_UNITS = {
    **{f"{letter}ib": 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{letter: 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)},
}
"""Units of memory as in GNU's tools: GiB and G are powers of 1024, GB is one of 1000."""


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


def _bounded(text: str, least: float) -> int:
    """Return an integer. Raises ValueError for other text, and below ``least``."""
    number = integer(text)
    if number < least:
        raise ValueError(f"{number} is less than {least}")
    return number


def _memory(text: str) -> int:
    """Return ``1GiB``, ``1GB`` or ``1G`` in bytes. Raises ValueError for other text."""
    for unit, size in _UNITS.items():
        with suppress(ValueError):
            if text.lower().endswith(unit) and 0 < (count := real(text[: -len(unit)])) < math.inf:
                return int(count * size)
    raise ValueError(f"{text!r} is not an amount of memory; expected one as in 512MiB, 1.5GiB, 1GB")


def _integers(text: str, flag: str) -> tuple[int, ...]:
    try:
        return tuple(integer(part) for part in text.split(","))
    except ValueError:
        raise IrInterpError(f"{flag} {text!r}: expected integers with commas between them, as in 50,60") from None


def _sizes(text: str, flag: str) -> tuple[int, ...]:
    sizes = _integers(text, flag)
    if min(sizes) < 1:
        raise IrInterpError(f"{flag} {text!r}: {min(sizes)} is not a size; expected integers from 1, as in 50,60")
    return sizes


def _scales(text: str, flag: str) -> tuple[float, ...]:
    scales = _reals(text, flag)
    wrong = [scale for scale in scales if not 0 < scale < math.inf]
    if wrong:
        raise IrInterpError(f"{flag} {text!r}: {wrong[0]:g} is not a scale; expected numbers above 0, as in 2,1.5")
    return scales


def _names(text: str, flag: str) -> tuple[int | str, ...]:
    """Return names, or numbers, with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise IrInterpError(f"{flag} {text!r}: expected names or numbers with commas between them, as in y,x")
    return tuple(int(part) if part.removeprefix("-").isdecimal() else part for part in parts)


def _reals(text: str, flag: str) -> tuple[float, ...]:
    try:
        return tuple(real(part) for part in text.split(","))
    except ValueError:
        raise IrInterpError(f"{flag} {text!r}: expected numbers with commas between them, as in 2,1.5") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerShape:
    """The shape of the input of a resize, and the name of that resize where the command line names it."""

    lengths: tuple[int, ...]
    name: str = ""

    @classmethod
    def of(cls, value: Sequence[int], name: str) -> LayerShape:
        """Return the shape that a keyword gives."""
        return cls(lengths=arguments.lengths(value, name))

    @classmethod
    def read(cls, text: str, flag: str) -> LayerShape:
        """Return the shape that ``1,3,20,30`` or ``up:1,3,20,30`` stands for."""
        name, colon, sizes = text.rpartition(":")
        try:
            if colon and not name:
                raise ValueError("no name")
            plain = name.replace(r"\,", ",")
            return cls(name=plain, lengths=tuple(integer(part) for part in sizes.split(",")))
        except ValueError:
            expected = "expected SIZES or NAME:SIZES, as in 1,3,640,640 or x:1,3,640,640"
            raise IrInterpError(f"{flag} {text!r}: {expected}") from None


def _shapes(texts: Sequence[str], flag: str) -> dict[str, tuple[int, ...]]:
    """Return shapes by the name of their input; ``""`` stands for the only input of a model."""
    shapes = (LayerShape.read(entry, flag) for text in texts for entry in _BEFORE_NAMES.split(text))
    return {shape.name: shape.lengths for shape in shapes}


def _files(texts: Sequence[str], flag: str) -> dict[str, tuple[Path, ...]]:
    """Return the files of each input, in order; ``""`` stands for the only input of a model."""
    named: dict[str, tuple[Path, ...]] = {}
    for text in texts:
        name = ""
        for entry in _entries(text):
            name, path = _named_file(entry, name)
            if not path:
                raise IrInterpError(f"{flag} {text!r}: expected PATH or NAME=PATH, as in image.npy or x=image.npy")
            named[name] = (*named.get(name, ()), Path(path))
    return named


def _named_file(entry: str, previous: str) -> tuple[str, str]:
    """Return the input that a file is for, and its path, which is empty where the name is.

    An entry without a name belongs to the input of the previous one, as in ``x=a.npy,b.npy``.
    """
    if "=" not in entry or os.path.lexists(entry):
        return previous, entry
    name, _, path = entry.partition("=")
    return name, path if name else ""


def _entries(text: str) -> tuple[str, ...]:
    """Return the parts between commas; a comma may also stand in the name of a file that exists."""
    is_one = any(map(os.path.lexists, (text, text.partition("=")[2])))
    return (text,) if is_one else listed((text,))


def _severities(texts: Sequence[str], flag: str) -> dict[str, Severity]:
    """Return the severity of the findings about each runtime."""
    known, by_runtime = {level.value: level for level in Severity}, {}
    for text in listed(texts):
        runtime, equals, level = text.partition("=")
        if not equals or level not in known:
            problem = closest(level, known) if equals else "expected RUNTIME=SEVERITY, as in tensorrt=note"
            raise IrInterpError(f"{flag} {text!r}: {problem}")
        by_runtime[runtime] = known[level]
    return by_runtime


def listed(texts: Sequence[str]) -> tuple[str, ...]:
    r"""Return the parts of texts between commas; ``\,`` is a comma in a name."""
    return tuple(part.replace(r"\,", ",") for text in texts for part in _COMMAS.split(text))


def _calls(texts: Sequence[str], flag: str) -> tuple[str, ...]:
    """Return calls of image libraries, whose arguments also have commas between them."""
    return tuple(call for text in texts for call in _split_calls(text))


def _split_calls(text: str) -> list[str]:
    first, *others = text.split(",")
    calls = [first]
    for part in others:
        if is_call(part):
            calls.append(part)
        else:
            calls[-1] += f",{part}"
    return calls


def _words(texts: Sequence[str], flag: str) -> tuple[str, ...]:
    """Return words. Raises IrInterpError for an empty one, as in ``a,,b``."""
    words = tuple(word.strip() for word in listed(texts))
    if not all(words):
        raise IrInterpError(f"{flag} {','.join(texts)!r}: a name between the commas is empty")
    return words


def _pair(value: Sequence[int], name: str) -> tuple[int, int]:
    sizes = arguments.wholes(value, name)
    if len(sizes) != 2 or min(sizes) < 1:
        text = ",".join(map(str, sizes))
        raise SpecError(f"{name} is {text or 'empty'}; expected height and width, as in {name} 224,224")
    return sizes[0], sizes[1]


def _of_kinds(path: Path, flag: str, *, kinds: tuple[FileKind, ...], thing: str) -> Path:
    """Return a path to write. Raises OutputError for the name of another kind of file, such as a model."""
    if FileKind.of(path) not in kinds:
        expected = " or ".join(kind.value for kind in kinds)
        raise OutputError(f"{flag} {str(path)!r} is not the name of a {thing}; expected {expected}")
    return path


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
    read = partial(_of_kinds, kinds=kinds, thing=thing)
    return Kind(takes=_PATH, check=arguments.path, text=Path, read=read, metavar="PATH")


_PATH = "str | os.PathLike[str]"
_INTEGER = partial(Kind, takes="int", text=int, metavar="INTEGER", example="12")

SWITCH = Kind(takes="bool", check=arguments.flag, text=bool, empty=bool, metavar="")
WHOLE = _INTEGER(check=arguments.whole, parse=integer)
NATURAL = _INTEGER(check=arguments.natural, parse=partial(_bounded, least=0))
POSITIVE = _INTEGER(check=arguments.positive, parse=partial(_bounded, least=1))
MEMORY = _INTEGER(check=arguments.whole, parse=_memory, example="")
NAMES = Kind(takes="Sequence[int | str]", check=_any, read=_names, metavar="AXES")
NUMBER = Kind(takes="float", check=arguments.real, text=float, parse=real, metavar="NUMBER", example="0.5")
NOT_NEGATIVE = replace(NUMBER, check=arguments.not_negative)
WORD = Kind(takes="str", check=arguments.word, metavar="NAME")
WORDS = Kind(takes="Iterable[str]", check=arguments.words, read=_words, is_repeated=True, metavar="NAMES", empty=tuple)
CODES = replace(WORDS, metavar="CODES")
CALLS = replace(WORDS, metavar="CALLS", read=_calls)
PATH = Kind(takes=_PATH, check=arguments.path, text=Path, metavar="PATH")
ARRAY = Kind(takes=f"ArrayLike | {_PATH}", check=_array, text=Path, metavar="PATH")
REFERENCE = Kind(takes="Any", check=_any, text=Path, metavar="PATH")
CONFIGURATION = Kind(takes="Semantics | Arithmetic | ResizeSpec | Source", check=_any, metavar="NAME")
PAIR = Kind(takes="Sequence[int]", check=_pair, read=_sizes, metavar="SIZES")
SIZES = Kind(takes="Sequence[int]", check=arguments.wholes, read=_sizes, metavar="SIZES")
SCALES = Kind(takes="Sequence[float]", check=arguments.reals, read=_scales, metavar="SCALES")
NUMBERS = Kind(takes="Sequence[float]", check=arguments.reals, read=_reals, metavar="NUMBERS", empty=tuple)
LAYER_SHAPE = Kind(takes="Sequence[int]", check=LayerShape.of, read=LayerShape.read, metavar="SIZES")
SHAPES = Kind(
    takes="Mapping[str, Sequence[int]]",
    check=partial(arguments.by_name, arguments.lengths),
    read=_shapes,
    is_repeated=True,
    metavar="SIZES",
    empty=dict,
)
SEVERITIES = Kind(
    takes="Mapping[str, Severity]",
    check=_any,
    read=_severities,
    is_repeated=True,
    metavar="LEVELS",
    empty=dict,
)
CODES_BY_FILE = Kind(takes="Mapping[str, Sequence[str]]", check=_any, empty=dict)
FILES = Kind(
    takes="Mapping[str, Files]",
    check=partial(arguments.by_name, arguments.paths),
    read=_files,
    is_repeated=True,
    metavar="PATHS",
    empty=dict,
)
