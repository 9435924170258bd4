"""Declare an option once, as a field of a dataclass; ask such a dataclass what its options are, and which are set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.options.value_kinds import Kind

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

    def checked(self, value: Any) -> Any:
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


def settled(owner: type[Options], values: Mapping[str, Any]) -> Options:
    """Return the options of a call of Python, checked; ``values`` are all its arguments by name.

    Raises SpecError for a value that does not fit.
    """
    return owner(
        **{option.name: option.checked(values[option.name]) for option in declared(owner) if option.is_keyword}
    )


def keywords(options: Any) -> dict[str, Any]:
    """Return options as keywords of the function of Python."""
    return {option.name: getattr(options, option.name) for option in declared(type(options)) if option.is_keyword}


def options_set(options: Any) -> Iterator[Option]:
    """Yield the options that have another value than by default, in order; parts in place of what they make up."""
    for option in declared(type(options)):
        value = getattr(options, option.name)
        is_set = value is not None if option.default is None else value != option.default  # arrays have no single !=
        if option.parts is None and is_set:
            yield option
        yield from (part for part in _parts(option) if getattr(value, part.name) != part.default)


def check_place(options: Any, place: str, why: str, elsewhere: tuple[str, str] = ("", "")) -> None:
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


def _ordered(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value
