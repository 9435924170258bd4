"""Image libraries: one module each, found by its name, with the meaning of the library's call as a dialect.

A library has no files to read, only a call with arguments. Its module here therefore defines a ``LIBRARY``: a dialect
whose attributes are those arguments, and the packages whose installed version is the default. ``get`` finds a library,
``load`` and ``parse`` read a call.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError, SpecError, closest, spelled
from ir_interp.files.kinds import FileKind
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.specs import Nearest, ResizeSpec, Scales, Sizes
from ir_interp.translation.dialect import Attributes, Context, Dialect


def _exact(attributes: Attributes, context: Context) -> str:
    """Return an empty text: every value is exact."""
    return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Library:
    """The call of an image library as a dialect; its versions are the major versions in which results changed.

    ``measured`` are the oldest and the newest release that were compared with the library itself. A version stands for
    the releases up to the next one, so beyond the newest it stands for none.

    The first attribute of the dialect is the one by which people name the call: ``resample``, ``interpolation``.
    ``approximate`` returns why some bytes of a call are unknown, if so. ``counted`` is the position of the significant
    number in a version: the second for 0.29. ``exceptions`` are releases that compute as another version, or as
    none. ``makes_floats`` is the float type of sums of integers, if the library returns floats. ``constants`` are the
    library's own numbers for values of an attribute. ``usual`` are numbers that are tried when a call is searched for.
    A library whose calls take no scales computes its steps from sizes (``Step.RATIO``): scales then only give these.
    ``installation`` are the attributes that depend on how the library was built or configured, not on the call.
    """

    dialect: Dialect
    packages: tuple[str, ...]
    measured: tuple[tuple[int, int], tuple[int, int]]
    approximate: Callable[[Attributes, Context], str] = _exact
    counted: int = 0
    constants: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    exceptions: Mapping[tuple[int, ...], int | None] = field(default_factory=dict)
    makes_floats: str = ""
    usual: tuple[Mapping[str, Any], ...] = ()
    installation: tuple[str, ...] = ()

    @staticmethod
    def target(attributes: Attributes, sizes: str = "sizes", scales: str = "scales") -> Sizes | Scales | None:
        """Return the target among the arguments of a call; None if there is none."""
        if attributes.get(sizes) is not None:
            return Sizes(tuple(attributes[sizes]))
        return None if attributes.get(scales) is None else Scales(tuple(attributes[scales]))

    @property
    def name(self) -> str:
        """The name of the library."""
        return self.dialect.name

    @property
    def first(self) -> str:
        """The attribute by which a call is named."""
        return next(iter(self.dialect.vocabulary))

    def version(self, number: int | None = None) -> int:
        """Return the supported version that computes as ``number``, by default as the installed one or the newest.

        Raises ReadError for a version beyond those that were measured, and for an installed release that matches none.
        """
        known = self.dialect.versions
        if number is None:
            return self.installed() or known[0]
        oldest, newest = (release[self.counted] for release in self.measured)
        if not oldest <= number <= newest:
            expected = f"{oldest} to {newest}" if newest > oldest else newest
            raise ReadError(f"{self.name} {number} is not supported; expected version {expected}")
        return self._supported(number)

    def _supported(self, number: int) -> int:
        """Return the version that a number within the measured ones stands for; Pillow 10 computes as 11."""
        known = self.dialect.versions
        return next((version for version in known if version <= number), known[-1])

    def installed(self) -> int | None:
        """Return the version that the installed release computes as; None if there is none.

        Raises ReadError for a release that was not measured and lies not between two that were.
        """
        from importlib import metadata  # late: it takes a while

        for package in self.packages:
            with suppress(metadata.PackageNotFoundError, ValueError, IndexError):
                release = tuple(map(int, metadata.version(package).split(".")[:2]))
                if self.exceptions.get(release, 0) is None or not self.measured[0] <= release <= self.measured[1]:
                    raise ReadError(self._unknown(release))
                return self.exceptions.get(release) or self._supported(release[self.counted])
        return None

    def _unknown(self, release: tuple[int, ...]) -> str:
        """Return the error about an installed release whose results are unknown."""
        oldest, newest = (".".join(map(str, release_parts)) for release_parts in self.measured)
        known = ", ".join(f"{self.name}@{version}" for version in self.dialect.versions)
        problem = f"{self.name} {release[0]}.{release[1]} is installed, which matches no supported version"
        measured = newest if newest == oldest else f"{oldest} to {newest}"
        return f"{problem} (measured: {measured}); choose one of {known}"

    def spec(self, arguments: Mapping[str, Any], *, version: int | None = None, dtype: str | None = None) -> ResizeSpec:
        """Return the spec of a call. Raises ReadError for an unknown argument or value."""
        context = Context(version=self.version(version), dtype=dtype)
        try:
            return self.dialect.parse(self.checked(arguments, context.version), context)
        except ReadError as error:
            attribute = f": {error.where[1:]}" if error.where.startswith("@") else error.where  # an @ is a version's
            raise ReadError(error.problem, f"{self.name}{attribute}") from None
        except SpecError as error:
            raise ReadError(str(error), self.name) from error

    def caveat(self, arguments: Mapping[str, object], context: Context) -> str:
        """Return how results of a call may differ from the library's own; an empty text if none do."""
        attributes = self.dialect.complete(self.checked(arguments, context.version), context.version)
        reason = self.approximate(attributes, context)
        is_float = context.dtype is not None and "float" in context.dtype
        if reason or not is_float or isinstance(self.dialect.read(attributes, context).kernel, Nearest):
            return reason
        return f"floats may differ from {self.name}'s in their last places"

    def checked(self, arguments: Mapping[str, object], version: int) -> dict[str, Any]:
        """Return arguments with the values of the library: INTER_CUBIC for cubic. Raises ReadError for others."""
        choices = self.dialect.choices(version)
        numbers = {name for name, versions in self.dialect.numbers.values() if version in versions}
        for name in arguments:
            if name not in choices and name not in numbers:
                raise ReadError(f"unknown argument {name!r}; {closest(name, [*choices, *sorted(numbers)])}")
        return {name: _meant(self._named(name, value), choices.get(name, ())) for name, value in arguments.items()}

    def _named(self, name: str, value: Any) -> Any:
        """Return the name of a constant of the library, a number or a member of an enumeration; else the value."""
        known = self.constants.get(name)
        if isinstance(value, str):
            return _QUALIFIED.sub("", value)
        if known is None or isinstance(value, bool):
            return value
        if isinstance(value, Enum):
            return value.name
        return known.get(int(value), value) if isinstance(value, Integral) else value


