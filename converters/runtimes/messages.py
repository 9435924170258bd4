"""Messages of runtimes and frameworks in one line; OpenVINO's without places in its source."""

from __future__ import annotations

import re

_PLACES = re.compile(r"(Exception from|Check '.*?' failed at) \S+:\d+:?")
_HEADINGS = ("FrontEnd API failed", "Model wasn't fully converted", "Summary:", "Loading input model")


def reason(error: Exception) -> str:
    """Return the cause in one line: the operation and the reason. For another runtime's error it is the whole text."""
    lines = (" ".join(line.split()).removeprefix("-- ") for line in _PLACES.sub("", str(error)).splitlines())
    telling = [line for line in lines if line and not line.startswith(_HEADINGS)]
    return "; ".join(telling or [type(error).__name__]).replace(":; ", ": ")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its type if it has none."""
    return next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)
