"""Convert what users of PyTorch hand over, in the ways in which they call; print what becomes of each call.

``python -m tests.sweeps.torch_calls`` hands over modules with inputs of every kind, programs, TorchScript, checkpoints
and objects that only resemble a model, and prints each call, its outcome and its seconds. A model that is written runs
in its own runtime, on inputs that the proof has not seen, and must equal the module. Exits with 1 where one differs, or
where a call ends in anything but an error of this program. Needs torch, onnxscript and safetensors.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch.nn import functional

import ir_interp
from ir_interp import IrInterpError
from tests.support.plain_runs import apart, outputs
from tests.support.sweeps import aligned

TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 5e-2}
"""The largest difference from a module of half precision, relative to the largest value; 1e-3 from others."""
SHAPE = (1, 3, 32, 48)


class Net(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """A convolution, and a resize to twice its size by default."""

    def __init__(self, scale: float = 2.0, mode: str = "bilinear") -> None:
        super().__init__()
        self.layer, self.scale, self.mode = torch.nn.Conv2d(3, 4, 3, padding=1), scale, mode

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = functional.interpolate(self.layer(x), scale_factor=self.scale, mode=self.mode)
        return y


class Call(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arrays: torch.Tensor) -> Any:
        return self.function(*arrays)


class Pair(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """Two inputs; the second gives the size."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = functional.interpolate(self.layer(x), size=like.shape[2:], mode="bicubic")
        return y