def _meant(value: object, choices: tuple[object, ...]) -> Any:
    """Return the member of ``choices`` for a value, in any case unless the case decides, and without INTER_.

    Return other values unchanged.
    """
    if isinstance(value, str) and value in choices:  # La is not LA in Pillow
        return value
    word = spelled(value).lower().removeprefix("inter_")
    return next((choice for choice in choices if spelled(choice).lower().removeprefix("inter_") == word), value)


_FOLDER = "ir_interp.libraries"


@cache
def names() -> tuple[str, ...]:
    """Return the names of all libraries in alphabetical order, without importing them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(_FOLDER).__path__)))


_MODULES = {"cv2": "opencv", "PIL": "pillow", "tf": "tensorflow"}
"""Libraries by the name under which code imports them, where it is another."""
_QUALIFIED = re.compile(r"(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_]\w*$)")
"""The module or class before the name of a constant: cv2.INTER_AREA, Image.Resampling.BOX."""


def canonical(text: str) -> str:
    """Return a call with the names of this program: ``pillow:lanczos`` for ``PIL:Image.LANCZOS`` and ``pillow:1``.

    A release becomes the counted part of its version: ``torchvision@0.17`` is ``torchvision@17``. Anything unknown is
    left as it is, for the error to quote.
    """
    head, colon, rest = text.partition(":")
    name, at, release = head.partition("@")
    name = _MODULES.get(name, name)
    if name not in names():
        return text
    library = get(name)
    parts = [
        _canonical_part(part, library, is_first=not place) for place, part in enumerate(rest.split(",") if rest else ())
    ]
    return f"{name}{at}{_canonical_version(release, library)}{colon}{','.join(parts)}"


def _canonical_part(part: str, library: Library, *, is_first: bool) -> str:
    key, equals, value = part.partition("=")
    if not equals and not is_first:
        return part
    argument, word = (key, value) if equals else (library.first, key)
    word = _QUALIFIED.sub("", word)
    if word.isdecimal():  # a constant of the library as code prints it
        word = library.constants.get(argument, {}).get(int(word), word).lower().removeprefix("inter_")
    return f"{key}={word}" if equals else word


def _canonical_version(release: str, library: Library) -> str:
    """Return the counted part of a release whose other parts are those of the releases that were measured."""
    parts = release.split(".")
    counted, newest = library.counted, library.measured[1]
    if len(parts) <= counted or not all(part.isdecimal() for part in parts) or not counted:
        return release
    return parts[counted] if tuple(map(int, parts[:counted])) == newest[:counted] else release


@cache
def get(name: str) -> Library:
    """Return a library by its name. Raises ReadError for an unknown one."""
    name = _MODULES.get(name, name)
    if name not in names():
        raise ReadError(f"unknown library {name!r}; {closest(name, names())}")
    library = importlib.import_module(f"{_FOLDER}.{name}").LIBRARY
    assert isinstance(library, Library)
    return library


def named(text: str) -> Library:
    """Return the library of a call in the syntax of ``load``."""
    text = canonical(text)
    name = text.partition(":")[0].partition("@")[0]
    if name == text and name not in names():
        raise ReadError(
            f"unknown library {name!r}; a call is LIBRARY:WORD, as in pillow:bicubic; {closest(name, names())}"
        )
    return get(name)


def is_call(text: object) -> bool:
    """Return whether a text or path is a library call with a word or a version, not the name of a file."""
    if not isinstance(text, str | Path) or FileKind.of(text) is not None:
        return False
    name, *rest = re.split("[:@]", str(text))
    return bool(rest) and _MODULES.get(name, name) in names()


def load(
    text: str,
    *,
    shape: PartialShape | None = None,
    dtype: str | None = None,
    arguments: Mapping[str, object] | None = None,
) -> ResizeOp:
    """Return the call LIBRARY[@VERSION][:WORD][,NAME=VALUE ...], as in pillow@12:box.

    WORD is the filter, interpolation or mode; names and numbers of the library's own code are accepted, as in
    cv2:INTER_AREA and PIL:1. ``arguments`` apply where the text does not set them, if the library has
    the argument and the value: ``mode`` is the image mode in one library and the border mode in another. Raises
    ReadError, with the closest word, for a text that cannot be parsed.
    """
    text = canonical(text)
    head, _, rest = text.partition(":")
    name, at, version = head.partition("@")
    library = named(text)
    if at and not version.isdecimal():
        raise ReadError(f"unknown version {version!r}; expected a number, as in {name}@{library.dialect.versions[0]}")
    version_number = library.version(int(version) if at else None)
    choices = library.dialect.choices(version_number)
    attributes: dict[str, Any] = {
        key: value for key, value in (arguments or {}).items() if value in choices.get(key, ())
    }
    try:
        attributes |= _arguments(rest, library, version_number)
    except ReadError as error:
        raise error.under(text) from None
    spec = library.spec(attributes, version=version_number, dtype=dtype)
    return ResizeOp(
        name=text,
        where=text,
        spec=spec,
        dialect=name,
        version=version_number,
        shape=shape,
        dtype=dtype,
        attributes=attributes,
    )


def caveat(op: ResizeOp) -> str:
    """Return how results of a call may differ from the library's own; an empty text if none do."""
    return get(op.dialect).caveat(op.attributes, Context(version=op.version, dtype=op.dtype))


