"""Facts about any run of a runtime: its environment, messages, saturating sums of bytes, largest sizes, saving."""

from __future__ import annotations

import errno
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.version import Processor

if TYPE_CHECKING:
    import openvino

_VARIABLE = "ORT_DISABLE_TELEMETRY"
"""onnxruntime from 1.29 on reports every session to Microsoft, with the name of the model and a digest of its weights,
unless this variable forbids it. The user's own environment is not changed."""


def silent_environment() -> dict[str, str]:
    """Return the environment for a process that runs models."""
    return {**os.environ, _VARIABLE: "1"}


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


# Sums of 8-bit products: the processors and operators for which runtimes let them saturate, and what avoids it.
#
# Without VNNI, x86 has one instruction for products of bytes: ``pmaddubsw`` multiplies two unsigned by two signed bytes
# and adds both products in 16 bits. The sum saturates: 255 * 127 + 255 * 127 = 64,770 becomes 32,767. Each runtime uses
# the instruction on the processors of its row, and only for an unsigned first and a signed second factor.
#
# Sources: onnxruntime's page "Quantize ONNX models" (section on U8S8 and saturation), oneDNN's page "Nuances of int8
# computations" (2026), and runs of ``tests/sweeps/byte_products.py`` on each class of processors.

LIMITS = (-(2**15), 2**15 - 1)
"""The limits at which the sum of two products saturates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturating:
    """The ``processors`` on which a runtime lets sums of products saturate, and the ``setting`` that avoids it."""

    runtime: str
    processors: frozenset[Processor]
    setting: str

    @property
    def text(self) -> str:
        """The processors as text, as in ``x86 with AVX2 but no VNNI``."""
        return " and ".join(processor.value for processor in Processor if processor in self.processors)


ONNXRUNTIME = Saturating(
    runtime="onnxruntime",
    processors=frozenset({Processor.AVX2}),  # its SSE4 kernels widen bytes to 16 bits first
    setting="set the session option session.x64quantprecision to 1",
)
OPENVINO = Saturating(
    runtime="OpenVINO",
    processors=frozenset({Processor.AVX2, Processor.SSE4}),
    setting="compile with LP_TRANSFORMS_MODE=NO",
)


WRONG_WITHOUT_AVX2 = "SoftSign, and Multiply or Add before FakeQuantize, wrong"
"""What OpenVINO's CPU plugin computes wrong on x86 without AVX2 (2026.4, found by running it).

SoftSign is 1 everywhere. Levels of a FakeQuantize that the plugin fuses with such a layer are off by up to all of them.
"""


# OpenVINO: sizes beyond which its CPU plugin computes something else (2026.4, x86), each found by running it.
#
# A Gather of single elements (all sizes behind its axis are 1, static or not), and a static one of up to 16 behind its
# axis, runs in separate code. It addresses bytes by signed 32-bit integers; and if a dimension is dynamic, it computes
# the row and column at which each thread begins in float32. Whether the indices are constants makes no difference. A
# single thread begins at 0 and is right.
#
# GatherElements (up to 2^31 elements), a Gather of longer pieces, and all other operations of resizes, including native
# Interpolates, are right beyond 2^24 elements, static and dynamic. ``tests/openvino/test_real_sizes.py`` shows the
# faults, ``tests/sweeps/real_sizes.py`` the rest.


@dataclass(frozen=True, slots=True)
class LargestGather:
    """The number of input or output elements up to which a runtime's Gather is right.

    ``static`` if the shape is static, ``dynamic`` otherwise.
    """

    static: float
    dynamic: float


# For runtimes without such a fault.
ANY_SIZE = LargestGather(static=math.inf, dynamic=math.inf)

LARGEST_GATHER = LargestGather(static=2**29 - 2**10, dynamic=2**24 - 2**10)
"""Static: 2^31 bytes of 32-bit numbers, beyond which the plugin crashes. Dynamic: every thread begins where it should.

Beyond 2^24 the first row of a thread other than the first is read at the wrong columns. The 2^10 are for the product of
sizes, which is computed in float32 itself.
"""


_OF_STREAMS = "basic_ios"  # in the message of std::ios_base::failure
_PROBE = bytes(2**16)


def save_model(model: openvino.Model, path: Path, *, half: bool = False) -> None:
    """Write an IR, its constants in half precision if ``half``. Raises OSError, with its reason, for a full disk."""
    import openvino

    try:
        openvino.save_model(model, path, compress_to_fp16=half)
    except RuntimeError as error:
        if _OF_STREAMS not in str(error):
            raise
        for file in (path, path.with_suffix(".bin")):
            _write_more(file)
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path)) from error


def _write_more(path: Path) -> None:
    """Write to a file as the stream did, to get the reason. Raises OSError."""
    with path.open("ab") as file:
        file.write(_PROBE)
        file.flush()
        os.fsync(file.fileno())