class Named(Net):
    """An optional argument, and outputs by name."""

    def forward(self, x: torch.Tensor, gain: float = 2.0) -> dict[str, torch.Tensor]:
        y = super().forward(x)
        return {"logits": y * gain, "mask": y.argmax(1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A call in words, what is handed over, further arguments, and the module that is right."""

    words: str
    source: Any
    module: torch.nn.Module
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    shapes: Sequence[tuple[int, ...]] = (SHAPE,)
    dtype: torch.dtype = torch.float32


def rows(folder: Path) -> Iterator[Row]:
    """Yield the calls; files are in ``folder``."""
    torch.manual_seed(1)
    x, net = torch.rand(SHAPE), Net().eval()
    yield from _modules(net, x)
    yield from _programs(net, x, folder)
    yield from _scripts(net, x, folder)
    yield from _checkpoints(net, folder)


def _modules(net: Net, x: torch.Tensor) -> Iterator[Row]:
    sizes = [(1, 3, 32, 48), (1, 3, 20, 24)]
    pair, named = Pair().eval(), Named().eval()
    y = torch.rand(sizes[1])
    yield Row(words="(module, tensor)", source=(net, x), module=net)
    yield Row(words="(module, array)", source=(net, x.numpy()), module=net)
    yield Row(words="(module, shape)", source=(net, SHAPE), module=net)
    yield Row(words="(module, list as shape)", source=(net, list(SHAPE)), module=net)
    yield Row(words="(module, torch.Size)", source=(net, x.shape), module=net)
    yield Row(words="(module, (tensor,))", source=(net, (x,)), module=net)
    yield Row(words="(module, [tensor])", source=(net, [x]), module=net)
    yield Row(words="(module, {name: tensor})", source=(net, {"x": x}), module=net)
    yield Row(words="(module, {name: shape})", source=(net, {"x": SHAPE}), module=net)
    yield Row(words="[module, tensor]", source=[net, x], module=net)
    yield Row(words="(module, (tensor, tensor))", source=(pair, (x, y)), module=pair, shapes=sizes)
    yield Row(words="(module, tensor, tensor)", source=(pair, x, y), module=pair, shapes=sizes)
    yield Row(words="(module, {two names})", source=(pair, {"x": x, "like": y}), module=pair, shapes=sizes)
    yield Row(words="(module, (shape, shape))", source=(pair, tuple(sizes)), module=pair, shapes=sizes)
    yield Row(words="outputs by name, one of integers", source=(named, x), module=named)
    yield Row(words="module alone", source=net, module=net)
    yield Row(words="class instead of a module", source=(Net, x), module=net)
    yield Row(words="inputs=tensor", source=net, module=net, options={"inputs": x})
    yield Row(words="example_inputs=tensor", source=net, module=net, options={"example_inputs": x})
    yield Row(words="input_shape=shape", source=net, module=net, options={"input_shape": SHAPE})
    yield Row(words="shapes={name: shape}", source=net, module=net, options={"shapes": {"x": SHAPE}})
    yield Row(words="module in training mode", source=(Net().train(), x), module=net)
    sequential = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 1), torch.nn.Upsample(scale_factor=1.7, mode="nearest"))
    yield Row(words="nn.Sequential", source=(sequential.eval(), x), module=sequential)
    parallel = torch.nn.DataParallel(net)
    yield Row(words="nn.DataParallel", source=(parallel, x), module=net)
    yield Row(words="torch.compile(module)", source=(torch.compile(net), x), module=net)
    yield Row(words="function instead of a module", source=(net.forward, x), module=net)
    yield Row(words="torch.fx.GraphModule", source=(torch.fx.symbolic_trace(net), x), module=net)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        half = Net().eval().to(dtype)
        yield Row(words=f"module of {dtype}", source=(half, x.to(dtype)), module=half, dtype=dtype)
    levels = Call(lambda b: functional.interpolate(b.float() / 255, size=(9, 11), mode="area"))
    yield Row(words="input of uint8", source=(levels.eval(), torch.zeros(SHAPE, dtype=torch.uint8)), module=levels,
              dtype=torch.uint8)  # fmt: skip
    for exporter in ("dynamo", "torchscript", "openvino"):
        yield Row(words=f"exporter={exporter}", source=(net, x), module=net, options={"exporter": exporter})
    yield Row(words="fp16=True", source=(net, x), module=net, options={"fp16": True})


def _programs(net: Net, x: torch.Tensor, folder: Path) -> Iterator[Row]:
    program = torch.export.export(net, (x,))
    torch.export.save(program, folder / "net.pt2")
    yield Row(words="ExportedProgram", source=program, module=net)
    yield Row(words="(ExportedProgram, tensor)", source=(program, x), module=net)
    yield Row(words=".pt2 as text", source=str(folder / "net.pt2"), module=net)
    yield Row(words=".pt2 as a Path", source=folder / "net.pt2", module=net)
    yield Row(words="program.module()", source=(program.module(), x), module=net)
    yield Row(
        words="torch.onnx.ONNXProgram", source=torch.onnx.export(net, (x,), dynamo=True, verbose=False), module=net
    )
    named = {"Dim": {2: torch.export.Dim("h", min=8, max=512), 3: torch.export.Dim("w", min=8, max=512)}}
    for words, dims in (named | {"Dim.AUTO": dict.fromkeys((0, 2, 3), torch.export.Dim.AUTO)}).items():
        for scale, mode in ((2.0, "bilinear"), (1.3, "nearest"), (0.6, "area")):
            other = Net(scale, mode).eval()
            dynamic = torch.export.export(other, (x,), dynamic_shapes=(dims,))
            yield Row(words=f"program, {words}, {mode}", source=dynamic, module=other, shapes=[(1, 3, 47, 58)])


def _scripts(net: Net, x: torch.Tensor, folder: Path) -> Iterator[Row]:
    traced, scripted = torch.jit.trace(net, x), torch.jit.script(net)
    traced.save(folder / "traced.pt")
    yield Row(words="scripted module", source=scripted, module=net)
    yield Row(words="(scripted module, tensor)", source=(scripted, x), module=net)
    yield Row(words="(traced module, tensor)", source=(traced, x), module=net)
    yield Row(words="(torch.jit.load(FILE), tensor)", source=(torch.jit.load(folder / "traced.pt"), x), module=net)
    yield Row(words="TorchScript as .pt", source=folder / "traced.pt", module=net)


def _checkpoints(net: Net, folder: Path) -> Iterator[Row]:
    state, memory = net.state_dict(), io.BytesIO()
    torch.save(state, memory)
    for suffix in (".pth", ".ckpt", ".pt", ".bin"):
        torch.save({"state_dict": state}, folder / f"net{suffix}")
    torch.save(net, folder / "pickled.pth")
    save_file(state, folder / "net.safetensors")
    for name in ("net.pth", "net.ckpt", "net.pt", "net.bin", "pickled.pth", "net.safetensors"):
        yield Row(words=f"checkpoint {name}", source=folder / name, module=net)
    yield Row(words="state_dict", source=state, module=net)
    yield Row(words="io.BytesIO", source=memory, module=net)


def as_array(tensor: torch.Tensor) -> NDArray[Any]:
    """Return a tensor as an array; NumPy alone has no bfloat16."""
    is_bfloat16 = tensor.dtype == torch.bfloat16
    array: NDArray[Any] = tensor.float().numpy().astype(ml_dtypes.bfloat16) if is_bfloat16 else tensor.numpy()
    return array


def outcome(row: Row, output: Path) -> tuple[str, bool]:
    """Return what becomes of a call, and whether it may."""
    try:
        ir_interp.convert(row.source, output, **row.options)
    except (IrInterpError, TypeError, ExceptionGroup) as error:
        first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
        return f"refused: {first}", isinstance(first, IrInterpError)
    except Exception as error:  # whatever else it ends in is a fault
        return f"{type(error).__name__}: {error}", False
    rng = np.random.default_rng(7)
    levels = [rng.integers(0, 256, shape).astype(np.float32) for shape in row.shapes]
    tensors = [torch.from_numpy(level if row.dtype == torch.uint8 else level / 255).to(row.dtype) for level in levels]
    with torch.inference_mode():
        expected = torch.utils._pytree.tree_leaves(row.module.eval()(*tensors))
    difference = apart(list(outputs(output, list(map(as_array, tensors))).values()), list(map(as_array, expected)))
    return f"written, {difference:.1g} from the module", difference <= TOLERANCE.get(row.dtype, 1e-3)


def main() -> None:
    """Make the calls, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only calls whose words contain this text")
    only = parser.parse_args().only
    warnings.simplefilter("ignore")  # of torch, about itself
    table, faults = [["handed over", "to", "seconds", "outcome"]], 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for row in rows(Path(folder)):
            for suffix in (".onnx", ".xml") if only in row.words else ():
                start = time.monotonic()
                text, may = outcome(row, Path(f"a{suffix}"))
                faults += not may
                mark = "" if may else "FAULT: "
                table.append([row.words, suffix, f"{time.monotonic() - start:.1f}", mark + text])
                print(" | ".join(table[-1]), flush=True)
    print(aligned(table))
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
