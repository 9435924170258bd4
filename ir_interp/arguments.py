"""Checks of arguments: those of public functions, and the fields of frozen dataclasses.

A mistake is one SpecError that names the argument or the field. ``checked`` decorates public functions; ``settle``
converts the fields of a dataclass to their annotated types.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import os
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache, partial
from numbers import Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ir_interp.errors import IrInterpError, SpecError, closest
from ir_interp.plain_text import name_keywords

P = ParamSpec("P")
R = TypeVar("R")
Member = TypeVar("Member", bound=Enum)
Checked = TypeVar("Checked")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose errors name its keywords.

    A call that does not fit its signature is a SpecError, which names the closest argument.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (IrInterpError, ExceptionGroup) as error:
            name_keywords(error, signature.parameters)
            raise
        except TypeError:  # from the call or from inside; only the former is the caller's mistake
            problem = _misfit(function.__qualname__, signature, args, kwargs)
            if not problem:
                raise
        raise SpecError(problem)

    return call


def _misfit(name: str, signature: inspect.Signature, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    """Return why arguments do not fit a signature; an empty text if they do."""
    known = [parameter for parameter in signature.parameters if parameter != "self"]
    for keyword in kwargs:
        if keyword not in known:
            return f"{name}() has no argument {keyword!r}; {_of_library(keyword, known) or closest(keyword, known)}"
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return f"{name}(): {error}; expected {name}({', '.join(_positional(signature))})"
    return ""


_FOREIGN: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("interpolation", "resample", "method", "mode", "order"), ("like", "")),
    **dict.fromkeys(("scale_factor", "fx", "fy", "zoom"), ("scales", "scales=(2, 2)")),
    **dict.fromkeys(("dsize", "output_shape"), ("sizes", "sizes=(height, width)")),
    "channel_axis": ("axes", "axes=(0, 1)"),
    "align_corners": ("like", 'like="torch:bilinear,align_corners=true"'),
    "reducing_gap": ("like", 'like="pillow:bicubic,reducing_gap=2"'),
    **dict.fromkeys(("example_inputs", "example_input", "input_sample", "args"), ("source", "source=(module, inputs)")),
    **dict.fromkeys(("input_shape", "input_size"), ("source", "source=(module, shape)")),
    "dynamic_shapes": ("source", "source=torch.export.export(module, inputs, dynamic_shapes=...)"),
}
"""Keywords of image libraries and of exporters: the argument here that says the same, and an example of it."""
_CALLS = {
    "interpolation": 'like="opencv:cubic" or like="torchvision:bilinear"',
    "resample": 'like="pillow:bicubic"',
    "method": 'like="tensorflow:bicubic" or like="jax:cubic"',
    "mode": 'like="torch:bicubic"',
    "order": 'like="skimage:1" or like="scipy:1"',
}
"""Calls for the keywords that choose a kernel."""


def _of_library(keyword: str, known: Collection[str]) -> str:
    """Return the argument that stands for a keyword of another library; an empty text if there is none."""
    argument, example = _FOREIGN.get(keyword, ("", ""))
    if argument not in known:
        return ""
    text = f"the equivalent is {argument}=, as in {_CALLS.get(keyword, example)}"
    return text if argument == "like" or "like" not in known else f"{text}; like= names the library's call"


def _positional(signature: inspect.Signature) -> list[str]:
    """Return the names of positional parameters, and dots for parameters that are keywords only."""
    known = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    names = [parameter.name for parameter in known if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    return names if len(names) == len(known) else [*names, "..."]


def member(kind: type[Member], value: Member | str, name: str) -> Member:
    """Return an enum member that is passed as itself or as its value."""
    if isinstance(value, kind):
        return value
    known = {entry.value: entry for entry in kind}
    if isinstance(value, str) and value in known:
        return known[value]
    raise SpecError(f"{name} is {shown(value)}; {closest(str(value), known)}")


def misfit(value: object, name: str, expected: str) -> SpecError:
    """Return the error for an argument of the wrong kind."""
    return SpecError(f"{name} is {shown(value)}; expected {expected}")


def shown(value: object) -> str:
    """Return a value as messages show it: shortened, and for models and arrays the type only."""
    if isinstance(value, list | tuple) and not all(isinstance(each, _PLAIN) for each in value):
        return f"a {type(value).__name__} of {', '.join(type(each).__name__ for each in value[:_MOST])}"
    return quoted(value) if isinstance(value, _PLAIN) else f"of type {type(value).__name__}"


_PLAIN = (str, bytes, int, float, list, tuple, dict, Enum, NoneType)
_MOST = 4  # types that a message lists


def quoted(value: object) -> str:
    """Return a value as code, shortened; a class by its name."""
    if isinstance(value, type):
        return value.__name__
    try:
        return reprlib.repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # an integer of more digits than Python prints
        return f"a number of type {type(value).__name__}"


def as_whole(value: Any) -> int:
    """Return an integer of Python or NumPy. Raises TypeError for any other value, booleans included."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(value)
    return operator.index(value)


