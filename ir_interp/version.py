"""The version of this program and of the packages that it computes with, and the class of the processor.

The processor decides how runtimes add products of 8-bit integers.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from enum import Enum
from functools import cache


class Processor(Enum):
    """A class of processors that compute the same sums of 8-bit products."""

    VNNI = "x86 with VNNI"
    AVX2 = "x86 with AVX2 but no VNNI"
    SSE4 = "x86 without AVX2"
    OTHER = "not x86"


@cache
def processor() -> Processor:
    """Return the class of the processor that runs this program, even if it is emulated."""
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i686"):
        return Processor.OTHER
    import numpy as np

    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    known = {*extensions["baseline"], *extensions.get("found", ())}
    if not known & {"AVX2", "X86_V3"}:  # NumPy's names up to 2.3, and since
        return Processor.SSE4
    if known & {"AVX512_CLX", "AVX512_ICL"}:  # groups of extensions that include AVX512_VNNI
        return Processor.VNNI
    # NumPy does not report AVX-VNNI, which desktop processors have without AVX-512; onnxruntime uses it.
    return Processor.AVX2 if _saturates() else Processor.VNNI


def _saturates() -> bool:
    """Return whether onnxruntime's sum of two products saturates here."""
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    ends = [("a", TensorProto.UINT8, [1, 4]), ("b", TensorProto.INT8, [4, 1]), ("y", TensorProto.INT32, [1, 1])]
    a, b, y = (helper.make_tensor_value_info(*end) for end in ends)
    graph = helper.make_graph([helper.make_node("MatMulInteger", ["a", "b"], ["y"])], "products", [a, b], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {"a": np.full((1, 4), 255, np.uint8), "b": np.full((4, 1), 127, np.int8)})
    return int(result.item()) != 4 * 255 * 127


VERSION = "0.1.0"
_RUNTIMES = ("onnxruntime", "openvino", "onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The versions, the processor, the BLAS and the loops of this process.

    They affect the speed of ``resize``, never its results.

    ``processor`` is the class that decides how runtimes add products of 8-bit integers: without VNNI, sums may
    saturate. ``loops`` names the compiled loops of the extra ``fast``, or why there are none; ``threads`` is the number
    of threads that share a large resize.
    """

    packages: str
    processor: str
    python: str
    numpy: str
    blas: str
    loops: str
    threads: int

    def __str__(self) -> str:
        rows = [
            f"{name}: {getattr(self, name)}" for name in ("processor", "python", "numpy", "blas", "loops", "threads")
        ]
        return "\n".join([self.packages, *rows])


def show_config() -> Configuration:
    """Return the versions, the BLAS and its kernels, and whether compiled loops are used; ``print`` shows it.

    Its field ``loops`` is as ``numba 0.62.1``, or ``none: numba is not installed``.

    Examples:
        >>> ir_interp.show_config().packages.split()[0]
        'ir-interp'

    """
    import numpy as np

    from ir_interp.executor import loop_runner
    from ir_interp.executor.threads import blas, threads

    return Configuration(
        packages=versions(),
        processor=processor().value,
        python=f"{platform.python_version()}, {platform.machine()}",
        numpy=np.__version__,
        blas=blas(),
        loops=loop_runner.state(),
        threads=threads(),
    )


def versions() -> str:
    """Return the versions of this program and of the installed runtimes."""
    from importlib import metadata  # late: it takes a while

    known = [f"ir-interp {VERSION}"]
    for name in _RUNTIMES:
        try:
            known.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            known.append(f"{name} (not installed)")
    return ", ".join(known)
