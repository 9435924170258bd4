"""An option declared once, as a field of a dataclass: its kind of value, its text, and its declaration.

First the texts of values on the command line (sizes, names, shapes, files, amounts of memory), then the kinds of values
in Python and on the command line, then ``option`` and the questions to a dataclass: its options, and which are set.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from ir_interp import arguments
from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import IrInterpError, SpecError, closest
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import OutputError
from ir_interp.libraries import is_call
from ir_interp.plain_text import decimal_integer, decimal_real

_Value = TypeVar("_Value")

_COMMAS = re.compile(r"(?<!\\),")
_BEFORE_NAMES = re.compile(r"(?<=\d),(?=[^,]*:)")  # of x:1,3,8,8,y:1,3 the comma between the two
_UNITS = {
    **{f"{letter}ib": 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)},
    **{letter: 2 ** (10 * power) for power, letter in enumerate("kmgt", 1)},
}
"""Units of memory as in GNU's tools: GiB and G are powers of 1024, GB is one of 1000."""


def bounded(text: str, least: float) -> int:
    """Return an integer. Raises ValueError for other text, and below ``least``."""
    number = decimal_integer(text)
    if number < least:
        raise ValueError(f"{number} is less than {least}")
    return number


def read_memory(text: str) -> int:
    """Return ``1GiB``, ``1GB`` or ``1G`` in bytes. Raises ValueError for other text."""
    for unit, size in _UNITS.items():
        with suppress(ValueError):
            if text.lower().endswith(unit) and 0 < (count := decimal_real(text[: -len(unit)])) < math.inf:
                return int(count * size)
    raise ValueError(f"{text!r} is not an amount of memory; expected one as in 512MiB, 1.5GiB, 1GB")


def _integers(text: str, flag: str) -> tuple[int, ...]:
    try:
        return tuple(decimal_integer(part) for part in text.split(","))
    except ValueError:
        raise IrInterpError(f"{flag} {text!r}: expected integers with commas between them, as in 50,60") from None


def read_sizes(text: str, flag: str) -> tuple[int, ...]:
    """Return sizes, each at least 1, with commas between them."""
    edges = _integers(text, flag)
    if min(edges) < 1:
        raise IrInterpError(f"{flag} {text!r}: {min(edges)} is not a size; expected integers from 1, as in 50,60")
    return edges


def read_scales(text: str, flag: str) -> tuple[float, ...]:
    """Return scales, finite and above 0, with commas between them."""
    factors = read_reals(text, flag)
    wrong = [scale for scale in factors if not 0 < scale < math.inf]
    if wrong:
        raise IrInterpError(f"{flag} {text!r}: {wrong[0]:g} is not a scale; expected numbers above 0, as in 2,1.5")
    return factors