def as_real(value: object) -> float:
    """Return a number. Raises TypeError for any other value, OverflowError for one outside the range of float64."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(value)
    return float(value)


def entries(value: object) -> tuple[Any, ...] | None:
    """Return the entries of a collection; None for other values, and for text, which would be split into letters."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    with suppress(TypeError):  # an array without axes
        return tuple(value)
    return None


def flag(value: bool, name: str) -> bool:
    """Return a boolean."""
    return _of(bool, value, name, "True or False")


def word(value: str, name: str) -> str:
    """Return a string."""
    return _of(str, value, name, "text")


def _of(kind: type[Checked], value: Checked, name: str, expected: str) -> Checked:
    if isinstance(value, kind):
        return value
    raise misfit(value, name, expected)


def words(value: Iterable[str], name: str) -> tuple[str, ...]:
    """Return several strings. A single string is refused, since it would be split into letters."""
    return tuple(word(entry, name) for entry in _several(value, name, "a list of strings"))


def whole(value: int, name: str) -> int:
    """Return an integer of Python or NumPy."""
    with suppress(TypeError):
        return as_whole(value)
    raise misfit(value, name, "an integer")


def natural(value: int, name: str) -> int:
    """Return a non-negative integer."""
    number = whole(value, name)
    if number < 0:
        raise SpecError(f"{name} is {number}; expected a non-negative integer")
    return number


def positive(value: int, name: str) -> int:
    """Return a positive integer."""
    number = whole(value, name)
    if number < 1:
        raise SpecError(f"{name} is {number}; expected at least 1")
    return number


def real(value: float, name: str) -> float:
    """Return a number of Python or NumPy."""
    with suppress(TypeError, OverflowError):
        return as_real(value)
    raise misfit(value, name, "a number")


def not_negative(value: float, name: str) -> float:
    """Return a non-negative number."""
    number = real(value, name)
    if not number >= 0:
        raise SpecError(f"{name} is {number:g}; expected 0 or more")
    return number


def wholes(value: Iterable[int], name: str) -> tuple[int, ...]:
    """Return several integers."""
    return tuple(whole(entry, name) for entry in _several(value, name, "integers, as in (50, 60)"))


def lengths(value: Iterable[int], name: str) -> tuple[int, ...]:
    """Return the sizes of axes: non-negative integers."""
    sizes = wholes(value, name)
    if any(size < 0 for size in sizes):
        raise SpecError(f"{name} is {list(sizes)}; expected non-negative integers")
    return sizes


def reals(value: Iterable[float], name: str) -> tuple[float, ...]:
    """Return several numbers."""
    return tuple(real(entry, name) for entry in _several(value, name, "numbers, as in (2, 1.5)"))


def _several(value: Iterable[Checked], name: str, expected: str) -> tuple[Checked, ...]:
    several = entries(value)
    if several is None:
        raise misfit(value, name, expected)
    return several


def pairs(value: object, name: str) -> tuple[tuple[object, ...], ...]:
    """Return pairs of images before and after a resize."""
    several = entries(value)
    split = [entries(pair) for pair in several or ()]
    pairs = tuple(pair for pair in split if pair is not None and len(pair) == 2)
    if several is None or len(pairs) < len(several):
        raise misfit(value, name, "a list of pairs, [(before, after)]")
    return pairs


def path(value: str | os.PathLike[str], name: str) -> Path:
    """Return a path."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(text, str) or "\0" in text:
        raise misfit(value, name, "a path")
    return Path(text)


def paths(value: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], name: str) -> tuple[Path, ...]:
    """Return one or several paths as a tuple."""
    if isinstance(value, str | bytes | os.PathLike) or not isinstance(value, Iterable):
        return (path(value, name),)
    converted = tuple(path(entry, name) for entry in value)
    if not converted:
        raise SpecError(f"{name} is empty; expected one or more paths")
    return converted


def by_name(check: Callable[[Checked, str], R], value: Mapping[str, Checked], name: str) -> dict[str, R]:
    """Return a mapping of names to values, with every value checked."""
    if not isinstance(value, Mapping):
        raise misfit(value, name, "a mapping of names to values")
    return {
        word(key, f"a name in {name}"): check(entry, f"{name}[{key!r}]" if key else name)
        for key, entry in value.items()
    }


def function(value: Callable[P, R], name: str) -> Callable[P, R]:
    """Return a callable."""
    if not callable(value):
        raise misfit(value, name, "a function")
    return value


Convert = Callable[[str, Any], Any]
"""Takes the name of a field and a value; returns the value in the field's type, or raises SpecError."""


