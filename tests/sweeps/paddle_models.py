"""Random resizes of Paddle: read and run here, and some converted, each against Paddle.

``python -m tests.sweeps.paddle_models --cases 300 --seed 1`` prints a row for each difference, counts, and the largest
difference as a part of its bound (``tests/support/tolerances.py``). ``--operations`` instead asks OpenVINO's frontend
about each operation of Paddle, and compares with ``paddle.reading``; ``--nets`` converts nets of ``paddle.vision``,
with all weights left to OpenVINO's frontend and then none, which must give the same IR. It needs the extra ``paddle``.
Exits with 1 for a difference, or an error that is no refusal.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import openvino.frontend

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.frameworks.paddle import reading
from ir_interp.converters.frameworks.paddle.reading import CONVERTED
from ir_interp.converters.sources.model_description import Resize
from ir_interp.files import memory
from ir_interp.files.writing import scratch
from ir_interp.plan.taps import plan
from ir_interp.specs import Nearest
from tests.support.tolerances import tolerance

_NETS = ("resnet18", "shufflenet_v2_x0_25", "squeezenet1_1", "densenet121")
_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "nearest": 2}


def drawn(rng: np.random.Generator) -> tuple[Resize, Any]:
    """Return a random operation, and its image."""
    mode = str(rng.choice(list(_AXES)))
    axes = 3 if mode == "nearest" and rng.random() < 0.3 else _AXES[mode]
    lengths = [int(rng.choice([1, 2, 3, int(rng.integers(4, 40))])) for _ in range(axes)]
    layout = str(rng.choice(["NCHW", "NHWC"]))
    shape = (1, 2, *lengths) if layout == "NCHW" else (1, *lengths, 2)
    corners = mode != "nearest" and bool(rng.random() < 0.3)
    stated: dict[str, Any] = {"align_corners": corners, "align_mode": int(rng.integers(2)), "data_layout": layout}
    stated |= {"scale": [], "out_d": -1, "out_h": -1, "out_w": -1, "input": "x", "connected": [], "block": 0}
    if rng.random() < 0.5:
        scales = rng.choice([0.5, 0.7, 1.0, 1.1, 1.25, 1.7, 2.0, 3.0, float(rng.uniform(0.2, 4))], axes)
        stated["scale"] = [float(np.float32(scale)) for scale in scales]
    else:
        names = ("out_d", "out_h", "out_w")[-axes:]
        stated |= {name: int(rng.choice([1, 2, int(rng.integers(3, 60))])) for name in names}
    dtype = str(rng.choice(["float32", "int32"])) if mode == "nearest" else "float32"
    x = (rng.random(shape) * 100).astype(dtype)
    kind = f"{mode}_interp_v2"
    return Resize(type=kind, name="y", dtype=dtype, shape=shape, inputs=(), attributes=stated), x


def judged(operation: Resize, x: Any, folder: Path, *, converts: bool) -> tuple[str, float]:
    """Return how one operation fares: equal, refused or different; and its difference as a part of the bound."""
    source = folder / "net.pdmodel"
    try:
        expected = reading.write_resize(operation, x, source)
    except IrInterpError:
        return "Paddle refuses it", 0.0
    try:
        [op] = ir_interp.load(source)
        actual = op.run(x)
        if converts:
            ir_interp.convert(source, folder / "net.onnx")  # by way of an IR, which is proven first
    except (IrInterpError, ExceptionGroup) as error:
        print(operation.type, operation.shape, operation.attributes, error)
        return "refused", 0.0
    if actual.shape != expected.shape:
        return "different", 0.0
    apart = float(np.abs(actual.astype(np.float64) - expected).max(initial=0))
    share = apart / (tolerance("paddle", plan(op.spec, x.shape), x) or 1.0)  # copies have no tolerance
    is_equal = not apart if isinstance(op.spec.kernel, Nearest) else share <= 1
    return "equal" if is_equal else "different", share


def operations_agree() -> bool:
    """Print the operations about which OpenVINO's frontend and the list differ; return whether there are none."""
    import paddle

    known = {name for name in paddle.base.core.get_all_op_names() if _is_converted(name)}
    for name in sorted(known ^ CONVERTED):
        print(name, "is converted" if name in known else "is not converted")
    print(f"OpenVINO {openvino.__version__} converts {len(known)} operations")
    return known == CONVERTED


