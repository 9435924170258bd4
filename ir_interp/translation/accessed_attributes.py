"""The attributes that a reader accesses: sets that differ in others only have the same meaning."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any


class SeenValues:
    """The values of some attributes, ``picked`` from those of all, in the sets that were read."""

    def __init__(self, accessed: Sequence[bool]) -> None:
        places = [place for place, is_accessed in enumerate(accessed) if is_accessed]
        self.picked: Callable[[Sequence[Any]], Any] = operator.itemgetter(*places) if places else lambda _: ()
        self.known = set[Any]()


class Watched(Mapping[str, Any]):
    """Attributes that record which of them were accessed."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self.attributes = attributes
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return self.attributes[name]

    def __iter__(self) -> Iterator[str]:
        self.names |= set(self.attributes)
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(list(self))
