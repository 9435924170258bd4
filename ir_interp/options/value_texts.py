"""The texts of values on the command line: sizes, names, shapes, files, amounts of memory."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ir_interp import arguments
from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import IrInterpError, closest
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


def bounded(text: str, least: float) -> int:
    """Return an integer. Raises ValueError for other text, and below ``least``."""
    number = integer(text)
    if number < least:
        raise ValueError(f"{number} is less than {least}")
    return number


def memory(text: str) -> int:
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


def sizes(text: str, flag: str) -> tuple[int, ...]:
    """Return sizes, each at least 1, with commas between them."""
    edges = _integers(text, flag)
    if min(edges) < 1:
        raise IrInterpError(f"{flag} {text!r}: {min(edges)} is not a size; expected integers from 1, as in 50,60")
    return edges


def scales(text: str, flag: str) -> tuple[float, ...]:
    """Return scales, finite and above 0, with commas between them."""
    factors = reals(text, flag)
    wrong = [scale for scale in factors if not 0 < scale < math.inf]
    if wrong:
        raise IrInterpError(f"{flag} {text!r}: {wrong[0]:g} is not a scale; expected numbers above 0, as in 2,1.5")
    return factors


def names(text: str, flag: str) -> tuple[int | str, ...]:
    """Return names, or numbers, with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise IrInterpError(f"{flag} {text!r}: expected names or numbers with commas between them, as in y,x")
    return tuple(int(part) if part.removeprefix("-").isdecimal() else part for part in parts)


def reals(text: str, flag: str) -> tuple[float, ...]:
    """Return numbers with commas between them."""
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


def shapes(texts: Sequence[str], flag: str) -> dict[str, tuple[int, ...]]:
    """Return shapes by the name of their input; ``""`` stands for the only input of a model."""
    entries = (LayerShape.read(entry, flag) for text in texts for entry in _BEFORE_NAMES.split(text))
    return {entry.name: entry.lengths for entry in entries}


def files(texts: Sequence[str], flag: str) -> dict[str, tuple[Path, ...]]:
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


def severities(texts: Sequence[str], flag: str) -> dict[str, Severity]:
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


def calls(texts: Sequence[str], flag: str) -> tuple[str, ...]:
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


def words(texts: Sequence[str], flag: str) -> tuple[str, ...]:
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
