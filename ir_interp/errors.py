"""The exceptions that this project raises on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from ir_interp.records import Record


class IrInterpError(Exception):
    """The base class; the CLI turns these exceptions into one line and an exit code."""


class ReadError(IrInterpError, Record):
    """A file or an attribute that cannot be read: malformed, missing, or unknown.

    ``where`` is the place, outermost part first, as in ``model.xml:layer[12 "up2"]@mode``; each level that the
    error passes on its way out prepends its own part with ``under``.
    """

    KEYS = ("where", "problem as message")

    problem: str
    where: str

    def __init__(self, problem: str, where: str = "") -> None:
        self.problem = problem
        self.where = where
        super().__init__(problem, where)

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}" if self.where else self.problem

    def under(self, prefix: str) -> ReadError:
        """Return the same error with ``prefix`` in front of its place."""
        return type(self)(self.problem, prefix + self.where)


class UnsupportedLayerError(ReadError):
    """A well-formed layer or node of an unsupported type or version."""


class ExporterError(UnsupportedLayerError):
    """A model that an exporter or a frontend refuses; another may take it."""


class SpecError(IrInterpError, ValueError):
    """A specification that contradicts itself, or a call with a wrong argument."""


class ShapeError(SpecError):
    """A valid specification that does not fit this input."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A part in which the requested spec and the offered one compute different things; axes of None are all axes."""

    part: str
    needed: object
    offered: object

    def __str__(self) -> str:
        offered, needed = (
            "all" if value is None and self.part == "axes" else spelled(value) for value in (self.offered, self.needed)
        )
        return f"{self.part} {offered} (needed: {needed})"


def spelled(value: object) -> str:
    """Return a value as messages show it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(spelled, value))) or "none"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(spelled, value)) + "]"
    if value is None:
        return "none"
    return str(value.value) if isinstance(value, Enum) else str(value)


class Cause(Enum):
    """The reason why there is no exact form."""

    DIFFERENT = "different"  # the closest form computes something else; its differences are named
    FLOAT32 = "float32"  # a form means the same, but float32 rounds to other pixels or sizes
    REFUSED = "refused"  # the target refuses it, or is not known well enough; the reason has the details


class InexactError(IrInterpError):
    """The target has no form that computes exactly the same; ``cause`` is the reason."""

    def __init__(
        self,
        name: str,
        target: str,
        differences: tuple[Difference, ...] = (),
        reason: str = "",
        cause: Cause | None = None,
    ) -> None:
        self.name = name
        self.target = target
        self.differences = differences
        self.reason = reason or f"the closest form has {self.differences_text}"
        self.cause = cause or (Cause.DIFFERENT if differences else Cause.REFUSED)
        super().__init__(name, target, differences, self.reason, self.cause)

    def __str__(self) -> str:
        return f"{self.name}: no exact form in {self.target}; {self.reason}"

    @property
    def differences_text(self) -> str:
        """The differences from the closest form, without further text."""
        return ", ".join(map(str, self.differences))

    def of(self, name: str) -> InexactError:
        """Return the same refusal for a resize of another name."""
        return type(self)(name, self.target, self.differences, self.reason, self.cause)


class VerificationError(IrInterpError):
    """A translation did not reproduce its source; nothing was written."""


_IN_FULL = 20  # words or ranges that a message lists; of more it names the nearest
_NEAREST = 5  # words that are listed where there are too many
_FAMILY = 4  # releases, or codes, from which they are listed as a range
_BEGINNING = 3  # letters of a word that may be the beginning of the one that is meant
_ALIKE = 0.4  # the share of letters in common from which words are near
_CLOSE = 0.65  # the share of letters in common from which a known word may be meant: pil and pillow, not foo and format
_NUMBERED = re.compile(r"(.+:(?=\d+\.)|IRI)(\d+(?:\.\d+)*)")  # tensorrt:8.6, IRI011; but not a tensor's name, up:0


def closest(word: str, known: Iterable[str], see: str = "") -> str:
    """Return the end of an error message about an unknown word: the known words, and the one that may be meant.

    For an unknown release of a known runtime, these are its releases; otherwise, releases and codes are listed as
    ranges. A long list is cut to the nearest words; ``see`` is the page of the repository that has all.
    """
    words = sorted(set(known))
    if not words:
        return "there are none"
    releases = _releases(word, words)
    if releases:
        return f"expected one of {', '.join(releases.values())} (oldest to newest){hint(word, words)}"
    ranges = _ranges(words)
    if len(ranges) <= _IN_FULL:
        return f"expected {'' if len(words) == 1 else 'one of '}{', '.join(ranges)}{hint(word, words)}"
    near = _matches(word, words, _NEAREST, _ALIKE) or words[:_NEAREST]
    count = f"{len(words)} ({see} of the repository)" if see else f"{len(words)}"
    return f"expected one of {count}, such as {', '.join(near)}{hint(word, words)}"


def hint(word: str, known: Iterable[str]) -> str:
    """Return a hint at the known word that is closest to an unknown one, if any is close; a release by its number."""
    words = list(known)
    releases, number = _releases(word, words), _parts(word)[1]
    if releases:
        newer = next((name for release, name in releases.items() if release > number), None)
        return f"; did you mean {newer!r}?" if newer and min(releases) < number else ""  # a name covers those before it
    match = likely(word, words)
    return f"; did you mean {match!r}?" if match else ""


def likely(word: str, known: Iterable[str]) -> str:
    """Return the known word that an unknown one may stand for; an empty text if none is close."""
    words = list(known)
    beginning = [name for name in words if len(word) >= _BEGINNING and name.lower().startswith(word.lower())]
    return next(iter(_matches(word, words, 1, _CLOSE) or beginning), "")


def _releases(word: str, known: Iterable[str]) -> dict[tuple[int, ...], str]:
    """Return the releases of the runtime that a word names, oldest first."""
    stem = word[: word.find(":") + 1]
    return dict(sorted((_parts(name)[1], name) for name in known if stem and _parts(name)[0] == stem))


def _ranges(words: Iterable[str]) -> list[str]:
    """Return words in their order, with the numbers of one name as a range: ``tensorrt:8.2 to tensorrt:10.15``."""
    families: dict[str, list[str]] = {}
    for word in words:
        stem, number = _parts(word)
        families.setdefault(stem if number else f"{word} alone", []).append(word)
    listed: list[str] = []
    for family in families.values():
        family.sort(key=lambda word: _parts(word)[1])
        listed += family if len(family) < _FAMILY else [f"{family[0]} to {family[-1]}"]
    return listed


def _parts(word: str) -> tuple[str, tuple[int, ...]]:
    """Return a word without its number, and the number, which may be empty."""
    match = _NUMBERED.fullmatch(word)
    return (match[1], tuple(map(int, match[2].split(".")))) if match else (word, ())


def _matches(word: str, known: Iterable[str], count: int, cutoff: float) -> list[str]:
    import difflib  # late: only an unknown word needs it

    folded = {name.lower().lstrip("-"): name for name in known}  # the dashes of options are no likeness
    return [
        folded[name] for name in difflib.get_close_matches(word.lower().lstrip("-"), folded, n=count, cutoff=cutoff)
    ]


def is_refusal(error: BaseException) -> bool:
    """Return whether an error says that a model has no exact form: a finding, where any other is bad input."""
    return all(isinstance(leaf, InexactError | VerificationError) for leaf in leaves(error))


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, or every error in a group."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error
