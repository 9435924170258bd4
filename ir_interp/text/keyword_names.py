"""Messages name options as the command line spells them; callers of Python read the keywords instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter

from ir_interp.errors import leaves

_OTHERWISE = {
    "bgr": ("images",),
    "input": ("x", "name"),
    "layout": ("images",),
    "mean": ("images",),
    "range": ("pixel_range", "images"),
    "std": ("scale", "images"),
}
"""Keywords that have another name than their flag, or hold it: those of ``Images``."""
_FLAGS_STAY: ContextVar[bool] = ContextVar("flags stay", default=False)
# A quoted text is a name or a value of the caller, whatever it holds. A word behind a flag is its value where it is a
# placeholder (NAME), or holds more than letters (1,3,20,30); "--shape static" is a flag in the middle of a sentence.
_WORD = r"[\w./][\w.,:/=@-]*\w|\w"
_VALUE = rf"=(?:{_WORD})|[ ](?:(?=[\w:/@-]*[\d,=@:])(?:{_WORD})|[A-Z]{{2,}}\b|'[^']*')"
_FLAG = re.compile(rf"(?<!\w)'[^']*'|\"[^\"]*\"|(?<![\w-])--(?P<flag>[a-z][a-z0-9-]*)(?P<value>{_VALUE})?")
_NUMBERS = re.compile(r"[-\d.]+(,[-\d.]+)+|\d[\d.]*")


@contextmanager
def flags_stay() -> Iterator[None]:
    """Leave messages as the command line spells them, while the program runs."""
    token = _FLAGS_STAY.set(True)
    try:
        yield
    finally:
        _FLAGS_STAY.reset(token)


def name_keywords(error: BaseException, parameters: Mapping[str, Parameter]) -> None:
    """Name keywords of a function in the messages of an error, or of all in a group, in place of flags."""
    if _FLAGS_STAY.get():
        return
    for leaf in leaves(error):
        texts = {name: getattr(leaf, name) for name in ("problem", "reason") if isinstance(vars(leaf).get(name), str)}
        for name, text in texts.items():
            setattr(leaf, name, in_python(text, parameters))
        messages = set(texts.values()) or {text for text in leaf.args if isinstance(text, str)}
        leaf.args = tuple(
            in_python(text, parameters) if isinstance(text, str) and text in messages else text for text in leaf.args
        )


def in_python(message: str, parameters: Mapping[str, Parameter]) -> str:
    """Return a message with keywords in place of flags: ``--shape x:1,3`` becomes ``shapes={'x': (1, 3)}``."""

    def spelled(match: re.Match[str]) -> str:
        name = keyword(match["flag"], parameters) if match["flag"] else ""
        return _spelled(name, match["flag"], match["value"] or "", parameters) if name else match[0]

    return _FLAG.sub(spelled, message)


def keyword(flag: str, parameters: Mapping[str, Parameter]) -> str:
    """Return the keyword of a flag: its own name, or the plural where several values are one; nothing without one."""
    name = flag.replace("-", "_")
    candidates = (name, f"{name}s", name.removeprefix("no_"), *_OTHERWISE.get(name, ()))
    return next((candidate for candidate in candidates if candidate in parameters), "")


def _spelled(name: str, flag: str, value: str, parameters: Mapping[str, Parameter]) -> str:
    if isinstance(parameters[name].default, bool):
        return f"{name}={not flag.startswith('no-')}{value}"
    return f"{name}={_code(value[1:], is_mapping=name != flag)}" if value else name


def _code(text: str, *, is_mapping: bool) -> str:
    """Return the text of a value as Python: lists of numbers as tuples, ``x:1,3`` and ``x=a.png`` as mappings."""
    (text,) = shlex.split(text)
    named = re.fullmatch(r"(.+?)([:=])(.+)", text)
    if named and is_mapping:
        return f"{{{named[1]!r}: {_code(named[3], is_mapping=False)}}}"
    if _NUMBERS.fullmatch(text):
        return f"({', '.join(text.split(','))})" if "," in text else text
    return text if text.isupper() else repr(text)
