"""What a user wants of the form that resizes take."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Form(Enum):
    """Which nodes a resize may become."""

    ANY = "any"  # native where that is exact, else decomposed
    NATIVE = "native"
    DECOMPOSED = "decomposed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the nodes of a resize must be like; ``strict`` takes nothing but what is exact for every shape."""

    form: Form = Form.ANY
    strict: bool = False