def _arguments(text: str, library: Library, version: int) -> dict[str, Any]:
    """Return the arguments of a call. Lists of numbers continue after a comma, as in box=10,20,300.5,200."""
    attributes: dict[str, Any] = {}
    numbers = {name: part for part, (name, versions) in library.dialect.numbers.items() if version in versions}
    last = ""
    for place, part in enumerate(filter(None, text.split(","))):
        key, equals, value = part.partition("=")
        if equals:
            last = key
            attributes[key] = (_real(value),) if key in numbers else value
        elif not place:
            attributes[library.first] = part
        elif last in numbers:
            attributes[last] = (*attributes[last], _real(part))
        else:
            raise ReadError(f"{part!r} has no value; expected NAME=VALUE")
    return {name: _as_part(numbers.get(name), value) for name, value in attributes.items()}


def _as_part(part: str | None, values: Any) -> Any:
    """Return numbers in the form of a dialect's part: a gap as one number, sizes as integers."""
    if part == "sizes":
        return tuple(int(value) if value.is_integer() else value for value in values)
    return values[0] if part == "gap" and len(values) == 1 else values


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ReadError(f"{text!r} is not a number") from None


def parse(text: str, *, dtype: str | None = None) -> ResizeSpec:
    """Return the spec of a call; see ``load``."""
    return load(text, dtype=dtype).spec