def read_names(text: str, flag: str) -> tuple[int | str, ...]:
    """Return names, or numbers, with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise IrInterpError(f"{flag} {text!r}: expected names or numbers with commas between them, as in y,x")
    return tuple(int(part) if part.removeprefix("-").isdecimal() else part for part in parts)


def read_reals(text: str, flag: str) -> tuple[float, ...]:
    """Return numbers with commas between them."""
    try:
        return tuple(decimal_real(part) for part in text.split(","))
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
            return cls(name=plain, lengths=tuple(decimal_integer(part) for part in sizes.split(",")))
        except ValueError:
            expected = "expected SIZES or NAME:SIZES, as in 1,3,640,640 or x:1,3,640,640"
            raise IrInterpError(f"{flag} {text!r}: {expected}") from None


def read_shapes(texts: Sequence[str], flag: str) -> dict[str, tuple[int, ...]]:
    """Return shapes by the name of their input; ``""`` stands for the only input of a model."""
    entries = (LayerShape.read(entry, flag) for text in texts for entry in _BEFORE_NAMES.split(text))
    return {entry.name: entry.lengths for entry in entries}


def read_files(texts: Sequence[str], flag: str) -> dict[str, tuple[Path, ...]]:
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


def read_severities(texts: Sequence[str], flag: str) -> dict[str, Severity]:
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


def read_calls(texts: Sequence[str], flag: str) -> tuple[str, ...]:
    """Return calls of image libraries, whose arguments also have commas between them."""
    return tuple(call for text in texts for call in _split_calls(text))


def _split_calls(text: str) -> list[str]:
    keyword, *others = text.split(",")
    pieces = [keyword]
    for part in others:
        if is_call(part):
            pieces.append(part)
        else:
            pieces[-1] += f",{part}"  # an argument of the call before
    return pieces


def read_words(texts: Sequence[str], flag: str) -> tuple[str, ...]:
    """Return words. Raises IrInterpError for an empty one, as in ``a,,b``."""
    parts = tuple(word.strip() for word in listed(texts))
    if not all(parts):
        raise IrInterpError(f"{flag} {','.join(texts)!r}: a name between the commas is empty")
    return parts


def of_kinds(path: Path, flag: str, *, kinds: tuple[FileKind, ...], thing: str) -> Path:
    """Return a path to write. Raises OutputError for the name of another kind of file, such as a model."""
    if FileKind.of(path) not in kinds:
        expected = " or ".join(kind.value for kind in kinds)
        raise OutputError(f"{flag} {str(path)!r} is not the name of a {thing}; expected {expected}")
    return path


def _nothing() -> None:
    """Return the value of an option that is not set."""


def _as_read(value: _Value, flag: str) -> _Value:
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


def _any(value: _Value, name: str) -> _Value:
    """Return a value that the function itself checks."""
    return value


def _array(value: object, name: str) -> object:
    """Return an array as it is, and the name of a file as a path."""
    return arguments.path(value, name) if isinstance(value, str | os.PathLike) else value


def member(enum: type[Enum], takes: str, metavar: str) -> Kind:
    """Return the kind of a member of an enumeration; its value will do."""
    return Kind(takes=takes, check=partial(arguments.member, enum), text=enum, metavar=metavar)


def file(thing: str, *kinds: FileKind) -> Kind:
    """Return the kind of a path that must have the extension of some kinds of files."""
    read = partial(of_kinds, kinds=kinds, thing=thing)
    return Kind(takes=_PATH, check=arguments.path, text=Path, read=read, metavar="PATH")


_PATH = "str | os.PathLike[str]"
_INTEGER = partial(Kind, takes="int", text=int, metavar="INTEGER", example="12")

SWITCH = Kind(takes="bool", check=arguments.flag, text=bool, empty=bool, metavar="")
WHOLE = _INTEGER(check=arguments.whole, parse=decimal_integer)
NATURAL = _INTEGER(check=arguments.natural, parse=partial(bounded, least=0))
POSITIVE = _INTEGER(check=arguments.positive, parse=partial(bounded, least=1))
MEMORY = _INTEGER(check=arguments.whole, parse=read_memory, example="")
NAMES = Kind(takes="Sequence[int | str]", check=_any, read=read_names, metavar="AXES")
NUMBER = Kind(takes="float", check=arguments.real, text=float, parse=decimal_real, metavar="NUMBER", example="0.5")
NOT_NEGATIVE = replace(NUMBER, check=arguments.not_negative)
WORD = Kind(takes="str", check=arguments.word, metavar="NAME")
WORDS = Kind(
    takes="Iterable[str]", check=arguments.words, read=read_words, is_repeated=True, metavar="NAMES", empty=tuple
)
CODES = replace(WORDS, metavar="CODES")
CALLS = replace(WORDS, metavar="CALLS", read=read_calls)
PATH = Kind(takes=_PATH, check=arguments.path, text=Path, metavar="PATH")
ARRAY = Kind(takes=f"ArrayLike | {_PATH}", check=_array, text=Path, metavar="PATH")
REFERENCE = Kind(takes="Any", check=_any, text=Path, metavar="PATH")
CONFIGURATION = Kind(takes="Semantics | Arithmetic | ResizeSpec | Source", check=_any, metavar="NAME")
PAIR = Kind(takes="Sequence[int]", check=_pair, read=read_sizes, metavar="SIZES")
SIZES = Kind(takes="Sequence[int]", check=arguments.wholes, read=read_sizes, metavar="SIZES")
SCALES = Kind(takes="Sequence[float]", check=arguments.reals, read=read_scales, metavar="SCALES")
NUMBERS = Kind(takes="Sequence[float]", check=arguments.reals, read=read_reals, metavar="NUMBERS", empty=tuple)
LAYER_SHAPE = Kind(takes="Sequence[int]", check=LayerShape.of, read=LayerShape.read, metavar="SIZES")
SHAPES = Kind(
    takes="Mapping[str, Sequence[int]]",
    check=partial(arguments.by_name, arguments.lengths),
    read=read_shapes,
    is_repeated=True,
    metavar="SIZES",
    empty=dict,
)
SEVERITIES = Kind(
    takes="Mapping[str, Severity]",
    check=_any,
    read=read_severities,
    is_repeated=True,
    metavar="LEVELS",
    empty=dict,
)
CODES_BY_FILE = Kind(takes="Mapping[str, Sequence[str]]", check=_any, empty=dict)
FILES = Kind(
    takes="Mapping[str, Files]",
    check=partial(arguments.by_name, arguments.paths),
    read=read_files,
    is_repeated=True,
    metavar="PATHS",
    empty=dict,
)


Options = TypeVar("Options")
Routes = Callable[[FileKind, FileKind], bool]
"""Whether an option matters to a conversion from one kind of file to another."""
_KEY = "option"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """The facts about an option: ``name`` is that of its field, and of the keyword of Python.

    ``flags`` are its names on the command line, none for an option of Python alone; ``is_keyword`` is False for one of
    the command line alone. ``choices`` are the values that it takes there,
    where these are fewer, ``complete`` names the list of words that a shell completes it from, ``panel`` is the heading
    that help shows it under, and ``parts`` is a dataclass whose options stand for it there, without the flags in
    ``leaves_out``; a part without any other flag is left out.

    It has an effect in the ``places`` that its command names, or in all of them; in a conversion by ``routes``, or by
    any; and only together with what ``needs`` names. ``decides`` is whether the result for a model depends on it, as
    it does not on how many processes share the files. ``takes_none`` is whether None stands for its default.
    """

    name: str = ""
    kind: Kind
    help: str = ""
    flags: tuple[str, ...] = ()
    default: Any = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    complete: str = ""
    panel: str = ""
    parts: Any = None
    leaves_out: tuple[str, ...] = ()
    is_keyword: bool = True
    takes_none: bool = False
    decides: bool = True
    places: tuple[str, ...] = ()
    routes: Routes | None = None
    needs: str = ""

    @property
    def flag(self) -> str:
        """The first of its names on the command line, as in ``--shape``."""
        return self.flags[0]

    def checked(self, value: object) -> object:
        """Return the value of a keyword in its settled type. Raises SpecError, which names the flag, for another."""
        name = self.flag if self.flags else self.name
        return self.default if value is None and self.takes_none else self.kind.check(value, name)


def option(kind: Kind, text: str = "", *flags: str, **known: Any) -> Any:
    """Return the field of an option; ``text`` is its help, ``known`` are further facts of ``Option``."""
    make = known.pop("make", None) or kind.empty
    default = known.pop("default") if "default" in known else make()
    known.setdefault("takes_none", default is None or default == {})
    known.setdefault("metavar", kind.metavar)
    metadata = {_KEY: Option(kind=kind, help=text, flags=flags, default=default, **known)}
    if default == {}:
        return field(default_factory=make, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(owner: type[Any]) -> tuple[Option, ...]:
    """Return the options of a dataclass, in order."""
    hashable: Any = owner  # mypy takes no class for that
    return _declared(hashable)


@cache
def _declared(owner: Any) -> tuple[Option, ...]:
    named = ((entry.name, entry.metadata[_KEY]) for entry in fields(owner) if _KEY in entry.metadata)
    return tuple(replace(known, name=name) for name, known in named)


def flagged(owner: type[Any]) -> Iterator[Option]:
    """Yield the options of a dataclass that the command line has; parts in place of what they make up."""
    for option in declared(owner):
        if option.flags:
            yield option
        yield from _parts(option)


def _parts(whole: Option) -> Iterator[Option]:
    """Yield the parts of an option, which have an effect where that has one."""
    for part in declared(whole.parts) if whole.parts else ():
        flags = tuple(flag for flag in part.flags if flag not in whole.leaves_out)
        known: dict[str, Any] = {
            "places": whole.places,
            "routes": whole.routes,
            "needs": whole.needs,
            "panel": whole.panel,
        }
        if flags:
            yield replace(part, flags=flags, **known)


def settled(owner: type[Options], values: Mapping[str, object]) -> Options:
    """Return the options of a call of Python, checked; ``values`` are all its arguments by name.

    Raises SpecError for a value that does not fit.
    """
    return owner(
        **{option.name: option.checked(values[option.name]) for option in declared(owner) if option.is_keyword}
    )


def keywords(options: object) -> dict[str, Any]:
    """Return options as keywords of the function of Python."""
    return {option.name: getattr(options, option.name) for option in declared(type(options)) if option.is_keyword}


def options_set(options: object) -> Iterator[Option]:
    """Yield the options that have another value than by default, in order; parts in place of what they make up."""
    for option in declared(type(options)):
        value = getattr(options, option.name)
        is_set = value is not None if option.default is None else value != option.default  # arrays have no single !=
        if option.parts is None and is_set:
            yield option
        yield from (part for part in _parts(option) if getattr(value, part.name) != part.default)


def check_place(options: object, place: str, why: str, elsewhere: tuple[str, str] = ("", "")) -> None:
    """Raise IrInterpError for an option that has no effect in a place of its command, for the reason ``why``.

    ``elsewhere`` is another place, and the reason for the options that have an effect there.
    """
    for option in options_set(options):
        if option.places and place not in option.places:
            raise IrInterpError(f"{option.flag} has no effect {elsewhere[1] if elsewhere[0] in option.places else why}")


def identity(options: Any) -> str:
    """Return everything that decides over the result for a model, as text that is the same in every process."""
    deciding = (option.name for option in declared(type(options)) if option.decides)
    return repr([(name, _ordered(getattr(options, name))) for name in deciding])


def _ordered(value: object) -> object:
    return sorted(value.items()) if isinstance(value, dict) else value
