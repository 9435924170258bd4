"""Sums of 8-bit products: the processors and operators for which runtimes let them saturate, and what avoids it.

Without VNNI, x86 has one instruction for products of bytes: ``pmaddubsw`` multiplies two unsigned by two signed bytes
and adds both products in 16 bits. The sum saturates: 255 * 127 + 255 * 127 = 64,770 becomes 32,767. Each runtime uses
the instruction on the processors of its row, and only for an unsigned first and a signed second factor.

Sources: onnxruntime's page "Quantize ONNX models" (section on U8S8 and saturation), oneDNN's page "Nuances of int8
computations" (2026), and runs of ``tests/sweeps/byte_products.py`` on each class of processors.
"""

from __future__ import annotations

from dataclasses import dataclass

from ir_interp.processor import Processor

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