def settle(instance: object, **called: str) -> None:
    """Convert every field to its type: strings to members of an Enum, lists and arrays to tuples, 6.0 to 6.

    A class among the types of a field can be passed as its ``word`` if it needs no arguments; messages show its
    ``example``. ``called`` maps fields to the names that users know, where these differ. Raises SpecError, with the
    choices, for a value that does not fit its field.
    """
    owner: object = type(instance)
    for name, settled, convert in _fields(owner):
        value = getattr(instance, name)
        if type(value) not in settled:
            object.__setattr__(instance, name, convert(called.get(name, name), value))


@cache
def _fields(owner: Any) -> tuple[tuple[str, frozenset[object], Convert], ...]:
    """Return for each field its name, the types whose values are kept, and the converter for other values."""
    hints = get_type_hints(owner)
    options = {field.name: _options(hints[field.name]) for field in fields(owner)}
    return tuple((name, frozenset(types), _converter(types)) for name, types in options.items())


def _options(hint: object) -> tuple[object, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _converter(options: tuple[Any, ...]) -> Convert:
    """Return the converter to one of ``options``; values of a plain type among them never reach it."""
    first = options[0]
    if get_origin(first) is not tuple:
        return _NUMBERS.get(first) or partial(_one_of, options, _words(options))
    kind, *others = get_args(first)
    return partial(_listed, kind, _converter((kind,)), None if others == [...] else 1 + len(others))


def _words(options: tuple[Any, ...]) -> dict[str, object]:
    """Return the value of each word: a class, or a member of an Enum."""
    classes = {option.word: option for option in options if hasattr(option, "word")}
    return classes | {member.value: member for option in options if issubclass(option, Enum) for member in option}


def _one_of(options: tuple[type, ...], words: Mapping[str, object], name: str, value: object) -> object:
    if isinstance(value, options):
        return value
    if not isinstance(value, str):
        raise SpecError(f"{name}: {quoted(value)} is not one of {', '.join(map(_written, options))}")
    if value not in words:
        raise SpecError(f"{name}: unknown {quoted(value)}; {closest(value, words)}")
    meant = words[value]
    return meant if isinstance(meant, Enum) else _without_arguments(meant, name)


def _without_arguments(kind: Any, name: str) -> object:
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    if needed:
        raise SpecError(f"{name}: {kind.word!r} needs {' and '.join(needed)}, as in {_written(kind)}")
    return kind()


def _written(option: Any) -> str:
    """Return what can be written for one of the types of a field."""
    if option is NoneType:
        return "None"
    if issubclass(option, Enum):
        return ", ".join(repr(member.value) for member in option)
    return str(getattr(option, "example", f"{option.__name__}()"))


def _listed(kind_of_entry: Any, convert: Convert, count: int | None, name: str, value: object) -> tuple[object, ...]:
    """Return a collection as a tuple, of ``count`` entries unless that is None; text and sets are refused."""
    entries = value if type(value) is tuple else _entries(value)
    if entries is None or count not in (None, len(entries)):
        kind = _PLURALS.get(kind_of_entry) or _written(kind_of_entry)
        raise SpecError(f"{name}: {quoted(value)} is not a list of {kind if count is None else f'{count} {kind}'}")
    for entry in entries:
        if type(entry) is not kind_of_entry:
            return tuple(convert(name, entry) for entry in entries)
    return entries


def _entries(value: object) -> tuple[object, ...] | None:
    """Return the entries of an ordered collection; None for sets and iterators, which have no stable order."""
    return entries(value) if isinstance(value, Collection) and not isinstance(value, Set) else None


def _whole(name: str, value: object) -> int:
    """Return an integer; 6.0 is 6."""
    with suppress(TypeError):
        return as_whole(value)
    with suppress(OverflowError, ValueError):  # infinities, NaN
        if isinstance(value, Real) and not isinstance(value, bool) and math.floor(value) == value:
            return operator.index(math.floor(value))
    raise SpecError(f"{name}: {quoted(value)} is not an integer")


def _real(name: str, value: object) -> float:
    with suppress(TypeError, OverflowError):
        return as_real(value)
    raise SpecError(f"{name}: {quoted(value)} is not a number")


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise SpecError(f"{name}: {quoted(value)} is neither True nor False")


_NUMBERS: dict[object, Convert] = {int: _whole, float: _real, bool: _flag}
_PLURALS: dict[object, str] = {int: "integers", float: "numbers", tuple[float, float]: "pairs of numbers"}