def _is_converted(operation: str) -> bool:
    """Return whether OpenVINO has a converter for an operation; it may still refuse this one, without attributes."""
    from paddle.base.proto import framework_pb2 as schema

    program = schema.ProgramDesc()
    program.version.version = 0
    block = program.blocks.add(idx=0, parent_idx=-1)
    tensor, feeds, fetches = schema.VarType.DENSE_TENSOR, schema.VarType.FEED_MINIBATCH, schema.VarType.FETCH_LIST
    for name, kind in (("x", tensor), ("y", tensor), ("feed", feeds), ("fetch", fetches)):
        variable = block.vars.add(name=name, persistable=kind != tensor)
        variable.type.type = kind
        if kind == tensor:
            variable.type.dense_tensor.tensor.data_type = schema.VarType.FP32
            variable.type.dense_tensor.tensor.dims.extend([1, 2, 4, 4])
    for kind, source, result in (("feed", "feed", "x"), (operation, "x", "y"), ("fetch", "y", "fetch")):
        op = block.ops.add(type=kind)
        op.inputs.add(parameter="X", arguments=[source])
        op.outputs.add(parameter="Out", arguments=[result])
        if kind != operation:
            op.attrs.add(name="col", type=schema.INT, i=0)
    with scratch() as folder:
        path = folder / "net.pdmodel"
        path.write_bytes(program.SerializeToString())
        path.with_suffix(".pdiparams").write_bytes(b"")
        frontend = openvino.frontend.FrontEndManager().load_by_framework("paddle")
        try:
            frontend.convert(frontend.load(str(path)))
        except Exception as error:  # whatever it raises for missing attributes
            return "No creator" not in str(error)
    return True


def write_nets(folder: Path) -> None:
    """Save nets with random weights."""
    os.environ |= {"FLAGS_enable_pir_api": "0"}  # which Paddle reads when it is imported
    import paddle

    paddle.seed(0)
    for name in _NETS:
        net = getattr(paddle.vision.models, name)(num_classes=10)
        net.eval()
        spec = paddle.static.InputSpec([1, 3, 64, 64], "float32", "x")
        paddle.jit.save(net, str(folder / name), input_spec=[spec])


def nets_are_proven(folder: Path) -> bool:
    """Convert nets in both ways, and print how near they come to Paddle; return whether the ways give the same IR."""
    writer = multiprocessing.get_context("spawn").Process(target=write_nets, args=(folder,))
    writer.start()
    writer.join()
    same = []
    for name in _NETS:
        layers = []
        for least in (16, 2**40):
            memory.LARGE = least
            report = ir_interp.convert(folder / f"{name}.pdmodel", folder / f"{name}.xml")
            text = (folder / f"{name}.xml").read_text()
            layers.append(
                (sorted(re.findall(r'name=".*" type="\w+"', text)), len((folder / f"{name}.bin").read_bytes()))
            )
        ir_interp.convert(folder / f"{name}.pdmodel", folder / f"{name}.onnx")
        same.append(layers[0] == layers[1])
        print(
            name, "the same IR" if same[-1] else "ANOTHER IR", report.verification.note if report.verification else ""
        )
    return all(same)


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=3, help="One case of so many is also converted")
    parser.add_argument("--operations", action="store_true", help="Ask OpenVINO which operations it converts")
    parser.add_argument("--nets", action="store_true", help="Convert nets of paddle.vision")
    options = parser.parse_args()
    if options.nets:
        with scratch() as folder:
            return int(not nets_are_proven(folder))
    if options.operations:
        return int(not operations_agree())
    rng, counts = np.random.default_rng(options.seed), Counter[str]()
    largest = 0.0
    for number in range(options.cases):
        operation, x = drawn(rng)
        with scratch() as folder:
            verdict, share = judged(operation, x, folder, converts=number % options.every == 0)
        largest = max(largest, share)
        if verdict == "different":
            print("DIFFERENT", operation.type, operation.shape, operation.attributes)
        counts[verdict] += 1
    print(dict(counts), f"{largest:.2g} of the bound")
    return int(counts["different"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
