"""The class of the processor: it decides how runtimes add products of 8-bit integers."""

from __future__ import annotations

import platform
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
