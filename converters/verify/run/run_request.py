"""A request to run a model in a separate process, and the files and exit codes by which the process answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
USAGE = 3
"""The exit code for an invalid request; its message is the last line of stderr."""

NOT_LOADED = 4
"""The exit code for a model that the runtime does not accept, whatever the inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Generic[T]):
    """Inputs of one extent, or their numbers: all of ``every`` are run, and ``others`` until one runs if none did.

    Inputs with an empty output count as if they did not run.
    """

    every: tuple[T, ...] = ()
    others: tuple[T, ...] = ()

    def __iter__(self) -> Iterator[T]:
        return iter(self.every + self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A model to run, on the files of a ``folder``, into which its outputs go; see ``array_files``.

    INPUTS holds arrays by name, in the order of the model's inputs. OUTPUTS gets its outputs, and TENSORS those of
    ``tensors`` that it has. REPLACEMENTS, if present, holds inner tensors: nodes that read one read the array of the
    file, while the model still shows its own result. ``rounds_given`` rounds these once more if the model
    rounds such a tensor, so that layers are quantised as without replacements. ``in_openvino`` chooses the runtime,
    which is onnxruntime otherwise; ``optimised`` lets that rewrite the graph first. ``inner`` computes ``tensors`` and
    what they depend on, but no outputs. ``by_default`` lets a runtime multiply 8-bit integers as a plain call does: in
    8 bits between FakeQuantize layers (OpenVINO), with sums that may saturate (both). ``noise`` moves each float that a
    node computes at random: by that share of it at most, by its last bit if it is rounded once, and by the last bit of
    1 where that is added. With ``threads`` 0 it chooses their number. With ``as_large``, LARGE gets the outputs with
    resizes as for large tensors, if that differs; see ``lowered_limits``. ``groups`` are numbers of sets of inputs, for
    ``try_inputs`` alone.
    """

    model: Path
    folder: Path
    tensors: tuple[str, ...] = ()
    in_openvino: bool = False
    optimised: bool = True
    inner: bool = False
    rounds_given: bool = False
    by_default: bool = False
    noise: float = 0.0
    threads: int = 0
    as_large: bool = False
    groups: tuple[Group[int], ...] = ()


OFF_BY_LAST_BITS_OF_1 = frozenset(("sigmoid", "softplus"))
"""Operations, in lower case, that runtimes compute as a sum with 1 or 0.5, so that small results have its last bits."""

ROUNDED_ONCE = frozenset(("add", "sub", "subtract", "mul", "multiply", "div", "divide"))
"""Operations, in lower case, that round once, and are no sums of many terms."""

LAST_BIT = 2.0**-23
"""The share of a float32 that its last bit is at most."""

TO_INTEGERS = frozenset(("ceil", "ceiling", "floor", "round", "sign"))
"""Operations, in lower case, whose results are exact: the next step that truncates them would lose 1 to any noise."""

LAST_BIT_OF_1 = 2.0**-23
"""The last bit of a float32 of 1."""

INPUTS, OUTPUTS, TENSORS, REPLACEMENTS, LARGE = "inputs", "outputs", "tensors", "replacements", "large"
PROBLEM = "problem.txt"
"""The names of files in the folder of a request."""


def numbered(name: str, number: int) -> str:
    """Return the name of a file of one of several sets of inputs."""
    return f"{number}-{name}"
